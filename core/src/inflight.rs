//! The requests in flight: who waits for which reply, and what of it has landed.

use crate::segment::Extent;

/// Who waits for a reply. A ticket is never used twice, so a reply for an operation that was dropped finds nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticket(pub(crate) u32);

impl Ticket {
    /// Nobody waits: the reply is only accounted for.
    pub const NOBODY: Ticket = Ticket(0);
}

/// Where a reply lies in `rx`, and how much file data came with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Landed {
    pub(crate) start: usize,
    pub(crate) len: usize,
    pub(crate) data: u32,
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

    /// Whether a request of `ticket` awaits a reply.
    pub(crate) fn awaits(&self, ticket: Ticket) -> bool {
        self.of(ticket).any(Slot::is_awaited)
    }

    /// The slot that awaits the reply `id`.
    pub fn find(&self, id: u64) -> Option<usize> {
        self.slots.iter().position(|slot| slot.id == id && slot.state == State::Awaited)
    }

    /// A copy of slot `index`.
    pub fn get(&self, index: usize) -> Option<Slot> {
        self.slots.get(index).copied()
    }

    pub(crate) fn insert(&mut self, slot: Slot) -> bool {
        match self.slots.iter_mut().find(|slot| slot.state == State::Free) {
            Some(free) => *free = slot,
            None => return false,
        }
        true
    }

    pub(crate) fn remove(&mut self, index: usize) {
        self.set(index, |slot| *slot = Slot::FREE);
    }

    /// Another part of the reply of slot `index` has arrived: its head lies at `start..end` of `rx`, and data up to byte
    /// `data` of the extent came with it.
    pub(crate) fn land(&mut self, index: usize, start: usize, end: usize, data: u32) {
        self.set(index, |slot| {
            let landed = match slot.state {
                State::Landed(landed) => landed,
                _ => Landed { start, len: 0, data: 0 },
            };
            let len = end.saturating_sub(landed.start);
            slot.state = State::Landed(Landed { len, data: landed.data.max(data), ..landed });
        });
    }

    /// Takes a free slot for something that is to be asked again.
    pub(crate) fn insert_again(&mut self, ticket: Ticket, rest: Extent) -> bool {
        self.insert(Slot { extent: rest, ticket, state: State::Again, ..Slot::FREE })
    }

    fn set(&mut self, index: usize, change: impl FnOnce(&mut Slot)) {
        if let Some(slot) = self.slots.get_mut(index) {
            change(slot);
        }
    }

    /// The landed reply that stands first in its frame.
    pub(crate) fn first_landed(&self) -> Option<(usize, Landed)> {
        let landed = |(index, slot): (usize, &Slot)| match slot.state {
            State::Landed(landed) => Some((index, landed)),
            _ => None,
        };
        self.slots.iter().enumerate().filter_map(landed).min_by_key(|(_, landed)| landed.start)
    }

    /// A request of `ticket` that is to be asked again.
    pub(crate) fn first_again(&self, ticket: Ticket) -> Option<(usize, Extent)> {
        let again = |slot: &Slot| slot.ticket == ticket && slot.state == State::Again;
        self.slots.iter().position(again).and_then(|index| Some((index, self.get(index)?.extent)))
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
        let stale = |slot: &&mut Slot| slot.state == State::Again && slot.ticket != ticket;
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
        inflight.land(index, 80, 84, 0);
        assert_eq!(inflight.find(9), None, "a second reply with this id finds nobody");
        assert_eq!((inflight.awaited(), inflight.free()), (2, 0));
        inflight.remove(index);
        assert_eq!((inflight.find(9), inflight.free()), (None, 1));
    }

    #[test]
    fn the_parts_of_a_reply_are_one_message() {
        let mut slots = [Slot::FREE; 1];
        let mut inflight = Inflight::new(&mut slots);
        inflight.insert(Slot::awaiting(1, 0, 1, Extent::default()));
        inflight.land(0, 8, 20, 512);
        inflight.land(0, 20, 24, 0);
        assert_eq!(inflight.first_landed(), Some((0, Landed { start: 8, len: 16, data: 512 })));
    }

    #[test]
    fn replies_are_taken_in_the_order_of_their_frame() {
        let mut slots = [Slot::FREE; 3];
        let mut inflight = Inflight::new(&mut slots);
        for (id, start) in [(1, 64), (2, 0), (3, 32)] {
            inflight.insert(Slot::awaiting(id, 0, 1, Extent::default()));
            let index = inflight.find(id).unwrap();
            inflight.land(index, start, start + 32, 0);
        }
        let mut order = std::vec::Vec::new();
        while let Some((index, landed)) = inflight.first_landed() {
            order.push(landed.start);
            inflight.remove(index);
        }
        assert_eq!(order, [0, 32, 64]);
    }
}
