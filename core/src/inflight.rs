//! The requests in flight: who waits for which reply, and what of it has landed.

use crate::segment::{Extent, Segment};

/// Who waits for a reply: an operation, or one lane of an operation that does several things side by side. No number of an
/// operation is used twice, so a reply for one that was dropped finds nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticket {
    operation: u32,
    lane: u16,
}

impl Ticket {
    /// Nobody waits: the reply is only accounted for.
    pub const NOBODY: Ticket = Ticket { operation: 0, lane: 0 };

    /// That of the operation after this one. `None` if there are no more numbers.
    pub(crate) fn next(self) -> Option<Ticket> {
        Some(Ticket { operation: self.operation.checked_add(1)?, lane: 0 })
    }

    /// That of a lane of the same operation.
    pub(crate) const fn at(self, lane: u16) -> Ticket {
        Ticket { lane, ..self }
    }

    /// Which lane waits.
    pub(crate) const fn lane(self) -> u16 {
        self.lane
    }

    /// Whether both are of the same operation.
    pub(crate) const fn is_of(self, other: Ticket) -> bool {
        self.operation == other.operation
    }
}

/// Where a reply lies in `rx`, and how much of a file came with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Landed {
    pub(crate) start: usize,
    pub(crate) len: usize,
    /// Bytes of the extent, from its start, that are there.
    pub(crate) brought: u32,
    /// How many of them are holes.
    pub(crate) holes: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Free,
    Awaited,
    Landed(Landed),
    Again,
}

/// One request in flight. Its number is the budget `slots`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    /// What the reply will carry to be recognized: a message id, an xid.
    pub id: u64,
    /// Which message it was, in the protocol's own numbers.
    pub kind: u16,
    /// What part of a file was asked for; empty for other requests.
    pub extent: Extent,
    /// What it took of the server's flow control.
    pub charge: u32,
    /// Bytes behind the extent that are to be asked for after it.
    pub(crate) follows: u32,
    pub(crate) ticket: Ticket,
    pub(crate) trip: u32,
    pub(crate) interims: u8,
    state: State,
}

impl Slot {
    /// A slot without a request.
    pub const FREE: Slot = Slot {
        id: 0,
        kind: 0,
        extent: Extent { offset: 0, len: 0 },
        charge: 0,
        follows: 0,
        ticket: Ticket::NOBODY,
        trip: 0,
        interims: 0,
        state: State::Free,
    };

    /// A request that awaits its reply.
    pub const fn awaiting(id: u64, kind: u16, charge: u32, extent: Extent) -> Slot {
        Slot { id, kind, extent, charge, state: State::Awaited, ..Slot::FREE }
    }

    /// The same request, with who waits for it, on which round trip it is, and how much is to be asked for after it.
    pub(crate) const fn waited_for(self, ticket: Ticket, trip: u32, follows: u32) -> Slot {
        Slot { ticket, trip, follows, ..self }
    }

    /// The same request after a reply that was not the final one.
    pub(crate) const fn still_awaiting(self) -> Slot {
        Slot { state: State::Awaited, interims: self.interims.saturating_add(1), ..self }
    }

    const fn is_awaited(&self) -> bool {
        matches!(self.state, State::Awaited | State::Landed(_))
    }

    const fn landed(&self) -> Option<&Landed> {
        match &self.state {
            State::Landed(landed) => Some(landed),
            _ => None,
        }
    }
}

/// The table of slots. Each method is one pass over it: its length is a lent budget.
#[derive(Debug)]
pub struct Inflight<'s> {
    slots: &'s mut [Slot],
}

impl<'s> Inflight<'s> {
    pub(crate) fn new(slots: &'s mut [Slot]) -> Self {
        slots.fill(Slot::FREE);
        Inflight { slots }
    }

    /// How many slots were lent.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.free() == self.len()
    }

    /// How many slots are free.
    pub fn free(&self) -> usize {
        self.slots.iter().filter(|slot| slot.state == State::Free).count()
    }

    /// How many requests await a reply.
    pub fn awaited(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_awaited()).count()
    }

    /// Whether a request of the operation of `ticket` awaits a reply.
    pub(crate) fn awaits(&self, ticket: Ticket) -> bool {
        self.all_of(ticket).any(Slot::is_awaited)
    }

    /// Whether a request of `ticket` awaits a reply and is not for a part of a file.
    pub(crate) fn awaits_other(&self, ticket: Ticket) -> bool {
        self.of(ticket).any(|slot| slot.is_awaited() && slot.extent.len == 0)
    }

    /// The slot that awaits the reply `id`.
    pub fn find(&self, id: u64) -> Option<usize> {
        self.slots.iter().position(|slot| slot.id == id && slot.state == State::Awaited)
    }

    /// Slot `index`.
    pub fn get(&self, index: usize) -> Option<&Slot> {
        self.slots.get(index)
    }

    pub(crate) fn insert(&mut self, slot: Slot) -> bool {
        match self.slots.iter_mut().find(|slot| slot.state == State::Free) {
            Some(free) => *free = slot,
            None => return false,
        }
        true
    }

    /// The reply of slot `index` has arrived.
    pub(crate) fn land(&mut self, index: usize, landed: Landed) {
        if let Some(slot) = self.slots.get_mut(index) {
            slot.state = State::Landed(landed);
        }
    }

    /// How much of the extent of slot `index` its reply has brought so far.
    pub(crate) fn brought(&self, index: usize) -> u32 {
        self.get(index).and_then(Slot::landed).map_or(0, |landed| landed.brought)
    }

    /// The reply of slot `index` brings another part of its extent. `None` if that has no such part.
    pub(crate) fn bring(&mut self, index: usize, segment: Segment) -> Option<()> {
        let slot = self.slots.get_mut(index)?;
        let State::Landed(landed) = &mut slot.state else { return None };
        let brought = landed.brought.checked_add(segment.extent().len)?;
        if brought > slot.extent.len {
            return None;
        }
        landed.brought = brought;
        if let Segment::Hole(extent) = segment {
            landed.holes = landed.holes.saturating_add(extent.len);
        }
        Some(())
    }

    /// Takes a free slot for something that is to be asked again.
    pub(crate) fn insert_again(&mut self, ticket: Ticket, rest: Extent) -> bool {
        self.insert(Slot { extent: rest, ticket, state: State::Again, ..Slot::FREE })
    }

    /// Whether a reply has landed.
    pub(crate) fn has_landed(&self) -> bool {
        self.slots.iter().any(|slot| slot.landed().is_some())
    }

    /// The landed reply that stands first in its frame. Its slot is free from now on.
    pub(crate) fn take_landed(&mut self) -> Option<(Slot, Landed)> {
        let start = |slot: &Slot| slot.landed().map(|landed| landed.start);
        let landed = self.slots.iter_mut().filter(|slot| start(slot).is_some());
        let slot = core::mem::take(landed.min_by_key(|slot| start(slot))?);
        Some((slot, *slot.landed()?))
    }

    /// A request of `ticket` that is to be asked again. Its slot is free from now on.
    pub(crate) fn take_again(&mut self, ticket: Ticket) -> Option<Extent> {
        let mut slots = self.slots.iter_mut();
        let again = slots.find(|slot| slot.ticket == ticket && slot.state == State::Again)?;
        Some(core::mem::take(again).extent)
    }

    /// The requests of the operation of `ticket`.
    pub(crate) fn all_of(&self, ticket: Ticket) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(move |slot| slot.ticket.is_of(ticket) && slot.state != State::Free)
    }

    /// The requests of `ticket`.
    pub(crate) fn of(&self, ticket: Ticket) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(move |slot| slot.ticket == ticket && slot.state != State::Free)
    }

    /// Frees everything.
    pub(crate) fn forget(&mut self) {
        self.slots.fill(Slot::FREE);
    }

    /// Frees what nobody will ask for again.
    pub(crate) fn forget_all_but(&mut self, ticket: Ticket) {
        let stale = |slot: &&mut Slot| slot.state == State::Again && !slot.ticket.is_of(ticket);
        self.slots.iter_mut().filter(stale).for_each(|slot| *slot = Slot::FREE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_awaited_exactly_once() {
        let mut slots = [Slot::FREE; 2];
        let mut inflight = Inflight::new(&mut slots);
        assert!(inflight.insert(Slot::awaiting(7, 8, 1, Extent::default())));
        assert!(inflight.insert(Slot::awaiting(9, 8, 1, Extent::default())));
        assert!(!inflight.insert(Slot::awaiting(10, 8, 1, Extent::default())), "two slots were lent");
        let index = inflight.find(9).unwrap();
        inflight.land(index, Landed { start: 80, len: 4, ..Landed::default() });
        assert_eq!(inflight.find(9), None, "a second reply with this id finds nobody");
        assert_eq!((inflight.awaited(), inflight.free()), (2, 0));
        assert!(inflight.has_landed() && inflight.take_landed().is_some_and(|(slot, _)| slot.id == 9));
        assert_eq!((inflight.find(9), inflight.free(), inflight.has_landed()), (None, 1, false));
    }

    #[test]
    fn the_segments_of_a_reply_add_up_and_are_never_more_than_was_asked() {
        let mut slots = [Slot::FREE; 1];
        let mut inflight = Inflight::new(&mut slots);
        let asked = Extent { offset: 100, len: 10 };
        let part = |len| Extent { offset: 100, len };
        inflight.insert(Slot::awaiting(1, 0, 1, asked));
        assert_eq!(inflight.bring(0, Segment::Data(part(1))), None, "its reply has not arrived");
        let landed = Landed { start: 8, len: 12, ..Landed::default() };
        inflight.land(0, landed);
        assert_eq!(inflight.bring(0, Segment::Data(part(4))), Some(()));
        assert_eq!(inflight.bring(0, Segment::Hole(part(6))), Some(()));
        assert_eq!(inflight.bring(0, Segment::Hole(part(1))), None);
        let (slot, whole) = inflight.take_landed().unwrap();
        assert_eq!((slot.id, whole), (1, Landed { brought: 10, holes: 6, ..landed }));
    }

    #[test]
    fn replies_are_taken_in_the_order_of_their_frame() {
        let mut slots = [Slot::FREE; 3];
        let mut inflight = Inflight::new(&mut slots);
        for (id, start) in [(1, 64), (2, 0), (3, 32)] {
            inflight.insert(Slot::awaiting(id, 0, 1, Extent::default()));
            let index = inflight.find(id).unwrap();
            inflight.land(index, Landed { start, len: 32, ..Landed::default() });
        }
        let mut order = std::vec::Vec::new();
        while let Some((_, landed)) = inflight.take_landed() {
            order.push(landed.start);
        }
        assert_eq!(order, [0, 32, 64]);
    }
}
