//! MS-SMB2 2.2.2.2.1: the Symbolic Link Error Response, the error data of `STATUS_STOPPED_ON_SYMLINK`.

use super::error_response;
use super::header::{self, Command, Header};
use super::status::Status;
use crate::error::Error;
use crate::wire::{Reader, slice};

/// `SymLinkErrorTag`.
const SYMLINK_ERROR_TAG: u32 = 0x4C4D_5953;
/// `ReparseTag`: `IO_REPARSE_TAG_SYMLINK`.
pub const IO_REPARSE_TAG_SYMLINK: u32 = 0xA000_000C;
/// `Flags`: `SYMLINK_FLAG_RELATIVE`.
const RELATIVE: u32 = 0x0000_0001;

/// The symbolic link that the first message of a frame, or the one behind TREE_CONNECT, says it ran into. `Invalid` if its
/// status is another.
pub(super) fn in_frame(frame: &[u8]) -> Result<Symlink<'_>, Error> {
    let first = Header::decode(frame)?;
    let skipped = if first.command == Command::TREE_CONNECT { first.next_command as usize } else { 0 };
    let frame = frame.get(skipped..).unwrap_or(&[]);
    if Header::decode(frame)?.status != Status::STOPPED_ON_SYMLINK {
        return Err(Error::Invalid("the message is about no symbolic link"));
    }
    Symlink::decode(error_response::Response::decode(frame.get(header::LEN..).unwrap_or(&[]))?.data()?)
}

/// The path ran into a symbolic link, which the server does not follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symlink<'a> {
    /// Bytes at the end of the path that was asked for, in UTF-16, that come after the link: what stands in front
    /// of them, the link included, is to be replaced. That they are no more than the path is for the caller to
    /// check.
    pub unparsed_path_length: u16,
    /// Where the link goes, in UTF-16LE, an even number of bytes.
    pub substitute_name: &'a [u8],
    /// How to show that to a user, in UTF-16LE, an even number of bytes.
    pub print_name: &'a [u8],
    /// Whether it goes there from the directory that the link is in.
    pub relative: bool,
}

impl<'a> Symlink<'a> {
    /// Decodes error data.
    pub fn decode(error_data: &'a [u8]) -> Result<Symlink<'a>, Error> {
        let mut r = Reader::new(error_data);
        let len = r.le32("Symlink.SymLinkLength")? as usize;
        let mut r = Reader::new(r.take(len, "Symlink.SymLinkLength")?);
        if r.le32("Symlink.SymLinkErrorTag")? != SYMLINK_ERROR_TAG {
            return Err(Error::Malformed("Symlink.SymLinkErrorTag"));
        }
        if r.le32("Symlink.ReparseTag")? != IO_REPARSE_TAG_SYMLINK {
            return Err(Error::Malformed("Symlink.ReparseTag"));
        }
        let reparse_data_length = r.le16("Symlink.ReparseDataLength")?.into();
        let unparsed_path_length = r.le16("Symlink.UnparsedPathLength")?;
        let mut r = Reader::new(r.take(reparse_data_length, "Symlink.ReparseDataLength")?);
        let substitute_offset = r.le16("Symlink.SubstituteNameOffset")?;
        let substitute_len = r.le16("Symlink.SubstituteNameLength")?;
        let print_offset = r.le16("Symlink.PrintNameOffset")?;
        let print_len = r.le16("Symlink.PrintNameLength")?;
        let flags = r.le32("Symlink.Flags")?;
        let path_buffer = r.rest();
        Ok(Symlink {
            unparsed_path_length,
            substitute_name: name(path_buffer, substitute_offset, substitute_len, "Symlink.SubstituteName")?,
            print_name: name(path_buffer, print_offset, print_len, "Symlink.PrintName")?,
            relative: flags & RELATIVE != 0,
        })
    }
}

/// The name in the path buffer, in whole UTF-16 units.
fn name<'a>(path_buffer: &'a [u8], offset: u16, len: u16, field: &'static str) -> Result<&'a [u8], Error> {
    match len % 2 {
        0 => slice(path_buffer, offset.into(), len.into(), field),
        _ => Err(Error::Malformed(field)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::testing::*;
    use super::*;

    /// `..\d` seen as `d`, of a path with `\f` after the link.
    #[rustfmt::skip]
    const DATA: [u8; 38] = [
        34, 0, 0, 0, b'S', b'Y', b'M', b'L', 0x0C, 0, 0, 0xA0, 22, 0, 4, 0,
        2, 0, 8, 0, 0, 0, 2, 0, 1, 0, 0, 0,
        b'd', 0, b'.', 0, b'.', 0, b'\\', 0, b'd', 0,
    ];

    #[test]
    fn a_relative_link() {
        assert_eq!(
            Symlink::decode(&DATA),
            Ok(Symlink {
                unparsed_path_length: 4,
                substitute_name: b".\0.\0\\\0d\0",
                print_name: b"d\0",
                relative: true
            })
        );
        truncations_refused(&DATA, |bytes| Symlink::decode(bytes).err());
        survives_any_byte(&DATA, |data| Symlink::decode(data).err());
    }

    #[test]
    fn each_length_and_tag_is_checked() {
        for (at, value, field) in [
            (0, 33, "Symlink.ReparseDataLength"),
            (4, 0, "Symlink.SymLinkErrorTag"),
            (8, 3, "Symlink.ReparseTag"),
            (12, 23, "Symlink.ReparseDataLength"),
            (12, 21, "Symlink.SubstituteName"),
            (12, 11, "Symlink.Flags"),
            (16, 3, "Symlink.SubstituteName"),
            (18, 7, "Symlink.SubstituteName"),
            (20, 9, "Symlink.PrintName"),
            (22, 1, "Symlink.PrintName"),
        ] {
            let mut data = DATA;
            data[at] = value;
            assert_eq!(Symlink::decode(&data), Err(Error::Malformed(field)), "{at}");
        }
    }
}
