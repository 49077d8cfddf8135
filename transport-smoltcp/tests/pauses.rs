//! A server that asks to be asked later: the caller is told when to come again, and nothing is sent before.

use pagewire::nfs::{Nfs4, nfs4};
use pagewire::operation::Operation;
use pagewire::{Client, Connect, Stat, StorageArray};
use pagewire_hostile_nfs::v4::{Config, Model, PORT, Quirk, When, op, status};
use pagewire_hostile_nfs::{Heard, Link};
use pagewire_smoltcp::{Progress, advance};
use smoltcp::iface::{Config as InterfaceConfig, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Loopback, Medium};
use smoltcp::socket::tcp::{Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

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
    fn new(model: Model) -> World {
        let mut device = Loopback::new(Medium::Ip);
        let config = InterfaceConfig::new(HardwareAddress::Ip);
        let mut interface = Interface::new(config, &mut device, Instant::ZERO);
        let address = IpAddress::v4(127, 0, 0, 1);
        interface.update_ip_addrs(|addresses| addresses.push(IpCidr::new(address, 8)).unwrap());
        let buffer = || SocketBuffer::new(vec![0; 8192]);
        let mut sockets = SocketSet::new(vec![]);
        let client = sockets.add(Socket::new(buffer(), buffer()));
        let server = sockets.add(Socket::new(buffer(), buffer()));
        sockets.get_mut::<Socket>(server).listen(PORT).unwrap();
        let connecting = sockets.get_mut::<Socket>(client);
        connecting.connect(interface.context(), (address, PORT), 49_152).unwrap();
        World { device, interface, sockets, client, server, model, now: 0 }
    }

    /// A millisecond passes, and the server does what it can.
    fn poll(&mut self) {
        self.now += 1;
        self.interface.poll(Instant::from_millis(self.now), &mut self.device, &mut self.sockets);
        let socket = self.sockets.get_mut::<Socket>(self.server);
        while socket.can_recv() {
            let _ = socket.recv(|bytes| (self.model.send(bytes), ()));
        }
        let mut window = [0; 1024];
        while socket.send_capacity() - socket.send_queue() >= window.len() {
            let Heard::Bytes(len) = self.model.receive(&mut window) else { break };
            assert_eq!(socket.send_slice(&window[..len]), Ok(len));
        }
    }

    /// Runs it to its end. How long it took.
    fn run<'s, O: Operation<Nfs4<'s>>>(&mut self, client: &mut Client<'s, Nfs4<'s>>, mut op: O) -> i64 {
        let begin = self.now;
        loop {
            let socket = self.sockets.get_mut::<Socket>(self.client);
            match advance(client, socket, Instant::from_millis(self.now), &mut op, |_| {}).unwrap() {
                Progress::Done(_) => return self.now - begin,
                Progress::Waits => self.poll(),
                Progress::Connect(port) => panic!("NFSv4 has no use for port {port}"),
            }
            assert!(client.wakes().is_none_or(|wakes| wakes.0 as i64 >= self.now - 1), "it is not late");
            assert!(self.now < begin + 60_000, "it does not end");
        }
    }
}

#[test]
fn what_is_to_be_asked_later_is_asked_when_its_time_has_come() {
    let later = Quirk::Refuses(op::LOOKUP, status::DELAY);
    let mut world =
        World::new(Model::new(Config { quirks: vec![(When::First(4), later)], ..Config::default() }));
    let mut storage = StorageArray::<1024, 4096, 4>::new();
    let nfs = Nfs4::new(nfs4::Config::new(b"me", [1; 8], 1));
    let mut client = Client::new(storage.lend(), nfs).unwrap();
    world.run(&mut client, Connect::new());
    let before = world.model.compounds.len();
    let took = world.run(&mut client, Stat::new("/export"));
    assert!((1500..1600).contains(&took), "{took} ms");
    assert_eq!(world.model.compounds.len() - before, 5);
}
