//! Holes: told with the data, by a map of ranges or of runs, or not at all; the same bytes, against a naive model.

use super::peer::{Peer, Told};
use super::protocol::{LOOK, MAP, PLUS, READ};
use super::seeds::Dice;
use super::world::{Memory, World, assert_same};
use pagewire::limits::{DULL_MAPS_MAX, HOLE_LEN_MIN, HOLES_MAX, MAP_LEN_MIN};
use pagewire::{Buffer, Content, Error, Map, MapSegment, Pages, Read, Sink, Stream};

/// How holes are told, and whether a number says that the file was changed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Way {
    plus: bool,
    map: Told,
    change: u64,
}

const WAYS: [Way; 7] = [
    Way { plus: false, map: Told::Not, change: 0 },
    Way { plus: true, map: Told::Not, change: 7 },
    Way { plus: false, map: Told::Ranges(1), change: 7 },
    Way { plus: true, map: Told::Ranges(99), change: 0 },
    Way { plus: false, map: Told::Runs, change: 7 },
    Way { plus: true, map: Told::Runs, change: 7 },
    Way { plus: false, map: Told::Runs, change: 0 },
];

/// A file of these runs in turn, first data, then a hole, and so on.
fn peer(runs: &[u64], way: Way) -> Peer {
    let (mut at, mut holes) = (0, Vec::new());
    for pair in runs.chunks(2) {
        let end = at + pair.iter().sum::<u64>();
        holes.extend((pair.len() == 2 && pair[1] > 0).then_some((at + pair[0], end)));
        at = end;
    }
    let Way { plus, map, change } = way;
    Peer { holes, plus, map, change: (change, change), read_len_max: 65_536, ..Peer::with_file(at) }
}

/// What a stream has lent, held against the file as it comes.
#[derive(Default)]
struct Seen {
    at: u64,
    /// Start and end; no two meet.
    holes: Vec<(u64, u64)>,
}

impl Seen {
    #[track_caller]
    fn see(&mut self, content: Content<'_>, file: &[u8], about: &dyn std::fmt::Debug) {
        assert!(!content.is_empty(), "{about:?}");
        let (start, end) = (self.at, self.at + content.len());
        assert!(end <= file.len() as u64, "{about:?}: behind the end");
        match content {
            Content::Data(bytes) => {
                let right = &file[start as usize..end as usize];
                assert!(bytes == right, "{about:?}: wrong bytes from {start} to {end}");
            }
            Content::Hole(_) => match self.holes.last_mut().filter(|hole| hole.1 == start) {
                Some(last) => last.1 = end,
                None => self.holes.push((start, end)),
            },
        }
        self.at = end;
    }
}

/// The holes from an offset on that are worth to be left out.
fn left_out(peer: &Peer, from: u64) -> Vec<(u64, u64)> {
    let long = |(start, end, hole): &(u64, u64, bool)| *hole && end - start >= HOLE_LEN_MIN;
    peer.runs(from, u64::MAX).iter().filter(|run| long(run)).map(|run| (run.0, run.1)).collect()
}

fn len(holes: impl IntoIterator<Item = (u64, u64)>) -> u64 {
    holes.into_iter().map(|(start, end)| end - start).sum()
}

/// Streams from an offset to the end: every byte is right, what is a hole is one, and every byte is counted once.
#[track_caller]
fn stream(world: &mut World<'_>, from: u64, file: &[u8], sink: &mut dyn Sink, about: &dyn std::fmt::Debug) {
    let opened = world.open();
    let before = *world.client.counters();
    let mut seen = Seen { at: from, ..Seen::default() };
    let end =
        world.run_each(&mut Stream::new(&opened, from, sink), |_, content| seen.see(content, file, about));
    assert_eq!((end, seen.at), (Ok(file.len() as u64), file.len() as u64), "{about:?}");
    let (peer, now) = (&world.peer, *world.client.counters());
    let told = now.hole_bytes - before.hole_bytes;
    assert_eq!(now.file_bytes - before.file_bytes + told, file.len() as u64 - from, "{about:?}");
    let long = left_out(peer, from);
    if peer.plus {
        let all = peer.runs(from, u64::MAX).into_iter().filter(|run| run.2).map(|run| (run.0, run.1));
        assert_eq!(told, len(all), "{about:?}");
        let within = |hole: &(u64, u64)| long.iter().any(|all| all.0 <= hole.0 && hole.1 <= all.1);
        assert!(seen.holes.iter().all(within), "{about:?}: {:?}", seen.holes);
    } else if peer.map != Told::Not {
        assert_eq!((&seen.holes, told), (&long, len(long.iter().copied())), "{about:?}");
    } else {
        assert_eq!((seen.holes.len(), told), (0, 0));
    }
}

/// Two holes between three runs of data, short and long, in and out of step with pages.
fn layouts() -> impl Iterator<Item = [u64; 5]> {
    const HOLES: [u64; 4] = [HOLE_LEN_MIN - 1, HOLE_LEN_MIN, HOLE_LEN_MIN + 564, 140_000];
    let data = [0, 1, 511, 4097];
    let pairs = move || data.into_iter().flat_map(|data| HOLES.map(|hole| (data, hole)));
    pairs().flat_map(move |(a, b)| {
        pairs().filter(|(c, _)| *c > 0).flat_map(move |(c, d)| [0, 700].map(|e| [a, b, c, d, e]))
    })
}

/// Every third layout from one on, in all ways, through a ring of pages of `SIZE`, each with a server of other habits.
fn every_third_layout<const SIZE: usize>(first: usize, rings: &[usize]) {
    for (n, runs) in layouts().enumerate().skip(first).step_by(3) {
        let file = peer(&runs, WAYS[0]).bytes(0, u64::MAX);
        for (m, way) in WAYS.into_iter().enumerate() {
            let mut dice = Dice((n * WAYS.len() + m) as u64);
            let ring = dice.one_of(rings);
            let mut memory = Memory::slots(dice.one_of(&[2, 3, 4, 8]));
            let peer = Peer {
                read_len_max: dice.one_of(&[4096, 20_000, 65_536, 300_000]),
                batch: dice.one_of(&[1, 2, 99]),
                reversed: dice.below(2) == 0,
                chain: dice.below(2) == 0,
                sealed: dice.below(8) == 0,
                gap: dice.one_of(&[0, 3]),
                pad: dice.one_of(&[0, 0, 2]),
                short: dice.one_of(&[u32::MAX, u32::MAX, 3000, 60_000]),
                ..peer(&runs, way)
            };
            let mut world = World::connected(&mut memory, peer);
            world.read_max = dice.one_of(&[usize::MAX, 1 << 16, 5000]);
            let mut pages = vec![[0xEE; SIZE]; ring];
            let from = dice.one_of(&[0, 0, 1, SIZE - 1, 70_000]).min(file.len()) as u64;
            stream(&mut world, from, &file, &mut Pages(&mut pages), &(SIZE, ring, runs, way, from));
        }
    }
}

#[test]
fn layouts_are_streamed_right_in_pages_of_512_bytes() {
    every_third_layout::<512>(0, &[1, 3, 40, 300]);
}

#[test]
fn layouts_are_streamed_right_in_pages_of_4_kib() {
    every_third_layout::<4096>(1, &[1, 2, 9, 64]);
}

#[test]
fn layouts_are_streamed_right_in_pages_of_64_kib() {
    every_third_layout::<65_536>(2, &[1, 2, 5]);
}

#[test]
fn several_short_holes_in_one_page_are_read_or_told_and_right() {
    for way in WAYS {
        for step in [1, 7, 100, 511, 513] {
            let runs: Vec<u64> =
                (0..14).map(|n| 1 + (n * step) % 1500).chain([500, 2 * HOLE_LEN_MIN]).collect();
            let peer = peer(&runs, way);
            let file = peer.bytes(0, u64::MAX);
            let mut memory = Memory::slots(3);
            let mut world = World::connected(&mut memory, peer);
            let mut pages = [[0; 512]; 20];
            stream(&mut world, 0, &file, &mut Pages(&mut pages), &(way, step));
        }
    }
}

#[test]
fn pages_are_filled_the_same_whether_holes_are_told_or_not() {
    for (n, runs) in layouts().enumerate().filter(|(n, _)| n % 5 == 0) {
        for way in [WAYS[0], WAYS[1]] {
            let peer =
                Peer { short: if n % 2 == 0 { 999 } else { u32::MAX }, gap: 1, pad: 1, ..peer(&runs, way) };
            let file = peer.bytes(0, u64::MAX);
            let mut memory = Memory::slots(4);
            let mut world = World::connected(&mut memory, peer);
            let opened = world.open();
            for offset in [0, 400, 65_000, file.len() - 5] {
                let mut pages = vec![0xEE; 20_000];
                world.run(&mut Read::new(&opened, offset as u64, &mut Buffer(&mut pages))).unwrap();
                let mut right = file[offset..file.len().min(offset + 20_000)].to_vec();
                right.resize(20_000, 0);
                assert_same(&pages, &right, &(runs, way, offset));
            }
        }
    }
}

#[test]
fn a_stream_goes_on_wherever_it_is_sent_to_at_any_time() {
    let runs = [3000, 70_001, 5000, 100, 8000, 131_072, 1, 66_000, 20_000];
    for way in WAYS {
        let peer = Peer { batch: 2, read_len_max: 4096, ..peer(&runs, way) };
        let file = peer.bytes(0, u64::MAX);
        let mut memory = Memory::slots(4);
        let mut world = World::connected(&mut memory, peer);
        let opened = world.open();
        let mut pages = [[0; 512]; 24];
        let mut pages = Pages(&mut pages);
        let mut stream = Stream::new(&opened, 0, &mut pages);
        for n in 0..60 {
            let from = (n * 37_777) % (file.len() as u64 + 1);
            stream.seek(from);
            let mut seen = Seen { at: from, ..Seen::default() };
            // A part of it, and every fifth time all.
            let steps = if n % 5 == 0 { usize::MAX } else { n as usize };
            for _ in 0..steps {
                let step = world.step(&mut stream, &mut |_, content| seen.see(content, &file, &(way, n)));
                if let super::world::Did::Ended(end) = step {
                    assert_eq!((end, seen.at), (Ok(file.len() as u64), file.len() as u64), "{way:?} {n}");
                    break;
                }
            }
        }
    }
}

#[test]
fn a_whole_stream_asks_for_no_map() {
    let runs = [3000, 2 * HOLE_LEN_MIN, 500];
    for way in WAYS {
        let peer = Peer { change: (way.change, way.change + 1), ..peer(&runs, way) };
        let file = peer.bytes(0, u64::MAX);
        let mut memory = Memory::slots(4);
        let mut world = World::connected(&mut memory, peer);
        let opened = world.open();
        let (mut pages, mut seen) = ([[0; 4096]; 8], Seen::default());
        let mut pages = Pages(&mut pages);
        let mut stream = Stream::whole(&opened, 0, &mut pages);
        let end = world.run_each(&mut stream, |_, content| seen.see(content, &file, &way));
        assert_eq!(end, Ok(file.len() as u64), "{way:?}");
        assert!(world.peer.log.iter().all(|request| request.kind != MAP && request.kind != LOOK));
    }
}

/// How many requests there were of a kind.
fn count(world: &World<'_>, kind: u8) -> usize {
    world.peer.log.iter().filter(|request| request.kind == kind).count()
}

#[test]
fn more_holes_than_are_kept_are_all_left_out() {
    for (hole, map) in [
        (HOLE_LEN_MIN, Told::Ranges(1)),
        (HOLE_LEN_MIN, Told::Ranges(20)),
        (HOLE_LEN_MIN, Told::Ranges(999)),
        (MAP_LEN_MIN, Told::Runs),
    ] {
        for change in [0, 7] {
            let runs: Vec<u64> = (0..3 * HOLES_MAX as u64).flat_map(|n| [1 + n * 13, hole + n]).collect();
            for (pages, slots, reversed) in [(1, 2, false), (30, 4, false), (200, 64, true)] {
                let way = Way { plus: false, map, change };
                let peer = Peer { reversed, ..peer(&runs, way) };
                let file = peer.bytes(0, u64::MAX);
                let mut memory = Memory::new(8000, 20_000, slots);
                let mut world = World::connected(&mut memory, peer);
                let mut pages = vec![[0; 4096]; pages];
                stream(&mut world, 0, &file, &mut Pages(&mut pages), &(way, slots));
            }
        }
    }
}

#[test]
fn holes_that_are_told_with_the_data_and_are_too_many_are_lent_as_data() {
    let runs: Vec<u64> = (0..3 * HOLES_MAX as u64).flat_map(|n| [1 + n, HOLE_LEN_MIN]).collect();
    for reversed in [false, true] {
        let way = Way { plus: true, map: Told::Not, change: 0 };
        let peer = Peer { read_len_max: 8 << 20, reversed, ..peer(&runs, way) };
        let file = peer.bytes(0, u64::MAX);
        let mut memory = Memory::slots(2);
        let mut world = World::connected(&mut memory, peer);
        let mut pages = vec![[0; 65_536]; 128];
        stream(&mut world, 0, &file, &mut Pages(&mut pages), &reversed);
    }
}

#[test]
fn a_map_that_is_told_in_short_runs_is_soon_left_alone_unless_it_is_to_be_told_twice() {
    let runs: Vec<u64> = (0..40).flat_map(|_| [3000, HOLE_LEN_MIN]).collect();
    for (change, holes, maps, looks) in
        [(7, DULL_MAPS_MAX as usize / 2, DULL_MAPS_MAX as usize, 1), (0, 40, 2 * runs.len(), 1)]
    {
        let way = Way { plus: false, map: Told::Runs, change };
        let peer = peer(&runs, way);
        let file = peer.bytes(0, u64::MAX);
        let mut memory = Memory::slots(4);
        let mut world = World::connected(&mut memory, peer);
        let opened = world.open();
        let (mut pages, mut seen) = (vec![[0; 4096]; 64], Seen::default());
        let mut pages = Pages(&mut pages);
        let mut stream = Stream::new(&opened, 0, &mut pages);
        let end = world.run_each(&mut stream, |_, content| seen.see(content, &file, &way));
        assert_eq!(end, Ok(file.len() as u64), "{change}");
        assert_eq!(seen.holes, world.peer.holes[..holes]);
        assert_eq!((count(&world, MAP), count(&world, LOOK)), (maps, looks), "{change}");
    }
}

#[test]
fn a_file_that_becomes_shorter_ends_there_or_is_changed_if_a_map_was_told() {
    let runs = [3000, 70_001, 5000, 100, 8000, 131_072, 900];
    let whole = runs.iter().sum::<u64>();
    for way in WAYS {
        for file_len in [0, 2999, 3000, 50_000, 73_001, 75_000, 86_101, 217_172, 218_000] {
            let change = (way.change, way.change * 2);
            let peer = Peer { file_len, change, read_len_max: 4096, ..peer(&runs, way) };
            let mut file = peer.bytes(0, u64::MAX);
            file.resize(whole as usize, 0);
            let mut memory = Memory::slots(3);
            let mut world = World::connected(&mut memory, peer);
            let opened = world.open();
            let (mut pages, mut seen) = ([[0; 512]; 20], Seen::default());
            let mut pages = Pages(&mut pages);
            let mut stream = Stream::new(&opened, 0, &mut pages);
            let end = world.run_each(&mut stream, |_, content| seen.see(content, &file, &(way, file_len)));
            match way {
                Way { map: Told::Not, .. } => assert_eq!((end, seen.at), (Ok(file_len), file_len)),
                _ => assert_eq!(end, Err(Error::Changed), "{way:?} {file_len}"),
            }
            assert_eq!(world.client.failed(), None);
        }
    }
}

#[test]
fn a_change_is_told_if_a_map_was_and_not_otherwise() {
    let runs = [3000, 2 * HOLE_LEN_MIN, 500];
    for way in WAYS {
        let mut peer = peer(&runs, way);
        if way.change > 0 {
            peer.change.1 += 1;
        } else {
            // No number says so: the map is another one when it is asked for again.
            let mut maps = 0;
            let most = if way.map == Told::Runs { 3 } else { 1 };
            peer.lie = Some(Box::new(move |request, replies| {
                maps += u32::from(request.kind == MAP);
                if request.kind == MAP && maps > most && replies[0].body[0] == 2 {
                    replies[0].body[1] ^= 1;
                }
                if request.kind == MAP && maps > most && replies[0].body[0] == 0 {
                    replies[0].body[9] ^= 1;
                }
            }));
        }
        let mut memory = Memory::slots(4);
        let mut world = World::connected(&mut memory, peer);
        let opened = world.open();
        let (end, mut pages) = (opened.attributes.len, [[0; 4096]; 8]);
        let mut pages = Pages(&mut pages);
        let outcome = world.run(&mut Stream::new(&opened, 0, &mut pages));
        let told = way.map != Told::Not;
        assert_eq!(outcome, if told { Err(Error::Changed) } else { Ok(end) }, "{way:?}");
        assert_eq!(world.client.failed(), None, "it is the file's, not the connection's");
        if way.map == Told::Not {
            assert_eq!((count(&world, MAP), count(&world, LOOK)), (0, 0));
        }
    }
}

#[test]
fn a_map_is_the_runs_of_the_file_however_it_is_told() {
    for (runs, way) in layouts().step_by(3).flat_map(|runs| WAYS.map(|way| (runs, way))) {
        let peer = peer(&runs, way);
        let mut memory = Memory::new(64, 256, 2);
        let mut world = World::connected(&mut memory, peer);
        let opened = world.open();
        for from in [0, 1, 70_000, world.peer.file_len - 1, world.peer.file_len] {
            let mut segments = Vec::new();
            let each = |segment: MapSegment| segments.push((segment.offset, segment.end(), segment.hole));
            let mut each = each;
            world.run_each(&mut Map::new(&opened, from), |_, segment| each(segment)).unwrap();
            let told = world.peer.runs(from, u64::MAX);
            let all = [(from, world.peer.file_len, false)];
            let want = if way.map == Told::Not && !told.is_empty() { all.to_vec() } else { told };
            assert_eq!(segments, want, "{runs:?} {way:?} {from}");
        }
    }
}

#[test]
fn parts_that_bring_nothing_are_asked_for_in_another_way_by_all_that_are_in_flight() {
    let way = Way { plus: true, map: Told::Not, change: 0 };
    let runs = [3000, 70_000, 3000];
    for nth in 0..6 {
        let mut asked = 0;
        let mut peer = Peer { read_len_max: 4096, ..peer(&runs, way) };
        peer.lie = Some(Box::new(move |request, replies| {
            asked += usize::from(request.kind == PLUS);
            if request.kind == PLUS && asked > nth {
                replies[0].body.clear();
                replies[0].len = 0;
            }
        }));
        let file = peer.bytes(0, u64::MAX);
        let mut memory = Memory::slots(4);
        let mut world = World::connected(&mut memory, peer);
        let opened = world.open();
        let (mut pages, mut seen) = ([[0; 512]; 32], Seen::default());
        let mut pages = Pages(&mut pages);
        let mut stream = Stream::new(&opened, 0, &mut pages);
        let end = world.run_each(&mut stream, |_, content| seen.see(content, &file, &nth));
        assert_eq!(end, Ok(file.len() as u64));
        let log: Vec<u8> = world.peer.log.iter().map(|request| request.kind).collect();
        let first = log.iter().position(|kind| *kind == READ).unwrap();
        assert!(!log[first..].contains(&PLUS) && count(&world, PLUS) <= nth + 4, "{nth}: {log:?}");
    }
}

#[test]
fn a_stream_around_holes_that_is_dropped_at_any_step_leaves_the_next_right() {
    let runs = [3000, 70_001, 5000, 100, 8000, 66_000, 900];
    for (n, way) in WAYS.into_iter().enumerate() {
        let habits =
            |peer| Peer { sealed: n % 2 == 0, chain: true, gap: 1, pad: 2, read_len_max: 4096, ..peer };
        let file = peer(&runs, way).bytes(0, u64::MAX);
        let mut memory = Memory::slots(3);
        let mut world = World::connected(&mut memory, habits(peer(&runs, way)));
        let opened = world.open();
        for count in 0..200 {
            world.read_max = [700, 97][count % 2];
            let mut pages = [[0xEE; 512]; 9];
            world.run_steps(&mut Stream::new(&opened, 0, &mut Pages(&mut pages)), count);
            world.run_steps(&mut Map::new(&opened, 0), count / 9);
            if count % 7 == 0 {
                world.read_max = usize::MAX;
                stream(&mut world, 10, &file, &mut Pages(&mut pages), &(way, count));
            }
        }
    }
}
