//! MS-SMB2 2.2.13, 2.2.14: CREATE, here always to open what is there, for reading.

use super::filetime::FileTime;
use super::header::{LEN, len16, structure_size};
use crate::error::Error;
use crate::wire::{Reader, Writer};

/// What a server calls an open file, and what requests about it carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId(pub [u8; 16]);

impl FileId {
    /// In a related operation: the file that the one before it in the chain has opened or used.
    pub const RELATED: FileId = FileId([0xFF; 16]);
}

/// Oplock level: `SMB2_OPLOCK_LEVEL_NONE`.
pub const OPLOCK_NONE: u8 = 0x00;
/// Oplock level: `SMB2_OPLOCK_LEVEL_II`, reads may be cached.
pub const OPLOCK_II: u8 = 0x01;
/// Oplock level: `SMB2_OPLOCK_LEVEL_EXCLUSIVE`.
pub const OPLOCK_EXCLUSIVE: u8 = 0x08;
/// Oplock level: `SMB2_OPLOCK_LEVEL_BATCH`, opens may be cached too.
pub const OPLOCK_BATCH: u8 = 0x09;
/// Oplock level: `SMB2_OPLOCK_LEVEL_LEASE`, a lease in a create context.
pub const OPLOCK_LEASE: u8 = 0xFF;

/// Access mask: `FILE_READ_DATA`, of a directory `FILE_LIST_DIRECTORY`.
pub const READ_DATA: u32 = 0x0000_0001;
/// Access mask: `FILE_READ_ATTRIBUTES`.
pub const READ_ATTRIBUTES: u32 = 0x0000_0080;
/// Access mask: `SYNCHRONIZE`.
pub const SYNCHRONIZE: u32 = 0x0010_0000;

/// Create option: `FILE_DIRECTORY_FILE`, a file is refused with STATUS_NOT_A_DIRECTORY.
pub const DIRECTORY_FILE: u32 = 0x0000_0001;
/// Create option: `FILE_NON_DIRECTORY_FILE`, a directory is refused with STATUS_FILE_IS_A_DIRECTORY.
pub const NON_DIRECTORY_FILE: u32 = 0x0000_0040;
/// Create option: `FILE_OPEN_REPARSE_POINT`, a symbolic link is opened itself.
pub const OPEN_REPARSE_POINT: u32 = 0x0020_0000;

/// `FILE_ATTRIBUTE_READONLY`.
pub const ATTRIBUTE_READONLY: u32 = 0x0000_0001;
/// `FILE_ATTRIBUTE_HIDDEN`.
pub const ATTRIBUTE_HIDDEN: u32 = 0x0000_0002;
/// `FILE_ATTRIBUTE_DIRECTORY`.
pub const ATTRIBUTE_DIRECTORY: u32 = 0x0000_0010;
/// `FILE_ATTRIBUTE_SPARSE_FILE`: worth asking for its allocated ranges.
pub const ATTRIBUTE_SPARSE_FILE: u32 = 0x0000_0200;
/// `FILE_ATTRIBUTE_REPARSE_POINT`.
pub const ATTRIBUTE_REPARSE_POINT: u32 = 0x0000_0400;

/// `ImpersonationLevel`: `Impersonation`.
const IMPERSONATION: u32 = 2;
/// `ShareAccess`: read, write and delete. A reader is in nobody's way.
const SHARE_ALL: u32 = 7;
/// `CreateDisposition`: `FILE_OPEN`, what is not there is not made.
const FILE_OPEN: u32 = 1;

/// The fixed part of a request.
const REQUEST_FIXED: usize = 56;

/// Opens a file or directory of the share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// From the root of the share, see [`encode_path`].
    pub path: &'a str,
    /// [`READ_DATA`] and the others.
    pub desired_access: u32,
    /// [`NON_DIRECTORY_FILE`] and the others.
    pub create_options: u32,
    /// [`OPLOCK_NONE`] and the others but [`OPLOCK_LEASE`], which takes a context: see [`lease`](super::lease::Request::append).
    pub requested_oplock_level: u8,
}

impl<'a> Request<'a> {
    /// To read a file. A directory is refused.
    pub const fn file(path: &'a str) -> Self {
        Request {
            desired_access: READ_DATA | READ_ATTRIBUTES | SYNCHRONIZE,
            create_options: NON_DIRECTORY_FILE,
            ..Request::attributes(path)
        }
    }

    /// To list a directory. A file is refused.
    pub const fn directory(path: &'a str) -> Self {
        Request { create_options: DIRECTORY_FILE, ..Request::file(path) }
    }

    /// To ask for the metadata of whatever is there.
    pub const fn attributes(path: &'a str) -> Self {
        Request {
            path,
            desired_access: READ_ATTRIBUTES | SYNCHRONIZE,
            create_options: 0,
            requested_oplock_level: OPLOCK_NONE,
        }
    }

    /// Appends the message. `Invalid`, and nothing is appended, if the path is.
    pub fn encode(&self, w: &mut Writer<'_>) -> Result<(), Error> {
        let name_len = path_len(self.path)?;
        w.le16(57); // StructureSize
        w.u8(0); // SecurityFlags
        w.u8(self.requested_oplock_level);
        w.le32(IMPERSONATION);
        w.zeros(16); // SmbCreateFlags, Reserved
        w.le32(self.desired_access);
        w.le32(0); // FileAttributes
        w.le32(SHARE_ALL);
        w.le32(FILE_OPEN);
        w.le32(self.create_options);
        w.le16((LEN + REQUEST_FIXED) as u16); // NameOffset
        w.le16(name_len);
        w.zeros(8); // CreateContextsOffset, CreateContextsLength
        if encode_path(self.path, w)? == 0 {
            w.u8(0); // The root has no name, and the buffer has at least a byte.
        }
        Ok(())
    }
}

/// Appends `path` as the wire has it: UTF-16, `\` between the components and nowhere else. Both `/` and `\`
/// separate, however many at any place. Returns the length in bytes; zero is the root of the share.
///
/// `Invalid`, and nothing is appended, if a component is `.` or `..`, if there is a NUL, or if the whole is longer
/// than 65535 bytes: the server would resolve the first, and names have none of the second.
pub fn encode_path(path: &str, w: &mut Writer<'_>) -> Result<usize, Error> {
    let len = path_len(path)?;
    for (at, component) in components(path).enumerate() {
        if at > 0 {
            w.utf16("\\");
        }
        w.utf16(component);
    }
    Ok(len.into())
}

/// The bytes that [`encode_path`] appends, if it does.
fn path_len(path: &str) -> Result<u16, Error> {
    let mut units = 0_usize;
    for component in components(path) {
        if component == "." || component == ".." || component.contains('\0') {
            return Err(Error::Invalid("path"));
        }
        units = units.saturating_add(component.encode_utf16().count()).saturating_add(1);
    }
    // One separator less than components.
    len16(units.saturating_sub(1).saturating_mul(2), "path too long")
}

/// The names of a path.
pub(super) fn components(path: &str) -> impl Iterator<Item = &str> {
    path.split(['/', '\\']).filter(|component| !component.is_empty())
}

/// The most bytes of a reply behind the header: all of it where no context is asked for.
pub const REPLY_HEAD_MAX: usize = 88;

/// What was opened. Enough for a read: nothing more need be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The oplock that was granted.
    pub oplock_level: u8,
    /// What was done: 1 is `FILE_OPENED`.
    pub create_action: u32,
    /// Made.
    pub creation_time: FileTime,
    /// Last read.
    pub last_access_time: FileTime,
    /// Data last changed.
    pub last_write_time: FileTime,
    /// Data or metadata last changed.
    pub change_time: FileTime,
    /// Bytes that it takes on the disk.
    pub allocation_size: u64,
    /// Its length in bytes.
    pub end_of_file: u64,
    /// [`ATTRIBUTE_DIRECTORY`] and the others.
    pub file_attributes: u32,
    /// For the requests about it.
    pub file_id: FileId,
}

impl Response {
    /// Decodes what follows the header. Create contexts are not looked at.
    pub fn decode(body: &[u8]) -> Result<Response, Error> {
        let mut r = Reader::new(body);
        structure_size(&mut r, 89, "CREATE.StructureSize")?;
        let oplock_level = r.u8("CREATE.OplockLevel")?;
        r.skip(1, "CREATE.Flags")?;
        let create_action = r.le32("CREATE.CreateAction")?;
        let creation_time = FileTime(r.le64("CREATE.CreationTime")?);
        let last_access_time = FileTime(r.le64("CREATE.LastAccessTime")?);
        let last_write_time = FileTime(r.le64("CREATE.LastWriteTime")?);
        let change_time = FileTime(r.le64("CREATE.ChangeTime")?);
        let allocation_size = r.le64("CREATE.AllocationSize")?;
        let end_of_file = r.le64("CREATE.EndofFile")?;
        let file_attributes = r.le32("CREATE.FileAttributes")?;
        r.skip(4, "CREATE.Reserved2")?;
        let file_id = FileId(r.array("CREATE.FileId")?);
        r.skip(8, "CREATE.CreateContextsOffset")?;
        Ok(Response {
            oplock_level,
            create_action,
            creation_time,
            last_access_time,
            last_write_time,
            change_time,
            allocation_size,
            end_of_file,
            file_attributes,
            file_id,
        })
    }

    /// Whether it is a directory.
    pub const fn is_directory(&self) -> bool {
        self.file_attributes & ATTRIBUTE_DIRECTORY != 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::testing::*;
    use super::*;
    use std::string::String;

    fn path(path: &str) -> Result<String, Error> {
        let mut buf = [0; 256];
        let mut w = Writer::new(&mut buf);
        let len = encode_path(path, &mut w)?;
        assert_eq!(len, w.finish().unwrap());
        let units = buf[..len].chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        Ok(char::decode_utf16(units).map(Result::unwrap).collect())
    }

    #[test]
    fn separators_collapse() {
        for (from, to) in [
            ("a", "a"),
            ("/a/b.txt", "a\\b.txt"),
            ("a//b/", "a\\b"),
            ("\\a\\/b", "a\\b"),
            ("", ""),
            ("/", ""),
            ("//\\", ""),
            ("é/日本/😀", "é\\日本\\😀"),
            ("...", "..."),
            (".a/..b", ".a\\..b"),
        ] {
            assert_eq!(path(from).as_deref(), Ok(to));
        }
    }

    #[test]
    fn components_with_a_meaning_are_refused() {
        for from in [".", "..", "a/..", "a/./b", "a\\..\\b", "/../a", "a\0", "\0", "a/b\0c/d"] {
            assert_eq!(path(from), Err(Error::Invalid("path")));
        }
    }

    #[test]
    fn a_path_has_65535_bytes_at_most() {
        let long: String = core::iter::repeat_n("x/", 16384).collect();
        assert_eq!(path_len(&long), Ok(65534));
        assert_eq!(path_len(&(long.clone() + "y")), Err(Error::Invalid("path too long")));
        let mut w = Writer::new(&mut []);
        assert_eq!(Request::file(&(long + "y")).encode(&mut w), Err(Error::Invalid("path too long")));
        assert_eq!(w.at(), 0);
    }

    #[test]
    fn a_request_for_a_file() {
        let request = Request { requested_oplock_level: OPLOCK_II, ..Request::file("/d/f") };
        #[rustfmt::skip]
        assert_eq!(encoded(|w| request.encode(w).unwrap()), [
            57, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            0x81, 0, 0x10, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0x40, 0, 0, 0,
            120, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, b'd', 0, b'\\', 0, b'f', 0,
        ]);
    }

    #[test]
    fn a_request_for_the_root_has_a_byte_of_buffer() {
        #[rustfmt::skip]
        assert_eq!(encoded(|w| Request::directory("/").encode(w).unwrap()), [
            57, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            0x81, 0, 0x10, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,
            120, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ]);
    }

    #[test]
    fn a_request_for_attributes_takes_anything() {
        let bytes = encoded(|w| Request::attributes("f").encode(w).unwrap());
        assert_eq!(bytes[24..28], [0x80, 0, 0x10, 0]);
        assert_eq!(bytes[40..44], [0; 4]);
    }

    /// Of Samba 4.17, for a file of 19 bytes, the times made to differ.
    #[rustfmt::skip]
    const RESPONSE: [u8; 88] = [
        0x59, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x71, 0x2b, 0xaa, 0x58, 0x28, 0x3d, 0xda, 0x01,
        0x2c, 0x5d, 0x01, 0x5f, 0xc0, 0x80, 0xdd, 0x01, 0x14, 0x58, 0xb0, 0x58, 0x28, 0x3d, 0xda, 0x01,
        0x15, 0x58, 0xb0, 0x58, 0x28, 0x3d, 0xda, 0x01, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x13, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x10, 0xba, 0x78, 0x22, 0x00, 0x00, 0x00, 0x00, 0xa6, 0xd9, 0x87, 0xef, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    ];

    #[test]
    fn a_response() {
        let response = Response::decode(&RESPONSE).unwrap();
        assert_eq!(
            response,
            Response {
                oplock_level: OPLOCK_NONE,
                create_action: 1,
                creation_time: FileTime(0x01DA_3D28_58AA_2B71),
                last_access_time: FileTime(0x01DD_80C0_5F01_5D2C),
                last_write_time: FileTime(0x01DA_3D28_58B0_5814),
                change_time: FileTime(0x01DA_3D28_58B0_5815),
                allocation_size: 4096,
                end_of_file: 19,
                file_attributes: 0x80,
                file_id: FileId([0x10, 0xBA, 0x78, 0x22, 0, 0, 0, 0, 0xA6, 0xD9, 0x87, 0xEF, 0, 0, 0, 0]),
            }
        );
        assert!(!response.is_directory());
        assert_eq!(RESPONSE.len(), REPLY_HEAD_MAX);
        strict(&RESPONSE, |body| Response::decode(body).err());
    }
}
