//! RFC 1813 3.3.19: FSINFO.

use super::fattr3::{Fattr3, NfsTime3, POST_OP_ATTR_LEN_MAX, post_op_attr};
use super::{Fh, Procedure};
use crate::error::Error;
use crate::nfs::status::Status;
use crate::wire::{Reader, Writer};

/// Property `FSF3_LINK`: there are hard links.
pub const LINK: u32 = 0x01;
/// Property `FSF3_SYMLINK`: there are symbolic links.
pub const SYMLINK: u32 = 0x02;
/// Property `FSF3_HOMOGENEOUS`: PATHCONF is the same for every file.
pub const HOMOGENEOUS: u32 = 0x08;
/// Property `FSF3_CANSETTIME`: times can be set.
pub const CANSETTIME: u32 = 0x10;

/// Asks what a file system and its server can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The root of the export.
    pub fsroot: Fh,
}

impl Request {
    /// Appends the arguments.
    pub fn encode(&self, w: &mut Writer<'_>) {
        self.fsroot.encode(w);
    }
}

/// The most bytes of a reply behind the RPC header: all of it.
pub const REPLY_HEAD_MAX: usize = 4 + POST_OP_ATTR_LEN_MAX + 7 * 4 + 8 + NfsTime3::LEN + 4;

/// What they can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The attributes of what was asked with, if the server has them at hand.
    pub obj_attributes: Option<Fattr3>,
    /// The most bytes of a READ, not zero. A server answers a longer one in part.
    pub rtmax: u32,
    /// The best number of bytes of a READ; zero if the server has no wish.
    pub rtpref: u32,
    /// What READs should be a multiple of; zero if the server has no wish.
    pub rtmult: u32,
    /// The most bytes of a WRITE.
    pub wtmax: u32,
    /// The best number of bytes of a WRITE.
    pub wtpref: u32,
    /// What WRITEs should be a multiple of.
    pub wtmult: u32,
    /// The best number of bytes of a READDIR; zero if the server has no wish.
    pub dtpref: u32,
    /// The longest file.
    pub maxfilesize: u64,
    /// How exactly the server keeps times.
    pub time_delta: NfsTime3,
    /// [`SYMLINK`] and the others.
    pub properties: u32,
}

impl Response {
    /// Decodes what follows the RPC header. `Refused` if the status is not `NFS3_OK`. `Misbehaved` if no byte
    /// may be read at once: no file could be read at all.
    pub fn decode(body: &[u8]) -> Result<Response, Error> {
        let mut r = Reader::new(body);
        Status::decode(&mut r, Procedure::FSINFO)?;
        let response = Response {
            obj_attributes: post_op_attr(&mut r)?,
            rtmax: r.be32("FSINFO3resok.rtmax")?,
            rtpref: r.be32("FSINFO3resok.rtpref")?,
            rtmult: r.be32("FSINFO3resok.rtmult")?,
            wtmax: r.be32("FSINFO3resok.wtmax")?,
            wtpref: r.be32("FSINFO3resok.wtpref")?,
            wtmult: r.be32("FSINFO3resok.wtmult")?,
            dtpref: r.be32("FSINFO3resok.dtpref")?,
            maxfilesize: r.be64("FSINFO3resok.maxfilesize")?,
            time_delta: NfsTime3::decode(&mut r)?,
            properties: r.be32("FSINFO3resok.properties")?,
        };
        if response.rtmax == 0 {
            return Err(Error::Misbehaved("FSINFO3resok.rtmax"));
        }
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    /// Of a Linux server, of 2017 (`nfs_base.pcap`).
    #[rustfmt::skip]
    const RESPONSE: [u8; 56] = [
        0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 16, 0, 0, 0, 0, 16, 0, 0, 16, 0, 0, 0, 16, 0, 0, 0, 0, 16, 0,
        0, 0, 16, 0, 0, 0, 0x0F, 0xFF, 0xFF, 0xFF, 0xF0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x1B,
    ];

    fn response() -> Response {
        Response {
            obj_attributes: None,
            rtmax: 0x0010_0000,
            rtpref: 0x0010_0000,
            rtmult: 4096,
            wtmax: 0x0010_0000,
            wtpref: 0x0010_0000,
            wtmult: 4096,
            dtpref: 4096,
            maxfilesize: 0x0000_0FFF_FFFF_F000,
            time_delta: NfsTime3 { seconds: 1, nseconds: 0 },
            properties: LINK | SYMLINK | HOMOGENEOUS | CANSETTIME,
        }
    }

    #[test]
    fn a_request() {
        assert_eq!(encoded(|w| Request { fsroot: fh() }.encode(w)), FH);
    }

    #[test]
    fn a_response() {
        assert_eq!(Response::decode(&RESPONSE), Ok(response()));
        strict(&RESPONSE, Procedure::FSINFO, |body| Response::decode(body).err());
        let all = body(&[&[0; 4], &some_fattr(), &RESPONSE[8..]]);
        assert_eq!(all.len(), REPLY_HEAD_MAX);
        assert_eq!(Response::decode(&all), Ok(Response { obj_attributes: Some(fattr()), ..response() }));
        strict(&all, Procedure::FSINFO, |body| Response::decode(body).err());
    }

    #[test]
    fn every_number_has_its_place() {
        let mut bytes = RESPONSE;
        for (at, byte) in bytes.iter_mut().enumerate().skip(8) {
            *byte = at as u8;
        }
        let response = Response::decode(&bytes).unwrap();
        assert_eq!(
            [response.rtmax, response.rtpref, response.rtmult],
            [0x0809_0A0B, 0x0C0D_0E0F, 0x1011_1213]
        );
        assert_eq!(
            [response.wtmax, response.wtpref, response.wtmult],
            [0x1415_1617, 0x1819_1A1B, 0x1C1D_1E1F]
        );
        assert_eq!((response.dtpref, response.maxfilesize), (0x2021_2223, 0x2425_2627_2829_2A2B));
        assert_eq!(response.time_delta, NfsTime3 { seconds: 0x2C2D_2E2F, nseconds: 0x3031_3233 });
        assert_eq!(response.properties, 0x3435_3637);
    }

    #[test]
    fn a_server_that_lets_nothing_be_read_is_refused() {
        let bytes = with_word(&RESPONSE, 8, 0);
        assert_eq!(Response::decode(&bytes), Err(Error::Misbehaved("FSINFO3resok.rtmax")));
        assert_eq!(Response::decode(&with_word(&RESPONSE, 8, 1)).map(|response| response.rtmax), Ok(1));
    }

    #[test]
    fn wrong_discriminants_are_refused() {
        let error = Response::decode(&with_word(&RESPONSE, 4, 2));
        assert_eq!(error, Err(Error::Malformed("post_op_attr.attributes_follow")));
    }
}
