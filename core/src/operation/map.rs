//! What of a file is data and what is a hole, lent segment by segment.

use super::{Job, Operation, Segments};
use crate::error::{Error, Reason};
use crate::inflight::{Landed, Slot, Ticket};
use crate::limits;
use crate::outgoing::Outbox;
use crate::protocol::{Answer, Ask, File, Progress, Protocol};
use crate::segment::{Extent, MapSegment, Survey};
use crate::wire;

/// Lends the segments of a file from an offset to the end that it had when it was opened: in order, without a gap, and
/// no two of the same kind in a row. Where the protocol or the server cannot say what is a hole, it is one segment of
/// data. At the end of the file or beyond it there is none.
///
/// A map is of what the file is while it is asked for: whoever reads by it looks whether
/// [`changed`](crate::Attributes::changed) is the same before and after.
#[derive(Debug)]
pub struct Map<P: Protocol> {
    file: File<P::Handle>,
    ticket: Ticket,
    stage: P::Stage,
    refused: Option<Error>,
    /// The server cannot say what is not known yet.
    unsaid: bool,
    /// The protocol has nothing more to ask.
    complete: bool,
    survey: Survey,
    /// Where in `rx` the ranges lie that were not looked at yet, and the next one among them.
    ranges: Option<(usize, usize, usize)>,
    current: MapSegment,
    /// Replies since the last segment that was lent.
    idle: u32,
}

impl<P: Protocol> Map<P> {
    /// Nothing happens before its first step.
    pub fn new(file: &File<P::Handle>, from: u64) -> Self {
        Map {
            file: *file,
            ticket: Ticket::NOBODY,
            stage: P::Stage::default(),
            refused: None,
            unsaid: false,
            complete: false,
            survey: Survey::new(from, file.attributes.len),
            ranges: None,
            current: MapSegment { offset: from, len: 0, hole: false },
            idle: 0,
        }
    }

    /// The next segment that is certain, as far as the replies have told.
    fn segment(&mut self, protocol: &P, rx: &[u8]) -> Result<Option<MapSegment>, Error> {
        // Each turn makes a segment or moves forward in the ranges, which `rx` bounds.
        while let Some((start, len, at)) = self.ranges {
            let range = protocol.range(wire::slice(rx, start, len, "ranges of a map")?, at)?;
            let (done, segment) = self.survey.add(range.offset, range.len)?;
            if done {
                self.ranges = match range.next {
                    Some(next) if next <= at => return Err(Error::Misbehaved("a map goes round")),
                    next => next.map(|next| (start, len, next)),
                };
            }
            if segment.is_some() {
                return Ok(segment);
            }
        }
        let known = self.survey.rest();
        if known.is_some() || !self.complete || self.survey.known() == self.survey.end() {
            return Ok(known);
        }
        self.survey.learn(self.survey.end(), false)?;
        Ok(self.survey.rest())
    }
}

impl<P: Protocol> Job<P> for Map<P> {
    fn ticket(&mut self) -> &mut Ticket {
        &mut self.ticket
    }

    fn stage(&mut self) -> &mut P::Stage {
        &mut self.stage
    }

    fn poll(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let end = self.survey.end();
        let from = if self.refused.is_some() || self.unsaid { end } else { self.survey.known() };
        let ask = Ask::Map { handle: self.file.handle, sparse: self.file.attributes.sparse, from, end };
        let progress = protocol.ask(ask, &mut self.stage, out)?;
        self.complete = progress == Progress::Complete;
        Ok(progress)
    }

    fn answer(
        &mut self,
        _: &Slot,
        landed: Landed,
        answer: Answer<P::Handle>,
    ) -> Result<Option<Extent>, Error> {
        self.idle += 1;
        if self.idle > limits::IDLE_MAPS_MAX {
            return Err(Error::Misbehaved("reply after reply of a map and no segment"));
        }
        match answer {
            Answer::Ranges { start, len, known } => {
                self.survey.learn(known, true)?;
                self.ranges = (len > 0).then(|| (landed.start.saturating_add(start), len, 0));
            }
            Answer::Run { known, hole } => self.survey.learn(known, hole)?,
            Answer::Nothing => {}
            _ => return Err(Error::Misbehaved("a map was answered with something else")),
        }
        Ok(None)
    }

    fn refused(&mut self, _: &Slot, error: Error) {
        match error {
            Error::Refused(refusal) if refusal.reason == Reason::Unsupported => self.unsaid = true,
            _ => drop(self.refused.get_or_insert(error)),
        }
    }

    fn holds_replies(&self) -> bool {
        self.ranges.is_some()
    }

    fn prepare(&mut self, protocol: &P, rx: &[u8]) -> Result<bool, Error> {
        if self.refused.is_some() {
            return Ok(false);
        }
        let Some(segment) = self.segment(protocol, rx)? else { return Ok(false) };
        (self.current, self.idle) = (segment, 0);
        Ok(true)
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
