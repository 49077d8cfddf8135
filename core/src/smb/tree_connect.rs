//! MS-SMB2 2.2.9, 2.2.10: TREE_CONNECT.

use super::header::{LEN, len16, structure_size};
use crate::error::Error;
use crate::wire::{Reader, Writer};

/// `ShareType`: `SMB2_SHARE_TYPE_DISK`.
pub const DISK: u8 = 0x01;
/// `ShareType`: `SMB2_SHARE_TYPE_PIPE`.
pub const PIPE: u8 = 0x02;
/// `ShareType`: `SMB2_SHARE_TYPE_PRINT`.
pub const PRINT: u8 = 0x03;

/// `ShareFlags`: `SMB2_SHAREFLAG_DFS`.
pub const DFS: u32 = 0x0000_0001;
/// `ShareFlags`: `SMB2_SHAREFLAG_DFS_ROOT`.
pub const DFS_ROOT: u32 = 0x0000_0002;
/// `ShareFlags`: `SMB2_SHAREFLAG_ENCRYPT_DATA`, all of this share.
pub const ENCRYPT_DATA: u32 = 0x0000_8000;
/// `ShareFlags`: `SMB2_SHAREFLAG_COMPRESS_DATA`.
pub const COMPRESS_DATA: u32 = 0x0010_0000;

/// `Capabilities`: `SMB2_SHARE_CAP_DFS`.
pub const CAP_DFS: u32 = 0x0000_0008;
/// `Capabilities`: `SMB2_SHARE_CAP_CONTINUOUS_AVAILABILITY`.
pub const CAP_CONTINUOUS_AVAILABILITY: u32 = 0x0000_0010;
/// `Capabilities`: `SMB2_SHARE_CAP_SCALEOUT`.
pub const CAP_SCALEOUT: u32 = 0x0000_0020;
/// `Capabilities`: `SMB2_SHARE_CAP_CLUSTER`.
pub const CAP_CLUSTER: u32 = 0x0000_0040;

/// The fixed part of a request.
const REQUEST_FIXED: usize = 8;

/// Enters `\\host\share`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The server's name or address, as the user gave it.
    pub host: &'a str,
    /// The name of the share.
    pub share: &'a str,
}

impl Request<'_> {
    /// Appends the message. `Invalid`, and nothing is appended, if a name is empty, has a separator or a NUL, or
    /// if both together are too long.
    pub fn encode(&self, w: &mut Writer<'_>) -> Result<(), Error> {
        name(self.host, "host")?;
        name(self.share, "share")?;
        let units = self
            .host
            .encode_utf16()
            .count()
            .saturating_add(self.share.encode_utf16().count())
            .saturating_add(3);
        let len = len16(units.saturating_mul(2), "share path too long")?;
        w.le16(9); // StructureSize
        w.le16(0); // Flags
        w.le16((LEN + REQUEST_FIXED) as u16); // PathOffset
        w.le16(len);
        for part in ["\\\\", self.host, "\\", self.share] {
            w.utf16(part);
        }
        Ok(())
    }
}

/// Whether `name` can be a part of `\\host\share`.
fn name(name: &str, what: &'static str) -> Result<(), Error> {
    if name.is_empty() || name.contains(['\\', '/', '\0']) { Err(Error::Invalid(what)) } else { Ok(()) }
}

/// The most bytes of a reply behind the header: all of it.
pub const REPLY_HEAD_MAX: usize = 16;

/// What the share is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// [`DISK`], [`PIPE`] or [`PRINT`].
    pub share_type: u8,
    /// [`ENCRYPT_DATA`] and the others.
    pub share_flags: u32,
    /// [`CAP_DFS`] and the others.
    pub capabilities: u32,
    /// What this user may do here at most, as an access mask.
    pub maximal_access: u32,
}

impl Response {
    /// Decodes what follows the header.
    pub fn decode(body: &[u8]) -> Result<Response, Error> {
        let mut r = Reader::new(body);
        structure_size(&mut r, 16, "TREE_CONNECT.StructureSize")?;
        let share_type = r.u8("TREE_CONNECT.ShareType")?;
        r.skip(1, "TREE_CONNECT.Reserved")?;
        Ok(Response {
            share_type,
            share_flags: r.le32("TREE_CONNECT.ShareFlags")?,
            capabilities: r.le32("TREE_CONNECT.Capabilities")?,
            maximal_access: r.le32("TREE_CONNECT.MaximalAccess")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::testing::*;
    use super::*;
    use std::string::String;

    #[test]
    fn a_request_has_the_path_in_utf16() {
        assert_eq!(
            encoded(|w| Request { host: "fe80::1", share: "é" }.encode(w).unwrap()),
            [
                9, 0, 0, 0, 72, 0, 22, 0, 92, 0, 92, 0, b'f', 0, b'e', 0, b'8', 0, b'0', 0, b':', 0, b':',
                0, //
                b'1', 0, 92, 0, 0xE9, 0,
            ]
        );
    }

    #[test]
    fn names_that_would_change_the_path_are_refused() {
        let long: String = core::iter::repeat_n('x', 32767).collect();
        for (host, share, what) in [
            ("", "s", "host"),
            ("h", "", "share"),
            ("h\\i", "s", "host"),
            ("h", "s/t", "share"),
            ("h", "s\0", "share"),
            ("h", &long, "share path too long"),
        ] {
            let mut w = Writer::new(&mut []);
            assert_eq!(Request { host, share }.encode(&mut w), Err(Error::Invalid(what)));
            assert_eq!(w.at(), 0);
        }
    }

    #[test]
    fn a_response() {
        let body = [16, 0, 1, 0, 0x30, 0x80, 0, 0, 8, 0, 0, 0, 0xA9, 0, 0x12, 0];
        assert_eq!(
            Response::decode(&body),
            Ok(Response {
                share_type: DISK,
                share_flags: ENCRYPT_DATA | 0x30,
                capabilities: CAP_DFS,
                maximal_access: 0x0012_00A9
            })
        );
        strict(&body, |bytes| Response::decode(bytes).err());
    }
}
