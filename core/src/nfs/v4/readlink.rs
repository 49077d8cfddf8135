//! RFC 7530 16.25, RFC 8881 18.24: READLINK.

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::limits::LINK_LEN_MAX;
use super::op::Op;
use crate::error::Error;
use crate::wire::Reader;

/// Asks where the current symbolic link goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args;

impl Args {
    /// Appends the operation. The text of the link is in its budget.
    #[expect(clippy::arithmetic_side_effects, reason = "a sum of constants")]
    pub fn encode(&self, ops: &mut Ops<'_, '_>) {
        ops.op(Op::READLINK, REPLY_HEAD_MAX + LINK_LEN_MAX as usize);
    }
}

/// The most bytes of a result, besides [`LINK_LEN_MAX`] of text.
pub const REPLY_HEAD_MAX: usize = RESULT_HEAD_MAX + 4;

/// Where the link goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResOk<'a> {
    /// A path, by convention UTF-8 with `/` between names; from the link's own directory unless it starts with `/`. Not
    /// empty and without NUL. Nothing else is known of it.
    pub link: &'a [u8],
}

impl<'a> ResOk<'a> {
    /// Decodes what follows the status.
    pub fn decode(r: &mut Reader<'a>) -> Result<ResOk<'a>, Error> {
        let link = r.opaque(LINK_LEN_MAX, "READLINK.link")?;
        if link.is_empty() || link.contains(&0) {
            return Err(Error::Malformed("READLINK.link"));
        }
        Ok(ResOk { link })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn no_arguments() {
        assert_eq!(args(Op::READLINK, 12 + 4096, |ops| Args.encode(ops)), []);
    }

    #[test]
    fn a_result() {
        const BYTES: [u8; 12] = [0, 0, 0, 5, b'.', b'.', b'/', b'u', b'v', 0, 0, 0];
        strict(&BYTES, |r| ResOk::decode(r).map(|_| ()));
        assert_eq!(ResOk::decode(&mut Reader::new(&BYTES)), Ok(ResOk { link: b"../uv" }));
        for bad in [[0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 2, b'a', 0, 0, 0], [0, 0, 16, 1, 0, 0, 0, 0]] {
            assert_eq!(ResOk::decode(&mut Reader::new(&bad)), Err(Error::Malformed("READLINK.link")));
        }
    }
}
