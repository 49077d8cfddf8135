//! Over std sockets: a server in a thread behind a real listener.

use crate::polled::{Asynch, Nonblocking, Polled, engine};
use crate::{Came, Driver, Ear, Talk, perform};
use pagewire::asynch::Timer;
use pagewire::blocking;
use pagewire::operation::{Item, Operation};
use pagewire::{Client, Clock, Error, Millis, Protocol};
use pagewire_line::{Heard, Link};
use pagewire_std::{MonotonicClock, Tcp};
use std::fmt::Debug;
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::mpsc::{self, Sender};
use std::task::Poll;
use std::thread;

/// Where the server listens. All its ports are one; which is meant it is told apart.
struct Door {
    address: SocketAddr,
    ports: Sender<Option<u16>>,
}

impl Door {
    /// The first connection has no port: the server is there from the start.
    fn connect(&self, port: Option<u16>) -> TcpStream {
        self.ports.send(port).expect("the server is there");
        let stream = TcpStream::connect(self.address).expect("the server listens");
        stream.set_nodelay(true).expect("a socket sends at once");
        stream
    }
}

/// Serves while `job` runs. What came of that, and what the server heard.
fn serve<P: Protocol, L: Link, R>(
    talk: &Talk<P, L>,
    job: impl FnOnce(Client<'_, P>, Door) -> R,
) -> (R, Vec<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
    let address = listener.local_addr().expect("it is bound");
    let (ports, wanted) = mpsc::channel::<Option<u16>>();
    let server = &talk.server;
    thread::scope(|scope| {
        let serving = scope.spawn(move || {
            let mut ear = Ear::new(server());
            while let Ok(port) = wanted.recv() {
                assert!(port.is_none_or(|port| ear.connect(port)), "nobody is at port {port:?}");
                let (stream, _) = listener.accept().expect("whoever wants a port connects");
                converse(stream, &mut ear).expect("the connection holds");
            }
            ear.heard
        });
        let result = talk.with(|client| job(client, Door { address, ports }));
        (result, serving.join().expect("the server has no complaint"))
    })
}

/// Until the client hangs up.
fn converse(mut stream: TcpStream, link: &mut impl Link) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; 65_536];
    loop {
        while let Heard::Bytes(len) = link.receive(&mut buffer) {
            stream.write_all(&buffer[..len])?;
        }
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(len) => assert_eq!(link.send(&buffer[..len]), len),
            // Bytes that it did not wait for were on their way when it hung up.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// `blocking` over the socket that firmware's host side uses.
pub(crate) fn blocking<P: Protocol, L: Link>(
    talk: &Talk<P, L>,
    cut: usize,
) -> (Result<Came, Error>, Vec<Vec<u8>>) {
    serve(talk, |client, door| {
        let tcp = Tcp::new(door.connect(None)).expect("a socket");
        let io = Blocking { tcp, door, cut };
        perform(&talk.program, &mut Host { client, io, clock: MonotonicClock::new() })
    })
}

struct Blocking {
    tcp: Tcp,
    door: Door,
    cut: usize,
}

impl embedded_io::ErrorType for Blocking {
    type Error = io::Error;
}

impl embedded_io::Read for Blocking {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = buf.len().min(self.cut);
        self.tcp.read(&mut buf[..len])
    }
}

impl embedded_io::Write for Blocking {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.tcp.write(&buf[..buf.len().min(self.cut)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl blocking::Link for Blocking {
    fn connect(&mut self, port: u16) -> io::Result<bool> {
        self.tcp = Tcp::new(self.door.connect(Some(port)))?;
        Ok(true)
    }
}

struct Host<'s, P: Protocol> {
    client: Client<'s, P>,
    io: Blocking,
    clock: MonotonicClock,
}

impl<P: Protocol> Driver<P> for Host<'_, P> {
    fn run_each<O>(&mut self, op: &mut O, mut each: impl FnMut(Item<'_, P, O>)) -> Result<O::Output, Error>
    where
        O: Operation<P>,
        O::Output: Debug,
    {
        let each = |item: Item<'_, P, O>| {
            each(item);
            ControlFlow::Continue(())
        };
        blocking::run_each(&mut self.client, &mut self.io, &self.clock, op, each).map_err(engine)
    }
}

/// `asynch` over a socket that does not block.
pub(crate) fn asynch<P: Protocol, L: Link>(
    talk: &Talk<P, L>,
    cut: usize,
) -> (Result<Came, Error>, Vec<Vec<u8>>) {
    serve(talk, |client, door| {
        let stream = door.connect(None);
        stream.set_nonblocking(true).expect("a socket");
        let io = Polled(Socket { stream, door, cut });
        perform(&talk.program, &mut Asynch { client, io, clock: Ticking(MonotonicClock::new()) })
    })
}

struct Socket {
    stream: TcpStream,
    door: Door,
    cut: usize,
}

fn at_once(outcome: io::Result<usize>) -> io::Result<Option<usize>> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        outcome => outcome.map(Some),
    }
}

impl Nonblocking for Socket {
    fn try_read(&mut self, buf: &mut [u8]) -> io::Result<Option<usize>> {
        let len = buf.len().min(self.cut);
        at_once(self.stream.read(&mut buf[..len]))
    }

    fn try_write(&mut self, buf: &[u8]) -> io::Result<Option<usize>> {
        at_once(self.stream.write(&buf[..buf.len().min(self.cut)]))
    }

    fn idle(&mut self) {
        thread::yield_now();
    }

    fn connect(&mut self, port: u16) {
        self.stream = self.door.connect(Some(port));
        self.stream.set_nonblocking(true).expect("a socket");
    }
}

/// The clock, for whoever is polled all the time.
struct Ticking(MonotonicClock);

impl Clock for Ticking {
    fn now(&self) -> Millis {
        self.0.now()
    }
}

impl Timer for Ticking {
    async fn until(&self, at: Millis) {
        poll_fn(|_| if self.now() < at { Poll::Pending } else { Poll::Ready(()) }).await;
    }
}
