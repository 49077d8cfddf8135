//! A network interface with one connection, for firmware that does nothing else while it reads.

mod address;
mod sockets;

pub use address::{Address, CONFIGURE_TIMEOUT, RESOLVE_TIMEOUT};
pub use sockets::{Buffers, RECEIVE_LEN_MIN, SEGMENT_LEN, Sockets};

use crate::{Progress, advance};
use pagewire::operation::{Content, Item, Operation};
use pagewire::{Client, Close, Error, Open, Protocol, Sink, Stream};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::Device;
use smoltcp::socket::tcp::{Socket, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::IpAddress;

/// How long a server may take to accept a connection. It is asked again after 1, 3 and 7 s (RFC 6298).
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the end of a connection is waited for: nothing that is wanted depends on it.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The first of the ports that RFC 6335 section 6 leaves to clients.
const DYNAMIC_PORTS: u16 = 49_152;

/// What a hole is shown as, piece by piece. A multiple of what known flashes write at a time.
static ZEROS: [u8; 512] = [0; 512];

/// An interface with one TCP connection, and the server that it talks to. It polls until something is done, and calls `clock`
/// before each poll: there other work may be done (a driver that is a future be let run, say), or the processor sleep
/// until the device has something.
///
/// [`configure`](Self::configure), [`find`](Self::find) and [`connect`](Self::connect), in this order, and then
/// operations are [`run`](Self::run). After an error that ends the connection (`Client::failed`), a new client over the same memory
/// and another `connect` go on where the old ones ended.
pub struct Station<'s, D, C> {
    device: &'s mut D,
    interface: Interface,
    sockets: SocketSet<'s>,
    tcp: SocketHandle,
    dns: SocketHandle,
    dhcp: Option<SocketHandle>,
    clock: C,
    server: Option<IpAddress>,
    local_port: u16,
}

impl<'s, D: Device, C: FnMut() -> Instant> Station<'s, D, C> {
    /// An interface without an address. `clock` gives the time since any moment. `random_seed` of the configuration should differ
    /// from start to start: ports and sequence numbers come of it, and a server may remember the last connection.
    pub fn new<const RX: usize, const TX: usize>(
        device: &'s mut D,
        config: Config,
        mut clock: C,
        sockets: &'s mut Sockets<'s>,
        buffers: &'s mut Buffers<RX, TX>,
    ) -> Self {
        let local_port = DYNAMIC_PORTS | config.random_seed as u16;
        let interface = Interface::new(config, device, clock());
        let (sockets, tcp, dns) = sockets.lend(buffers);
        Station { device, interface, sockets, tcp, dns, dhcp: None, clock, server: None, local_port }
    }

    /// Connects to a port of the server, in place of the connection there is.
    ///
    /// `Closed` if the server refuses it, `TimedOut` after [`CONNECT_TIMEOUT`], `Invalid` where no connection is possible.
    pub fn connect(&mut self, port: u16) -> Result<(), Error> {
        self.close();
        let server = self.server.ok_or(Error::Invalid("no server was found"))?;
        self.local_port = self.local_port.checked_add(1).unwrap_or(DYNAMIC_PORTS);
        let socket = self.sockets.get_mut::<Socket>(self.tcp);
        socket
            .connect(self.interface.context(), (server, port), self.local_port)
            .map_err(|_| Error::Invalid("there is no way to the server's address and port"))?;
        let outcome = self.poll_until(CONNECT_TIMEOUT, |station| match station.state() {
            State::SynSent => None,
            State::Closed => Some(Err(Error::Closed)),
            _ => Some(Ok(())),
        });
        outcome.inspect_err(|_| self.abort()).flatten()
    }

    /// Runs an operation to its end, with further connections if it wants them, and shows each item to `each`.
    ///
    /// Errors are the operation's, or those of [`connect`](Self::connect).
    pub fn run<P: Protocol, O: Operation<P>>(
        &mut self,
        client: &mut Client<'_, P>,
        op: &mut O,
        mut each: impl FnMut(Item<'_, P, O>),
    ) -> Result<O::Output, Error> {
        loop {
            let now = self.poll();
            let socket = self.sockets.get_mut::<Socket>(self.tcp);
            match advance(client, socket, now, op, &mut each)? {
                Progress::Done(output) => return Ok(output),
                Progress::Waits => {}
                Progress::Connect(port) => {
                    self.connect(port)?;
                    client.connected();
                }
            }
        }
    }

    /// Opens a file, reads it from byte `offset` on through a ring of pages, shows its bytes to `each`, in order and verified, holes
    /// as zeros, and closes it. Returns where it ended.
    pub fn read<P: Protocol>(
        &mut self,
        client: &mut Client<'_, P>,
        path: &str,
        offset: u64,
        pages: &mut dyn Sink,
        mut each: impl FnMut(&[u8]),
    ) -> Result<u64, Error> {
        let file = self.run(client, &mut Open::new(path), |()| {})?;
        let end = self.run(client, &mut Stream::new(&file, offset, pages), |content| match content {
            Content::Data(bytes) => each(bytes),
            Content::Hole(mut left) => {
                while left > 0 {
                    let len = left.min(ZEROS.len() as u64);
                    each(&ZEROS[..len as usize]);
                    left -= len;
                }
            }
        })?;
        self.run(client, &mut Close::new(&file), |()| {})?;
        Ok(end)
    }

    /// Ends the connection, if there is one: in good order, or after [`CLOSE_TIMEOUT`] with a reset.
    pub fn close(&mut self) {
        self.sockets.get_mut::<Socket>(self.tcp).close();
        let closed =
            |station: &mut Self| matches!(station.state(), State::Closed | State::TimeWait).then_some(());
        if self.poll_until(CLOSE_TIMEOUT, closed).is_err() {
            self.abort();
        }
    }

    fn abort(&mut self) {
        self.sockets.get_mut::<Socket>(self.tcp).abort();
        self.poll(); // the reset goes out
    }

    fn state(&self) -> State {
        self.sockets.get::<Socket>(self.tcp).state()
    }

    /// Polls until there is something, or until `limit` has passed: `TimedOut`.
    fn poll_until<T>(
        &mut self,
        limit: Duration,
        something: impl FnMut(&mut Self) -> Option<T>,
    ) -> Result<T, Error> {
        let end = (self.clock)() + limit;
        self.poll_up_to(end, something)
    }

    /// The same until a time that several may share.
    fn poll_up_to<T>(
        &mut self,
        end: Instant,
        mut something: impl FnMut(&mut Self) -> Option<T>,
    ) -> Result<T, Error> {
        loop {
            let now = self.poll();
            if let Some(value) = something(self) {
                return Ok(value);
            }
            if now >= end {
                return Err(Error::TimedOut);
            }
        }
    }

    fn poll(&mut self) -> Instant {
        let now = (self.clock)();
        self.interface.poll(now, self.device, &mut self.sockets);
        self.follow_dhcp();
        now
    }
}

#[cfg(test)]
mod tests;
