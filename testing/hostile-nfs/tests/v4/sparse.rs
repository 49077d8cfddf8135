//! Streams of sparse files that are dropped, cut, garbled, or have little memory.

use crate::honest::connected;
use crate::plus::{chunkings, scene};
use pagewire::inflight::Slot;
use pagewire::nfs::Nfs4;
use pagewire::{Connect, Error, Map, Open, Pages, Protocol, Stat, Storage, StorageArray, Stream};
use pagewire_hostile_nfs::v4::{Quirk, Scene, Session, Shape, When};
use pagewire_hostile_nfs::{Chunks, Kind, Layout, Lent};

/// Long enough for a map, with holes of every kind: left out, too short, in the midst of a page, at the end.
fn layout() -> Layout {
    Layout::of(&[3000, 70_001, 5000, 100, 8000, 131_072, 1, 66_000, 20_000, 80_000])
}

fn mapped() -> Scene {
    Scene::new().minor(2).with(|scene| {
        scene.config.tree = scene.config.tree.clone().with("/export/sparse", Kind::File(layout()));
        (scene.program.path, scene.program.tail, scene.config.maxread) = ("/export/sparse", 72_000, 4096);
    })
}

#[test]
fn a_map_and_what_lies_between_its_holes_come_in_every_chunking() {
    for chunks in chunkings() {
        let played = mapped().with(|scene| scene.chunks = chunks).play();
        played.is_right();
        assert_eq!(played.story.file.holes().len(), 4, "{chunks:?}");
        assert_eq!(played.line.end.open_files(), 0, "what was opened for the map is closed");
    }
}

#[test]
fn a_stream_around_holes_that_is_dropped_anywhere_leaves_the_next_right() {
    for (scene, chunks) in [mapped(), scene()].into_iter().zip([Chunks::Of(700), Chunks::Of(97)]) {
        let scene = scene.with(|scene| scene.chunks = chunks);
        connected(&scene, |session| {
            let file = session.run(&mut Open::new("/export/sparse")).unwrap();
            for steps in 0..150 {
                let mut pages = [[0; 512]; 32];
                session.abandon(Stream::new(&file, 0, &mut Pages(&mut pages)), steps);
                session.abandon(Map::new(&file, 0), steps / 5);
                if steps % 5 == 0 {
                    let mut story = Default::default();
                    assert_eq!(scene.program.run_connected::<512>(session, &mut story), Ok(()));
                    assert!(story == scene.truth(), "{chunks:?} {steps}");
                }
            }
        });
    }
}

#[test]
fn a_stream_goes_on_at_any_place_that_it_is_sent_to() {
    let whole = layout().bytes();
    connected(&mapped(), |session| {
        let file = session.run(&mut Open::new("/export/sparse")).unwrap();
        let mut pages = [[0; 512]; 32];
        let mut pages = Pages(&mut pages);
        let mut stream = Stream::new(&file, 0, &mut pages);
        for offset in [0, 2999, 3000, 50_000, 73_001, 100_000, 218_000, 383_173, 383_174, 0] {
            stream.seek(offset);
            let mut lent = Lent::default();
            assert_eq!(
                session.run_each(&mut stream, |content| lent.take(content)),
                Ok(whole.len() as u64),
                "{offset}"
            );
            assert!(lent.bytes() == whole[offset as usize..], "{offset}");
        }
        session.run(&mut Stat::new("")).unwrap();
    });
}

#[test]
fn a_line_that_breaks_among_segments_is_closed_wherever_it_breaks() {
    let scene = scene().quirk(When::Always, Quirk::Segments(Shape::Split(50)));
    let whole = scene.clone().play();
    whole.is_right();
    for at in (0..whole.line.given).step_by(7).chain(0..2000) {
        scene.clone().with(|scene| scene.cut = Some(at)).play().fails(Error::Closed);
    }
    let len = mapped().play().line.given;
    for at in (0..len).step_by(61) {
        mapped().with(|scene| scene.cut = Some(at)).play().fails(Error::Closed);
    }
}

#[test]
fn a_wrong_bit_among_segments_does_no_harm_to_the_engine() {
    for (scene, step) in [(scene(), 3), (mapped(), 41)] {
        let len = scene.clone().play().line.given;
        for at in (0..len).step_by(step) {
            let flip = Some((at, (at as u32 * 5 / 3) % 8));
            let flipped = scene.clone().with(|scene| (scene.flip, scene.judges) = (flip, false)).play();
            if flipped.outcome.is_ok() {
                assert!(flipped.counters.file_bytes <= flipped.line.given as u64);
            }
        }
    }
}

#[test]
fn as_little_memory_as_there_may_be_is_enough_for_any_number_of_segments() {
    for scene in [mapped(), scene().quirk(When::Always, Quirk::Segments(Shape::Split(2)))] {
        for slots in [2, 3, 8] {
            let need = Nfs4::new(scene.client.clone()).need();
            let (mut tx, mut rx, mut slots) =
                (vec![0; need.tx], vec![0; need.reply], vec![Slot::FREE; slots]);
            let storage = Storage { tx: &mut tx, rx: &mut rx, slots: &mut slots };
            let mut session = Session::new(storage, Nfs4::new(scene.client.clone()), scene.line()).unwrap();
            session.run(&mut Connect::new()).unwrap();
            let file = session.run(&mut Open::new("/export/sparse")).unwrap();
            let (mut lent, mut pages) = (Lent::default(), [[0; 512]; 3]);
            let mut pages = Pages(&mut pages);
            let mut stream = Stream::new(&file, 0, &mut pages);
            session.run_each(&mut stream, |content| lent.take(content)).unwrap();
            assert!(lent == scene.truth().file);
        }
    }
}

#[test]
fn more_holes_than_are_kept_are_left_out_and_the_file_is_closed_at_the_end() {
    let lens: Vec<u64> = (0..40).flat_map(|n| [4096 + n, 256 << 10]).collect();
    let layout = Layout::of(&lens);
    for (ring, reversed) in [(4, false), (40, false), (200, false), (40, true), (200, true)] {
        let scene = mapped().with(|scene| {
            scene.config.tree = Scene::new().config.tree.with("/export/sparse", Kind::File(layout.clone()));
            (scene.config.maxread, scene.config.channel.slots) = (65_536, 64);
            scene.config.rpc.reversed = reversed;
        });
        let mut storage = StorageArray::<16_384, 4096, 40>::new();
        let nfs = Nfs4::new(scene.client.clone());
        let mut session = Session::new(storage.lend(), nfs, scene.line()).unwrap();
        session.run(&mut Connect::new()).unwrap();
        let file = session.run(&mut Open::new("/export/sparse")).unwrap();
        let (mut lent, mut pages) = (Lent::default(), vec![[0; 4096]; ring]);
        let mut pages = Pages(&mut pages);
        let end = session.run_each(&mut Stream::new(&file, 0, &mut pages), |content| lent.take(content));
        assert_eq!((end, lent.holes().len()), (Ok(layout.len()), 40));
        assert!(lent.bytes() == layout.bytes());
        session.run(&mut Stat::new("")).unwrap();
        assert_eq!(session.link.end.open_files(), 0, "{ring} {reversed}: what was opened is closed");
    }
}

#[test]
fn a_file_of_2_to_the_60_bytes_of_holes_is_lent_at_once() {
    let layout = Layout::of(&[5000, 1 << 60, 5000, 1 << 50]);
    let scene = mapped().with(|scene| {
        scene.config.tree = Scene::new().config.tree.with("/export/sparse", Kind::File(layout.clone()));
    });
    connected(&scene, |session| {
        let file = session.run(&mut Open::new("/export/sparse")).unwrap();
        let (mut lent, mut pages) = (Lent::default(), [[0; 512]; 32]);
        let mut pages = Pages(&mut pages);
        let end = session.run_each(&mut Stream::new(&file, 0, &mut pages), |content| lent.take(content));
        assert_eq!((end, lent.len()), (Ok(layout.len()), layout.len()));
        let second = 5000 + (1 << 60);
        assert_eq!(lent.holes(), [(5000, second), (second + 5000, layout.len())]);
        assert_eq!(session.client.counters().file_bytes, 10_000);
        assert_eq!(session.client.counters().hole_bytes, (1 << 60) + (1 << 50));
    });
}
