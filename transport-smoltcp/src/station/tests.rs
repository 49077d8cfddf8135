//! Two stations on one wire; the clock of ours moves the other.

mod names;

use super::*;
use pagewire::smb::{Config, Entropy, Identity, Smb};
use pagewire::{Connect, Pages, StorageArray};
use pagewire_model::{Config as ModelConfig, Model, Tree, pattern};
use smoltcp::iface::Config as InterfaceConfig;
use smoltcp::phy::{DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::SocketBuffer;
use smoltcp::wire::{HardwareAddress, IpCidr};
use std::boxed::Box;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

const OURS: IpAddress = IpAddress::v4(192, 0, 2, 1);
const THEIRS: IpAddress = IpAddress::v4(192, 0, 2, 2);
#[cfg(feature = "ipv6")]
const OURS_6: IpAddress = IpAddress::v6(0x2001, 0xDB8, 0, 0, 0, 0, 0, 1);
#[cfg(feature = "ipv6")]
const THEIRS_6: IpAddress = IpAddress::v6(0x2001, 0xDB8, 0, 0, 0, 0, 0, 2);
const LEN: usize = 200_000;

type Way = Rc<RefCell<VecDeque<Vec<u8>>>>;

/// One end of the wire: packets that come, packets that go.
struct End(Way, Way);
struct Packet(Vec<u8>);
struct Going(Way);

impl RxToken for Packet {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, look: F) -> R {
        look(&self.0)
    }
}

impl TxToken for Going {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, fill: F) -> R {
        let mut packet = vec![0; len];
        let result = fill(&mut packet);
        self.0.borrow_mut().push_back(packet);
        result
    }
}

impl Device for End {
    type RxToken<'a> = Packet;
    type TxToken<'a> = Going;

    fn receive(&mut self, _: Instant) -> Option<(Packet, Going)> {
        let packet = self.0.borrow_mut().pop_front()?;
        Some((Packet(packet), Going(self.1.clone())))
    }

    fn transmit(&mut self, _: Instant) -> Option<Going> {
        Some(Going(self.1.clone()))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = 1500;
        capabilities
    }
}

fn socket() -> Socket<'static> {
    let mut socket = Socket::new(SocketBuffer::new(vec![0; 8192]), SocketBuffer::new(vec![0; 8192]));
    socket.set_ack_delay(None);
    socket
}

/// The other end: a socket on each of two ports, a model server behind the first, and a DNS server.
struct Far {
    device: End,
    interface: Interface,
    sockets: SocketSet<'static>,
    listening: [SocketHandle; 2],
    names: SocketHandle,
    model: Model,
    /// Whether it is there at all, and whether it closes what the other side has closed.
    there: bool,
    closes: bool,
}

fn model() -> Model {
    Model::new(ModelConfig { tree: Tree::new().pattern("f", LEN as u64), ..ModelConfig::default() })
}

const PORTS: [u16; 2] = [445, 2049];

impl Far {
    fn new(mut device: End, address: IpAddress) -> Far {
        let mut sockets = SocketSet::new(vec![]);
        let listening = PORTS.map(|port| {
            let mut socket = socket();
            socket.listen(port).unwrap();
            sockets.add(socket)
        });
        let names = sockets.add(names::socket());
        let mut interface =
            Interface::new(InterfaceConfig::new(HardwareAddress::Ip), &mut device, Instant::ZERO);
        interface.update_ip_addrs(|addresses| addresses.push(IpCidr::new(address, 24)).unwrap());
        let model = model();
        Far { device, interface, sockets, listening, names, model, there: true, closes: true }
    }

    fn poll(&mut self, now: Instant) {
        if !self.there {
            return;
        }
        self.interface.poll(now, &mut self.device, &mut self.sockets);
        for handle in self.listening {
            let socket = self.sockets.get_mut::<Socket>(handle);
            if self.closes && socket.state() == State::CloseWait {
                socket.close();
            }
        }
        names::answer(self.sockets.get_mut(self.names));
        let socket = self.sockets.get_mut::<Socket>(self.listening[0]);
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

    /// Its server forgets the connection that there was.
    fn restart(&mut self) {
        self.sockets.get_mut::<Socket>(self.listening[0]).listen(PORTS[0]).unwrap();
        self.model = model();
    }

    fn states(&self) -> [State; 2] {
        self.listening.map(|handle| self.sockets.get::<Socket>(handle).state())
    }
}

/// Ours, with a millisecond between two polls, and the other end.
fn stations(
    ours: IpAddress,
    theirs: IpAddress,
) -> (Station<'static, End, impl FnMut() -> Instant>, Rc<RefCell<Far>>) {
    let (there, back) = (Way::default(), Way::default());
    let far = Rc::new(RefCell::new(Far::new(End(there.clone(), back.clone()), theirs)));
    let (moved, mut now) = (far.clone(), Instant::ZERO);
    let clock = move || {
        now += Duration::from_millis(1);
        moved.borrow_mut().poll(now);
        now
    };
    let mut config = InterfaceConfig::new(HardwareAddress::Ip);
    config.random_seed = u64::from(u16::MAX) - 1;
    let device = Box::leak(Box::new(End(back, there)));
    let sockets = Box::leak(Box::new(Sockets::new()));
    let buffers = Box::leak(Box::new(Buffers::<RECEIVE_LEN_MIN, 1024>::new()));
    let mut station = Station::new(device, config, clock, sockets, buffers);
    let address = IpCidr::new(ours, 24);
    assert_eq!(
        station.configure(Address::Fixed { address, router: None, resolver: Some(theirs) }),
        Ok(address)
    );
    (station, far)
}

/// The same, and the server is found.
fn found() -> (Station<'static, End, impl FnMut() -> Instant>, Rc<RefCell<Far>>) {
    let (mut station, far) = stations(OURS, THEIRS);
    assert_eq!(station.find("192.0.2.2"), Ok(THEIRS));
    (station, far)
}

fn smb() -> Smb<'static> {
    let me = Identity::Named { domain: "", user: "lab", password: "lab-password" };
    Smb::new(Config::new("model", "data", me, Entropy::from_bytes([7; Entropy::LEN])))
}

/// Connects and reads the file from where `came` ends, with `each` called after every run.
fn read<C: FnMut() -> Instant>(
    station: &mut Station<'_, End, C>,
    came: &mut Vec<u8>,
    mut each: impl FnMut(),
) -> Result<u64, Error> {
    let mut storage = StorageArray::<1024, 2048, 4>::new();
    let mut client = Client::new(storage.lend(), smb()).unwrap();
    station.connect(PORTS[0])?;
    station.run(&mut client, &mut Connect::new(), |()| {})?;
    let mut memory = [[0; 4096]; 8];
    station.read(&mut client, "f", came.len() as u64, &mut Pages(&mut memory), |bytes| {
        came.extend_from_slice(bytes);
        each();
    })
}

#[test]
fn a_file_is_read_from_the_other_station() {
    let (mut station, _far) = found();
    let mut came = Vec::new();
    assert_eq!(read(&mut station, &mut came, || {}), Ok(LEN as u64));
    assert!(came == pattern(0, 0, LEN));
}

#[cfg(feature = "ipv6")]
#[test]
fn a_file_is_read_over_ipv6() {
    let (mut station, _far) = stations(OURS_6, THEIRS_6);
    assert_eq!(station.find("2001:db8::2"), Ok(THEIRS_6));
    let mut came = Vec::new();
    assert_eq!(read(&mut station, &mut came, || {}), Ok(LEN as u64));
    assert!(came == pattern(0, 0, LEN));
}

#[test]
fn a_read_that_was_cut_goes_on_over_another_connection() {
    let (mut station, far) = found();
    let mut came = Vec::new();
    let cut = || {
        let mut far = far.borrow_mut();
        let handle = far.listening[0];
        far.sockets.get_mut::<Socket>(handle).abort();
    };
    assert_eq!(read(&mut station, &mut came, cut), Err(Error::Closed));
    assert!(!came.is_empty() && came.len() < LEN, "{}", came.len());
    far.borrow_mut().restart();
    assert_eq!(read(&mut station, &mut came, || {}), Ok(LEN as u64));
    assert!(came == pattern(0, 0, LEN));
}

#[test]
fn a_server_that_disappears_in_mid_read_is_timed_out() {
    let (mut station, far) = found();
    let mut came = Vec::new();
    let outcome = read(&mut station, &mut came, || far.borrow_mut().there = false);
    assert_eq!((outcome, came.is_empty()), (Err(Error::TimedOut), false));
}

#[test]
fn a_connection_takes_the_place_of_the_one_before_which_ends_in_good_order() {
    let (mut station, far) = found();
    station.connect(PORTS[0]).unwrap();
    station.connect(PORTS[1]).unwrap();
    (station.clock)(); // the end of the handshake arrives
    assert_eq!(far.borrow().states(), [State::Closed, State::Established]);
    assert_eq!(station.local_port, DYNAMIC_PORTS, "each has a port of its own");
    station.close();
    assert_eq!(station.state(), State::TimeWait, "it was no reset");
    station.close();
}

#[test]
fn a_server_that_does_not_close_is_left_with_a_reset() {
    let (mut station, far) = found();
    far.borrow_mut().closes = false;
    station.connect(PORTS[0]).unwrap();
    let before = (station.clock)();
    station.close();
    let took = (station.clock)() - before;
    assert!(took >= CLOSE_TIMEOUT && took < CLOSE_TIMEOUT * 2, "{took}");
    assert_eq!(far.borrow().states()[0], State::Closed);
}

#[test]
fn a_port_that_nobody_has_and_a_server_that_is_not_there_are_errors() {
    let (mut station, far) = found();
    assert_eq!(station.connect(9), Err(Error::Closed));
    far.borrow_mut().there = false;
    let before = (station.clock)();
    assert_eq!(station.connect(PORTS[0]), Err(Error::TimedOut));
    assert!((station.clock)() - before >= CONNECT_TIMEOUT);
    assert_eq!(station.connect(0), Err(Error::Invalid("there is no way to the server's address and port")));
}
