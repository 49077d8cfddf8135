//! The blocking driver: the loop over anything with `embedded_io`'s `Read` and `Write`.

mod reader;

pub use reader::FileReader;

use crate::client::{Client, Turn};
use crate::error::Error;
use crate::operation::{Item, Job, Operation};
use crate::protocol::Protocol;
use crate::time::Clock;
use core::fmt;
use core::ops::ControlFlow;
use embedded_io::ErrorKind;

/// A connection to a server, which can be exchanged for one to another port of the same server.
pub trait Link: embedded_io::Read + embedded_io::Write {
    /// Closes the connection and makes one to `port`. `false` if this transport has only the one it was given.
    fn connect(&mut self, port: u16) -> Result<bool, Self::Error>;
}

/// A transport that was connected by others, to the only port there is: enough for SMB, and for NFSv4.
#[derive(Debug)]
pub struct Fixed<T>(pub T);

impl<T: embedded_io::ErrorType> embedded_io::ErrorType for Fixed<T> {
    type Error = T::Error;
}

impl<T: embedded_io::Read> embedded_io::Read for Fixed<T> {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Self::Error> {
        self.0.read(buf)
    }
}

impl<T: embedded_io::Write> embedded_io::Write for Fixed<T> {
    fn write(&mut self, buf: &[u8]) -> Result<usize, Self::Error> {
        self.0.write(buf)
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        self.0.flush()
    }
}

impl<T: embedded_io::Read + embedded_io::Write> Link for Fixed<T> {
    fn connect(&mut self, _: u16) -> Result<bool, Self::Error> {
        Ok(false)
    }
}

/// Why a run ended without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure<E> {
    /// The engine's or the server's doing.
    Engine(Error),
    /// The transport's doing.
    Transport(E),
    /// The caller broke off while looking at an item.
    Stopped,
}

impl<E: fmt::Display> fmt::Display for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Engine(error) => error.fmt(f),
            Failure::Transport(error) => error.fmt(f),
            Failure::Stopped => f.write_str("stopped by the caller"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for Failure<E> {}

impl<E: embedded_io::Error> embedded_io::Error for Failure<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Failure::Engine(error) => error.kind(),
            Failure::Transport(error) => error.kind(),
            Failure::Stopped => ErrorKind::Interrupted,
        }
    }
}

/// Runs an operation to its end and shows each item to `each`.
///
/// A transport that gives up waiting (`TimedOut` or `Interrupted`) is asked again until the client's deadline has
/// passed, so a read time-out is a tick of the clock and no failure. Where the server asks to be asked later, the clock waits;
/// with one that stands still nothing is asked again, and what the server said is the result. The transport is never flushed, since
/// many wait for the peer's acknowledgement then: one that holds bytes back until it is flushed must not do so here. With [`Timeless`](crate::Timeless) a
/// `TimedOut` of the transport ends the run.
pub fn run_each<P, O, T, C>(
    client: &mut Client<'_, P>,
    io: &mut T,
    clock: &C,
    op: &mut O,
    mut each: impl FnMut(Item<'_, P, O>) -> ControlFlow<()>,
) -> Result<O::Output, Failure<T::Error>>
where
    P: Protocol,
    O: Operation<P>,
    T: Link,
    C: Clock,
{
    drive(client, io, clock, op, &mut each)?.ok_or(Failure::Stopped)
}

/// Runs an operation to its end, or until `each` breaks off: `None`. It can be gone on with then.
fn drive<P, O, T, C>(
    client: &mut Client<'_, P>,
    io: &mut T,
    clock: &C,
    op: &mut O,
    mut each: impl FnMut(Item<'_, P, O>) -> ControlFlow<()>,
) -> Result<Option<O::Output>, Failure<T::Error>>
where
    P: Protocol,
    O: Operation<P>,
    T: Link,
    C: Clock,
{
    if !clock.runs() {
        client.set_pauses_max(0);
    }
    while advance(client, io, clock, op.job())? {
        if each(client.item(op)).is_break() {
            return Ok(None);
        }
    }
    op.output().map(Some).map_err(Failure::Engine)
}

/// To the next item; `false` at the end.
fn advance<P, T, C>(
    client: &mut Client<'_, P>,
    io: &mut T,
    clock: &C,
    job: &mut dyn Job<P>,
) -> Result<bool, Failure<T::Error>>
where
    P: Protocol,
    T: Link,
    C: Clock,
{
    loop {
        client.tell(clock.now());
        match client.turn(job).map_err(Failure::Engine)? {
            Turn::Transmit => {
                let outcome = io.write(client.unsent());
                written(client, clock, outcome)?;
            }
            Turn::Receive => {
                let outcome = io.read(client.window(job));
                read(client, clock, job, outcome)?;
            }
            Turn::Wait(until) => clock.wait(until),
            Turn::Connect(port) => connected(client, io.connect(port))?,
            Turn::Item => return Ok(true),
            Turn::Done => return Ok(false),
        }
    }
}

/// Runs an operation that lends no items, or whose items are of no interest.
pub fn run<P, O, T, C>(
    client: &mut Client<'_, P>,
    io: &mut T,
    clock: &C,
    op: &mut O,
) -> Result<O::Output, Failure<T::Error>>
where
    P: Protocol,
    O: Operation<P>,
    T: Link,
    C: Clock,
{
    run_each(client, io, clock, op, |_| ControlFlow::Continue(()))
}

/// Tells the client what came of a write, which may have taken long.
pub(crate) fn written<P: Protocol, E: embedded_io::Error, C: Clock>(
    client: &mut Client<'_, P>,
    clock: &C,
    outcome: Result<usize, E>,
) -> Result<(), Failure<E>> {
    client.tell(clock.now());
    match outcome {
        Ok(0) => client.closed(),
        outcome => client.transmitted(retry(outcome, clock)?.unwrap_or(0)),
    }
    Ok(())
}

/// Tells the client what came of a read, which may have taken long.
pub(crate) fn read<P: Protocol, E: embedded_io::Error, C: Clock>(
    client: &mut Client<'_, P>,
    clock: &C,
    job: &mut dyn Job<P>,
    outcome: Result<usize, E>,
) -> Result<(), Failure<E>> {
    client.tell(clock.now());
    if let Some(len) = retry(outcome, clock)? {
        client.came(job, len);
    }
    Ok(())
}

/// Tells the client what came of connecting to another port.
pub(crate) fn connected<P: Protocol, E>(
    client: &mut Client<'_, P>,
    outcome: Result<bool, E>,
) -> Result<(), Failure<E>> {
    if !outcome.map_err(Failure::Transport)? {
        return Err(Failure::Engine(Error::Invalid("the transport cannot connect to another port")));
    }
    client.connected();
    Ok(())
}

/// `None` if the transport is to be asked again.
fn retry<E: embedded_io::Error, C: Clock>(
    outcome: Result<usize, E>,
    clock: &C,
) -> Result<Option<usize>, Failure<E>> {
    match outcome {
        Ok(len) => Ok(Some(len)),
        Err(error) => match error.kind() {
            ErrorKind::Interrupted => Ok(None),
            ErrorKind::TimedOut if clock.runs() => Ok(None),
            ErrorKind::TimedOut => Err(Failure::Engine(Error::TimedOut)),
            _ => Err(Failure::Transport(error)),
        },
    }
}
