//! Servers that ask to be asked later: nothing is asked before its time, and not for ever.

use super::peer::{Peer, Reply, Request};
use super::protocol::{CONNECT, LATER, LIST, OPEN, READ, STAT};
use super::world::{Did, Memory, World, assert_same, contents};
use embedded_io::ErrorKind;
use pagewire::blocking::{Failure, Link, run};
use pagewire::operation::Operation;
use pagewire::{
    Clock, Connect, Error, List, Millis, Open, Pages, Read, Reason, Refusal, Stat, Step, Timeless, limits,
};
use std::cell::Cell;

const REFUSED: Error = Error::Refused(Refusal { reason: Reason::Other, code: 77, name: "", during: "TOY" });

/// Refuses the first `count` requests of a kind.
fn later(kind: u8, mut count: usize) -> Box<impl FnMut(&Request, &mut Vec<Reply>)> {
    Box::new(move |request: &Request, replies: &mut Vec<Reply>| {
        if request.kind == kind && count > 0 {
            count -= 1;
            let reply = &mut replies[0];
            (reply.status, reply.len) = (LATER, 77);
            reply.body.clear();
        }
    })
}

fn peer(kind: u8, count: usize) -> Peer {
    let names = vec![b"one".to_vec(), b"two".to_vec()];
    Peer { names, read_len_max: 512, lie: Some(later(kind, count)), ..Peer::with_file(1536) }
}

/// Connects, opens, reads, lists and looks. How often the peer was asked.
fn conversation(world: &mut World<'_>) -> Result<usize, Error> {
    world.run(&mut Connect::new())?;
    let file = world.run(&mut Open::new("file"))?;
    let mut pages = [[0; 512]; 3];
    world.run(&mut Read::new(&file, 0, &mut Pages(&mut pages)))?;
    assert_same(pages.as_flattened(), &contents(0, 1536, 1536), &"after pauses");
    let mut names = Vec::new();
    world.list(|_, entry| names.push(entry.name.to_string()))?;
    assert_eq!(names, ["one", "two"]);
    world.run(&mut Stat::new("file"))?;
    Ok(world.peer.log.len())
}

#[test]
fn whatever_is_refused_for_a_while_is_asked_again() {
    for kind in [CONNECT, OPEN, READ, LIST, STAT] {
        for count in [0, 1, 2, 7] {
            let mut memory = Memory::slots(3);
            let mut world = World::new(&mut memory, peer(kind, count));
            assert_eq!(conversation(&mut world), Ok(7 + count), "{kind} {count}");
        }
    }
}

#[test]
fn whatever_is_refused_for_ever_is_refused_in_the_end_and_the_connection_goes_on() {
    for (max, asked) in [(None, 1 + limits::PAUSES_MAX), (Some(3), 4), (Some(0), 1)] {
        for kind in [CONNECT, OPEN, READ, LIST, STAT] {
            let mut memory = Memory::slots(1);
            let mut world = World::new(&mut memory, peer(kind, usize::MAX));
            max.into_iter().for_each(|max| world.client.set_pauses_max(max));
            assert_eq!(conversation(&mut world), Err(REFUSED));
            let refused = world.peer.log.iter().filter(|request| request.kind == kind).count();
            assert_eq!(refused, asked as usize, "{kind} {max:?}");
            world.peer.lie = None;
            assert_eq!(world.client.failed(), None);
            assert!(world.run(&mut Stat::new("file")).is_ok());
        }
    }
}

/// The pause that the operation is in.
#[track_caller]
fn paused<O: Operation<super::protocol::Toy>>(world: &mut World<'_>, op: &mut O) -> Millis {
    loop {
        match world.step(op, &mut |_, _| {}) {
            Did::Paused(until) => return until,
            Did::Ended(_) => panic!("it ended"),
            _ => {}
        }
    }
}

#[test]
fn pauses_grow_and_nothing_is_asked_before_their_end() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    world.peer.lie = Some(later(STAT, 3));
    let mut stat = Stat::new("file");
    let mut now = 5000;
    for ms in [100, 200, 400] {
        world.client.tell(Millis(now));
        let until = paused(&mut world, &mut stat);
        assert_eq!(
            (until, world.client.wakes(), world.client.deadline()),
            (Millis(now + ms), Some(until), None)
        );
        let asked = world.peer.log.len();
        world.client.tell(Millis(until.0 - 1));
        assert_eq!(paused(&mut world, &mut stat), until);
        assert_eq!(world.peer.log.len(), asked);
        now = until.0;
    }
    world.client.tell(Millis(now));
    assert!(world.run(&mut stat).is_ok());
    assert_eq!(world.client.wakes(), None);
}

#[test]
fn what_is_in_flight_goes_on_in_a_pause() {
    let mut memory = Memory::slots(3);
    let mut world = World::connected(&mut memory, Peer { batch: 1, ..peer(READ, 1) });
    let file = world.open();
    let mut pages = [[0; 512]; 3];
    let mut sink = Pages(&mut pages);
    let mut read = Read::new(&file, 0, &mut sink);
    // All three are asked; the first is refused, and the others are still to come.
    while world.client.wakes() != Some(Millis(100)) {
        assert!(!world.run_steps(&mut read, 1));
    }
    assert!(matches!(world.client.step(&mut read), Step::Receive(_)));
    assert_eq!(world.client.deadline(), Some(Millis(limits::TIMEOUT_MS.into())));
    assert_eq!(paused(&mut world, &mut read), Millis(100));
    assert_eq!(world.client.counters().file_bytes, 1024);
    world.client.tell(Millis(100));
    assert!(world.run(&mut read).is_ok());
    assert_same(pages.as_flattened(), &contents(0, 1536, 1536), &"after a pause");
    assert_eq!(world.peer.log.iter().filter(|request| request.kind == READ).count(), 4);
}

#[test]
fn another_operation_does_not_wait_for_the_pause_of_one_that_was_dropped() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    world.peer.lie = Some(later(LIST, usize::MAX));
    paused(&mut world, &mut List::new("dir"));
    let mut stat = Stat::new("file");
    assert!(matches!(world.client.step(&mut stat), Step::Transmit(_)));
    assert!(world.run(&mut stat).is_ok());
}

/// The peer as a transport.
struct Wire<'p>(&'p mut Peer);

impl embedded_io::ErrorType for Wire<'_> {
    type Error = ErrorKind;
}

impl embedded_io::Read for Wire<'_> {
    fn read(&mut self, window: &mut [u8]) -> Result<usize, ErrorKind> {
        Ok(self.0.give(window))
    }
}

impl embedded_io::Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        self.0.hear(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

impl Link for Wire<'_> {
    fn connect(&mut self, _: u16) -> Result<bool, ErrorKind> {
        Ok(false)
    }
}

/// Each look at it takes a millisecond.
#[derive(Default)]
struct Ticks(Cell<u64>);

impl Clock for Ticks {
    fn now(&self) -> Millis {
        self.0.set(self.0.get() + 1);
        Millis(self.0.get())
    }
}

#[test]
fn the_driver_waits_by_a_clock_that_runs_and_not_by_one_that_stands_still() {
    let mut memory = Memory::slots(2);
    let World { mut client, mut peer, .. } = World::connected(&mut memory, Peer::default());
    let clock = Ticks::default();
    peer.lie = Some(later(STAT, 4));
    assert!(run(&mut client, &mut Wire(&mut peer), &clock, &mut Stat::new("file")).is_ok());
    assert!((1500..1600).contains(&clock.0.get()), "after {} ms", clock.0.get());
    peer.lie = Some(later(STAT, 1));
    let outcome = run(&mut client, &mut Wire(&mut peer), &Timeless, &mut Stat::new("file"));
    assert_eq!(outcome.map(|_| ()), Err(Failure::Engine(REFUSED)));
    assert!(run(&mut client, &mut Wire(&mut peer), &Timeless, &mut Stat::new("file")).is_ok());
}
