//! Signatures and sealing: whichever reply it is that is wrong.

use pagewire::Error;
use pagewire::smb::{Dialect, Dialects};
use pagewire_hostile::{Played, Scene, Server, Setup, Side};
use pagewire_model::{Lie, Sealing};

const TAG: Error = Error::Unauthentic("the tag of a sealed message");
const IN_THE_CLEAR: Error = Error::Unauthentic("a reply in the clear where everything is encrypted");

/// Plays once for each message that is signed (or sealed) in an honest play.
fn each(
    setups: &[Setup],
    count: fn(&Played<Server>) -> usize,
    lie: fn(usize) -> Lie,
    mut error: impl FnMut(usize, Setup) -> Option<Error>,
) {
    for setup in setups {
        let honest = Scene::small(*setup).play();
        honest.is_right();
        let count = count(&honest);
        assert!(count >= 10, "{setup:?} has {count} messages");
        for nth in 1..=count {
            let played = Scene::small(*setup).told(lie(nth)).play();
            match error(nth, *setup) {
                Some(error) => played.fails(error),
                None => played.is_right(),
            }
        }
        Scene::small(*setup).told(lie(count + 1)).play().is_right();
    }
}

/// The reply that ends the authentication is signed though its request is not.
fn signed(played: &Played<Server>) -> usize {
    1 + played.link.log().iter().filter(|record| record.signed).count()
}

fn sealed(played: &Played<Server>) -> usize {
    let mut frames: Vec<usize> = played.link.log().iter().filter(|r| r.sealed).map(|r| r.frame).collect();
    frames.dedup();
    frames.len()
}

#[test]
fn a_signature_that_is_wrong_by_one_bit_is_refused_wherever_it_stands() {
    let error = Some(Error::Unauthentic("the signature of a reply is wrong"));
    each(&Setup::SIGNED, signed, |nth| Lie::SignatureWrong { nth }, |_, _| error);
}

#[test]
fn a_reply_without_a_signature_is_refused_wherever_it_stands() {
    let error = |nth, setup: Setup| {
        let has = |dialect| setup.dialects == Dialects::only(dialect);
        Some(Error::Unauthentic(match nth {
            1 if has(Dialect::Smb311) => "the reply that ends the authentication is not signed",
            // Before 3.1.1 nothing depends on it (MS-SMB2 3.2.5.3.1): what follows has to be signed.
            1 => return None,
            2 => "the reply to TREE_CONNECT is not signed",
            3 if has(Dialect::Smb300) => "the reply to VALIDATE_NEGOTIATE_INFO is not signed",
            _ => "a reply without a signature where everything is signed",
        }))
    };
    each(&Setup::SIGNED, signed, |nth| Lie::Unsigned { nth }, error);
}

#[test]
fn at_3_1_1_the_share_proves_itself_to_users_who_do_not_sign() {
    let setup = Setup { dialects: Dialects::only(Dialect::Smb311), ..Setup::user() };
    let error = Error::Unauthentic("the reply to TREE_CONNECT is not signed");
    Scene::new(setup).told(Lie::Unsigned { nth: 2 }).play().fails(error);
}

#[test]
fn a_tag_that_is_wrong_by_one_bit_is_refused_wherever_it_stands() {
    each(&Setup::SEALED, sealed, |nth| Lie::SealTagWrong { nth }, |_, _| Some(TAG));
}

/// The bit is in what becomes the ProtocolId: that the message cannot be decoded is not what is said of it.
#[test]
fn ciphertext_that_is_wrong_by_one_bit_is_refused_before_it_is_judged() {
    each(&Setup::SEALED, sealed, |nth| Lie::CiphertextWrong { nth }, |_, _| Some(TAG));
}

#[test]
fn a_reply_in_the_clear_is_refused_wherever_it_stands() {
    each(&Setup::SEALED, sealed, |nth| Lie::PlaintextOnSealed { nth }, |_, _| Some(IN_THE_CLEAR));
}

#[test]
fn an_encrypted_reply_of_another_session_is_refused_wherever_it_stands() {
    let error = Some(Error::Unauthentic("an encrypted reply of another session"));
    each(&Setup::SEALED, sealed, |nth| Lie::TransformSessionId { nth }, |_, _| error);
}

#[test]
fn an_encrypted_message_inside_another_is_refused_wherever_it_stands() {
    let error = Some(Error::Misbehaved("an encrypted message inside an encrypted message"));
    each(&Setup::SEALED, sealed, |nth| Lie::TransformNested { nth }, |_, _| error);
}

#[test]
fn an_original_message_size_that_is_not_what_follows_is_refused_wherever_it_stands() {
    let error = Some(Error::Malformed("TRANSFORM_HEADER.OriginalMessageSize"));
    each(&Setup::SEALED, sealed, |nth| Lie::OriginalMessageSize { nth }, |_, _| error);
}

#[test]
fn a_compressed_message_that_nobody_negotiated_is_refused() {
    super::fails_before_any_byte(Lie::Compressed, Error::Malformed("Header.ProtocolId"));
}

#[test]
fn where_the_session_or_the_share_demands_it_everything_is_sealed_from_there_on() {
    for (sealing, dialect) in [
        (Sealing::Session, Dialect::Smb311),
        (Sealing::Share, Dialect::Smb311),
        (Sealing::Session, Dialect::Smb300),
        (Sealing::Share, Dialect::Smb300),
    ] {
        let mut scene = Scene::new(Setup { dialects: Dialects::only(dialect), ..Setup::user() });
        scene.config.sealing = sealing;
        let honest = scene.clone().play();
        honest.is_right();
        for nth in 1..=sealed(&honest) {
            scene.clone().told(Lie::PlaintextOnSealed { nth }).play().fails(IN_THE_CLEAR);
            scene.clone().told(Lie::SealTagWrong { nth }).play().fails(TAG);
        }
    }
}

/// What a client must not do itself: two messages under one nonce give both away.
#[test]
fn no_nonce_is_used_twice() {
    const NONCE: std::ops::Range<usize> = 20..36;
    for setup in Setup::SEALED {
        let said = Scene::new(setup).record().all(Side::Client);
        let (mut rest, mut nonces) = (&said[..], Vec::new());
        while let Some((mark, frames)) = rest.split_first_chunk() {
            let (frame, behind) = frames.split_at(u32::from_be_bytes(*mark) as usize);
            nonces.extend(frame.starts_with(b"\xFDSMB").then(|| frame[NONCE].to_vec()));
            rest = behind;
        }
        let count = nonces.len();
        nonces.sort();
        nonces.dedup();
        assert!(count > 15 && nonces.len() == count, "{setup:?}: {} nonces of {count}", nonces.len());
    }
}
