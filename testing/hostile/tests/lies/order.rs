//! Credits, and the order and number of replies.

use super::{fails_before_any_byte, is_harmless};
use pagewire::Error;
use pagewire::smb::Policy;
use pagewire_hostile::{Scene, Setup};
use pagewire_model::{Command, Lie};

#[test]
fn a_server_that_grants_no_credit_is_not_waited_for() {
    fails_before_any_byte(Lie::GrantNothing, Error::Misbehaved("the server grants no credit"));
}

#[test]
fn a_server_that_grants_no_credit_for_reads_is_read_until_they_are_used_up() {
    for setup in Setup::every() {
        let mut scene = Scene::new(setup).told(Lie::GrantNothingForReads);
        scene.config.credits_max = 4;
        let played = scene.play();
        played.fails(Error::Misbehaved("the server allows no request and owes no reply"));
        assert_eq!(played.link.requests(Command::Read), 4);
        assert_eq!(played.story.file.len(), 4 * 4096, "what was paid for is lent");
    }
}

#[test]
fn one_credit_at_a_time_is_enough_for_everything() {
    for setup in Setup::every() {
        for credits in [1, 2, 3] {
            let mut scene = Scene::new(setup);
            scene.config.credits_max = credits;
            let played = scene.play();
            played.is_right();
            assert_eq!(played.link.open_handles(), 0, "{setup:?} with {credits} credits leaves a handle");
        }
    }
}

#[test]
fn replies_in_reverse_order_are_read_right() {
    is_harmless(Lie::ReverseReads);
}

#[test]
fn a_reply_that_comes_twice_is_refused() {
    for setup in Setup::every() {
        let played = Scene::new(setup).told(Lie::DuplicateReads).play();
        played.fails(Error::Misbehaved("a reply to a request that is not in flight"));
        assert!(played.story.file.len() <= 4096, "no more than the first reply brought");
    }
}

#[test]
fn a_reply_to_a_request_that_nobody_sent_is_refused() {
    let error = Error::Misbehaved("a reply to a request that is not in flight");
    fails_before_any_byte(Lie::UnknownMessageId, error);
}

/// What is sent again was right the first time: its signature and its tag are right again.
#[test]
fn a_frame_that_is_replayed_is_refused_wherever_it_stands() {
    for setup in Setup::every() {
        let frames = Scene::small(setup).play().link.frames_out();
        assert!(frames > 10, "{setup:?}: {frames} frames");
        for nth in 1..frames {
            let played = Scene::small(setup).told(Lie::Replayed { nth }).play();
            // The last three of those that are never sealed; and what nobody waits for any more is not looked at.
            let in_the_clear = nth <= 3 && setup.seal == Policy::Always;
            match played.outcome {
                Ok(()) => assert!(nth >= frames - 2, "{setup:?} {nth}"),
                Err(Error::Unauthentic("a reply in the clear where everything is encrypted"))
                    if in_the_clear => {}
                _ => played.fails(Error::Misbehaved("a reply to a request that is not in flight")),
            }
        }
    }
}

#[test]
fn a_reply_of_another_session_is_refused() {
    fails_before_any_byte(Lie::OtherSessionId, Error::Misbehaved("a reply of another session"));
}

#[test]
fn a_reply_to_another_command_than_was_asked_is_refused() {
    let error = Error::Misbehaved("a reply to another command than was asked");
    fails_before_any_byte(Lie::WrongCommand, error);
}

#[test]
fn a_message_that_is_no_reply_is_refused() {
    let error = Error::Misbehaved("a request came where a reply was awaited");
    fails_before_any_byte(Lie::NotAResponse, error);
}

#[test]
fn a_reply_that_is_still_to_come_is_waited_for() {
    is_harmless(Lie::PendingOnce);
    is_harmless(Lie::PendingTimes(16));
}

#[test]
fn a_reply_that_is_still_to_come_for_the_seventeenth_time_is_refused() {
    let error = Error::Misbehaved("the server says for ever that a reply is still to come");
    fails_before_any_byte(Lie::PendingTimes(17), error);
}

#[test]
fn a_reply_that_was_promised_and_never_comes_runs_into_the_deadline() {
    fails_before_any_byte(Lie::PendingForEver, Error::TimedOut);
}

#[test]
fn an_oplock_that_breaks_in_the_middle_of_a_read_is_acknowledged_once() {
    for setup in Setup::every() {
        for nth in [1, 3] {
            let played = Scene::new(setup).told(Lie::OplockBreak { nth }).play();
            played.is_right();
            assert_eq!(played.link.oplock_acknowledgments(), 1, "{setup:?}");
        }
    }
}

/// MS-SMB2 3.2.5.1.3: what stands where the signature would be is nothing, whatever the flags say.
#[test]
fn what_needs_no_signature_may_say_that_it_has_one() {
    for setup in Setup::every() {
        let scene = Scene::new(setup).told(Lie::FalselySigned);
        scene.clone().told(Lie::PendingOnce).play().is_right();
        let played = scene.told(Lie::PendingTimes(3)).told(Lie::OplockBreak { nth: 2 }).play();
        played.is_right();
        assert_eq!(played.link.oplock_acknowledgments(), 1, "{setup:?}");
    }
}

#[test]
fn an_oplock_that_breaks_again_with_each_acknowledgment_is_no_reply() {
    let error = Error::Misbehaved("frame after frame and no reply");
    fails_before_any_byte(Lie::OplockBreaksForEver, error);
}

#[test]
fn whatever_is_odd_and_legal_may_come_together() {
    let legal = [Lie::KeepAlives, Lie::DataGap, Lie::ShortReads(1500), Lie::NameDotDot];
    // Not both: a reply would come before the word that it is still to come.
    for order in [Lie::ReverseReads, Lie::PendingTimes(3)] {
        for setup in Setup::every() {
            let scene = legal.into_iter().fold(Scene::new(setup), Scene::told);
            scene.told(Lie::OplockBreak { nth: 2 }).told(order).play().is_right();
        }
    }
}
