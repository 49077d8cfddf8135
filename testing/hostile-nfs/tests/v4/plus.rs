//! What decoders of READ_PLUS have been wrong in, one by one: the bytes are right, in every chunking.

use crate::founding::{Streamed, streamed};
use crate::honest::connected;
use pagewire::{Buffer, Error, Open, Read};
use pagewire_hostile_nfs::v4::{Played, Quirk, ReadPlus, Scene, Shape, When, op};
use pagewire_hostile_nfs::{Chunks, Fragments, Kind, Layout};

/// Runs whose lengths take every kind of padding. The file is too short for a map.
pub fn scene() -> Scene {
    let runs = [1001, 302, 2003, 5000, 3, 1, 1, 6000, 2050, 517, 9, 3000];
    Scene::new().minor(2).with(|scene| {
        let layout = Layout::of(&runs);
        let tree = scene.config.tree.clone().with("/export/sparse", Kind::File(layout));
        (scene.config.tree, scene.config.rpc.padding) = (tree, 0xDE);
        (scene.program.path, scene.program.tail) = ("/export/sparse", 12_000);
    })
}

pub fn wrong(shape: Shape) -> Scene {
    scene().quirk(When::Always, Quirk::Segments(shape))
}

/// How bytes may be cut.
pub fn chunkings() -> impl Iterator<Item = Chunks> {
    let lens = (1..=24).chain([100, 511, 512, 513, 1460, 4096]).map(Chunks::Of);
    lens.chain((1..12).map(|seed| Chunks::Random { seed, max: 1 << seed })).chain([Chunks::Whole])
}

/// It is right in every chunking and in fragments, and what of it came as a hole is always the same. Returns the last.
#[track_caller]
fn right(scene: &Scene) -> Played {
    let mut known = None;
    for chunks in chunkings() {
        let played = scene.clone().with(|scene| scene.chunks = chunks).play();
        played.is_right();
        let counters = (played.counters.file_bytes, played.counters.hole_bytes, played.counters.requests);
        assert_eq!(*known.get_or_insert(counters), counters, "{chunks:?}");
    }
    for lengths in [&[1][..], &[7, 64, 3], &[100, 9]] {
        let cut = |scene: &mut Scene| scene.config.rpc.fragments = Fragments { lengths, empty_last: true };
        scene.clone().with(cut).play().is_right();
    }
    scene.clone().play()
}

/// The bytes of the stream: how many came, and how many were told to be a hole. Each is counted once.
#[track_caller]
fn counted(scene: &Scene) -> Streamed {
    let streamed = streamed::<512>(scene, 16_384);
    let len = streamed.lent.len();
    assert_eq!((streamed.outcome, streamed.file_bytes + streamed.hole_bytes), (Ok(len), len));
    streamed
}

/// How many COMPOUNDs with this operation there were.
pub fn count(compounds: &[Vec<u32>], op: u32) -> usize {
    compounds.iter().filter(|ops| ops.contains(&op)).count()
}

/// Everything came by READ_PLUS: what was wrong with it did no harm.
#[track_caller]
fn needs_no_read(scene: &Scene) {
    let played = right(scene);
    assert_eq!(count(&played.line.end.compounds, op::READ), 0);
    counted(scene);
}

#[test]
fn a_count_of_segments_is_for_its_own_reply() {
    needs_no_read(&scene());
    let streamed = counted(&scene());
    assert_eq!((streamed.file_bytes, streamed.hole_bytes), (5067, 14_820));
    needs_no_read(&wrong(Shape::Split(100)));
    needs_no_read(&scene().quirk(When::First(2), Quirk::Segments(Shape::Split(100))));
}

#[test]
fn the_padding_behind_data_is_skipped_whatever_it_is_made_of() {
    for pad in 1..=4 {
        needs_no_read(&wrong(Shape::Split(40 + pad)));
    }
    needs_no_read(&scene().with(|scene| scene.config.read_plus = ReadPlus::Single));
}

#[test]
fn a_segment_that_starts_before_what_was_asked_for_is_cut_there() {
    for len in [1, 2, 3, 4, 5, 100, 4096] {
        needs_no_read(&wrong(Shape::HoleBefore(len)));
        needs_no_read(&wrong(Shape::DataBefore(len)));
    }
}

#[test]
fn a_segment_that_ends_behind_what_was_asked_for_is_cut_there() {
    for len in [1, 2, 3, 4, 5, 100, 4096, 60_000] {
        needs_no_read(&wrong(Shape::HoleLonger(len)));
        needs_no_read(&wrong(Shape::DataLonger(len)));
    }
}

#[test]
fn both_ends_may_be_out_at_once() {
    for len in [1, 3, 100, 4096] {
        needs_no_read(&wrong(Shape::BothEnds(len)));
    }
    let single = |scene: &mut Scene| scene.config.read_plus = ReadPlus::Single;
    needs_no_read(&wrong(Shape::BothEnds(333)).with(single));
}

#[test]
fn an_end_of_the_file_that_was_told_of_more_than_was_kept_is_none() {
    needs_no_read(&wrong(Shape::EofAlways));
    for len in [1000, 1001, 1200, 4095] {
        needs_no_read(&wrong(Shape::CutOff(len)));
        needs_no_read(&wrong(Shape::CutOff(len)).quirk(When::Always, Quirk::Segments(Shape::EofAlways)));
    }
}

#[test]
fn a_segment_outside_of_what_was_asked_for_brings_nothing() {
    for shape in [Shape::Outside(50), Shape::Outside(1 << 40)] {
        needs_no_read(&wrong(shape));
    }
    let played = right(&wrong(Shape::Elsewhere(1 << 33)));
    assert!(count(&played.line.end.compounds, op::READ) > 3);
}

#[test]
fn no_segments_and_segments_of_nothing_are_no_end_of_the_file() {
    needs_no_read(&wrong(Shape::EmptyBetween));
    for shape in [Shape::NoSegments, Shape::EmptyAtZero] {
        let played = right(&wrong(shape));
        assert!(count(&played.line.end.compounds, op::READ) > 3, "{shape:?}");
    }
}

#[test]
fn lengths_of_64_bits_are_not_cut_to_32() {
    const AT: u64 = (5 << 32) - 100;
    let layout = Layout::of(&[10, AT - 10, 200, 1 << 40]);
    let scene = scene().with(|scene| {
        scene.config.tree = scene.config.tree.clone().with("/export/huge", Kind::File(layout.clone()));
    });
    let huge = scene.clone().quirk(When::Always, Quirk::Segments(Shape::HugeHoles));
    for (chunks, scene) in chunkings().flat_map(|chunks| [(chunks, &scene), (chunks, &huge)]) {
        connected(&scene.clone().with(|scene| scene.chunks = chunks), |session| {
            let file = session.run(&mut Open::new("/export/huge")).unwrap();
            // Where a hole is last, so that it may end anywhere.
            for offset in [AT - 6000, AT, AT + 100, 1 << 39] {
                let mut memory = [0xAA; 6000];
                session.run(&mut Read::new(&file, offset, &mut Buffer(&mut memory))).unwrap();
                assert!(memory[..] == layout.read(offset, 6000), "{offset}");
            }
        });
    }
}

#[test]
fn a_count_of_segments_costs_no_memory_and_must_be_true() {
    let untrue = Error::Malformed("READ_PLUS.contents");
    for chunks in chunkings() {
        for shape in [Shape::CountMore(1), Shape::CountMore(u32::MAX >> 1), Shape::CountFewer(1)] {
            let played = wrong(shape).with(|scene| scene.chunks = chunks).play();
            played.fails(untrue);
        }
    }
    // As many as there is room for, in 4096 bytes of `rx`: they are not kept.
    needs_no_read(&wrong(Shape::Split(1)));
}

#[test]
fn segments_that_overlap_are_not_summed() {
    for len in [1, 3, 9, 300] {
        needs_no_read(&scene().quirk(When::Always, Quirk::Segments(Shape::Overlap(len))));
    }
}

#[test]
fn what_is_neither_data_nor_a_hole_is_refused() {
    for chunks in chunkings() {
        for content in [2, 1 << 24, u32::MAX] {
            let played = wrong(Shape::OtherContent(content)).with(|scene| scene.chunks = chunks).play();
            played.fails(Error::Malformed("READ_PLUS.content"));
        }
    }
}
