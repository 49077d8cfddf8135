//! RFC 1813 2.5, 2.6: `fattr3`, `post_op_attr`, `nfstime3`.

use crate::attributes::{Attributes, Kind, Time};
use crate::error::Error;
use crate::wire::Reader;

/// `nfstime3`: since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NfsTime3 {
    /// Seconds, to 2106.
    pub seconds: u32,
    /// As sent: a server may say more than 999,999,999, and then has said no time.
    pub nseconds: u32,
}

impl NfsTime3 {
    /// Bytes of one.
    pub const LEN: usize = 8;

    /// Decodes one.
    pub fn decode(r: &mut Reader<'_>) -> Result<NfsTime3, Error> {
        Ok(NfsTime3 { seconds: r.be32("nfstime3.seconds")?, nseconds: r.be32("nfstime3.nseconds")? })
    }

    /// It as a time; `None` if the nanoseconds are a second or more.
    pub const fn time(self) -> Option<Time> {
        if self.nseconds > 999_999_999 {
            return None;
        }
        Some(Time { seconds: self.seconds as i64, nanoseconds: self.nseconds })
    }
}

/// `ftype3`.
// A word, as all that stands beside it in `Fattr3`: so that is copied in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum FileType {
    /// `NF3REG`: a regular file.
    Regular,
    /// `NF3DIR`: a directory.
    Directory,
    /// `NF3BLK`: a block device.
    Block,
    /// `NF3CHR`: a character device.
    Character,
    /// `NF3LNK`: a symbolic link.
    Symlink,
    /// `NF3SOCK`: a socket.
    Socket,
    /// `NF3FIFO`: a named pipe.
    Fifo,
}

impl FileType {
    /// Decodes one. `Malformed` if it is none of the standard's.
    fn decode(r: &mut Reader<'_>) -> Result<FileType, Error> {
        Ok(match r.be32("fattr3.type")? {
            1 => FileType::Regular,
            2 => FileType::Directory,
            3 => FileType::Block,
            4 => FileType::Character,
            5 => FileType::Symlink,
            6 => FileType::Socket,
            7 => FileType::Fifo,
            _ => return Err(Error::Malformed("fattr3.type")),
        })
    }

    /// It in words that all protocols share.
    pub const fn kind(self) -> Kind {
        match self {
            FileType::Regular => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Symlink,
            FileType::Block | FileType::Character | FileType::Socket | FileType::Fifo => Kind::Other,
        }
    }
}

/// `specdata3`: the numbers of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpecData3 {
    /// The major number.
    pub specdata1: u32,
    /// The minor number.
    pub specdata2: u32,
}

/// `fattr3`: the attributes of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fattr3 {
    /// `type`: what it is.
    pub file_type: FileType,
    /// Permissions.
    pub mode: u32,
    /// How many names it has.
    pub nlink: u32,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its length in bytes.
    pub size: u64,
    /// Bytes that it takes on the disk.
    pub used: u64,
    /// Which device, if it is one.
    pub rdev: SpecData3,
    /// Its file system.
    pub fsid: u64,
    /// Its number there.
    pub fileid: u64,
    /// Last read.
    pub atime: NfsTime3,
    /// Data last changed.
    pub mtime: NfsTime3,
    /// Data or attributes last changed.
    pub ctime: NfsTime3,
}

impl Fattr3 {
    /// Bytes of them.
    pub const LEN: usize = 84;

    /// Decodes them.
    pub fn decode(r: &mut Reader<'_>) -> Result<Fattr3, Error> {
        Ok(Fattr3 {
            file_type: FileType::decode(r)?,
            mode: r.be32("fattr3.mode")?,
            nlink: r.be32("fattr3.nlink")?,
            uid: r.be32("fattr3.uid")?,
            gid: r.be32("fattr3.gid")?,
            size: r.be64("fattr3.size")?,
            used: r.be64("fattr3.used")?,
            rdev: SpecData3 {
                specdata1: r.be32("fattr3.rdev.specdata1")?,
                specdata2: r.be32("fattr3.rdev.specdata2")?,
            },
            fsid: r.be64("fattr3.fsid")?,
            fileid: r.be64("fattr3.fileid")?,
            atime: NfsTime3::decode(r)?,
            mtime: NfsTime3::decode(r)?,
            ctime: NfsTime3::decode(r)?,
        })
    }

    /// They in words that all protocols share. NFSv3 does not say when a file was made nor whether it has holes, and
    /// what is hidden lies in the name alone: see [`Entry::attributes`](super::directory::Entry::attributes).
    // Not inlined, since they are large: so they are moved as a whole.
    #[inline(never)]
    pub const fn attributes(&self) -> Attributes {
        Attributes {
            kind: self.file_type.kind(),
            len: self.size,
            allocated: Some(self.used),
            modified: self.mtime.time(),
            accessed: self.atime.time(),
            changed: self.ctime.time(),
            created: None,
            id: Some(self.fileid),
            links: Some(self.nlink),
            hidden: false,
            read_only: self.mode & 0o222 == 0,
            sparse: false,
            // Another one for every time: seconds and nanoseconds side by side.
            change: Some((self.ctime.seconds as u64) << 32 | self.ctime.nseconds as u64),
        }
    }
}

/// The most bytes of a `post_op_attr`.
pub const POST_OP_ATTR_LEN_MAX: usize = 4 + Fattr3::LEN;

/// Decodes a `post_op_attr`: attributes that a server adds to a reply if it has them at hand.
pub fn post_op_attr(r: &mut Reader<'_>) -> Result<Option<Fattr3>, Error> {
    r.optional("post_op_attr.attributes_follow", Fattr3::decode)
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn decode(bytes: &[u8]) -> Result<Fattr3, Error> {
        Fattr3::decode(&mut Reader::new(bytes))
    }

    #[test]
    fn attributes() {
        assert_eq!(decode(&FATTR), Ok(fattr()));
        truncations_refused(&FATTR, |bytes| decode(bytes).err());
        survives_any_byte(&FATTR, |bytes| decode(bytes).err());
    }

    #[test]
    fn attributes_in_shared_words() {
        assert_eq!(
            fattr().attributes(),
            Attributes {
                kind: Kind::File,
                len: 0x1_2345_6789,
                allocated: Some(0x1_2346_0000),
                modified: Some(Time { seconds: 0x8000_0000, nanoseconds: 7 }),
                accessed: Some(Time { seconds: 0x5A46_79C3, nanoseconds: 0x2546_A5BD }),
                changed: Some(Time { seconds: 0x5A46_79C4, nanoseconds: 999_999_999 }),
                created: None,
                id: Some(0x0C00_0000_0000_000D),
                links: Some(2),
                hidden: false,
                read_only: false,
                sparse: false,
                change: Some(0x5A46_79C4 << 32 | 999_999_999),
            }
        );
        for (mode, read_only) in [(0o444, true), (0, true), (0o200, false), (0o020, false), (0o002, false)] {
            assert_eq!(Fattr3 { mode, ..fattr() }.attributes().read_only, read_only);
        }
    }

    #[test]
    fn every_type_and_no_other() {
        use FileType::*;
        for (number, file_type, kind) in [
            (1, Regular, Kind::File),
            (2, Directory, Kind::Directory),
            (3, Block, Kind::Other),
            (4, Character, Kind::Other),
            (5, Symlink, Kind::Symlink),
            (6, Socket, Kind::Other),
            (7, Fifo, Kind::Other),
        ] {
            let fattr = decode(&with_word(&FATTR, 0, number)).unwrap();
            assert_eq!((fattr.file_type, fattr.attributes().kind), (file_type, kind));
        }
        for number in [0, 8, 0x4242_4242, u32::MAX] {
            assert_eq!(decode(&with_word(&FATTR, 0, number)), Err(Error::Malformed("fattr3.type")));
        }
    }

    #[test]
    fn a_time_has_less_than_a_second_of_nanoseconds() {
        assert_eq!(NfsTime3 { seconds: 1, nseconds: 1_000_000_000 }.time(), None);
        assert_eq!(NfsTime3 { seconds: 1, nseconds: u32::MAX }.time(), None);
        let last = NfsTime3 { seconds: u32::MAX, nseconds: 999_999_999 };
        assert_eq!(last.time(), Some(Time { seconds: 4_294_967_295, nanoseconds: 999_999_999 }));
        // It is the rest of the attributes that counts.
        let odd = decode(&with_word(&FATTR, 64, u32::MAX)).unwrap();
        assert_eq!(odd.attributes(), Attributes { accessed: None, ..fattr().attributes() });
    }

    #[test]
    fn attributes_that_may_be_missing() {
        let decode = |bytes: &[u8]| post_op_attr(&mut Reader::new(bytes));
        assert_eq!(decode(&[0, 0, 0, 0]), Ok(None));
        assert_eq!(decode(&some_fattr()), Ok(Some(fattr())));
        assert_eq!(some_fattr().len(), POST_OP_ATTR_LEN_MAX);
        truncations_refused(&some_fattr(), |bytes| decode(bytes).err());
        let wrong = with_word(&some_fattr(), 0, 2);
        assert_eq!(decode(&wrong), Err(Error::Malformed("post_op_attr.attributes_follow")));
    }
}
