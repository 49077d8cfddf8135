//! A conversation played back to the engine: in other pieces, cut off, or with a byte changed.

use crate::conversation::{Conversation, Side};
use crate::{Heard, Link};

/// In what pieces bytes are given and taken.
#[derive(Clone, Copy, Debug)]
pub enum Chunks {
    /// As large as they can be.
    Whole,
    /// So many bytes at a time.
    Of(usize),
    /// Anything from 1 to `max`, by a seed.
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

/// The server's side of a conversation. What the server said after hearing so many bytes is said after so many bytes.
#[derive(Clone, Debug)]
pub struct Tape {
    /// What the client said.
    pub heard: Vec<u8>,
    /// How many bytes of the server were taken.
    pub taken: usize,
    server: Vec<u8>,
    cut: Option<usize>,
    chunks: Chunks,
    /// Once so many bytes were heard, the server has said so many.
    turns: Vec<(usize, usize)>,
}

impl Tape {
    /// From the beginning, in pieces as large as they can be.
    pub fn new(conversation: &Conversation) -> Tape {
        let mut turns = Vec::new();
        let (mut client, mut server) = (0, 0);
        for (side, run) in &conversation.runs {
            match side {
                Side::Client => client += run.len(),
                Side::Server => {
                    server += run.len();
                    turns.push((client, server));
                }
            }
        }
        let server = conversation.all(Side::Server);
        Tape { server, cut: None, chunks: Chunks::Whole, heard: Vec::new(), taken: 0, turns }
    }

    /// The same, but the server stops after so many bytes and closes. Otherwise it is silent after the last.
    #[must_use]
    pub fn cut(&self, at: usize) -> Tape {
        Tape { cut: Some(at), ..self.clone() }
    }

    /// The same with a bit of a byte changed.
    #[must_use]
    pub fn flipped(&self, at: usize, bit: u32) -> Tape {
        let mut tape = self.clone();
        tape.server[at] ^= 1 << bit;
        tape
    }

    /// The same in pieces.
    #[must_use]
    pub fn in_chunks(&self, chunks: Chunks) -> Tape {
        Tape { chunks, ..self.clone() }
    }

    /// How many bytes the server says in all.
    pub fn len(&self) -> usize {
        self.server.len()
    }

    /// Whether the server says nothing.
    pub fn is_empty(&self) -> bool {
        self.server.is_empty()
    }

    /// How many bytes the server has said by now.
    fn said(&self) -> usize {
        let due = self.turns.iter().rev().find(|(heard, _)| *heard <= self.heard.len());
        due.map_or(0, |(_, said)| *said)
    }
}

impl Link for Tape {
    fn send(&mut self, bytes: &[u8]) -> usize {
        let len = bytes.len().min(self.chunks.next());
        self.heard.extend_from_slice(&bytes[..len]);
        len
    }

    fn receive(&mut self, window: &mut [u8]) -> Heard {
        let end = self.said().min(self.cut.unwrap_or(usize::MAX));
        let len = window.len().min(end - self.taken).min(self.chunks.next());
        window[..len].copy_from_slice(&self.server[self.taken..][..len]);
        self.taken += len;
        match len {
            0 if self.cut == Some(self.taken) => Heard::Closed,
            0 => Heard::Silence,
            len => Heard::Bytes(len),
        }
    }
}
