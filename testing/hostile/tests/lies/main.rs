//! Every lie that the model server can tell, and what exactly must come of it.
//!
//! What holds whatever is told (nothing wrong is lent, no unverified byte stays in a page, errors stay, the end comes) is
//! asserted by [`Scene::play`](pagewire_hostile::Scene::play).

mod connecting;
mod extremes;
mod framing;
mod honest;
mod listings;
mod long;
mod order;
mod ranges;
mod reads;
mod signed_and_sealed;
mod slowness;

use pagewire::Error;
use pagewire_hostile::{Scene, Setup};
use pagewire_model::Lie;

/// However the connection is protected, the lie changes nothing.
#[track_caller]
fn is_harmless(lie: Lie) {
    for setup in Setup::every() {
        Scene::new(setup).told(lie).play().is_right();
    }
}

/// However the connection is protected, the lie ends it before a byte of a file is lent.
#[track_caller]
fn fails_before_any_byte(lie: Lie, error: Error) {
    for setup in Setup::every() {
        let played = Scene::new(setup).told(lie).play();
        played.fails(error);
        assert!(played.story.file.is_empty(), "{setup:?} lent {} bytes", played.story.file.len());
    }
}
