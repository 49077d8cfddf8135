//! How much memory the command lends to the engine: the numbers, and the memory itself.

use super::failure::{Cause, Failure};
use pagewire::inflight::Slot;
use pagewire::{Pages, Sink, Storage};

/// Requests not sent yet: as many reads as are in flight go out in one write, about 120 bytes each; and a
/// path of 8000 characters.
pub const TX_LEN: usize = 16 * 1024;

/// Heads of replies, and a batch of a listing: 64 KiB is what one credit pays for.
pub const RX_LEN: usize = 64 * 1024 + 1024;

/// The same for what is shown: a directory of 1000 names comes in one reply, where the server sends as much.
pub const SHOW_RX_LEN: usize = 256 * 1024 + 1024;

/// The same where exports are listed, which come in one reply: 400 exports to 500 hosts each, with 20 bytes a host.
pub const EXPORTS_RX_LEN: usize = 4 << 20;

/// Reads in flight unless the user says otherwise. Measured on loopback: with more, the pages no longer stay in a
/// processor's cache of 1 MiB, and every byte costs more. A network far away is not kept busy by so few.
pub const IN_FLIGHT: u16 = 4;

/// Bytes of a read unless the user says otherwise. The pages take [`IN_FLIGHT`] times as much.
pub const READ_LEN: u32 = 256 * 1024;

/// Requests in flight for each of these reads: where a server reads 64 KiB at once, the same pages take more requests, and so many
/// small files are asked for side by side.
const SLOTS_EACH: u16 = 4;

/// Files asked for side by side, at most: more of them would only take processor time.
const LANES_MAX: usize = 128;

/// How many files are asked for side by side.
pub fn lanes(in_flight: u16) -> usize {
    slots(in_flight).min(LANES_MAX)
}

/// How many requests are in flight at most.
fn slots(in_flight: u16) -> usize {
    usize::from(in_flight) * usize::from(SLOTS_EACH)
}

/// Memory for the engine.
pub struct Memory {
    /// Bytes of a read.
    pub read_len: u32,
    tx: Vec<u8>,
    rx: Vec<u8>,
    slots: Vec<Slot>,
}

impl Memory {
    pub fn new(in_flight: u16, rx_len: usize) -> Result<Memory, Failure> {
        let slots = filled(Slot::FREE, slots(in_flight))?;
        Ok(Memory { read_len: READ_LEN, tx: filled(0, TX_LEN)?, rx: filled(0, rx_len)?, slots })
    }

    pub fn lend(&mut self) -> Storage<'_> {
        Storage { tx: &mut self.tx, rx: &mut self.rx, slots: &mut self.slots }
    }
}

/// The page size is a number here and a type in the engine: one arm for each.
macro_rules! pages {
    ($page_len:expr, $bytes:expr, [$($size:literal)+]) => {
        match $page_len {
            $($size => Some(Box::new(Pages::<$size>($bytes.as_chunks_mut().0)) as Box<dyn Sink + '_>),)+
            _ => None,
        }
    };
}

/// `bytes` as pages of `page_len` bytes. `None` if there are no pages of that length.
pub fn pages(page_len: usize, bytes: &mut [u8]) -> Option<Box<dyn Sink + '_>> {
    pages!(page_len, bytes, [512 1024 2048 4096 8192 16384 32768 65536 131072 262144 524288 1048576])
}

/// The memory of a transfer: whole pages, and never less than two.
pub fn ring(page_len: usize, read_len: u32, in_flight: u16) -> Result<Vec<u8>, Failure> {
    let len = (read_len as usize).saturating_mul(in_flight.into());
    let len = len.max(page_len * 2);
    filled(0, len.checked_next_multiple_of(page_len).unwrap_or(len))
}

/// The start of a file is read together with opening it: as much as one credit pays for, and no more than a read.
const HEAD_LEN: u32 = 64 * 1024;

/// The pages that it is read into.
pub const HEAD_PAGE_LEN: usize = 512;

/// The pages that one takes.
pub fn head_pages(read_len: u32) -> usize {
    (read_len.min(HEAD_LEN) as usize).div_ceil(HEAD_PAGE_LEN)
}

/// The memory for so many files at once.
pub fn heads(read_len: u32, files: usize) -> Result<Vec<[u8; HEAD_PAGE_LEN]>, Failure> {
    filled([0; HEAD_PAGE_LEN], head_pages(read_len).saturating_mul(files))
}

/// Memory, unless there is not so much of it.
fn filled<T: Clone>(value: T, len: usize) -> Result<Vec<T>, Failure> {
    let mut memory = Vec::new();
    if memory.try_reserve_exact(len).is_err() {
        let bytes = len.saturating_mul(size_of::<T>());
        return Err(Failure::new("lending memory", Cause::Memory(bytes)));
    }
    memory.resize(len, value);
    Ok(memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_pages_of_every_size_from_512_to_1m() {
        for bits in 9..=20 {
            let mut ring = ring(1 << bits, READ_LEN, IN_FLIGHT).unwrap();
            let len = (1 << 20).max(2 << bits);
            let pages = pages(1 << bits, &mut ring).unwrap();
            assert_eq!((pages.page_len(), pages.len()), (1 << bits, len));
        }
        for size in [0, 256, 513, 2 << 20] {
            assert!(pages(size, &mut []).is_none());
        }
    }

    #[test]
    fn a_ring_is_of_whole_pages_and_of_two_at_least() {
        assert_eq!(ring(1 << 20, 64 << 10, 3).unwrap().len(), 2 << 20);
        assert_eq!(ring(512 << 10, 192 << 10, 7).unwrap().len(), 1536 << 10);
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        let failure = filled(0u8, isize::MAX as usize).unwrap_err().to_string();
        assert!(failure.contains("bytes of memory") && failure.contains("--in-flight"), "{failure}");
    }
}
