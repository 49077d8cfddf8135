//! RFC 7530 16.7, RFC 8881 18.7: GETATTR.

use super::bitmap::Bitmap;
use super::compound::{Ops, RESULT_HEAD_MAX};
use super::fattr4::{self, Fattr4};
use super::op::Op;
use crate::error::Error;
use crate::wire::Reader;

/// Asks for attributes of the current file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args {
    /// [`fattr4::STAT`] and the others. What the server does not have it leaves out.
    pub attr_request: Bitmap,
}

impl Args {
    /// Appends the operation.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) {
        self.attr_request.encode(ops.op(Op::GETATTR, reply_head_max(self.attr_request)));
    }
}

/// The most bytes of a result.
#[expect(clippy::arithmetic_side_effects, reason = "a sum of constants")]
pub fn reply_head_max(attr_request: Bitmap) -> usize {
    RESULT_HEAD_MAX + fattr4::len_max(attr_request)
}

/// The attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResOk<'a> {
    /// They.
    pub obj_attributes: Fattr4<'a>,
}

impl<'a> ResOk<'a> {
    /// Decodes what follows the status.
    pub fn decode(r: &mut Reader<'a>) -> Result<ResOk<'a>, Error> {
        Ok(ResOk { obj_attributes: Fattr4::decode(r)? })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn arguments() {
        let attr_request = Bitmap::of(&[fattr4::TYPE, fattr4::SIZE, fattr4::MODE]);
        let bytes = args(Op::GETATTR, 8 + 20 + 16, |ops| Args { attr_request }.encode(ops));
        assert_eq!(bytes, [0, 0, 0, 2, 0, 0, 0, 0x12, 0, 0, 0, 2]);
        let bytes = args(Op::GETATTR, reply_head_max(fattr4::STAT), |ops| {
            Args { attr_request: fattr4::STAT }.encode(ops)
        });
        assert_eq!(bytes, [0, 0, 0, 2, 0, 0x10, 1, 0x1A, 0, 0x34, 0xA0, 0x0A]);
    }

    #[test]
    fn a_result() {
        const BYTES: [u8; 24] =
            [0, 0, 0, 1, 0, 0, 0, 0x12, 0, 0, 0, 12, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0x10, 0];
        strict(&BYTES, |r| ResOk::decode(r).map(|_| ()));
        let result = ResOk::decode(&mut Reader::new(&BYTES)).unwrap();
        assert_eq!(result.obj_attributes.kind, Some(fattr4::Type::Directory));
        assert_eq!(result.obj_attributes.size, Some(4096));
    }
}
