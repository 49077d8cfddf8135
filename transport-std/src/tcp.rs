//! A TCP connection as the engine's transport.

use pagewire::blocking::Link;
use socket2::{Domain, Socket, Type};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// How long a read or write waits before it gives up with `TimedOut`, so that the driver can look at its
/// clock. The engine's deadline, not this, says when the server has been silent for too long.
pub const TICK: Duration = Duration::from_millis(250);

/// The most bytes taken by one read. Measured on loopback: with less, the system calls are felt; with more,
/// nothing is gained, since what was received is hashed, decrypted or written at once and should still be in
/// the cache then.
pub const RECEIVE_LEN_MAX: usize = 256 * 1024;

/// A connected socket. It sends at once (no Nagle) and its reads and writes give up after a [`TICK`].
#[derive(Debug)]
pub struct Tcp {
    stream: TcpStream,
    /// How long a connection to another port may take.
    timeout: Duration,
    source: Source,
}

/// The port that a connection comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// Any that the system gives.
    #[default]
    Any,
    /// One below 1024, which some NFS servers want and only root may use. Without the right to it connecting fails with
    /// `PermissionDenied`.
    Privileged,
}

/// How long connecting may take where the stream was connected by others.
const TIMEOUT: Duration = Duration::from_secs(10);

impl Tcp {
    /// Connects to the first address of `host` that accepts. `host` is a name or an address (IPv6 without
    /// brackets).
    ///
    /// `timeout` bounds the whole of it but for the resolver, which has a time-out of its own. An address
    /// gets its share of the time that is left, so a dead one does not keep the next from being tried. The
    /// error is that of the last address.
    pub fn connect(host: &str, port: u16, timeout: Duration) -> io::Result<Tcp> {
        Tcp::connect_from(Source::Any, host, port, timeout)
    }

    /// The same from a port of one's own choice. A connection to another port of the same server
    /// ([`Link::connect`]) comes from such a port too.
    pub fn connect_from(source: Source, host: &str, port: u16, timeout: Duration) -> io::Result<Tcp> {
        let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
        let deadline = Instant::now() + timeout;
        let mut outcome = Err(io::Error::new(ErrorKind::NotFound, "the name has no address"));
        for (tried, address) in addresses.iter().enumerate() {
            let left = deadline.saturating_duration_since(Instant::now());
            let share = left / u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
            // A time-out of zero is an error of its own kind.
            outcome = source.connect(address, share.max(Duration::from_millis(1)));
            if outcome.is_ok() {
                break;
            }
        }
        let stream = outcome.map_err(|error| at_port(error, port))?;
        Ok(Tcp { timeout, source, ..Tcp::new(stream)? })
    }

    /// Takes a stream that is connected already.
    pub fn new(stream: TcpStream) -> io::Result<Tcp> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TICK))?;
        stream.set_write_timeout(Some(TICK))?;
        Ok(Tcp { stream, timeout: TIMEOUT, source: Source::Any })
    }

    /// Where it is connected to.
    pub fn peer(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }
}

/// Ports below 1024, as far down as `mount.nfs` goes: below these there are those of too many services.
const PRIVILEGED_PORTS: std::ops::RangeInclusive<u16> = 665..=1023;

impl Source {
    fn connect(self, address: &SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
        match self {
            Source::Any => TcpStream::connect_timeout(address, timeout),
            Source::Privileged => privileged(address, timeout),
        }
    }
}

/// From the highest such port that is free. A port may be free and its last connection to `address` not forgotten yet.
fn privileged(address: &SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
    let deadline = Instant::now() + timeout;
    let mut outcome = Err(ErrorKind::AddrInUse.into());
    for port in PRIVILEGED_PORTS.rev() {
        outcome = connect_from_port(port, address, deadline);
        match &outcome {
            Err(error) if matches!(error.kind(), ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable) => {}
            _ => break,
        }
    }
    outcome
}

fn connect_from_port(port: u16, address: &SocketAddr, deadline: Instant) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(*address), Type::STREAM, None)?;
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, port).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, port).into(),
    };
    socket.bind(&any.into())?;
    let left = deadline.saturating_duration_since(Instant::now());
    socket.connect_timeout(&(*address).into(), left.max(Duration::from_millis(1)))?;
    Ok(socket.into())
}

/// An error of connecting, with the port: a user knows only some of them.
fn at_port(error: io::Error, port: u16) -> io::Error {
    io::Error::new(error.kind(), format!("port {port}: {error}"))
}

/// Unix says `WouldBlock` when the time is over.
fn tick(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::WouldBlock { ErrorKind::TimedOut.into() } else { error }
}

impl embedded_io::ErrorType for Tcp {
    type Error = io::Error;
}

impl embedded_io::Read for Tcp {
    /// What has come, at most [`RECEIVE_LEN_MAX`]. 0 is the end of the connection, or an empty buffer.
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = buf.len().min(RECEIVE_LEN_MAX);
        self.stream.read(&mut buf[..len]).map_err(tick)
    }
}

impl embedded_io::Write for Tcp {
    /// Sends as much as the system takes. 0 only for an empty buffer.
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.stream.write(buf).map_err(tick)
    }

    /// Nothing to do: nothing is held back.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Link for Tcp {
    /// To the same address, whatever else the name has by now: it is the same server that is meant.
    fn connect(&mut self, port: u16) -> io::Result<bool> {
        // It keeps the interface of an IPv6 address that means something there only.
        let mut address = self.peer()?;
        address.set_port(port);
        let stream = self.source.connect(&address, self.timeout).map_err(|error| at_port(error, port))?;
        *self = Tcp { timeout: self.timeout, source: self.source, ..Tcp::new(stream)? };
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use embedded_io::{Read as _, Write as _};
    use std::net::{SocketAddrV6, TcpListener};

    fn pair() -> (Tcp, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let tcp = Tcp::connect("127.0.0.1", port, Duration::from_secs(5)).unwrap();
        (tcp, listener.accept().unwrap().0)
    }

    #[test]
    fn bytes_go_both_ways_and_the_end_is_zero() {
        let (mut tcp, mut peer) = pair();
        assert_eq!(tcp.write(b"ask").unwrap(), 3);
        let mut got = [0; 3];
        peer.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"ask");
        peer.write_all(b"answer").unwrap();
        drop(peer);
        let mut got = [0; 16];
        assert_eq!(tcp.read(&mut got).unwrap(), 6);
        assert_eq!(&got[..6], b"answer");
        assert_eq!(tcp.read(&mut got).unwrap(), 0);
    }

    #[test]
    fn silence_is_a_tick_of_the_clock() {
        let (mut tcp, _peer) = pair();
        let error = embedded_io::Read::read(&mut tcp, &mut [0; 4]).unwrap_err();
        assert_eq!(embedded_io::Error::kind(&error), embedded_io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_closed_port_refuses() {
        let error = Tcp::connect("127.0.0.1", 1, Duration::from_secs(5)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    }

    /// An address of a link and its interface, where the system has one and says it.
    fn of_a_link() -> Option<SocketAddrV6> {
        let all = std::fs::read_to_string("/proc/net/if_inet6").ok()?;
        let mut lines = all.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        // The address, the interface, the length of the prefix, the scope (20: the link), flags (80: nothing is amiss).
        let fields = lines.find(|fields| fields.len() == 6 && (fields[3], fields[4]) == ("20", "80"))?;
        let (ip, interface) = (u128::from_str_radix(fields[0], 16), u32::from_str_radix(fields[1], 16));
        Some(SocketAddrV6::new(ip.ok()?.into(), 0, 0, interface.ok()?))
    }

    #[test]
    fn another_port_of_a_server_is_on_the_same_interface() {
        let Some(address) = of_a_link() else { return };
        let [one, other] = [0; 2].map(|_| TcpListener::bind(address).unwrap());
        let mut tcp = Tcp::new(TcpStream::connect(one.local_addr().unwrap()).unwrap()).unwrap();
        assert!(tcp.connect(other.local_addr().unwrap().port()).unwrap());
        assert_eq!(tcp.peer().unwrap(), other.local_addr().unwrap());
    }

    #[test]
    fn a_privileged_port_is_below_1024_or_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connect = || Tcp::connect_from(Source::Privileged, "127.0.0.1", port, Duration::from_secs(5));
        match connect() {
            Ok(mut tcp) => {
                let first = listener.accept().unwrap().1.port();
                assert!(tcp.connect(port).unwrap());
                let second = listener.accept().unwrap().1.port();
                assert!(PRIVILEGED_PORTS.contains(&first) && PRIVILEGED_PORTS.contains(&second));
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::PermissionDenied),
        }
    }
}
