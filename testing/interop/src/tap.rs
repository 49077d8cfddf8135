//! A relay on loopback that stands between a client and a server and counts what they say, with parsers of its own.
//!
//! It passes every byte at once and in order, and keeps at most 64 KiB of a connection each way. One thread serves
//! all connections, so what it sees has one order.
//!
//! # Round trips
//!
//! A request's *trip* is one more than the largest trip of which a reply had been passed to the client, on any
//! connection, when the first byte of the request's frame came. The *round trips* are the largest trip that was answered. So
//! requests that were sent together cost one, and a window that slides costs one each time it has moved by its length. An
//! interim reply counts as one. Sealed frames cannot be told apart: their replies are taken to come in order.
//!
//! A reply that the client left unread is not waited for. A client that closes with bytes unread resets the connection,
//! and of that one only the trips count whose reply was followed by another request.
//!
//! A client that writes a batch in pieces may be seen to send the last of them after the reply to the first. So on a busy
//! machine there may seem to be more trips than there are, never fewer: it is the least of several runs that is true.

mod conversation;
mod nfs;
mod relay;
mod smb;
mod stream;

pub use conversation::Tally;

use relay::Relay;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};

/// What is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// SMB 2 and 3 over TCP.
    Smb,
    /// Anything over ONC RPC: NFS, MOUNT, the port mapper.
    Rpc,
}

/// A relay that is running.
pub struct Tap {
    addresses: Vec<SocketAddr>,
    stop: UnixStream,
    thread: JoinHandle<Vec<Tally>>,
}

impl Tap {
    /// Listens on loopback once for each of the servers.
    pub fn new(protocol: Protocol, servers: &[SocketAddr]) -> io::Result<Tap> {
        let mut doors = Vec::new();
        for server in servers {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            listener.set_nonblocking(true)?;
            doors.push((listener, *server));
        }
        let addresses = doors.iter().map(|(listener, _)| listener.local_addr()).collect::<io::Result<_>>()?;
        let (stop, stopped) = UnixStream::pair()?;
        let thread = thread::spawn(move || Relay::new(protocol, doors, stopped).run());
        Ok(Tap { addresses, stop, thread })
    }

    /// Where the server `at` is reached through this.
    pub fn address(&self, at: usize) -> SocketAddr {
        self.addresses[at]
    }

    /// What was said on each connection, in the order in which they were made. Waits until all have ended.
    pub fn finish(self) -> Vec<Tally> {
        drop(self.stop);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::{Duration, Instant};

    /// A server that gives back what it is sent, and a tap before it.
    fn echo(protocol: Protocol) -> Tap {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tap = Tap::new(protocol, &[listener.local_addr().unwrap()]).unwrap();
        thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                let mut back = client.try_clone().unwrap();
                thread::spawn(move || io::copy(&mut client, &mut back));
            }
        });
        tap
    }

    #[test]
    fn every_byte_is_passed_in_order_when_both_sides_send_at_once() {
        let tap = echo(Protocol::Rpc);
        let mut stream = TcpStream::connect(tap.address(0)).unwrap();
        // One record, and more of it than all buffers between here and there hold.
        let mut bytes: Vec<u8> = (0..32 << 20).map(|at: u32| (at >> 8) as u8 ^ at as u8).collect();
        let mark = 1 << 31 | (bytes.len() as u32 - 4);
        bytes[..4].copy_from_slice(&mark.to_be_bytes());
        let mut writer = stream.try_clone().unwrap();
        let mut back = vec![0; bytes.len()];
        thread::scope(|scope| {
            scope.spawn(|| writer.write_all(&bytes).unwrap());
            stream.read_exact(&mut back).unwrap();
        });
        assert!(back == bytes);
        drop((stream, writer));
        let tally = Tally::sum(&tap.finish());
        assert_eq!((tally.bytes_sent, tally.bytes_received), (32 << 20, 32 << 20));
        assert_eq!((tally.connections, tally.frames_sent, tally.frames_received), (1, 1, 1));
    }

    /// An RPC call, or what the echo makes of it, which has its xid.
    const NULL: [u8; 12] = [0x80, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0, 0];

    #[test]
    fn a_reply_that_is_read_was_waited_for_and_one_that_is_not_was_not() {
        for (read, trips) in [(true, 2), (false, 1)] {
            let tap = echo(Protocol::Rpc);
            let mut stream = TcpStream::connect(tap.address(0)).unwrap();
            let mut reply = [0; NULL.len()];
            stream.write_all(&NULL).unwrap();
            stream.read_exact(&mut reply).unwrap();
            stream.write_all(&NULL).unwrap();
            let until = Instant::now() + Duration::from_secs(10);
            while stream.peek(&mut reply).unwrap() < reply.len() && Instant::now() < until {}
            if read {
                stream.read_exact(&mut reply).unwrap();
            }
            drop(stream);
            assert_eq!(Tally::sum(&tap.finish()).round_trips, trips);
        }
    }
}
