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

/// Some entries, at least one. That there are no more is a status, `STATUS_NO_MORE_FILES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// As long as was asked at most; that is for the caller to check.
    pub output_buffer: &'a [u8],
}

impl<'a> Response<'a> {
    /// Decodes what follows the header. The entries are decoded one by one, see [`Entries`].
    pub fn decode(body: &'a [u8]) -> Result<Response<'a>, Error> {
        let mut r = Reader::new(body);
        structure_size(&mut r, 9, "QUERY_DIRECTORY.StructureSize")?;
        let offset = r.le16("QUERY_DIRECTORY.OutputBufferOffset")?.into();
        let len = r.le32("QUERY_DIRECTORY.OutputBufferLength")? as usize;
        let output_buffer = buffer(body, REPLY_HEAD_MAX, offset, len, "QUERY_DIRECTORY.OutputBufferOffset")?;
        Ok(Response { output_buffer })
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
