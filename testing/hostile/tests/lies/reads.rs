//! Replies to READ whose fields are wrong, or odd and legal.

use super::{fails_before_any_byte, is_harmless};
use pagewire::{Error, Reason, Refusal};
use pagewire_hostile::{Scene, Setup};
use pagewire_model::{Command, Lie, pattern};

#[test]
fn a_structure_size_that_is_not_that_of_read_is_refused() {
    fails_before_any_byte(Lie::ReadStructureSize, Error::Malformed("READ.StructureSize"));
}

#[test]
fn data_that_is_longer_than_its_message_is_refused() {
    fails_before_any_byte(Lie::DataLengthBeyondFrame, Error::Malformed("READ.DataLength"));
}

#[test]
fn data_that_starts_so_late_that_it_leaves_its_message_is_refused() {
    fails_before_any_byte(Lie::DataOffsetOutside, Error::Malformed("READ.DataLength"));
}

#[test]
fn data_that_starts_inside_the_header_is_refused() {
    fails_before_any_byte(Lie::DataOffsetBeforeBody, Error::Malformed("READ.DataOffset"));
}

#[test]
fn more_data_than_was_asked_for_is_refused() {
    let error = Error::Misbehaved("READ brought more than was asked");
    fails_before_any_byte(Lie::DataLengthBeyondAsked, error);
}

#[test]
fn a_success_without_data_is_refused_and_not_asked_for_again() {
    let error = Error::Misbehaved("a read brought no data and no end of file");
    fails_before_any_byte(Lie::EmptyReads, error);
}

#[test]
fn a_gap_before_the_data_is_legal() {
    is_harmless(Lie::DataGap);
}

#[test]
fn replies_that_are_shorter_than_asked_are_asked_for_again() {
    for len in [7, 100, 255] {
        for setup in Setup::every() {
            let played = Scene::small(setup).told(Lie::ShortReads(len)).play();
            played.is_right();
        }
    }
    let played = Scene::small(Setup::PLAIN[0]).told(Lie::ShortReads(1)).play();
    played.is_right();
    assert!(played.link.requests(Command::Read) >= 700 + 100);
}

/// The file ends after `len` bytes, before its second stream begins.
#[track_caller]
fn ends_after(lie: Lie, len: usize) {
    for setup in Setup::every() {
        let played = Scene::new(setup).told(lie).play();
        assert_eq!(played.outcome, Ok(()), "{setup:?}");
        assert!(played.story.file == pattern(0, 0, len), "{setup:?} lent {} bytes", played.story.file.len());
        assert_eq!(played.story.tail, []);
        assert_eq!(played.story.entries.len(), 61, "the connection goes on");
    }
}

#[test]
fn a_file_ends_where_the_server_says_so_and_not_where_it_was_said_to_end() {
    ends_after(Lie::EndOfFileAt(0), 0);
    // The read that starts before it is answered in full.
    ends_after(Lie::EndOfFileAt(5000), 8192);
    ends_after(Lie::EndOfFileAt(8192), 8192);
}

#[test]
fn a_file_that_has_become_shorter_since_it_was_opened_ends_there() {
    ends_after(Lie::TruncatedAfterOpen(0), 0);
    ends_after(Lie::TruncatedAfterOpen(4096), 4096);
    ends_after(Lie::TruncatedAfterOpen(9999), 9999);
}

#[test]
fn a_session_that_has_expired_is_said_to_be() {
    for setup in Setup::every() {
        for nth in [1, 3] {
            let played = Scene::new(setup).told(Lie::SessionExpired { nth }).play();
            played.fails(Error::Refused(Refusal {
                reason: Reason::Expired,
                code: 0xC000_035C,
                name: "STATUS_NETWORK_SESSION_EXPIRED",
                during: "READ",
            }));
            assert!(played.story.file.len() <= (nth - 1) * 4096, "nothing after it is lent");
        }
    }
}

/// Who has no session has no key of it, so this is neither signed nor sealed, and anybody could say it. Anybody could cut the connection
/// as well: that is what it comes to.
#[test]
fn a_session_that_the_server_has_deleted_is_the_end_of_a_protected_connection_and_else_told() {
    let expired = Error::Refused(Refusal {
        reason: Reason::Expired,
        code: 0xC000_0203,
        name: "STATUS_USER_SESSION_DELETED",
        during: "READ",
    });
    for setup in Setup::every().chain([Setup::user()]) {
        for nth in [1, 3] {
            let played = Scene::new(setup).told(Lie::SessionDeleted { nth }).play();
            played.fails(if setup.is_protected() { Error::Closed } else { expired });
        }
    }
}
