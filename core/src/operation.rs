//! What a caller can want: one value on its stack per job, good for one run from the first step to `Done`.
//!
//! Dropping an operation at any point is allowed; what is still in flight for it is received and thrown away, and a
//! handle that an abandoned [`Open`](call::Open) brings is closed.

mod ahead;
pub mod call;
pub mod fetch;
mod filling;
pub mod lane;
pub mod list;
pub mod map;
mod mapping;
pub mod read;
mod ring;
pub mod stat_both;
pub mod stream;

pub(crate) use ahead::Ahead;

use crate::attributes::Entry;
use crate::error::Error;
use crate::inflight::{Landed, Slot, Ticket};
use crate::outgoing::Outbox;
use crate::protocol::{Answer, Progress, Protocol};
use crate::segment::{Extent, MapSegment};

/// What the client asks of an operation. Implemented here, and in a protocol's room for what only that can be asked.
pub trait Job<P: Protocol> {
    /// Who it is. `NOBODY` before its first step.
    fn ticket(&mut self) -> &mut Ticket;

    /// The protocol's note of where it stands, or one of its lanes.
    fn stage(&mut self, lane: u16) -> &mut P::Stage;

    /// Encodes what it wants next.
    fn poll(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error>;

    /// What a reply brought. Returns what is to be asked for again, if anything.
    fn answer(&mut self, arrival: Arrival<'_, P>) -> Result<Option<Extent>, Error>;

    /// A reply was a refusal, or could not be used.
    fn refused(&mut self, slot: &Slot, error: Error);

    /// The memory for file data that `slot` asked for, from byte `at` of its extent on. Empty if it has none.
    fn window(&mut self, _slot: &Slot, _at: u32) -> &mut [u8] {
        &mut []
    }

    /// A reply says that `extent`, which lies in what `slot` asked for, is a hole.
    fn hole(&mut self, _slot: &Slot, _extent: Extent) {}

    /// What was put into the memory of `extent`, for which `slot` asked, is not to be trusted.
    fn wipe(&mut self, _slot: &Slot, _extent: Extent) {}

    /// The item lent last is no longer looked at.
    fn release(&mut self) {}

    /// Whether replies in `rx` are still needed.
    fn holds_replies(&self) -> bool {
        false
    }

    /// Makes the next item ready, if there is one.
    fn prepare(&mut self, _protocol: &P, _rx: &[u8]) -> Result<bool, Error> {
        Ok(false)
    }
}

/// A verified reply and what it means.
#[derive(Debug)]
pub struct Arrival<'m, P: Protocol> {
    /// The request.
    pub slot: Slot,
    /// Where the message lies in `rx`, and how much of a file came with it.
    pub landed: Landed,
    /// What it means.
    pub answer: Answer<P::Handle>,
    /// Its bytes that are not file data.
    pub message: &'m [u8],
    /// Who reads them.
    pub protocol: &'m P,
}

/// A kind of item. Apart from the operation, so that a closure may take an item of any lifetime.
pub trait Lend {
    /// The item, lent for `'i`.
    type Item<'i>: Copy;
}

/// No items.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;
/// The content of a file.
#[derive(Clone, Copy, Debug)]
pub struct Contents;
/// A part of a file, as a stream lends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'i> {
    /// Verified bytes, never none.
    Data(&'i [u8]),
    /// So many bytes, never none, that are zero and not stored.
    Hole(u64),
}

impl<'i> Content<'i> {
    /// How many bytes of the file it is.
    pub const fn len(&self) -> u64 {
        match self {
            Content::Data(bytes) => bytes.len() as u64,
            Content::Hole(len) => *len,
        }
    }

    /// Whether it is nothing, as no content that is lent is.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that are stored: none of a hole.
    pub const fn data(&self) -> &'i [u8] {
        match self {
            Content::Data(bytes) => bytes,
            Content::Hole(_) => &[],
        }
    }
}

/// Entries of a directory.
#[derive(Clone, Copy, Debug)]
pub struct Entries;
/// Segments of a map.
#[derive(Clone, Copy, Debug)]
pub struct Segments;

impl Lend for Nothing {
    type Item<'i> = ();
}
impl Lend for Contents {
    type Item<'i> = Content<'i>;
}
impl Lend for Entries {
    type Item<'i> = Entry<'i>;
}
impl Lend for Segments {
    type Item<'i> = MapSegment;
}

/// What `O` lends.
pub type Item<'i, P, O> = <<O as Operation<P>>::Lends as Lend>::Item<'i>;

/// An operation as the caller sees it. Implemented where [`Job`] is.
pub trait Operation<P: Protocol> {
    /// What it lends on the way.
    type Lends: Lend;
    /// What it gives at the end.
    type Output: Copy;

    /// Its inner side.
    fn job(&mut self) -> &mut dyn Job<P>;

    /// The item made ready last.
    fn item<'i>(&'i mut self, rx: &'i [u8]) -> <Self::Lends as Lend>::Item<'i>;

    /// The result.
    fn output(&mut self) -> Result<Self::Output, Error>;
}
