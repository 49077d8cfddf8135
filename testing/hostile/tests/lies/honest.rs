//! No lie at all: without these no other test says anything.

use pagewire_hostile::{Scene, Setup};
use pagewire_model::{Command, Dialect};

#[test]
fn an_honest_server_is_read_right_however_it_is_protected() {
    let all =
        [(&Setup::PLAIN[..], false, false), (&Setup::SIGNED, true, false), (&Setup::SEALED, false, true)];
    for (setups, signed, sealed) in all {
        for setup in setups {
            let played = Scene::new(*setup).play();
            played.is_right();
            let read = played.link.log().iter().find(|record| record.command == Command::Read).unwrap();
            assert_eq!((read.signed, read.sealed), (signed, sealed), "{setup:?}");
            assert!(played.counters.max_in_flight >= 4, "{:?}", played.counters);
            assert!(played.link.requests(Command::QueryDirectory) > 2, "a listing takes several replies");
        }
    }
}

#[test]
fn an_honest_server_of_any_dialect_is_read_right_by_who_offers_them_all() {
    for dialect in Dialect::ALL {
        let mut scene = Scene::new(Setup::user());
        scene.config.dialects = dialect.and_below();
        scene.play().is_right();
    }
}
