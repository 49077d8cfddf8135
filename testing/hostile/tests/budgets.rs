//! The smallest memory with which a whole session works.

use pagewire::inflight::Slot;
use pagewire::smb::Smb;
use pagewire::{Error, List, Open, Protocol, Stat, Statfs, Storage};
use pagewire_hostile::{Program, Scene, Server, Session, Setup, Story};
use pagewire_model::{Model, Tree};

/// What `need` admits, less so much of each.
struct Memory {
    tx: Vec<u8>,
    rx: Vec<u8>,
    slots: Vec<Slot>,
}

impl Memory {
    fn smallest(setup: Setup) -> Memory {
        let need = Smb::new(setup.config()).need();
        Memory { tx: vec![0; need.tx], rx: vec![0; need.reply], slots: vec![Slot::FREE; need.slots] }
    }

    fn lend(&mut self) -> Storage<'_> {
        Storage { tx: &mut self.tx, rx: &mut self.rx, slots: &mut self.slots }
    }
}

/// Names of 255 units, in one directory of many.
fn scene(setup: Setup) -> Scene {
    let long = |n: usize| format!("d/{n:03}{}", "\u{e9}".repeat(252));
    let mut scene = Scene::new(setup);
    scene.config.tree =
        (0..7).fold(Tree::new().pattern("f", 9000), |tree, n| tree.pattern(&long(n), n as u64));
    scene.program = Program { ring: 2048, tail: 8000, looks_at: "f", ..scene.program };
    scene
}

fn open(scene: &Scene, storage: Storage<'_>, body: impl FnOnce(&mut Session<'_, Server>)) {
    let link = Server(Model::new(scene.config.clone()));
    body(&mut Session::new(storage, Smb::new(scene.setup.config()), link).unwrap());
}

#[test]
fn the_smallest_memory_is_enough_for_a_whole_session_at_every_dialect() {
    for setup in Setup::every().chain([Setup::user()]) {
        let scene = scene(setup);
        let mut memory = Memory::smallest(setup);
        assert_eq!(memory.slots.len(), 3);
        open(&scene, memory.lend(), |session| {
            let mut story = Story::default();
            // Four pages of 512 bytes.
            let outcome = scene.program.run::<512, _>(session, &mut story);
            assert_eq!(outcome, Ok(()), "{setup:?}");
            let truth = scene.truth();
            assert!(story.file == truth.file && story.tail == truth.tail);
            let names =
                |story: &Story| story.entries.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
            assert_eq!((names(&story), story.entries.len()), (names(&truth), 7));
            assert_eq!(session.run(&mut Statfs::new("")).map(|space| space.total > 0), Ok(true));
            assert_eq!(session.link.open_handles(), 0);
        });
    }
}

#[test]
fn one_byte_or_one_slot_less_is_a_budget_error_that_says_what_is_missing() {
    for setup in Setup::every() {
        let need = Smb::new(setup.config()).need();
        let refused = |shorten: &dyn Fn(&mut Memory)| {
            let mut memory = Memory::smallest(setup);
            shorten(&mut memory);
            let model = Server(Model::new(scene(setup).config));
            Session::new(memory.lend(), Smb::new(setup.config()), model).map(|_| ()).unwrap_err()
        };
        let short = |what, need| Error::Budget { what, need, have: need - 1 };
        assert_eq!(refused(&|memory| memory.tx.truncate(need.tx - 1)), short("tx", need.tx));
        assert_eq!(refused(&|memory| memory.rx.truncate(need.reply - 1)), short("rx", need.reply));
        assert_eq!(refused(&|memory| memory.slots.truncate(need.slots - 1)), short("slots", need.slots));
    }
}

/// What came of asking for a path that is not there.
#[derive(Debug, PartialEq)]
enum Asked {
    NotFound,
    TooLong,
}

fn asked<T: std::fmt::Debug>(outcome: Result<T, Error>) -> Asked {
    match outcome {
        Err(Error::Refused(_)) => Asked::NotFound,
        Err(Error::Budget { what: "tx", need, have }) if need > have => Asked::TooLong,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_path_is_asked_for_or_is_too_long_for_what_was_lent_and_the_connection_goes_on() {
    for setup in Setup::every() {
        let scene = scene(setup);
        let mut memory = Memory::smallest(setup);
        open(&scene, memory.lend(), |session| {
            session.run(&mut pagewire::Connect::new()).unwrap();
            let mut borders = Vec::new();
            for len in (1..600).step_by(7).chain([5000, 32_000]) {
                let path = "x".repeat(len);
                let opened = asked(session.run(&mut Open::new(&path)));
                let listed = asked(session.run(&mut List::new(&path)));
                let looked = asked(session.run(&mut Stat::new(&path)));
                borders.push([opened, listed, looked].map(|asked| asked == Asked::NotFound));
            }
            // Each works up to some length and from there on never again.
            assert!(
                borders.is_sorted_by(|a, b| a.iter().zip(b).all(|(a, b)| a >= b)),
                "{setup:?}: {borders:?}"
            );
            let paths_of_260 = borders[..260 / 7].iter().all(|works| *works == [true; 3]);
            assert!(paths_of_260, "{setup:?}: what Windows takes for long is asked for");
            assert_eq!(borders.last(), Some(&[false; 3]));
            assert!(session.run(&mut Stat::new("f")).is_ok(), "{setup:?}: the connection goes on");
        });
    }
}

#[test]
fn a_path_that_no_message_can_hold_is_invalid() {
    let scene = scene(Setup::PLAIN[0]);
    let mut memory = Memory::smallest(scene.setup);
    memory.tx.resize(200_000, 0);
    open(&scene, memory.lend(), |session| {
        session.run(&mut pagewire::Connect::new()).unwrap();
        for (len, is_invalid) in [(32_767, false), (32_768, true), (70_000, true)] {
            let path = "x".repeat(len);
            let outcome = session.run(&mut Open::new(&path));
            assert_eq!(matches!(outcome, Err(Error::Invalid(_))), is_invalid, "{len}: {outcome:?}");
        }
        assert!(session.run(&mut Stat::new("f")).is_ok());
    });
}
