//! RFC 7530 16.8, RFC 8881 18.8: GETFH.

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::fh::{self, Fh};
use super::op::Op;
use crate::error::Error;
use crate::wire::Reader;

/// Asks for the current file handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args;

impl Args {
    /// Appends the operation.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) {
        ops.op(Op::GETFH, REPLY_HEAD_MAX);
    }
}

/// The most bytes of a result.
pub const REPLY_HEAD_MAX: usize = RESULT_HEAD_MAX + fh::LEN_MAX;

/// The file handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResOk {
    /// It.
    pub object: Fh,
}

impl ResOk {
    /// Decodes what follows the status.
    pub fn decode(r: &mut Reader<'_>) -> Result<ResOk, Error> {
        Ok(ResOk { object: Fh::decode(r, "GETFH.object")? })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn no_arguments() {
        assert_eq!(args(Op::GETFH, REPLY_HEAD_MAX, |ops| Args.encode(ops)), []);
    }

    #[test]
    fn a_result() {
        let result = strict(&[0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0], ResOk::decode);
        assert_eq!(result.object.bytes(), [1, 2, 3, 4, 5]);
        let mut longest = std::vec::Vec::from([0, 0, 0, 128]);
        longest.resize(132, 7);
        assert_eq!(strict(&longest, ResOk::decode).object.bytes(), [7; 128]);
        assert_eq!(REPLY_HEAD_MAX, 8 + longest.len());
    }
}
