//! RFC 1813 3.3.5: READLINK.

use super::fattr3::{Fattr3, POST_OP_ATTR_LEN_MAX, post_op_attr};
use super::{Fh, Procedure};
use crate::error::Error;
use crate::nfs::status::Status;
use crate::wire::{Reader, Writer};

/// The most bytes of a link's target that are taken: `PATH_MAX` of the systems that make links. The standard has
/// no bound.
pub const TARGET_LEN_MAX: u32 = 4096;

/// Asks where a symbolic link leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The link. Anything else is refused with `NFS3ERR_INVAL`.
    pub symlink: Fh,
}

impl Request {
    /// Appends the arguments.
    pub fn encode(&self, w: &mut Writer<'_>) {
        self.symlink.encode(w);
    }
}

/// The most bytes of a reply behind the RPC header, besides the target, which is as long as it is and cannot be
/// asked to be shorter.
pub const REPLY_HEAD_MAX: usize = 4 + POST_OP_ATTR_LEN_MAX + 4;

/// Where it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// The link's own attributes, if the server has them at hand.
    pub symlink_attributes: Option<Fattr3>,
    /// A path, as it was when the link was made: not empty, without NUL, and nothing else is known of it. One that
    /// starts with `/` is meant from the root of whoever follows it, not from that of the export.
    pub target: &'a [u8],
}

impl<'a> Response<'a> {
    /// Decodes what follows the RPC header. `Refused` if the status is not `NFS3_OK`.
    pub fn decode(body: &'a [u8]) -> Result<Response<'a>, Error> {
        let mut r = Reader::new(body);
        Status::decode(&mut r, Procedure::READLINK)?;
        let symlink_attributes = post_op_attr(&mut r)?;
        let target = r.opaque(TARGET_LEN_MAX, "READLINK3resok.data")?;
        if target.is_empty() || target.contains(&0) {
            return Err(Error::Malformed("READLINK3resok.data"));
        }
        Ok(Response { symlink_attributes, target })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    const DATA: Error = Error::Malformed("READLINK3resok.data");

    #[test]
    fn a_request() {
        assert_eq!(encoded(|w| Request { symlink: fh() }.encode(w)), FH);
    }

    #[test]
    fn a_response() {
        let target = [0, 0, 0, 6, b'.', b'.', b'/', b'x', 0xC3, 0xA9, 0, 0];
        let all = body(&[&[0, 0, 0, 0], &some_fattr(), &target]);
        assert_eq!(all.len() - 8, REPLY_HEAD_MAX);
        let response = Response { symlink_attributes: Some(fattr()), target: "../xé".as_bytes() };
        assert_eq!(Response::decode(&all), Ok(response));
        strict(&all, Procedure::READLINK, |body| Response::decode(body).err());

        let none = body(&[&[0, 0, 0, 0, 0, 0, 0, 0], &target]);
        assert_eq!(Response::decode(&none), Ok(Response { symlink_attributes: None, ..response }));
        strict(&none, Procedure::READLINK, |body| Response::decode(body).err());
        assert_eq!(
            Response::decode(&with_word(&none, 4, 2)),
            Err(Error::Malformed("post_op_attr.attributes_follow"))
        );
    }

    #[test]
    fn a_target_is_a_path_that_somebody_could_have_made() {
        for (target, good) in
            [(&[b'a'; 4096][..], true), (&[b'a'; 4097], false), (b"", false), (b"a\0b", false)]
        {
            let target = encoded_long(target);
            let body = body(&[&[0, 0, 0, 0, 0, 0, 0, 0], &target]);
            assert_eq!(Response::decode(&body).err(), (!good).then_some(DATA));
        }
    }

    fn encoded_long(bytes: &[u8]) -> std::vec::Vec<u8> {
        let mut buf = [0; 5000];
        let mut w = Writer::new(&mut buf);
        w.opaque(bytes);
        let len = w.finish().unwrap();
        buf[..len].to_vec()
    }
}
