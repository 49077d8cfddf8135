//! RFC 8881 18.51: RECLAIM_COMPLETE (4.1).

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::op::Op;

/// Says that nothing is left to be reclaimed: before it, a server may refuse every OPEN with `NFS4ERR_GRACE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args {
    /// Only of the current file system. False of all, as a new client has it.
    pub one_fs: bool,
}

impl Args {
    /// Appends the operation.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) {
        ops.op(Op::RECLAIM_COMPLETE, REPLY_HEAD_MAX).boolean(self.one_fs);
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
        let arguments = Args { one_fs: false };
        let bytes = args(Op::RECLAIM_COMPLETE, REPLY_HEAD_MAX, |ops| arguments.encode(ops));
        assert_eq!(bytes, [0, 0, 0, 0]);
        void_result(Op::RECLAIM_COMPLETE, REPLY_HEAD_MAX);
    }
}
