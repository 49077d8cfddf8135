//! The link between the two: what it does to frames, and what it was seen to do.
//!
//! What the server says is taken apart into frames, by the marks in front of them, which SMB and RPC have alike; each may be
//! struck by one fault. What the client says is heard as it is: a model server stands for a server, and is no subject here.

use crate::dice::Dice;
use pagewire_line::{Heard, Link};
use std::collections::VecDeque;
use std::io::Read;

/// What happens to a frame of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A bit of it is another.
    Flipped {
        /// In which byte, counted from either end and round.
        byte: usize,
        /// Which.
        bit: u32,
    },
    /// So many bytes of it are noise.
    Garbled {
        /// From which byte on.
        byte: usize,
        /// How many.
        len: usize,
    },
    /// It ends so many bytes earlier, and its mark says so.
    Shortened(usize),
    /// So many bytes of its end are missing, and its mark does not tell.
    Torn(usize),
    /// It does not come.
    Lost,
    /// It comes twice.
    Doubled,
    /// It comes after the next one, if there is a next one before anybody has to wait for it.
    Overtaken,
    /// The frame so many before it comes again in its place, and then it.
    Replayed(usize),
    /// It comes so many milliseconds later.
    Late(u32),
    /// Its first bytes come one by one, with so many milliseconds before each.
    Trickling(u32),
    /// The connection ends within it, after so many bytes.
    Closed(usize),
}

impl Fault {
    /// Whether what comes has another content or length than what was sent, and nothing but a signature could tell.
    pub const fn garbles(&self) -> bool {
        matches!(self, Fault::Flipped { .. } | Fault::Garbled { .. } | Fault::Shortened(_) | Fault::Torn(_))
    }

    /// Any of them.
    pub fn draw(dice: &mut Dice) -> Fault {
        // Heads are short and data is long: half of what is struck is near the start.
        let byte = if dice.once_in(2) { dice.below(200) } else { dice.below(70_000) };
        match dice.below(14) {
            0..3 => Fault::Flipped { byte, bit: dice.below(8) as u32 },
            3 => Fault::Garbled { byte, len: 1 + dice.scaled(8) },
            4 => Fault::Shortened(1 + dice.scaled(12)),
            5 => Fault::Torn(1 + dice.scaled(12)),
            6 => Fault::Lost,
            7 => Fault::Doubled,
            8 => Fault::Overtaken,
            9 => Fault::Replayed(1 + dice.scaled(4)),
            10 | 11 => Fault::Late(dice.one_of(&[1, 999, 15_000, 29_999, 30_000, 90_000])),
            12 => Fault::Trickling(dice.one_of(&[10, 1000, 14_000, 60_000])),
            _ => Fault::Closed(dice.scaled(15)),
        }
    }
}

/// A fault, and the frame that it strikes, counted from 0 over all connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strike {
    /// Which frame.
    pub frame: usize,
    /// How.
    pub fault: Fault,
}

/// What is on its way.
#[derive(Debug)]
enum Coming {
    Bytes(VecDeque<u8>),
    Pause(u32),
    End,
}

/// A link that strikes frames of another and may break at a step.
#[derive(Debug)]
pub struct Noisy<L> {
    /// Its other end.
    pub end: L,
    /// How often a side has spoken or listened so far.
    pub steps: usize,
    /// The faults that have struck.
    pub struck: Vec<Fault>,
    /// What was said by both sides, in a number.
    pub digest: Digest,
    strikes: Vec<Strike>,
    /// From this step on there is no connection.
    cut: usize,
    /// Frames so far, the last few of which are kept.
    frames: usize,
    last: VecDeque<Vec<u8>>,
    /// Whether frames come in fragments.
    fragments: bool,
    /// A frame that is not whole.
    raw: Vec<u8>,
    overtaken: Option<Vec<u8>>,
    coming: VecDeque<Coming>,
    closed: bool,
}

/// How many frames can be replayed.
const KEPT: usize = 17;

impl<L: Link> Noisy<L> {
    /// One that breaks at the step `cut`, if so. The frames of RPC come in fragments, those of SMB do not.
    pub fn new(end: L, fragments: bool, strikes: Vec<Strike>, cut: Option<usize>) -> Self {
        Noisy {
            end,
            steps: 0,
            struck: Vec::new(),
            digest: Digest::default(),
            strikes,
            cut: cut.unwrap_or(usize::MAX),
            frames: 0,
            last: VecDeque::new(),
            fragments,
            raw: Vec::new(),
            overtaken: None,
            coming: VecDeque::new(),
            closed: false,
        }
    }

    /// Whether bytes that came are not those that were sent.
    pub fn has_garbled(&self) -> bool {
        self.struck.iter().any(Fault::garbles)
    }

    /// Whether the connection is broken by now.
    fn breaks(&mut self) -> bool {
        self.steps += 1;
        self.closed |= self.steps > self.cut;
        self.closed
    }

    fn comes(&mut self, bytes: Vec<u8>) {
        self.coming.push_back(Coming::Bytes(bytes.into()));
    }

    /// What was overtaken, if anything, comes now.
    fn comes_late(&mut self) {
        let late = self.overtaken.take();
        self.comes(late.unwrap_or_default());
    }

    /// Takes what the server says, frame by frame. What it says besides, if nothing.
    fn listen(&mut self) -> Option<Heard> {
        let mut buffer = [0; 16 << 10];
        let heard = loop {
            match self.end.receive(&mut buffer) {
                Heard::Bytes(len) => self.raw.extend(&buffer[..len]),
                heard => break heard,
            }
        };
        while let Some(frame) = self.next_frame() {
            self.passes(frame);
        }
        self.comes_late();
        // What the server began and did not end.
        let rest = std::mem::take(&mut self.raw);
        self.comes(rest);
        let nothing = |coming: &Coming| matches!(coming, Coming::Bytes(bytes) if bytes.is_empty());
        self.coming.iter().all(nothing).then_some(heard)
    }

    /// A whole frame with its mark, or its fragments with theirs.
    fn next_frame(&mut self) -> Option<Vec<u8>> {
        let mut len = 0;
        loop {
            let mark = u32::from_be_bytes(*self.raw.get(len..)?.first_chunk()?);
            // The highest byte is the type (NetBIOS) or says that a fragment is the last (RPC).
            len += 4 + (mark & 0x00FF_FFFF) as usize;
            if !self.fragments || mark >> 31 == 1 {
                return (len <= self.raw.len()).then(|| self.raw.drain(..len).collect());
            }
        }
    }

    fn passes(&mut self, frame: Vec<u8>) {
        let strike = self.strikes.iter().find(|strike| strike.frame == self.frames).copied();
        self.frames += 1;
        self.last.push_back(frame.clone());
        if self.last.len() > KEPT {
            self.last.pop_front();
        }
        match strike {
            Some(Strike { fault, .. }) => {
                self.struck.push(fault);
                self.strikes(fault, frame);
            }
            None => {
                self.comes(frame);
                self.comes_late();
            }
        }
    }

    fn strikes(&mut self, fault: Fault, mut frame: Vec<u8>) {
        let len = frame.len();
        match fault {
            Fault::Flipped { byte, bit } => frame[byte % len] ^= 1 << bit,
            Fault::Garbled { byte, len: count } => {
                let (mut dice, from) = (Dice(byte as u64), byte % len);
                frame[from..].iter_mut().take(count).for_each(|byte| *byte = dice.any() as u8);
            }
            Fault::Shortened(less) => {
                frame.truncate(4 + (len - 4).saturating_sub(less));
                let mark = (frame.len() as u32 - 4).to_be_bytes();
                frame[1..4].copy_from_slice(&mark[1..]);
            }
            Fault::Torn(less) => frame.truncate(len.saturating_sub(less)),
            Fault::Lost => return,
            Fault::Doubled => self.comes(frame.clone()),
            Fault::Overtaken => {
                self.comes_late();
                self.overtaken = Some(frame);
                return;
            }
            Fault::Replayed(before) => {
                let earlier = self.last.iter().rev().nth(before).cloned();
                self.comes(earlier.unwrap_or_default());
            }
            Fault::Late(ms) => self.coming.push_back(Coming::Pause(ms)),
            Fault::Trickling(ms) => {
                for byte in frame.drain(..len.min(16)) {
                    self.coming.push_back(Coming::Pause(ms));
                    self.coming.push_back(Coming::Bytes([byte].into()));
                }
            }
            Fault::Closed(after) => {
                frame.truncate(after);
                self.comes(frame);
                return self.coming.push_back(Coming::End);
            }
        }
        self.comes(frame);
    }
}

impl<L: Link> Link for Noisy<L> {
    fn send(&mut self, bytes: &[u8]) -> usize {
        self.digest.take(bytes);
        if self.breaks() { bytes.len() } else { self.end.send(bytes) }
    }

    fn receive(&mut self, window: &mut [u8]) -> Heard {
        if self.breaks() {
            return Heard::Closed;
        }
        loop {
            match self.coming.pop_front() {
                Some(Coming::Bytes(bytes)) if bytes.is_empty() => {}
                Some(Coming::Bytes(mut bytes)) => {
                    let len = bytes.read(window).expect("memory is always read");
                    self.digest.take(&window[..len]);
                    self.coming.push_front(Coming::Bytes(bytes));
                    return Heard::Bytes(len);
                }
                Some(Coming::Pause(ms)) => return Heard::Later(ms),
                Some(Coming::End) => {
                    self.closed = true;
                    return Heard::Closed;
                }
                None => {
                    if let Some(heard) = self.listen() {
                        return heard;
                    }
                }
            }
        }
    }

    fn connect(&mut self, port: u16) -> bool {
        self.raw.clear();
        self.coming.clear();
        self.overtaken = None;
        !self.breaks() && self.end.connect(port)
    }
}

/// FNV-1a over what was said, so that two runs can be told to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(pub u64);

impl Default for Digest {
    fn default() -> Self {
        Digest(0xCBF2_9CE4_8422_2325)
    }
}

impl Digest {
    /// Some more.
    pub fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
}
