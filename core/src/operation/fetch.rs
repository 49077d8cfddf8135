//! Reads files by their paths: opened, read and closed, several side by side.

use super::filling::Filling;
use super::lane::{Lane, State, head_of};
use super::{Arrival, Content, Job, Lend, Operation};
use crate::attributes::Attributes;
use crate::error::Error;
use crate::inflight::{Slot, Ticket};
use crate::outgoing::Outbox;
use crate::page::{self, Sink};
use crate::protocol::{File, Progress, Protocol};
use crate::segment::Extent;

/// Reads one file after another and lends them in the order of their paths, while those behind are opened and read
/// already: as many as there are lanes. What the protocol can ask for together (open it, read its start) is asked together, so a
/// file that is no longer than a head costs one round trip, and many of them cost no more than one for all
/// that are in flight. The rest of a longer file is read through the pages, as [`Stream`](super::stream::Stream) does.
///
/// For each path it lends [`Fetched::Opened`], the content, and [`Fetched::Ended`]; or [`Fetched::Failed`] at any
/// point, after which the next path follows. Without paths it is `Done` at once. Dropped half-way it leaves files open: the
/// lanes know those that were opened ([`Lane::left_open`]), and nobody those that were about to be. [`Fetch::stop`] leaves none.
pub struct Fetch<'l, 'p, P: Protocol> {
    ticket: Ticket,
    /// `None` once it was stopped.
    paths: Option<&'l mut dyn Iterator<Item = &'p str>>,
    lanes: &'l mut [Lane<'p, P>],
    /// The lane whose file is lent, and how many are in use from there on.
    front: usize,
    used: usize,
    heads: &'l mut dyn Sink,
    /// Memory for the start of each file.
    head_len: u32,
    /// Taken by `tail` with the first long file.
    pages: Option<&'l mut dyn Sink>,
    tail: Option<Filling<'l, P>>,
    /// Of a tail that is not there.
    spare: P::Stage,
    reads: Reads,
    place: Place,
    current: Current,
}

/// What the tail does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    Nothing,
    /// The file at the front.
    Front,
    /// It did, and nothing more comes.
    Ended,
}

/// What of the front file is lent next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Attributes,
    Head(u32),
    Tail,
    End,
}

/// What is lent now.
#[derive(Clone, Copy, Debug)]
enum Current {
    Nothing,
    Opened { file: Attributes, whole: bool },
    Head { at: u32, len: u32 },
    Tail,
    Ended(u64),
    Failed(Error),
}

/// What a [`Fetch`] lends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched<'i> {
    /// The next path is a file.
    Opened {
        /// As it was then.
        file: Attributes,
        /// All of it is there, and is what it was then: it came with its opening, or with replies that told so. All else may be parts of
        /// two versions, unless a [`Stat`](crate::Stat) after its end tells that it is [the same](Attributes::change_since).
        whole: bool,
    },
    /// What it holds from there on, in order.
    Content(Content<'i>),
    /// It ends at this offset: all of it was lent.
    Ended(u64),
    /// It was not opened, or could not be read on. The next path follows.
    Failed(Error),
}

/// Parts of several files.
#[derive(Clone, Copy, Debug)]
pub struct Files;

impl Lend for Files {
    type Item<'i> = Fetched<'i>;
}

impl<'l, 'p, P: Protocol> Fetch<'l, 'p, P> {
    /// `heads` is shared out among the `lanes`: each has room for the start of its file. `pages` are for the rest of long files.
    /// Nothing happens before its first step.
    pub fn new(
        paths: &'l mut dyn Iterator<Item = &'p str>,
        lanes: &'l mut [Lane<'p, P>],
        heads: &'l mut dyn Sink,
        pages: &'l mut dyn Sink,
    ) -> Self {
        let share = heads.len().checked_div(lanes.len()).unwrap_or(0);
        Fetch {
            ticket: Ticket::NOBODY,
            paths: Some(paths),
            lanes,
            front: 0,
            used: 0,
            heads,
            head_len: u32::try_from(share).unwrap_or(u32::MAX),
            pages: Some(pages),
            tail: None,
            spare: P::Stage::default(),
            reads: Reads::Nothing,
            place: Place::Attributes,
            current: Current::Nothing,
        }
    }

    /// Takes no more paths, and reads no further. Run to its end it lends [`Fetched::Failed`] for each path that it took and did
    /// not end, and closes what is open.
    pub fn stop(&mut self) {
        self.paths = None;
        for lane in self.lanes.iter_mut().filter(|lane| lane.state == State::Reading) {
            lane.failed.get_or_insert(Error::Invalid("the files are not wanted any more"));
        }
    }

    /// The lane behind all others: that of the tail.
    fn tail_lane(&self) -> u16 {
        self.lanes.len() as u16
    }

    /// The lane `nth` behind the front.
    fn index(&self, nth: usize) -> usize {
        self.front.saturating_add(nth).checked_rem(self.lanes.len()).unwrap_or(0)
    }

    /// Closes what is over, goes on with what is begun, and begins what is next.
    fn poll_lanes(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let mut all = Progress::Complete;
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            all = match (all, lane.send(self.head_len, protocol, &mut out.at(index as u16))?) {
                (_, Progress::Connect(port)) => return Ok(Progress::Connect(port)),
                (all, Progress::Complete) | (all @ Progress::Sent, _) => all,
                (_, progress) => progress,
            };
        }
        Ok(all)
    }

    /// Gives the next path to a lane that is free: its number. `None` if there is none of either.
    fn begin(&mut self) -> Option<usize> {
        let index = self.index(self.used);
        let lane = self.lanes.get_mut(index).filter(|lane| lane.state == State::Free)?;
        let path = self.paths.as_mut()?.next()?;
        lane.begin(path);
        self.used = self.used.saturating_add(1);
        Some(index)
    }

    fn poll_front(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        match self.lanes.get_mut(self.front) {
            Some(lane) => lane.send(self.head_len, protocol, &mut out.at(self.front as u16)),
            None => Ok(Progress::Complete),
        }
    }

    fn poll_tail(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        self.begin_tail();
        let (ticket, lane) = (self.ticket, self.tail_lane());
        let failed = self.lanes.get(self.front).and_then(|lane| lane.failed);
        let Some(tail) = self.tail.as_mut().filter(|_| self.reads == Reads::Front) else {
            return Ok(Progress::Complete);
        };
        *tail.ticket() = ticket.at(lane);
        failed.into_iter().for_each(|error| tail.fail(error));
        let progress = match tail.poll(protocol, &mut out.at(lane)) {
            Err(error) if !error.is_fatal() => {
                tail.fail(error);
                tail.poll(protocol, &mut out.at(lane))?
            }
            progress => progress?,
        };
        if progress == Progress::Complete && out.at(lane).in_flight() == 0 {
            self.reads = Reads::Ended;
        }
        Ok(progress)
    }

    /// Once the file at the front is open, what is behind its head is read.
    fn begin_tail(&mut self) {
        let Some(lane) = self.lanes.get(self.front).filter(|lane| lane.state == State::Reading) else {
            return;
        };
        let Some(file) = lane.file else { return };
        let from = head_of(&file.attributes, self.head_len).into();
        if file.attributes.len <= from {
            return;
        }
        if self.reads != Reads::Nothing || lane.failed.is_some() {
            return;
        }
        match (&mut self.tail, self.pages.take()) {
            (Some(tail), _) => tail.take_up(&file, from),
            (None, Some(pages)) => {
                let mut tail = Filling::stream(&file, from, pages);
                tail.map();
                self.tail = Some(tail);
            }
            (None, None) => {}
        }
        self.reads = Reads::Front;
    }

    /// What of the open file at the front can be lent.
    fn content(
        &mut self,
        file: File<P::Handle>,
        (has, whole): (u32, bool),
        protocol: &P,
    ) -> Result<Current, Error> {
        let want = head_of(&file.attributes, self.head_len);
        loop {
            match self.place {
                Place::Attributes => {
                    self.place = Place::Head(0);
                    return Ok(Current::Opened { file: file.attributes, whole });
                }
                Place::Head(_) if has < want => return Ok(Current::Nothing),
                Place::Head(at) if at < want => {
                    let place = head_at(self.front, self.head_len).saturating_add(at as usize);
                    let len = (self.heads.run(place).len()).min(want.saturating_sub(at) as usize) as u32;
                    self.place = Place::Head(at.saturating_add(len));
                    return Ok(Current::Head { at, len });
                }
                Place::Head(_) if self.reads != Reads::Nothing => self.place = Place::Tail,
                Place::Head(_) => {
                    self.place = Place::End;
                    return Ok(Current::Ended(file.attributes.len));
                }
                Place::Tail => return self.tail_content(protocol),
                Place::End => return Ok(Current::Nothing),
            }
        }
    }

    fn tail_content(&mut self, protocol: &P) -> Result<Current, Error> {
        let Some(tail) = &mut self.tail else { return Ok(Current::Nothing) };
        if tail.prepare(protocol, &[])? {
            return Ok(Current::Tail);
        }
        if self.reads != Reads::Ended {
            return Ok(Current::Nothing);
        }
        let (result, end) = (tail.result(), tail.ring.end);
        self.place = Place::End;
        Ok(result.map_or_else(Current::Failed, |()| Current::Ended(end)))
    }
}

/// Where in the memory for heads that of a lane starts.
const fn head_at(lane: usize, head_len: u32) -> usize {
    lane.saturating_mul(head_len as usize)
}

impl<P: Protocol> Job<P> for Fetch<'_, '_, P> {
    fn ticket(&mut self) -> &mut Ticket {
        &mut self.ticket
    }

    fn stage(&mut self, lane: u16) -> &mut P::Stage {
        match (self.lanes.get_mut(lane as usize), &mut self.tail) {
            (Some(lane), _) => &mut lane.stage,
            (None, Some(tail)) => tail.stage(lane),
            // Nothing was asked for a tail that is not there.
            (None, None) => &mut self.spare,
        }
    }

    fn poll(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        if self.lanes.is_empty() || self.head_len == 0 {
            return Err(Error::Invalid("there is no lane, or no room for the start of a file"));
        }
        if self.lanes.len() >= usize::from(u16::MAX) {
            return Err(Error::Invalid("there are more lanes than 65,534"));
        }
        // The head of the file at the front goes before its tail, since nothing of it is lent without.
        for part in [Self::poll_front, Self::poll_tail] {
            let progress = part(self, protocol, out)?;
            if matches!(progress, Progress::Sent | Progress::Connect(_)) {
                return Ok(progress);
            }
        }
        let mut progress = self.poll_lanes(protocol, out)?;
        // Each turn takes a free lane. The others have nothing to say to what it sends.
        while !matches!(progress, Progress::Connect(_))
            && let Some(index) = self.begin()
        {
            let Some(lane) = self.lanes.get_mut(index) else { break };
            match lane.send(self.head_len, protocol, &mut out.at(index as u16))? {
                Progress::Wait if progress == Progress::Sent => {}
                other => progress = other,
            }
        }
        Ok(progress)
    }

    fn answer(&mut self, arrival: Arrival<'_, P>) -> Result<Option<Extent>, Error> {
        let lane = arrival.slot.ticket.lane();
        match (self.lanes.get_mut(lane as usize), &mut self.tail) {
            (Some(lane), _) => lane.answer(&arrival).map(|()| None),
            (None, Some(tail)) => tail.answer(arrival),
            (None, None) => Ok(None),
        }
    }

    fn refused(&mut self, slot: &Slot, error: Error) {
        match (self.lanes.get_mut(slot.ticket.lane() as usize), &mut self.tail) {
            // The first refusal is the cause; those of its followers in a chain only repeat it.
            (Some(lane), _) => drop(lane.failed.get_or_insert(error)),
            (None, Some(tail)) => tail.refused(slot, error),
            (None, None) => {}
        }
    }

    fn window(&mut self, slot: &Slot, at: u32) -> &mut [u8] {
        let lane = slot.ticket.lane() as usize;
        match &mut self.tail {
            _ if lane < self.lanes.len() => {
                let at = slot.extent.after(at).offset as usize;
                let at = head_at(lane, self.head_len).saturating_add(at);
                self.heads.run(at)
            }
            Some(tail) => tail.window(slot, at),
            None => &mut [],
        }
    }

    fn hole(&mut self, slot: &Slot, extent: Extent) {
        match &mut self.tail {
            _ if (slot.ticket.lane() as usize) < self.lanes.len() => self.wipe(slot, extent),
            Some(tail) => tail.hole(slot, extent),
            None => {}
        }
    }

    fn wipe(&mut self, slot: &Slot, extent: Extent) {
        let lane = slot.ticket.lane() as usize;
        match &mut self.tail {
            _ if lane < self.lanes.len() => {
                let at = head_at(lane, self.head_len).saturating_add(extent.offset as usize);
                page::zero(self.heads, at, extent.len as usize);
            }
            Some(tail) => tail.wipe(slot, extent),
            None => {}
        }
    }

    fn release(&mut self) {
        match core::mem::replace(&mut self.current, Current::Nothing) {
            Current::Tail => self.tail.iter_mut().for_each(|tail| tail.release()),
            Current::Ended(_) | Current::Failed(_) => {
                if let Some(lane) = self.lanes.get_mut(self.front) {
                    lane.state = State::Over;
                }
                (self.front, self.used) = (self.index(1), self.used.saturating_sub(1));
                (self.place, self.reads) = (Place::Attributes, Reads::Nothing);
            }
            _ => {}
        }
    }

    fn prepare(&mut self, protocol: &P, _: &[u8]) -> Result<bool, Error> {
        let Some(lane) = self.lanes.get(self.front) else { return Ok(false) };
        self.current = match (lane.failed, lane.file) {
            _ if lane.state != State::Reading || !lane.idle => Current::Nothing,
            (Some(_), Some(file)) if self.place == Place::Attributes => {
                self.content(file, (lane.has, false), protocol)?
            }
            (Some(_), _) if self.reads == Reads::Front => Current::Nothing,
            (Some(error), _) => Current::Failed(error),
            (None, Some(file)) => {
                let come = (lane.has, lane.is_whole(&file.attributes));
                self.content(file, come, protocol)?
            }
            (None, None) => Current::Nothing,
        };
        Ok(!matches!(self.current, Current::Nothing))
    }
}

impl<P: Protocol> Operation<P> for Fetch<'_, '_, P> {
    type Lends = Files;
    type Output = ();

    fn job(&mut self) -> &mut dyn Job<P> {
        self
    }

    fn item<'i>(&'i mut self, _: &'i [u8]) -> Fetched<'i> {
        match (self.current, &mut self.tail) {
            (Current::Opened { file, whole }, _) => Fetched::Opened { file, whole },
            (Current::Head { at, len }, _) => {
                let at = head_at(self.front, self.head_len).saturating_add(at as usize);
                let run = self.heads.run(at);
                Fetched::Content(Content::Data(run.get(..len as usize).unwrap_or(&[])))
            }
            (Current::Tail, Some(tail)) => Fetched::Content(tail.content()),
            (Current::Failed(error), _) => Fetched::Failed(error),
            (Current::Ended(end), _) => Fetched::Ended(end),
            (Current::Nothing | Current::Tail, _) => Fetched::Content(Content::Hole(0)),
        }
    }

    fn output(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
