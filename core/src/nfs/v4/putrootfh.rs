//! RFC 7530 16.22, RFC 8881 18.21: PUTROOTFH.

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::op::Op;

/// Makes the root of the server the current file handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args;

impl Args {
    /// Appends the operation.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) {
        ops.op(Op::PUTROOTFH, REPLY_HEAD_MAX);
    }
}

/// The most bytes of a result: nothing follows the status.
pub const REPLY_HEAD_MAX: usize = RESULT_HEAD_MAX;

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn no_arguments_and_no_result() {
        assert_eq!(args(Op::PUTROOTFH, REPLY_HEAD_MAX, |ops| Args.encode(ops)), []);
        void_result(Op::PUTROOTFH, REPLY_HEAD_MAX);
    }
}
