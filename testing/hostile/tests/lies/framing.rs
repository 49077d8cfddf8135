//! Chains and frames.

use super::{fails_before_any_byte, is_harmless};
use pagewire::Error;
use pagewire_hostile::{Scene, Setup};
use pagewire_model::{Command, Lie};

#[test]
fn a_chain_that_lacks_its_last_reply_runs_into_the_deadline() {
    for setup in Setup::every() {
        let played = Scene::new(setup).told(Lie::ChainShort).play();
        played.fails(Error::TimedOut);
        assert_eq!((played.story.file.len(), played.story.entries.len()), (20_003, 0), "{setup:?}");
    }
}

/// Each reply has a message id of its own, so their order says nothing.
#[test]
fn a_chain_that_is_answered_last_first_is_told_apart_by_message_ids() {
    is_harmless(Lie::ChainReversed);
}

#[test]
fn a_chain_that_leaves_its_frame_or_stands_still_is_refused() {
    for lie in [Lie::NextCommandBeyond, Lie::NextCommandUnaligned, Lie::NextCommandTooSmall] {
        fails_before_any_byte(lie, Error::Malformed("Header.NextCommand"));
    }
}

/// The engine sends TREE_CONNECT alone.
#[test]
fn a_server_that_cannot_have_tree_connect_in_a_chain_is_read_right() {
    is_harmless(Lie::RefuseTreeConnectChain);
}

#[test]
fn keepalives_before_every_frame_are_skipped() {
    is_harmless(Lie::KeepAlives);
}

#[test]
fn a_frame_that_is_announced_longer_than_it_ever_becomes_runs_into_the_deadline() {
    fails_before_any_byte(Lie::FrameTooLong, Error::TimedOut);
}

#[test]
fn a_connection_that_ends_early_is_said_to_be_closed() {
    for setup in Setup::every() {
        for at in [0, 1, 3, 4, 70, 1500, 5000] {
            Scene::new(setup).told(Lie::TruncateAt(at)).play().fails(Error::Closed);
        }
        let played = Scene::new(setup).told(Lie::TruncateAt(5000)).play();
        assert!(played.link.requests(Command::Read) > 0, "it ends in the middle of a read");
    }
}

#[test]
fn keepalives_without_end_are_no_progress() {
    fails_before_any_byte(Lie::KeepAlivesForEver, Error::Misbehaved("frame after frame and no reply"));
}

#[test]
fn a_frame_of_another_protocol_is_refused() {
    for byte in [1, 0x81, 0xFF] {
        fails_before_any_byte(Lie::StreamProtocol(byte), Error::Malformed("StreamProtocolLength"));
    }
}
