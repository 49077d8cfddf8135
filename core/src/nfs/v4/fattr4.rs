//! RFC 7530 5, RFC 8881 5, RFC 7862 12: `fattr4`, the attributes of a file or of the file system that it is on.

use super::bitmap::{self, Bitmap};
use super::fh::{self, Fh};
use super::fs_locations::FsLocations;
use super::limits::{ATTR_LEN_MAX, OPAQUE_LIMIT, REFERRAL_LEN_USUAL};
use super::status::Status;
use crate::attributes::{Attributes, Kind, Space, Time};
use crate::error::Error;
use crate::wire::Reader;

/// What it is.
pub const TYPE: u32 = 1;
/// Changes whenever the file does.
pub const CHANGE: u32 = 3;
/// Its length in bytes.
pub const SIZE: u32 = 4;
/// The file system that it is on.
pub const FSID: u32 = 8;
/// How long, in seconds, the server remembers a silent client.
pub const LEASE_TIME: u32 = 10;
/// In a listing: why there are no attributes.
pub const RDATTR_ERROR: u32 = 11;
/// Its file handle.
pub const FILEHANDLE: u32 = 19;
/// Its number on the file system.
pub const FILEID: u32 = 20;
/// Where the file system is to be found.
pub const FS_LOCATIONS: u32 = 24;
/// The longest name.
pub const MAXNAME: u32 = 29;
/// The longest READ.
pub const MAXREAD: u32 = 30;
/// Its permissions.
pub const MODE: u32 = 33;
/// How many names it has.
pub const NUMLINKS: u32 = 35;
/// Whose it is.
pub const OWNER: u32 = 36;
/// Which group's it is.
pub const OWNER_GROUP: u32 = 37;
/// Bytes free for the caller.
pub const SPACE_AVAIL: u32 = 42;
/// Bytes free.
pub const SPACE_FREE: u32 = 43;
/// Bytes in all.
pub const SPACE_TOTAL: u32 = 44;
/// Bytes that it takes on the disk.
pub const SPACE_USED: u32 = 45;
/// Last read.
pub const TIME_ACCESS: u32 = 47;
/// Made.
pub const TIME_CREATE: u32 = 50;
/// Data or attributes last changed.
pub const TIME_METADATA: u32 = 52;
/// Data last changed.
pub const TIME_MODIFY: u32 = 53;

/// To ask for what [`Attributes`] tells of one file, and for what a map of it and a crossing into another file system
/// are seen by.
pub const STAT: Bitmap = LIST.with(CHANGE).with(FSID).without(&Bitmap::of(&[RDATTR_ERROR]));
/// To ask for what [`Attributes`] tells of the entries of a directory. With RDATTR_ERROR an entry without attributes
/// does not spoil the others.
pub const LIST: Bitmap = Bitmap::of(&[
    TYPE,
    SIZE,
    RDATTR_ERROR,
    FILEID,
    MODE,
    NUMLINKS,
    SPACE_USED,
    TIME_ACCESS,
    TIME_CREATE,
    TIME_METADATA,
    TIME_MODIFY,
]);
/// To ask for a [`Space`].
pub const STATFS: Bitmap = Bitmap::of(&[SPACE_AVAIL, SPACE_FREE, SPACE_TOTAL]);
/// To ask for what bounds the client.
pub const LIMITS: Bitmap = Bitmap::of(&[FSID, LEASE_TIME, MAXNAME, MAXREAD]);
/// To ask where a file system that has MOVED is.
pub const REFERRAL: Bitmap = Bitmap::of(&[FS_LOCATIONS]);

/// The most bytes that the attributes of `mask` take, mask and lengths included. Where FS_LOCATIONS is among them, what
/// referrals usually take: longer ones are legal.
#[expect(clippy::arithmetic_side_effects, reason = "a sum of constants")]
pub fn len_max(mask: Bitmap) -> usize {
    let values: usize = mask.numbers().map(value_len_max).sum();
    bitmap::LEN_MAX + 4 + values
}

#[expect(clippy::arithmetic_side_effects, reason = "a sum of constants")]
fn value_len_max(number: u32) -> usize {
    match number {
        TYPE | LEASE_TIME | RDATTR_ERROR | MAXNAME | MODE | NUMLINKS => 4,
        CHANGE | SIZE | FILEID | MAXREAD | SPACE_AVAIL | SPACE_FREE | SPACE_TOTAL | SPACE_USED => 8,
        TIME_ACCESS | TIME_CREATE | TIME_METADATA | TIME_MODIFY => 12,
        FSID => 16,
        FILEHANDLE => fh::LEN_MAX,
        OWNER | OWNER_GROUP => 4 + OPAQUE_LIMIT as usize,
        FS_LOCATIONS => REFERRAL_LEN_USUAL,
        _ => 0, // It would be refused.
    }
}

/// `nfs_ftype4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `NF4REG`.
    Regular,
    /// `NF4DIR`.
    Directory,
    /// `NF4LNK`.
    Symlink,
    /// A device, a socket, a pipe, or something of named attributes.
    Other,
}

impl Type {
    fn decode(r: &mut Reader<'_>) -> Result<Type, Error> {
        match r.be32("fattr4.type")? {
            1 => Ok(Type::Regular),
            2 => Ok(Type::Directory),
            5 => Ok(Type::Symlink),
            3 | 4 | 6..=9 => Ok(Type::Other),
            _ => Err(Error::Malformed("fattr4.type")),
        }
    }
}

/// `fsid4`: tells the file systems of a server apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fsid {
    /// One half of it.
    pub major: u64,
    /// The other half.
    pub minor: u64,
}

/// What a server says of a file. `None` is what it did not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fattr4<'a> {
    /// [`TYPE`].
    pub kind: Option<Type>,
    /// [`CHANGE`].
    pub change: Option<u64>,
    /// [`SIZE`].
    pub size: Option<u64>,
    /// [`FSID`].
    pub fsid: Option<Fsid>,
    /// [`LEASE_TIME`], in seconds.
    pub lease_time: Option<u32>,
    /// [`RDATTR_ERROR`]. `NFS4_OK` is as good as nothing.
    pub rdattr_error: Option<Status>,
    /// [`FILEHANDLE`].
    pub filehandle: Option<Fh>,
    /// [`FILEID`].
    pub fileid: Option<u64>,
    /// [`FS_LOCATIONS`].
    pub fs_locations: Option<FsLocations<'a>>,
    /// [`MAXNAME`].
    pub maxname: Option<u32>,
    /// [`MAXREAD`].
    pub maxread: Option<u64>,
    /// [`MODE`], the lowest 12 bits.
    pub mode: Option<u32>,
    /// [`NUMLINKS`].
    pub numlinks: Option<u32>,
    /// [`SPACE_AVAIL`].
    pub space_avail: Option<u64>,
    /// [`SPACE_FREE`].
    pub space_free: Option<u64>,
    /// [`SPACE_TOTAL`].
    pub space_total: Option<u64>,
    /// [`SPACE_USED`].
    pub space_used: Option<u64>,
    /// [`TIME_ACCESS`]. A time whose nanoseconds are a second or more is none.
    pub time_access: Option<Time>,
    /// [`TIME_CREATE`], likewise.
    pub time_create: Option<Time>,
    /// [`TIME_METADATA`], likewise.
    pub time_metadata: Option<Time>,
    /// [`TIME_MODIFY`], likewise.
    pub time_modify: Option<Time>,
}

impl<'a> Fattr4<'a> {
    /// Decodes the mask and exactly the attributes that it has. `Malformed` if we do not know one of them, for then
    /// nobody can tell where the next one starts, or if they do not fill the list to its end. That they were asked for is
    /// for the caller to care about.
    pub fn decode(r: &mut Reader<'a>) -> Result<Fattr4<'a>, Error> {
        let mask = Bitmap::decode(r, "fattr4.attrmask")?;
        let mut values = Reader::new(r.opaque(ATTR_LEN_MAX, "fattr4.attr_vals")?);
        let mut fattr = Fattr4::default();
        for number in mask.numbers() {
            fattr.decode_value(number, &mut values)?;
        }
        if !values.rest().is_empty() {
            return Err(Error::Malformed("fattr4.attr_vals"));
        }
        Ok(fattr)
    }

    fn decode_value(&mut self, number: u32, r: &mut Reader<'a>) -> Result<(), Error> {
        match number {
            TYPE => self.kind = Some(Type::decode(r)?),
            CHANGE => self.change = Some(r.be64("fattr4.change")?),
            SIZE => self.size = Some(r.be64("fattr4.size")?),
            FSID => {
                self.fsid = Some(Fsid { major: r.be64("fattr4.fsid")?, minor: r.be64("fattr4.fsid")? });
            }
            LEASE_TIME => self.lease_time = Some(r.be32("fattr4.lease_time")?),
            RDATTR_ERROR => self.rdattr_error = Some(Status(r.be32("fattr4.rdattr_error")?)),
            FILEHANDLE => self.filehandle = Some(Fh::decode(r, "fattr4.filehandle")?),
            FILEID => self.fileid = Some(r.be64("fattr4.fileid")?),
            FS_LOCATIONS => self.fs_locations = Some(FsLocations::decode(r)?),
            MAXNAME => self.maxname = Some(r.be32("fattr4.maxname")?),
            MAXREAD => self.maxread = Some(r.be64("fattr4.maxread")?),
            MODE => self.mode = Some(r.be32("fattr4.mode")? & 0o7777),
            NUMLINKS => self.numlinks = Some(r.be32("fattr4.numlinks")?),
            OWNER => drop(r.opaque(OPAQUE_LIMIT, "fattr4.owner")?),
            OWNER_GROUP => drop(r.opaque(OPAQUE_LIMIT, "fattr4.owner_group")?),
            SPACE_AVAIL => self.space_avail = Some(r.be64("fattr4.space_avail")?),
            SPACE_FREE => self.space_free = Some(r.be64("fattr4.space_free")?),
            SPACE_TOTAL => self.space_total = Some(r.be64("fattr4.space_total")?),
            SPACE_USED => self.space_used = Some(r.be64("fattr4.space_used")?),
            TIME_ACCESS => self.time_access = nfstime4(r, "fattr4.time_access")?,
            TIME_CREATE => self.time_create = nfstime4(r, "fattr4.time_create")?,
            TIME_METADATA => self.time_metadata = nfstime4(r, "fattr4.time_metadata")?,
            TIME_MODIFY => self.time_modify = nfstime4(r, "fattr4.time_modify")?,
            _ => return Err(Error::Malformed("fattr4.attrmask")),
        }
        Ok(())
    }

    /// What the reply to [`STAT`] means. `Misbehaved` if type or size are not among it, which every server has for
    /// everything.
    ///
    /// `sparse` is a guess: the file takes less space than it is long. Whether the server can say where its holes are
    /// is for the caller to know.
    pub fn stat(&self) -> Result<Attributes, Error> {
        match (self.kind, self.size) {
            (Some(_), Some(_)) => Ok(self.attributes()),
            _ => Err(Error::Misbehaved("GETATTR leaves out type or size")),
        }
    }

    /// What a reply to [`LIST`] means, as far as it says anything. What the server could not look at is
    /// [`Kind::Other`]; what is on another server ([`Status::MOVED`]) is a directory. Nothing was made at the stroke of
    /// 1970: Ganesha says so in listings, where it does not know.
    pub fn attributes(&self) -> Attributes {
        let kind = match (self.kind, self.rdattr_error) {
            (Some(Type::Regular), _) => Kind::File,
            (Some(Type::Directory), _) | (None, Some(Status::MOVED)) => Kind::Directory,
            (Some(Type::Symlink), _) => Kind::Symlink,
            (Some(Type::Other) | None, _) => Kind::Other,
        };
        let len = self.size.unwrap_or(0);
        Attributes {
            kind,
            len,
            allocated: self.space_used,
            modified: self.time_modify,
            accessed: self.time_access,
            changed: self.time_metadata,
            created: self.time_create.filter(|time| *time != Time { seconds: 0, nanoseconds: 0 }),
            id: self.fileid,
            links: self.numlinks,
            hidden: false,
            read_only: self.mode.is_some_and(|mode| mode & 0o222 == 0),
            change: self.change,
            sparse: kind == Kind::File && self.space_used.is_some_and(|used| used < len),
        }
    }

    /// What the reply to [`STATFS`] means; the unit is a byte. `Incompatible` if the server does not say.
    pub fn space(&self) -> Result<Space, Error> {
        match (self.space_total, self.space_free, self.space_avail) {
            (Some(total), Some(free), available) => {
                Ok(Space { total, free, available: available.unwrap_or(free), unit: 1 })
            }
            _ => Err(Error::Incompatible("the server does not tell the space of its file system")),
        }
    }
}

/// `nfstime4`.
fn nfstime4(r: &mut Reader<'_>, field: &'static str) -> Result<Option<Time>, Error> {
    let time = Time { seconds: r.be64(field)? as i64, nanoseconds: r.be32(field)? };
    Ok((time.nanoseconds < 1_000_000_000).then_some(time))
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use std::vec::Vec;

    /// A mask of two words, and the values.
    fn fattr(numbers: &[u32], values: &[u8]) -> Vec<u8> {
        let mut bytes = written(|w| Bitmap::of(numbers).encode(w));
        bytes.extend((values.len() as u32).to_be_bytes());
        bytes.extend(values);
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Fattr4<'_>, Error> {
        Fattr4::decode(&mut Reader::new(bytes))
    }

    /// All but FS_LOCATIONS.
    #[rustfmt::skip]
    const ALL: &[u8] = &[
        0, 0, 0, 2, 0x60, 0x18, 0x0D, 0x1A, 0x00, 0x34, 0xBC, 0x3A,
        0, 0, 0, 180,
        0, 0, 0, 1, // type
        0, 0, 0, 0, 0, 0, 1, 2, // change
        0, 0, 0, 1, 0, 0, 0, 5, // size
        0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, // fsid
        0, 0, 0, 90, // lease_time
        0, 0, 0, 0, // rdattr_error
        0, 0, 0, 2, 0xAB, 0xCD, 0, 0, // filehandle
        0, 0, 0, 0, 0, 0, 0, 8, // fileid
        0, 0, 0, 255, // maxname
        0, 0, 0, 0, 0, 0x10, 0, 0, // maxread
        0, 0, 0x81, 0x24, // mode, with what some put over it
        0, 0, 0, 3, // numlinks
        0, 0, 0, 1, b'0', 0, 0, 0, // owner
        0, 0, 0, 5, b'w', b'h', b'e', b'e', b'l', 0, 0, 0, // owner_group
        0, 0, 0, 0, 0, 0, 0, 10, // space_avail
        0, 0, 0, 0, 0, 0, 0, 11, // space_free
        0, 0, 0, 0, 0, 0, 0, 12, // space_total
        0, 0, 0, 0, 0, 0, 0x10, 0, // space_used
        0, 0, 0, 0, 0, 0, 0, 13, 0, 0, 0, 14, // time_access
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x3B, 0x9A, 0xC9, 0xFF, // time_create
        0, 0, 0, 0, 0, 0, 0, 15, 0x3B, 0x9A, 0xCA, 0x00, // time_metadata
        0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 17, // time_modify
        0, 0, 0, 0, // of something else
    ];

    #[test]
    fn every_attribute_that_we_know() {
        let bytes = &ALL[..ALL.len() - 4];
        strict(bytes, |r| Fattr4::decode(r).map(|_| ()));
        let time = |seconds, nanoseconds| Some(Time { seconds, nanoseconds });
        assert_eq!(
            decode(bytes),
            Ok(Fattr4 {
                kind: Some(Type::Regular),
                change: Some(0x102),
                size: Some(0x1_0000_0005),
                fsid: Some(Fsid { major: 6, minor: 7 }),
                lease_time: Some(90),
                rdattr_error: Some(Status::OK),
                filehandle: Fh::new(&[0xAB, 0xCD]),
                fileid: Some(8),
                fs_locations: None,
                maxname: Some(255),
                maxread: Some(0x10_0000),
                mode: Some(0o444),
                numlinks: Some(3),
                space_avail: Some(10),
                space_free: Some(11),
                space_total: Some(12),
                space_used: Some(4096),
                time_access: time(13, 14),
                time_create: time(-1, 999_999_999),
                time_metadata: None, // a whole second of nanoseconds
                time_modify: time(16, 17),
            })
        );
        let attributes = decode(bytes).unwrap().stat().unwrap();
        assert_eq!(
            attributes,
            Attributes {
                kind: Kind::File,
                len: 0x1_0000_0005,
                allocated: Some(4096),
                modified: time(16, 17),
                accessed: time(13, 14),
                changed: None,
                created: time(-1, 999_999_999),
                id: Some(8),
                links: Some(3),
                hidden: false,
                read_only: true,
                change: Some(0x102),
                sparse: true,
            }
        );
        let space = Space { total: 12, free: 11, available: 10, unit: 1 };
        assert_eq!(decode(bytes).unwrap().space(), Ok(space));
    }

    #[test]
    fn the_list_is_used_up_exactly() {
        assert!(decode(&fattr(&[MODE], &[0, 0, 1, 0xA4])).is_ok());
        assert_eq!(
            decode(&fattr(&[MODE], &[0, 0, 1, 0xA4, 0, 0, 0, 0])),
            Err(Error::Malformed("fattr4.attr_vals"))
        );
        assert_eq!(decode(&fattr(&[SIZE], &[0, 0, 0, 1])), Err(Error::Malformed("fattr4.size")));
        assert_eq!(decode(&fattr(&[], &[0, 0, 0, 0])), Err(Error::Malformed("fattr4.attr_vals")));
        assert_eq!(decode(&fattr(&[], &[])), Ok(Fattr4::default()));
        let mut longer = fattr(&[MODE], &[0; 4]);
        longer[12..16].copy_from_slice(&4097u32.to_be_bytes());
        longer.resize(5000, 0);
        assert_eq!(decode(&longer), Err(Error::Malformed("fattr4.attr_vals")));
    }

    #[test]
    fn an_attribute_that_we_do_not_know_is_an_error() {
        let known: Vec<u32> = (0..96).filter(|number| value_len_max(*number) > 0).collect();
        assert_eq!(known.len(), 23);
        for number in (0..96).filter(|number| !known.contains(number)) {
            assert_eq!(
                decode(&fattr(&[MODE, number], &[0; 32])),
                Err(Error::Malformed("fattr4.attrmask")),
                "{number}"
            );
        }
        for mask in [STAT, LIST, STATFS, LIMITS, REFERRAL] {
            assert!(mask.numbers().all(|number| known.contains(&number)));
        }
    }

    #[test]
    fn a_type_is_one_of_nine() {
        for (number, kind) in
            [(1, Kind::File), (2, Kind::Directory), (5, Kind::Symlink), (3, Kind::Other), (9, Kind::Other)]
        {
            let bytes = fattr(&[TYPE, SIZE], &[0, 0, 0, number, 0, 0, 0, 0, 0, 0, 0, 0]);
            assert_eq!(decode(&bytes).unwrap().stat().unwrap().kind, kind);
        }
        for number in [0, 10, 255] {
            let bytes = fattr(&[TYPE], &[0, 0, 0, number]);
            assert_eq!(decode(&bytes), Err(Error::Malformed("fattr4.type")));
        }
    }

    #[test]
    fn what_is_left_out_is_left_out() {
        let size = fattr(&[SIZE], &[0, 0, 0, 0, 0, 0, 0, 9]);
        assert!(matches!(decode(&size).unwrap().stat(), Err(Error::Misbehaved(_))));
        assert!(matches!(decode(&size).unwrap().space(), Err(Error::Incompatible(_))));
        let attributes = decode(&size).unwrap().attributes();
        assert_eq!(attributes, Attributes { kind: Kind::Other, len: 9, ..Attributes::default() });
        let made = fattr(&[TIME_CREATE], &[0; 12]);
        assert!(decode(&made).unwrap().time_create.is_some());
        assert_eq!(decode(&made).unwrap().attributes().created, None);
        let moved = fattr(&[RDATTR_ERROR], &[0, 0, 0x27, 0x23]);
        assert_eq!(decode(&moved).unwrap().attributes().kind, Kind::Directory);
        let total = fattr(&[SPACE_FREE, SPACE_TOTAL], &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
        let space = Space { total: 2, free: 1, available: 1, unit: 1 };
        assert_eq!(decode(&total).unwrap().space(), Ok(space));
    }

    #[test]
    fn a_referral() {
        #[rustfmt::skip]
        let bytes = fattr(&[FS_LOCATIONS], &[
            0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, b's', 0, 0, 0, 0, 0, 0, 0,
        ]);
        let location = decode(&bytes).unwrap().fs_locations.unwrap().locations().next().unwrap();
        assert_eq!(location.server.iter().next(), Some(&b"s"[..]));
    }

    #[test]
    fn what_they_take_at_most() {
        let used = ALL.len() - 4;
        let mask = Bitmap::decode(&mut Reader::new(ALL), "").unwrap();
        // A third word of the mask, and what the file handle and the owners could be longer.
        assert_eq!(len_max(mask), used + 4 + (128 - 4) + (1024 - 4) + (1024 - 8));
        assert_eq!(len_max(STATFS), 4 + 12 + 4 + 3 * 8);
    }
}
