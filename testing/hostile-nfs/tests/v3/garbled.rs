//! The line breaks after every byte of a whole conversation in turn, and changes bits of every byte in turn.

use pagewire::Error;
use pagewire_hostile_nfs::v3::{Played, Scene};
use pagewire_hostile_nfs::{Chunks, Fragments};

/// Conversations that differ in what stands where.
fn scenes() -> Vec<Scene> {
    let plain = Scene::small();
    let bare = Scene::small().with(|scene| {
        (scene.config.attributes, scene.config.rpc.verifier_len, scene.config.surplus) = (false, 5, 6);
    });
    vec![plain, bare]
}

/// How many bytes the server says.
fn len(scene: &Scene) -> usize {
    let played = scene.clone().play();
    played.is_right();
    played.line.given
}

#[test]
fn a_line_that_breaks_is_closed_wherever_it_breaks() {
    let cut_up = Scene::small().with(|scene| {
        scene.config.rpc.fragments = Fragments { lengths: &[9, 1, 14], empty_last: false };
    });
    for scene in scenes().into_iter().chain([cut_up]) {
        for at in 0..len(&scene) {
            let chunks = if at % 16 == 0 { Chunks::Of(1) } else { Chunks::Whole };
            let played = scene.clone().with(|scene| (scene.cut, scene.chunks) = (Some(at), chunks)).play();
            played.fails(Error::Closed);
        }
    }
}

/// How many bits differ.
fn differ(a: &[u8], b: &[u8]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
}

/// One bit is wrong. If it is one of a file's, that is what comes, at its place; if it is not one of those that say
/// which call is answered, every byte that comes is right.
fn judge(played: &Played, at: usize) {
    let truth = played.scene.truth();
    let tail = played.story.tail.clone().unwrap_or_default().0;
    let right = truth.tail.unwrap().0;
    let wrong = differ(&played.story.file.bytes(), &truth.file.bytes()) + differ(&tail, &right);
    let sent = played.line.end.rpc.sent.iter().find(|sent| sent.record.contains(&at)).unwrap();
    assert!(played.story.file.len() <= truth.file.len() && tail.len() <= right.len(), "{at}: too much");
    if sent.data.iter().any(|data| data.contains(&at)) {
        assert_eq!((played.outcome, wrong), (Ok(()), 1), "{at}");
    } else if !(4..8).contains(&(at - sent.record.start)) {
        assert_eq!(wrong, 0, "{at}: wrong bytes were lent");
    }
}

/// Changes `bits` of the eight bits of every byte, others in every byte.
fn flips(scene: &Scene, bits: u32) {
    let (mut failed, mut all) = (0, 0);
    for at in 0..len(scene) {
        for bit in (0..bits).map(|bit| (at as u32 + bit * 3) % 8) {
            let played =
                scene.clone().with(|scene| (scene.flip, scene.judges) = (Some((at, bit)), false)).play();
            judge(&played, at);
            all += 1;
            failed += usize::from(played.outcome.is_err());
        }
    }
    assert!(failed > all / 10 && failed < all, "{failed} of {all} failed");
}

#[test]
fn a_wrong_bit_of_a_plain_conversation_does_no_harm() {
    flips(&scenes()[0], 4);
}

#[test]
fn a_wrong_bit_of_a_conversation_without_attributes_does_no_harm() {
    flips(&scenes()[1], 2);
}
