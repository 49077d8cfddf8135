//! RFC 7530 16.1, RFC 8881 18.1: ACCESS.

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::op::Op;
use crate::error::Error;
use crate::wire::Reader;

/// Read the data of a file, list a directory.
pub const READ: u32 = 0x01;
/// Go from a directory to a name in it.
pub const LOOKUP: u32 = 0x02;
/// Run a file.
pub const EXECUTE: u32 = 0x20;

/// Asks what the caller may do with the current file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args {
    /// [`READ`] and the others.
    pub access: u32,
}

impl Args {
    /// Appends the operation.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) {
        ops.op(Op::ACCESS, REPLY_HEAD_MAX).be32(self.access);
    }
}

/// The most bytes of a result.
pub const REPLY_HEAD_MAX: usize = RESULT_HEAD_MAX + 8;

/// What was asked for, as far as the server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResOk {
    /// What the server can tell for sure.
    pub supported: u32,
    /// What of it is allowed.
    pub access: u32,
}

impl ResOk {
    /// Decodes what follows the status.
    pub fn decode(r: &mut Reader<'_>) -> Result<ResOk, Error> {
        Ok(ResOk { supported: r.be32("ACCESS.supported")?, access: r.be32("ACCESS.access")? })
    }

    /// Whether all of `access` is denied for sure, or only some of it. What the server cannot tell is not.
    pub const fn denies(&self, access: u32) -> bool {
        access & self.supported & !self.access != 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn arguments() {
        let bytes = args(Op::ACCESS, REPLY_HEAD_MAX, |ops| Args { access: READ | LOOKUP }.encode(ops));
        assert_eq!(bytes, [0, 0, 0, 3]);
    }

    #[test]
    fn a_result() {
        let result = strict(&[0, 0, 0, 3, 0, 0, 0, 2], ResOk::decode);
        assert_eq!(result, ResOk { supported: 3, access: 2 });
        assert!(result.denies(READ) && result.denies(READ | LOOKUP));
        assert!(!result.denies(LOOKUP) && !result.denies(EXECUTE));
    }
}
