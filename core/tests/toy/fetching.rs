//! Files are fetched by their paths, several side by side, and lent in order.

use super::peer::Peer;
use super::protocol::{READ, Toy};
use super::world::{Memory, World, assert_same, contents};
use pagewire::{Content, Error, Fetch, Fetched, Lane, Pages, Reason};

/// What came of a path: its content and where it ended, or why it did not.
type Came = Result<(Vec<u8>, u64), Error>;

struct Room {
    lanes: usize,
    /// Pages of 512 bytes for the starts of files, and for the rest.
    heads: usize,
    pages: usize,
}

fn fetch(world: &mut World<'_>, paths: &[&'static str], room: &Room) -> Vec<Came> {
    let mut lanes: Vec<Lane<'_, Toy>> = (0..room.lanes).map(|_| Lane::new()).collect();
    let (mut heads, mut pages) = (vec![[0; 512]; room.heads], vec![[0; 512]; room.pages]);
    let (mut heads, mut pages) = (Pages(&mut heads), Pages(&mut pages));
    let mut paths = paths.iter().copied();
    let (mut came, mut current) = (Vec::new(), None::<Vec<u8>>);
    let mut op = Fetch::new(&mut paths, &mut lanes, &mut heads, &mut pages);
    world
        .run_each(&mut op, |_, item| match item {
            Fetched::Opened { file, .. } => {
                assert!(current.is_none());
                current = Some(Vec::with_capacity(file.len as usize));
            }
            Fetched::Content(Content::Data(bytes)) => {
                assert!(!bytes.is_empty());
                current.as_mut().unwrap().extend(bytes);
            }
            Fetched::Content(Content::Hole(_)) => panic!("the toy has no holes"),
            Fetched::Ended(end) => came.push(Ok((current.take().unwrap(), end))),
            Fetched::Failed(error) => {
                current = None;
                came.push(Err(error));
            }
        })
        .unwrap();
    assert!(current.is_none());
    came
}

fn assert_came(came: &Came, file_len: u64) {
    let (bytes, end) = came.as_ref().unwrap();
    assert_eq!(*end, file_len);
    assert_same(bytes, &contents(0, file_len as usize, file_len), &file_len);
}

#[test]
fn files_of_every_length_come_whole_and_in_order_and_are_closed_whatever_the_room() {
    for (lanes, slots) in [(1, 1), (1, 4), (3, 2), (3, 9), (8, 64)] {
        for file_len in [0, 1, 511, 512, 513, 2048, 9000] {
            let mut memory = Memory::slots(slots);
            let mut world = World::connected(&mut memory, Peer::with_file(file_len));
            let room = Room { lanes, heads: lanes * 2, pages: 6 };
            let came = fetch(&mut world, &["file"; 7], &room);
            assert_eq!(came.len(), 7);
            came.iter().for_each(|came| assert_came(came, file_len));
            // Nobody waits for the last of these.
            while world.run_steps(&mut pagewire::Stat::new("file"), 50) && !world.peer.handles.is_empty() {}
            assert!(world.peer.handles.is_empty(), "{lanes} lanes, {slots} slots, {file_len} bytes");
        }
    }
}

#[test]
fn the_start_of_a_file_that_is_too_short_for_a_hole_is_lent_whatever_is_said_of_holes() {
    let mut memory = Memory::slots(4);
    let peer = Peer { holes: vec![(100, 200)], plus: true, read_len_max: 65_536, ..Peer::with_file(700) };
    let mut world = World::connected(&mut memory, peer);
    let came = fetch(&mut world, &["file"], &Room { lanes: 1, heads: 2, pages: 4 });
    assert_eq!(came[0].as_ref().map(|(bytes, end)| (bytes.len(), *end)), Ok((700, 700)));
    let counters = world.client.counters();
    assert_eq!((counters.file_bytes, counters.hole_bytes), (700, 0), "nobody asks for the holes");
}

#[test]
fn what_is_refused_is_told_in_its_place_and_the_others_come() {
    let mut memory = Memory::slots(5);
    let mut world = World::connected(&mut memory, Peer::with_file(1500));
    let room = Room { lanes: 4, heads: 4, pages: 4 };
    let came = fetch(&mut world, &["none", "file", "none", "none", "file", "none"], &room);
    for (at, came) in came.iter().enumerate() {
        match at {
            1 | 4 => assert_came(came, 1500),
            _ => assert!(
                matches!(came, Err(Error::Refused(refusal)) if refusal.reason == Reason::NotFound),
                "{came:?}"
            ),
        }
    }
    assert_eq!(came.len(), 6);
}

#[test]
fn stopped_at_any_point_it_ends_and_leaves_nothing_open() {
    for (file_len, pages) in [(100, 2), (9000, 6), (9000, 0)] {
        for steps in 0..80 {
            let mut memory = Memory::slots(9);
            let mut world = World::connected(&mut memory, Peer::with_file(file_len));
            let mut lanes: Vec<Lane<'_, Toy>> = (0..3).map(|_| Lane::new()).collect();
            let (mut heads, mut pages) = (vec![[0; 512]; 3], vec![[0; 512]; pages]);
            let (mut heads, mut pages) = (Pages(&mut heads), Pages(&mut pages));
            let mut paths = ["file"; 30].into_iter();
            let mut op = Fetch::new(&mut paths, &mut lanes, &mut heads, &mut pages);
            if world.run_steps(&mut op, steps) {
                break;
            }
            op.stop();
            let mut failed = 0;
            let mut each = |item: Fetched<'_>| match item {
                Fetched::Opened { .. } => {}
                Fetched::Failed(Error::Invalid(_)) => failed += 1,
                item => panic!("{item:?} after {steps} steps"),
            };
            world.run_each(&mut op, |_, item| each(item)).unwrap();
            assert!(failed <= 3, "no more than were begun, {steps} steps");
            while world.run_steps(&mut pagewire::Stat::new("file"), 50) && !world.peer.handles.is_empty() {}
            assert!(world.peer.handles.is_empty(), "{file_len} bytes, {steps} steps");
        }
    }
}

#[test]
fn the_start_of_a_long_file_is_asked_for_before_the_rest_of_it() {
    for lanes in [1, 3] {
        let mut memory = Memory::slots(16);
        let mut world = World::connected(&mut memory, Peer::with_file(9000));
        fetch(&mut world, &["file"], &Room { lanes, heads: lanes * 2, pages: 6 });
        let mut reads = world.peer.log.iter().filter(|request| request.kind == READ);
        assert_eq!(reads.next().map(|read| read.offset), Some(0));
    }
}

#[test]
fn many_short_files_take_no_more_trips_than_one() {
    let mut memory = Memory::new(4096, 1024, 64);
    let mut world = World::connected(&mut memory, Peer::with_file(100));
    let room = Room { lanes: 64, heads: 64, pages: 2 };
    let trips = world.client.counters().round_trips;
    assert_eq!(fetch(&mut world, &["file"; 20], &room).len(), 20);
    // The toy cannot open and read together.
    assert_eq!(world.client.counters().round_trips - trips, 2);
}

#[test]
fn without_paths_it_is_done_and_without_room_it_is_invalid() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::with_file(100));
    assert_eq!(fetch(&mut world, &[], &Room { lanes: 1, heads: 1, pages: 1 }), []);
    let (mut heads, mut pages) = ([[0; 512]; 1], [[0; 512]; 1]);
    let (mut heads, mut pages) = (Pages(&mut heads), Pages(&mut pages));
    let mut paths = ["file"].into_iter();
    let mut op = Fetch::new(&mut paths, &mut [], &mut heads, &mut pages);
    assert!(matches!(world.run(&mut op), Err(Error::Invalid(_))));
}

/// The number of a lane goes into its requests, and one number is for the rest of the file at the front.
#[test]
fn more_lanes_than_there_are_numbers_are_invalid() {
    for (lanes, outcome) in [(65_534, Ok(())), (65_535, Err("there are more lanes than 65,534"))] {
        let mut memory = Memory::slots(2);
        let mut world = World::connected(&mut memory, Peer::with_file(100));
        let mut lanes: Vec<Lane<'_, Toy>> = (0..lanes).map(|_| Lane::new()).collect();
        let (mut heads, mut pages) = (vec![[0; 512]; lanes.len()], [[0; 512]; 1]);
        let (mut heads, mut pages) = (Pages(&mut heads), Pages(&mut pages));
        let mut paths = ["file"].into_iter();
        let mut op = Fetch::new(&mut paths, &mut lanes, &mut heads, &mut pages);
        assert_eq!(world.run_each(&mut op, |_, _| {}), outcome.map_err(Error::Invalid));
    }
}
