//! A bit of the server's bytes is wrong, at every position of a whole conversation in turn.

use pagewire::Error;
use pagewire_hostile::{Line, Played, Scene, Setup, Tape};

/// Plays once for every position, with a bit changed that differs from position to position. That nothing wrong is lent
/// is asserted by the play. Returns how often it failed with what `counts`.
fn flips(setup: Setup, counts: fn(&Error) -> bool) -> (usize, usize) {
    let scene = Scene::small(setup);
    let tape = Tape::new(&scene.clone().record());
    let judged = Scene { judges: setup.is_protected(), ..scene };
    let flip = |at: usize| {
        // 5 and 8 have no common divisor: every bit has its turn in every field.
        let bit = (at * 5 / 3 % 8) as u32;
        judged.clone().play_over(Line { flip: Some((at, bit)), ..Line::new(tape.clone()) })
    };
    let plays: Vec<Played<Line<Tape>>> = (0..tape.len()).map(flip).collect();
    let failed = plays.iter().filter(|played| played.outcome.is_err_and(|error| counts(&error))).count();
    (failed, plays.len())
}

fn is_unauthentic(error: &Error) -> bool {
    matches!(error, Error::Unauthentic(_))
}

fn signed(setup: Setup) {
    let (unauthentic, all) = flips(setup, is_unauthentic);
    assert!(unauthentic * 3 > all, "{unauthentic} of {all} are told by the signature");
}

fn sealed(setup: Setup) {
    let (unauthentic, all) = flips(setup, is_unauthentic);
    assert!(unauthentic * 2 > all, "{unauthentic} of {all} are told by the tag");
}

#[test]
fn a_wrong_bit_under_hmac_is_never_lent() {
    signed(Setup::SIGNED[0]);
}

#[test]
fn a_wrong_bit_under_cmac_is_never_lent() {
    signed(Setup::SIGNED[1]);
}

#[test]
fn a_wrong_bit_under_gmac_is_never_lent() {
    signed(Setup::SIGNED[2]);
}

#[test]
fn a_wrong_bit_under_ccm_is_never_lent() {
    sealed(Setup::SEALED[0]);
}

#[test]
fn a_wrong_bit_under_gcm_is_never_lent() {
    sealed(Setup::SEALED[1]);
}

/// Nothing tells a wrong byte from a right one, but every run ends.
#[test]
fn a_wrong_bit_in_the_clear_does_no_harm_to_the_engine() {
    let (ended, all) = flips(Setup::PLAIN[0], |_| true);
    assert!(ended > all / 10 && ended < all, "{ended} of {all} failed");
}
