//! No lie at all: without these no other test says anything.

use pagewire::smb::Smb;
use pagewire::{Error, Open, Reason, StorageArray};
use pagewire_hostile::{Scene, Server, Session, Setup};
use pagewire_model::{Command, Config, Dialect, Model, Tree};

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

#[test]
fn a_symbolic_link_is_refused_with_where_it_points_and_how_much_of_the_path_led_there() {
    for setup in Setup::every() {
        let tree = Tree::new().symlink("dir/linké", "../elsewhere").pattern("f", 10);
        let config = Config { tree, guest: setup.is_guest(), ..Config::default() };
        let mut storage = StorageArray::<4096, 4096, 16>::new();
        let smb = Smb::new(setup.config());
        let mut session = Session::new(storage.lend(), smb, Server(Model::new(config))).unwrap();
        for (path, end) in [("dir/linké", "dir/linké"), ("dir/linké/\u{1F600}/x", "dir/linké")] {
            let Err(Error::Refused(refusal)) = session.run(&mut Open::new(path)) else {
                panic!("{path} is no file");
            };
            assert_eq!((refusal.reason, refusal.name), (Reason::Symlink, "STATUS_STOPPED_ON_SYMLINK"));
            let link = session.client.link(path).expect("the server says where it points");
            assert_eq!(link.target.to_string(), "..\\elsewhere", "{setup:?}");
            assert_eq!(path[..link.end].trim_end_matches('/'), end, "{setup:?}");
        }
        session.run(&mut Open::new("f")).unwrap();
        assert!(session.client.link("f").is_none(), "that was no link");
    }
}
