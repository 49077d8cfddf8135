//! Numbers at their ends: times that are none, and files as long as 64 bits can say.

use pagewire::smb::Smb;
use pagewire::{Attributes, Connect, List, Map, Open, Pages, Read, Stat, StatBoth, StorageArray, Stream};
use pagewire_hostile::{Scene, Server, Session, Setup};
use pagewire_model::{Model, Tree, pattern};

fn with(setup: Setup, tree: Tree, body: impl FnOnce(&mut Session<'_, Server>)) {
    let mut scene = Scene::new(setup);
    scene.config.tree = tree;
    let mut storage = StorageArray::<4096, 4096, 16>::new();
    let smb = Smb::new(setup.config());
    let mut session = Session::new(storage.lend(), smb, Server(Model::new(scene.config))).unwrap();
    session.run(&mut Connect::new()).unwrap();
    body(&mut session);
}

/// What is said of `d/f`, in each way there is.
fn said(session: &mut Session<'_, Server>) -> Vec<Attributes> {
    let mut said = vec![
        session.run(&mut Open::new("d/f")).unwrap().attributes,
        session.run(&mut Stat::new("d/f")).unwrap(),
        session.run(&mut StatBoth::new("d/f")).unwrap().0,
    ];
    session.run_each(&mut List::new("d"), |entry| said.push(entry.attributes)).unwrap();
    assert_eq!(said.len(), 4);
    said
}

#[test]
fn a_time_that_is_none_is_none() {
    const MAX: u64 = i64::MAX as u64;
    for setup in Setup::every() {
        for (filetime, is_one) in
            [(0, false), (1, true), (MAX - 1, true), (MAX, false), (MAX + 1, false), (u64::MAX, false)]
        {
            let tree = Tree::new().pattern("d/f", 1).with("d/f", |node| {
                (node.created, node.accessed, node.written, node.changed) =
                    (filetime, filetime, filetime, filetime);
            });
            with(setup, tree, |session| {
                for attributes in said(session) {
                    let Attributes { created, accessed, modified, changed, .. } = attributes;
                    for time in [created, accessed, modified, changed] {
                        assert_eq!(time.is_some(), is_one, "{filetime:#x}: {time:?}");
                    }
                }
            });
        }
    }
}

#[test]
fn a_file_is_as_long_as_it_says_and_read_to_its_end() {
    for setup in Setup::every() {
        for len in [1 << 32, (1 << 32) + 1, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX] {
            with(setup, Tree::new().pattern("d/f", len), |session| {
                assert!(said(session).iter().all(|attributes| attributes.len == len), "{len:#x}");
                let file = session.run(&mut Open::new("d/f")).unwrap();
                let mut memory = [[0xAA; 512]; 4];
                let filled = session.run(&mut Read::new(&file, len - 1000, &mut Pages(&mut memory))).unwrap();
                assert_eq!((filled.len, filled.eof), (1000, true), "{len:#x}");
                assert_eq!(memory.as_flattened()[..1000], pattern(0, len - 1000, 1000));
                for offset in [len, u64::MAX] {
                    let filled = session.run(&mut Read::new(&file, offset, &mut Pages(&mut memory))).unwrap();
                    assert_eq!((filled.len, filled.eof), (0, true), "{len:#x} at {offset:#x}");
                }
                let mut bytes = Vec::<u8>::new();
                let mut pages = Pages(&mut memory);
                let mut stream = Stream::new(&file, len - 5000, &mut pages);
                let end = session.run_each(&mut stream, |content| bytes.extend(content.data()));
                assert_eq!((end, bytes.len()), (Ok(len), 5000));
                let mut map = Vec::new();
                session.run_each(&mut Map::new(&file, 0), |segment| map.push(segment.len)).unwrap();
                assert_eq!(map, [len], "all of it is data");
            });
        }
    }
}
