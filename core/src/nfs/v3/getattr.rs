//! RFC 1813 3.3.1: GETATTR.

use super::fattr3::Fattr3;
use super::{Fh, Procedure};
use crate::error::Error;
use crate::nfs::status::Status;
use crate::wire::{Reader, Writer};

/// Asks for the attributes of whatever is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The file or directory.
    pub object: Fh,
}

impl Request {
    /// Appends the arguments.
    pub fn encode(&self, w: &mut Writer<'_>) {
        self.object.encode(w);
    }
}

/// The most bytes of a reply behind the RPC header: all of it.
pub const REPLY_HEAD_MAX: usize = 4 + Fattr3::LEN;

/// What is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The attributes.
    pub obj_attributes: Fattr3,
}

impl Response {
    /// Decodes what follows the RPC header. `Refused` if the status is not `NFS3_OK`.
    pub fn decode(body: &[u8]) -> Result<Response, Error> {
        let mut r = Reader::new(body);
        Status::decode(&mut r, Procedure::GETATTR)?;
        Ok(Response { obj_attributes: Fattr3::decode(&mut r)? })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn a_request() {
        assert_eq!(encoded(|w| Request { object: fh() }.encode(w)), FH);
    }

    #[test]
    fn a_response() {
        let bytes = body(&[&[0, 0, 0, 0], &FATTR]);
        assert_eq!(bytes.len(), REPLY_HEAD_MAX);
        assert_eq!(Response::decode(&bytes), Ok(Response { obj_attributes: fattr() }));
        strict(&bytes, Procedure::GETATTR, |body| Response::decode(body).err());
    }
}
