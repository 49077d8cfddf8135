//! An operation may be dropped at any step, and the next one is right.

use super::peer::Peer;
use super::protocol::{CLOSE, OPEN, READ, Toy};
use super::world::{Memory, World, assert_same, contents};
use pagewire::operation::Operation;
use pagewire::{File, List, Open, Pages, Read, Stat, Step, Stream};

pub fn peer(sealed: bool, batch: usize) -> Peer {
    let names = (0..60).map(|i| format!("entry {i}").into_bytes()).collect();
    let chain = sealed;
    Peer { names, read_len_max: 300, gap: 2, pad: 3, sealed, chain, batch, ..Peer::with_file(2500) }
}

/// Everything that can come after: what is dropped must not show in it.
fn assert_next_is_right(world: &mut World<'_>, file: &File<u32>, about: &dyn std::fmt::Debug) {
    let mut pages = [[0xEE; 512]; 5];
    world.run(&mut Read::new(file, 0, &mut Pages(&mut pages))).unwrap();
    assert_same(pages.as_flattened(), &contents(0, 2560, 2500), about);
    let mut entries = 0;
    world.list(|_, _| entries += 1).unwrap();
    assert_eq!(entries, 60, "{about:?}");
    let (mut came, mut pages) = (Vec::new(), [[0xEE; 512]; 3]);
    let mut pages = Pages(&mut pages);
    world.run_each(&mut Stream::new(file, 9, &mut pages), |_, item| came.extend(item.data())).unwrap();
    assert_same(&came, &contents(9, 2491, 2500), about);
    assert_eq!(world.run(&mut Stat::new("file")).unwrap().len, 2500, "{about:?}");
}

/// Drops what `begin` does after each number of steps, in several ways of cutting and answering.
pub fn at_every_step(begin: impl Fn(&mut World<'_>, &File<u32>, usize) -> bool) {
    for (chunk, sealed, batch) in
        [(1000, false, 9), (64, true, 9), (64, false, 1), (13, true, 2), (5, false, 9)]
    {
        let mut ended = false;
        for count in 0..700 {
            let mut memory = Memory::slots(3);
            let mut world = World::connected(&mut memory, peer(sealed, batch));
            let file = world.open();
            (world.read_max, world.write_max) = (chunk, chunk);
            ended = begin(&mut world, &file, count);
            (world.read_max, world.write_max) = (chunk.max(100), chunk.max(100));
            assert_next_is_right(&mut world, &file, &(chunk, sealed, batch, count));
            assert_eq!(world.peer.handles.len(), 1, "handles {chunk} {sealed} {batch} {count}");
            if ended {
                break;
            }
        }
        assert!(ended, "more steps are needed to see it end");
    }
}

fn begin<O: Operation<Toy>>(world: &mut World<'_>, mut op: O, count: usize) -> bool {
    world.run_steps(&mut op, count)
}

#[test]
fn a_read_that_is_dropped_at_any_step_leaves_the_next_right() {
    at_every_step(|world, file, count| {
        let mut pages = [[0; 512]; 4];
        begin(world, Read::new(file, 10, &mut Pages(&mut pages)), count)
    });
}

#[test]
fn a_stream_that_is_dropped_at_any_step_leaves_the_next_right() {
    at_every_step(|world, file, count| {
        let mut pages = [[0; 512]; 4];
        begin(world, Stream::new(file, 512, &mut Pages(&mut pages)), count)
    });
}

#[test]
fn a_listing_that_is_dropped_at_any_step_leaves_the_next_right() {
    at_every_step(|world, _, count| begin(world, List::new("dir"), count));
}

#[test]
fn a_stat_that_is_dropped_at_any_step_leaves_the_next_right() {
    at_every_step(|world, _, count| begin(world, Stat::new("file"), count));
}

#[test]
fn an_open_that_is_dropped_at_any_step_has_its_handle_closed() {
    // One whose end was seen is the caller's to close.
    at_every_step(|world, _, count| {
        let ended = begin(world, Open::new("file"), count);
        if ended {
            let last = *world.peer.handles.last().unwrap();
            world.peer.handles.remove(&last);
        }
        ended
    });
}

#[test]
fn several_opens_that_were_dropped_are_all_closed() {
    let mut memory = Memory::slots(4);
    let mut world = World::connected(&mut memory, Peer { chain: true, ..peer(true, 9) });
    for _ in 0..4 {
        let mut open = Open::new("file");
        assert!(!world.run_steps(&mut open, 1));
    }
    world.run(&mut Stat::new("file")).unwrap();
    world.run(&mut Stat::new("file")).unwrap();
    let of = |kind| world.peer.log.iter().filter(|request| request.kind == kind).count();
    assert_eq!((of(OPEN), of(CLOSE), world.peer.handles.len()), (4, 4, 0));
}

#[test]
fn many_operations_dropped_in_a_row_use_up_nothing() {
    let mut memory = Memory::slots(3);
    let mut world = World::connected(&mut memory, peer(true, 2));
    let file = world.open();
    let mut pages = [[0; 512]; 4];
    for round in 0..500 {
        world.read_max = 1 + round % 97;
        world.run_steps(&mut Read::new(&file, 0, &mut Pages(&mut pages)), round % 11);
        world.run_steps(&mut List::new("dir"), round % 7);
        world.run_steps(&mut Stream::new(&file, 0, &mut Pages(&mut pages)), round % 13);
    }
    assert_next_is_right(&mut world, &file, &"after all");
    let toy = world.client.protocol();
    assert_eq!((toy.charged, toy.credits), (0, 64), "every credit came back");
}

#[test]
fn what_was_to_be_asked_again_is_forgotten_with_its_operation() {
    let mut memory = Memory::slots(2);
    let peer = Peer { unit: 512, credits: 16, short: 1000, batch: 1, ..Peer::with_file(20_000) };
    let mut world = World::connected(&mut memory, peer);
    let file = world.open();
    for round in 0..5 {
        // Two reads use up all credits; the first is answered in part and gives none back.
        world.peer.grant = Some(0);
        let mut pages = [[0; 512]; 30];
        let mut sink = Pages(&mut pages);
        let mut read = Read::new(&file, 0, &mut sink);
        world.until_it_receives(&mut read);
        assert_eq!(world.peer.queue.len(), 2, "no slot was lost in round {round}");
        while world.peer.queue.len() > 1 || world.peer.within_frame() {
            assert!(!world.run_steps(&mut read, 1));
        }
        assert!(matches!(world.client.step(&mut read), Step::Receive(_)));
        // The second gives back what both took, and it is a stat that finds it.
        world.peer.lie = Some(Box::new(|request, replies| {
            replies[0].grant = if request.kind == READ { 16 } else { 1 };
        }));
        assert_eq!(world.run(&mut Stat::new("file")).unwrap().len, 20_000);
        world.peer.lie = None;
    }
}
