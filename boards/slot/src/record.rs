//! What says that a slot has a whole file.

use sha2::{Digest, Sha256};

const MAGIC: [u8; 4] = *b"PWS1";
const CHECK_AT: usize = 4 + 4 + 4 + 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub sequence: u32,
    pub len: u32,
    pub sha256: [u8; 32],
}

impl Record {
    /// A multiple of what known flashes write at a time.
    pub const LEN: usize = 64;

    pub fn encode(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.len.to_le_bytes());
        bytes[12..CHECK_AT].copy_from_slice(&self.sha256);
        let check = Sha256::digest(&bytes[..CHECK_AT]);
        bytes[CHECK_AT..].copy_from_slice(&check[..Self::LEN - CHECK_AT]);
        bytes
    }

    /// `None` if it is none: erased, torn, or something else.
    pub fn decode(bytes: &[u8; Self::LEN]) -> Option<Record> {
        let word = |at: usize| bytes[at..].first_chunk().map(|word| u32::from_le_bytes(*word));
        let sha256 = *bytes[12..].first_chunk()?;
        let record = Record { sequence: word(4)?, len: word(8)?, sha256 };
        (record.encode() == *bytes).then_some(record)
    }
}
