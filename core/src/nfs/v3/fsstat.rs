//! RFC 1813 3.3.18: FSSTAT.

use super::fattr3::{Fattr3, POST_OP_ATTR_LEN_MAX, post_op_attr};
use super::{Fh, Procedure};
use crate::attributes::Space;
use crate::error::Error;
use crate::nfs::status::Status;
use crate::wire::{Reader, Writer};

/// Asks for the space of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Any file or directory on it.
    pub fsroot: Fh,
}

impl Request {
    /// Appends the arguments.
    pub fn encode(&self, w: &mut Writer<'_>) {
        self.fsroot.encode(w);
    }
}

/// The most bytes of a reply behind the RPC header: all of it.
pub const REPLY_HEAD_MAX: usize = 4 + POST_OP_ATTR_LEN_MAX + 6 * 8 + 4;

/// The space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The attributes of what was asked with, if the server has them at hand.
    pub obj_attributes: Option<Fattr3>,
    /// Bytes, all of them.
    pub tbytes: u64,
    /// Bytes free.
    pub fbytes: u64,
    /// Bytes free for the caller.
    pub abytes: u64,
    /// Files that there can be.
    pub tfiles: u64,
    /// Files that there can be still.
    pub ffiles: u64,
    /// Files that the caller can make still.
    pub afiles: u64,
    /// For how many seconds these numbers hold; zero if nobody knows.
    pub invarsec: u32,
}

impl Response {
    /// Decodes what follows the RPC header. `Refused` if the status is not `NFS3_OK`.
    pub fn decode(body: &[u8]) -> Result<Response, Error> {
        let mut r = Reader::new(body);
        Status::decode(&mut r, Procedure::FSSTAT)?;
        Ok(Response {
            obj_attributes: post_op_attr(&mut r)?,
            tbytes: r.be64("FSSTAT3resok.tbytes")?,
            fbytes: r.be64("FSSTAT3resok.fbytes")?,
            abytes: r.be64("FSSTAT3resok.abytes")?,
            tfiles: r.be64("FSSTAT3resok.tfiles")?,
            ffiles: r.be64("FSSTAT3resok.ffiles")?,
            afiles: r.be64("FSSTAT3resok.afiles")?,
            invarsec: r.be32("FSSTAT3resok.invarsec")?,
        })
    }

    /// It in words that all protocols share. NFSv3 does not tell the unit of allocation: it is a byte.
    pub const fn space(&self) -> Space {
        Space { total: self.tbytes, free: self.fbytes, available: self.abytes, unit: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn a_request() {
        assert_eq!(encoded(|w| Request { fsroot: fh() }.encode(w)), FH);
    }

    #[test]
    fn a_response() {
        #[rustfmt::skip]
        let numbers = [
            1, 0, 0, 0, 0, 0, 0, 2, 3, 0, 0, 0, 0, 0, 0, 4, 5, 0, 0, 0, 0, 0, 0, 6,
            7, 0, 0, 0, 0, 0, 0, 8, 9, 0, 0, 0, 0, 0, 0, 10, 11, 0, 0, 0, 0, 0, 0, 12, 13, 0, 0, 14,
        ];
        let all = body(&[&[0; 4], &some_fattr(), &numbers]);
        assert_eq!(all.len(), REPLY_HEAD_MAX);
        let response = Response {
            obj_attributes: Some(fattr()),
            tbytes: 0x0100_0000_0000_0002,
            fbytes: 0x0300_0000_0000_0004,
            abytes: 0x0500_0000_0000_0006,
            tfiles: 0x0700_0000_0000_0008,
            ffiles: 0x0900_0000_0000_000A,
            afiles: 0x0B00_0000_0000_000C,
            invarsec: 0x0D00_000E,
        };
        assert_eq!(Response::decode(&all), Ok(response));
        strict(&all, Procedure::FSSTAT, |body| Response::decode(body).err());
        assert_eq!(
            response.space(),
            Space {
                total: 0x0100_0000_0000_0002,
                free: 0x0300_0000_0000_0004,
                available: 0x0500_0000_0000_0006,
                unit: 1
            }
        );

        let none = body(&[&[0; 8], &numbers]);
        assert_eq!(Response::decode(&none), Ok(Response { obj_attributes: None, ..response }));
        strict(&none, Procedure::FSSTAT, |body| Response::decode(body).err());
        let wrong = Response::decode(&with_word(&none, 4, 2));
        assert_eq!(wrong, Err(Error::Malformed("post_op_attr.attributes_follow")));
    }
}
