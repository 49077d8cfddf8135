//! What a connection has cost so far.

/// Counts since the client was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Counters {
    /// Requests sent, each member of a chain counted.
    pub requests: u64,
    /// Final replies received. An interim reply is not counted.
    pub responses: u64,
    /// How often the client had to wait for a reply before it could send what came next: a request's
    /// trip is one more than the largest trip of which the client had a reply (an interim one too) when it was encoded, and this is the
    /// largest trip that was answered. It does not depend on how the bytes were cut or timed.
    pub round_trips: u32,
    /// Bytes handed to the transport, framing included.
    pub bytes_sent: u64,
    /// Bytes taken from the transport, framing included.
    pub bytes_received: u64,
    /// Bytes of files among them that arrived in pages.
    pub file_bytes: u64,
    /// Bytes of files that did not have to come, because they are in holes.
    pub hole_bytes: u64,
    /// The most requests that were in flight at one time.
    pub max_in_flight: usize,
}
