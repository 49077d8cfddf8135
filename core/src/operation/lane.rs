//! One of the files that a [`Fetch`](super::fetch::Fetch) opens and reads side by side.

use super::Arrival;
use crate::attributes::{Attributes, Version};
use crate::error::Error;
use crate::limits::HOLE_LEN_MIN;
use crate::outgoing::Outbox;
use crate::protocol::{Answer, Ask, File, Progress, Protocol};
use crate::segment::Extent;

/// Memory for one file that is opened and read besides others.
#[derive(Debug)]
pub struct Lane<'p, P: Protocol> {
    pub(super) path: &'p str,
    pub(super) stage: P::Stage,
    pub(super) state: State,
    pub(super) file: Option<File<P::Handle>>,
    pub(super) failed: Option<Error>,
    /// How much of the file's start is there.
    pub(super) has: u32,
    /// Some of that was asked for when the file was open already, and nothing told that it still was the same.
    apart: bool,
    /// What the last reply that brought data told of the file. It may have come before the file was open.
    told: Option<Version>,
    /// Nothing is in flight for it.
    pub(super) idle: bool,
}

/// What is done with the file of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Free,
    Reading,
    /// Only to be closed.
    Over,
}

impl<'p, P: Protocol> Lane<'p, P> {
    /// One without a file.
    pub fn new() -> Self {
        Lane {
            path: "",
            stage: P::Stage::default(),
            state: State::Free,
            file: None,
            failed: None,
            has: 0,
            apart: false,
            told: None,
            idle: true,
        }
    }

    /// Takes up the next file.
    pub(super) fn begin(&mut self, path: &'p str) {
        *self = Lane { path, state: State::Reading, ..Lane::new() };
    }

    /// The file that a [`Fetch`](super::fetch::Fetch) which was dropped has left open.
    pub fn left_open(&self) -> Option<File<P::Handle>> {
        self.file.filter(|_| self.state != State::Free)
    }

    /// Sends all that it has to send now: with many lanes, to begin at the first one after each request takes long.
    pub(super) fn send(
        &mut self,
        head_len: u32,
        protocol: &mut P,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        let mut sent = None;
        loop {
            // Each `Sent` takes a slot or room in `tx`.
            match self.poll(head_len, protocol, out)? {
                Progress::Sent => sent = Some(Progress::Sent),
                progress => return Ok(sent.unwrap_or(progress)),
            }
        }
    }

    fn poll(&mut self, head_len: u32, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        self.idle = out.in_flight() == 0;
        let progress = match (self.state, self.file) {
            (State::Free, _) => return Ok(Progress::Complete),
            (State::Over, Some(file)) => return self.close(file.handle, protocol, out),
            (State::Over, None) => {
                self.state = State::Free;
                return Ok(Progress::Complete);
            }
            (State::Reading, _) if self.failed.is_some() => return Ok(Progress::Wait),
            (State::Reading, Some(file)) => self.ask_head(file, head_len, protocol, out),
            (State::Reading, None) => {
                if self.idle {
                    // What came before a pause may be of another version than what is opened after it.
                    (self.has, self.told) = (0, None);
                }
                protocol.ask(Ask::Open { path: self.path, first: head_len }, &mut self.stage, out)
            }
        };
        match progress {
            Ok(Progress::Complete) => Ok(Progress::Wait),
            Err(error) if !error.is_fatal() => {
                self.failed = Some(error);
                Ok(Progress::Wait)
            }
            progress => progress,
        }
    }

    /// Nobody waits for the reply.
    fn close(
        &mut self,
        handle: P::Handle,
        protocol: &mut P,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        let progress = protocol.ask(Ask::Close { handle }, &mut P::Stage::default(), out)?;
        if progress != Progress::Wait {
            self.state = State::Free;
        }
        Ok(progress)
    }

    /// Asks for what of the head did not come with the file.
    fn ask_head(
        &mut self,
        file: File<P::Handle>,
        head_len: u32,
        protocol: &mut P,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        let want = head_of(&file.attributes, head_len);
        let limits = out.bound(protocol.limits());
        let rest = crate::plan::next(self.has.into(), want.into(), head_len, &limits);
        match rest.filter(|_| out.in_flight() == 0) {
            Some(extent) => {
                let ask = Ask::Read { handle: file.handle, extent, sparse: false };
                let progress = protocol.ask(ask, &mut self.stage, out)?;
                self.apart |= progress == Progress::Sent;
                Ok(progress)
            }
            None => Ok(Progress::Wait),
        }
    }

    pub(super) fn answer(&mut self, arrival: &Arrival<'_, P>) -> Result<(), Error> {
        let Arrival { slot, landed, answer, message, protocol } = arrival;
        let brought = landed.brought;
        if matches!(answer, Answer::Data | Answer::EndOfFile) {
            self.told = protocol.version(message);
            self.compare();
        }
        match (*answer, &mut self.file) {
            (Answer::Opened(file), None) => {
                self.file = Some(file);
                self.brings(slot.extent, brought);
                self.compare();
            }
            (Answer::Data, _) if brought == 0 => {
                return Err(Error::Misbehaved("a read brought no data and no end of file"));
            }
            (Answer::Data, _) => self.brings(slot.extent, brought),
            // The file has become shorter since it was opened.
            (Answer::EndOfFile, Some(file)) if slot.extent.offset < file.attributes.len => {
                file.attributes.len = slot.extent.offset;
                self.apart = true;
            }
            (Answer::Nothing | Answer::Again | Answer::EndOfFile, _) => {}
            _ => return Err(Error::Misbehaved("a reply brought another thing than was asked for")),
        }
        Ok(())
    }

    /// Holds what the last reply told of the file, if it did, against what the file was when it was opened.
    fn compare(&mut self) {
        let (Some(file), Some(now)) = (self.file, self.told) else { return };
        self.apart = false;
        if now != file.attributes.version() {
            self.failed.get_or_insert(Error::Changed);
        }
    }

    /// Whether all of a file is there and of one version, as far as can be told without asking once more.
    pub(super) fn is_whole(&self, file: &Attributes) -> bool {
        !self.apart && file.len <= self.has.into()
    }

    fn brings(&mut self, extent: Extent, brought: u32) {
        if extent.offset == self.has.into() {
            self.has = self.has.saturating_add(brought);
        }
    }
}

impl<P: Protocol> Default for Lane<'_, P> {
    fn default() -> Self {
        Lane::new()
    }
}

/// How much of the start of a file is lent from the heads: nothing of one with holes, which are told to who reads the tail, unless
/// it is so short that none would be.
pub(super) fn head_of(attributes: &Attributes, head_len: u32) -> u32 {
    let may_have_holes = attributes.sparse && attributes.len >= HOLE_LEN_MIN;
    if may_have_holes { 0 } else { attributes.len.min(head_len.into()) as u32 }
}
