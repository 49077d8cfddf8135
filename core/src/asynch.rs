//! The driver for executors: the loop of [`blocking`](crate::blocking) over anything with `embedded_io_async`'s `Read` and
//! `Write`. It needs no executor in particular, and no allocator.
//!
//! # Deadlines
//!
//! A read that never comes must end. So the driver waits for the transport and for the [`Timer`] at once, and whichever is
//! first goes on: a silent server is `TimedOut` at [`Client::deadline`], not later. Only [`Link::connect`] has to come to an
//! end by itself.
//!
//! # Cancellation
//!
//! The future of a run may be dropped at any await. The operation can then be gone on with by another run, which does what
//! the first would have done, or be dropped as well, and the next one is right. This holds as far as the transport's own
//! futures are side-effect-free when they are dropped: bytes that a dropped read has taken, or a dropped write has sent,
//! are unknown to the client. With a transport that cannot promise it, a dropped run is the end of the connection; and so
//! it is where a run was dropped in [`Link::connect`] and its operation is not gone on with, since there may be no
//! connection then. The time between two runs of one operation is the server's: its deadline does not stand still.
//!
//! # With embassy
//!
//! `TcpSocket` of embassy-net 0.9 is such a transport, and its futures may be dropped. embassy-time is the timer:
//!
//! ```ignore
//! struct EmbassyTime;
//!
//! impl Clock for EmbassyTime {
//!     fn now(&self) -> Millis {
//!         Millis(embassy_time::Instant::now().as_millis())
//!     }
//! }
//!
//! impl asynch::Timer for EmbassyTime {
//!     async fn until(&self, at: Millis) {
//!         embassy_time::Timer::at(embassy_time::Instant::from_millis(at.0)).await;
//!     }
//! }
//!
//! socket.connect(server).await?;
//! let io = &mut asynch::Fixed(socket);
//! asynch::run(&mut client, io, &EmbassyTime, &mut Connect::new()).await?;
//! let file = asynch::run(&mut client, io, &EmbassyTime, &mut Open::new("image.bin")).await?;
//! let mut reader = asynch::FileReader::new(&mut client, io, &EmbassyTime, &file, &mut pages);
//! ```
//!
//! NFSv3 wants other ports as well. Then a type of your own has the socket and the server's address, hands `read`, `write`
//! and `flush` on, and is a [`Link`] (the socket's `set_timeout` bounds it):
//!
//! ```ignore
//! async fn connect(&mut self, port: u16) -> Result<bool, tcp::Error> {
//!     self.socket.abort();
//!     self.socket.flush().await?;
//!     let connected = self.socket.connect((self.address, port)).await;
//!     connected.map(|()| true).map_err(|_| tcp::Error::ConnectionReset)
//! }
//! ```

#![allow(async_fn_in_trait, reason = "an executor of one thread does not ask for `Send`")]

mod reader;

pub use crate::blocking::{Failure, FileReader, Fixed};

use crate::blocking::{connected, read, written};
use crate::client::{Client, Turn};
use crate::operation::{Item, Operation};
use crate::protocol::Protocol;
use crate::time::{Clock, Millis, Timeless};
use core::future::{Future, pending, poll_fn};
use core::ops::ControlFlow;
use core::pin::pin;
use core::task::Poll;

/// A connection to a server, which can be exchanged for one to another port of the same server.
pub trait Link: embedded_io_async::Read + embedded_io_async::Write {
    /// Closes the connection and makes one to `port`, or gives up after a time of its own. `false` if this transport has only
    /// the one it was given. Where its future was dropped it is asked again, for the same port.
    async fn connect(&mut self, port: u16) -> Result<bool, Self::Error>;
}

/// A clock that can be waited for.
pub trait Timer: Clock {
    /// Ends once [`now`](Clock::now) is `at` or later, which it may be already. Dropping its future is allowed.
    async fn until(&self, at: Millis);
}

/// For a caller who bounds the whole run: no deadline ever passes.
impl Timer for Timeless {
    async fn until(&self, _: Millis) {
        pending().await
    }
}

impl<T: embedded_io_async::Read> embedded_io_async::Read for Fixed<T> {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, Self::Error> {
        self.0.read(buf).await
    }
}

impl<T: embedded_io_async::Write> embedded_io_async::Write for Fixed<T> {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, Self::Error> {
        self.0.write(buf).await
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        self.0.flush().await
    }
}

impl<T: embedded_io_async::Read + embedded_io_async::Write> Link for Fixed<T> {
    async fn connect(&mut self, _: u16) -> Result<bool, Self::Error> {
        Ok(false)
    }
}

/// Runs an operation to its end and shows each item to `each`.
///
/// A transport that gives up waiting by itself, and the flushing that never is, are as in
/// [`blocking::run_each`](crate::blocking::run_each). Dropping the future at any await is allowed, see
/// [above](self#cancellation): every item was shown once then, or will be.
pub async fn run_each<P, O, T, C>(
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
    C: Timer,
{
    drive(client, io, clock, op, &mut each).await?.ok_or(Failure::Stopped)
}

/// Runs an operation that lends no items, or whose items are of no interest.
pub async fn run<P, O, T, C>(
    client: &mut Client<'_, P>,
    io: &mut T,
    clock: &C,
    op: &mut O,
) -> Result<O::Output, Failure<T::Error>>
where
    P: Protocol,
    O: Operation<P>,
    T: Link,
    C: Timer,
{
    run_each(client, io, clock, op, |_| ControlFlow::Continue(())).await
}

/// Runs an operation to its end, or until `each` breaks off: `None`. It can be gone on with then.
async fn drive<P, O, T, C>(
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
    C: Timer,
{
    if !clock.runs() {
        client.set_pauses_max(0);
    }
    loop {
        client.tell(clock.now());
        // Where the deadline comes first the next step has it from the clock.
        match client.turn(op.job()).map_err(Failure::Engine)? {
            Turn::Transmit => {
                let deadline = client.deadline();
                let bytes = client.unsent();
                if let Some(outcome) = in_time(io.write(bytes), clock, deadline).await {
                    written(client, clock, outcome)?;
                }
            }
            Turn::Receive => {
                let deadline = client.deadline();
                let window = client.window(op.job());
                if let Some(outcome) = in_time(io.read(window), clock, deadline).await {
                    read(client, clock, op.job(), outcome)?;
                }
            }
            Turn::Wait(until) => clock.until(until).await,
            Turn::Connect(port) => connected(client, io.connect(port).await)?,
            Turn::Item => {
                if each(client.item(op)).is_break() {
                    return Ok(None);
                }
            }
            Turn::Done => return op.output().map(Some).map_err(Failure::Engine),
        }
    }
}

/// What the transport comes to, or `None` if the deadline comes first.
async fn in_time<F: Future, C: Timer>(
    transport: F,
    clock: &C,
    deadline: Option<Millis>,
) -> Option<F::Output> {
    let mut transport = pin!(transport);
    let mut silence = pin!(async {
        match deadline {
            Some(at) => clock.until(at).await,
            None => pending().await,
        }
    });
    poll_fn(|context| match transport.as_mut().poll(context) {
        Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
        Poll::Pending => silence.as_mut().poll(context).map(|()| None),
    })
    .await
}
