//! RFC 1813 3.3.3: LOOKUP.

use super::fattr3::{Fattr3, POST_OP_ATTR_LEN_MAX, post_op_attr};
use super::{Fh, Procedure};
use crate::error::Error;
use crate::nfs::status::Status;
use crate::wire::{Reader, Writer};

/// Asks what a name in a directory stands for. A symbolic link is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The directory.
    pub dir: Fh,
    /// One component of a path. `.` and `..` are names like others here: the directory itself and its parent.
    pub name: &'a [u8],
}

impl Request<'_> {
    /// Appends the arguments. `Invalid`, and nothing is appended, if the name is empty or has a `/` or a NUL.
    pub fn encode(&self, w: &mut Writer<'_>) -> Result<(), Error> {
        if self.name.is_empty() || self.name.iter().any(|byte| matches!(byte, b'/' | 0)) {
            return Err(Error::Invalid("path"));
        }
        self.dir.encode(w);
        w.opaque(self.name);
        Ok(())
    }
}

/// The most bytes of a reply behind the RPC header: all of it.
pub const REPLY_HEAD_MAX: usize = 4 + Fh::LEN_MAX_ON_WIRE + 2 * POST_OP_ATTR_LEN_MAX;

/// What is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// For the requests about it.
    pub object: Fh,
    /// Its attributes, if the server has them at hand.
    pub obj_attributes: Option<Fattr3>,
    /// The directory's, likewise.
    pub dir_attributes: Option<Fattr3>,
}

impl Response {
    /// Decodes what follows the RPC header. `Refused` if the status is not `NFS3_OK`.
    // Not inlined, since it is large: so it is moved as a whole.
    #[inline(never)]
    pub fn decode(body: &[u8]) -> Result<Response, Error> {
        let mut r = Reader::new(body);
        Status::decode(&mut r, Procedure::LOOKUP)?;
        Ok(Response {
            object: Fh::decode(&mut r)?,
            obj_attributes: post_op_attr(&mut r)?,
            dir_attributes: post_op_attr(&mut r)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn a_request() {
        let bytes = encoded(|w| Request { dir: fh(), name: b"a.txt" }.encode(w).unwrap());
        assert_eq!(bytes, body(&[&FH, &[0, 0, 0, 5, b'a', b'.', b't', b'x', b't', 0, 0, 0]]));
    }

    #[test]
    fn a_name_is_one_component() {
        for name in [&b""[..], b"/", b"a/b", b"a\0", b"\0"] {
            let bytes = encoded(|w| {
                assert_eq!(Request { dir: fh(), name }.encode(w), Err(Error::Invalid("path")));
            });
            assert!(bytes.is_empty());
        }
        for name in [&b"."[..], b"..", b"a\\b", b"\xFF", b"-"] {
            assert_eq!(encoded(|w| Request { dir: fh(), name }.encode(w).unwrap()).len(), 20);
        }
    }

    #[test]
    fn a_response() {
        let none = body(&[&[0, 0, 0, 0], &FH, &[0, 0, 0, 0], &[0, 0, 0, 0]]);
        let response = Response { object: fh(), obj_attributes: None, dir_attributes: None };
        assert_eq!(Response::decode(&none), Ok(response));
        strict(&none, Procedure::LOOKUP, |body| Response::decode(body).err());

        let object = body(&[&[0, 0, 0, 0], &FH, &some_fattr(), &[0, 0, 0, 0]]);
        let response = Response { obj_attributes: Some(fattr()), ..response };
        assert_eq!(Response::decode(&object), Ok(response));
        strict(&object, Procedure::LOOKUP, |body| Response::decode(body).err());

        let all = body(&[&[0, 0, 0, 0, 0, 0, 0, 64], &[7; 64], &some_fattr(), &some_fattr()]);
        assert_eq!(all.len(), REPLY_HEAD_MAX);
        let response =
            Response { object: Fh::new(&[7; 64]).unwrap(), dir_attributes: Some(fattr()), ..response };
        assert_eq!(Response::decode(&all), Ok(response));
    }

    #[test]
    fn wrong_discriminants_are_refused() {
        let bytes = body(&[&[0, 0, 0, 0], &FH, &some_fattr(), &[0, 0, 0, 0]]);
        for at in [16, 104] {
            let error = Response::decode(&with_word(&bytes, at, 2));
            assert_eq!(error, Err(Error::Malformed("post_op_attr.attributes_follow")));
        }
        assert_eq!(Response::decode(&with_word(&bytes, 20, 8)), Err(Error::Malformed("fattr3.type")));
        assert_eq!(Response::decode(&with_word(&bytes, 4, 65)), Err(Error::Malformed("nfs_fh3")));
    }
}
