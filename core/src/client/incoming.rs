//! Bytes that arrive: which frame they belong to, and where they go in it.

use super::Client;
use crate::error::Error;
use crate::frame::{Frame, Place};
use crate::inflight::Landed;
use crate::limits;
use crate::operation::Job;
use crate::protocol::{Head, Left, Protocol};
use crate::segment::Segment;

impl<P: Protocol> Client<'_, P> {
    /// Where the next bytes go.
    pub(crate) fn window<'a>(&'a mut self, job: &'a mut dyn Job<P>) -> &'a mut [u8] {
        if let Some(have) = self.frame.marking {
            return self.frame.mark.get_mut(have.into()..).unwrap_or(&mut []);
        }
        let fragment = self.frame.left;
        match self.frame.place {
            Place::Head { start, have, want } => {
                let head = self.rx.get_mut(start..start.saturating_add(want)).unwrap_or(&mut []);
                first(head.get_mut(have..).unwrap_or(&mut []), fragment)
            }
            Place::Data { slot, at, left } => match self.out.inflight.get(slot) {
                Some(slot) if slot.ticket.is_of(self.ticket) => {
                    first(job.window(slot, at), left.min(fragment))
                }
                _ => first(self.rx.get_mut(self.filled..).unwrap_or(&mut []), left.min(fragment)),
            },
            Place::Skip { left } => {
                first(self.rx.get_mut(self.filled..).unwrap_or(&mut []), left.min(fragment))
            }
        }
    }

    /// `len` bytes have come into the window.
    pub(super) fn arrived(&mut self, job: &mut dyn Job<P>, len: usize) -> Result<(), Error> {
        if let Some(have) = self.frame.marking {
            // No more than the four that a mark has.
            return self.mark_arrives(job, have.saturating_add(len as u8));
        }
        // The window again, borrowed apart so that the protocol can see the bytes.
        let bytes = match self.frame.place {
            Place::Head { start, have, .. } => self.rx.get_mut(start.saturating_add(have)..),
            Place::Data { slot, at, .. } => match self.out.inflight.get(slot) {
                Some(slot) if slot.ticket.is_of(self.ticket) => Some(job.window(slot, at)),
                _ => self.rx.get_mut(self.filled..),
            },
            Place::Skip { .. } => self.rx.get_mut(self.filled..),
        };
        self.protocol.absorb(bytes.and_then(|bytes| bytes.get_mut(..len)).unwrap_or(&mut []));
        // A window is never longer than what is left of the fragment.
        let len = len as u32;
        self.frame.left = self.frame.left.saturating_sub(len);
        self.progress = self.progress.saturating_add(len);
        if self.progress >= limits::PROGRESS_LEN {
            self.renew();
        }
        let ended = match self.frame.place {
            Place::Head { start, have, want } => {
                let have = have.saturating_add(len as usize);
                self.frame.place = Place::Head { start, have, want };
                if have < want { Ok(false) } else { self.judge_head(job, start, have) }
            }
            _ => Ok(self.frame.body_arrives(len)),
        };
        match ended {
            Ok(false) => Ok(()),
            Ok(true) => self.part_ends(),
            Err(error) => self.poisoned(error),
        }?;
        self.fragment_ends(job)
    }

    /// Where a fragment has ended another mark follows, or the frame was too short for what it holds.
    fn fragment_ends(&mut self, job: &mut dyn Job<P>) -> Result<(), Error> {
        match (self.frame.left, self.frame.last) {
            _ if !self.frame.marked => Ok(()),
            (0, true) => self.ends_with_nothing(job),
            (0, false) => {
                self.frame.marking = Some(0);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The last fragment is over, and the frame is not: either an empty fragment told that it had ended with the one
    /// before, or bytes are missing.
    fn ends_with_nothing(&mut self, job: &mut dyn Job<P>) -> Result<(), Error> {
        let ended = match self.frame.place {
            // Between two parts.
            Place::Head { have: 0, .. } if self.filled > 0 => return self.frame_ends(),
            // A head that goes on as long as its frame does.
            Place::Head { start, have, .. } if have > 0 => self.judge_head(job, start, have),
            _ => Ok(false),
        };
        match ended {
            Ok(true) => self.part_ends(),
            Ok(false) => self.poisoned(Error::Malformed("a message ends before its head does")),
            Err(error) => self.poisoned(error),
        }
    }

    /// Something is wrong with the frame. The rest of it is thrown away, and its end tells whether it was the server that
    /// sent it: only then is what is wrong with it of interest.
    fn poisoned(&mut self, error: Error) -> Result<(), Error> {
        self.poison.get_or_insert(error);
        self.frame.place = Place::Skip { left: u32::MAX };
        if self.frame.over() { self.frame_ends() } else { Ok(()) }
    }

    fn mark_arrives(&mut self, job: &mut dyn Job<P>, have: u8) -> Result<(), Error> {
        self.frame.marking = Some(have);
        if usize::from(have) < self.frame.mark.len() {
            return Ok(());
        }
        let mark = self.protocol.mark(self.frame.mark)?;
        let begins = !self.frame.marked;
        let frame = &mut self.frame;
        frame.marking = None;
        (frame.left, frame.last) = (mark.len, mark.last);
        frame.announced = frame.announced.saturating_add(mark.len);
        frame.marked = true;
        frame.empty_fragments = frame.empty_fragments.saturating_add(u32::from(mark.len == 0));
        if frame.announced > limits::FRAME_LEN_MAX {
            return Err(Error::Malformed("length of a frame"));
        }
        if frame.empty_fragments > limits::EMPTY_FRAGMENTS_MAX {
            return Err(Error::Misbehaved("fragment after fragment and nothing in them"));
        }
        if begins { self.frame_begins(job) } else { self.fragment_ends(job) }
    }

    fn frame_begins(&mut self, job: &mut dyn Job<P>) -> Result<(), Error> {
        self.filled = 0;
        self.idle_frames = self.idle_frames.saturating_add(1);
        if self.idle_frames > limits::IDLE_FRAMES_MAX {
            return Err(Error::Misbehaved("frame after frame and no reply"));
        }
        if self.frame.over() {
            self.frame = Frame::new();
            return Ok(());
        }
        self.begin_head().or_else(|error| self.poisoned(error))?;
        self.fragment_ends(job)
    }

    /// The next bytes are a head, behind the heads that are kept.
    fn begin_head(&mut self) -> Result<(), Error> {
        let left = Left { len: self.frame.left, last: self.frame.last };
        self.want_head(self.filled, 0, self.protocol.head_len(left))
    }

    fn want_head(&mut self, start: usize, have: usize, want: usize) -> Result<(), Error> {
        if self.frame.last && want.saturating_sub(have) > self.frame.left as usize {
            return Err(Error::Malformed("a message ends before its head does"));
        }
        let need = start.saturating_add(want).saturating_add(limits::SCRATCH_LEN);
        if need > self.rx.len() {
            return Err(Error::Budget { what: "rx", need, have: self.rx.len() });
        }
        self.frame.place = Place::Head { start, have, want };
        Ok(())
    }

    /// A head is complete as far as it was wanted. Returns whether its part has ended with it.
    fn judge_head(&mut self, job: &mut dyn Job<P>, start: usize, have: usize) -> Result<bool, Error> {
        let bytes = crate::wire::slice(self.rx, start, have, "head")?;
        let left = Left { len: self.frame.left, last: self.frame.last };
        let head = self.protocol.head(bytes, left, &self.out.inflight)?;
        let mut at = 0;
        match head {
            Head::Need(want) if want > have => return self.want_head(start, have, want).map(|()| false),
            Head::Need(_) => return Err(Error::Malformed("head")),
            Head::Forget => return self.begin_head().map(|()| false),
            Head::Message { slot: Some(slot), .. } => self.lands(slot, start, have, 0),
            Head::Message { slot: None, .. } if self.notice.is_some() => {
                return Err(Error::Misbehaved("two messages in one frame that nobody asked for"));
            }
            Head::Message { slot: None, .. } => {
                self.filled = start.saturating_add(have);
                self.notice = Some((start, have));
            }
            Head::Data { slot, len, .. } => self.lands(slot, start, have, len),
            Head::Segment { slot, segment, .. } => at = self.brings(job, slot, segment)?,
        }
        self.frame.head_ends(head, at).ok_or(Error::Malformed("a message is longer than its frame"))
    }

    /// A reply is there, but for segments, and not yet believed: only the end of the frame lets it be dispatched.
    fn lands(&mut self, slot: usize, start: usize, len: usize, brought: u32) {
        self.filled = start.saturating_add(len);
        self.out.inflight.land(slot, Landed { start, len, brought, holes: 0 });
    }

    /// The next segment of a reply. Returns where in the slot's extent it begins.
    fn brings(&mut self, job: &mut dyn Job<P>, index: usize, segment: Segment) -> Result<u32, Error> {
        let at = self.out.inflight.brought(index);
        self.out
            .inflight
            .bring(index, segment)
            .ok_or(Error::Misbehaved("a reply brings more than was asked for"))?;
        if let (Segment::Hole(hole), Some(slot)) = (segment, self.out.inflight.get(index)) {
            if slot.ticket.is_of(self.ticket) {
                job.hole(slot, hole);
            }
        }
        Ok(at)
    }

    fn part_ends(&mut self) -> Result<(), Error> {
        let outcome = match self.protocol.part_end() {
            Ok(()) if self.frame.over() => return self.frame_ends(),
            Ok(()) => self.begin_head(),
            Err(error) => Err(error),
        };
        outcome.or_else(|error| self.poisoned(error))
    }

    fn frame_ends(&mut self) -> Result<(), Error> {
        self.frame = Frame::new();
        self.protocol.frame_end()?;
        self.noticed |= self.notice.is_some();
        self.stir();
        self.poison.map_or(Ok(()), Err)
    }
}

fn first(bytes: &mut [u8], len: u32) -> &mut [u8] {
    let len = bytes.len().min(len as usize);
    bytes.get_mut(..len).unwrap_or(&mut [])
}
