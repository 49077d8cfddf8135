//! Asking what of a file is a hole, and whether it still is: what [`Map`](super::map::Map) and
//! [`Stream`](super::stream::Stream) share.

use super::Arrival;
use crate::attributes::Attributes;
use crate::digest::Digest;
use crate::error::{Error, Reason};
use crate::limits;
use crate::outgoing::Outbox;
use crate::protocol::{Answer, Ask, File, Progress, Protocol};
use crate::segment::{Joined, MapSegment, Survey};
use crate::wire;

/// What there is to know of an open file for reading it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<H> {
    pub handle: H,
    pub len: u64,
    pub sparse: bool,
    pub change: Option<u64>,
}

impl<H: Copy> Source<H> {
    pub const fn of(file: &File<H>) -> Self {
        let File { handle, attributes: Attributes { len, sparse, change, .. } } = *file;
        Source { handle, len, sparse, change }
    }
}

/// The ranges of a reply that were not looked at yet.
#[derive(Clone, Copy, Debug)]
struct Ranges {
    start: usize,
    len: usize,
    at: usize,
}

/// A map as it is told, reply by reply. Of which file is known to who holds it.
#[derive(Debug)]
pub(super) struct Mapping {
    /// Where the map starts.
    from: u64,
    survey: Survey,
    ranges: Option<Ranges>,
    /// The server cannot say what is not known yet.
    unsaid: bool,
    /// The protocol has nothing more to ask.
    complete: bool,
    /// A hole was told, so that it matters whether it still is one.
    told: bool,
    joined: Joined,
    check: Check,
    /// Replies since the last segment.
    idle: u32,
}

/// Whether what was told still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    Due,
    /// It is asked what the file is now.
    Looks,
    /// The server has no number that says whether it was changed: all is to be asked a second time.
    Doubts,
    /// It is. The first time it was this.
    Again(Digest),
    Same,
}

impl Mapping {
    /// Knows nothing yet of `from..end`.
    pub fn new(from: u64, end: u64) -> Self {
        Mapping {
            from,
            survey: Survey::new(from, end),
            ranges: None,
            unsaid: false,
            complete: false,
            told: false,
            joined: Joined::default(),
            check: Check::Due,
            idle: 0,
        }
    }

    /// Up to where replies have told.
    pub const fn known(&self) -> u64 {
        self.survey.known()
    }

    /// Whether there is nothing left to be told.
    pub const fn knows_all(&self) -> bool {
        self.survey.known() == self.survey.end()
    }

    /// Whether there is nothing left to be asked.
    pub const fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether the server could say all that was asked so far.
    pub const fn was_told(&self) -> bool {
        !self.unsaid
    }

    /// Whether a reply that is in `rx` is still needed.
    pub const fn holds_reply(&self) -> bool {
        self.ranges.is_some()
    }

    /// Whether the map is complete, and it is asked whether it still holds.
    pub fn verifies(&self) -> bool {
        self.check != Check::Due
    }

    /// Asks on. Once it is `Complete`, [`segment`](Self::segment) gives the rest.
    pub fn ask<P: Protocol>(
        &mut self,
        source: &Source<P::Handle>,
        protocol: &mut P,
        stage: &mut P::Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        if out.awaits_other() {
            return Ok(Progress::Wait);
        }
        let end = self.survey.end();
        let from = if self.unsaid { end } else { self.survey.known() };
        let Source { handle, sparse, .. } = *source;
        let progress = protocol.ask(Ask::Map { handle, sparse, from, end }, stage, out)?;
        if progress == Progress::Complete {
            self.complete = true;
            if self.survey.known() < end {
                self.unsaid = true;
                self.survey.learn(end, false)?;
            }
        }
        Ok(progress)
    }

    /// Asks whether what was told still holds, if anything was. `Complete` if so, and `Changed` if not.
    pub fn verify<P: Protocol>(
        &mut self,
        source: &Source<P::Handle>,
        protocol: &mut P,
        stage: &mut P::Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        match self.check {
            Check::Due if !self.told => return Ok(Progress::Complete),
            Check::Due => {
                let progress = protocol.ask(Ask::Look { handle: source.handle }, stage, out)?;
                if progress == Progress::Sent {
                    self.check = Check::Looks;
                }
                return Ok(progress);
            }
            Check::Doubts => {
                self.joined.end();
                let first = self.joined.digest();
                *self = Mapping { check: Check::Again(first), ..Mapping::new(self.from, self.survey.end()) };
            }
            Check::Looks => return Ok(Progress::Wait),
            Check::Again(_) => {}
            Check::Same => return Ok(Progress::Complete),
        }
        let progress = self.ask(source, protocol, stage, out)?;
        if let (Progress::Complete, Check::Again(first)) = (progress, self.check) {
            self.take_all(protocol, &[])?;
            self.joined.end();
            if self.joined.digest() != first {
                return Err(Error::Changed);
            }
            self.check = Check::Same;
        }
        Ok(progress)
    }

    /// What a reply says, whose message starts at `start` in the memory that [`segment`](Self::segment) is shown.
    pub fn learn<P: Protocol>(
        &mut self,
        source: &Source<P::Handle>,
        arrival: &Arrival<'_, P>,
        start: usize,
    ) -> Result<(), Error> {
        self.idle = self.idle.saturating_add(1);
        if self.idle > limits::IDLE_MAPS_MAX {
            return Err(Error::Misbehaved("reply after reply of a map and no segment"));
        }
        // The second time nobody else wants the segments.
        let again = matches!(self.check, Check::Again(_));
        let start = if again { 0 } else { start };
        match arrival.answer {
            Answer::Ranges { start: ranges, len, known } => {
                self.survey.learn(known, true)?;
                let ranges = Ranges { start: start.saturating_add(ranges), len, at: 0 };
                self.ranges = Some(ranges).filter(|_| len > 0);
            }
            Answer::Run { known, hole } => self.survey.learn(known, hole)?,
            Answer::Attributes(now) => self.looked(source, &now)?,
            Answer::Nothing | Answer::Again if self.check == Check::Looks => self.check = Check::Due,
            Answer::Nothing | Answer::Again => {}
            _ => return Err(Error::Misbehaved("a map was answered with something else")),
        }
        if again { self.take_all(arrival.protocol, arrival.message) } else { Ok(()) }
    }

    /// What the file is now.
    fn looked<H>(&mut self, then: &Source<H>, now: &Attributes) -> Result<(), Error> {
        if (now.change, now.len) != (then.change, then.len) {
            return Err(Error::Changed);
        }
        self.check = if now.change.is_some() { Check::Same } else { Check::Doubts };
        Ok(())
    }

    /// A request was refused. `Err` if that is the end of the operation: that there is no map is not.
    pub fn refused(&mut self, error: Error) -> Result<(), Error> {
        match error {
            Error::Refused(refusal) if refusal.reason == Reason::Unsupported && !self.verifies() => {
                self.give_up();
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// There is no more to be known: what was begun is ended.
    pub fn give_up(&mut self) {
        self.unsaid = true;
    }

    /// The next segment that is certain, as far as the replies have told, the last of which is still in `memory`.
    pub fn segment<P: Protocol>(&mut self, protocol: &P, memory: &[u8]) -> Result<Option<MapSegment>, Error> {
        // Each turn makes a segment or moves forward in the ranges, which `memory` bounds.
        while let Some(Ranges { start, len, at }) = self.ranges {
            let range = protocol.range(wire::slice(memory, start, len, "ranges of a map")?, at)?;
            let (done, segment) = self.survey.add(range.offset, range.len);
            if done {
                self.ranges = match range.next {
                    Some(next) if next <= at => return Err(Error::Misbehaved("a map goes round")),
                    next => next.map(|at| Ranges { start, len, at }),
                };
            }
            if let Some(segment) = segment {
                return Ok(Some(self.made(segment)));
            }
        }
        Ok(self.survey.rest().map(|segment| self.made(segment)))
    }

    fn made(&mut self, segment: MapSegment) -> MapSegment {
        self.told |= segment.hole;
        if self.joined.push(segment).is_some() || segment.len >= limits::MAP_GROWTH_MIN {
            self.idle = 0;
        }
        segment
    }

    fn take_all<P: Protocol>(&mut self, protocol: &P, memory: &[u8]) -> Result<(), Error> {
        // Each turn takes a segment, which the message bounds.
        while self.segment(protocol, memory)?.is_some() {}
        Ok(())
    }

    /// What the last reply has told behind the segments that were taken is to be asked again.
    pub fn forget_rest(&mut self) {
        self.ranges = None;
        self.survey.forget();
    }

    /// Takes the next `len` bytes for data, whatever the server would say.
    pub fn skip(&mut self, len: u64) {
        self.survey.skip(len);
        if !self.told {
            self.from = self.survey.known();
        }
    }
}
