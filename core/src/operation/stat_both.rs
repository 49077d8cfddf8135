//! The attributes of a path and the space around it.

use super::{Arrival, Job, Nothing, Operation};
use crate::attributes::{Attributes, Space};
use crate::error::Error;
use crate::inflight::{Slot, Ticket};
use crate::outgoing::Outbox;
use crate::protocol::{Answer, Ask, Progress, Protocol};
use crate::segment::Extent;

/// The attributes of a file or directory, and the space of the file system that it is on: in one round trip if the
/// protocol can bring both together, or else one after the other. The empty path is the root of the share.
#[derive(Debug)]
pub struct StatBoth<'p, P: Protocol> {
    path: &'p str,
    ticket: Ticket,
    stage: P::Stage,
    attributes: Option<Attributes>,
    space: Option<Space>,
    /// The space is asked for alone.
    alone: bool,
    refused: Option<Error>,
}

impl<'p, P: Protocol> StatBoth<'p, P> {
    /// Nothing happens before its first step.
    pub fn new(path: &'p str) -> Self {
        StatBoth {
            path,
            ticket: Ticket::NOBODY,
            stage: P::Stage::default(),
            attributes: None,
            space: None,
            alone: false,
            refused: None,
        }
    }
}

impl<P: Protocol> Job<P> for StatBoth<'_, P> {
    fn ticket(&mut self) -> &mut Ticket {
        &mut self.ticket
    }

    fn stage(&mut self, _: u16) -> &mut P::Stage {
        &mut self.stage
    }

    fn poll(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        if !self.alone {
            let ask = Ask::Stat { path: self.path, space: true };
            let progress = protocol.ask(ask, &mut self.stage, out)?;
            let rests = progress != Progress::Complete || out.in_flight() > 0;
            if rests || self.refused.is_some() || self.space.is_some() {
                return Ok(progress);
            }
            (self.alone, self.stage) = (true, P::Stage::default());
        }
        protocol.ask(Ask::Statfs { path: self.path }, &mut self.stage, out)
    }

    fn answer(&mut self, arrival: Arrival<'_, P>) -> Result<Option<Extent>, Error> {
        match arrival.answer {
            Answer::Attributes(attributes) => self.attributes = Some(attributes),
            Answer::Space(space) => self.space = Some(space),
            Answer::Both(attributes, space) => {
                (self.attributes, self.space) = (Some(attributes), Some(space));
            }
            Answer::Nothing | Answer::Again => {}
            _ => return Err(Error::Misbehaved("a reply brought another thing than was asked for")),
        }
        Ok(None)
    }

    fn refused(&mut self, _: &Slot, error: Error) {
        self.refused.get_or_insert(error);
    }
}

impl<P: Protocol> Operation<P> for StatBoth<'_, P> {
    type Lends = Nothing;
    type Output = (Attributes, Space);

    fn job(&mut self) -> &mut dyn Job<P> {
        self
    }

    fn item<'i>(&'i mut self, _: &'i [u8]) {}

    fn output(&mut self) -> Result<(Attributes, Space), Error> {
        match (self.refused, self.attributes, self.space) {
            (Some(error), ..) => Err(error),
            (None, Some(attributes), Some(space)) => Ok((attributes, space)),
            _ => Err(Error::Misbehaved("a reply brought another thing than was asked for")),
        }
    }
}
