//! RFC 8881 18.37: DESTROY_SESSION (4.1).

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::create_session::SessionId;
use super::op::Op;

/// Destroys a session. In a COMPOUND that starts with SEQUENCE in the same session, it is to be the last operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args {
    /// The session.
    pub sessionid: SessionId,
}

impl Args {
    /// Appends the operation.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) {
        ops.op(Op::DESTROY_SESSION, REPLY_HEAD_MAX).put(&self.sessionid.0);
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
        let arguments = Args { sessionid: SessionId([7; 16]) };
        let bytes = args(Op::DESTROY_SESSION, REPLY_HEAD_MAX, |ops| arguments.encode(ops));
        assert_eq!(bytes, [7; 16]);
        void_result(Op::DESTROY_SESSION, REPLY_HEAD_MAX);
    }
}
