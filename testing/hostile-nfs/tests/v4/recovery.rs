//! Servers that forget sessions, clients and opens: whatever is under way goes on, and if they do for ever it ends.

use pagewire::nfs::{Nfs4, nfs4};
use pagewire::{
    Buffer, Close, Connect, Disconnect, Error, Map, MapSegment, Open, Pages, Read, Reason, Stat,
    StorageArray, Stream,
};
use pagewire_hostile_nfs::v4::{Quirk, Scene, Session, When, op, status};
use pagewire_hostile_nfs::{Kind, Layout, fetch, refused};

/// What SEQUENCE may say of a session that is of no more use.
const LOST: [(u32, &str); 10] = [
    (status::EXPIRED, "NFS4ERR_EXPIRED"),
    (status::STALE_CLIENTID, "NFS4ERR_STALE_CLIENTID"),
    (status::BADSESSION, "NFS4ERR_BADSESSION"),
    (status::BADSLOT, "NFS4ERR_BADSLOT"),
    (10055, "NFS4ERR_CONN_NOT_BOUND_TO_SESSION"),
    (status::SEQ_MISORDERED, "NFS4ERR_SEQ_MISORDERED"),
    (status::RETRY_UNCACHED_REP, "NFS4ERR_RETRY_UNCACHED_REP"),
    (10076, "NFS4ERR_SEQ_FALSE_RETRY"),
    (status::BAD_HIGH_SLOT, "NFS4ERR_BAD_HIGH_SLOT"),
    (10078, "NFS4ERR_DEADSESSION"),
];

fn scenes() -> impl Iterator<Item = Scene> {
    let refuses = |scene: &mut Scene| {
        (scene.config.takes_bypass, scene.config.takes_anonymous) = (false, false);
    };
    (1..3).flat_map(move |minor| [Scene::small().minor(minor), Scene::small().minor(minor).with(refuses)])
}

fn requests(scene: &Scene) -> usize {
    let played = scene.clone().play();
    played.is_right();
    played.line.end.compounds.len()
}

#[test]
fn a_server_may_restart_before_every_request() {
    for scene in scenes() {
        for nth in 0..requests(&scene) {
            let played = scene.clone().quirk(When::Nth(nth), Quirk::Restarts).play();
            played.is_right();
            assert_eq!(played.line.end.session_count(), 1, "{nth}");
        }
    }
}

#[test]
fn a_server_may_restart_while_a_client_recovers() {
    let scene = Scene::small().minor(2);
    let requests = requests(&scene);
    for first in 0..requests {
        for then in 1..6 {
            let restarts = |scene: Scene, nth| scene.quirk(When::Nth(nth), Quirk::Restarts);
            restarts(restarts(scene.clone(), first), first + then).play().is_right();
        }
    }
}

#[test]
fn a_server_that_restarts_for_ever_is_given_up() {
    for scene in scenes() {
        let requests = requests(&scene);
        for nth in 0..requests {
            let played = scene.clone().quirk(When::From(nth), Quirk::Restarts).play();
            // An operation without a session, or that comes in the last request, does not notice.
            let Err(Error::Refused(refusal)) = played.outcome else { panic!("{:?}", played.outcome) };
            assert_eq!(refusal.reason, Reason::Expired);
            assert!(played.line.end.compounds.len() < requests + 40);
        }
    }
}

#[test]
fn whatever_sequence_says_of_a_session_another_is_made() {
    for scene in scenes() {
        let count = requests(&scene) - 2;
        for (status, name) in LOST {
            let refuses = Quirk::Refuses(op::SEQUENCE, status);
            for when in (0..count).map(When::Nth).chain([When::First(4)]) {
                scene.clone().quirk(when, refuses).play().is_right();
            }
            for nth in [0, 1, count / 2, count - 1] {
                let played = scene.clone().quirk(When::From(nth), refuses).play();
                played.is_refused(Reason::Expired.of(status), status, name, "SEQUENCE");
                assert!(played.line.end.compounds.len() < count + 60);
            }
        }
    }
}

/// What the numbers without a session are to a caller.
trait Of {
    fn of(self, status: u32) -> Reason;
}

impl Of for Reason {
    fn of(self, status: u32) -> Reason {
        let other = [status::RETRY_UNCACHED_REP, 10076, status::BAD_HIGH_SLOT].contains(&status);
        if other { Reason::Other } else { self }
    }
}

#[test]
fn a_session_that_cannot_be_created_takes_another_client() {
    for scene in scenes() {
        for (status, name) in [
            (status::STALE_CLIENTID, "NFS4ERR_STALE_CLIENTID"),
            (status::SEQ_MISORDERED, "NFS4ERR_SEQ_MISORDERED"),
        ] {
            let refuses = Quirk::Refuses(op::CREATE_SESSION, status);
            scene.clone().quirk(When::First(2), refuses).play().is_right();
            let played = scene.clone().quirk(When::Always, refuses).play();
            played.is_refused(Reason::Expired, status, name, "CREATE_SESSION");
        }
        let refuses = Quirk::Refuses(op::CREATE_SESSION, 5);
        let restarts = scene.quirk(When::Nth(6), Quirk::Restarts).quirk(When::Nth(1), refuses);
        restarts.play().is_refused(Reason::Other, 5, "NFS4ERR_IO", "CREATE_SESSION");
    }
}

#[test]
fn that_state_was_lost_does_not_matter_to_who_has_none() {
    for scene in scenes() {
        scene.quirk(When::Always, Quirk::StatusFlags(u32::MAX)).play().is_right();
    }
}

#[test]
fn a_stateid_that_is_lost_is_replaced_and_one_that_is_never_taken_is_refused() {
    for scene in scenes() {
        for status in [status::BAD_STATEID, status::STALE_STATEID, status::OLD_STATEID, status::EXPIRED] {
            for nth in 0..6 {
                scene.clone().quirk(When::Nth(nth), Quirk::Refuses(op::READ, status)).play().is_right();
            }
            let played = scene.clone().quirk(When::Always, Quirk::Refuses(op::READ, status)).play();
            let Err(Error::Refused(refusal)) = played.outcome else { panic!("{:?}", played.outcome) };
            assert_eq!((refusal.code, refusal.during), (status, "READ"));
        }
        let refuses = Quirk::Refuses(op::OPEN, 13);
        let played = scene.quirk(When::Always, refuses).play();
        if !played.scene.config.takes_bypass {
            played.is_refused(Reason::Denied, 13, "NFS4ERR_ACCESS", "OPEN");
        }
    }
}

fn connected(scene: &Scene, then: impl FnOnce(&mut Session<'_>)) {
    let mut storage = StorageArray::<1024, 4096, 8>::new();
    let nfs = Nfs4::new(scene.client.clone());
    let mut session = Session::new(storage.lend(), nfs, scene.line()).unwrap();
    session.run(&mut Connect::new()).unwrap();
    then(&mut session);
}

#[test]
fn a_map_is_the_same_over_a_restart_before_each_of_its_requests() {
    let layout = Layout::of(&[10_000, 20_000, 30_000, 1000]);
    let scene = Scene::new().minor(2).with(|scene| {
        scene.config.tree = scene.config.tree.clone().with("/export/sparse", Kind::File(layout));
    });
    let map = |scene: &Scene| {
        let (mut segments, mut requests) = (Vec::new(), 0);
        connected(scene, |session| {
            let file = session.run(&mut Open::new("/export/sparse")).unwrap();
            let each = |segment: MapSegment| segments.push((segment.offset, segment.len, segment.hole));
            session.run_each(&mut Map::new(&file, 0), each).unwrap();
            requests = session.link.end.compounds.len();
        });
        (segments, requests)
    };
    let (honest, requests) = map(&scene);
    assert_eq!(honest.len(), 4);
    for nth in 0..requests {
        assert_eq!(map(&scene.clone().quirk(When::Nth(nth), Quirk::Restarts)).0, honest, "{nth}");
    }
    let lost = Quirk::Refuses(op::SEEK, status::BAD_STATEID);
    assert_eq!(map(&scene.clone().quirk(When::Nth(2), lost)).0, honest);
    connected(&scene.quirk(When::Always, lost), |session| {
        let file = session.run(&mut Open::new("/export/sparse")).unwrap();
        let outcome = session.run(&mut Map::new(&file, 0));
        assert!(matches!(outcome, Err(Error::Refused(refusal)) if refusal.code == status::BAD_STATEID));
    });
}

#[test]
fn a_client_that_says_goodbye_is_forgotten() {
    for minor in 0..3 {
        connected(&Scene::new().minor(minor), |session| {
            session.abandon(Open::new("/export/f"), 1);
            session.run(&mut Stat::new("")).unwrap();
            let waited = session.client.counters().round_trips;
            session.run(&mut Disconnect::new()).unwrap();
            assert_eq!(session.client.counters().round_trips, waited, "nobody waits for the replies");
            let server = &session.link.end;
            assert_eq!((server.session_count(), server.client_count()), (0, 0));
            // Once is enough, and what is asked then begins anew.
            let requests = server.compounds.len();
            session.run(&mut Disconnect::new()).unwrap();
            assert_eq!(session.link.end.compounds.len(), requests);
            assert!(session.run(&mut Stat::new("")).is_ok());
            assert_eq!(session.link.end.session_count(), usize::from(minor > 0));
            session.run(&mut Connect::new()).unwrap();
        });
        let mut storage = StorageArray::<1024, 4096, 8>::new();
        let scene = Scene::new().minor(minor);
        let mut session =
            Session::new(storage.lend(), Nfs4::new(scene.client.clone()), scene.line()).unwrap();
        assert_eq!(
            session.run(&mut Disconnect::new()),
            Ok(()),
            "before anything was asked there is nothing to end"
        );
    }
}

#[test]
fn what_is_dropped_while_a_client_recovers_leaves_the_next_right() {
    let honest = Scene::new().play().line.end.compounds.len();
    for minor in 1..3 {
        for steps in 0..20 {
            let restarts = Scene::new().minor(minor).quirk(When::Nth(3), Quirk::Restarts);
            connected(&restarts, |session| {
                session.abandon(Open::new("/export/f"), steps);
                session.run(&mut Open::new("/export/f")).unwrap();
                assert!(session.link.end.session_count() == 1 && session.link.end.compounds.len() < honest);
            });
            connected(&Scene::new().minor(minor), |session| {
                session.abandon(Disconnect::new(), steps);
                session.run(&mut Connect::new()).unwrap();
                session.run(&mut Stat::new("")).unwrap();
            });
        }
    }
}

#[test]
fn what_is_closed_while_a_session_is_made_anew_leaves_the_next_right() {
    let lost = Quirk::Refuses(op::SEQUENCE, status::BADSESSION);
    for quirk in [Quirk::Restarts, lost] {
        for (nth, steps) in (0..14).flat_map(|nth| (0..20).map(move |steps| (nth, steps))) {
            connected(&by_name().minor(1).quirk(When::Nth(nth), quirk), |session| {
                let file = session.run(&mut Open::new("/export/f")).unwrap();
                let mut memory = [0; 512];
                session.run(&mut Read::new(&file, 0, &mut Buffer(&mut memory))).unwrap();
                session.abandon(Stat::new("/export/d"), steps);
                // A CLOSE belongs to the session that the file was opened in.
                assert_eq!(session.run(&mut Close::new(&file)), Ok(()), "{quirk:?} {nth} {steps}");
                let stat = session.run(&mut Stat::new("/export/d"));
                assert!(stat.is_ok(), "{quirk:?} {nth} {steps}: {stat:?}");
            });
        }
    }
}

#[test]
fn what_is_dropped_while_it_is_opened_is_closed() {
    for (minor, steps) in (1..3).flat_map(|minor| (0..40).map(move |steps| (minor, steps))) {
        connected(&by_name().minor(minor), |session| {
            let file = session.run(&mut Open::new("/export/f")).unwrap();
            let mut pages = [[0; 512]; 4];
            session.abandon(Stream::new(&file, 0, &mut Pages(&mut pages)), steps);
            session.run(&mut Close::new(&file)).unwrap();
            // Nobody waits for the reply to the CLOSE; that it was sent is seen once something else is answered.
            session.run(&mut Stat::new("")).unwrap();
            assert_eq!(session.link.end.open_files(), 0, "{minor} {steps}");
        });
    }
}

#[test]
fn what_the_server_says_to_goodbye_does_not_matter() {
    for operation in [op::DESTROY_SESSION, op::DESTROY_CLIENTID] {
        for status in [status::DELAY, status::BADSESSION, 5] {
            let scene = Scene::new().minor(1).quirk(When::Always, Quirk::Refuses(operation, status));
            connected(&scene, |session| {
                assert_eq!(session.run(&mut Disconnect::new()), Ok(()));
                assert_eq!(
                    (session.link.end.session_count() > 0, session.pauses),
                    (operation == op::DESTROY_SESSION, 0)
                );
            });
        }
    }
}

/// The content of a file, which is opened again for as long as it has to be.
fn content(session: &mut Session<'_>, path: &str, opens_max: usize) -> Result<Vec<u8>, Error> {
    let mut outcome = Ok(Vec::new());
    for _ in 0..opens_max {
        let file = session.run(&mut Open::new(path))?;
        let mut memory = vec![0xAA; 21_000];
        let filled = session.run(&mut Read::new(&file, 0, &mut Buffer(&mut memory)));
        outcome = filled.map(|filled| memory[..filled.len].to_vec());
        match outcome {
            Err(Error::Refused(refusal)) if refusal.reason == Reason::Expired => {}
            _ => {
                session.run(&mut Close::new(&file))?;
                break;
            }
        }
    }
    outcome
}

/// Minor version 0, and no special stateid is good enough.
fn by_name() -> Scene {
    Scene::new().minor(0).with(|scene| {
        (scene.config.takes_bypass, scene.config.takes_anonymous) = (false, false);
    })
}

#[test]
fn minor_version_0_opens_by_name_once_it_knows_that_it_must() {
    let truth = by_name().truth().file.bytes();
    connected(&by_name(), |session| {
        let before = session.run(&mut Open::new("/export/f")).unwrap();
        assert_eq!(content(session, "/export/f", 1).err(), Some(BAD_STATEID), "this is how it learns it");
        for path in ["/export/f", "//export//f"] {
            assert!(content(session, path, 1).unwrap() == truth);
        }
        assert!(content(session, "/export/d/entry-07", 1).unwrap().len() == 7);
        // A handle is the file, whoever has opened it; one file is open at a time.
        let file = session.run(&mut Open::new("/export/f")).unwrap();
        let mut memory = [0; 9];
        assert!(session.run(&mut Read::new(&before, 0, &mut Buffer(&mut memory))).is_ok());
        let other = session.run(&mut Open::new("/export/d/entry-07")).unwrap();
        assert!(session.run(&mut Read::new(&other, 0, &mut Buffer(&mut memory))).is_ok());
        assert_eq!(session.run(&mut Read::new(&file, 0, &mut Buffer(&mut memory))).err(), Some(BAD_STATEID));
        // What it knew before is not asked again, what cannot be opened is as without it.
        for path in ["/export", "/export/link", "/export/none", ""] {
            assert!(session.run(&mut Open::new(path)).is_err());
        }
        // Once the CLOSE of the other is answered its OPEN is sent.
        assert!(session.abandon(Open::new("/export/f"), 9));
        assert!(session.link.end.compounds.last().unwrap().contains(&op::OPEN));
        session.run(&mut Disconnect::new()).unwrap();
        assert_eq!(session.client.failed(), None);
        assert_eq!(session.link.end.open_files(), 1, "what was never confirmed the server forgets by itself");
    });
}

/// One client's opens are in one order, and the engine has room to remember one.
#[test]
fn files_of_minor_version_0_that_are_read_side_by_side_are_opened_one_after_another() {
    connected(&by_name(), |session| {
        assert_eq!(content(session, "/export/f", 1).err(), Some(BAD_STATEID), "this is how it learns it");
        // More files than lanes. All that there is of them comes with their start.
        let paths: Vec<_> = (5..15).map(|n| format!("/export/d/entry-{n:02}")).collect();
        let paths: Vec<_> = paths.iter().map(String::as_str).collect();
        let ends: Vec<_> = fetch(session, &paths).into_iter().map(|came| came.end).collect();
        assert_eq!(ends, (5..15).map(Ok).collect::<Vec<_>>());
        session.run(&mut Disconnect::new()).unwrap();
        session.run(&mut Stat::new("")).unwrap();
        assert_eq!(session.link.end.open_files(), 0);
    });
}

const BAD_STATEID: Error = refused(Reason::Expired, status::BAD_STATEID, "NFS4ERR_BAD_STATEID", "READ");

#[test]
fn minor_version_0_opens_again_after_a_restart_before_any_request() {
    let truth = by_name().truth().file.bytes();
    let mut requests = 0;
    connected(&by_name(), |session| {
        assert!(content(session, "/export/f", 2).unwrap() == truth);
        requests = session.link.end.compounds.len();
    });
    // Limits, two walks, reads that are refused, the client, the open, reads.
    assert!(requests > 15);
    for nth in 1..requests {
        connected(&by_name().quirk(When::Nth(nth), Quirk::Restarts), |session| {
            assert!(content(session, "/export/f", 3).unwrap() == truth, "{nth}");
        });
    }
    let for_ever = Quirk::Refuses(op::OPEN, status::STALE_CLIENTID);
    connected(&by_name().quirk(When::Always, for_ever), |session| {
        let refused = refused(Reason::Expired, status::STALE_CLIENTID, "NFS4ERR_STALE_CLIENTID", "OPEN");
        assert_eq!(content(session, "/export/f", 2).err(), Some(refused));
        assert!(session.link.end.compounds.len() < 60);
    });
    let waits = Quirk::Refuses(op::OPEN_CONFIRM, status::DELAY);
    let waits =
        by_name().quirk(When::First(2), waits).quirk(When::First(2), Quirk::Refuses(op::OPEN, status::GRACE));
    connected(&waits, |session| assert!(content(session, "/export/f", 2).unwrap() == truth));
}

#[test]
fn what_cannot_be_opened_is_refused_and_the_next_file_is_read() {
    for minor in 0..3 {
        let scene = by_name().minor(minor).quirk(When::Nth(0), Quirk::Refuses(op::OPEN, 13));
        connected(&scene, |session| {
            let denied = refused(Reason::Denied, 13, "NFS4ERR_ACCESS", "OPEN");
            assert_eq!(content(session, "/export/f", 2).err(), Some(denied));
            assert_eq!(content(session, "/export/d/entry-07", 1).unwrap().len(), 7);
        });
    }
}

/// `NFS4ERR_MOVED`.
const MOVED: u32 = 10019;

#[test]
fn what_is_on_another_server_is_told_with_its_places() {
    // The second LOOKUP, GETFH, or GETATTR behind that of Connect, is about what has moved.
    for (minor, operation, nth) in (0..3).flat_map(|minor| {
        [(op::LOOKUP, 1), (op::GETFH, 0), (op::GETATTR, 1)].map(|(op, nth)| (minor, op, nth))
    }) {
        let scene = Scene::new().minor(minor).quirk(When::Nth(nth), Quirk::Refuses(operation, MOVED));
        connected(&scene, |session| {
            let outcome = session.run(&mut Open::new("/export/f")).map(|_| ());
            assert_eq!(outcome, Err(refused(Reason::Unsupported, MOVED, "NFS4ERR_MOVED", "LOOKUP")));
            let locations = nfs4::locations(session.client.frame()).unwrap();
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let places: Vec<Vec<String>> = locations
                .locations()
                .map(|place| place.server.iter().chain(place.rootpath.iter()).map(text).collect())
                .collect();
            assert_eq!(places, [vec!["other", "there", "f"], vec!["a", "b"]]);
            // All else is where it was.
            session.run(&mut Open::new("/export/f")).unwrap();
            assert_eq!(nfs4::locations(session.client.frame()), None);
        });
    }
}

#[test]
fn a_server_that_does_not_say_where_something_is_has_moved_it_all_the_same() {
    let scene = Scene::new().quirk(When::Always, Quirk::Refuses(op::LOOKUP, MOVED));
    connected(&scene, |session| {
        let outcome = session.run(&mut Open::new("/export/f")).map(|_| ());
        assert_eq!(outcome, Err(refused(Reason::Unsupported, MOVED, "NFS4ERR_MOVED", "LOOKUP")));
    });
}
