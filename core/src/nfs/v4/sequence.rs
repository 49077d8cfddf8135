//! RFC 8881 18.46: SEQUENCE (4.1), the first operation of every COMPOUND in a session.

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::create_session::SessionId;
use super::op::Op;
use crate::error::Error;
use crate::wire::Reader;

/// `status_flags`: `SEQ4_STATUS_EXPIRED_ALL_STATE_REVOKED`.
pub const EXPIRED_ALL_STATE_REVOKED: u32 = 0x0000_0008;
/// `status_flags`: `SEQ4_STATUS_EXPIRED_SOME_STATE_REVOKED`.
pub const EXPIRED_SOME_STATE_REVOKED: u32 = 0x0000_0010;
/// `status_flags`: `SEQ4_STATUS_ADMIN_STATE_REVOKED`.
pub const ADMIN_STATE_REVOKED: u32 = 0x0000_0020;
/// `status_flags`: `SEQ4_STATUS_LEASE_MOVED`.
pub const LEASE_MOVED: u32 = 0x0000_0080;
/// `status_flags`: `SEQ4_STATUS_RESTART_RECLAIM_NEEDED`: the server has restarted.
pub const RESTART_RECLAIM_NEEDED: u32 = 0x0000_0100;

/// Names the session and the slot, and renews the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args {
    /// The session.
    pub sessionid: SessionId,
    /// Counts the requests of the slot, from 1 on.
    pub sequenceid: u32,
    /// The slot: one request at a time.
    pub slotid: u32,
    /// The highest slot that is in use.
    pub highest_slotid: u32,
    /// Whether the server is to keep the reply. What only reads may as well be done twice.
    pub cachethis: bool,
}

impl Args {
    /// Appends the operation.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) {
        let w = ops.op(Op::SEQUENCE, REPLY_HEAD_MAX);
        w.put(&self.sessionid.0);
        w.be32(self.sequenceid);
        w.be32(self.slotid);
        w.be32(self.highest_slotid);
        w.boolean(self.cachethis);
    }
}

/// The most bytes of a result.
pub const REPLY_HEAD_MAX: usize = RESULT_HEAD_MAX + 36;

/// What the server says of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResOk {
    /// As asked.
    pub sessionid: SessionId,
    /// As asked.
    pub sequenceid: u32,
    /// As asked.
    pub slotid: u32,
    /// The highest slot that may be used.
    pub highest_slotid: u32,
    /// The highest slot that the server would like to see used.
    pub target_highest_slotid: u32,
    /// [`EXPIRED_ALL_STATE_REVOKED`] and others.
    pub status_flags: u32,
}

impl ResOk {
    /// Decodes what follows the status. Which request it answers says [`of`](Self::of).
    pub fn decode(r: &mut Reader<'_>) -> Result<ResOk, Error> {
        Ok(ResOk {
            sessionid: SessionId(r.array("SEQUENCE.sessionid")?),
            sequenceid: r.be32("SEQUENCE.sequenceid")?,
            slotid: r.be32("SEQUENCE.slotid")?,
            highest_slotid: r.be32("SEQUENCE.highest_slotid")?,
            target_highest_slotid: r.be32("SEQUENCE.target_highest_slotid")?,
            status_flags: r.be32("SEQUENCE.status_flags")?,
        })
    }

    /// `Misbehaved` if session, slot or number are not those of the request.
    pub fn of(self, sessionid: SessionId, slotid: u32, sequenceid: u32) -> Result<ResOk, Error> {
        match (self.sessionid, self.slotid, self.sequenceid) == (sessionid, slotid, sequenceid) {
            true => Ok(self),
            false => Err(Error::Misbehaved("SEQUENCE answers another request")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    const SESSION: SessionId = SessionId([7; 16]);

    #[test]
    fn arguments() {
        let sequence = Args {
            sessionid: SESSION,
            sequenceid: 0x0102_0304,
            slotid: 2,
            highest_slotid: 3,
            cachethis: false,
        };
        #[rustfmt::skip]
        assert_eq!(args(Op::SEQUENCE, REPLY_HEAD_MAX, |ops| sequence.encode(ops)), [
            7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 1, 2, 3, 4, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0,
        ]);
    }

    #[test]
    fn a_result() {
        #[rustfmt::skip]
        let bytes = [
            7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 1, 2, 3, 4,
            0, 0, 0, 2, 0, 0, 0, 29, 0, 0, 0, 28, 0, 0, 1, 1,
        ];
        let result = strict(&bytes, ResOk::decode);
        let expected = ResOk {
            sessionid: SESSION,
            sequenceid: 0x0102_0304,
            slotid: 2,
            highest_slotid: 29,
            target_highest_slotid: 28,
            status_flags: RESTART_RECLAIM_NEEDED | 1,
        };
        assert_eq!(result, expected);
        assert_eq!(result.of(SESSION, 2, 0x0102_0304), Ok(result));
        assert!(result.of(SESSION, 1, 0x0102_0304).is_err());
        assert!(result.of(SESSION, 2, 0x0102_0303).is_err());
        assert!(result.of(SessionId([0; 16]), 2, 0x0102_0304).is_err());
    }
}
