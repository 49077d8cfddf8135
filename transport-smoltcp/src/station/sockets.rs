//! The memory of a station's sockets, and how much of it there must be.

use smoltcp::iface::{SocketHandle, SocketSet, SocketStorage};
use smoltcp::socket::dns::{self, DnsQuery};
use smoltcp::socket::tcp::{Socket, SocketBuffer};

/// What one TCP segment brings, in bytes: an Ethernet frame of 1500 without the heads of IPv4 and TCP.
pub const SEGMENT_LEN: usize = 1460;

/// A receive buffer has at least four segments: with fewer, a sender that lost one never sees the three repeated acknowledgments
/// after which it sends again at once (RFC 5681, section 3.2), and waits for its timer instead.
pub const RECEIVE_LEN_MIN: usize = 4 * SEGMENT_LEN;

/// The buffers of a station's connection, as large as is written here:
///
/// - `RX`, what came and was not looked at, is the window that the server sees. At least [`RECEIVE_LEN_MIN`], which is
///   checked when it is compiled; as much as comes in a round trip keeps the line busy. smoltcp never offers more than the
///   device takes in one burst (`max_burst_size` segments), so more than that is wasted.
/// - `TX`, what was not acknowledged: requests only. As much as the engine's `tx`, and a whole batch leaves at once.
///
/// Acknowledgments are not delayed, and small segments not held back: with a window this small the server would wait for them.
#[derive(Debug)]
pub struct Buffers<const RX: usize, const TX: usize> {
    rx: [u8; RX],
    tx: [u8; TX],
}

impl<const RX: usize, const TX: usize> Buffers<RX, TX> {
    /// To be lent to a station. All zeros, so a static of it takes no flash.
    pub const fn new() -> Self {
        const { assert!(RX >= RECEIVE_LEN_MIN, "the receive buffer of a TCP socket has four segments or more") };
        Buffers { rx: [0; RX], tx: [0; TX] }
    }
}

/// A station's sockets: TCP, DNS, DHCP.
#[derive(Debug)]
pub struct Sockets<'s> {
    entries: [SocketStorage<'s>; 3],
    queries: [Option<DnsQuery>; 1],
}

impl<'s> Sockets<'s> {
    /// To be lent to a station, once.
    pub const fn new() -> Self {
        Sockets { entries: [SocketStorage::EMPTY; 3], queries: [const { None }; 1] }
    }

    /// All but DHCP's, which not every station has.
    pub(super) fn lend<const RX: usize, const TX: usize>(
        &'s mut self,
        buffers: &'s mut Buffers<RX, TX>,
    ) -> (SocketSet<'s>, SocketHandle, SocketHandle) {
        let mut tcp =
            Socket::new(SocketBuffer::new(&mut buffers.rx[..]), SocketBuffer::new(&mut buffers.tx[..]));
        tcp.set_ack_delay(None);
        tcp.set_nagle_enabled(false);
        let dns = dns::Socket::new(&[], &mut self.queries[..]);
        let mut sockets = SocketSet::new(&mut self.entries[..]);
        let (tcp, dns) = (sockets.add(tcp), sockets.add(dns));
        (sockets, tcp, dns)
    }
}

impl<const RX: usize, const TX: usize> Default for Buffers<RX, TX> {
    fn default() -> Self {
        Self::new()
    }
}

impl Default for Sockets<'_> {
    fn default() -> Self {
        Self::new()
    }
}
