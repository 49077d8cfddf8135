//! Files that stay open under a lease: what a server may say to that, and what others do to the files meanwhile.

use pagewire::smb::{Dialect, Smb};
use pagewire::{Close, Connect, Error, Fetch, Fetched, Keepalive, Lane, Open, Pages, Read, StorageArray};
use pagewire_hostile::{Scene, Server, Setup};
use pagewire_line::Session;
use pagewire_model::{Command, Config, Lie, Model, Tree};

/// Two files are kept at most.
type Keeping<'s> = Session<'s, Smb<'static, 2>, Server>;

/// Who keeps files: not at 2.0.2, and not where everything is sealed.
fn keeping() -> impl Iterator<Item = Setup> {
    [Setup::guest(Dialect::Smb311)].into_iter().chain(Setup::SIGNED)
}

/// A server that grants leases.
fn server(setup: Setup, lies: &[Lie]) -> Config {
    let files = ["a", "b", "c", "d/f"].into_iter();
    let tree = files.fold(Tree::new(), |tree, name| tree.file(name, &*format!("what is in {name}")));
    Config { tree, leases: true, lies: lies.to_vec(), ..Scene::new(setup).config }
}

/// A connection to it. Nothing is kept of what is asked together with TREE_CONNECT, so that comes first.
fn with(setup: Setup, config: Config, body: impl FnOnce(&mut Keeping<'_>)) {
    let mut storage = StorageArray::<4096, 4096, 16>::new();
    let link = Server(Model::new(config));
    let mut session = Session::new(storage.lend(), Smb::keeping(setup.config()), link).unwrap();
    session.run(&mut Connect::new()).unwrap();
    body(&mut session);
    assert!(!session.link.is_closed() || session.client.failed().is_some(), "the server has no complaint");
}

/// For each of those who keep files.
fn each(lies: &[Lie], body: impl Fn(&mut Keeping<'_>)) {
    keeping().for_each(|setup| with(setup, server(setup, lies), &body));
}

/// What is in a file that is opened, read and closed.
fn fetch(session: &mut Keeping<'_>, path: &str) -> Result<String, Error> {
    let (mut lanes, mut heads, mut pages) = ([Lane::new()], [[0; 512]], [[0; 512]; 2]);
    let (mut heads, mut pages) = (Pages(&mut heads), Pages(&mut pages));
    let mut paths = [path].into_iter();
    let (mut content, mut failed) = (Vec::new(), None);
    session.run_each(&mut Fetch::new(&mut paths, &mut lanes, &mut heads, &mut pages), |part| match part {
        Fetched::Content(part) => content.extend(part.data()),
        Fetched::Failed(error) => failed = Some(error),
        Fetched::Opened { .. } => {}
        Fetched::Ended(len) => assert_eq!(len, content.len() as u64),
    })?;
    failed.map_or_else(|| Ok(String::from_utf8(content).unwrap()), Err)
}

/// How often these were asked for.
fn asked(session: &Keeping<'_>) -> [usize; 5] {
    [Command::Create, Command::QueryInfo, Command::Read, Command::Close, Command::OplockBreak]
        .map(|command| session.link.requests(command))
}

/// The file is fetched, is what it should be, and costs this.
#[track_caller]
fn costs(session: &mut Keeping<'_>, path: &str, content: &str, expected: [usize; 5]) {
    let before = asked(session);
    assert_eq!(fetch(session, path).as_deref(), Ok(content));
    let after = asked(session);
    assert_eq!(std::array::from_fn(|at| after[at] - before[at]), expected, "{path}");
}

/// CREATE and READ.
const OPENED: [usize; 5] = [1, 0, 1, 0, 0];
/// QUERY_INFO and READ.
const REOPENED: [usize; 5] = [0, 1, 1, 0, 0];
/// CREATE, READ and CLOSE.
const NOT_KEPT: [usize; 5] = [1, 0, 1, 1, 0];
/// QUERY_INFO and READ in vain, CLOSE, CREATE and READ.
const OPENED_ANEW: [usize; 5] = [1, 1, 2, 1, 0];

#[test]
fn a_file_that_is_opened_again_takes_query_info_and_no_create_in_one_round_trip() {
    each(&[], |session| {
        costs(session, "a", "what is in a", OPENED);
        for _ in 0..10 {
            let before = session.client.counters().round_trips;
            costs(session, "a", "what is in a", REOPENED);
            assert_eq!(session.client.counters().round_trips, before + 1);
            assert_eq!(session.link.open_handles(), 1);
        }
        let file = session.run(&mut Open::new("a")).unwrap();
        assert_eq!((file.attributes.len, file.attributes.links), (12, Some(1)), "what QUERY_INFO says");
        costs(session, "a", "what is in a", OPENED);
        session.run(&mut Close::new(&file)).unwrap();
        assert_eq!(session.link.open_handles(), 2, "two users at once have a handle each");
    });
}

#[test]
fn nothing_is_kept_of_directories_below_without_leases_and_where_breaks_could_not_be_believed() {
    each(&[], |session| {
        costs(session, "d/f", "what is in d/f", NOT_KEPT);
        costs(session, "d/f", "what is in d/f", NOT_KEPT);
    });
    let never = [Setup::guest(Dialect::Smb202)].into_iter().chain(Setup::SEALED);
    let without = keeping().map(|setup| (setup, Config { leases: false, ..server(setup, &[]) }));
    for (setup, config) in never.map(|setup| (setup, server(setup, &[]))).chain(without) {
        with(setup, config, |session| {
            costs(session, "a", "what is in a", NOT_KEPT);
            costs(session, "a", "what is in a", NOT_KEPT);
            assert_eq!(session.link.open_handles(), 0, "{setup:?}");
        });
    }
}

#[test]
fn the_one_that_was_not_used_for_longest_is_closed_for_another() {
    each(&[], |session| {
        costs(session, "a", "what is in a", OPENED);
        costs(session, "b", "what is in b", OPENED);
        costs(session, "a", "what is in a", REOPENED);
        costs(session, "c", "what is in c", NOT_KEPT);
        costs(session, "a", "what is in a", REOPENED);
        costs(session, "b", "what is in b", NOT_KEPT);
        assert_eq!(session.link.open_handles(), 2);
    });
}

#[test]
fn what_others_have_made_of_a_file_is_read_whether_or_not_the_server_says_that_they_have() {
    for breaks in [false, true] {
        each(&[], |session| {
            costs(session, "a", "what is in a", OPENED);
            session.link.0.change(|tree| tree.file("a", "longer than it was before"));
            costs(session, "a", "longer than it was before", REOPENED);
            if breaks {
                session.link.0.break_leases("a");
            }
            session.link.0.rename("a", "x");
            session.link.0.change(|tree| tree.file("a", "new"));
            let [create, query, read, close, _] = OPENED_ANEW;
            costs(session, "a", "new", [create, query, read, close, breaks.into()]);
            costs(session, "x", "longer than it was before", OPENED);
            assert_eq!(session.link.open_handles(), 2);
        });
    }
}

#[test]
fn a_file_that_is_deleted_and_still_open_is_opened_anew() {
    for lie in [Lie::DeletePending, Lie::NoLinks] {
        each(&[lie], |session| {
            costs(session, "a", "what is in a", OPENED);
            costs(session, "a", "what is in a", OPENED_ANEW);
        });
    }
}

#[test]
fn a_lease_that_is_broken_while_nobody_uses_the_file_is_answered_by_close() {
    each(&[], |session| {
        costs(session, "a", "what is in a", OPENED);
        costs(session, "b", "what is in b", OPENED);
        session.link.0.break_leases("a");
        let before = asked(session);
        session.run(&mut Keepalive::new()).unwrap();
        let [.., close, acknowledgment] = asked(session);
        assert_eq!((close, acknowledgment), (before[3] + 1, before[4]));
        assert_eq!(session.link.open_handles(), 1);
        costs(session, "b", "what is in b", REOPENED);
        costs(session, "a", "what is in a", OPENED);
    });
}

#[test]
fn a_lease_that_is_broken_before_the_reply_makes_it_void() {
    each(&[Lie::LeaseBreak { nth: 2 }], |session| {
        costs(session, "a", "what is in a", OPENED);
        let [create, query, read, close, _] = OPENED_ANEW;
        costs(session, "a", "what is in a", [create, query, read, close, 1]);
        assert_eq!(session.link.lease_acknowledgments(), 1);
        costs(session, "a", "what is in a", REOPENED);
    });
}

#[test]
fn a_lease_that_is_broken_in_use_is_acknowledged_and_the_file_closed_after_it() {
    // With the CREATE that asked for it, and with a READ later on.
    each(&[Lie::LeaseBreak { nth: 1 }], |session| {
        let [create, query, read, close, _] = NOT_KEPT;
        costs(session, "a", "what is in a", [create, query, read, close, 1]);
        costs(session, "a", "what is in a", OPENED);
    });
    each(&[Lie::LeaseBreak { nth: 2 }], |session| {
        let file = session.run(&mut Open::new("a")).unwrap();
        let mut pages = [[0; 512]];
        for _ in 0..3 {
            session.run(&mut Read::new(&file, 0, &mut Pages(&mut pages))).unwrap();
        }
        session.run(&mut Close::new(&file)).unwrap();
        assert_eq!((session.link.lease_acknowledgments(), session.link.open_handles()), (1, 0));
    });
}

#[test]
fn a_lease_under_another_key_or_of_more_than_was_asked_for_is_refused() {
    for (lie, error) in [
        (Lie::LeaseOtherKey, "a lease under another key than was asked for"),
        (Lie::LeaseOfMore, "a lease of more than was asked for"),
    ] {
        each(&[lie], |session| assert_eq!(fetch(session, "a"), Err(Error::Misbehaved(error))));
    }
}

#[test]
fn a_lease_that_nobody_asked_for_changes_nothing() {
    each(&[Lie::LeaseUnasked], |session| {
        costs(session, "d/f", "what is in d/f", NOT_KEPT);
        costs(session, "a", "what is in a", OPENED);
        costs(session, "a", "what is in a", REOPENED);
    });
    for setup in Setup::every() {
        Scene::new(setup).told(Lie::LeaseUnasked).play().is_right();
    }
}

#[test]
fn a_break_of_a_lease_that_nobody_has_is_not_answered() {
    each(&[Lie::LeaseBreakUnknown], |session| {
        costs(session, "a", "what is in a", OPENED);
        costs(session, "a", "what is in a", REOPENED);
    });
}

#[test]
fn a_lease_that_breaks_for_ever_is_acknowledged_once() {
    each(&[Lie::LeaseBreaksForEver], |session| {
        assert_eq!(fetch(session, "a"), Err(Error::Misbehaved("frame after frame and no reply")));
        assert_eq!(session.link.requests(Command::OplockBreak), 1);
    });
}

#[test]
fn what_nobody_has_used_between_two_keepalives_is_closed() {
    each(&[], |session| {
        costs(session, "a", "what is in a", OPENED);
        costs(session, "b", "what is in b", OPENED);
        session.run(&mut Keepalive::new()).unwrap();
        costs(session, "b", "what is in b", REOPENED);
        session.run(&mut Keepalive::new()).unwrap();
        assert_eq!(session.link.open_handles(), 1);
        costs(session, "b", "what is in b", REOPENED);
        costs(session, "a", "what is in a", OPENED);
        session.run(&mut Keepalive::new()).unwrap();
        session.run(&mut Keepalive::new()).unwrap();
        assert_eq!(session.link.open_handles(), 0);
    });
}

#[test]
fn a_start_of_the_file_that_comes_before_its_attributes_is_asked_for_again() {
    each(&[Lie::ChainReversed], |session| {
        let file = session.run(&mut Open::new("a")).unwrap();
        session.run(&mut Close::new(&file)).unwrap();
        costs(session, "a", "what is in a", [0, 1, 2, 0, 0]);
    });
}

#[test]
fn an_open_that_is_dropped_anywhere_leaves_nothing_that_is_not_closed_at_last() {
    for lies in [&[][..], &[Lie::NoLinks], &[Lie::LeaseBreak { nth: 1 }]] {
        each(lies, |session| {
            let mut steps = 0;
            let mut at_work = true;
            while at_work {
                assert_eq!(fetch(session, "a").as_deref(), Ok("what is in a"), "{lies:?}, {steps}");
                at_work = session.abandon(Open::new("a"), steps);
                assert_eq!(fetch(session, "a").as_deref(), Ok("what is in a"), "{lies:?}, {steps}");
                assert!(session.link.open_handles() <= 2, "{lies:?}, {steps}");
                (0..3).for_each(|_| session.run(&mut Keepalive::new()).unwrap());
                // Whoever drops an `Open` that is done has a file open.
                assert_eq!(session.link.open_handles(), usize::from(!at_work), "{lies:?}, {steps}");
                steps += 1;
            }
            assert!(steps > 2, "{steps} steps");
        });
    }
}

#[test]
fn few_credits_are_enough() {
    for setup in keeping() {
        for credits_max in [1, 2, 3] {
            with(setup, Config { credits_max, ..server(setup, &[]) }, |session| {
                for path in ["a", "b", "a", "a", "c", "a", "b"] {
                    assert_eq!(
                        fetch(session, path),
                        Ok(format!("what is in {path}")),
                        "{setup:?}, {credits_max}"
                    );
                    session.run(&mut Keepalive::new()).unwrap();
                    assert!(session.link.open_handles() <= 2);
                }
            });
        }
    }
}

#[test]
fn another_connection_knows_nothing_of_what_was_kept() {
    keeping().for_each(|setup| {
        with(setup, server(setup, &[]), |session| {
            costs(session, "a", "what is in a", OPENED);
            session.link = Server(Model::new(server(setup, &[])));
            session.client.restart(Smb::keeping(setup.config())).unwrap();
            session.run(&mut Connect::new()).unwrap();
            costs(session, "a", "what is in a", OPENED);
        });
    });
}
