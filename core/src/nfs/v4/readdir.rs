//! RFC 7530 16.24, RFC 8881 18.23: READDIR.

use super::bitmap::Bitmap;
use super::compound::{Ops, RESULT_HEAD_MAX};
use super::fattr4::Fattr4;
use super::limits::NAME_LEN_MAX;
use super::op::Op;
use crate::error::Error;
use crate::wire::Reader;

/// Lists the current directory, from behind an entry on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args {
    /// That of the entry, or 0 to start.
    pub cookie: u64,
    /// What the reply with that cookie had, or zeros to start.
    pub cookieverf: [u8; 8],
    /// The most bytes of names and cookies: a hint, which some servers keep to.
    pub dircount: u32,
    /// The most bytes of a result besides opcode and status.
    pub maxcount: u32,
    /// What to say of the entries: [`LIST`](super::fattr4::LIST) is meant for it.
    pub attr_request: Bitmap,
}

impl Args {
    /// To start, with as many names as fit.
    pub const fn first(maxcount: u32, attr_request: Bitmap) -> Args {
        Args { cookie: 0, cookieverf: [0; 8], dircount: maxcount, maxcount, attr_request }
    }

    /// To go on behind `result`. `None` if there is nothing more.
    pub const fn after(&self, result: &ResOk<'_>) -> Option<Args> {
        match result.eof {
            true => None,
            false => Some(Args { cookie: result.cookie, cookieverf: result.cookieverf, ..*self }),
        }
    }

    /// Appends the operation. All of the result is in its budget.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) {
        let w = ops.op(Op::READDIR, RESULT_HEAD_MAX.saturating_add(self.maxcount as usize));
        w.be64(self.cookie);
        w.put(&self.cookieverf);
        w.be32(self.dircount);
        w.be32(self.maxcount);
        self.attr_request.encode(w);
    }
}

/// The most bytes of a result, besides the entries: what stands in front of them and behind.
pub const REPLY_HEAD_MAX: usize = RESULT_HEAD_MAX + 8 + 8;

/// Where the name stands in an entry.
pub const NAME_AT: usize = 16;

/// Some entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResOk<'a> {
    /// For the request that goes on.
    pub cookieverf: [u8; 8],
    /// All of them: each can be decoded. See [`Entries`].
    pub entries: &'a [u8],
    /// How many bytes stand in front of the first one.
    pub entries_at: usize,
    /// That of the last entry, or the one that was asked for.
    pub cookie: u64,
    /// There are no more.
    pub eof: bool,
}

impl<'a> ResOk<'a> {
    /// Decodes what follows the status, every entry included. `asked` is the cookie of the request.
    ///
    /// `Misbehaved` if two cookies in a row are the same or one is that of the start, or if there is no entry and
    /// still more are to come: for then a listing would not end. The bytes of the message bound the entries.
    pub fn decode(r: &mut Reader<'a>, asked: u64) -> Result<ResOk<'a>, Error> {
        let start = r.at();
        let cookieverf = r.array("READDIR.cookieverf")?;
        let (entries_at, from) = (r.at().saturating_sub(start), r.rest());
        let mut cookie = asked;
        while let Some(entry) = Entry::decode(r)? {
            if entry.cookie == cookie || entry.cookie == 0 {
                return Err(Error::Misbehaved("READDIR does not move on"));
            }
            cookie = entry.cookie;
        }
        // Without the "no further entry" that was read last.
        let len = r.at().saturating_sub(start).saturating_sub(entries_at).saturating_sub(4);
        let eof = r.boolean("READDIR.eof")?;
        if len == 0 && !eof {
            return Err(Error::Misbehaved("READDIR brings no entry, and more are to come"));
        }
        Ok(ResOk { cookieverf, entries: from.get(..len).unwrap_or(&[]), entries_at, cookie, eof })
    }

    /// One by one.
    pub const fn entries(&self) -> Entries<'a> {
        Entries { r: Reader::new(self.entries) }
    }
}

/// The entries of a result. Each step moves forward by what an entry takes at least, so they end; after an error
/// there are no more.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    r: Reader<'a>,
}

impl<'a> Entries<'a> {
    /// Starts at the first entry of [`ResOk::entries`], or at one that lies further on.
    pub const fn new(entries: &'a [u8]) -> Entries<'a> {
        Entries { r: Reader::new(entries) }
    }

    /// How many bytes were decoded: where the next entry starts.
    pub const fn at(&self) -> usize {
        self.r.at()
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.r.rest().is_empty() {
            return None;
        }
        let decoded = Entry::decode(&mut self.r).transpose();
        if let None | Some(Err(_)) = decoded {
            self.r = Reader::new(&[]);
        }
        decoded
    }
}

/// One name and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Where to go on behind it.
    pub cookie: u64,
    /// UTF-8 by convention, and not empty. Nothing else is known of it.
    pub name: &'a [u8],
    /// What the server says of it.
    pub attrs: Fattr4<'a>,
}

impl<'a> Entry<'a> {
    /// Decodes one, or that there is none.
    fn decode(r: &mut Reader<'a>) -> Result<Option<Entry<'a>>, Error> {
        r.optional("READDIR.nextentry", |r| {
            let cookie = r.be64("READDIR.cookie")?;
            let name = r.opaque(NAME_LEN_MAX, "READDIR.name")?;
            if name.is_empty() {
                return Err(Error::Malformed("READDIR.name"));
            }
            Ok(Entry { cookie, name, attrs: Fattr4::decode(r)? })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fattr4::{LIST, Type};
    use super::super::status::Status;
    use super::super::testing::*;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn arguments() {
        let readdir = Args {
            cookie: 0x0102_0304_0506_0708,
            cookieverf: [9; 8],
            dircount: 1024,
            maxcount: 4096,
            attr_request: LIST,
        };
        #[rustfmt::skip]
        assert_eq!(args(Op::READDIR, 8 + 4096, |ops| readdir.encode(ops)), [
            1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 9, 9, 9, 9, 0, 0, 4, 0, 0, 0, 16, 0,
            0, 0, 0, 2, 0, 0x10, 8, 0x12, 0, 0x34, 0xA0, 0x0A,
        ]);
        let bytes = args(Op::READDIR, 8 + 4096, |ops| Args::first(4096, Bitmap::EMPTY).encode(ops));
        assert_eq!(bytes[..16], [0; 16]);
    }

    /// A file, and what the server may not look at; no more.
    #[rustfmt::skip]
    const BYTES: [u8; 96] = [
        1, 2, 3, 4, 5, 6, 7, 8,
        0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 3, 0, 0, 0, 5, b'n', b'a', b'm', b'e', b'1', 0, 0, 0,
        0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 1,
        0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 4, 0, 0, 0, 1, b'x', 0, 0, 0,
        0, 0, 0, 1, 0, 0, 8, 0, 0, 0, 0, 4, 0, 0, 0, 13,
        0, 0, 0, 0, 0, 0, 0, 1, // no further entry; eof
        0xEE, 0xEE, 0xEE, 0xEE, // what follows in the COMPOUND
    ];
    const LEN: usize = BYTES.len() - 4;

    fn decode(bytes: &[u8]) -> Result<ResOk<'_>, Error> {
        ResOk::decode(&mut Reader::new(bytes), 0)
    }

    #[test]
    fn a_result_and_its_entries() {
        strict(&BYTES[..LEN], |r| ResOk::decode(r, 0).map(|_| ()));
        let mut r = Reader::new(&BYTES);
        let result = ResOk::decode(&mut r, 0).unwrap();
        assert_eq!(r.rest(), [0xEE; 4]);
        assert_eq!(result.cookieverf, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((result.cookie, result.eof), (0xFFFF_FFFF_0000_0004, true));
        assert_eq!(result.entries, &BYTES[result.entries_at..LEN - 8]);
        let mut entries = result.entries();
        let file = entries.next().unwrap().unwrap();
        assert_eq!((file.cookie, file.name), (0xFFFF_FFFF_0000_0003, &b"name1"[..]));
        assert_eq!(file.attrs.kind, Some(Type::Regular));
        let at = entries.at();
        let other = Entries::new(&result.entries[at..]).next().unwrap().unwrap();
        assert_eq!(other.attrs.rdattr_error, Some(Status::ACCESS));
        assert_eq!(&result.entries[at + NAME_AT..][..other.name.len()], other.name);
        assert_eq!(entries.next(), Some(Ok(other)));
        assert_eq!((entries.at(), entries.next()), (result.entries.len(), None));
    }

    #[test]
    fn it_goes_on_with_the_last_cookie() {
        let mut more = BYTES;
        more[LEN - 1] = 0;
        let first = Args::first(512, LIST);
        let result = decode(&more).unwrap();
        let next = first.after(&result).unwrap();
        assert_eq!(next.cookie, 0xFFFF_FFFF_0000_0004);
        assert_eq!((next.cookieverf, next.maxcount), (result.cookieverf, 512));
        assert_eq!(first.after(&decode(&BYTES).unwrap()), None);
    }

    #[test]
    fn an_empty_directory_is_well_and_an_empty_part_of_one_is_not() {
        let mut empty = [0; 16];
        assert!(matches!(decode(&empty), Err(Error::Misbehaved(_))));
        empty[15] = 1;
        let result = ResOk::decode(&mut Reader::new(&empty), 77).unwrap();
        assert_eq!((result.eof, result.cookie, result.entries().count()), (true, 77, 0));
    }

    #[test]
    fn cookies_move() {
        const STANDS: Result<ResOk<'_>, Error> = Err(Error::Misbehaved("READDIR does not move on"));
        let mut same = BYTES;
        same[59] = 3;
        assert_eq!(decode(&same), STANDS);
        assert_eq!(ResOk::decode(&mut Reader::new(&BYTES), 0xFFFF_FFFF_0000_0003), STANDS);
        let mut zero = BYTES;
        zero[52..60].fill(0);
        assert_eq!(decode(&zero), STANDS);
        let mut back = BYTES;
        back[59] = 1;
        assert!(decode(&back).is_ok());
    }

    #[test]
    fn names_are_long_and_never_empty() {
        let with = |name: &[u8]| {
            let mut bytes = Vec::from([0; 8]);
            bytes.extend([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9]);
            bytes.extend(written(|w| w.opaque(name)));
            bytes.extend([0; 12]);
            bytes.extend([0, 0, 0, 1]);
            bytes
        };
        for len in [1, 255, 256, 1024] {
            let bytes = with(&[b'x'; 1024][..len]);
            let entry = decode(&bytes).unwrap().entries().next().unwrap().unwrap();
            assert_eq!(entry.name.len(), len);
        }
        for name in [&[b'x'; 1025][..], b""] {
            assert_eq!(decode(&with(name)), Err(Error::Malformed("READDIR.name")));
        }
    }

    #[test]
    fn after_an_error_there_are_no_more() {
        let mut entries = Entries::new(&BYTES[8..70]);
        assert!(entries.next().unwrap().is_ok());
        assert!(entries.next().unwrap().is_err());
        assert_eq!(entries.next(), None);
        assert_eq!(Entries::new(&[0, 0, 0, 0, 1]).next(), None);
    }
}
