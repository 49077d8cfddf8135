//! Negotiation and authentication.

use super::{fails_before_any_byte, is_harmless};
use pagewire::smb::negotiate::{AES_128_GCM, AES_256_GCM};
use pagewire::smb::{Dialect, Dialects, Policy};
use pagewire::{Error, Reason, Refusal};
use pagewire_hostile::{Scene, Setup};
use pagewire_model::{Command, Dialect as Revision, Lie, Sealing};

const SIGNATURE_WRONG: Error = Error::Unauthentic("the signature of a reply is wrong");
const CHANGED_ON_ITS_WAY: Error = Error::Unauthentic("somebody changed the negotiation on its way");

#[test]
fn a_server_that_allows_no_read_is_refused() {
    fails_before_any_byte(Lie::MaxReadSize(0), Error::Misbehaved("the server allows no read at all"));
}

#[test]
fn a_server_that_allows_one_byte_or_an_odd_number_at_a_time_is_read_right() {
    for setup in Setup::every() {
        Scene::new(setup).told(Lie::MaxReadSize(4095)).play().is_right();
    }
    Scene::small(Setup::PLAIN[0]).told(Lie::MaxReadSize(1)).play().is_right();
}

#[test]
fn a_server_that_allows_any_read_is_asked_for_what_the_pages_hold() {
    for setup in Setup::every() {
        let mut scene = Scene::new(setup).told(Lie::MaxReadSize(u32::MAX));
        scene.config.max_read_size = 1 << 20;
        scene.play().is_right();
    }
}

#[test]
fn a_server_that_allows_less_than_it_says_is_quoted() {
    for setup in Setup::every() {
        let played = Scene::new(setup).told(Lie::MaxReadSize(u32::MAX)).play();
        played.fails(Error::Refused(Refusal {
            reason: Reason::Other,
            code: 0xC000_000D,
            name: "STATUS_INVALID_PARAMETER",
            during: "READ",
        }));
        assert_eq!(played.story.file, []);
    }
}

#[test]
fn a_dialect_that_was_not_offered_is_refused() {
    let error = Error::Misbehaved("the server chose a dialect that was not offered");
    for setup in Setup::every() {
        for code in [0x0202, 0x0210, 0x0300, 0x0302, 0x0311] {
            if setup.dialects.iter().any(|dialect| dialect.revision() == code) {
                continue;
            }
            Scene::new(setup).told(Lie::DialectRevision(code)).play().fails(error);
        }
    }
    for code in [0, 0x02FF, 0x0312, 0xFFFF] {
        let error = Error::Malformed("NEGOTIATE.DialectRevision");
        fails_before_any_byte(Lie::DialectRevision(code), error);
    }
}

/// Everything is offered, the server speaks `real` at most, and the wire says `told`.
#[track_caller]
fn downgrade(real: Revision, told: Revision, error: Error) {
    let mut scene = Scene::new(Setup::user()).told(Lie::DialectRevision(told as u16));
    scene.config.dialects = real.and_below();
    scene.play().fails(error);
}

#[test]
fn a_downgrade_of_the_dialect_shows_in_the_first_signature() {
    for told in [Revision::V202, Revision::V210, Revision::V300, Revision::V302] {
        downgrade(Revision::V311, told, SIGNATURE_WRONG);
    }
    for told in [Revision::V202, Revision::V210] {
        downgrade(Revision::V302, told, SIGNATURE_WRONG);
    }
}

#[test]
fn a_downgrade_between_dialects_that_sign_alike_shows_in_the_validation() {
    downgrade(Revision::V302, Revision::V300, CHANGED_ON_ITS_WAY);
    downgrade(Revision::V210, Revision::V202, CHANGED_ON_ITS_WAY);
}

#[test]
fn a_validation_that_says_another_dialect_is_a_downgrade() {
    for dialect in [Dialect::Smb300, Dialect::Smb302] {
        for policy in [
            (Policy::IfNeeded, Policy::IfNeeded),
            (Policy::Always, Policy::IfNeeded),
            (Policy::IfNeeded, Policy::Always),
        ] {
            let (sign, seal) = policy;
            let setup = Setup { dialects: Dialects::only(dialect), sign, seal, ..Setup::user() };
            Scene::new(setup).play().is_right();
            let played = Scene::new(setup).told(Lie::ValidateDowngrade).play();
            played.fails(CHANGED_ON_ITS_WAY);
            assert_eq!(played.story.opened, None);
        }
    }
}

#[test]
fn at_3_1_1_nothing_is_validated_that_the_keys_have_validated_already() {
    let played = Scene::new(Setup::SIGNED[2]).told(Lie::ValidateDowngrade).play();
    played.is_right();
    assert_eq!(played.link.requests(Command::Ioctl), 0);
}

#[test]
fn a_negotiation_of_3_1_1_without_a_hash_is_refused() {
    let error = Error::Misbehaved("no pre-authentication hash was agreed on");
    for setup in Setup::every().filter(|setup| setup.dialects.contains(Dialect::Smb311)) {
        Scene::new(setup).told(Lie::NegotiateWithoutPreauth).play().fails(error);
    }
}

#[test]
fn a_cipher_that_was_not_offered_is_refused() {
    let error = Error::Misbehaved("the server chose a cipher that was not offered");
    for cipher in [1, 3, 4, 5, 0xFFFF] {
        let setup = Setup::sealed(Dialect::Smb311, &[AES_128_GCM]);
        Scene::new(setup).told(Lie::CipherId(cipher)).play().fails(error);
        let unsealed = Setup { seal: Policy::IfNeeded, ..setup };
        Scene::new(unsealed).told(Lie::CipherId(cipher)).play().fails(error);
    }
}

#[test]
fn a_server_that_has_no_cipher_is_not_read_in_the_clear_where_sealing_was_asked_for() {
    let error = Error::Incompatible("encryption was asked for, and the server offers none");
    let setup = Setup::sealed(Dialect::Smb311, &[AES_128_GCM]);
    Scene::new(setup).told(Lie::CipherId(0)).play().fails(error);
}

#[test]
fn a_server_that_demands_sealing_and_names_no_cipher_is_not_read() {
    let error = Error::Incompatible("encryption is demanded, and this dialect or session has none");
    for sealing in [Sealing::Session, Sealing::Share] {
        let mut scene = Scene::new(Setup::user()).told(Lie::CipherId(0));
        scene.config.sealing = sealing;
        scene.play().fails(error);
    }
}

#[test]
fn another_cipher_than_the_server_uses_leads_nowhere() {
    let setup = Setup::sealed(Dialect::Smb311, &[AES_128_GCM, AES_256_GCM]);
    // The server cannot open what it is sent, and hangs up.
    Scene::new(setup).told(Lie::CipherId(AES_256_GCM)).play().fails(Error::Closed);
}

#[test]
fn a_signing_algorithm_that_was_not_offered_is_refused() {
    let error = Error::Misbehaved("the server chose a signing algorithm that was not offered");
    for id in [0, 1, 3, 0xFFFF] {
        Scene::new(Setup::SIGNED[2]).told(Lie::SigningId(id)).play().fails(error);
    }
    Scene::new(Setup::user()).told(Lie::SigningId(3)).play().fails(error);
}

#[test]
fn another_signing_algorithm_than_the_server_uses_shows_in_the_first_signature() {
    for id in [0, 1] {
        Scene::new(Setup::user()).told(Lie::SigningId(id)).play().fails(SIGNATURE_WRONG);
    }
}

#[test]
fn a_named_user_is_not_taken_for_a_guest_in_silence() {
    let error = Error::Refused(Refusal {
        reason: Reason::Authentication,
        code: 1,
        name: "SMB2_SESSION_FLAG_IS_GUEST",
        during: "SESSION_SETUP",
    });
    for setup in Setup::SIGNED.into_iter().chain(Setup::SEALED).chain([Setup::user()]) {
        for lie in [Lie::GuestFlag, Lie::NullFlag] {
            let played = Scene::new(setup).told(lie).play();
            played.fails(error);
            assert_eq!(played.link.requests(Command::TreeConnect), 0);
        }
    }
}

#[test]
fn a_guest_who_asked_to_be_one_is_not_concerned() {
    Scene::new(Setup::PLAIN[0]).told(Lie::GuestFlag).play().is_right();
}

/// Then the key that signs is the one that the password gives.
#[test]
fn a_server_that_exchanges_no_keys_is_read_right() {
    is_harmless(Lie::NoKeyExchange);
    for dialect in Revision::ALL {
        let mut scene = Scene::new(Setup::user()).told(Lie::NoKeyExchange);
        scene.config.dialects = dialect.and_below();
        scene.play().is_right();
    }
}

#[test]
fn av_pairs_that_leave_their_buffer_or_do_not_end_are_refused() {
    fails_before_any_byte(Lie::AvPairsBeyond, Error::Malformed("AV_PAIR.Value"));
    fails_before_any_byte(Lie::AvPairsNeverEnd, Error::Malformed("AV_PAIR.AvId"));
}

#[test]
fn av_pairs_without_end_or_over_other_fields_are_refused() {
    fails_before_any_byte(Lie::AvPairsTooMany, Error::Malformed("more AV pairs than there are kinds"));
    fails_before_any_byte(Lie::AvPairsOverlap, Error::Malformed("AV_PAIR.Value"));
}

#[test]
fn an_authentication_that_does_not_end_is_left() {
    let error = Error::Refused(Refusal {
        reason: Reason::Other,
        code: 0xC000_0016,
        name: "STATUS_MORE_PROCESSING_REQUIRED",
        during: "SESSION_SETUP",
    });
    for setup in Setup::every() {
        let played = Scene::new(setup).told(Lie::ChallengesForEver).play();
        played.fails(error);
        assert_eq!(played.link.requests(Command::SessionSetup), 2);
    }
}

#[test]
fn a_server_that_allows_no_listing_is_refused() {
    for setup in Setup::every() {
        let mut scene = Scene::new(setup);
        scene.config.max_transact_size = 0;
        scene.play().fails(Error::Misbehaved("the server allows no read at all"));
    }
}

#[test]
fn what_is_no_disk_is_not_read() {
    for kind in [0, 2, 3, 0xFF] {
        let error = Error::Incompatible("the share is no disk: it is a printer or a pipe");
        fails_before_any_byte(Lie::ShareType(kind), error);
    }
}
