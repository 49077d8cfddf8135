//! The server stops after `k` bytes and closes, for every `k` of a whole conversation.

use pagewire::Error;
use pagewire_hostile::{Line, Scene, Setup, Tape};

fn stops_after_every_byte(setup: Setup) {
    let scene = Scene::small(setup);
    let tape = Tape::new(&scene.clone().record());
    let whole = scene.clone().play_over(tape.clone());
    whole.went_well();
    for cut in 0..=tape.len() {
        let played = scene.clone().play_over(Line { cut: Some(cut), ..Line::new(tape.clone()) });
        // The reply to the last CLOSE is not waited for.
        if cut < whole.link.taken { played.fails(Error::Closed) } else { played.went_well() }
    }
}

#[test]
fn a_plain_conversation_that_stops_after_any_byte_is_closed() {
    stops_after_every_byte(Setup::PLAIN[0]);
}

#[test]
fn a_signed_conversation_that_stops_after_any_byte_is_closed() {
    stops_after_every_byte(Setup::SIGNED[2]);
}

#[test]
fn a_sealed_conversation_that_stops_after_any_byte_is_closed() {
    stops_after_every_byte(Setup::SEALED[1]);
}
