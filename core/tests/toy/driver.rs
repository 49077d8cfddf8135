//! The blocking driver over a transport that is cut, interrupted, and gives up.

use super::peer::Peer;
use super::protocol::DOOR;
use super::world::{Memory, World, assert_same, contents};
use embedded_io::ErrorKind;
use pagewire::blocking::{Failure, Link, run, run_each};
use pagewire::{Clock, Connect, Error, List, Millis, Open, Pages, Read, Stat, Stream, Timeless};
use std::cell::Cell;
use std::ops::ControlFlow;

/// The link to a peer; every `every`th call fails with `kind`.
struct Wire<'p> {
    peer: &'p mut Peer,
    calls: u32,
    every: u32,
    kind: ErrorKind,
    chunk: usize,
    doors: bool,
    ports: Vec<u16>,
}

impl<'p> Wire<'p> {
    fn new(peer: &'p mut Peer, every: u32, kind: ErrorKind) -> Self {
        Wire { peer, calls: 0, every, kind, chunk: 50, doors: false, ports: Vec::new() }
    }

    fn fails(&mut self) -> Result<(), ErrorKind> {
        self.calls += 1;
        assert!(self.calls < 100_000, "the driver goes round");
        if self.every > 0 && (self.calls - 1) % self.every == 0 { Err(self.kind) } else { Ok(()) }
    }
}

impl embedded_io::ErrorType for Wire<'_> {
    type Error = ErrorKind;
}

impl embedded_io::Read for Wire<'_> {
    fn read(&mut self, window: &mut [u8]) -> Result<usize, ErrorKind> {
        self.fails()?;
        let len = window.len().min(self.chunk);
        Ok(self.peer.give(&mut window[..len]))
    }
}

impl embedded_io::Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        self.fails()?;
        let len = bytes.len().min(self.chunk);
        self.peer.hear(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

impl Link for Wire<'_> {
    fn connect(&mut self, port: u16) -> Result<bool, ErrorKind> {
        self.ports.push(port);
        Ok(self.doors)
    }
}

/// A clock that moves by `step` whenever it is read.
struct Ticks {
    now: Cell<u64>,
    step: u64,
}

impl Clock for Ticks {
    fn now(&self) -> Millis {
        self.now.set(self.now.get() + self.step);
        Millis(self.now.get())
    }
}

fn ticks(step: u64) -> Ticks {
    Ticks { now: Cell::new(0), step }
}

/// Connects, opens, reads, streams and lists over `wire`.
fn conversation(every: u32, kind: ErrorKind, clock: &impl Clock) -> Result<(), Failure<ErrorKind>> {
    let mut memory = Memory::slots(3);
    let names = vec![b"one".to_vec(), b"two".to_vec()];
    let World { mut client, mut peer, .. } =
        World::new(&mut memory, Peer { names, sealed: true, read_len_max: 400, ..Peer::with_file(1000) });
    let wire = &mut Wire::new(&mut peer, every, kind);
    run(&mut client, wire, clock, &mut Connect::new())?;
    let file = run(&mut client, wire, clock, &mut Open::new("file"))?;
    let mut pages = [[0xEE; 512]; 2];
    run(&mut client, wire, clock, &mut Read::new(&file, 0, &mut Pages(&mut pages)))?;
    assert_same(pages.as_flattened(), &contents(0, 1024, 1000), &every);
    let mut came = Vec::new();
    let mut sink = Pages(&mut pages);
    run_each(&mut client, wire, clock, &mut Stream::new(&file, 0, &mut sink), |item| {
        came.extend(item.data());
        ControlFlow::Continue(())
    })?;
    assert_same(&came, &contents(0, 1000, 1000), &every);
    let mut entries = Vec::new();
    run_each(&mut client, wire, clock, &mut List::new("dir"), |entry| {
        entries.push(entry.name.to_string());
        ControlFlow::Continue(())
    })?;
    assert_eq!(entries, ["one", "two"]);
    Ok(())
}

#[test]
fn a_clean_transport_needs_no_clock() {
    assert_eq!(conversation(0, ErrorKind::Other, &Timeless), Ok(()));
}

#[test]
fn an_interrupted_call_is_made_again_with_and_without_a_clock() {
    for every in 2..9 {
        assert_eq!(conversation(every, ErrorKind::Interrupted, &ticks(3)), Ok(()), "every {every}");
        assert_eq!(conversation(every, ErrorKind::Interrupted, &Timeless), Ok(()), "every {every}");
    }
}

#[test]
fn a_time_out_of_the_transport_is_a_tick_where_a_clock_runs() {
    for every in 2..9 {
        assert_eq!(conversation(every, ErrorKind::TimedOut, &ticks(3)), Ok(()), "every {every}");
    }
    let outcome = conversation(5, ErrorKind::TimedOut, &Timeless);
    assert_eq!(outcome, Err(Failure::Engine(Error::TimedOut)));
}

#[test]
fn a_transport_that_times_out_for_ever_ends_with_the_clients_deadline() {
    let clock = ticks(1000);
    let outcome = conversation(1, ErrorKind::TimedOut, &clock);
    assert_eq!(outcome, Err(Failure::Engine(Error::TimedOut)));
    assert!((30_000..35_000).contains(&clock.now.get()), "after {} ms", clock.now.get());
}

#[test]
fn another_failure_of_the_transport_is_given_as_it_is() {
    for kind in [ErrorKind::ConnectionReset, ErrorKind::Other, ErrorKind::BrokenPipe] {
        assert_eq!(conversation(3, kind, &ticks(1)), Err(Failure::Transport(kind)));
    }
}

#[test]
fn the_end_of_the_transport_is_closed() {
    let mut memory = Memory::slots(3);
    let World { mut client, mut peer, .. } = World::connected(&mut memory, Peer::default());
    peer.batch = 0;
    let wire = &mut Wire::new(&mut peer, 0, ErrorKind::Other);
    let outcome = run(&mut client, wire, &Timeless, &mut Stat::new("file"));
    assert_eq!(outcome.err(), Some(Failure::Engine(Error::Closed)));
    assert_eq!(client.failed(), Some(Error::Closed));
}

#[test]
fn a_transport_that_takes_no_byte_is_closed() {
    let mut memory = Memory::slots(3);
    let World { mut client, mut peer, .. } = World::connected(&mut memory, Peer::default());
    let wire = &mut Wire { chunk: 0, ..Wire::new(&mut peer, 0, ErrorKind::Other) };
    let outcome = run(&mut client, wire, &Timeless, &mut Stat::new("file"));
    assert_eq!(outcome.err(), Some(Failure::Engine(Error::Closed)));
}

#[test]
fn a_caller_that_breaks_off_leaves_the_next_operation_right() {
    let mut memory = Memory::slots(3);
    let names = (0..90).map(|i| format!("{i}").into_bytes()).collect();
    let World { mut client, mut peer, .. } = World::connected(&mut memory, Peer { names, ..Peer::default() });
    let wire = &mut Wire::new(&mut peer, 0, ErrorKind::Other);
    let mut seen = 0;
    let outcome = run_each(&mut client, wire, &Timeless, &mut List::new("dir"), |_| {
        seen += 1;
        if seen == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((outcome, seen), (Err(Failure::Stopped), 5));
    let stat = run(&mut client, wire, &Timeless, &mut Stat::new("file"));
    assert_eq!(stat.map(|attributes| attributes.len), Ok(3000));
}

#[test]
fn another_port_is_connected_to_where_the_transport_can_and_said_to_be_out_of_reach_where_not() {
    for doors in [true, false] {
        let mut memory = Memory::slots(2);
        let World { mut client, mut peer, .. } =
            World::new(&mut memory, Peer { door: true, ..Peer::default() });
        let mut wire = Wire { doors, ..Wire::new(&mut peer, 0, ErrorKind::Other) };
        let outcome = run(&mut client, &mut wire, &Timeless, &mut Connect::new());
        let unable = Failure::Engine(Error::Invalid("the transport cannot connect to another port"));
        assert_eq!(outcome, if doors { Ok(()) } else { Err(unable) });
        assert_eq!(wire.ports, [DOOR]);
    }
}
