//! RFC 7530 16.34: SETCLIENTID_CONFIRM (4.0).

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::op::Op;

/// Confirms what SETCLIENTID returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args {
    /// The client.
    pub clientid: u64,
    /// The proof of having seen the reply.
    pub setclientid_confirm: [u8; 8],
}

impl Args {
    /// Appends the operation.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) {
        let w = ops.op(Op::SETCLIENTID_CONFIRM, REPLY_HEAD_MAX);
        w.be64(self.clientid);
        w.put(&self.setclientid_confirm);
    }
}

/// The most bytes of a result: nothing follows the status.
pub const REPLY_HEAD_MAX: usize = RESULT_HEAD_MAX;

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn arguments_and_no_result() {
        let confirm = Args { clientid: 0x0102_0304_0506_0708, setclientid_confirm: [9; 8] };
        let bytes = args(Op::SETCLIENTID_CONFIRM, REPLY_HEAD_MAX, |ops| confirm.encode(ops));
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 9, 9, 9, 9]);
        void_result(Op::SETCLIENTID_CONFIRM, REPLY_HEAD_MAX);
    }
}
