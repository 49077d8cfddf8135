//! Filling pages from a file with several requests in flight: what [`Read`](super::read::Read) and
//! [`Stream`](super::stream::Stream) share.

use super::mapping::Mapping;
use super::{Arrival, Content, Job};
use crate::attributes::Attributes;
use crate::error::Error;
use crate::holes::Holes;
use crate::inflight::{Inflight, Slot, Ticket};
use crate::limits;
use crate::outgoing::Outbox;
use crate::page::{self, Sink};
use crate::plan;
use crate::protocol::{Answer, Ask, File, Progress, Protocol};
use crate::segment::Extent;

/// The pages as a ring over the file, without the whole pages of its holes (see [`Holes::position`]).
///
/// `front <= ready <= next <= end`: `front..ready` is verified and kept, `ready..next` was asked for, `next..end`
/// is still to be asked for, and no more than the ring holds.
pub(super) struct Filling<'p, P: Protocol> {
    ticket: Ticket,
    stage: P::Stage,
    file: File<P::Handle>,
    pub sink: &'p mut dyn Sink,
    pub base: u64,
    pub front: u64,
    pub ready: u64,
    next: u64,
    pub end: u64,
    /// Where the file ends, as far as is known.
    pub eof: u64,
    refused: Option<Error>,
    /// How much of the front was lent as an item.
    lent: u64,
    pub streams: bool,
    /// Of a stream around holes.
    mapping: Option<Mapping<P>>,
    holes: Holes,
    /// Runs in a row that the map told of one by one, all of them short.
    dull: u32,
}

impl<'p, P: Protocol> Filling<'p, P> {
    pub fn new(file: &File<P::Handle>, offset: u64, end: u64, sink: &'p mut dyn Sink) -> Self {
        let end = end.min(file.attributes.len).max(offset);
        Filling {
            ticket: Ticket::NOBODY,
            stage: P::Stage::default(),
            file: *file,
            sink,
            base: offset,
            front: offset,
            ready: offset,
            next: offset,
            end,
            eof: file.attributes.len,
            refused: None,
            lent: 0,
            streams: false,
            mapping: None,
            holes: Holes::new(),
            dull: 0,
        }
    }

    /// From now on it reads around holes, if there may be any.
    pub fn map(&mut self) {
        let Attributes { sparse, len, .. } = self.file.attributes;
        let worth = sparse && len >= limits::HOLE_LEN_MIN;
        self.mapping = worth.then(|| Mapping::new(&self.file, self.front));
    }

    /// Begins anew at `offset`, as another operation to the client: replies to what was asked before find nobody.
    pub fn restart(&mut self, offset: u64) {
        self.ticket = Ticket::NOBODY;
        (self.base, self.front, self.ready, self.next) = (offset, offset, offset, offset);
        self.end = self.eof.max(offset);
        (self.lent, self.refused) = (0, None);
        (self.holes, self.dull) = (Holes::new(), 0);
        if self.mapping.is_some() {
            self.map();
            self.skip(self.sink.len() as u64);
        }
    }

    /// The next `len` bytes that the map has not told of are taken for data.
    fn skip(&mut self, len: u64) {
        if let Some(mapping) = &mut self.mapping {
            mapping.skip(len);
            self.holes.settle();
        }
    }

    fn page(&self) -> u64 {
        (self.sink.page_len() as u64).max(1)
    }

    /// How far from the start of the ring the byte `offset` of the file lies.
    fn position(&self, offset: u64) -> u64 {
        self.holes.position(self.base, self.page(), offset)
    }

    /// How far from the start of the ring what is kept begins.
    fn front_position(&self) -> u64 {
        match self.holes.first() {
            Some(hole) if hole.start <= self.front => self.position(hole.end),
            _ => self.position(self.front),
        }
    }

    /// Where in the sink it lies.
    fn place(&self, offset: u64) -> usize {
        (self.position(offset) % (self.sink.len() as u64).max(1)) as usize
    }

    /// What was lent last.
    pub fn front(&mut self) -> Content<'_> {
        if self.holes.first().is_some_and(|hole| hole.start <= self.front) {
            return Content::Hole(self.lent);
        }
        let run = self.sink.run(self.place(self.front));
        // It was no more than the run.
        let len = run.len().min(self.lent as usize);
        Content::Data(run.get(..len).unwrap_or(&[]))
    }

    /// How much can be lent of what is verified and in order: of a hole all of it, of data whole pages in one run, up to
    /// where a hole or the end of the file comes.
    fn lendable(&mut self) -> u64 {
        let next_hole = match self.holes.first() {
            Some(hole) if hole.start <= self.front => {
                return self.ready.min(hole.end).saturating_sub(self.front);
            }
            Some(hole) => hole.start,
            None => self.end,
        };
        let until = self.ready.min(next_hole);
        let at = self.position(self.front);
        let ready = until.saturating_sub(self.front);
        let run = self.sink.run(self.place(self.front)).len() as u64;
        if until == next_hole || until == self.end {
            return ready.min(run);
        }
        let whole = at.saturating_add(ready) / self.page() * self.page();
        whole.saturating_sub(at).min(run)
    }

    /// The file has no byte at `offset` or beyond.
    fn ends_at(&mut self, offset: u64) {
        self.end = self.end.min(offset.max(self.front));
        self.eof = self.eof.min(self.end);
    }

    /// Everything before the first byte that is still awaited is there.
    fn settle_ready(&mut self, inflight: &Inflight<'_>) {
        let reads = inflight.of(self.ticket).filter(|slot| slot.extent.len > 0);
        let missing = reads.map(|slot| slot.extent.offset).min();
        self.ready = missing.unwrap_or(self.next).min(self.end).max(self.ready);
    }

    fn ask(&mut self, extent: Extent, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let File { handle, attributes } = self.file;
        protocol.ask(Ask::Read { handle, extent, sparse: attributes.sparse }, &mut self.stage, out)
    }

    /// Asks for more of the map before the reads come to where it ends.
    fn ask_map(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let ahead = self.next.saturating_add(self.sink.len() as u64);
        let mapped = self.mapped();
        let Some(mapping) = &mut self.mapping else { return Ok(Progress::Complete) };
        if mapping.is_complete() || mapping.verifies() {
            return Ok(Progress::Complete);
        }
        if mapped > ahead || self.holes.is_crowded() {
            return Ok(Progress::Wait);
        }
        let progress = mapping.ask(protocol, &mut self.stage, out)?;
        if mapping.is_complete() {
            self.learn_segments(protocol, &[])?;
            self.holes.settle();
        }
        Ok(progress)
    }

    /// Takes what the last reply of the map says, as far as there is room for holes.
    fn learn_segments(&mut self, protocol: &P, message: &[u8]) -> Result<(), Error> {
        let Some(mapping) = &mut self.mapping else { return Ok(()) };
        // Each turn takes a segment, which the message bounds.
        while !self.holes.is_full() {
            match mapping.segment(protocol, message)? {
                Some(segment) if segment.hole => self.holes.learn(segment.offset, segment.end()),
                Some(_) => self.holes.settle(),
                None => return Ok(()),
            }
        }
        mapping.forget_rest();
        Ok(())
    }

    /// A reply of the map. Where runs are told one by one and all are short, part of the file is taken for data: but not if
    /// all is to be asked a second time, which would find what was left out.
    fn learn(&mut self, arrival: &Arrival<'_, P>) -> Result<(), Error> {
        let Some(mapping) = &mut self.mapping else {
            return match arrival.answer {
                Answer::Nothing => Ok(()),
                _ => Err(Error::Misbehaved("a read was answered with something else")),
            };
        };
        let before = mapping.known();
        mapping.learn(arrival, 0)?;
        if mapping.verifies() {
            return Ok(());
        }
        let told = mapping.known().saturating_sub(before);
        self.learn_segments(arrival.protocol, arrival.message)?;
        let runs = matches!(arrival.answer, Answer::Run { .. }) && self.file.attributes.change.is_some();
        self.dull = if runs && told < limits::MAP_LEN_MIN { self.dull + 1 } else { 0 };
        if self.dull >= limits::DULL_MAPS_MAX {
            self.dull = 0;
            self.skip(limits::MAP_SKIP_LEN);
        }
        Ok(())
    }

    /// Up to where it is known what is data.
    fn mapped(&self) -> u64 {
        let mapping = self.mapping.as_ref().filter(|mapping| !mapping.verifies());
        let known = mapping.map_or(self.end, Mapping::known).min(self.end);
        self.holes.unsettled().map_or(known, |start| known.min(start))
    }

    /// What is known to be a hole is not asked for.
    fn pass_holes(&mut self, out: &mut Outbox<'_, '_>) {
        // Each turn passes one of the holes.
        while let Some(end) = self.holes.end_at(self.next) {
            let end = end.min(self.end);
            if end <= self.next {
                break;
            }
            out.count_hole(end - self.next);
            self.next = end;
        }
    }

    /// Asks once more for what a short reply left out, or as much of it as is allowed now.
    fn ask_again(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        while let Some((index, rest)) = out.inflight().first_again(self.ticket) {
            let until = rest.end().min(self.end);
            if rest.offset >= until {
                out.inflight().remove(index);
                continue;
            }
            let Some(now) = plan::next(rest.offset, until, rest.len, &protocol.limits()) else {
                return Ok(Progress::Wait);
            };
            out.inflight().remove(index);
            out.set_follows(rest.len - now.len);
            let progress = self.ask(now, protocol, out);
            out.set_follows(0);
            if progress != Ok(Progress::Sent) {
                // Into the slot that was just freed.
                out.inflight().insert_again(self.ticket, rest);
            }
            return progress;
        }
        Ok(Progress::Complete)
    }

    /// A stream keeps at least two requests in its ring, and lends whole pages.
    fn request_len(&self, planned: u32) -> u32 {
        if !self.streams {
            return planned;
        }
        let half = u32::try_from(self.sink.len().div_ceil(2)).unwrap_or(u32::MAX);
        let len = planned.min(half);
        let page = u32::try_from(self.sink.page_len()).unwrap_or(u32::MAX);
        len.checked_rem(page).filter(|rest| *rest < len).map_or(len, |rest| len - rest)
    }

    fn ask_next(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        if self.next >= self.end {
            return Ok(Progress::Complete);
        }
        let limits = protocol.limits();
        let ring = self.sink.len() as u64;
        let request_len = self.request_len(plan::request_len(ring, out.inflight().len(), &limits));
        let taken = self.position(self.next).saturating_sub(self.front_position());
        let free = ring.saturating_sub(taken);
        let mapped = self.mapped();
        let stop = self.holes.next_start(self.next).min(mapped);
        let until = stop.min(self.next.saturating_add(free));
        let Some(extent) = plan::next(self.next, until, request_len, &limits) else {
            return Ok(Progress::Wait);
        };
        // A request as long as what was just freed would shrink to the page: wait for a whole one, unless nothing
        // else is coming.
        let whole =
            extent.len == request_len || (extent.end() == stop && (stop < mapped || mapped == self.end));
        if !whole && out.in_flight() > 0 {
            return Ok(Progress::Wait);
        }
        let progress = self.ask(extent, protocol, out)?;
        if progress == Progress::Sent {
            self.next = extent.end();
        }
        Ok(progress)
    }

    pub fn result(&self) -> Result<(), Error> {
        self.refused.map_or(Ok(()), Err)
    }
}

impl<P: Protocol> Job<P> for Filling<'_, P> {
    fn ticket(&mut self) -> &mut Ticket {
        &mut self.ticket
    }

    fn stage(&mut self) -> &mut P::Stage {
        &mut self.stage
    }

    fn poll(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        if self.refused.is_some() {
            // What is in flight is still awaited, so that nothing lands in these pages after `Done`.
            while let Some((index, rest)) = out.inflight().first_again(self.ticket) {
                out.inflight().remove(index);
                self.end = self.end.min(rest.offset.max(self.front));
            }
            self.settle_ready(out.inflight());
            let Some(mapping) = &mut self.mapping else { return Ok(Progress::Complete) };
            mapping.give_up();
            return mapping.ask(protocol, &mut self.stage, out);
        }
        self.settle_ready(out.inflight());
        if self.end > self.front && self.sink.is_empty() {
            return Err(Error::Invalid("there is no page to read into"));
        }
        let progress = match self.ask_again(protocol, out)? {
            Progress::Complete => self.ask_map(protocol, out)?,
            progress => return Ok(progress),
        };
        if progress == Progress::Sent {
            return Ok(progress);
        }
        self.pass_holes(out);
        self.settle_ready(out.inflight());
        match (self.ask_next(protocol, out)?, &mut self.mapping) {
            (Progress::Complete, Some(mapping)) if out.in_flight() == 0 || mapping.verifies() => {
                mapping.verify(protocol, &mut self.stage, out)
            }
            (Progress::Complete, Some(_)) => Ok(Progress::Wait),
            (progress, _) => Ok(progress),
        }
    }

    fn answer(&mut self, arrival: Arrival<'_, P>) -> Result<Option<Extent>, Error> {
        let Slot { extent: asked, follows, .. } = arrival.slot;
        if asked.len == 0 {
            match self.learn(&arrival) {
                Err(error) if !error.is_fatal() => drop(self.refused.get_or_insert(error)),
                learnt => learnt?,
            }
            return Ok(None);
        }
        let brought = match arrival.answer {
            Answer::Data if arrival.landed.brought == 0 => {
                return Err(Error::Misbehaved("a read brought no data and no end of file"));
            }
            Answer::Data => arrival.landed.brought,
            Answer::Again => 0,
            Answer::EndOfFile => {
                self.ends_at(asked.offset);
                return Ok(None);
            }
            _ => return Err(Error::Misbehaved("a read was answered with something else")),
        };
        let rest = asked.after(brought);
        let rest = Extent { len: rest.len.saturating_add(follows), ..rest };
        Ok((rest.len > 0 && rest.offset < self.end).then_some(rest))
    }

    fn refused(&mut self, slot: &Slot, error: Error) {
        match &mut self.mapping {
            // A map that cannot be had is none: then all is read.
            Some(mapping) if slot.extent.len == 0 && !mapping.verifies() => return mapping.give_up(),
            _ => drop(self.refused.get_or_insert(error)),
        }
        if slot.extent.len == 0 {
            return;
        }
        // What was refused did not come: nothing from there on is lent.
        self.end = self.end.min(slot.extent.offset.max(self.front));
    }

    fn window(&mut self, extent: Extent, at: u32) -> &mut [u8] {
        let place = self.place(extent.after(at).offset);
        self.sink.run(place)
    }

    fn hole(&mut self, extent: Extent) {
        self.wipe(extent);
        if self.streams {
            self.holes.told(extent.offset, extent.end());
        }
    }

    fn wipe(&mut self, extent: Extent) {
        let at = self.place(extent.offset);
        let len = extent.len as usize;
        let wraps = at.saturating_add(len).saturating_sub(self.sink.len());
        page::zero(self.sink, at, len);
        page::zero(self.sink, 0, wraps);
    }

    fn release(&mut self) {
        self.front = self.front.saturating_add(core::mem::take(&mut self.lent));
        // One at a time is lent.
        if self.holes.first().is_some_and(|hole| hole.end <= self.front) {
            self.base = self.base.saturating_add(self.holes.first_skipped(self.base, self.page()));
            self.holes.pop();
        }
    }

    fn prepare(&mut self, _: &P, _: &[u8]) -> Result<bool, Error> {
        self.lent = if self.streams { self.lendable() } else { 0 };
        Ok(self.lent > 0)
    }
}
