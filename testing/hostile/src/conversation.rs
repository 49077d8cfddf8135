//! What two sides said to each other, in memory and in a file.
//!
//! A file is the line `pagewire conversation 1` and then runs of bytes, each with one byte for who said it (`C` the client,
//! `S` the server) and its length as four bytes, little-endian. Two runs of one side never follow each other, so what a
//! side says was said after everything that stands before it.

use crate::{Heard, Link};

const TITLE: &[u8] = b"pagewire conversation 1\n";

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Who asks.
    Client,
    /// Who answers.
    Server,
}

/// All that was said, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    /// The runs. Two of one side never follow each other.
    pub runs: Vec<(Side, Vec<u8>)>,
}

impl Conversation {
    /// Adds what a side says next.
    pub fn say(&mut self, side: Side, bytes: &[u8]) {
        match self.runs.last_mut() {
            Some((last, run)) if *last == side => run.extend_from_slice(bytes),
            _ if bytes.is_empty() => {}
            _ => self.runs.push((side, bytes.to_vec())),
        }
    }

    /// All bytes of one side.
    pub fn all(&self, side: Side) -> Vec<u8> {
        self.runs.iter().filter(|(by, _)| *by == side).flat_map(|(_, run)| run.iter().copied()).collect()
    }

    /// As a file has it.
    pub fn encode(&self) -> Vec<u8> {
        let mut file = TITLE.to_vec();
        for (side, run) in &self.runs {
            file.push(if *side == Side::Client { b'C' } else { b'S' });
            file.extend((run.len() as u32).to_le_bytes());
            file.extend(run);
        }
        file
    }

    /// From a file; `None` if it is none.
    pub fn decode(file: &[u8]) -> Option<Conversation> {
        let mut rest = file.strip_prefix(TITLE)?;
        let mut conversation = Conversation::default();
        while let Some((side, after)) = rest.split_first() {
            let side = match side {
                b'C' => Side::Client,
                b'S' => Side::Server,
                _ => return None,
            };
            let (len, after) = after.split_first_chunk()?;
            let (run, after) = after.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            conversation.say(side, run);
            rest = after;
        }
        Some(conversation)
    }
}

/// A link that remembers what was said over another.
pub struct Recorder<L> {
    link: L,
    said: Conversation,
}

impl<L> Recorder<L> {
    /// Nothing was said yet.
    pub fn new(link: L) -> Self {
        Recorder { link, said: Conversation::default() }
    }

    /// The link, and what was said over it.
    pub fn end(self) -> (L, Conversation) {
        (self.link, self.said)
    }
}

impl<L: Link> Link for Recorder<L> {
    fn send(&mut self, bytes: &[u8]) -> usize {
        let len = self.link.send(bytes);
        self.said.say(Side::Client, &bytes[..len]);
        len
    }

    fn receive(&mut self, window: &mut [u8]) -> Heard {
        let heard = self.link.receive(window);
        if let Heard::Bytes(len) = heard {
            self.said.say(Side::Server, &window[..len]);
        }
        heard
    }

    fn connect(&mut self, port: u16) -> bool {
        self.link.connect(port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written_and_nothing_less_is() {
        let mut said = Conversation::default();
        for (side, bytes) in
            [(Side::Client, "ask"), (Side::Server, "ans"), (Side::Server, "wer"), (Side::Client, "")]
        {
            said.say(side, bytes.as_bytes());
        }
        assert_eq!(said.runs, [(Side::Client, b"ask".to_vec()), (Side::Server, b"answer".to_vec())]);
        let file = said.encode();
        assert_eq!(Conversation::decode(&file), Some(said));
        let between = [TITLE.len(), TITLE.len() + 8];
        for len in (0..file.len()).filter(|len| !between.contains(len)) {
            assert_eq!(Conversation::decode(&file[..len]), None, "{len} bytes");
        }
    }
}
