//! A session (RFC 8881 2.10): the table of slots, which is how many requests may be in flight.

use crate::error::Error;
use crate::nfs::v4::create_session::{ChannelAttrs, ResOk, SessionId};
use crate::nfs::v4::{Op, Results, sequence};

/// Slots of a session: more requests in flight than this serve no connection.
pub(super) const SLOTS_MAX: u32 = 64;

/// What the client needs to know of its session.
#[derive(Debug)]
pub(super) struct Session {
    id: SessionId,
    /// The longest request, from the RPC header on.
    pub request_max: u32,
    /// The longest reply, likewise.
    pub response_max: u32,
    /// Operations of a COMPOUND.
    pub ops_max: u32,
    /// How many slots the server gave.
    given: u32,
    /// How many of them it wants to be used now.
    wanted: u32,
    /// The number of the last request of each slot that the server has seen.
    numbers: [u32; SLOTS_MAX as usize],
    /// A bit for each slot whose reply is awaited.
    busy: u64,
}

impl Session {
    /// A session as the server made it, of no more slots than we `asked` for.
    pub fn new(made: &ResOk, asked: &ChannelAttrs) -> Session {
        let given = made.fore.maxrequests.min(asked.maxrequests).clamp(1, SLOTS_MAX);
        Session {
            id: made.sessionid,
            request_max: made.fore.maxrequestsize,
            response_max: made.fore.maxresponsesize.min(asked.maxresponsesize),
            ops_max: made.fore.maxoperations.min(asked.maxoperations),
            given,
            wanted: given,
            numbers: [0; SLOTS_MAX as usize],
            busy: 0,
        }
    }

    /// How many requests may be in flight now.
    pub fn slots(&self) -> u32 {
        self.wanted
    }

    /// SEQUENCE for the lowest free slot; `None` if all are busy. [`take`](Self::take) makes it busy.
    pub fn free(&self) -> Option<sequence::Args> {
        let slotid = self.busy.trailing_ones();
        (slotid < self.wanted).then(|| self.args(slotid))
    }

    /// SEQUENCE for the next request of a slot.
    pub fn args(&self, slotid: u32) -> sequence::Args {
        let number = self.numbers.get(slotid as usize).copied().unwrap_or(0);
        let busy = self.busy | bit(slotid);
        sequence::Args {
            sessionid: self.id,
            sequenceid: number.wrapping_add(1),
            slotid,
            highest_slotid: busy.checked_ilog2().unwrap_or(0),
            cachethis: false,
        }
    }

    /// A request was sent in the slot.
    pub fn take(&mut self, slotid: u32) {
        self.busy |= bit(slotid);
    }

    /// The request of the slot has its reply, and the server did not get as far as to look at SEQUENCE.
    pub fn give_back(&mut self, slotid: u32) {
        self.busy &= !bit(slotid);
    }

    /// Reads the result of SEQUENCE in the reply to the request of the slot, which is free then. That the server has lost
    /// state (`status_flags`) is of no interest: what is open is asked for again when its stateid is refused.
    pub fn answered(&mut self, slotid: u32, results: &mut Results<'_>) -> Result<(), Error> {
        let asked = self.args(slotid);
        self.give_back(slotid);
        let status = results.next(Op::SEQUENCE)?;
        if !status.is_ok() {
            // The number was not used up (RFC 8881 2.10.6.1).
            return Err(Error::Refused(status.refusal(Op::SEQUENCE.name())));
        }
        let result = sequence::ResOk::decode(results.reader())?;
        let result = result.of(self.id, slotid, asked.sequenceid)?;
        if let Some(number) = self.numbers.get_mut(slotid as usize) {
            *number = asked.sequenceid;
        }
        self.wanted = result.target_highest_slotid.saturating_add(1).min(self.given);
        Ok(())
    }

    /// For DESTROY_SESSION.
    pub const fn id(&self) -> SessionId {
        self.id
    }
}

fn bit(slotid: u32) -> u64 {
    1_u64.checked_shl(slotid).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const ASKED: ChannelAttrs = ChannelAttrs {
        maxrequestsize: 8192,
        maxresponsesize: 1 << 20,
        maxresponsesize_cached: 2048,
        maxoperations: 64,
        maxrequests: 4,
    };

    fn session(maxrequests: u32) -> Session {
        let fore = ChannelAttrs { maxrequests, ..ASKED };
        Session::new(&ResOk { sessionid: SessionId([7; 16]), fore }, &ASKED)
    }

    fn reply(status: u32, slotid: u32, number: u32, target: u32, flags: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [status, 0, 1, Op::SEQUENCE.0, status] {
            bytes.extend(word.to_be_bytes());
        }
        if status == 0 {
            bytes.extend([7; 16]);
            for word in [number, slotid, 63, target, flags] {
                bytes.extend(word.to_be_bytes());
            }
        }
        bytes
    }

    fn answered(session: &mut Session, slotid: u32, bytes: &[u8]) -> Result<(), Error> {
        session.answered(slotid, &mut Results::decode(bytes, 1).unwrap())
    }

    #[test]
    fn the_lowest_free_slot_is_used_and_each_counts_its_own_requests() {
        let mut session = session(3);
        for slotid in 0..3 {
            let args = session.free().unwrap();
            assert_eq!((args.slotid, args.sequenceid, args.highest_slotid), (slotid, 1, slotid));
            session.take(slotid);
        }
        assert_eq!(session.free(), None);
        assert_eq!(answered(&mut session, 1, &reply(0, 1, 1, 2, 0)), Ok(()));
        let args = session.free().unwrap();
        assert_eq!((args.slotid, args.sequenceid, args.highest_slotid), (1, 2, 2));
    }

    #[test]
    fn a_refused_sequence_frees_its_slot_and_uses_up_no_number() {
        let mut session = session(1);
        session.take(0);
        assert!(matches!(answered(&mut session, 0, &reply(10008, 0, 0, 0, 0)), Err(Error::Refused(_))));
        assert_eq!(session.free().unwrap().sequenceid, 1);
        session.take(0);
        session.give_back(0);
        assert_eq!(session.free().unwrap().sequenceid, 1);
    }

    #[test]
    fn a_reply_of_another_request_is_no_reply() {
        let mut session = session(2);
        session.take(0);
        for (slotid, number) in [(1, 1), (0, 2), (0, 0)] {
            let answer = answered(&mut session, 0, &reply(0, slotid, number, 1, 0));
            assert!(matches!(answer, Err(Error::Misbehaved(_))));
        }
    }

    #[test]
    fn the_server_may_want_fewer_slots_to_be_used_and_never_none_or_more_than_it_gave() {
        let mut session = session(9);
        assert_eq!(session.slots(), 4);
        for (number, target, slots) in [(1, 0, 1), (2, 2, 3), (3, u32::MAX, 4)] {
            session.take(0);
            assert_eq!(answered(&mut session, 0, &reply(0, 0, number, target, 0)), Ok(()));
            assert_eq!(session.slots(), slots);
        }
    }

    #[test]
    fn what_the_server_has_lost_is_no_refusal() {
        let mut session = session(1);
        session.take(0);
        let flags = sequence::EXPIRED_ALL_STATE_REVOKED;
        assert_eq!(answered(&mut session, 0, &reply(0, 0, 1, 0, flags)), Ok(()));
        // The request was done, and the slot goes on.
        assert_eq!(session.free().unwrap().sequenceid, 2);
    }

    #[test]
    fn the_last_slot_of_the_largest_table_is_used_and_numbers_wrap() {
        let asked = ChannelAttrs { maxrequests: 1000, ..ASKED };
        let mut session = Session::new(&ResOk { sessionid: SessionId([7; 16]), fore: asked }, &asked);
        session.numbers[63] = u32::MAX;
        (0..63).for_each(|slotid| session.take(slotid));
        let args = session.free().unwrap();
        assert_eq!((args.slotid, args.sequenceid, args.highest_slotid), (63, 0, 63));
        session.take(63);
        assert_eq!(session.free(), None);
    }
}
