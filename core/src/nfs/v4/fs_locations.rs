//! RFC 7530 8.5, RFC 8881 11.16: `fs_locations4`, where a file system is to be found instead.

use super::limits::{NAME_LEN_MAX, REFERRAL_ITEMS_MAX};
use crate::error::Error;
use crate::wire::Reader;

/// Some strings of a reply: the names of a path, the servers of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strings<'a> {
    bytes: &'a [u8],
    count: u32,
}

impl<'a> Strings<'a> {
    /// Decodes up to [`REFERRAL_ITEMS_MAX`] of them.
    fn decode(r: &mut Reader<'a>, field: &'static str) -> Result<Strings<'a>, Error> {
        let count = items(r, field)?;
        let (start, from) = (r.rest(), r.at());
        for _ in 0..count {
            r.opaque(NAME_LEN_MAX, field)?;
        }
        Ok(Strings { bytes: start.get(..r.at().saturating_sub(from)).unwrap_or(&[]), count })
    }

    /// How many.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// One by one. What is in them is not looked at: a server may be a name or an address, and so may anything else.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut r = Reader::new(self.bytes);
        (0..self.count).map_while(move |_| r.opaque(NAME_LEN_MAX, "pathname4").ok())
    }
}

/// A place where the file system is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location<'a> {
    /// The servers that have it. None: the one that was asked.
    pub server: Strings<'a>,
    /// Its root there.
    pub rootpath: Strings<'a>,
}

impl<'a> Location<'a> {
    fn decode(r: &mut Reader<'a>) -> Result<Location<'a>, Error> {
        Ok(Location {
            server: Strings::decode(r, "fs_locations.server")?,
            rootpath: Strings::decode(r, "fs_locations.rootpath")?,
        })
    }
}

/// Where a file system is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FsLocations<'a> {
    /// Its root on the server that was asked.
    pub fs_root: Strings<'a>,
    locations: &'a [u8],
    count: u32,
}

impl<'a> FsLocations<'a> {
    /// Decodes it, with up to [`REFERRAL_ITEMS_MAX`] locations.
    pub fn decode(r: &mut Reader<'a>) -> Result<FsLocations<'a>, Error> {
        let fs_root = Strings::decode(r, "fs_locations.fs_root")?;
        let count = items(r, "fs_locations.locations")?;
        let (start, from) = (r.rest(), r.at());
        for _ in 0..count {
            Location::decode(r)?;
        }
        Ok(FsLocations { fs_root, locations: start.get(..r.at().saturating_sub(from)).unwrap_or(&[]), count })
    }

    /// One by one, the best first.
    pub fn locations(&self) -> impl Iterator<Item = Location<'a>> + use<'a> {
        let mut r = Reader::new(self.locations);
        (0..self.count).map_while(move |_| Location::decode(&mut r).ok())
    }
}

fn items(r: &mut Reader<'_>, field: &'static str) -> Result<u32, Error> {
    r.be32(field).and_then(|count| match count {
        0..=REFERRAL_ITEMS_MAX => Ok(count),
        _ => Err(Error::Malformed(field)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use std::vec::Vec;

    /// `/a` is at server `s1` or `s2` under `/b/c`, and here at `/`.
    #[rustfmt::skip]
    const BYTES: [u8; 64] = [
        0, 0, 0, 1, 0, 0, 0, 1, b'a', 0, 0, 0,
        0, 0, 0, 2,
        0, 0, 0, 2, 0, 0, 0, 2, b's', b'1', 0, 0, 0, 0, 0, 2, b's', b'2', 0, 0,
        0, 0, 0, 2, 0, 0, 0, 1, b'b', 0, 0, 0, 0, 0, 0, 1, b'c', 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0,
    ];

    #[test]
    fn two_locations() {
        strict(&BYTES, |r| FsLocations::decode(r).map(|_| ()));
        let found = FsLocations::decode(&mut Reader::new(&BYTES)).unwrap();
        assert_eq!(found.fs_root.iter().collect::<Vec<_>>(), [b"a"]);
        let [there, here] = found.locations().collect::<Vec<_>>()[..] else { panic!() };
        assert_eq!(there.server.iter().collect::<Vec<_>>(), [b"s1", b"s2"]);
        assert_eq!(there.rootpath.iter().collect::<Vec<_>>(), [b"b", b"c"]);
        assert_eq!((here.server.count(), here.rootpath.count()), (0, 0));
    }

    #[test]
    fn counts_are_bounded() {
        for (at, field) in
            [(0, "fs_locations.fs_root"), (12, "fs_locations.locations"), (16, "fs_locations.server")]
        {
            for count in [65, u32::MAX] {
                let mut bytes = BYTES.to_vec();
                bytes[at..at + 4].copy_from_slice(&count.to_be_bytes());
                assert_eq!(FsLocations::decode(&mut Reader::new(&bytes)), Err(Error::Malformed(field)));
            }
        }
    }
}
