//! The same job over std sockets, over smoltcp and in memory, with every driver: the same bytes are sent.
//!
//! What the engine sends is decided by its storage, by what it is asked, and by the bytes that the server has sent, in
//! their order. It is not decided by how these bytes are cut, by when they come, by how much of a write is taken, or by who
//! runs the loop: requests are made only where no frame has begun and nothing is left to transmit, whatever else
//! may lie in the transport by then. A server whose answers are decided by the requests alone therefore hears the same sequence
//! of bytes, on the same connections, in every [`Way`].
//!
//! A server that answers in an order of its own, as it finds requests together, is not such a server, and what it finds together
//! is a matter of time. Where its replies are whole the job here still sends the same bytes to it, but for which slot
//! a request of an NFSv4.1 session takes; what a short reply left is asked for in the order of replies. When the
//! server's bytes are played back, all of it is the same again.

#![forbid(unsafe_code)]

mod job;
mod polled;
mod smoltcp;
mod sockets;

pub use job::{Came, perform};
pub use polled::block_on;

use pagewire::inflight::Slot;
use pagewire::operation::{Item, Operation};
use pagewire::{Client, Error, Protocol, Storage};
use pagewire_hostile::Program;
use pagewire_line::{Chunks, Heard, Line, Link, Session};

/// What runs operations: a client, a loop and a transport.
pub trait Driver<P: Protocol> {
    /// Runs an operation to its end and shows each item to `each`. That the transport fails is nobody's plan here.
    fn run_each<O>(&mut self, op: &mut O, each: impl FnMut(Item<'_, P, O>)) -> Result<O::Output, Error>
    where
        O: Operation<P>,
        O::Output: std::fmt::Debug;
}

impl<P: Protocol, L: Link> Driver<P> for Session<'_, P, L> {
    fn run_each<O>(&mut self, op: &mut O, each: impl FnMut(Item<'_, P, O>)) -> Result<O::Output, Error>
    where
        O: Operation<P>,
        O::Output: std::fmt::Debug,
    {
        Session::run_each(self, op, each)
    }
}

/// How the engine and the server come together. Where there is a length it is the most bytes of one read and of one write.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// The three calls, in memory.
    Memory(Chunks),
    /// `blocking` over the socket of `pagewire_std`; the server is a thread behind a listener.
    SocketBlocking(usize),
    /// `asynch` over a std socket that does not block, and the same server.
    SocketAsynch(usize),
    /// `pagewire_smoltcp::advance` over a loopback interface whose sockets have buffers of so many bytes.
    SmoltcpAdvance(usize),
    /// `asynch` over the same.
    SmoltcpAsynch(usize),
}

/// Whom the engine talks to, and what it is.
pub struct Talk<P, L> {
    /// Lengths of `tx` and `rx`, and slots.
    pub storage: (usize, usize, usize),
    /// The engine's side. The same each time.
    pub protocol: Box<dyn Fn() -> P>,
    /// The server. The same each time, and made in the thread where it serves.
    pub server: Box<dyn Fn() -> L + Send + Sync>,
    /// What is asked.
    pub program: Program,
}

/// The server as it hears: what was sent over each of its connections.
pub struct Ear<L> {
    end: L,
    heard: Vec<Vec<u8>>,
}

impl<L> Ear<L> {
    fn new(end: L) -> Ear<L> {
        Ear { end, heard: vec![Vec::new()] }
    }
}

impl<L: Link> Link for Ear<L> {
    fn send(&mut self, bytes: &[u8]) -> usize {
        let len = self.end.send(bytes);
        self.heard.last_mut().expect("there is a connection").extend(&bytes[..len]);
        len
    }

    fn receive(&mut self, window: &mut [u8]) -> Heard {
        self.end.receive(window)
    }

    fn connect(&mut self, port: u16) -> bool {
        self.heard.push(Vec::new());
        self.end.connect(port)
    }
}

impl<P: Protocol, L: Link> Talk<P, L> {
    /// Does the job in one way: what came of it, and what the server heard on each connection.
    pub fn run(&self, way: Way) -> (Result<Came, Error>, Vec<Vec<u8>>) {
        match way {
            Way::Memory(chunks) => {
                let line = Line { chunks, ..Line::new(Ear::new((self.server)())) };
                let (came, line) = self.over(line);
                (came, line.end.heard)
            }
            Way::SocketBlocking(cut) => sockets::blocking(self, cut),
            Way::SocketAsynch(cut) => sockets::asynch(self, cut),
            Way::SmoltcpAdvance(buffer) => smoltcp::advance(self, buffer),
            Way::SmoltcpAsynch(buffer) => smoltcp::asynch(self, buffer),
        }
    }

    /// Does the job with the three calls over a link.
    pub fn over<M: Link>(&self, link: M) -> (Result<Came, Error>, M) {
        self.lend(|storage, protocol| {
            let mut session = Session::new(storage, protocol, link).expect("the storage is enough");
            (perform(&self.program, &mut session), session.link)
        })
    }

    /// Does the job with a client.
    fn with<R>(&self, job: impl FnOnce(Client<'_, P>) -> R) -> R {
        self.lend(|storage, protocol| job(Client::new(storage, protocol).expect("the storage is enough")))
    }

    fn lend<R>(&self, job: impl FnOnce(Storage<'_>, P) -> R) -> R {
        let (tx, rx, slots) = self.storage;
        let (mut tx, mut rx, mut slots) = (vec![0; tx], vec![0; rx], vec![Slot::FREE; slots]);
        job(Storage { tx: &mut tx, rx: &mut rx, slots: &mut slots }, (self.protocol)())
    }
}
