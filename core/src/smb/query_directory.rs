//! MS-SMB2 2.2.33, 2.2.34: QUERY_DIRECTORY, and MS-FSCC 2.4.18: `FileIdFullDirectoryInformation`.

use super::create::{ATTRIBUTE_DIRECTORY, ATTRIBUTE_REPARSE_POINT, FileId};
use super::filetime::FileTime;
use super::header::{LEN, buffer, structure_size};
use crate::error::Error;
use crate::wire::{Reader, Writer};

/// `Flags`: `SMB2_RESTART_SCANS`, from the first entry again.
pub const RESTART_SCANS: u8 = 0x01;
/// `Flags`: `SMB2_RETURN_SINGLE_ENTRY`.
pub const RETURN_SINGLE_ENTRY: u8 = 0x02;

/// `FileIdFullDirectoryInformation`.
const CLASS: u8 = 38;
/// The fixed part of a request.
const REQUEST_FIXED: usize = 32;

/// Lists a directory, from where the last request about it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The directory.
    pub file_id: FileId,
    /// [`RESTART_SCANS`] and the others.
    pub flags: u8,
    /// The most bytes of a reply besides its head.
    pub output_buffer_length: u32,
}

impl Request {
    /// Appends the message. It asks for every name.
    pub fn encode(&self, w: &mut Writer<'_>) {
        w.le16(33); // StructureSize
        w.u8(CLASS);
        w.u8(self.flags);
        w.le32(0); // FileIndex
        w.put(&self.file_id.0);
        w.le16((LEN + REQUEST_FIXED) as u16); // FileNameOffset
        w.le16(2); // FileNameLength
        w.le32(self.output_buffer_length);
        w.utf16("*");
    }
}

/// The most bytes of a reply behind the header, besides the output buffer.
pub const REPLY_HEAD_MAX: usize = 8;

/// Where the name stands in an entry.
pub const NAME_AT: usize = 80;

/// Some entries, at least one. That there are no more is a status, `STATUS_NO_MORE_FILES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// As long as was asked at most; that is for the caller to check.
    pub output_buffer: &'a [u8],
    /// Where it starts, counted from the header.
    pub output_buffer_offset: usize,
}

impl<'a> Response<'a> {
    /// Decodes what follows the header. The entries are decoded one by one, see [`Entries`].
    pub fn decode(body: &'a [u8]) -> Result<Response<'a>, Error> {
        let mut r = Reader::new(body);
        structure_size(&mut r, 9, "QUERY_DIRECTORY.StructureSize")?;
        let offset: usize = r.le16("QUERY_DIRECTORY.OutputBufferOffset")?.into();
        let len = r.le32("QUERY_DIRECTORY.OutputBufferLength")? as usize;
        let output_buffer = buffer(body, REPLY_HEAD_MAX, offset, len, "QUERY_DIRECTORY.OutputBufferOffset")?;
        Ok(Response { output_buffer, output_buffer_offset: offset })
    }
}

/// The entries of an output buffer. Each step moves forward by what an entry takes at least, so they end; after
/// an error there are no more.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    rest: &'a [u8],
}

impl<'a> Entries<'a> {
    /// Starts at the first entry of `output_buffer`; none if it is empty.
    pub const fn new(output_buffer: &'a [u8]) -> Entries<'a> {
        Entries { rest: output_buffer }
    }

    /// How many bytes at the end of the output buffer are still to be decoded; zero after the last entry.
    pub const fn left(&self) -> usize {
        self.rest.len()
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let decoded = Entry::decode(self.rest);
        self.rest = decoded.map_or(&[], |(_, rest)| rest);
        Some(decoded.map(|(entry, _)| entry))
    }
}

/// One name and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// UTF-16LE, an even number of bytes and not empty. Nothing else is known of it: see
    /// [`is_dot`](Self::is_dot) and [`is_plain`](Self::is_plain).
    pub name: &'a [u8],
    /// Made.
    pub creation_time: FileTime,
    /// Last read.
    pub last_access_time: FileTime,
    /// Data last changed.
    pub last_write_time: FileTime,
    /// Data or metadata last changed.
    pub change_time: FileTime,
    /// Its length in bytes.
    pub end_of_file: u64,
    /// Bytes that it takes on the disk.
    pub allocation_size: u64,
    /// `FILE_ATTRIBUTE_*`.
    pub file_attributes: u32,
    /// Bytes of extended attributes, or of a reparse point its tag.
    pub ea_size: u32,
    /// Its number on the file system; zero or all ones where that has none.
    pub file_id: u64,
}

impl<'a> Entry<'a> {
    /// Decodes the first entry of `bytes`; returns what follows it too.
    fn decode(bytes: &'a [u8]) -> Result<(Entry<'a>, &'a [u8]), Error> {
        let mut r = Reader::new(bytes);
        let next = r.le32("FileIdFullDirectoryInformation.NextEntryOffset")? as usize;
        r.skip(4, "FileIdFullDirectoryInformation.FileIndex")?;
        let creation_time = FileTime(r.le64("FileIdFullDirectoryInformation.CreationTime")?);
        let last_access_time = FileTime(r.le64("FileIdFullDirectoryInformation.LastAccessTime")?);
        let last_write_time = FileTime(r.le64("FileIdFullDirectoryInformation.LastWriteTime")?);
        let change_time = FileTime(r.le64("FileIdFullDirectoryInformation.ChangeTime")?);
        let end_of_file = r.le64("FileIdFullDirectoryInformation.EndOfFile")?;
        let allocation_size = r.le64("FileIdFullDirectoryInformation.AllocationSize")?;
        let file_attributes = r.le32("FileIdFullDirectoryInformation.FileAttributes")?;
        let name_len = r.le32("FileIdFullDirectoryInformation.FileNameLength")? as usize;
        let ea_size = r.le32("FileIdFullDirectoryInformation.EaSize")?;
        r.skip(4, "FileIdFullDirectoryInformation.Reserved")?;
        let file_id = r.le64("FileIdFullDirectoryInformation.FileId")?;
        if name_len == 0 || name_len % 2 != 0 {
            return Err(Error::Malformed("FileIdFullDirectoryInformation.FileNameLength"));
        }
        let name = r.take(name_len, "FileIdFullDirectoryInformation.FileName")?;

        let rest = match bytes.get(next..) {
            _ if next == 0 => &[],
            Some(rest) if next >= r.at() && next % 8 == 0 && !rest.is_empty() => rest,
            _ => return Err(Error::Malformed("FileIdFullDirectoryInformation.NextEntryOffset")),
        };
        let entry = Entry {
            name,
            creation_time,
            last_access_time,
            last_write_time,
            change_time,
            end_of_file,
            allocation_size,
            file_attributes,
            ea_size,
            file_id,
        };
        Ok((entry, rest))
    }

    /// The name's UTF-16 units.
    pub fn units(&self) -> impl Iterator<Item = u16> + Clone + use<'a> {
        self.name.chunks_exact(2).map(|pair| match pair {
            [low, high] => u16::from_le_bytes([*low, *high]),
            _ => 0, // The chunks are exact.
        })
    }

    /// Whether the name is `.` or `..`, which every listing starts with.
    pub fn is_dot(&self) -> bool {
        matches!(self.name, b".\0" | b".\0.\0")
    }

    /// Whether the name has nothing that a path gives a meaning: no `/`, `\` or NUL, and is not `.` or `..`.
    pub fn is_plain(&self) -> bool {
        const SPECIAL: [u16; 3] = [b'/' as u16, b'\\' as u16, 0];
        !self.is_dot() && !self.units().any(|unit| SPECIAL.contains(&unit))
    }

    /// Whether it is a directory.
    pub const fn is_directory(&self) -> bool {
        self.file_attributes & ATTRIBUTE_DIRECTORY != 0
    }

    /// What kind of reparse point it is, a symbolic link for one. `None` if it is none.
    pub const fn reparse_tag(&self) -> Option<u32> {
        if self.file_attributes & ATTRIBUTE_REPARSE_POINT != 0 { Some(self.ea_size) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::testing::*;
    use super::*;
    use std::string::String;
    use std::vec::Vec;

    #[test]
    fn a_request() {
        let request = Request {
            file_id: FileId([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]),
            flags: RESTART_SCANS,
            output_buffer_length: 0x1_0000,
        };
        #[rustfmt::skip]
        assert_eq!(encoded(|w| request.encode(w)), [
            33, 0, 38, 1, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
            96, 0, 2, 0, 0, 0, 1, 0, b'*', 0,
        ]);
    }

    /// Of Samba 4.17, cut to two entries, the times and the last name made to differ.
    #[rustfmt::skip]
    const RESPONSE: [u8; 186] = [
        0x09, 0x00, 0x48, 0x00, 0xb2, 0x00, 0x00, 0x00,
        0x58, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x71, 0x2b, 0xaa, 0x58, 0x28, 0x3d, 0xda, 0x01,
        0x50, 0x83, 0x82, 0x7f, 0xbe, 0x80, 0xdd, 0x01, 0x14, 0x58, 0xb0, 0x58, 0x28, 0x3d, 0xda, 0x01,
        0x15, 0x58, 0xb0, 0x58, 0x28, 0x3d, 0xda, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0e, 0x60, 0x9a, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x2e, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x71, 0x2b, 0xaa, 0x58, 0x28, 0x3d, 0xda, 0x01,
        0x2c, 0x5d, 0x01, 0x5f, 0xc0, 0x80, 0xdd, 0x01, 0x14, 0x58, 0xb0, 0x58, 0x28, 0x3d, 0xda, 0x01,
        0x15, 0x58, 0xb0, 0x58, 0x28, 0x3d, 0xda, 0x01, 0x01, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x10, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x14, 0x60, 0x9a, 0x00, 0x00, 0x00, 0x00, 0x00,
        b's', 0, b'p', 0, b'a', 0, b'r', 0, b's', 0,
    ];
    const NAME_LEN_AT: usize = 60;

    fn entries(output: &[u8]) -> Result<Vec<Entry<'_>>, Error> {
        Entries::new(output).collect()
    }

    #[test]
    fn a_response_and_its_entries() {
        let output = Response::decode(&RESPONSE).unwrap().output_buffer;
        let entries = entries(output).unwrap();
        let [dot, file] = entries[..] else { panic!() };
        assert!(dot.is_dot() && !dot.is_plain() && dot.is_directory());
        assert_eq!(
            file,
            Entry {
                name: b"s\0p\0a\0r\0s\0",
                creation_time: FileTime(0x01DA_3D28_58AA_2B71),
                last_access_time: FileTime(0x01DD_80C0_5F01_5D2C),
                last_write_time: FileTime(0x01DA_3D28_58B0_5814),
                change_time: FileTime(0x01DA_3D28_58B0_5815),
                end_of_file: 65537,
                allocation_size: 69632,
                file_attributes: 0x80,
                ea_size: 0,
                file_id: 0x009A_6014,
            }
        );
        assert_eq!(char::decode_utf16(file.units()).map(Result::unwrap).collect::<String>(), "spars");
        assert!(!file.is_dot() && file.is_plain() && !file.is_directory());
        assert_eq!(file.reparse_tag(), None);
        strict(&RESPONSE, |body| Response::decode(body).err());
        survives_any_byte(&RESPONSE, |body| {
            let output = Response::decode(body).ok()?.output_buffer;
            assert!(Entries::new(output).count() <= 2);
            None
        });
    }

    #[test]
    fn what_is_left_tells_where_the_next_entry_is() {
        let output = &RESPONSE[REPLY_HEAD_MAX..];
        let mut entries = Entries::new(output);
        let mut at = 0;
        for left in [90, 0] {
            let name = entries.next().unwrap().unwrap().name;
            assert_eq!(&output[at + NAME_AT..][..name.len()], name);
            assert_eq!(entries.left(), left);
            at = output.len() - left;
        }
    }

    #[test]
    fn an_empty_output_buffer_has_no_entries() {
        let response = Response::decode(&[9, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        assert_eq!(entries(response.output_buffer), Ok(Vec::new()));
    }

    #[test]
    fn truncated_entries_are_refused() {
        let output = &RESPONSE[REPLY_HEAD_MAX..];
        for len in 1..output.len() {
            assert!(entries(&output[..len]).is_err());
        }
    }

    #[test]
    fn the_next_entry_is_ahead_aligned_and_inside() {
        const NEXT: Error = Error::Malformed("FileIdFullDirectoryInformation.NextEntryOffset");
        for next in [1u32, 8, 80, 84, 89, 92, 176, 178, 184, u32::MAX, u32::MAX - 7] {
            let mut output = RESPONSE[REPLY_HEAD_MAX..].to_vec();
            output[..4].copy_from_slice(&next.to_le_bytes());
            let mut entries = Entries::new(&output);
            if next == 176 {
                assert!(entries.next().unwrap().is_ok()); // Two bytes are left for the second.
                assert!(entries.next().unwrap().is_err());
            } else {
                assert_eq!(entries.next(), Some(Err(NEXT)), "{next}");
            }
            assert_eq!(entries.next(), None);
        }
    }

    #[test]
    fn a_name_is_not_empty_even_and_inside() {
        for (len, field) in [
            (0u32, "FileIdFullDirectoryInformation.FileNameLength"),
            (3, "FileIdFullDirectoryInformation.FileNameLength"),
            (u32::MAX, "FileIdFullDirectoryInformation.FileNameLength"),
            (100, "FileIdFullDirectoryInformation.FileName"),
            (u32::MAX - 1, "FileIdFullDirectoryInformation.FileName"),
            (10, "FileIdFullDirectoryInformation.NextEntryOffset"),
        ] {
            let mut output = RESPONSE[REPLY_HEAD_MAX..].to_vec();
            output[NAME_LEN_AT..NAME_LEN_AT + 4].copy_from_slice(&len.to_le_bytes());
            assert_eq!(entries(&output), Err(Error::Malformed(field)));
        }
    }

    #[test]
    fn names_that_a_path_gives_a_meaning_are_not_plain() {
        let mut entry = entries(&RESPONSE[REPLY_HEAD_MAX..]).unwrap()[1];
        for name in [&b".\0"[..], b".\0.\0", b"a\0/\0", b"\\\0", b"\0\0", b"a\0\0\0"] {
            entry.name = name;
            assert!(!entry.is_plain());
        }
        for name in [&b".\0.\0.\0"[..], b"a\0", b"\x2F\x01", b"\x01\x5C", b"\x00\xD8"] {
            entry.name = name;
            assert!(entry.is_plain());
        }
    }

    #[test]
    fn a_reparse_point_has_a_tag() {
        let mut entry = entries(&RESPONSE[REPLY_HEAD_MAX..]).unwrap()[1];
        entry.file_attributes |= ATTRIBUTE_REPARSE_POINT;
        entry.ea_size = 0xA000_000C;
        assert_eq!(entry.reparse_tag(), Some(0xA000_000C));
    }
}
