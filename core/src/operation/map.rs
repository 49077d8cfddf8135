//! What of a file is data and what is a hole, lent segment by segment.

use super::mapping::{Mapping, Source};
use super::{Arrival, Job, Operation, Segments};
use crate::error::Error;
use crate::inflight::{Slot, Ticket};
use crate::outgoing::Outbox;
use crate::protocol::{File, Progress, Protocol};
use crate::segment::{Extent, Joined, MapSegment};

/// Lends the segments of a file from an offset to the end that it had when it was opened: in order, without a gap, and
/// no two of the same kind in a row. Where the protocol or the server cannot say what is a hole, or whether the file
/// was changed, it is one segment of data. At the end of the file or beyond it there is none.
///
/// A map is of what the file is while it is asked for: if the file was changed since it was opened, it ends with
/// [`Changed`](Error::Changed), and what was lent is not to be trusted.
#[derive(Debug)]
pub struct Map<P: Protocol> {
    ticket: Ticket,
    stage: P::Stage,
    refused: Option<Error>,
    source: Source<P::Handle>,
    mapping: Mapping,
    joined: Joined,
    current: MapSegment,
    /// All segments were lent.
    ended: bool,
}

impl<P: Protocol> Map<P> {
    /// Nothing happens before its first step.
    pub fn new(file: &File<P::Handle>, from: u64) -> Self {
        Map {
            ticket: Ticket::NOBODY,
            stage: P::Stage::default(),
            refused: None,
            source: Source::of(file),
            mapping: Mapping::new(from, file.attributes.len),
            joined: Joined::default(),
            current: MapSegment { offset: from, len: 0, hole: false },
            ended: false,
        }
    }

    /// Whether the server could say, so far, what is a hole. If not, what it did not say was lent as data.
    pub const fn was_told(&self) -> bool {
        self.mapping.was_told()
    }
}

impl<P: Protocol> Job<P> for Map<P> {
    fn ticket(&mut self) -> &mut Ticket {
        &mut self.ticket
    }

    fn stage(&mut self, _: u16) -> &mut P::Stage {
        &mut self.stage
    }

    fn poll(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        if self.mapping.verifies() && self.refused.is_none() {
            return self.mapping.verify(&self.source, protocol, &mut self.stage, out);
        }
        match self.mapping.ask(&self.source, protocol, &mut self.stage, out)? {
            Progress::Complete if self.refused.is_none() && self.ended => {
                self.mapping.verify(&self.source, protocol, &mut self.stage, out)
            }
            progress => Ok(progress),
        }
    }

    fn answer(&mut self, arrival: Arrival<'_, P>) -> Result<Option<Extent>, Error> {
        match self.mapping.learn(&self.source, &arrival, arrival.landed.start) {
            Err(error) if !error.is_fatal() => self.refused = Some(error),
            learnt => learnt?,
        }
        Ok(None)
    }

    fn refused(&mut self, _: &Slot, error: Error) {
        if let Err(error) = self.mapping.refused(error) {
            self.refused.get_or_insert(error);
            self.mapping.give_up();
        }
    }

    fn holds_replies(&self) -> bool {
        self.mapping.holds_reply()
    }

    fn prepare(&mut self, protocol: &P, rx: &[u8]) -> Result<bool, Error> {
        if self.refused.is_some() || self.ended {
            return Ok(false);
        }
        // Each turn takes a segment, which `rx` bounds.
        while let Some(segment) = self.mapping.segment(protocol, rx)? {
            if let Some(segment) = self.joined.push(segment) {
                self.current = segment;
                return Ok(true);
            }
        }
        self.ended = self.mapping.knows_all();
        let last = if self.ended { self.joined.end() } else { None };
        self.current = last.unwrap_or(self.current);
        Ok(last.is_some())
    }
}

impl<P: Protocol> Operation<P> for Map<P> {
    type Lends = Segments;
    type Output = ();

    fn job(&mut self) -> &mut dyn Job<P> {
        self
    }

    fn item<'i>(&'i mut self, _: &'i [u8]) -> MapSegment {
        self.current
    }

    fn output(&mut self) -> Result<(), Error> {
        self.refused.map_or(Ok(()), Err)
    }
}
