//! An executor of one future, and how a transport that does not block becomes one that is awaited.

use crate::Driver;
use pagewire::asynch::{self, Link, Timer};
use pagewire::blocking::Failure;
use pagewire::operation::{Item, Operation};
use pagewire::{Client, Error, Protocol};
use std::fmt::Debug;
use std::future::{Future, poll_fn};
use std::io;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to its end on this thread, which sleeps until it is woken.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// A transport that says at once what can be done at once.
pub(crate) trait Nonblocking {
    /// `None`: nothing has come.
    fn try_read(&mut self, buf: &mut [u8]) -> io::Result<Option<usize>>;

    /// `None`: there is no room.
    fn try_write(&mut self, buf: &[u8]) -> io::Result<Option<usize>>;

    /// Lets the others go on before it is asked again.
    fn idle(&mut self);

    /// The connection to another port in place of the one there is.
    fn connect(&mut self, port: u16);
}

/// Such a transport, awaited: it is asked again and again.
pub(crate) struct Polled<T>(pub(crate) T);

impl<T: Nonblocking> Polled<T> {
    async fn again<R>(&mut self, mut ask: impl FnMut(&mut T) -> io::Result<Option<R>>) -> io::Result<R> {
        poll_fn(|context| match ask(&mut self.0).transpose() {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                self.0.idle();
                context.waker().wake_by_ref();
                Poll::Pending
            }
        })
        .await
    }
}

impl<T> embedded_io::ErrorType for Polled<T> {
    type Error = io::Error;
}

impl<T: Nonblocking> embedded_io_async::Read for Polled<T> {
    async fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.again(|io| io.try_read(buf)).await
    }
}

impl<T: Nonblocking> embedded_io_async::Write for Polled<T> {
    async fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.again(|io| io.try_write(buf)).await
    }

    async fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<T: Nonblocking> Link for Polled<T> {
    async fn connect(&mut self, port: u16) -> io::Result<bool> {
        self.0.connect(port);
        Ok(true)
    }
}

/// `asynch` over a transport.
pub(crate) struct Asynch<'s, P: Protocol, T, C> {
    pub(crate) client: Client<'s, P>,
    pub(crate) io: T,
    pub(crate) clock: C,
}

impl<P: Protocol, T: Link<Error = io::Error>, C: Timer> Driver<P> for Asynch<'_, P, T, C> {
    fn run_each<O>(&mut self, op: &mut O, mut each: impl FnMut(Item<'_, P, O>)) -> Result<O::Output, Error>
    where
        O: Operation<P>,
        O::Output: Debug,
    {
        let run = asynch::run_each(&mut self.client, &mut self.io, &self.clock, op, |item| {
            each(item);
            ControlFlow::Continue(())
        });
        block_on(run).map_err(engine)
    }
}

/// What the engine has to say. Nobody breaks off here, and a transport that fails ends the test.
pub(crate) fn engine(failure: Failure<io::Error>) -> Error {
    match failure {
        Failure::Engine(error) => error,
        failure => panic!("{failure:?}"),
    }
}
