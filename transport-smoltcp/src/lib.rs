#![no_std]
#![forbid(unsafe_code)]
//! Pagewire over a smoltcp TCP socket. [`advance`] polls and never blocks; [`Station`] is an interface with one
//! connection, which polls until it is done.

#[cfg(test)]
extern crate std;

#[cfg(feature = "embassy-net-driver")]
pub mod driver;
#[cfg(feature = "station")]
mod station;

#[cfg(feature = "station")]
pub use station::{
    Address, Buffers, CLOSE_TIMEOUT, CONFIGURE_TIMEOUT, CONNECT_TIMEOUT, RECEIVE_LEN_MIN, RESOLVE_TIMEOUT,
    SEGMENT_LEN, Sockets, Station,
};

use pagewire::operation::{Item, Operation};
use pagewire::{Client, Error, Millis, Protocol, Step};
use smoltcp::socket::tcp::{Socket, State};
use smoltcp::time::Instant;

/// What an operation came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<O> {
    /// It waits for the network: poll the interface, and come again, at [`Client::wakes`] at the latest.
    Waits,
    /// It wants a connection to this port in place of the one there is: connect the socket, say
    /// [`Client::connected`], and come again.
    Connect(u16),
    /// It has ended.
    Done(O),
}

/// Goes on with an operation as far as the socket's buffers allow, and shows each item to `each`. It never blocks; with
/// nothing to do it is `Waits`, and a socket that is still connecting is waited for, for as long as it tries (see
/// `Socket::set_timeout`).
///
/// An error is the operation's, or the connection's (see [`Client::failed`]); a socket that was closed by the peer is
/// `Closed`. Dropping the operation between two calls is allowed.
pub fn advance<P: Protocol, O: Operation<P>>(
    client: &mut Client<'_, P>,
    socket: &mut Socket<'_>,
    now: Instant,
    op: &mut O,
    mut each: impl FnMut(Item<'_, P, O>),
) -> Result<Progress<O::Output>, Error> {
    if matches!(socket.state(), State::SynSent | State::SynReceived) {
        return Ok(Progress::Waits);
    }
    client.tell(Millis(u64::try_from(now.total_millis()).unwrap_or(0)));
    loop {
        match client.step(op) {
            Step::Transmit(bytes) => match socket.send_slice(bytes) {
                Ok(0) => return Ok(Progress::Waits),
                Ok(len) => client.transmitted(len),
                Err(_) => client.received(op, 0),
            },
            Step::Receive(window) => match socket.recv_slice(window) {
                Ok(0) => return Ok(Progress::Waits),
                Ok(len) => client.received(op, len),
                Err(_) => client.received(op, 0),
            },
            Step::Connect(port) => return Ok(Progress::Connect(port)),
            Step::Wait(_) => return Ok(Progress::Waits),
            Step::Item(item) => each(item),
            Step::Done(result) => return result.map(Progress::Done),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewire::smb::{Config, Entropy, Identity, Policy, Smb};
    use pagewire::{Connect, Open, Pages, StorageArray, Stream};
    use pagewire_model::{Config as ModelConfig, Model, Tree, pattern};
    use smoltcp::iface::{Config as InterfaceConfig, Interface, SocketHandle, SocketSet};
    use smoltcp::phy::{Loopback, Medium};
    use smoltcp::socket::tcp::SocketBuffer;
    use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
    use std::vec;
    use std::vec::Vec;

    const LEN: usize = 300_000;

    /// An engine's socket and a server's socket on one interface, with a model server behind the second.
    struct World {
        device: Loopback,
        interface: Interface,
        sockets: SocketSet<'static>,
        client: SocketHandle,
        server: SocketHandle,
        model: Model,
        now: i64,
    }

    impl World {
        fn new(buffer: usize) -> World {
            let mut device = Loopback::new(Medium::Ip);
            let config = InterfaceConfig::new(HardwareAddress::Ip);
            let mut interface = Interface::new(config, &mut device, Instant::ZERO);
            let address = IpAddress::v4(127, 0, 0, 1);
            interface.update_ip_addrs(|addresses| addresses.push(IpCidr::new(address, 8)).unwrap());
            let socket = || {
                let buffer = || SocketBuffer::new(vec![0; buffer]);
                let mut socket = Socket::new(buffer(), buffer());
                socket.set_ack_delay(None);
                socket
            };
            let mut sockets = SocketSet::new(vec![]);
            let (client, server) = (sockets.add(socket()), sockets.add(socket()));
            sockets.get_mut::<Socket>(server).listen(445).unwrap();
            let connecting = sockets.get_mut::<Socket>(client);
            connecting.connect(interface.context(), (address, 445), 49_152).unwrap();
            let tree = Tree::new().pattern("f", LEN as u64);
            let model = Model::new(ModelConfig { tree, ..ModelConfig::default() });
            World { device, interface, sockets, client, server, model, now: 0 }
        }

        /// A millisecond passes, and the server does what it can.
        fn poll(&mut self) {
            self.now += 1;
            self.interface.poll(Instant::from_millis(self.now), &mut self.device, &mut self.sockets);
            let socket = self.sockets.get_mut::<Socket>(self.server);
            while socket.can_recv() {
                let _ = socket.recv(|bytes| {
                    self.model.input(bytes);
                    (bytes.len(), ())
                });
            }
            while socket.can_send() {
                let bytes = self.model.output_up_to(socket.send_capacity() - socket.send_queue());
                if bytes.is_empty() {
                    break;
                }
                assert_eq!(socket.send_slice(&bytes), Ok(bytes.len()));
            }
        }

        fn run<'s, O: Operation<Smb<'s>>>(
            &mut self,
            client: &mut Client<'s, Smb<'s>>,
            op: &mut O,
            mut each: impl FnMut(Item<'_, Smb<'s>, O>),
        ) -> Result<O::Output, Error> {
            for _ in 0..100_000 {
                let socket = self.sockets.get_mut::<Socket>(self.client);
                match advance(client, socket, Instant::from_millis(self.now), op, &mut each)? {
                    Progress::Done(output) => return Ok(output),
                    Progress::Waits => self.poll(),
                    Progress::Connect(port) => panic!("SMB has no use for port {port}"),
                }
            }
            panic!("it does not end")
        }
    }

    fn smb(seal: Policy) -> Smb<'static> {
        let me = Identity::Named { domain: "", user: "lab", password: "lab-password" };
        Smb::new(Config { seal, ..Config::new("model", "data", me, Entropy::from_bytes([7; Entropy::LEN])) })
    }

    #[test]
    fn a_file_is_read_through_small_windows_plain_and_sealed() {
        for (buffer, seal) in [(3000, Policy::IfNeeded), (11_680, Policy::Always), (65_536, Policy::Always)] {
            let mut world = World::new(buffer);
            let mut storage = StorageArray::<1024, 2048, 4>::new();
            let mut client = Client::new(storage.lend(), smb(seal)).unwrap();
            world.run(&mut client, &mut Connect::new(), |()| {}).unwrap();
            let file = world.run(&mut client, &mut Open::new("f"), |()| {}).unwrap();
            let mut memory = [[0; 4096]; 8];
            let mut pages = Pages(&mut memory);
            let mut came = Vec::new();
            let mut stream = Stream::new(&file, 0, &mut pages);
            let end = world.run(&mut client, &mut stream, |run| came.extend_from_slice(run.data())).unwrap();
            assert_eq!(end, LEN as u64);
            assert!(came == pattern(0, 0, LEN), "windows of {buffer}");
        }
    }

    #[test]
    fn a_peer_that_goes_away_is_closed() {
        let mut world = World::new(4096);
        let mut storage = StorageArray::<1024, 2048, 4>::new();
        let mut client = Client::new(storage.lend(), smb(Policy::IfNeeded)).unwrap();
        world.run(&mut client, &mut Connect::new(), |()| {}).unwrap();
        world.sockets.get_mut::<Socket>(world.server).abort();
        assert_eq!(world.run(&mut client, &mut Open::new("f"), |()| {}).map(|_| ()), Err(Error::Closed));
    }

    #[test]
    fn a_peer_that_says_nothing_is_timed_out() {
        let mut world = World::new(4096);
        let mut storage = StorageArray::<1024, 2048, 4>::new();
        let mut client = Client::new(storage.lend(), smb(Policy::IfNeeded)).unwrap();
        // The connection is there, and no byte comes over it.
        world.model = Model::new(ModelConfig {
            lies: vec![pagewire_model::Lie::TruncateAt(0)],
            ..ModelConfig::default()
        });
        client.set_timeout_ms(500);
        let outcome = world.run(&mut client, &mut Connect::new(), |()| {});
        assert_eq!((outcome, world.now > 500), (Err(Error::TimedOut), true));
    }
}
