//! RFC 1813 3.3.4: ACCESS.

use super::fattr3::{Fattr3, POST_OP_ATTR_LEN_MAX, post_op_attr};
use super::{Fh, Procedure};
use crate::error::Error;
use crate::nfs::status::Status;
use crate::wire::{Reader, Writer};

/// `ACCESS3_READ`: read a file, list a directory.
pub const READ: u32 = 0x01;
/// `ACCESS3_LOOKUP`: look up a name in a directory.
pub const LOOKUP: u32 = 0x02;
/// `ACCESS3_MODIFY`: write what is there.
pub const MODIFY: u32 = 0x04;
/// `ACCESS3_EXTEND`: write behind it, add a name.
pub const EXTEND: u32 = 0x08;
/// `ACCESS3_DELETE`: delete a name of a directory.
pub const DELETE: u32 = 0x10;
/// `ACCESS3_EXECUTE`: execute a file. A server may let a file be read by who may only execute it.
pub const EXECUTE: u32 = 0x20;

/// Asks what the caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// With what.
    pub object: Fh,
    /// [`READ`] and the others that the question is about.
    pub access: u32,
}

impl Request {
    /// Appends the arguments.
    pub fn encode(&self, w: &mut Writer<'_>) {
        self.object.encode(w);
        w.be32(self.access);
    }
}

/// The most bytes of a reply behind the RPC header: all of it.
pub const REPLY_HEAD_MAX: usize = 4 + POST_OP_ATTR_LEN_MAX + 4;

/// What the caller may do, as far as the server can tell in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The attributes, if the server has them at hand.
    pub obj_attributes: Option<Fattr3>,
    /// [`READ`] and the others. Servers tell of more than was asked for.
    pub access: u32,
}

impl Response {
    /// Decodes what follows the RPC header. `Refused` if the status is not `NFS3_OK`; that something is not
    /// allowed is no refusal.
    pub fn decode(body: &[u8]) -> Result<Response, Error> {
        let mut r = Reader::new(body);
        Status::decode(&mut r, Procedure::ACCESS)?;
        Ok(Response { obj_attributes: post_op_attr(&mut r)?, access: r.be32("ACCESS3resok.access")? })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn a_request() {
        let bytes = encoded(|w| Request { object: fh(), access: READ | LOOKUP | EXECUTE }.encode(w));
        assert_eq!(bytes, body(&[&FH, &[0, 0, 0, 0x23]]));
    }

    #[test]
    fn a_response() {
        let all = body(&[&[0, 0, 0, 0], &some_fattr(), &[0, 0, 0, 0x1F]]);
        assert_eq!(all.len(), REPLY_HEAD_MAX);
        let response = Response { obj_attributes: Some(fattr()), access: 0x1F };
        assert_eq!(Response::decode(&all), Ok(response));
        strict(&all, Procedure::ACCESS, |body| Response::decode(body).err());

        let none = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        assert_eq!(Response::decode(&none), Ok(Response { obj_attributes: None, access: READ }));
        strict(&none, Procedure::ACCESS, |body| Response::decode(body).err());
    }

    #[test]
    fn wrong_discriminants_are_refused() {
        let bytes = [0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1];
        assert_eq!(Response::decode(&bytes), Err(Error::Malformed("post_op_attr.attributes_follow")));
    }
}
