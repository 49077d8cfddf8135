//! The entries of a directory, lent one by one.

use super::{Arrival, Entries, Job, Operation};
use crate::attributes::{Entry, Name};
use crate::error::Error;
use crate::inflight::{Slot, Ticket};
use crate::limits;
use crate::outgoing::Outbox;
use crate::protocol::{Answer, Ask, EntryAt, Progress, Protocol};
use crate::segment::Extent;
use crate::wire;

/// Lends the entries of a directory in the server's order, without `.` and `..`. An entry is lent until the next step, so
/// a directory of any length takes no more memory than `rx`. A name that a client must not join to a path ends
/// the listing with `Misbehaved`. An empty directory is `Done` without an item. Dropped half-way it leaves the directory open (SMB), as
/// long as the connection is there.
#[derive(Debug)]
pub struct List<'p, P: Protocol> {
    path: &'p str,
    ticket: Ticket,
    stage: P::Stage,
    refused: Option<Error>,
    /// Where in `rx` the entries lie that were not lent yet, and the next one among them.
    entries: Option<(usize, usize, usize)>,
    current: Option<EntryAt>,
    /// Replies since the last entry that was lent.
    idle: u32,
}

impl<'p, P: Protocol> List<'p, P> {
    /// Nothing happens before its first step.
    pub fn new(path: &'p str) -> Self {
        List {
            path,
            ticket: Ticket::NOBODY,
            stage: P::Stage::default(),
            refused: None,
            entries: None,
            current: None,
            idle: 0,
        }
    }
}

fn name<'a>(rx: &'a [u8], start: usize, entry: &EntryAt) -> Result<Name<'a>, Error> {
    let raw = wire::slice(rx, start.saturating_add(entry.name_start), entry.name_len, "name of an entry")?;
    Ok(Name { raw, encoding: entry.encoding })
}

impl<P: Protocol> Job<P> for List<'_, P> {
    fn ticket(&mut self) -> &mut Ticket {
        &mut self.ticket
    }

    fn stage(&mut self, _: u16) -> &mut P::Stage {
        &mut self.stage
    }

    fn poll(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        protocol.ask(Ask::List { path: self.path }, &mut self.stage, out)
    }

    fn answer(&mut self, arrival: Arrival<'_, P>) -> Result<Option<Extent>, Error> {
        match arrival.answer {
            Answer::Entries { start, len } if len > 0 => {
                self.idle = self.idle.saturating_add(1);
                if self.idle > limits::IDLE_LISTINGS_MAX {
                    return Err(Error::Misbehaved("reply after reply of a listing and no entry"));
                }
                self.entries = Some((arrival.landed.start.saturating_add(start), len, 0));
            }
            Answer::Entries { .. } | Answer::Nothing | Answer::Again => {}
            _ => return Err(Error::Misbehaved("a listing was answered with something else")),
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
        self.entries.is_some()
    }

    fn prepare(&mut self, protocol: &P, rx: &[u8]) -> Result<bool, Error> {
        // Each turn moves forward in the entries, which `rx` bounds.
        while let Some((start, len, at)) = self.entries {
            let entry = protocol.entry(wire::slice(rx, start, len, "entries of a directory")?, at)?;
            self.entries = match entry.next {
                Some(next) if next <= at => return Err(Error::Misbehaved("a listing goes round")),
                next => next.map(|next| (start, len, next)),
            };
            let name = name(rx, start, &entry)?;
            if name.is_dots() {
                continue;
            }
            if !name.is_safe() {
                return Err(Error::Misbehaved(
                    "a listing has a name with a separator or a NUL, or an empty one",
                ));
            }
            self.idle = 0;
            self.current = Some(EntryAt { name_start: start.saturating_add(entry.name_start), ..entry });
            return Ok(true);
        }
        Ok(false)
    }
}

impl<P: Protocol> Operation<P> for List<'_, P> {
    type Lends = Entries;
    type Output = ();

    fn job(&mut self) -> &mut dyn Job<P> {
        self
    }

    fn item<'i>(&'i mut self, rx: &'i [u8]) -> Entry<'i> {
        let nothing = Name { raw: &[], encoding: crate::attributes::Encoding::Bytes };
        match &self.current {
            Some(entry) => {
                Entry { name: name(rx, 0, entry).unwrap_or(nothing), attributes: entry.attributes }
            }
            None => Entry { name: nothing, attributes: Default::default() },
        }
    }

    fn output(&mut self) -> Result<(), Error> {
        self.refused.map_or(Ok(()), Err)
    }
}
