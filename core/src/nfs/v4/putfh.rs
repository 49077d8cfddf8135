//! RFC 7530 16.20, RFC 8881 18.19: PUTFH.

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::fh::Fh;
use super::op::Op;

/// Makes a file handle the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args<'a> {
    /// It.
    pub object: &'a Fh,
}

impl Args<'_> {
    /// Appends the operation.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) {
        self.object.encode(ops.op(Op::PUTFH, REPLY_HEAD_MAX));
    }
}

/// The most bytes of a result: nothing follows the status.
pub const REPLY_HEAD_MAX: usize = RESULT_HEAD_MAX;

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn a_file_handle_and_no_result() {
        let object = &Fh::new(&[1, 2, 3]).unwrap();
        let bytes = args(Op::PUTFH, REPLY_HEAD_MAX, |ops| Args { object }.encode(ops));
        assert_eq!(bytes, [0, 0, 0, 3, 1, 2, 3, 0]);
        void_result(Op::PUTFH, REPLY_HEAD_MAX);
    }
}
