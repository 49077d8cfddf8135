//! The pages as a ring over the file, without the whole pages of its holes. No requests are known here, and no protocol.

use super::Content;
use crate::holes::{Hole, Holes};
use crate::page::{self, Sink};
use crate::segment::Extent;

/// `front <= ready <= next <= end`: `front..ready` is verified and kept, `ready..next` was asked for, `next..end`
/// is still to be asked for, and no more than the ring holds. Where a byte lies: see [`Holes::position`].
pub(super) struct Ring<'p, L> {
    sink: &'p mut dyn Sink,
    base: u64,
    pub front: u64,
    ready: u64,
    pub next: u64,
    /// Where the file or what is wanted of it ends, as far as is known.
    pub end: u64,
    /// How much of the front was lent as an item.
    lent: u64,
    /// What is at the front is lent, and its pages are filled anew.
    pub streams: bool,
    pub holes: Holes<L>,
}

impl<'p, L: AsRef<[Hole]> + AsMut<[Hole]> + Default> Ring<'p, L> {
    pub fn new(offset: u64, end: u64, sink: &'p mut dyn Sink) -> Self {
        Ring {
            sink,
            base: offset,
            front: offset,
            ready: offset,
            next: offset,
            end,
            lent: 0,
            streams: false,
            holes: Holes::default(),
        }
    }

    /// Begins anew at `offset`.
    pub fn restart(&mut self, offset: u64, end: u64) {
        (self.base, self.front, self.ready, self.next, self.end) = (offset, offset, offset, offset, end);
        (self.lent, self.holes) = (0, Holes::default());
    }

    /// All of the pages.
    pub fn sink(&mut self) -> &mut dyn Sink {
        self.sink
    }

    /// Bytes of all pages.
    pub fn len(&self) -> usize {
        self.sink.len()
    }

    /// Bytes of a page; not 0.
    pub fn page(&self) -> u64 {
        (self.sink.page_len() as u64).max(1)
    }

    /// How many bytes were lent for good, or would be: of a read, all that it has filled.
    pub fn filled(&self) -> u64 {
        self.end.saturating_sub(self.base)
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
    #[expect(clippy::arithmetic_side_effects, reason = "the divisor is at least 1")]
    fn place(&self, offset: u64) -> usize {
        (self.position(offset) % (self.sink.len() as u64).max(1)) as usize
    }

    /// How many bytes may be asked for from `next` on.
    pub fn free(&self) -> u64 {
        let taken = self.position(self.next).saturating_sub(self.front_position());
        (self.sink.len() as u64).saturating_sub(taken)
    }

    /// Where what may be asked for from `next` on has to end: at a hole, if not at `mapped`, up to where holes are known.
    pub fn stop(&self, mapped: u64) -> u64 {
        self.holes.next_start(self.next).min(mapped)
    }

    /// What is known to be a hole is not asked for. Returns how many bytes that are.
    pub fn pass_holes(&mut self) -> u64 {
        let from = self.next;
        // Each turn passes one of the holes.
        while let Some(end) = self.holes.end_at(self.next).map(|end| end.min(self.end)) {
            if end <= self.next {
                break;
            }
            self.next = end;
        }
        self.next.saturating_sub(from)
    }

    /// Everything before `missing`, the first byte that is awaited, is there.
    pub fn settle(&mut self, missing: Option<u64>) {
        self.ready = missing.unwrap_or(self.next).min(self.end).max(self.ready);
    }

    /// Nothing from `offset` on is lent.
    pub fn ends_at(&mut self, offset: u64) {
        self.end = self.end.min(offset.max(self.front));
    }

    /// The memory of the byte `offset`, and what follows it in one run.
    pub fn window(&mut self, offset: u64) -> &mut [u8] {
        self.sink.run(self.place(offset))
    }

    /// Zeroes the memory of `extent`, which is in the ring.
    pub fn wipe(&mut self, extent: Extent) {
        let at = self.place(extent.offset);
        let len = extent.len as usize;
        let wraps = at.saturating_add(len).saturating_sub(self.sink.len());
        page::zero(self.sink, at, len);
        page::zero(self.sink, 0, wraps);
    }

    /// A part of what was asked for is a hole.
    pub fn told(&mut self, hole: Extent) {
        self.wipe(hole);
        if self.streams {
            self.holes.told(hole.offset, hole.end());
        }
    }

    /// Lends as much as can be. `false` if that is nothing.
    pub fn lend(&mut self) -> bool {
        self.lent = if self.streams { self.lendable() } else { 0 };
        self.lent > 0
    }

    /// Of a hole all that is known, of data whole pages in one run, up to where a hole or the end of the file comes.
    #[expect(clippy::arithmetic_side_effects, reason = "a page is never empty")]
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

    /// What was lent.
    pub fn content(&mut self) -> Content<'_> {
        if self.holes.first().is_some_and(|hole| hole.start <= self.front) {
            return Content::Hole(self.lent);
        }
        // It was no more than the run.
        let len = self.lent as usize;
        Content::Data(self.window(self.front).get(..len).unwrap_or(&[]))
    }

    /// What was lent is no longer looked at.
    pub fn release(&mut self) {
        self.front = self.front.saturating_add(core::mem::take(&mut self.lent));
        // One at a time is lent.
        if self.holes.first().is_some_and(|hole| hole.end <= self.front) {
            self.base = self.base.saturating_add(self.holes.first_skipped(self.base, self.page()));
            self.holes.pop();
        }
    }
}
