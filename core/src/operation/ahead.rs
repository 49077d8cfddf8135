//! The map ahead of a stream: asked for before the reads come to where it ends.

use super::Arrival;
use super::mapping::{Mapping, Source};
use super::ring::Ring;
use crate::error::Error;
use crate::limits;
use crate::outgoing::Outbox;
use crate::protocol::{Answer, Progress, Protocol};

/// A map, of which as many holes are in a [`Ring`] as it has room for.
#[derive(Debug)]
pub struct Ahead {
    mapping: Mapping,
    /// Runs in a row that were told one by one, all of them short.
    dull: u32,
}

/// It, if there is one. Of a protocol that can tell of no holes the compiler sees that there is none, and nothing that is about
/// them is linked.
pub(super) fn known(map: &mut impl AsMut<[Option<Ahead>]>) -> Option<&mut Ahead> {
    map.as_mut().first_mut()?.as_mut()
}

impl Ahead {
    /// Nothing is known from `from` on. `None` if the file has no hole that is worth while, as far as is known.
    pub(super) fn of<H>(source: &Source<H>, from: u64) -> Option<Self> {
        let worth = source.sparse && source.len >= limits::HOLE_LEN_MIN;
        worth.then(|| Ahead { mapping: Mapping::new(from, source.len), dull: 0 })
    }

    /// Up to where it is known what is data.
    pub(super) fn mapped<P: Protocol>(&self, ring: &Ring<'_, P::Holes>) -> u64 {
        let known = if self.mapping.verifies() { ring.end } else { self.mapping.known().min(ring.end) };
        ring.holes.unsettled().map_or(known, |start| known.min(start))
    }

    /// Asks for more, if it is time.
    pub(super) fn ask<P: Protocol>(
        &mut self,
        source: &Source<P::Handle>,
        ring: &mut Ring<'_, P::Holes>,
        protocol: &mut P,
        stage: &mut P::Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        if self.mapping.is_complete() || self.mapping.verifies() {
            return Ok(Progress::Complete);
        }
        let ahead = ring.next.saturating_add(ring.len() as u64);
        let enough = self.mapped::<P>(ring) > ahead || ring.holes.is_crowded();
        if enough && !self.mapping.knows_all() {
            return Ok(Progress::Wait);
        }
        let progress = self.mapping.ask(source, protocol, stage, out)?;
        if self.mapping.is_complete() {
            self.learn_segments(ring, protocol, &[])?;
            ring.holes.settle();
        }
        Ok(progress)
    }

    /// Asks whether what was told still holds.
    pub(super) fn verify<P: Protocol>(
        &mut self,
        source: &Source<P::Handle>,
        protocol: &mut P,
        stage: &mut P::Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        if out.in_flight() > 0 && !self.mapping.verifies() {
            return Ok(Progress::Wait);
        }
        self.mapping.verify(source, protocol, stage, out)
    }

    /// A reply. Where runs are told one by one and all are short, part of the file is taken for data: if there is a number that says
    /// whether the file was changed. Without it all is asked twice, and nothing may be skipped.
    pub(super) fn learn<P: Protocol>(
        &mut self,
        source: &Source<P::Handle>,
        ring: &mut Ring<'_, P::Holes>,
        arrival: &Arrival<'_, P>,
    ) -> Result<(), Error> {
        let before = self.mapping.known();
        self.mapping.learn(source, arrival, 0)?;
        if self.mapping.verifies() {
            return Ok(());
        }
        let told = self.mapping.known().saturating_sub(before);
        self.learn_segments(ring, arrival.protocol, arrival.message)?;
        let short = matches!(arrival.answer, Answer::Run { .. }) && told < limits::MAP_LEN_MIN;
        self.dull = if short && source.change.is_some() { self.dull.saturating_add(1) } else { 0 };
        if self.dull >= limits::DULL_MAPS_MAX {
            self.dull = 0;
            self.skip::<P>(ring, limits::MAP_SKIP_LEN);
        }
        Ok(())
    }

    /// Takes what the last reply says, as far as there is room for holes.
    fn learn_segments<P: Protocol>(
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
    pub(super) fn skip<P: Protocol>(&mut self, ring: &mut Ring<'_, P::Holes>, len: u64) {
        self.mapping.skip(len);
        ring.holes.settle();
    }

    /// A request was refused. A map that cannot be had is none: then all is read. `Err` if it was whether it still holds.
    pub(super) fn refused(&mut self, error: Error) -> Result<(), Error> {
        if self.mapping.verifies() {
            return Err(error);
        }
        self.mapping.give_up();
        Ok(())
    }

    /// No more is wanted: what was begun is ended.
    pub(super) fn end<P: Protocol>(
        &mut self,
        source: &Source<P::Handle>,
        protocol: &mut P,
        stage: &mut P::Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        self.mapping.give_up();
        self.mapping.ask(source, protocol, stage, out)
    }
}
