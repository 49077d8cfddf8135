//! The map ahead of a stream: asked for before the reads come to where it ends.

use super::Arrival;
use super::mapping::Mapping;
use super::ring::Ring;
use crate::error::Error;
use crate::limits;
use crate::outgoing::Outbox;
use crate::protocol::{Answer, File, Progress, Protocol};

/// A map, of which as many holes are in a [`Ring`] as it has room for.
pub(super) struct Ahead<P: Protocol> {
    mapping: Mapping<P>,
    /// Runs in a row that were told one by one, all of them short.
    dull: u32,
    /// There is a number that says whether the file was changed. Without it all is asked twice, and nothing may be skipped.
    numbered: bool,
}

/// Whether the protocol can tell of holes at all. If not the compiler sees that, and nothing that is about them is linked.
const fn tells<P: Protocol>() -> bool {
    size_of::<P::Holes>() > 0
}

/// It, if there is one.
pub(super) fn known<P: Protocol>(ahead: &mut Option<Ahead<P>>) -> Option<&mut Ahead<P>> {
    ahead.as_mut().filter(|_| tells::<P>())
}

impl<P: Protocol> Ahead<P> {
    /// Nothing is known from `from` on. `None` if the file has no hole that is worth while, as far as is known.
    pub fn of(file: &File<P::Handle>, from: u64) -> Option<Self> {
        let worth = tells::<P>() && file.attributes.sparse && file.attributes.len >= limits::HOLE_LEN_MIN;
        let numbered = file.attributes.change.is_some();
        worth.then(|| Ahead { mapping: Mapping::new(file, from), dull: 0, numbered })
    }

    /// Up to where it is known what is data.
    pub fn mapped(&self, ring: &Ring<'_, P::Holes>) -> u64 {
        let known = if self.mapping.verifies() { ring.end } else { self.mapping.known().min(ring.end) };
        ring.holes.unsettled().map_or(known, |start| known.min(start))
    }

    /// Asks for more, if it is time.
    pub fn ask(
        &mut self,
        ring: &mut Ring<'_, P::Holes>,
        protocol: &mut P,
        stage: &mut P::Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        if self.mapping.is_complete() || self.mapping.verifies() {
            return Ok(Progress::Complete);
        }
        let ahead = ring.next.saturating_add(ring.len() as u64);
        let enough = self.mapped(ring) > ahead || ring.holes.is_crowded();
        if enough && !self.mapping.knows_all() {
            return Ok(Progress::Wait);
        }
        let progress = self.mapping.ask(protocol, stage, out)?;
        if self.mapping.is_complete() {
            self.learn_segments(ring, protocol, &[])?;
            ring.holes.settle();
        }
        Ok(progress)
    }

    /// Asks whether what was told still holds.
    pub fn verify(
        &mut self,
        protocol: &mut P,
        stage: &mut P::Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        if out.in_flight() > 0 && !self.mapping.verifies() {
            return Ok(Progress::Wait);
        }
        self.mapping.verify(protocol, stage, out)
    }

    /// A reply. Where runs are told one by one and all are short, part of the file is taken for data.
    pub fn learn(&mut self, ring: &mut Ring<'_, P::Holes>, arrival: &Arrival<'_, P>) -> Result<(), Error> {
        let before = self.mapping.known();
        self.mapping.learn(arrival, 0)?;
        if self.mapping.verifies() {
            return Ok(());
        }
        let told = self.mapping.known().saturating_sub(before);
        self.learn_segments(ring, arrival.protocol, arrival.message)?;
        let short = matches!(arrival.answer, Answer::Run { .. }) && told < limits::MAP_LEN_MIN;
        self.dull = if short && self.numbered { self.dull.saturating_add(1) } else { 0 };
        if self.dull >= limits::DULL_MAPS_MAX {
            self.dull = 0;
            self.skip(ring, limits::MAP_SKIP_LEN);
        }
        Ok(())
    }

    /// Takes what the last reply says, as far as there is room for holes.
    fn learn_segments(
        &mut self,
        ring: &mut Ring<'_, P::Holes>,
        protocol: &P,
        message: &[u8],
    ) -> Result<(), Error> {
        // Each turn takes a segment, which the message bounds.
        while !ring.holes.is_full() {
            match self.mapping.segment(protocol, message)? {
                Some(segment) if segment.hole => ring.holes.learn(segment.offset, segment.end()),
                Some(_) => ring.holes.settle(),
                None => return Ok(()),
            }
        }
        self.mapping.forget_rest();
        Ok(())
    }

    /// The next `len` bytes that were not told of are taken for data.
    pub fn skip(&mut self, ring: &mut Ring<'_, P::Holes>, len: u64) {
        self.mapping.skip(len);
        ring.holes.settle();
    }

    /// A request was refused. A map that cannot be had is none: then all is read. `Err` if it was whether it still holds.
    pub fn refused(&mut self, error: Error) -> Result<(), Error> {
        if self.mapping.verifies() {
            return Err(error);
        }
        self.mapping.give_up();
        Ok(())
    }

    /// No more is wanted: what was begun is ended.
    pub fn end(
        &mut self,
        protocol: &mut P,
        stage: &mut P::Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        self.mapping.give_up();
        self.mapping.ask(protocol, stage, out)
    }
}
