//! Numbers at their ends, and names that are none.

use pagewire::nfs::Nfs4;
use pagewire::{Buffer, Connect, Error, List, Map, MapSegment, Open, Read, StorageArray, Stream};
use pagewire_hostile_nfs::v4::{Scene, Session, op};
use pagewire_hostile_nfs::{Kind, Layout, Place, Told};

fn with(scene: &Scene, then: impl FnOnce(&mut Session<'_>)) {
    let mut storage = StorageArray::<1024, 8192, 8>::new();
    let nfs = Nfs4::new(scene.client.clone());
    let mut session = Session::new(storage.lend(), nfs, scene.line()).unwrap();
    session.run(&mut Connect::new()).unwrap();
    then(&mut session);
}

#[test]
fn a_file_is_as_long_as_it_says_and_read_and_mapped_to_its_end() {
    for minor in 0..3 {
        for len in [1 << 32, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX] {
            let scene = Scene::new().minor(minor).with(|scene| {
                let tree = scene.config.tree.clone().with("/export/long", Kind::File(Layout::data(len)));
                scene.config.tree = tree.with("/export/hole", Kind::File(Layout::hole(len)));
            });
            with(&scene, |session| {
                for (path, hole) in [("/export/long", false), ("/export/hole", true)] {
                    let file = session.run(&mut Open::new(path)).unwrap();
                    assert_eq!(file.attributes.len, len);
                    let mut memory = [0xAA; 2048];
                    for (offset, rest) in [(len - 1000, 1000), (len, 0), (u64::MAX, 0)] {
                        let filled =
                            session.run(&mut Read::new(&file, offset, &mut Buffer(&mut memory))).unwrap();
                        assert_eq!(
                            (filled.len, filled.eof),
                            (rest, true),
                            "4.{minor} {len:#x} at {offset:#x}"
                        );
                    }
                    let (mut pages, mut lent) = (Buffer(&mut memory), 0);
                    let mut stream = Stream::new(&file, len - 5000, &mut pages);
                    let end = session.run_each(&mut stream, |content| lent += content.len());
                    assert_eq!((end, lent), (Ok(len), 5000));
                    let mut map = Vec::new();
                    session.run_each(&mut Map::new(&file, 0), |segment| map.push(segment)).unwrap();
                    let hole = hole && minor == 2;
                    assert_eq!(map, [MapSegment { offset: 0, len, hole }], "4.{minor} {path}");
                }
            });
        }
    }
}

const READDIR: Place = (100_003, op::READDIR);

/// The name `entry-00`, which every listing begins with, says something else.
fn named(name: &'static [u8; 8]) -> impl Fn(&mut Told) {
    move |told| {
        let at = told.message.windows(8).position(|bytes| bytes == b"entry-00");
        told.message[at.expect("the first page")..][..8].copy_from_slice(name);
    }
}

#[test]
fn a_name_that_leaves_its_directory_is_not_lent() {
    let error = Error::Misbehaved("a listing has a name with a separator or a NUL, or an empty one");
    for minor in 0..3 {
        for name in [b"entry/00", b"/etc/xyz", b"../../ab", b"entry-0\0", b"\0\0\0\0\0\0\0\0"] {
            let scene = Scene::new().minor(minor).told_once(READDIR, 0, named(name));
            with(&scene, |session| {
                let mut names = Vec::new();
                let mut list = List::new("/export/d");
                let outcome = session.run_each(&mut list, |entry| names.push(entry.name.to_string()));
                assert_eq!((outcome, names.len()), (Err(error), 0), "4.{minor} {name:?}");
            });
        }
    }
}
