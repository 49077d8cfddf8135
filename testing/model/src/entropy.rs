//! Bytes that look random and are the same in every run.

use sha2::{Digest, Sha256};

pub(crate) struct Entropy {
    seed: [u8; 32],
    drawn: u64,
}

impl Entropy {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Entropy { seed, drawn: 0 }
    }

    pub(crate) fn draw(&mut self) -> [u8; 32] {
        self.drawn += 1;
        Sha256::new().chain_update(self.seed).chain_update(self.drawn.to_le_bytes()).finalize().into()
    }

    pub(crate) fn draw_u64(&mut self) -> u64 {
        u64::from_le_bytes(self.draw()[..8].try_into().expect("eight of 32 bytes"))
    }
}
