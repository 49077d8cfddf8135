//! Operations on a connection that is not there yet, and chains that a server refuses.

use pagewire::smb::{Dialect, Dialects, Policy, Smb};
use pagewire::{
    Close, Connect, Error, Fetch, Fetched, Lane, List, Open, Pages, Reason, Stat, StatBoth, Statfs,
    StorageArray,
};
use pagewire_hostile::{Scene, Server, Session, Setup};
use pagewire_model::{Command, Lie, Model, Sealing, Tree, pattern};
use std::fmt::Debug;

/// Files `f` of 700 bytes, `g` of 3000 and `empty`, and a directory `d` of three.
fn scene(setup: Setup) -> Scene {
    let mut scene = Scene::small(setup);
    let tree = Tree::new().pattern("f", 700).pattern("g", 3000).pattern("empty", 0);
    scene.config.tree = tree.pattern("d/a", 1).pattern("d/b", 2).directory("d/sub");
    scene.config.max_read_size = 1024;
    scene
}

fn with<R>(scene: &Scene, body: impl FnOnce(&mut Session<'_, Server>) -> R) -> R {
    let mut storage = StorageArray::<4096, 4096, 16>::new();
    let smb = Smb::new(scene.setup.config());
    let link = Server(Model::new(scene.config.clone()));
    body(&mut Session::new(storage.lend(), smb, link).expect("the storage is enough"))
}

/// What came of each path: the bytes of the file, or why not.
type Files = Vec<Result<Vec<u8>, Error>>;

/// Fetches files with heads of 1024 bytes, so many side by side.
fn fetch(session: &mut Session<'_, Server>, paths: &[&'static str], lanes: usize) -> Result<Files, Error> {
    let mut lanes: Vec<_> = (0..lanes).map(|_| Lane::new()).collect();
    let (mut heads, mut pages) = (vec![[0xAA; 512]; 2 * lanes.len()], [[0xAA; 512]; 8]);
    let (mut heads, mut pages) = (Pages(&mut heads), Pages(&mut pages));
    let mut paths = paths.iter().copied();
    let mut fetch = Fetch::new(&mut paths, &mut lanes, &mut heads, &mut pages);
    let (mut files, mut bytes) = (Files::new(), Vec::new());
    session.run_each(&mut fetch, |part| match part {
        Fetched::Opened { .. } => bytes.clear(),
        Fetched::Content(content) => bytes.extend(content.data()),
        Fetched::Ended(len) => {
            assert_eq!(len, bytes.len() as u64);
            files.push(Ok(std::mem::take(&mut bytes)));
        }
        Fetched::Failed(error) => files.push(Err(error)),
    })?;
    Ok(files)
}

/// The round trips of a first operation.
fn trips(scene: &Scene, first: impl FnOnce(&mut Session<'_, Server>)) -> u32 {
    with(scene, |session| {
        first(session);
        let trips = session.client.counters().round_trips;
        is_tidy(session);
        trips
    })
}

/// Another operation goes well, and then nothing is open.
#[track_caller]
fn is_tidy(session: &mut Session<'_, Server>) {
    session.run(&mut Stat::new("f")).unwrap();
    assert_eq!(session.link.open_handles(), 0, "every handle is closed");
    assert!(!session.link.is_closed(), "the server has no complaint");
}

/// Three round trips for the session, and one for all else; at 3.0 two are for the proof that nobody changed NEGOTIATE.
fn floor(setup: &Setup) -> u32 {
    let proves = setup.dialects == Dialects::only(Dialect::Smb300);
    if proves { 6 } else { 4 }
}

#[test]
fn the_first_operation_takes_one_round_trip_more_than_the_session_however_it_is_protected() {
    for setup in Setup::every() {
        let scene = scene(setup);
        let trips = [
            trips(&scene, |session| assert!(session.run(&mut Stat::new("f")).is_ok())),
            trips(&scene, |session| assert!(session.run(&mut Statfs::new("")).is_ok())),
            trips(&scene, |session| assert!(session.run(&mut StatBoth::new("d")).is_ok())),
            trips(&scene, |session| assert!(session.run(&mut List::new("d")).is_ok())),
        ];
        let floor = floor(&setup);
        assert_eq!(trips, [floor, floor, floor, floor + 1], "{setup:?}");
        with(&scene, |session| {
            assert_eq!(fetch(session, &["f"], 1), Ok(vec![Ok(pattern(0, 0, 700))]), "{setup:?}");
            assert_eq!(session.client.counters().round_trips, floor, "{setup:?}");
            assert_eq!(session.link.requests(Command::Read), 1);
            is_tidy(session);
        });
    }
}

#[test]
fn the_space_that_is_told_with_the_attributes_is_that_which_is_told_alone() {
    for setup in Setup::every() {
        with(&scene(setup), |session| {
            let both = session.run(&mut StatBoth::new("f")).unwrap();
            assert_eq!(session.run(&mut Stat::new("f")), Ok(both.0));
            assert_eq!(session.run(&mut Statfs::new("f")), Ok(both.1));
        });
    }
}

#[test]
fn files_side_by_side_are_each_what_they_are_and_one_that_fails_takes_no_other_with_it() {
    for setup in Setup::every() {
        for lanes in [1, 2, 5] {
            with(&scene(setup), |session| {
                let files = fetch(session, &["f", "empty", "missing", "d", "g", "f"], lanes).unwrap();
                assert_eq!(files[0], Ok(pattern(0, 0, 700)), "{setup:?}, {lanes} lanes");
                assert_eq!(files[1], Ok(vec![]));
                assert_eq!(reason(&files[2]), Reason::NotFound);
                assert_eq!(reason(&files[3]), Reason::IsDirectory);
                assert_eq!(files[4], Ok(pattern(0, 0, 3000)));
                assert_eq!(files[5], files[0]);
                is_tidy(session);
            });
        }
    }
}

fn reason<T: Debug>(outcome: &Result<T, Error>) -> Reason {
    match outcome {
        Err(Error::Refused(refusal)) => refusal.reason,
        other => panic!("a refusal was expected, not {other:?}"),
    }
}

/// What every operation gives, as the first one of a connection.
#[track_caller]
fn all_goes_well(scene: &Scene) {
    with(scene, |session| {
        let files = fetch(session, &["f", "missing", "g"], 2).unwrap();
        assert!(files[0] == Ok(pattern(0, 0, 700)) && files[2] == Ok(pattern(0, 0, 3000)), "{scene:?}");
        assert_eq!(reason(&files[1]), Reason::NotFound);
        is_tidy(session);
    });
    for path in ["f", "d"] {
        with(scene, |session| {
            session.run(&mut StatBoth::new(path)).unwrap();
            is_tidy(session);
        });
    }
    with(scene, |session| {
        let mut names = Vec::new();
        session.run_each(&mut List::new("d"), |entry| names.push(entry.name.to_string())).unwrap();
        assert_eq!(names, ["a", "b", "sub"], "{:?}", scene.config.lies);
        is_tidy(session);
    });
}

#[test]
fn a_server_that_refuses_a_chain_is_asked_for_its_members_one_after_the_other() {
    let lies =
        [Lie::RefuseTreeConnectChain, Lie::RefuseBehindTreeConnect, Lie::RefuseRelatedHandle, Lie::ZeroGuid];
    for setup in Setup::every() {
        for lie in lies {
            all_goes_well(&scene(setup).told(lie));
        }
        all_goes_well(&scene(setup).told(Lie::RefuseBehindTreeConnect).told(Lie::RefuseRelatedHandle));
    }
}

#[test]
fn that_a_server_refuses_chains_is_remembered() {
    for setup in Setup::every() {
        with(&scene(setup).told(Lie::RefuseRelatedHandle), |session| {
            (0..4).for_each(|_| drop(fetch(session, &["f"], 1).unwrap()));
            assert_eq!(session.link.requests(Command::Read), 5, "{setup:?}: one was refused");
            assert_eq!(session.link.requests(Command::Create), 4);
        });
    }
}

/// All of them have found out by a READ of their own, which came behind their CREATE.
#[test]
fn a_server_that_refuses_chains_refuses_those_of_several_files_at_once() {
    for setup in Setup::every() {
        with(&scene(setup).told(Lie::RefuseRelatedHandle), |session| {
            session.run(&mut Connect::new()).unwrap();
            let right = |len| Ok(pattern(0, 0, len));
            let files = fetch(session, &["f", "g", "f"], 3);
            assert_eq!(files, Ok(vec![right(700), right(3000), right(700)]), "{setup:?}");
            is_tidy(session);
        });
    }
}

#[test]
fn a_server_without_a_guid_is_not_asked_for_anything_behind_tree_connect() {
    for setup in Setup::every() {
        let scene = scene(setup).told(Lie::ZeroGuid).told(Lie::RefuseTreeConnectChain);
        with(&scene, |session| {
            session.run(&mut Stat::new("f")).unwrap();
            assert_eq!(session.link.requests(Command::TreeConnect), 1);
        });
    }
}

#[test]
fn few_credits_are_enough_for_any_first_operation() {
    for setup in Setup::every() {
        for credits in 1..6 {
            let mut scene = scene(setup);
            scene.config.credits_max = credits;
            all_goes_well(&scene);
        }
    }
}

/// A server may answer each member in a frame of its own, and grant what all of them bring with the last.
#[test]
fn a_refused_chain_whose_credits_come_last_is_waited_for() {
    for setup in Setup::every() {
        for credits in 3..6 {
            let mut scene = scene(setup).told(Lie::GrantWithLast);
            scene.config.credits_max = credits;
            for scene in [scene.clone(), scene.told(Lie::ChainSeparate)] {
                all_goes_well(&scene);
                all_goes_well(&scene.told(Lie::RefuseTreeConnectMembers));
            }
        }
    }
}

#[test]
fn a_share_that_is_refused_alone_too_is_not_asked_for_again() {
    for setup in Setup::every() {
        let scene = scene(setup).told(Lie::RefuseTreeConnectAlone);
        for lanes in 1..4 {
            with(&scene, |session| {
                // Nobody answers what was asked behind it.
                let outcome = fetch(session, &["f", "g", "f"], lanes);
                assert!(outcome.is_err() || outcome.unwrap().iter().all(Result::is_err), "{setup:?}");
                assert!(session.link.requests(Command::TreeConnect) <= 2, "{setup:?}, {lanes} lanes");
            });
        }
        let (mut steps, mut at_work) = (0, true);
        while at_work {
            with(&scene, |session| {
                at_work = session.abandon(Open::new("f"), steps);
                session.run(&mut Stat::new("f")).unwrap_err();
                assert!(session.link.requests(Command::TreeConnect) <= 2, "{setup:?}, {steps}");
            });
            steps += 1;
        }
    }
}

#[test]
fn a_share_that_demands_encryption_is_asked_again_under_it_and_nothing_that_came_before_counts() {
    let mut scene = scene(Setup { dialects: Dialects::only(Dialect::Smb311), ..Setup::user() });
    scene.config.sealing = Sealing::Share;
    all_goes_well(&scene);
    all_goes_well(&scene.clone().told(Lie::SealTreeConnectChain));
    with(&scene, |session| {
        assert_eq!(fetch(session, &["f"], 1), Ok(vec![Ok(pattern(0, 0, 700))]));
        let log = session.link.log();
        let creates: Vec<_> = log.iter().filter(|record| record.command == Command::Create).collect();
        assert_eq!(creates.iter().map(|record| record.sealed).collect::<Vec<_>>(), [false, true]);
        assert_eq!(session.client.counters().round_trips, 5);
    });
    scene.setup.seal = Policy::Always;
    with(&scene, |session| {
        assert_eq!(fetch(session, &["f"], 1), Ok(vec![Ok(pattern(0, 0, 700))]));
        assert_eq!(session.client.counters().round_trips, 4, "where everything is sealed nothing is in vain");
    });
}

/// MS-SMB2 3.3.4.1.3: a server may answer the members of a chain one by one.
#[test]
fn a_chain_may_be_answered_in_frames_of_its_members() {
    for setup in Setup::every() {
        all_goes_well(&scene(setup).told(Lie::ChainSeparate));
    }
    let mut scene = scene(Setup { dialects: Dialects::only(Dialect::Smb311), ..Setup::user() });
    all_goes_well(&scene.clone().told(Lie::ChainSeparate));
    scene.config.sealing = Sealing::Share;
    all_goes_well(&scene.clone().told(Lie::ChainSeparate).told(Lie::SealTreeConnectChain));
}

/// MS-SMB2 3.3.4.1.4: whatever a server says of a share that demands encryption is encrypted, all but the reply to TREE_CONNECT
/// itself. Where all comes in one frame the share is not known before its end; else it is.
#[test]
fn a_share_that_demands_encryption_says_nothing_more_in_the_clear() {
    let mut scene = scene(Setup { dialects: Dialects::only(Dialect::Smb311), ..Setup::user() });
    scene.config.sealing = Sealing::Share;
    let outcome = with(&scene.told(Lie::ChainSeparate), |session| fetch(session, &["f"], 1));
    assert_eq!(outcome, Err(Error::Unauthentic("a reply in the clear where everything is encrypted")));
}

/// As long as nobody knows that the share demands encryption, whoever is on the way may answer in the clear what was asked in the clear.
#[test]
fn nothing_that_comes_before_the_share_is_known_is_believed() {
    let setup = Setup { dialects: Dialects::only(Dialect::Smb311), ..Setup::user() };
    let fetched = |sealing, lies: &[Lie]| {
        let mut scene = lies.iter().copied().fold(scene(setup), Scene::told);
        scene.config.sealing = sealing;
        with(&scene, |session| fetch(session, &["f"], 1))
    };
    let in_the_clear = Error::Unauthentic("a reply in the clear where everything is encrypted");
    assert_eq!(fetched(Sealing::Share, &[Lie::ForgedBeforeTreeConnect]), Err(in_the_clear));
    // Where the share's own reply is alone in its frame, nothing shows but that it came too late.
    for sealing in [Sealing::Share, Sealing::Offered] {
        let files = fetched(sealing, &[Lie::ForgedBeforeTreeConnect, Lie::ChainSeparate]);
        assert_eq!(files, Ok(vec![Ok(pattern(0, 0, 700))]), "{sealing:?}");
    }
}

#[test]
fn a_reply_to_the_first_chain_that_is_sealed_is_checked_like_any_other() {
    let mut scene = scene(Setup { dialects: Dialects::only(Dialect::Smb311), ..Setup::user() });
    scene.config.sealing = Sealing::Share;
    let scene = scene.told(Lie::SealTreeConnectChain);
    for lie in [Lie::SealTagWrong { nth: 1 }, Lie::CiphertextWrong { nth: 1 }] {
        let outcome = with(&scene.clone().told(lie), |session| fetch(session, &["f"], 1));
        assert_eq!(outcome, Err(Error::Unauthentic("the tag of a sealed message")));
    }
}

#[test]
fn no_member_of_the_first_chain_is_believed_without_its_signature() {
    for setup in [Setup::SIGNED[0], Setup::SIGNED[2]] {
        // The end of the authentication is the first reply that is signed.
        for nth in 2..=4 {
            for lie in [Lie::Unsigned { nth }, Lie::SignatureWrong { nth }] {
                let error = with(&scene(setup).told(lie), |session| fetch(session, &["f"], 1)).unwrap_err();
                assert!(matches!(error, Error::Unauthentic(_)), "{setup:?} {lie:?}: {error}");
            }
        }
    }
}

#[test]
fn at_3_1_1_the_share_proves_itself_before_anything_behind_it_is_believed() {
    let setup = Setup { dialects: Dialects::only(Dialect::Smb311), ..Setup::user() };
    let error = Error::Unauthentic("the reply to TREE_CONNECT is not signed");
    let scene = scene(setup).told(Lie::Unsigned { nth: 2 });
    assert_eq!(with(&scene, |session| fetch(session, &["f"], 1)), Err(error));
}

#[test]
fn an_operation_that_is_dropped_while_it_connects_leaves_the_next_one_right() {
    for setup in Setup::every() {
        let scene = scene(setup);
        let mut steps = 0;
        while with(&scene, |session| {
            let was_at_work = session.abandon(Open::new("f"), steps);
            assert_eq!(fetch(session, &["g"], 1), Ok(vec![Ok(pattern(0, 0, 3000))]), "{setup:?}, {steps}");
            // What came of the one that was dropped is closed, but for the handle that it had given.
            assert!(session.link.open_handles() <= usize::from(!was_at_work));
            was_at_work
        }) {
            steps += 1;
        }
        assert!(steps > 10, "{setup:?}: {steps} steps");
    }
}

/// The server may have given the handle to another file by the time of a second CLOSE.
#[test]
fn what_its_own_chain_closes_is_not_closed_again_when_it_is_dropped() {
    for setup in Setup::every() {
        let scene = scene(setup);
        let mut steps = 0;
        while with(&scene, |session| {
            session.run(&mut Connect::new()).unwrap();
            let at_work = [
                session.abandon(Stat::new("f"), steps),
                session.abandon(Statfs::new(""), steps),
                session.abandon(StatBoth::new("d"), steps),
            ];
            (0..2).for_each(|_| is_tidy(session));
            let [created, closed] = [Command::Create, Command::Close].map(|it| session.link.requests(it));
            assert_eq!(created, closed, "{setup:?}, {steps}");
            at_work[0]
        }) {
            steps += 1;
        }
        assert!(steps > 2, "{setup:?}: {steps} steps");
    }
}

#[test]
fn a_file_that_went_with_its_connection_is_closed_without_a_word() {
    for setup in Setup::every() {
        let scene = scene(setup);
        with(&scene, |session| {
            let file = session.run(&mut Open::new("f")).unwrap();
            session.client.restart(Smb::new(setup.config())).unwrap();
            session.link = Server(Model::new(scene.config.clone()));
            assert_eq!(session.run(&mut Close::new(&file)), Ok(()));
            assert_eq!(session.link.frames_in(), 0, "{setup:?}: it does not connect");
            is_tidy(session);
        });
    }
}

#[test]
fn a_start_of_a_file_is_asked_for_in_reads_that_are_no_longer_than_was_said() {
    for setup in Setup::every() {
        with(&scene(setup), |session| {
            session.client.set_read_len_max(256);
            for reads in [3, 6] {
                assert_eq!(fetch(session, &["f"], 1), Ok(vec![Ok(pattern(0, 0, 700))]));
                assert_eq!(session.link.requests(Command::Read), reads, "{setup:?}");
            }
        });
    }
}

#[test]
fn a_refusal_on_the_way_stays_and_is_not_tried_again() {
    let mut scene = scene(Setup::user());
    scene.config.password = "another".into();
    with(&scene, |session| {
        assert_eq!(reason(&session.run(&mut Stat::new("f"))), Reason::Authentication);
        assert_eq!(reason(&session.run(&mut Connect::new())), Reason::Authentication);
        let files = fetch(session, &["f", "g"], 2).unwrap();
        assert!(files.iter().all(|file| reason(file) == Reason::Authentication));
        assert_eq!(session.link.requests(Command::SessionSetup), 2);
    });
    for setup in Setup::every() {
        let setup = Setup { share: "missing", ..setup };
        let mut scene = Scene::small(setup);
        scene.config.share = "data".into();
        with(&scene, |session| {
            assert_eq!(reason(&session.run(&mut List::new("d"))), Reason::NotFound);
            assert_eq!(reason(&session.run(&mut Stat::new("f"))), Reason::NotFound);
            assert_eq!(session.link.requests(Command::TreeConnect), 1);
        });
    }
}
