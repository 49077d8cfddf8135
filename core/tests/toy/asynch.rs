//! The driver for executors: it does what the blocking one does, may be dropped at any await, and ends when it is time.

use super::driver::{Blocking, Driver, Ticks, Wire, peer, talk, ticks};
use super::dropping;
use super::executor::{block_on, poll};
use super::peer::Peer;
use super::protocol::Toy;
use super::seeds::Dice;
use super::world::{Memory, World, assert_same, contents};
use embedded_io::{ErrorKind, ErrorType, SeekFrom};
use embedded_io_async::{Read as _, Seek as _};
use pagewire::asynch::{FileReader, Fixed, Link, Timer, run, run_each};
use pagewire::blocking::{self, Failure};
use pagewire::operation::{Item, Operation};
use pagewire::{
    Client, Clock, Close, Connect, Error, List, Millis, Open, Pages, Read, Stat, Stream, Timeless,
};
use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::ops::ControlFlow;
use std::pin::pin;
use std::task::{Poll, Waker};

/// A wire that has nothing at first whenever it is asked, also where the one who asked then is gone.
struct Slow<'w, 'p> {
    wire: &'w mut Wire<'p>,
    asked: bool,
}

impl Slow<'_, '_> {
    async fn hesitate(&mut self) {
        poll_fn(|context| {
            self.asked = !self.asked;
            if !self.asked {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

impl ErrorType for Slow<'_, '_> {
    type Error = ErrorKind;
}

impl embedded_io_async::Read for Slow<'_, '_> {
    async fn read(&mut self, window: &mut [u8]) -> Result<usize, ErrorKind> {
        self.hesitate().await;
        embedded_io::Read::read(self.wire, window)
    }
}

impl embedded_io_async::Write for Slow<'_, '_> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        self.hesitate().await;
        embedded_io::Write::write(self.wire, bytes)
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

impl Link for Slow<'_, '_> {
    async fn connect(&mut self, port: u16) -> Result<bool, ErrorKind> {
        self.hesitate().await;
        blocking::Link::connect(self.wire, port)
    }
}

impl Timer for Ticks {
    /// Whoever hesitates wakes it too. To look at the clock here does not move it.
    async fn until(&self, at: Millis) {
        poll_fn(|_| if self.now.get() < at.0 { Poll::Pending } else { Poll::Ready(()) }).await;
    }
}

/// The driver under test. Its run is dropped after `left` polls, then after `after` polls each time, and gone on with.
struct Asynch<'w, 'p, C> {
    slow: Slow<'w, 'p>,
    clock: &'w C,
    left: usize,
    after: usize,
    /// How often it was dropped.
    dropped: usize,
}

const NEVER: usize = usize::MAX;

impl<'w, 'p, C> Asynch<'w, 'p, C> {
    fn new(wire: &'w mut Wire<'p>, clock: &'w C, left: usize, after: usize) -> Self {
        Asynch { slow: Slow { wire, asked: false }, clock, left, after, dropped: 0 }
    }
}

impl<C: Timer> Driver for Asynch<'_, '_, C> {
    fn run_each<O: Operation<Toy>>(
        &mut self,
        client: &mut Client<'_, Toy>,
        op: &mut O,
        mut each: impl FnMut(Item<'_, Toy, O>) -> ControlFlow<()>,
    ) -> Result<O::Output, Failure<ErrorKind>> {
        loop {
            let future = pin!(run_each(client, &mut self.slow, self.clock, op, &mut each));
            if let Some(outcome) = poll(future, &mut self.left, || {}) {
                return outcome;
            }
            (self.left, self.dropped) = (self.after, self.dropped + 1);
        }
    }
}

/// Does something over a wire, and gives what was written.
fn over<R>(
    peer: Peer,
    (every, kind): (u32, ErrorKind),
    chunk: usize,
    job: impl FnOnce(&mut Client<'_, Toy>, &mut Wire<'_>) -> R,
) -> (R, Vec<u8>) {
    let mut memory = Memory::slots(3);
    let World { mut client, mut peer, .. } = World::new(&mut memory, peer);
    let mut wire = Wire { chunk, doors: true, ..Wire::new(&mut peer, every, kind) };
    let result = job(&mut client, &mut wire);
    (result, wire.said)
}

const CLEAN: (u32, ErrorKind) = (0, ErrorKind::Other);

#[test]
fn it_comes_to_the_same_as_the_blocking_one_whatever_the_transport_does() {
    let kinds = [ErrorKind::Interrupted, ErrorKind::TimedOut, ErrorKind::ConnectionReset, ErrorKind::Other];
    for fails in [1, 2, 3, 5, 8, 13].into_iter().flat_map(|every| kinds.map(|kind| (every, kind))) {
        for (step, chunk) in [(3, 50), (1000, 50), (3, 1), (3, 0)] {
            let same = over(peer(), fails, chunk, |client, wire| {
                talk(client, &mut Blocking { wire, clock: &ticks(step) })
            });
            let this = over(peer(), fails, chunk, |client, wire| {
                talk(client, &mut Asynch::new(wire, &ticks(step), NEVER, NEVER))
            });
            assert_eq!(this, same, "{fails:?} in {chunk} at {step} ms");
        }
        // For ever interrupted, and no time passes: then neither ends.
        if fails != (1, ErrorKind::Interrupted) {
            let same = over(peer(), fails, 50, |client, wire| {
                talk(client, &mut Blocking { wire, clock: &Timeless })
            });
            let this = over(peer(), fails, 50, |client, wire| {
                talk(client, &mut Asynch::new(wire, &Timeless, NEVER, NEVER))
            });
            assert_eq!(this, same, "{fails:?} without a clock");
        }
    }
}

/// Everything that a client can be asked, and the bytes of all that came of it.
fn roam(client: &mut Client<'_, Toy>, driver: &mut impl Driver) -> Result<Vec<Vec<u8>>, Failure<ErrorKind>> {
    let mut came = Vec::new();
    driver.run(client, &mut Connect::new())?;
    let file = driver.run(client, &mut Open::new("file"))?;
    for (offset, pages) in [(77, 3), (512, 8)] {
        let mut pages = vec![[0xEE; 512]; pages];
        let mut sink = Pages(&mut pages);
        let filled = driver.run(client, &mut Read::new(&file, offset, &mut sink))?;
        came.push(format!("{filled:?}").into_bytes());
        came.push(pages.as_flattened().to_vec());
        let mut sink = Pages(&mut pages);
        let end = driver.run_each(client, &mut Stream::new(&file, offset, &mut sink), |item| {
            came.push(item.data().to_vec());
            ControlFlow::Continue(())
        })?;
        came.push(end.to_le_bytes().to_vec());
    }
    driver.run(client, &mut Close::new(&file))?;
    driver.run_each(client, &mut List::new("dir"), |entry| {
        came.push(entry.name.raw().to_vec());
        ControlFlow::Continue(())
    })?;
    for path in ["nowhere", "file"] {
        came.push(format!("{:?}", driver.run(client, &mut Stat::new(path))).into_bytes());
    }
    Ok(came)
}

#[test]
fn it_does_what_the_blocking_one_does_with_every_habit_of_a_server_also_where_it_is_dropped_all_the_time() {
    for seed in 0..40 {
        let world = || {
            let mut dice = Dice(seed);
            (Peer { door: seed % 3 == 0, ..dice.peer() }, dice.one_of(&[30, 100, 999, NEVER]))
        };
        let (peer, chunk) = world();
        let same =
            over(peer, CLEAN, chunk, |client, wire| roam(client, &mut Blocking { wire, clock: &Timeless }));
        assert!(same.0.is_ok(), "seed {seed}: {:?}", same.0);
        for polls in [1, 3, NEVER] {
            let ((this, dropped), said) = over(world().0, CLEAN, chunk, |client, wire| {
                let mut driver = Asynch::new(wire, &Timeless, polls, polls);
                (roam(client, &mut driver), driver.dropped)
            });
            assert!((this, said) == same, "seed {seed}, dropped after every {polls} polls");
            assert!(dropped > 4 || polls == NEVER);
        }
    }
}

#[test]
fn a_run_that_is_dropped_at_any_await_is_gone_on_with_as_if_it_had_not_been() {
    let door = || Peer { door: true, ..peer() };
    let same = over(door(), CLEAN, 50, |client, wire| talk(client, &mut Blocking { wire, clock: &Timeless }));
    for k in 1.. {
        let ((this, dropped), said) = over(door(), CLEAN, 50, |client, wire| {
            let mut driver = Asynch::new(wire, &Timeless, k, NEVER);
            (talk(client, &mut driver), driver.dropped)
        });
        assert!((this, said) == same, "dropped at {k}");
        if dropped == 0 {
            return assert!(k > 60, "{k} awaits are few");
        }
    }
}

/// Polls a run of `op` so many times. Whether it has ended.
fn begin<O: Operation<Toy>>(world: &mut World<'_>, mut op: O, mut polls: usize) -> bool {
    let chunk = world.read_max;
    let mut wire = Wire { chunk, ..Wire::new(&mut world.peer, 0, ErrorKind::Other) };
    let mut slow = Slow { wire: &mut wire, asked: false };
    poll(pin!(run(&mut world.client, &mut slow, &Timeless, &mut op)), &mut polls, || {}).is_some()
}

#[test]
fn a_run_that_is_dropped_at_any_await_with_its_operation_leaves_the_next_right() {
    dropping::at_every_step(|world, file, polls| {
        let mut pages = [[0; 512]; 4];
        begin(world, Read::new(file, 10, &mut Pages(&mut pages)), polls)
    });
    dropping::at_every_step(|world, file, polls| {
        let mut pages = [[0; 512]; 4];
        begin(world, Stream::new(file, 512, &mut Pages(&mut pages)), polls)
    });
    dropping::at_every_step(|world, _, polls| begin(world, List::new("dir"), polls));
    dropping::at_every_step(|world, _, polls| begin(world, Stat::new("file"), polls));
}

#[test]
fn a_reader_that_is_dropped_all_the_time_gives_every_byte_once_and_seeks() {
    for polls in [1, 2, 3, NEVER] {
        let mut memory = Memory::slots(3);
        let World { mut client, mut peer, .. } = World::new(&mut memory, peer());
        let slow = &mut Slow { wire: &mut Wire::new(&mut peer, 0, ErrorKind::Other), asked: false };
        block_on(run(&mut client, slow, &Timeless, &mut Connect::new())).unwrap();
        let file = block_on(run(&mut client, slow, &Timeless, &mut Open::new("file"))).unwrap();
        let mut pages = [[0; 512]; 2];
        let mut sink = Pages(&mut pages);
        let mut reader = FileReader::new(&mut client, slow, &Timeless, &file, &mut sink);
        for from in [0, 333, 999, 1000, 5000] {
            assert_eq!(block_on(reader.seek(SeekFrom::Start(from))), Ok(from));
            assert_eq!(block_on(reader.read(&mut [])), Ok(0), "an empty buffer");
            let (mut came, mut buf) = (Vec::new(), [0; 77]);
            loop {
                let outcome = poll(pin!(reader.read(&mut buf)), &mut polls.clone(), || {});
                match outcome {
                    Some(Ok(0)) => break,
                    Some(len) => came.extend(&buf[..len.unwrap()]),
                    None => {}
                }
            }
            assert_same(
                &came,
                &contents(from, 1000_usize.saturating_sub(from as usize), 1000),
                &(from, polls),
            );
        }
        let outcome = block_on(reader.seek(SeekFrom::End(-2000)));
        assert_eq!(outcome, Err(Failure::Engine(Error::Invalid("a place before the start of the file"))));
    }
}

/// A clock that stands still until somebody waits for nothing but the clock.
#[derive(Default)]
struct Still {
    now: Cell<u64>,
    alarms: RefCell<Vec<(Millis, Waker)>>,
}

impl Clock for Still {
    fn now(&self) -> Millis {
        Millis(self.now.get())
    }
}

impl Timer for Still {
    async fn until(&self, at: Millis) {
        poll_fn(|context| {
            if at <= self.now() {
                return Poll::Ready(());
            }
            self.alarms.borrow_mut().push((at, context.waker().clone()));
            Poll::Pending
        })
        .await;
    }
}

impl Still {
    /// The time of the next alarm comes.
    fn pass(&self) {
        let mut alarms = self.alarms.borrow_mut();
        let at = alarms.iter().map(|(at, _)| *at).min().expect("somebody waits for the clock");
        self.now.set(at.0);
        alarms.drain(..).for_each(|(_, waker)| waker.wake());
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        poll(pin!(future), &mut 1_000_000, || self.pass()).expect("it ends")
    }
}

/// A wire with `ms` of time before every piece that is read and every one that is written. `None`: for ever.
struct Late<'w, 'p> {
    wire: &'w mut Wire<'p>,
    clock: &'w Still,
    reads: Option<u32>,
    writes: Option<u32>,
}

impl Late<'_, '_> {
    async fn wait(&self, ms: Option<u32>) {
        match ms {
            Some(ms) => self.clock.until(self.clock.now().after(ms)).await,
            None => pending().await,
        }
    }
}

impl ErrorType for Late<'_, '_> {
    type Error = ErrorKind;
}

impl embedded_io_async::Read for Late<'_, '_> {
    async fn read(&mut self, window: &mut [u8]) -> Result<usize, ErrorKind> {
        self.wait(self.reads).await;
        embedded_io::Read::read(self.wire, window)
    }
}

impl embedded_io_async::Write for Late<'_, '_> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        self.wait(self.writes).await;
        embedded_io::Write::write(self.wire, bytes)
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

/// A stat over a late wire: what came of it, and when.
fn stat_late(reads: Option<u32>, writes: Option<u32>) -> (Result<u64, Failure<ErrorKind>>, u64) {
    let mut memory = Memory::slots(2);
    let World { mut client, mut peer, .. } = World::connected(&mut memory, Peer::default());
    let clock = Still { now: Cell::new(5000), ..Still::default() };
    let wire = &mut Wire::new(&mut peer, 0, ErrorKind::Other);
    let io = &mut Fixed(Late { wire, clock: &clock, reads, writes });
    client.set_timeout_ms(700);
    let stat = clock.block_on(run(&mut client, io, &clock, &mut Stat::new("file")));
    assert_eq!(client.failed().is_some(), stat.is_err());
    (stat.map(|attributes| attributes.len), clock.now.get())
}

#[test]
fn a_read_that_never_comes_ends_exactly_at_the_deadline_and_so_does_a_write() {
    let timed_out = Err(Failure::Engine(Error::TimedOut));
    assert_eq!(stat_late(None, Some(0)), (timed_out, 5700));
    assert_eq!(stat_late(Some(0), None), (timed_out, 5700));
    // A part that is handed over renews it, and what is too late by a millisecond is too late.
    assert_eq!(stat_late(None, Some(600)), (timed_out, 5600 + 700));
    assert_eq!(stat_late(Some(701), Some(0)), (timed_out, 5700));
}

#[test]
fn what_comes_in_time_is_taken_and_the_deadline_forgotten() {
    // One write; and a mark, a head and a body, which are one frame and have one time-out.
    assert_eq!(stat_late(Some(230), Some(600)), (Ok(3000), 5600 + 3 * 230));
    assert_eq!(stat_late(Some(240), Some(600)).0, Err(Failure::Engine(Error::TimedOut)));
}

#[test]
fn a_fixed_transport_has_one_port() {
    let mut memory = Memory::slots(2);
    let World { mut client, mut peer, .. } = World::new(&mut memory, Peer { door: true, ..Peer::default() });
    let wire = &mut Wire { doors: true, ..Wire::new(&mut peer, 0, ErrorKind::Other) };
    let outcome =
        block_on(run(&mut client, &mut Fixed(Slow { wire, asked: false }), &Timeless, &mut Connect::new()));
    let unable = Error::Invalid("the transport cannot connect to another port");
    assert_eq!(outcome, Err(Failure::Engine(unable)));
}
