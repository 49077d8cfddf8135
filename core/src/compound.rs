//! Does one more request fit? One accounting for every way of sending several requests at once. Pure.

/// What a request (or a whole chain of them) takes, and what there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Cost {
    /// Bytes to send.
    pub tx: usize,
    /// Requests that are answered one by one.
    pub slots: usize,
    /// The most bytes that the heads of the replies take together: a chain may be answered in one frame.
    pub reply: usize,
    /// What the server's flow control takes for it (credits; slots of a session).
    pub allowance: u32,
}

impl Cost {
    /// Both together.
    #[must_use]
    pub const fn and(self, other: Cost) -> Cost {
        Cost {
            tx: self.tx.saturating_add(other.tx),
            slots: self.slots.saturating_add(other.slots),
            reply: self.reply.saturating_add(other.reply),
            allowance: self.allowance.saturating_add(other.allowance),
        }
    }

    /// Whether it fits into `room`.
    pub const fn fits(&self, room: &Cost) -> bool {
        self.tx <= room.tx
            && self.slots <= room.slots
            && self.reply <= room.reply
            && self.allowance <= room.allowance
    }

    /// The first budget of lent memory that would be too small even if nothing else were using it: waiting
    /// does not help then. (The allowance is the server's and may grow.)
    pub const fn exceeds(&self, lent: &Cost) -> Option<(&'static str, usize, usize)> {
        if self.tx > lent.tx {
            Some(("tx", self.tx, lent.tx))
        } else if self.slots > lent.slots {
            Some(("slots", self.slots, lent.slots))
        } else if self.reply > lent.reply {
            Some(("rx", self.reply, lent.reply))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_fits_exactly_when_every_part_of_it_does() {
        let room = Cost { tx: 4, slots: 3, reply: 2, allowance: 1 };
        assert!(room.fits(&room));
        for (tx, slots, reply, allowance) in [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)] {
            assert!(!room.and(Cost { tx, slots, reply, allowance }).fits(&room));
        }
    }

    #[test]
    fn what_waiting_cannot_mend_is_named() {
        let lent = Cost { tx: 4, slots: 3, reply: 2, allowance: 0 };
        assert_eq!(Cost { tx: 5, ..lent }.exceeds(&lent), Some(("tx", 5, 4)));
        assert_eq!(Cost { slots: 4, ..lent }.exceeds(&lent), Some(("slots", 4, 3)));
        assert_eq!(Cost { reply: 3, ..lent }.exceeds(&lent), Some(("rx", 3, 2)));
        assert_eq!(Cost { allowance: 9, ..lent }.exceeds(&lent), None);
    }

    #[test]
    fn sums_do_not_wrap() {
        let most = Cost { tx: usize::MAX, slots: usize::MAX, reply: usize::MAX, allowance: u32::MAX };
        assert_eq!(most.and(Cost { tx: 1, slots: 1, reply: 1, allowance: 1 }), most);
    }
}
