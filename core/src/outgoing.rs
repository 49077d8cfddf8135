//! The sending side: frames that are not sent yet, and the requests in them.

use crate::compound::Cost;
use crate::counters::Counters;
use crate::error::{Error, Refusal};
use crate::inflight::{Inflight, Slot, Ticket};
use crate::pauses::Pauses;
use crate::plan::Limits;
use crate::time::Millis;
use crate::wire::Writer;

/// `sent..encoded` of `tx` is not transmitted yet.
#[derive(Debug)]
pub(crate) struct Outgoing<'s> {
    pub tx: &'s mut [u8],
    pub sent: usize,
    pub encoded: usize,
    pub inflight: Inflight<'s>,
    pub counters: Counters,
    /// The most bytes that the heads of the replies of one frame may take.
    pub reply_len_max: usize,
    pub now: Millis,
    pub pauses: Pauses,
    /// No read is asked for that is longer.
    pub read_len_max: u32,
}

impl<'s> Outgoing<'s> {
    pub fn unsent(&self) -> &[u8] {
        self.tx.get(self.sent..self.encoded).unwrap_or(&[])
    }

    pub fn outbox(&mut self, ticket: Ticket) -> Outbox<'_, 's> {
        Outbox { outgoing: self, ticket, follows: 0 }
    }

    pub fn bound(&self, limits: Limits) -> Limits {
        Limits { read_len_max: limits.read_len_max.min(self.read_len_max), ..limits }
    }

    /// `len` bytes were sent. Returns how many of them there were to send.
    pub fn transmitted(&mut self, len: usize) -> usize {
        let len = len.min(self.unsent().len());
        self.sent = self.sent.saturating_add(len);
        self.counters.bytes_sent = self.counters.bytes_sent.wrapping_add(len as u64);
        if self.sent == self.encoded {
            (self.sent, self.encoded) = (0, 0);
        }
        len
    }
}

/// Where requests are written: the free end of `tx`, and the free slots.
///
/// Requests are encoded only into an empty `tx`, several frames back to back.
#[derive(Debug)]
pub struct Outbox<'c, 's> {
    outgoing: &'c mut Outgoing<'s>,
    ticket: Ticket,
    follows: u32,
}

impl<'s> Outbox<'_, 's> {
    /// The same for another lane of the asking operation.
    pub(crate) fn at(&mut self, lane: u16) -> Outbox<'_, 's> {
        Outbox { outgoing: self.outgoing, ticket: self.ticket.at(lane), follows: 0 }
    }

    /// What can be sent now; the protocol adds its own allowance.
    pub fn room(&self) -> Cost {
        Cost {
            tx: self.outgoing.tx.len().saturating_sub(self.outgoing.encoded),
            slots: self.outgoing.inflight.free(),
            reply: self.outgoing.reply_len_max,
            allowance: 0,
        }
    }

    /// What could be sent if nothing else were.
    pub fn lent(&self) -> Cost {
        Cost { tx: self.outgoing.tx.len(), slots: self.outgoing.inflight.len(), ..self.room() }
    }

    /// `Budget` if what is lent is too little for `cost` even if nothing else uses it.
    pub fn can_ever_hold(&self, cost: &Cost) -> Result<(), Error> {
        // In terms of what the caller lends: a part of `rx` is never for heads.
        let scratch = Cost { reply: crate::limits::SCRATCH_LEN, ..Cost::default() };
        match cost.and(scratch).exceeds(&self.lent().and(scratch)) {
            Some((what, need, have)) => Err(Error::Budget { what, need, have }),
            None => Ok(()),
        }
    }

    /// Whether the asking operation awaits a reply that is not a part of a file.
    pub(crate) fn awaits_other(&self) -> bool {
        self.outgoing.inflight.awaits_other(self.ticket)
    }

    /// `len` bytes of a file need not be asked for, because they are a hole.
    pub(crate) fn count_hole(&mut self, len: u64) {
        self.outgoing.counters.hole_bytes = self.outgoing.counters.hole_bytes.wrapping_add(len);
    }

    /// Whether no reply is awaited by anybody: the connection, or the session, may be exchanged for another.
    pub fn is_quiet(&self) -> bool {
        self.outgoing.inflight.awaited() == 0
    }

    /// The server asks to be asked later: the same is to be asked again, and nothing else before, once a pause is over.
    /// After [`PAUSES_MAX`](crate::limits::PAUSES_MAX) of them in a row what the server has said stands.
    pub fn pause(&mut self, said: Refusal) -> Result<(), Error> {
        let now = self.outgoing.now;
        if self.outgoing.pauses.begin(now) { Ok(()) } else { Err(Error::Refused(said)) }
    }

    /// What bounds a read, with what the caller has to say of it.
    pub(crate) fn bound(&self, limits: Limits) -> Limits {
        self.outgoing.bound(limits)
    }

    /// How many requests of the asking operation, or lane of it, are in flight.
    pub fn in_flight(&self) -> usize {
        self.outgoing.inflight.of(self.ticket).count()
    }

    /// Writes one frame. It is sent unless `write` fails or it does not fit.
    pub fn frame(&mut self, write: impl FnOnce(&mut Writer<'_>) -> Result<(), Error>) -> Result<(), Error> {
        let mut writer = Writer::new(self.outgoing.tx.get_mut(self.outgoing.encoded..).unwrap_or(&mut []));
        write(&mut writer)?;
        self.outgoing.encoded = self.outgoing.encoded.saturating_add(writer.finish()?);
        Ok(())
    }

    /// Notes that the asking operation awaits a reply. `Budget` if no slot is free.
    pub fn expect(&mut self, slot: Slot) -> Result<(), Error> {
        self.note(slot, self.ticket)
    }

    /// Notes a reply that nobody waits for.
    pub fn expect_nothing(&mut self, slot: Slot) -> Result<(), Error> {
        self.note(slot, Ticket::NOBODY)
    }

    /// `follows` bytes behind the extent that is asked for now are to be asked for after it.
    pub(crate) fn set_follows(&mut self, follows: u32) {
        self.follows = follows;
    }

    /// The slots, for what is to be asked again.
    pub(crate) fn inflight(&mut self) -> &mut Inflight<'s> {
        &mut self.outgoing.inflight
    }

    fn note(&mut self, slot: Slot, ticket: Ticket) -> Result<(), Error> {
        let trip = self.outgoing.counters.round_trips.saturating_add(1);
        if !self.outgoing.inflight.insert(slot.waited_for(ticket, trip, self.follows)) {
            let have = self.outgoing.inflight.len();
            return Err(Error::Budget { what: "slots", need: have.saturating_add(1), have });
        }
        let counters = &mut self.outgoing.counters;
        counters.requests = counters.requests.wrapping_add(1);
        counters.max_in_flight = counters.max_in_flight.max(self.outgoing.inflight.awaited());
        Ok(())
    }
}
