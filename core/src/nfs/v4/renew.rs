//! RFC 7530 16.28: RENEW (4.0).

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::op::Op;

/// Renews the lease: the server goes on to remember what is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args {
    /// The client.
    pub clientid: u64,
}

impl Args {
    /// Appends the operation.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) {
        ops.op(Op::RENEW, REPLY_HEAD_MAX).be64(self.clientid);
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
        let arguments = Args { clientid: 0x0102_0304_0506_0708 };
        let bytes = args(Op::RENEW, REPLY_HEAD_MAX, |ops| arguments.encode(ops));
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8]);
        void_result(Op::RENEW, REPLY_HEAD_MAX);
    }
}
