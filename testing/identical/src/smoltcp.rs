//! Over smoltcp: both ends on one loopback interface.

use crate::polled::{Asynch, Nonblocking, Polled};
use crate::{Came, Driver, Ear, Talk, perform};
use pagewire::operation::{Item, Operation};
use pagewire::{Client, Error, Protocol, Timeless};
use pagewire_line::{Heard, Link};
use pagewire_smoltcp::Progress;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Loopback, Medium};
use smoltcp::socket::tcp::{Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use std::fmt::Debug;
use std::io;

const ADDRESS: IpAddress = IpAddress::v4(127, 0, 0, 1);

/// Milliseconds that no run here takes.
const MILLIS_MAX: i64 = 1_000_000;

/// An engine's socket and a server's on one interface, with the server behind the second.
struct World<L> {
    device: Loopback,
    interface: Interface,
    sockets: SocketSet<'static>,
    client: SocketHandle,
    server: SocketHandle,
    ear: Ear<L>,
    now: i64,
    /// Where the client connects from.
    port: u16,
}

impl<L: Link> World<L> {
    /// A server, connected to. The number of its port is of no interest.
    fn new(ear: Ear<L>, buffer: usize) -> World<L> {
        let mut device = Loopback::new(Medium::Ip);
        let mut interface = Interface::new(Config::new(HardwareAddress::Ip), &mut device, Instant::ZERO);
        interface.update_ip_addrs(|addresses| addresses.push(IpCidr::new(ADDRESS, 8)).expect("room for one"));
        let socket = || {
            let buffer = || SocketBuffer::new(vec![0; buffer]);
            let mut socket = Socket::new(buffer(), buffer());
            socket.set_ack_delay(None);
            socket
        };
        let mut sockets = SocketSet::new(vec![]);
        let (client, server) = (sockets.add(socket()), sockets.add(socket()));
        let mut world = World { device, interface, sockets, client, server, ear, now: 0, port: 49_152 };
        world.dial(445);
        world
    }

    fn dial(&mut self, port: u16) {
        self.port += 1;
        self.sockets.get_mut::<Socket>(self.server).listen(port).expect("it was closed");
        let socket = self.sockets.get_mut::<Socket>(self.client);
        socket.connect(self.interface.context(), (ADDRESS, port), self.port).expect("it was closed");
        while !self.sockets.get::<Socket>(self.client).may_send() {
            self.poll();
        }
    }

    /// Another connection in place of the one there is.
    fn connect(&mut self, port: u16) {
        for handle in [self.client, self.server] {
            self.sockets.get_mut::<Socket>(handle).abort();
            self.poll();
        }
        assert!(self.ear.connect(port), "nobody is at port {port}");
        self.dial(port);
    }

    /// A millisecond passes, and the server does what it can.
    fn poll(&mut self) {
        self.now += 1;
        assert!(self.now < MILLIS_MAX, "the run does not end");
        self.interface.poll(Instant::from_millis(self.now), &mut self.device, &mut self.sockets);
        let (socket, ear) = (self.sockets.get_mut::<Socket>(self.server), &mut self.ear);
        while socket.can_recv() {
            socket.recv(|bytes| (ear.send(bytes), ())).expect("it is open");
        }
        while socket.can_send() {
            let room = socket.send(|window| match ear.receive(window) {
                Heard::Bytes(len) => (len, true),
                _ => (0, false),
            });
            if room != Ok(true) {
                break;
            }
        }
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut::<Socket>(self.client)
    }
}

/// `pagewire_smoltcp::advance`.
pub(crate) fn advance<P: Protocol, L: Link>(
    talk: &Talk<P, L>,
    buffer: usize,
) -> (Result<Came, Error>, Vec<Vec<u8>>) {
    let world = World::new(Ear::new((talk.server)()), buffer);
    talk.with(|client| {
        let mut firmware = Firmware { client, world };
        (perform(&talk.program, &mut firmware), firmware.world.ear.heard)
    })
}

struct Firmware<'s, P: Protocol, L> {
    client: Client<'s, P>,
    world: World<L>,
}

impl<P: Protocol, L: Link> Driver<P> for Firmware<'_, P, L> {
    fn run_each<O>(&mut self, op: &mut O, mut each: impl FnMut(Item<'_, P, O>)) -> Result<O::Output, Error>
    where
        O: Operation<P>,
        O::Output: Debug,
    {
        let Firmware { client, world } = self;
        loop {
            let now = Instant::from_millis(world.now);
            match pagewire_smoltcp::advance(client, world.socket(), now, op, &mut each)? {
                Progress::Done(output) => return Ok(output),
                Progress::Waits => world.poll(),
                Progress::Connect(port) => {
                    world.connect(port);
                    client.connected();
                }
            }
        }
    }
}

/// `asynch` over the same socket.
pub(crate) fn asynch<P: Protocol, L: Link>(
    talk: &Talk<P, L>,
    buffer: usize,
) -> (Result<Came, Error>, Vec<Vec<u8>>) {
    let world = World::new(Ear::new((talk.server)()), buffer);
    talk.with(|client| {
        let mut task = Asynch { client, io: Polled(world), clock: Timeless };
        (perform(&talk.program, &mut task), task.io.0.ear.heard)
    })
}

impl<L: Link> Nonblocking for World<L> {
    fn try_read(&mut self, buf: &mut [u8]) -> io::Result<Option<usize>> {
        let len = self.socket().recv_slice(buf).map_err(io::Error::other)?;
        Ok((len > 0).then_some(len))
    }

    fn try_write(&mut self, buf: &[u8]) -> io::Result<Option<usize>> {
        let len = self.socket().send_slice(buf).map_err(io::Error::other)?;
        Ok((len > 0).then_some(len))
    }

    fn idle(&mut self) {
        self.poll();
    }

    fn connect(&mut self, port: u16) {
        World::connect(self, port);
    }
}
