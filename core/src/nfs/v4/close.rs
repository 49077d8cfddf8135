//! RFC 7530 16.2, RFC 8881 18.2: CLOSE.

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::op::Op;
use super::stateid::{self, Stateid};
use crate::error::Error;
use crate::wire::Reader;

/// Closes the current file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args {
    /// Counts the requests of the owner (4.0).
    pub seqid: u32,
    /// The open.
    pub open_stateid: Stateid,
}

impl Args {
    /// Appends the operation.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) {
        let w = ops.op(Op::CLOSE, REPLY_HEAD_MAX);
        w.be32(self.seqid);
        self.open_stateid.encode(w);
    }
}

/// The most bytes of a result.
pub const REPLY_HEAD_MAX: usize = RESULT_HEAD_MAX + stateid::LEN;

/// It is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResOk;

impl ResOk {
    /// Decodes what follows the status: a stateid without a meaning.
    pub fn decode(r: &mut Reader<'_>) -> Result<ResOk, Error> {
        Stateid::decode(r, "CLOSE.open_stateid").map(|_| ResOk)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn arguments() {
        let close = Args { seqid: 9, open_stateid: Stateid::CURRENT };
        let bytes = args(Op::CLOSE, REPLY_HEAD_MAX, |ops| close.encode(ops));
        assert_eq!(bytes, [0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_result() {
        strict(&[0xFF; 16], ResOk::decode);
    }
}
