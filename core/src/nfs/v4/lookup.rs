//! RFC 7530 16.13, RFC 8881 18.13: LOOKUP.

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::limits::NAME_LEN_MAX;
use super::op::Op;
use crate::error::Error;

/// Goes from the current directory to a name in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args<'a> {
    /// The name, UTF-8 by convention.
    pub objname: &'a [u8],
}

impl Args<'_> {
    /// Appends the operation. `Invalid`, and nothing is appended, if the name is: see [`component`].
    pub fn encode(&self, ops: &mut Ops<'_, '_>) -> Result<(), Error> {
        let name = component(self.objname)?;
        ops.op(Op::LOOKUP, REPLY_HEAD_MAX).opaque(name);
        Ok(())
    }
}

/// The most bytes of a result: nothing follows the status.
pub const REPLY_HEAD_MAX: usize = RESULT_HEAD_MAX;

/// `name`, if it may stand for an entry of a directory. `Invalid` if it is empty, `.` or `..`, if `/` or NUL is in it, or
/// if it is longer than [`NAME_LEN_MAX`] bytes: no server has such a name, and some give these a meaning.
pub fn component(name: &[u8]) -> Result<&[u8], Error> {
    if name.len() > NAME_LEN_MAX as usize {
        return Err(Error::Invalid("path: a name is too long"));
    }
    match name {
        b"" | b"." | b".." => Err(Error::Invalid("path")),
        name if name.iter().any(|byte| matches!(byte, b'/' | 0)) => Err(Error::Invalid("path")),
        name => Ok(name),
    }
}

/// The names of `path`: `/` separates, however many at any place.
pub fn components(path: &str) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.split('/').filter(|name| !name.is_empty()).map(str::as_bytes)
}

/// Appends a LOOKUP for every name of `path`; none for the root. `Invalid`, and nothing is appended, if one of
/// them is: see [`component`]. How many operations a server takes is for the caller to check.
pub fn encode_path(path: &str, ops: &mut Ops<'_, '_>) -> Result<(), Error> {
    components(path).try_for_each(|name| component(name).map(|_| ()))?;
    components(path).try_for_each(|objname| Args { objname }.encode(ops))
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use std::string::String;
    use std::vec::Vec;

    #[test]
    fn a_name_and_no_result() {
        let bytes = args(Op::LOOKUP, REPLY_HEAD_MAX, |ops| Args { objname: b"small" }.encode(ops).unwrap());
        assert_eq!(bytes, [0, 0, 0, 5, b's', b'm', b'a', b'l', b'l', 0, 0, 0]);
        void_result(Op::LOOKUP, REPLY_HEAD_MAX);
    }

    fn path(path: &str) -> Result<(u32, Vec<u8>), Error> {
        let mut result = Ok(0);
        let bytes = written(|w| {
            let mut ops = Ops::begin(w, b"", 0);
            result = encode_path(path, &mut ops).map(|()| ops.count());
            assert!(result.is_ok() || ops.count() == 0);
            ops.end();
        });
        Ok((result?, bytes[12..].to_vec()))
    }

    #[test]
    fn a_path_is_one_operation_a_name() {
        #[rustfmt::skip]
        let both = [0, 0, 0, 15, 0, 0, 0, 1, b'a', 0, 0, 0, 0, 0, 0, 15, 0, 0, 0, 2, b'b', b'\\', 0, 0];
        for same in ["a/b\\", "/a//b\\/"] {
            assert_eq!(path(same), Ok((2, both.to_vec())));
        }
        for root in ["", "/", "///"] {
            assert_eq!(path(root), Ok((0, Vec::new())));
        }
        assert_eq!(path(".../.a/..b/é").map(|(count, _)| count), Ok(4));
    }

    #[test]
    fn names_with_a_meaning_are_refused() {
        for bad in [".", "..", "a/..", "a/./b", "/../a", "a\0", "b/c\0d/e"] {
            assert_eq!(path(bad), Err(Error::Invalid("path")), "{bad:?}");
        }
        assert_eq!(component(b""), Err(Error::Invalid("path")));
        assert_eq!(component(b"a/b"), Err(Error::Invalid("path")));
        let long: String = core::iter::repeat_n('x', 1025).collect();
        assert!(matches!(path(&long), Err(Error::Invalid(_))));
        assert!(path(&long[1..]).is_ok());
    }
}
