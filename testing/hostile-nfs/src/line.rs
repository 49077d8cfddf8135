//! What lies between the engine and the model: pieces, a cut, a bit that changes.

use crate::Model;

/// In what pieces bytes are given and taken.
#[derive(Clone, Copy, Debug)]
pub enum Chunks {
    /// As large as they can be.
    Whole,
    /// So many bytes at a time.
    Of(usize),
    /// Anything from 1 to `max`, by a seed that is not zero.
    Random {
        /// Where it starts.
        seed: u64,
        /// The largest piece.
        max: usize,
    },
}

impl Chunks {
    fn next(&mut self) -> usize {
        match self {
            Chunks::Whole => usize::MAX,
            Chunks::Of(len) => *len,
            Chunks::Random { seed, max } => {
                // xorshift64
                *seed ^= *seed << 13;
                *seed ^= *seed >> 7;
                *seed ^= *seed << 17;
                1 + (*seed % *max as u64) as usize
            }
        }
    }
}

/// What came of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// So many bytes, not none.
    Bytes(usize),
    /// Nothing, for as long as anybody cares to wait.
    Silence,
    /// The end of the connection.
    Closed,
}

/// The line.
#[derive(Debug)]
pub struct Line {
    /// Its other end.
    pub model: Model,
    /// In what pieces.
    pub chunks: Chunks,
    /// After how many bytes of the server, on all connections together, it breaks.
    pub cut: Option<usize>,
    /// Which of these bytes is changed, and which bit of it.
    pub flip: Option<(usize, u32)>,
    /// How many of them were given.
    pub given: usize,
}

impl Line {
    /// Takes some of these bytes and says how many.
    pub fn send(&mut self, bytes: &[u8]) -> usize {
        let len = bytes.len().min(self.chunks.next());
        self.model.input(&bytes[..len]);
        len
    }

    /// Puts bytes into the window, if there are any.
    pub fn receive(&mut self, window: &mut [u8]) -> Heard {
        let left = self.cut.map_or(usize::MAX, |cut| cut - self.given);
        let bytes = self.model.output_up_to(window.len().min(left).min(self.chunks.next()));
        let len = bytes.len();
        window[..len].copy_from_slice(bytes);
        if let Some((at, bit)) = self.flip
            && (self.given..self.given + len).contains(&at)
        {
            window[at - self.given] ^= 1 << bit;
        }
        self.given += len;
        match len {
            0 if left == 0 || self.model.over => Heard::Closed,
            0 => Heard::Silence,
            len => Heard::Bytes(len),
        }
    }
}
