//! What a caller can want: one value on its stack per job, good for one run from the first step to `Done`.
//!
//! Dropping an operation at any point is allowed; what is still in flight for it is received and thrown away, and a
//! handle that an abandoned [`Open`](call::Open) brings is closed.

pub mod call;
pub mod filling;
pub mod list;
pub mod read;
pub mod stream;

use crate::error::Error;
use crate::inflight::{Landed, Slot, Ticket};
use crate::outgoing::Outbox;
use crate::protocol::{Answer, Progress, Protocol};
use crate::segment::Extent;

/// What the client asks of an operation. Implemented here only.
pub trait Job<P: Protocol> {
    /// Who it is. `NOBODY` before its first step.
    fn ticket(&mut self) -> &mut Ticket;

    /// The protocol's note of where it stands.
    fn stage(&mut self) -> &mut P::Stage;

    /// Encodes what it wants next.
    fn poll(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error>;

    /// What a reply brought. Returns what is to be asked for again, if anything.
    fn answer(
        &mut self,
        slot: &Slot,
        landed: Landed,
        answer: Answer<P::Handle>,
    ) -> Result<Option<Extent>, Error>;

    /// A reply was a refusal, or could not be used.
    fn refused(&mut self, slot: &Slot, error: Error);

    /// The memory for file data, from byte `at` of `extent` on. Empty if it has none.
    fn window(&mut self, _extent: Extent, _at: u32) -> &mut [u8] {
        &mut []
    }

    /// What was put into the memory of `extent` is not to be trusted.
    fn wipe(&mut self, _extent: Extent) {}

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

/// An operation as the caller sees it. Implemented here only.
pub trait Operation<P: Protocol> {
    /// What it lends on the way.
    type Item<'i>: Copy
    where
        Self: 'i;
    /// What it gives at the end.
    type Output: Copy;

    /// Its inner side.
    fn job(&mut self) -> &mut dyn Job<P>;

    /// The item made ready last.
    fn item<'i>(&'i mut self, rx: &'i [u8]) -> Self::Item<'i>;

    /// The result.
    fn output(&mut self) -> Result<Self::Output, Error>;
}
