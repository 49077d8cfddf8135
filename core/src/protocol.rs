//! The seam between the engine and what is spoken on the wire.
//!
//! The shared rooms know only these words. A protocol encodes an [`Ask`] into requests, tells where the bytes of
//! a frame belong ([`Head`]), and says what a verified reply means ([`Answer`]).

use crate::attributes::{Attributes, Name, Space, Version};
use crate::compound::Cost;
use crate::error::Error;
use crate::holes::HoleList;
use crate::inflight::{Inflight, Slot};
use crate::outgoing::Outbox;
use crate::plan::Limits;
use crate::segment::{Extent, Segment};
use core::fmt;

/// What an operation wants. A path is relative to the share or export, with `/` between names; empty is its root.
#[derive(Clone, Copy, Debug)]
pub enum Ask<'p, H> {
    /// Everything from the first message to a usable share. Every other ask does the same first where it is not done yet, and
    /// if it can be together with what is asked. A refusal of who asks (SMB) stays: it is the answer to every later ask.
    Connect,
    /// A handle for reading a file, or for nothing but its attributes where it is a directory.
    Open {
        /// The file.
        path: &'p str,
        /// So many bytes of its start are wanted with it, if the protocol can bring them together; they are asked for by
        /// a slot with that extent. 0 is none.
        first: u32,
    },
    /// Bytes of an open file.
    Read {
        /// What Open gave.
        handle: H,
        /// Not empty, and within [`Protocol::limits`].
        extent: Extent,
        /// What Open said of it: a protocol whose replies can tell holes asks for such a reply.
        sparse: bool,
    },
    /// The entries of a directory, as many replies as it takes.
    List {
        /// The directory.
        path: &'p str,
    },
    /// The attributes of a file or directory.
    Stat {
        /// The file or directory.
        path: &'p str,
        /// The space of the file system that it is on is wanted with them, if the protocol can bring both together.
        space: bool,
    },
    /// The space of the file system that a path is on.
    Statfs {
        /// Any path on it.
        path: &'p str,
    },
    /// What of an open file is data and what is a hole. Asked again from where the last reply ended, and at last with
    /// nothing left to be told. `Complete` before that: the protocol or the server cannot say.
    Map {
        /// What Open gave.
        handle: H,
        /// What Open said of it.
        sparse: bool,
        /// Where what is not known starts.
        from: u64,
        /// Where the file ends, not before `from`.
        end: u64,
    },
    /// The attributes of an open file, as they are now.
    Look {
        /// What Open gave.
        handle: H,
    },
    /// A handle is of no more use. Nobody waits for the reply.
    Close {
        /// What Open gave.
        handle: H,
    },
    /// The client is still there. Nothing is connected for it.
    Keepalive,
    /// The server need remember nothing of this client any more.
    Disconnect,
}

/// What came of an ask.
// Its tag is a word, as that of an error beside it in a result is: so both are copied in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Progress {
    /// Something was encoded. Ask again: there may be more.
    Sent,
    /// Nothing can be sent before a reply comes.
    Wait,
    /// Nothing is left to be sent.
    Complete,
    /// A connection to this port is needed first, in place of the one there is. Ask again when it is there. Said only while
    /// no reply is awaited ([`Outbox::is_quiet`]).
    Connect(u16),
}

/// What stands in front of the bytes of a frame, or of a fragment of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// How many bytes follow. A frame of 0 bytes is one without content.
    pub len: u32,
    /// Whether the frame ends with them.
    pub last: bool,
}

/// What of a frame has not arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Bytes up to the next mark.
    pub len: u32,
    /// Whether the frame ends there.
    pub last: bool,
}

/// An open file.
#[derive(Clone, Copy, Debug)]
pub struct File<H> {
    /// The server's name for it.
    pub handle: H,
    /// As they were when it was opened.
    pub attributes: Attributes,
}

/// What a reply means.
// Its tag is a word. The compiler would take a number of 64 bits for it, as the attributes have some.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub enum Answer<H> {
    /// Part of a chain and no result of its own, or one step of several.
    Nothing,
    /// Not the final reply.
    Interim,
    /// The result of Open.
    Opened(File<H>),
    /// File data, as much as the slot's landed data says.
    Data,
    /// The file ends at or before the start of the slot's extent.
    EndOfFile,
    /// Nothing, and the same is to be asked again: the protocol will do it in another way, or after a pause
    /// ([`Outbox::pause`]).
    Again,
    /// Entries of a directory at `start` in the message, `len` bytes.
    Entries {
        /// Where they start.
        start: usize,
        /// How many bytes they take.
        len: usize,
    },
    /// Ranges of data at `start` in the message, `len` bytes: none is empty or starts before the end of the one before it.
    /// All else up to `known` is a hole.
    Ranges {
        /// Where they start.
        start: usize,
        /// How many bytes they take.
        len: usize,
        /// Up to where in the file the reply tells.
        known: u64,
    },
    /// Of a map: all up to `known` is a hole, or all of it is data.
    Run {
        /// Up to where in the file the reply tells.
        known: u64,
        /// Which.
        hole: bool,
    },
    /// The result of Stat or Look.
    Attributes(Attributes),
    /// The result of Statfs.
    Space(Space),
    /// The result of Stat where the space was wanted too, if one reply brings both.
    Both(Attributes, Space),
}

/// What the bytes of a head say about where the next bytes belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// The head is this long in all; it is shown again when it is.
    Need(usize),
    /// These bytes are done with and need not be kept (the envelope of an encryption, say); a head follows.
    Forget,
    /// The head is the whole message, or all of it that is not in segments. `slot` is `None` for a message that no request asked for.
    Message {
        /// Who asked.
        slot: Option<usize>,
        /// Bytes that follow and mean nothing.
        pad: u32,
    },
    /// The head is the whole message but for file data, which follows it and belongs at the start of the slot's extent.
    Data {
        /// Who asked.
        slot: usize,
        /// Bytes before the data that mean nothing.
        gap: u32,
        /// Bytes of data, no more than the slot's extent has.
        len: u32,
        /// Bytes after the data that mean nothing.
        pad: u32,
    },
    /// The head is done with and need not be kept: a part of a message whose beginning was a `Message` before.
    Segment {
        /// Who asked.
        slot: usize,
        /// What it brings of the slot's extent, from where the segments before it have ended. Data follows the head.
        segment: Segment,
        /// Bytes before the data that mean nothing.
        gap: u32,
        /// Bytes after the data that mean nothing.
        pad: u32,
    },
}

/// A verified reply.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'m> {
    /// The request.
    pub slot: Slot,
    /// Head and everything else that is not file data.
    pub message: &'m [u8],
    /// How much of the slot's extent it has brought.
    pub brought: u32,
}

/// A symbolic link that a path ran into and that the server leaves to the client to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Link<'f> {
    /// How many bytes of the path lead to it, itself included. What follows them is not looked at yet.
    pub end: usize,
    /// Where it points, as the server says it: from the directory that it is in, or from a root that only the server's
    /// side knows.
    pub target: Name<'f>,
}

/// Where an entry of a listing lies, and what it says.
#[derive(Clone, Copy, Debug)]
pub struct EntryAt {
    /// Where its name starts, from the start of the entries.
    pub name_start: usize,
    /// How many bytes its name takes.
    pub name_len: usize,
    /// How the name is written.
    pub encoding: crate::attributes::Encoding,
    /// Its attributes, as far as a listing brings them.
    pub attributes: Attributes,
    /// Where the next entry starts, or `None` after the last one.
    pub next: Option<usize>,
}

/// A range of a map that is data, in the server's words.
#[derive(Clone, Copy, Debug)]
pub struct RangeAt {
    /// Where in the file it starts.
    pub offset: u64,
    /// How many bytes it has.
    pub len: u64,
    /// Where the next range starts, from the start of the ranges, or `None` after the last one.
    pub next: Option<usize>,
}

/// What the engine asks of a protocol. All methods are pure but for the protocol's own state.
pub trait Protocol {
    /// What an open file is called on the wire.
    type Handle: Copy + fmt::Debug;
    /// Where a call of several messages stands. Kept in the operation, so that dropping it is enough to forget it.
    type Stage: Copy + fmt::Debug + Default;
    /// Where a stream keeps the holes before it: `[Hole; HOLES_MAX]`, or `[Hole; 0]` of a protocol that can tell of none.
    type Holes: HoleList;

    /// The least memory with which this protocol works at all.
    fn need(&self) -> Cost;

    /// What a 4-byte mark says.
    fn mark(&self, mark: [u8; 4]) -> Result<Mark, Error>;

    /// How many bytes of a head to collect before it is looked at for the first time: as many as every head has that may
    /// stand here, when `left` of the frame is still to come.
    fn head_len(&self, left: Left) -> usize;

    /// Sees every byte after the mark once, in order, and may change them in place (decryption). A protocol that
    /// verifies nothing leaves it and the two ends as they are.
    fn absorb(&mut self, _bytes: &mut [u8]) {}

    /// Says what follows a head of which `head` has arrived, and what `left` of the frame is still to come.
    fn head(&mut self, head: &[u8], left: Left, inflight: &Inflight<'_>) -> Result<Head, Error>;

    /// A head with all that belongs to it has arrived.
    fn part_end(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// The frame has arrived. Only after this was `Ok` are its replies shown to [`answer`](Self::answer).
    fn frame_end(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Encodes what `ask` needs next.
    fn ask(
        &mut self,
        ask: Ask<'_, Self::Handle>,
        stage: &mut Self::Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error>;

    /// What a reply means to the operation that awaits it; `stage` is `None` if that was dropped.
    fn answer(
        &mut self,
        reply: Reply<'_>,
        stage: Option<&mut Self::Stage>,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Answer<Self::Handle>, Error>;

    /// A verified message that no request asked for.
    fn notice(&mut self, message: &[u8], out: &mut Outbox<'_, '_>) -> Result<(), Error>;

    /// The entry at `at` of a listing's entries.
    fn entry(&self, entries: &[u8], at: usize) -> Result<EntryAt, Error>;

    /// The range at `at` of a map's ranges.
    fn range(&self, _ranges: &[u8], _at: usize) -> Result<RangeAt, Error> {
        Err(Error::Misbehaved("ranges in a protocol that has none"))
    }

    /// What a reply that was [`Data`](Answer::Data) or [`EndOfFile`](Answer::EndOfFile) tells of the file besides, if it does: a version
    /// that can be compared with that of its attributes.
    fn version(&self, _message: &[u8]) -> Option<Version> {
        None
    }

    /// The link that `path` ran into, according to the last frame.
    fn link<'f>(&self, frame: &'f [u8], path: &str) -> Result<Link<'f>, Error>;

    /// What bounds reads now.
    fn limits(&self) -> Limits;
}
