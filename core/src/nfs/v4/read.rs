//! RFC 7530 16.23, RFC 8881 18.22: READ.

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::op::Op;
use super::stateid::Stateid;
use crate::error::Error;
use crate::nfs::xdr::pad;
use crate::wire::Reader;

/// Reads the current file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args {
    /// The open, or one that stands for none.
    pub stateid: Stateid,
    /// Where to start.
    pub offset: u64,
    /// How many bytes at most.
    pub count: u32,
}

impl Args {
    /// Appends the operation. The data is not in its budget.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) {
        let w = ops.op(Op::READ, REPLY_HEAD_MAX);
        self.stateid.encode(w);
        w.be64(self.offset);
        w.be32(self.count);
    }
}

/// Bytes of a [`Head`].
pub const HEAD_LEN: usize = 8;

/// The most bytes of a result, besides the data.
pub const REPLY_HEAD_MAX: usize = RESULT_HEAD_MAX + HEAD_LEN;

/// What stands in front of the data. The data itself goes straight to the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The data ends where the file does.
    pub eof: bool,
    /// How many bytes of data there are.
    pub len: u32,
}

impl Head {
    /// Decodes the [`HEAD_LEN`] bytes that follow the status. The data is not looked at and need not be there; that
    /// it ends inside the message, and is not more than was asked for, is for the caller to check.
    pub fn decode(r: &mut Reader<'_>) -> Result<Head, Error> {
        Ok(Head { eof: r.boolean("READ.eof")?, len: r.be32("READ.data")? })
    }

    /// How many bytes follow the data and mean nothing.
    pub const fn pad(&self) -> usize {
        pad(self.len as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn arguments() {
        let read = Args { stateid: Stateid::BYPASS, offset: 0x0102_0304_0506_0708, count: 0x0010_0000 };
        #[rustfmt::skip]
        assert_eq!(args(Op::READ, REPLY_HEAD_MAX, |ops| read.encode(ops)), [
            0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
            1, 2, 3, 4, 5, 6, 7, 8, 0, 0x10, 0, 0,
        ]);
    }

    #[test]
    fn a_head_without_its_data() {
        let head = strict(&[0, 0, 0, 1, 0x12, 0x34, 0x56, 0x79], Head::decode);
        assert_eq!(head, Head { eof: true, len: 0x1234_5679 });
        assert_eq!(head.pad(), 3);
        assert_eq!(strict(&[0; HEAD_LEN], Head::decode), Head { eof: false, len: 0 });
        assert_eq!(
            Head::decode(&mut Reader::new(&[0, 0, 0, 2, 0, 0, 0, 0])),
            Err(Error::Malformed("READ.eof"))
        );
    }
}
