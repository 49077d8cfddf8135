//! Filling pages from a file with several requests in flight: what [`Read`](super::read::Read) and
//! [`Stream`](super::stream::Stream) share.

use super::ahead::{self, Ahead};
use super::mapping::Source;
use super::ring::Ring;
use super::{Arrival, Content, Job};
use crate::error::Error;
use crate::holes::HoleList;
use crate::inflight::{Inflight, Slot, Ticket};
use crate::outgoing::Outbox;
use crate::page::Sink;
use crate::plan;
use crate::protocol::{Answer, Ask, File, Progress, Protocol};
use crate::segment::Extent;

/// A part of a file, and the ring that it goes through.
pub(super) struct Filling<'p, P: Protocol> {
    ticket: Ticket,
    stage: P::Stage,
    source: Source<P::Handle>,
    pub ring: Ring<'p, P::Holes>,
    /// Where the file ends, as far as is known.
    eof: u64,
    refused: Option<Error>,
    /// Of a stream around holes.
    ahead: <P::Holes as HoleList>::Map,
}

impl<'p, P: Protocol> Filling<'p, P> {
    /// `offset..end` of the file, as far as that goes, into the pages of a sink, which has room for all of it.
    pub fn new(file: &File<P::Handle>, offset: u64, end: u64, sink: &'p mut dyn Sink) -> Self {
        let eof = file.attributes.len;
        Filling {
            ticket: Ticket::NOBODY,
            stage: P::Stage::default(),
            source: Source::of(file),
            ring: Ring::new(offset, end.min(eof).max(offset), sink),
            eof,
            refused: None,
            ahead: Default::default(),
        }
    }

    /// The file from `offset` on, through the pages of a sink as often as it takes.
    pub fn stream(file: &File<P::Handle>, offset: u64, sink: &'p mut dyn Sink) -> Self {
        let mut filling = Filling::new(file, offset, u64::MAX, sink);
        filling.ring.streams = true;
        filling
    }

    /// From now on it reads around holes, if there may be any.
    pub fn map(&mut self) {
        if let Some(map) = self.ahead.as_mut().first_mut() {
            *map = Ahead::of(&self.source, self.ring.front);
        }
    }

    /// Begins with another file, once nothing of the one before is in flight.
    pub fn take_up(&mut self, file: &File<P::Handle>, offset: u64) {
        (self.source, self.eof, self.ahead) = (Source::of(file), file.attributes.len, Default::default());
        self.stage = P::Stage::default();
        self.restart(offset);
        self.map();
    }

    /// Begins anew at `offset`, as another operation to the client: replies to what was asked before find nobody.
    pub fn restart(&mut self, offset: u64) {
        (self.ticket, self.refused) = (Ticket::NOBODY, None);
        self.ring.restart(offset, self.eof.max(offset));
        if ahead::known(&mut self.ahead).is_some() {
            self.map();
        }
        if let Some(ahead) = ahead::known(&mut self.ahead) {
            // Who jumps about is better served by reading at once.
            let len = self.ring.len() as u64;
            ahead.skip::<P>(&mut self.ring, len);
        }
    }

    /// It ends with an error, as soon as nothing is in flight.
    pub fn fail(&mut self, error: Error) {
        self.refused.get_or_insert(error);
    }

    /// What was lent last.
    pub fn content(&mut self) -> Content<'_> {
        self.ring.content()
    }

    /// Where the file ends, if it ends with what was read.
    pub fn is_at_eof(&self) -> bool {
        self.ring.end >= self.eof
    }

    pub fn result(&self) -> Result<(), Error> {
        self.refused.map_or(Ok(()), Err)
    }

    fn settle(&mut self, inflight: &Inflight<'_>) {
        let reads = inflight.of(self.ticket).filter(|slot| slot.extent.len > 0);
        self.ring.settle(reads.map(|slot| slot.extent.offset).min());
    }

    fn ask(&mut self, extent: Extent, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let Source { handle, sparse, .. } = self.source;
        protocol.ask(Ask::Read { handle, extent, sparse }, &mut self.stage, out)
    }

    /// Asks once more for what a short reply left out, or as much of it as is allowed now.
    fn ask_again(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        while let Some(rest) = out.inflight().take_again(self.ticket) {
            let until = rest.end().min(self.ring.end);
            if rest.offset >= until {
                continue;
            }
            let progress = match plan::next(rest.offset, until, rest.len, &protocol.limits()) {
                Some(now) => {
                    out.set_follows(rest.len.saturating_sub(now.len));
                    self.ask(now, protocol, out)
                }
                None => Ok(Progress::Wait),
            };
            out.set_follows(0);
            if progress != Ok(Progress::Sent) {
                // Into the slot that was just freed.
                out.inflight().insert_again(self.ticket, rest);
            }
            return progress;
        }
        Ok(Progress::Complete)
    }

    fn ask_map(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let Some(ahead) = ahead::known(&mut self.ahead) else { return Ok(Progress::Complete) };
        ahead.ask(&self.source, &mut self.ring, protocol, &mut self.stage, out)
    }

    /// A stream keeps at least two requests in its ring, and lends whole pages.
    fn request_len(&self, planned: u32) -> u32 {
        if !self.ring.streams {
            return planned;
        }
        let half = u32::try_from(self.ring.len().div_ceil(2)).unwrap_or(u32::MAX);
        let len = planned.min(half);
        let page = u32::try_from(self.ring.page()).unwrap_or(u32::MAX);
        len.checked_rem(page).filter(|rest| *rest < len).map_or(len, |rest| len.saturating_sub(rest))
    }

    fn ask_next(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let (from, end) = (self.ring.next, self.ring.end);
        if from >= end {
            return Ok(Progress::Complete);
        }
        let limits = out.bound(protocol.limits());
        let planned = plan::request_len(self.ring.len() as u64, out.inflight().len(), &limits);
        let request_len = self.request_len(planned);
        let mapped = ahead::known(&mut self.ahead).map_or(end, |ahead| ahead.mapped::<P>(&self.ring));
        let stop = self.ring.stop(mapped);
        let until = stop.min(from.saturating_add(self.ring.free()));
        let Some(extent) = plan::next(from, until, request_len, &limits) else {
            return Ok(Progress::Wait);
        };
        // A request as long as what was just freed would shrink to the page: wait for a whole one, unless nothing
        // else is coming.
        let ends = extent.end() == stop && (stop < mapped || mapped == end);
        if extent.len != request_len && !ends && out.in_flight() > 0 {
            return Ok(Progress::Wait);
        }
        let progress = self.ask(extent, protocol, out)?;
        if progress == Progress::Sent {
            self.ring.next = extent.end();
        }
        Ok(progress)
    }

    /// What is in flight is still awaited, so that nothing lands in these pages after `Done`.
    fn wind_up(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        while let Some(rest) = out.inflight().take_again(self.ticket) {
            self.ring.ends_at(rest.offset);
        }
        self.settle(out.inflight());
        match ahead::known(&mut self.ahead) {
            Some(ahead) => ahead.end(&self.source, protocol, &mut self.stage, out),
            None => Ok(Progress::Complete),
        }
    }
}

impl<P: Protocol> Job<P> for Filling<'_, P> {
    fn ticket(&mut self) -> &mut Ticket {
        &mut self.ticket
    }

    fn stage(&mut self, _: u16) -> &mut P::Stage {
        &mut self.stage
    }

    fn poll(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        if self.refused.is_some() {
            return self.wind_up(protocol, out);
        }
        if self.ring.end > self.ring.front && self.ring.len() == 0 {
            return Err(Error::Invalid("there is no page to read into"));
        }
        self.settle(out.inflight());
        let again = self.ask_again(protocol, out)?;
        if again != Progress::Complete {
            return Ok(again);
        }
        // Behind a hole more of the map may be wanted. Each turn but the last passes one.
        loop {
            if self.ask_map(protocol, out)? == Progress::Sent {
                return Ok(Progress::Sent);
            }
            let passed = self.ring.pass_holes();
            out.count_hole(passed);
            self.settle(out.inflight());
            if passed == 0 {
                break;
            }
        }
        match (self.ask_next(protocol, out)?, ahead::known(&mut self.ahead)) {
            (Progress::Complete, Some(ahead)) => ahead.verify(&self.source, protocol, &mut self.stage, out),
            (progress, _) => Ok(progress),
        }
    }

    fn answer(&mut self, arrival: Arrival<'_, P>) -> Result<Option<Extent>, Error> {
        const OTHER: Error = Error::Misbehaved("a read was answered with something else");
        let Slot { extent: asked, follows, .. } = arrival.slot;
        let brought = match (arrival.answer, ahead::known(&mut self.ahead)) {
            (_, Some(ahead)) if asked.len == 0 => {
                match ahead.learn(&self.source, &mut self.ring, &arrival) {
                    Err(error) if !error.is_fatal() => self.fail(error),
                    learnt => learnt?,
                }
                return Ok(None);
            }
            (Answer::Nothing, None) if asked.len == 0 => return Ok(None),
            (_, None) if asked.len == 0 => return Err(OTHER),
            (Answer::Data, _) if arrival.landed.brought == 0 => {
                return Err(Error::Misbehaved("a read brought no data and no end of file"));
            }
            (Answer::Data, _) => arrival.landed.brought,
            (Answer::Again, _) => 0,
            (Answer::EndOfFile, _) => {
                self.ring.ends_at(asked.offset);
                self.eof = self.eof.min(self.ring.end);
                return Ok(None);
            }
            _ => return Err(OTHER),
        };
        let rest = asked.after(brought);
        let rest = Extent { len: rest.len.saturating_add(follows), ..rest };
        Ok((rest.len > 0 && rest.offset < self.ring.end).then_some(rest))
    }

    fn refused(&mut self, slot: &Slot, error: Error) {
        let outcome = match ahead::known(&mut self.ahead) {
            Some(ahead) if slot.extent.len == 0 => ahead.refused(error),
            _ => Err(error),
        };
        let Err(error) = outcome else { return };
        self.fail(error);
        if slot.extent.len > 0 {
            // What was refused did not come: nothing from there on is lent.
            self.ring.ends_at(slot.extent.offset);
        }
    }

    fn window(&mut self, slot: &Slot, at: u32) -> &mut [u8] {
        self.ring.window(slot.extent.after(at).offset)
    }

    fn hole(&mut self, _: &Slot, extent: Extent) {
        self.ring.told(extent);
    }

    fn wipe(&mut self, _: &Slot, extent: Extent) {
        self.ring.wipe(extent);
    }

    fn release(&mut self) {
        self.ring.release();
    }

    fn prepare(&mut self, _: &P, _: &[u8]) -> Result<bool, Error> {
        Ok(self.ring.lend())
    }
}
