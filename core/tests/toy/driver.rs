//! The blocking driver over a transport that is cut, interrupted, and gives up. What is asked over it, others ask as well.

use super::peer::Peer;
use super::protocol::{DOOR, Toy};
use super::world::{Memory, World, assert_same, contents};
use embedded_io::ErrorKind;
use pagewire::blocking::{Failure, Link, run, run_each};
use pagewire::operation::{Item, Operation};
use pagewire::{Client, Clock, Connect, Error, List, Millis, Open, Pages, Read, Stat, Stream, Timeless};
use std::cell::Cell;
use std::ops::ControlFlow;

/// The link to a peer; every `every`th call fails with `kind`.
pub struct Wire<'p> {
    pub peer: &'p mut Peer,
    pub calls: u32,
    pub every: u32,
    pub kind: ErrorKind,
    pub chunk: usize,
    pub doors: bool,
    pub ports: Vec<u16>,
    /// What the client wrote.
    pub said: Vec<u8>,
    /// A clock, and what passes on it with every call.
    pub takes: Option<(&'p Cell<u64>, u64)>,
}

impl<'p> Wire<'p> {
    pub fn new(peer: &'p mut Peer, every: u32, kind: ErrorKind) -> Self {
        Wire {
            peer,
            calls: 0,
            every,
            kind,
            chunk: 50,
            doors: false,
            ports: Vec::new(),
            said: Vec::new(),
            takes: None,
        }
    }

    fn fails(&mut self) -> Result<(), ErrorKind> {
        self.calls += 1;
        if let Some((now, ms)) = self.takes {
            now.set(now.get() + ms);
        }
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
        self.said.extend(&bytes[..len]);
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
pub struct Ticks {
    pub now: Cell<u64>,
    step: u64,
}

impl Clock for Ticks {
    fn now(&self) -> Millis {
        self.now.set(self.now.get() + self.step);
        Millis(self.now.get())
    }
}

pub fn ticks(step: u64) -> Ticks {
    Ticks { now: Cell::new(0), step }
}

/// A driver with its transport and its clock.
pub trait Driver {
    fn run_each<O: Operation<Toy>>(
        &mut self,
        client: &mut Client<'_, Toy>,
        op: &mut O,
        each: impl FnMut(Item<'_, Toy, O>) -> ControlFlow<()>,
    ) -> Result<O::Output, Failure<ErrorKind>>;

    fn run<O: Operation<Toy>>(
        &mut self,
        client: &mut Client<'_, Toy>,
        op: &mut O,
    ) -> Result<O::Output, Failure<ErrorKind>> {
        self.run_each(client, op, |_| ControlFlow::Continue(()))
    }
}

/// The one that blocks.
pub struct Blocking<'w, 'p, C> {
    pub wire: &'w mut Wire<'p>,
    pub clock: &'w C,
}

impl<C: Clock> Driver for Blocking<'_, '_, C> {
    fn run_each<O: Operation<Toy>>(
        &mut self,
        client: &mut Client<'_, Toy>,
        op: &mut O,
        each: impl FnMut(Item<'_, Toy, O>) -> ControlFlow<()>,
    ) -> Result<O::Output, Failure<ErrorKind>> {
        run_each(client, self.wire, self.clock, op, each)
    }
}

/// The server that is talked to.
pub fn peer() -> Peer {
    let names = vec![b"one".to_vec(), b"two".to_vec()];
    Peer { names, sealed: true, read_len_max: 400, ..Peer::with_file(1000) }
}

/// Connects, opens, reads, streams and lists.
pub fn talk(client: &mut Client<'_, Toy>, driver: &mut impl Driver) -> Result<(), Failure<ErrorKind>> {
    driver.run(client, &mut Connect::new())?;
    let file = driver.run(client, &mut Open::new("file"))?;
    let mut pages = [[0xEE; 512]; 2];
    driver.run(client, &mut Read::new(&file, 0, &mut Pages(&mut pages)))?;
    assert_same(pages.as_flattened(), &contents(0, 1024, 1000), &"a read");
    let mut came = Vec::new();
    let mut sink = Pages(&mut pages);
    driver.run_each(client, &mut Stream::new(&file, 0, &mut sink), |item| {
        came.extend(item.data());
        ControlFlow::Continue(())
    })?;
    assert_same(&came, &contents(0, 1000, 1000), &"a stream");
    let mut entries = Vec::new();
    driver.run_each(client, &mut List::new("dir"), |entry| {
        entries.push(entry.name.to_string());
        ControlFlow::Continue(())
    })?;
    assert_eq!(entries, ["one", "two"]);
    Ok(())
}

fn conversation(every: u32, kind: ErrorKind, clock: &impl Clock) -> Result<(), Failure<ErrorKind>> {
    let mut memory = Memory::slots(3);
    let World { mut client, mut peer, .. } = World::new(&mut memory, peer());
    let wire = &mut Wire::new(&mut peer, every, kind);
    talk(&mut client, &mut Blocking { wire, clock })
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

#[test]
fn the_time_that_a_call_takes_is_not_taken_from_the_deadline_after_it() {
    let clock = ticks(0);
    let mut memory = Memory::slots(2);
    let World { mut client, mut peer, .. } = World::connected(&mut memory, Peer::default());
    let wire = &mut Wire { takes: Some((&clock.now, 10_000)), ..Wire::new(&mut peer, 0, ErrorKind::Other) };
    // A write, and then in less than a time-out a mark, a head and a body.
    let stat = run(&mut client, wire, &clock, &mut Stat::new("file"));
    assert_eq!((stat.map(|attributes| attributes.len), clock.now.get()), (Ok(3000), 40_000));
}
