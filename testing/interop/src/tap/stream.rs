//! One direction of a connection, cut into frames and messages as the bytes come.

use super::{Protocol, nfs, smb};

/// The most that is looked at of a message.
const HEAD_LEN: usize = 4096;
const MARK_LEN: usize = 4;

/// What bytes are the beginning, the middle and the end of.
#[derive(Debug, PartialEq, Eq)]
pub enum Part {
    Begin,
    Message(Message),
    End,
}

/// One request or reply.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// What a reply has in common with its request. `None` where it cannot be seen.
    pub id: Option<u64>,
    /// Whether the final reply is still to come.
    pub interim: bool,
    /// What a request asks for: a command, a procedure, or the operations of a COMPOUND behind its name.
    pub names: Vec<&'static str>,
}

pub struct Stream {
    protocol: Protocol,
    mark: [u8; MARK_LEN],
    marked: usize,
    /// Bytes of the fragment that are still to come, and whether it is the frame's last.
    left: usize,
    last: bool,
    /// How many bytes of the frame have come, fragments put together.
    at: usize,
    head: [u8; HEAD_LEN],
    filled: usize,
    /// Where in the frame the head of the next message begins, if there is one.
    head_at: Option<usize>,
}

impl Stream {
    pub fn new(protocol: Protocol) -> Stream {
        Stream {
            protocol,
            mark: [0; MARK_LEN],
            marked: 0,
            left: 0,
            last: true,
            at: 0,
            head: [0; HEAD_LEN],
            filled: 0,
            head_at: None,
        }
    }

    /// Takes bytes and shows what they complete to `each`.
    pub fn push(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Part)) {
        while let Some(first) = bytes.first() {
            let mut len = 1;
            if self.marked < MARK_LEN {
                self.take_mark(*first, each);
            } else {
                len = bytes.len().min(self.left);
                self.take(&bytes[..len], each);
                self.left -= len;
            }
            bytes = &bytes[len..];
            if self.marked == MARK_LEN && self.left == 0 {
                self.end_of_fragment(each);
            }
        }
    }

    fn take_mark(&mut self, byte: u8, each: &mut dyn FnMut(Part)) {
        if self.marked == 0 && self.last {
            (self.at, self.filled, self.head_at) = (0, 0, Some(0));
            each(Part::Begin);
        }
        self.mark[self.marked] = byte;
        self.marked += 1;
        let mark = u32::from_be_bytes(self.mark);
        (self.last, self.left) = match self.protocol {
            _ if self.marked < MARK_LEN => (false, 0),
            Protocol::Smb => (true, (mark & 0x00FF_FFFF) as usize),
            Protocol::Rpc => (mark >> 31 == 1, (mark & 0x7FFF_FFFF) as usize),
        };
    }

    fn end_of_fragment(&mut self, each: &mut dyn FnMut(Part)) {
        self.marked = 0;
        if self.last {
            if self.filled > 0 {
                self.end_of_head(each);
            }
            each(Part::End);
        }
    }

    /// Bytes of a frame: what belongs to a head is kept until the head is complete.
    fn take(&mut self, bytes: &[u8], each: &mut dyn FnMut(Part)) {
        let end = self.at + bytes.len();
        let want = match self.protocol {
            Protocol::Smb => smb::HEADER_LEN,
            Protocol::Rpc => HEAD_LEN,
        };
        while let Some(from) = self.head_at.map(|head| head + self.filled).filter(|from| *from < end) {
            let from = &bytes[from - self.at..];
            let len = from.len().min(want - self.filled);
            self.head[self.filled..][..len].copy_from_slice(&from[..len]);
            self.filled += len;
            if self.filled == want {
                self.end_of_head(each);
            }
        }
        self.at = end;
    }

    fn end_of_head(&mut self, each: &mut dyn FnMut(Part)) {
        let head = &self.head[..self.filled];
        let (message, next) = match self.protocol {
            Protocol::Smb => smb::message(head),
            Protocol::Rpc => (nfs::message(head), None),
        };
        each(Part::Message(message));
        self.filled = 0;
        self.head_at = self.head_at.zip(next).map(|(at, next)| at + next);
    }
}
