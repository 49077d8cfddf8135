//! Maps of sparse files: replies to QUERY_ALLOCATED_RANGES that are wrong, or odd and legal.
//!
//! That the ranges are all there are nobody can tell: what a server takes for a hole is one. Only what shows in the reply is judged.

use pagewire::smb::Smb;
use pagewire::{Connect, Error, Map, Open, Pages, Reason, Refusal, StorageArray, Stream};
use pagewire_hostile::{Played, Scene, Server, Session, Setup};
use pagewire_model::{Command, Kind, Lie, Model, Status};

/// Start, end, and whether it is a hole.
type Segment = (u64, u64, bool);

/// What a map of the scene's file lends, and whether the server could say what it asks, with so many bytes to receive into. No hole of
/// it is where there is data.
fn mapped<const RX: usize>(scene: Scene) -> (Result<bool, Error>, Vec<Segment>) {
    let Some(Kind::File(content)) = scene.config.tree.get("f").map(|node| node.kind.clone()) else {
        panic!("it is a file")
    };
    let mut storage = StorageArray::<4096, RX, 16>::new();
    let server = Server(Model::new(scene.config));
    let mut session = Session::new(storage.lend(), Smb::new(scene.setup.config()), server).unwrap();
    session.run(&mut Connect::new()).unwrap();
    let file = session.run(&mut Open::new("f")).unwrap();
    let (mut map, mut segments) = (Map::new(&file, 0), Vec::new());
    let came =
        session.run_each(&mut map, |segment| segments.push((segment.offset, segment.end(), segment.hole)));
    for run in content.runs() {
        let wrong = segments.iter().any(|(start, end, hole)| *hole && *start < run.end && *end > run.start);
        assert!(!wrong, "{run:?} is data: {segments:?}");
    }
    (came.map(|()| map.was_told()), segments)
}

const MAP: [Segment; 7] = [
    (0, 5000, true),
    (5000, 9000, false),
    (9000, 80_000, true),
    (80_000, 80_001, false),
    (80_001, 200_000, true),
    (200_000, 203_000, false),
    (203_000, 300_000, true),
];

/// However the connection is protected: the map is this, and what is streamed is the file.
#[track_caller]
fn maps(lies: &[Lie], told: bool, map: &[Segment]) {
    for setup in Setup::every() {
        let mut scene = Scene::sparse(setup);
        scene.config.lies = lies.to_vec();
        scene.clone().play().is_right();
        assert_eq!(mapped::<4096>(scene), (Ok(told), map.to_vec()), "{setup:?} told {lies:?}");
    }
}

/// However the connection is protected: neither a map nor a stream lends anything behind the reply, and both end with this.
#[track_caller]
fn is_refused(lie: Lie, error: Error) {
    for setup in Setup::every() {
        let scene = Scene::sparse(setup).told(lie);
        assert_eq!(mapped::<4096>(scene.clone()), (Err(error), vec![]), "{setup:?} told {lie:?}");
        let played = scene.play();
        played.fails(error);
        assert_eq!(holes_lent(&played), 0, "{setup:?} told {lie:?}");
    }
}

/// Bytes that were lent and not read.
fn holes_lent(played: &Played<Server>) -> u64 {
    (played.story.file.len() + played.story.tail.len()) as u64 - played.counters.file_bytes
}

#[test]
fn a_sparse_file_is_mapped_and_read_around_its_holes() {
    maps(&[], true, &MAP);
    let played = Scene::sparse(Setup::PLAIN[0]).play();
    assert!(played.counters.hole_bytes > 500_000, "{:?}", played.counters);
    assert_eq!(played.link.requests(Command::Ioctl), 4, "a map for each stream, and it again");
}

#[test]
fn a_server_that_tells_of_no_holes_has_none() {
    for status in [Status::NOT_SUPPORTED, Status::INVALID_DEVICE_REQUEST] {
        maps(&[Lie::RangesRefused(status)], false, &[(0, 300_000, false)]);
    }
}

#[test]
fn ranges_of_whole_granules_are_taken_as_they_are() {
    let granule = |len| Lie::RangeGranule(len);
    let map = [
        (0, 4096, true),
        (4096, 12_288, false),
        (12_288, 77_824, true),
        (77_824, 81_920, false),
        (81_920, 196_608, true),
        (196_608, 204_800, false),
        (204_800, 300_000, true),
    ];
    maps(&[granule(4096)], true, &map);
    let map =
        [(0, 131_072, false), (131_072, 196_608, true), (196_608, 262_144, false), (262_144, 300_000, true)];
    maps(&[granule(65_536)], true, &map);
    maps(&[granule(1 << 20)], true, &[(0, 300_000, false)]);
}

#[test]
fn a_map_that_is_told_piece_by_piece_is_asked_for_until_it_is_whole() {
    for most in 1..4 {
        maps(&[Lie::ShortRanges(most), Lie::RangesUnclipped], true, &MAP);
    }
    maps(&[Lie::OutputGap], true, &MAP);
    maps(&[Lie::OverflowForEver(700)], true, &MAP);
    let drips = Scene::sparse(Setup::PLAIN[1]).told(Lie::OverflowForEver(1));
    let error = Error::Misbehaved("reply after reply of a map and no segment");
    assert_eq!(mapped::<4096>(drips).0, Err(error), "a byte with each reply is no progress");
}

/// More holes than a stream keeps and than a reply has room for, with whatever a server does then.
#[test]
fn ranges_that_have_no_room_are_asked_for_again() {
    const HOLE: u64 = 66_000;
    for lie in [Lie::KeepAlives, Lie::RangesCut, Lie::RangesTooMany] {
        for setup in Setup::every() {
            let mut scene = Scene::sparse(setup).told(lie);
            let runs: Vec<_> = (0..40).map(|nth| nth * HOLE..nth * HOLE + 9).collect();
            scene.config.tree = scene.config.tree.sparse("f", 40 * HOLE, &runs);
            scene.clone().play().is_right();
            let (came, map) = mapped::<1024>(scene.clone());
            assert_eq!((came, map.len()), (Ok(true), 80), "{setup:?} {lie:?}");
            assert_eq!(mapped::<4096>(scene), (Ok(true), map));
        }
    }
}

#[test]
fn ranges_that_are_empty_overlap_or_go_back_are_refused_with_all_that_they_came_with() {
    let error = Error::Misbehaved("the ranges of a map are empty, overlap or go back");
    is_refused(Lie::RangesOutOfOrder, error);
    is_refused(Lie::RangesOverlap, error);
    is_refused(Lie::RangeMore { offset: 300_000, len: 0 }, error);
}

/// A stream has no room for another hole long before it comes to the range that goes back, and it lies in a hole that came first.
#[test]
fn a_range_that_goes_back_is_refused_even_where_no_hole_in_front_of_it_has_room() {
    const HOLE: u64 = 70_000;
    for setup in Setup::every() {
        let mut scene = Scene::sparse(setup).told(Lie::RangesOutOfOrder);
        let runs: Vec<_> = (0..40).map(|nth| nth * HOLE + 1000..nth * HOLE + 3000).collect();
        scene.config.tree = scene.config.tree.sparse("f", 40 * HOLE, &runs);
        let played = scene.play();
        played.fails(Error::Misbehaved("the ranges of a map are empty, overlap or go back"));
        assert_eq!(holes_lent(&played), 0, "{setup:?}");
    }
}

#[test]
fn ranges_outside_of_what_was_asked_about_are_cut_there() {
    maps(&[Lie::RangeMore { offset: 400_000, len: 1 }], true, &MAP);
    maps(&[Lie::RangeMore { offset: i64::MAX as u64, len: i64::MAX as u64 }], true, &MAP);
    let (last, hole) = (MAP[..6].to_vec(), (203_000, 300_000, true));
    assert_eq!(MAP[6], hole);
    // To the last byte that there can be, and over it: what is data is none of the hole.
    for len in [i64::MAX as u64 - 203_000, i64::MAX as u64] {
        let mut map = last.clone();
        map[5].1 = 300_000;
        maps(&[Lie::RangeMore { offset: 203_000, len }], true, &map);
    }
}

#[test]
fn negative_numbers_are_refused() {
    for offset in [1 << 63, u64::MAX] {
        let error = Error::Malformed("FILE_ALLOCATED_RANGE_BUFFER.FileOffset");
        is_refused(Lie::RangeMore { offset, len: 1 }, error);
    }
    for len in [1 << 63, u64::MAX] {
        let error = Error::Malformed("FILE_ALLOCATED_RANGE_BUFFER.Length");
        is_refused(Lie::RangeMore { offset: 300_000, len }, error);
    }
}

#[test]
fn ranges_that_do_not_end_with_their_message_are_refused() {
    is_refused(Lie::RangesTorn, Error::Malformed("FILE_ALLOCATED_RANGE_BUFFER"));
    for lie in [Lie::OutputOffsetOutside, Lie::OutputOffsetBeforeBody, Lie::OutputCountBeyond] {
        is_refused(lie, Error::Malformed("IOCTL.OutputOffset"));
    }
}

#[test]
fn a_map_that_is_cut_and_gets_no_further_is_refused() {
    is_refused(Lie::OverflowEmpty, Error::Misbehaved("a map is cut before its first range"));
    for setup in Setup::every() {
        let scene = Scene::sparse(setup).told(Lie::OverflowStays);
        let error = Error::Misbehaved("a map makes no progress");
        assert_eq!(mapped::<4096>(scene.clone()), (Err(error), MAP[..1].to_vec()), "{setup:?}");
        scene.play().fails(error);
    }
}

#[test]
fn a_server_that_never_has_room_is_asked_about_less_until_there_is_nothing_to_halve() {
    for setup in Setup::every() {
        let scene = Scene::sparse(setup).told(Lie::TooSmallForEver);
        let refusal = Refusal {
            reason: Reason::Other,
            code: 0xC000_0023,
            name: "STATUS_BUFFER_TOO_SMALL",
            during: "IOCTL",
        };
        assert_eq!(mapped::<4096>(scene.clone()), (Err(Error::Refused(refusal)), vec![]), "{setup:?}");
        let played = scene.play();
        played.is_right();
        assert_eq!(played.counters.hole_bytes, 0, "without a map all is read");
    }
}

#[test]
fn a_file_whose_holes_are_written_to_while_they_are_left_out_is_told() {
    for setup in Setup::every() {
        // The first stream asks twice, and so does the second.
        for (nth, streams) in [(2, 0), (4, 1)] {
            let played = Scene::sparse(setup).told(Lie::RangesChange { nth }).play();
            played.fails(Error::Changed);
            let lent = (played.story.file.len(), played.story.tail.len());
            assert_eq!(lent, (300_000, if streams == 0 { 0 } else { 287_655 }), "{setup:?} {nth}");
        }
        // Between two streams it may change: the second map holds.
        Scene::sparse(setup).told(Lie::RangesChange { nth: 3 }).play().is_right();
        let scene = Scene::sparse(setup).told(Lie::RangesChange { nth: 2 });
        assert_eq!(mapped::<4096>(scene), (Err(Error::Changed), MAP.to_vec()), "{setup:?}");
    }
}

/// A stream of data alone asks for no map.
#[test]
fn whoever_reads_all_is_not_concerned() {
    let scene = Scene::sparse(Setup::SIGNED[1]).told(Lie::RangesTorn);
    let mut storage = StorageArray::<4096, 4096, 16>::new();
    let server = Server(Model::new(scene.config));
    let mut session = Session::new(storage.lend(), Smb::new(scene.setup.config()), server).unwrap();
    let file = session.run(&mut Open::new("f")).unwrap();
    let mut memory = [[0xAA; 512]; 32];
    assert_eq!(session.run(&mut Stream::whole(&file, 0, &mut Pages(&mut memory))), Ok(300_000));
    assert_eq!(session.client.counters().file_bytes, 300_000);
}
