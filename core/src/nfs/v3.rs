//! RFC 1813: NFSv3, what a reader needs of it. One procedure one file.

pub mod access;
pub mod directory;
pub mod fattr3;
pub mod fh;
pub mod fsinfo;
pub mod fsstat;
pub mod getattr;
pub mod lookup;
pub mod read;
pub mod readdir;
pub mod readdirplus;
pub mod readlink;

pub use fh::Fh;

/// The program.
pub const PROGRAM: u32 = 100_003;
/// Its version.
pub const VERSION: u32 = 3;
/// The port where it is unless the port mapper says otherwise.
pub const PORT: u16 = 2049;

/// A procedure of NFSv3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Procedure(pub u32);

impl Procedure {
    /// `NFSPROC3_NULL`: does nothing, and has neither arguments nor results. Tells that a server is there.
    pub const NULL: Procedure = Procedure(0);
    /// `NFSPROC3_GETATTR`.
    pub const GETATTR: Procedure = Procedure(1);
    /// `NFSPROC3_LOOKUP`.
    pub const LOOKUP: Procedure = Procedure(3);
    /// `NFSPROC3_ACCESS`.
    pub const ACCESS: Procedure = Procedure(4);
    /// `NFSPROC3_READLINK`.
    pub const READLINK: Procedure = Procedure(5);
    /// `NFSPROC3_READ`.
    pub const READ: Procedure = Procedure(6);
    /// `NFSPROC3_READDIR`.
    pub const READDIR: Procedure = Procedure(16);
    /// `NFSPROC3_READDIRPLUS`.
    pub const READDIRPLUS: Procedure = Procedure(17);
    /// `NFSPROC3_FSSTAT`.
    pub const FSSTAT: Procedure = Procedure(18);
    /// `NFSPROC3_FSINFO`.
    pub const FSINFO: Procedure = Procedure(19);

    /// The standard's name, or "" where we know none.
    pub const fn name(self) -> &'static str {
        match self {
            Procedure::NULL => "NULL",
            Procedure::GETATTR => "GETATTR",
            Procedure::LOOKUP => "LOOKUP",
            Procedure::ACCESS => "ACCESS",
            Procedure::READLINK => "READLINK",
            Procedure::READ => "READ",
            Procedure::READDIR => "READDIR",
            Procedure::READDIRPLUS => "READDIRPLUS",
            Procedure::FSSTAT => "FSSTAT",
            Procedure::FSINFO => "FSINFO",
            Procedure(_) => "",
        }
    }
}

/// What the tests of every procedure use.
#[cfg(test)]
mod testing {
    pub use super::super::xdr::testing::*;
    use super::fattr3::{Fattr3, FileType, NfsTime3, SpecData3};
    use crate::error::Error;

    /// A handle of five bytes, and what it is on the wire.
    pub const FH: [u8; 12] = [0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0];

    /// It.
    pub fn fh() -> super::Fh {
        super::Fh::new(&[1, 2, 3, 4, 5]).unwrap()
    }

    /// The attributes of a file, every field another.
    #[rustfmt::skip]
    pub const FATTR: [u8; 84] = [
        0, 0, 0, 1, 0, 0, 0x01, 0xA4, 0, 0, 0, 2, 0, 0, 0x03, 0xE8, 0, 0, 0, 100,
        0, 0, 0, 1, 0x23, 0x45, 0x67, 0x89, 0, 0, 0, 1, 0x23, 0x46, 0, 0, 0, 0, 0, 8, 0, 0, 0, 9,
        0x0A, 0, 0, 0, 0, 0, 0, 0x0B, 0x0C, 0, 0, 0, 0, 0, 0, 0x0D,
        0x5A, 0x46, 0x79, 0xC3, 0x25, 0x46, 0xA5, 0xBD, 0x80, 0, 0, 0, 0, 0, 0, 7, 0x5A, 0x46, 0x79, 0xC4, 0x3B, 0x9A, 0xC9, 0xFF,
    ];

    /// They.
    pub fn fattr() -> Fattr3 {
        Fattr3 {
            file_type: FileType::Regular,
            mode: 0o644,
            nlink: 2,
            uid: 1000,
            gid: 100,
            size: 0x1_2345_6789,
            used: 0x1_2346_0000,
            rdev: SpecData3 { specdata1: 8, specdata2: 9 },
            fsid: 0x0A00_0000_0000_000B,
            fileid: 0x0C00_0000_0000_000D,
            atime: NfsTime3 { seconds: 0x5A46_79C3, nseconds: 0x2546_A5BD },
            mtime: NfsTime3 { seconds: 0x8000_0000, nseconds: 7 },
            ctime: NfsTime3 { seconds: 0x5A46_79C4, nseconds: 999_999_999 },
        }
    }

    /// The parts, one after another.
    pub fn body(parts: &[&[u8]]) -> std::vec::Vec<u8> {
        parts.concat()
    }

    /// `post_op_attr` with [`FATTR`].
    pub fn some_fattr() -> std::vec::Vec<u8> {
        body(&[&[0, 0, 0, 1], &FATTR])
    }

    /// Checks what every procedure's results share: truncations, statuses, bytes that may be anything.
    pub fn strict(bytes: &[u8], during: super::Procedure, decode: impl Fn(&[u8]) -> Option<Error>) {
        truncations_refused(bytes, &decode);
        survives_any_byte(bytes, &decode);
        for status in [1, 70, 10008, 10099, u32::MAX] {
            let refusal = super::super::status::Status(status).refusal(during);
            assert_eq!(decode(&with_word(bytes, 0, status)), Some(Error::Refused(refusal)));
            assert_eq!(decode(&status.to_be_bytes()), Some(Error::Refused(refusal)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn procedures_have_names() {
        assert_eq!((0..=21).filter(|&number| !Procedure(number).name().is_empty()).count(), 10);
        assert_eq!(Procedure::FSINFO, Procedure(19));
    }
}
