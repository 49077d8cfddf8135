//! RFC 7530 16.18: OPEN_CONFIRM (4.0).

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::op::Op;
use super::stateid::{self, Stateid};
use crate::error::Error;
use crate::wire::Reader;

/// Confirms the first open of an owner. The file is to be the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args {
    /// What OPEN returned.
    pub open_stateid: Stateid,
    /// Counts the requests of the owner.
    pub seqid: u32,
}

impl Args {
    /// Appends the operation.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) {
        let w = ops.op(Op::OPEN_CONFIRM, REPLY_HEAD_MAX);
        self.open_stateid.encode(w);
        w.be32(self.seqid);
    }
}

/// The most bytes of a result.
pub const REPLY_HEAD_MAX: usize = RESULT_HEAD_MAX + stateid::LEN;

/// What was confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResOk {
    /// For the requests about the file, in the place of what OPEN returned.
    pub open_stateid: Stateid,
}

impl ResOk {
    /// Decodes what follows the status.
    pub fn decode(r: &mut Reader<'_>) -> Result<ResOk, Error> {
        Ok(ResOk { open_stateid: Stateid::decode(r, "OPEN_CONFIRM.open_stateid")? })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    const OPEN_STATEID: Stateid = Stateid { seqid: 1, other: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] };

    #[test]
    fn arguments() {
        let confirm = Args { open_stateid: OPEN_STATEID, seqid: 8 };
        let bytes = args(Op::OPEN_CONFIRM, REPLY_HEAD_MAX, |ops| confirm.encode(ops));
        assert_eq!(bytes, [0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 0, 8]);
    }

    #[test]
    fn a_result() {
        let result = strict(&[0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], ResOk::decode);
        assert_eq!(result.open_stateid, OPEN_STATEID);
    }
}
