//! The exports of a server, lent one by one.

use super::calls::{Phase, Stage};
use super::{Message, Nfs3, kind};
use crate::error::Error;
use crate::inflight::{Slot, Ticket};
use crate::nfs::mount::{self, Export};
use crate::operation::{Arrival, Job, Lend, Operation};
use crate::outgoing::Outbox;
use crate::protocol::{Answer, Progress};
use crate::segment::Extent;
use crate::wire;

/// Lends what a server exports and to whom (RFC 1813 5.2.5, EXPORT), in the server's order. An export is lent until the
/// next step. A server without exports is `Done` without an item.
///
/// It comes before all other operations, or in place of them, and mounts nothing; once something is mounted it is
/// `Invalid`. Dropped half-way it leaves the connection of no use. The list is one reply and must fit into `rx` as a
/// whole: `Budget` tells how much it takes. Nothing of a list that is malformed anywhere is lent. Paths and groups are the
/// server's bytes, whatever they are.
#[derive(Debug)]
pub struct Exports {
    ticket: Ticket,
    stage: Stage,
    refused: Option<Error>,
    /// Where in `rx` the list lies from the next export on, and how many bytes it takes.
    rest: Option<(usize, usize)>,
    /// The same from the export that is lent on.
    current: Option<(usize, usize)>,
}

impl Exports {
    /// Nothing happens before its first step.
    pub fn new() -> Self {
        Exports { ticket: Ticket::NOBODY, stage: Stage::default(), refused: None, rest: None, current: None }
    }
}

impl Default for Exports {
    fn default() -> Self {
        Exports::new()
    }
}

/// Exports, lent.
#[derive(Clone, Copy, Debug)]
pub struct Lent;

impl Lend for Lent {
    type Item<'i> = Export<'i>;
}

/// The first export of a list of `len` bytes at `start` in `rx`, and how many bytes of the list stand behind it.
fn first(rx: &[u8], (start, len): (usize, usize)) -> Result<Option<(Export<'_>, usize)>, Error> {
    let mut exports = mount::Exports::new(wire::slice(rx, start, len, "exports")?);
    let export = exports.next().transpose()?;
    Ok(export.map(|export| (export, exports.left())))
}

impl<'s> Job<Nfs3<'s>> for Exports {
    fn ticket(&mut self) -> &mut Ticket {
        &mut self.ticket
    }

    fn stage(&mut self, _: u16) -> &mut Stage {
        &mut self.stage
    }

    fn poll(&mut self, protocol: &mut Nfs3<'s>, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        protocol.exports(&mut self.stage, out)
    }

    fn answer(&mut self, arrival: Arrival<'_, Nfs3<'s>>) -> Result<Option<Extent>, Error> {
        if let Answer::Entries { start, len } = arrival.answer {
            // Every export is decoded once before the first is lent.
            let list = wire::slice(arrival.message, start, len, "exports")?;
            mount::Exports::new(list).try_for_each(|export| export.map(drop))?;
            self.rest = Some((arrival.landed.start.saturating_add(start), len));
        }
        Ok(None)
    }

    fn refused(&mut self, _: &Slot, error: Error) {
        self.refused.get_or_insert(error);
    }

    fn release(&mut self) {
        self.current = None;
    }

    fn holds_replies(&self) -> bool {
        self.rest.is_some()
    }

    fn prepare(&mut self, _: &Nfs3<'s>, rx: &[u8]) -> Result<bool, Error> {
        let Some((start, len)) = self.rest.take() else { return Ok(false) };
        if let Some((_, left)) = first(rx, (start, len))? {
            self.current = Some((start, len));
            self.rest = Some((start.saturating_add(len.saturating_sub(left)), left));
        }
        Ok(self.current.is_some())
    }
}

impl<'s> Operation<Nfs3<'s>> for Exports {
    type Lends = Lent;
    type Output = ();

    fn job(&mut self) -> &mut dyn Job<Nfs3<'s>> {
        self
    }

    fn item<'i>(&'i mut self, rx: &'i [u8]) -> Export<'i> {
        let current = self.current.and_then(|current| first(rx, current).ok()?);
        current.map_or_else(Export::default, |(export, _)| export)
    }

    fn output(&mut self) -> Result<(), Error> {
        self.refused.map_or(Ok(()), Err)
    }
}

impl Nfs3<'_> {
    fn exports(&mut self, stage: &mut Stage, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        if self.root.is_some() {
            return Err(Error::Invalid("exports are asked for before something is mounted"));
        }
        if out.in_flight() > 0 {
            return Ok(Progress::Wait);
        }
        match stage.phase {
            Phase::Start if self.mount_port == 0 && self.port != self.config.portmap_port => {
                Ok(self.go_to(self.config.portmap_port, out))
            }
            Phase::Start if self.mount_port == 0 => {
                self.send_getport(mount::PROGRAM, mount::VERSION, kind::GETPORT_MOUNT, out)
            }
            Phase::Start if self.port != self.mount_port => Ok(self.go_to(self.mount_port, out)),
            Phase::Start => {
                let message = Message::new(kind::EXPORT, mount::EXPORT_REPLY_MIN);
                let progress = self.call(out, message, &|_| Ok(()))?;
                if progress == Progress::Sent {
                    stage.phase = Phase::Asked;
                }
                Ok(progress)
            }
            _ => Ok(Progress::Complete),
        }
    }
}
