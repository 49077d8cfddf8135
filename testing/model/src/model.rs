//! The public face: framing in, frames out.

use crate::arrange::Message;
use crate::connection::Connection;
use crate::{Command, Config, Lie, Record, Tree};

/// Bytes after which the model takes a frame for garbage and closes.
const FRAME_MAX: usize = 0x00FF_FFFF;

/// One frame on its way out, without its NetBIOS header.
pub(crate) struct Frame {
    pub(crate) bytes: Vec<u8>,
    /// Whether it holds the reply to a READ.
    pub(crate) read: bool,
}

/// A server with one connection.
///
/// The loop of a test: give [`input`](Model::input) what the client sent, give the client what
/// [`output`](Model::output) returns, stop when both are silent.
pub struct Model {
    connection: Connection,
    received: Vec<u8>,
    /// Frames whose order is still open.
    frames: Vec<Frame>,
    out: Vec<u8>,
    /// Bytes that ever went into `out`.
    sent: u64,
}

impl Model {
    /// A server waiting for a NEGOTIATE.
    pub fn new(config: Config) -> Self {
        Model {
            connection: Connection::new(config),
            received: Vec::new(),
            frames: Vec::new(),
            out: Vec::new(),
            sent: 0,
        }
    }

    /// Takes bytes of the client, in any chunking. Empty input and input after the end do nothing.
    pub fn input(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
        while let Some(frame) = self.next_frame() {
            let frames = self.connection.receive(&frame);
            self.frames.extend(frames);
        }
    }

    /// All bytes for the client; empty when there is nothing to say.
    pub fn output(&mut self) -> Vec<u8> {
        self.output_up_to(usize::MAX)
    }

    /// At most `len` bytes for the client.
    pub fn output_up_to(&mut self, len: usize) -> Vec<u8> {
        self.flush();
        let rest = self.out.split_off(len.min(self.out.len()));
        std::mem::replace(&mut self.out, rest)
    }

    /// Whether the server hung up: nothing comes after what [`output`](Model::output) still returns.
    pub fn is_closed(&self) -> bool {
        self.connection.closed
    }

    /// How often `command` was requested.
    pub fn requests(&self, command: Command) -> usize {
        self.log().iter().filter(|record| record.command == command).count()
    }

    /// Every request so far, in order.
    pub fn log(&self) -> &[Record] {
        &self.connection.account.log
    }

    /// Frames received.
    pub fn frames_in(&self) -> usize {
        self.connection.account.frames_in
    }

    /// Frames handed to [`output`](Model::output), keepalives not counted.
    pub fn frames_out(&self) -> usize {
        self.connection.account.frames_out
    }

    /// Handles open now.
    pub fn open_handles(&self) -> usize {
        self.connection.opens.len()
    }

    /// Sessions authenticated and not logged off.
    pub fn sessions(&self) -> usize {
        self.connection.sessions.values().filter(|session| session.valid).count()
    }

    /// Credits the client holds now.
    pub fn credits(&self) -> usize {
        self.connection.window.available()
    }

    /// Acknowledgments of oplock breaks received.
    pub fn oplock_acknowledgments(&self) -> usize {
        self.connection.account.oplock_acknowledgments
    }

    /// Acknowledgments of lease breaks received.
    pub fn lease_acknowledgments(&self) -> usize {
        self.connection.account.lease_acknowledgments
    }

    /// Another client changes what is in the share. Who has something open is told nothing.
    pub fn change(&mut self, change: impl FnOnce(Tree) -> Tree) {
        let tree = &mut self.connection.config.tree;
        *tree = change(std::mem::take(tree));
    }

    /// Another client renames a file. What has it open goes with it, and is told nothing.
    pub fn rename(&mut self, from: &str, to: &str) {
        self.connection.config.tree.rename(from, to);
        let opens = self.connection.opens.values_mut();
        opens.filter(|open| open.path == from).for_each(|open| open.path = to.to_owned());
    }

    /// The leases of who has the file open are broken, down to reading.
    pub fn break_leases(&mut self, path: &str) {
        let connection = &mut self.connection;
        let files = connection.opens.iter().filter(|(_, open)| open.path == path).map(|(file, _)| *file);
        for file in files.collect::<Vec<_>>() {
            let Some(reply) = connection.lease_break(file) else { continue };
            self.frames.push(connection.assemble(Message::new(vec![reply], &None)));
        }
    }

    /// Whether the last authentication carried a message integrity code (which was right).
    pub fn mic_verified(&self) -> bool {
        self.connection.account.mic_verified
    }

    fn next_frame(&mut self) -> Option<Vec<u8>> {
        if self.is_closed() || self.received.len() < 4 {
            return None;
        }
        let len = u32::from_be_bytes(self.received[..4].try_into().expect("four bytes")) as usize;
        if len > FRAME_MAX {
            self.connection.closed = true;
            return None;
        }
        if self.received.len() - 4 < len {
            return None;
        }
        let rest = self.received.split_off(4 + len);
        let frame = std::mem::replace(&mut self.received, rest);
        Some(frame[4..].to_vec())
    }

    /// Settles the order of the frames and gives them their headers.
    fn flush(&mut self) {
        let mut frames = std::mem::take(&mut self.frames);
        if self.lies(Lie::ReverseReads) {
            reverse_reads(&mut frames);
        }
        for frame in frames {
            self.connection.account.frames_out += 1;
            self.emit(&frame);
            if self.lies(Lie::Replayed { nth: self.connection.account.frames_out }) {
                self.emit(&frame);
            }
        }
    }

    fn emit(&mut self, frame: &Frame) {
        let keepalives = match self.lies(Lie::KeepAlivesForEver) && frame.read {
            true => 2000,
            false => usize::from(self.lies(Lie::KeepAlives)),
        };
        let announced = match self.lies(Lie::FrameTooLong) && frame.read {
            true => FRAME_MAX as u32,
            false => frame.bytes.len() as u32,
        };
        let stream_protocol = self.connection.lie(|lie| match *lie {
            Lie::StreamProtocol(byte) if frame.read => Some(byte),
            _ => None,
        });
        let mut mark = announced.to_be_bytes();
        mark[0] = stream_protocol.unwrap_or(mark[0]);
        let bytes = [&[0x85, 0, 0, 0].repeat(keepalives)[..], &mark, &frame.bytes].concat();
        let room = self.connection.config.lies.iter().find_map(|lie| match lie {
            Lie::TruncateAt(at) => Some(at - self.sent),
            _ => None,
        });
        let len = room.unwrap_or(u64::MAX).min(bytes.len() as u64) as usize;
        self.connection.closed |= room.is_some_and(|room| room == len as u64);
        self.sent += len as u64;
        self.out.extend_from_slice(&bytes[..len]);
    }

    fn lies(&self, lie: Lie) -> bool {
        self.connection.lies(lie)
    }
}

/// Frames with READ replies change places with each other, the rest stay where they are.
fn reverse_reads(frames: &mut [Frame]) {
    let reads: Vec<usize> = (0..frames.len()).filter(|&i| frames[i].read).collect();
    for (&a, &b) in reads.iter().zip(reads.iter().rev()) {
        if a < b {
            frames.swap(a, b);
        }
    }
}
