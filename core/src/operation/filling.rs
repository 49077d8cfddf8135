//! Filling pages from a file with several requests in flight: what [`Read`](super::read::Read) and
//! [`Stream`](super::stream::Stream) share.

use super::Job;
use crate::error::Error;
use crate::inflight::{Inflight, Landed, Slot, Ticket};
use crate::outgoing::Outbox;
use crate::page::{self, Sink};
use crate::plan;
use crate::protocol::{Answer, Ask, File, Progress, Protocol};
use crate::segment::{Cover, Extent, Segment};

/// The pages as a ring over the file: byte `offset` lies at `(offset - base) % sink.len()`.
///
/// `front <= ready <= next <= end`: `front..ready` is verified and kept, `ready..next` was asked for, `next..end`
/// is still to be asked for, and no more than the ring holds.
pub(super) struct Filling<'p, P: Protocol> {
    ticket: Ticket,
    stage: P::Stage,
    handle: P::Handle,
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
    pub lent: usize,
    pub streams: bool,
}

impl<'p, P: Protocol> Filling<'p, P> {
    pub fn new(file: &File<P::Handle>, offset: u64, end: u64, sink: &'p mut dyn Sink) -> Self {
        let end = end.min(file.attributes.len).max(offset);
        Filling {
            ticket: Ticket::NOBODY,
            stage: P::Stage::default(),
            handle: file.handle,
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
        }
    }

    /// Begins anew at `offset`, as another operation to the client: replies to what was asked before find nobody.
    pub fn restart(&mut self, offset: u64) {
        self.ticket = Ticket::NOBODY;
        (self.base, self.front, self.ready, self.next) = (offset, offset, offset, offset);
        self.end = self.eof.max(offset);
        (self.lent, self.refused) = (0, None);
    }

    /// Where in the sink the byte `offset` of the file lies.
    fn place(&self, offset: u64) -> usize {
        let len = (self.sink.len() as u64).max(1);
        (offset.saturating_sub(self.base) % len) as usize
    }

    /// What is verified and in order and not yet released, as far as it lies in one run.
    pub fn front_run(&mut self, len: usize) -> &mut [u8] {
        let at = self.place(self.front);
        let run = self.sink.run(at);
        let len = len.min(run.len());
        run.get_mut(..len).unwrap_or(&mut [])
    }

    /// The file has no byte at `offset` or beyond.
    fn ends_at(&mut self, offset: u64) {
        self.end = self.end.min(offset.max(self.front));
        self.eof = self.eof.min(self.end);
    }

    /// Everything before the first byte that is still awaited is there.
    fn settle_ready(&mut self, inflight: &Inflight<'_>) {
        let missing = inflight.of(self.ticket).map(|slot| slot.extent.offset).min();
        self.ready = missing.unwrap_or(self.next).min(self.end).max(self.ready);
    }

    fn ask(&mut self, extent: Extent, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        protocol.ask(Ask::Read { handle: self.handle, extent }, &mut self.stage, out)
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
        let until = self.end.min(self.front.saturating_add(ring));
        let Some(extent) = plan::next(self.next, until, request_len, &limits) else {
            return Ok(Progress::Wait);
        };
        // A request as long as what was just freed would shrink to the page: wait for a whole one, unless nothing
        // else is coming.
        let whole = extent.len == request_len || extent.end() == self.end;
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
            return Ok(Progress::Complete);
        }
        self.settle_ready(out.inflight());
        if self.end > self.front && self.sink.is_empty() {
            return Err(Error::Invalid("there is no page to read into"));
        }
        match self.ask_again(protocol, out)? {
            Progress::Complete => self.ask_next(protocol, out),
            progress => Ok(progress),
        }
    }

    fn answer(
        &mut self,
        slot: &Slot,
        landed: Landed,
        answer: Answer<P::Handle>,
    ) -> Result<Option<Extent>, Error> {
        let asked = slot.extent;
        match answer {
            Answer::Data => {
                let mut cover = Cover::new(asked);
                let brought = Segment::Data(Extent { len: landed.data, ..asked });
                if cover.add(brought).is_none() {
                    return Err(Error::Misbehaved("a read brought no data and no end of file"));
                }
                let rest = cover.rest();
                let rest = Extent { len: rest.len.saturating_add(slot.follows), ..rest };
                Ok((rest.len > 0 && rest.offset < self.end).then_some(rest))
            }
            Answer::EndOfFile => {
                self.ends_at(asked.offset);
                Ok(None)
            }
            _ => Err(Error::Misbehaved("a read was answered with something else")),
        }
    }

    fn refused(&mut self, slot: &Slot, error: Error) {
        self.refused.get_or_insert(error);
        // What was refused did not come: nothing from there on is lent.
        self.end = self.end.min(slot.extent.offset.max(self.front));
    }

    fn window(&mut self, extent: Extent, at: u32) -> &mut [u8] {
        let place = self.place(extent.after(at).offset);
        self.sink.run(place)
    }

    fn wipe(&mut self, extent: Extent) {
        let at = self.place(extent.offset);
        let len = extent.len as usize;
        let wraps = at.saturating_add(len).saturating_sub(self.sink.len());
        page::zero(self.sink, at, len);
        page::zero(self.sink, 0, wraps);
    }

    fn release(&mut self) {
        self.front = self.front.saturating_add(core::mem::take(&mut self.lent) as u64);
    }

    fn prepare(&mut self, _: &P, _: &[u8]) -> Result<bool, Error> {
        if !self.streams {
            return Ok(false);
        }
        let ready = self.ready.saturating_sub(self.front);
        let page = (self.sink.page_len() as u64).max(1);
        // Whole pages, unless these are the last bytes. `front` is at a page's start until then.
        let ready = if self.ready < self.end { ready - ready % page } else { ready };
        self.lent = self.front_run(usize::try_from(ready).unwrap_or(usize::MAX)).len();
        Ok(self.lent > 0)
    }
}
