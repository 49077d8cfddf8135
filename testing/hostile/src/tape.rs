//! A conversation played back to the engine.

use crate::conversation::{Conversation, Side};
use crate::{Heard, Link};

/// The server's side of a conversation. What the server said after hearing so many bytes is said after so many bytes.
#[derive(Clone, Debug)]
pub struct Tape {
    /// What the client said.
    pub heard: Vec<u8>,
    /// How many bytes of the server were taken.
    pub taken: usize,
    server: Vec<u8>,
    /// Once so many bytes were heard, the server has said so many.
    turns: Vec<(usize, usize)>,
}

impl Tape {
    /// From the beginning. The server is silent after its last byte.
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
        Tape { server, heard: Vec::new(), taken: 0, turns }
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
        self.heard.extend_from_slice(bytes);
        bytes.len()
    }

    fn receive(&mut self, window: &mut [u8]) -> Heard {
        let len = window.len().min(self.said() - self.taken);
        window[..len].copy_from_slice(&self.server[self.taken..][..len]);
        self.taken += len;
        match len {
            0 => Heard::Silence,
            len => Heard::Bytes(len),
        }
    }
}
