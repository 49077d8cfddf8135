//! RFC 7530 16.2, RFC 8881 16.2: where the file data of a COMPOUND reply starts, told while the reply comes in.
//!
//! Data is to go straight to the pages, so no byte of it may be read together with what stands in front of it; and XDR
//! has no table of contents. So the results are measured one by one, as far as they have come.

use super::compound::head;
use super::limits::{ATTR_LEN_MAX, BITMAP_WORDS_MAX, FHSIZE, LINK_LEN_MAX, TAG_LEN_MAX, WHO_LEN_MAX};
use super::op::Op;
use super::status::Status;
use super::{read, read_plus, stateid};
use crate::error::Error;
use crate::nfs::xdr::pad;
use crate::wire::Reader;

/// What the beginning of a reply says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// It takes so many bytes in all, from `COMPOUND4res` on, to say more. There are at least so many unless
    /// the reply is malformed; no file data is among them.
    Need(usize),
    /// The data of a READ starts here.
    Read {
        /// Where: behind so many bytes.
        at: usize,
        /// What stands in front of it.
        head: read::Head,
        /// How many results follow the data and its padding, for [`Results::resume`](super::compound::Results::resume).
        left: u32,
    },
    /// The segments of a READ_PLUS start here.
    ReadPlus {
        /// Where: behind so many bytes.
        at: usize,
        /// What stands in front of them.
        head: read_plus::Head,
        /// How many results follow the last segment.
        left: u32,
    },
    /// There is no file data: the reply is all head. So it is if an operation was refused, or is one whose
    /// reply is a listing or not known here.
    NoData,
}

/// Looks for file data in a reply of which `bytes` have come, from `COMPOUND4res` on. `bytes` may be more than was
/// needed, up to the first byte of data: who knows what was asked can start with more than one byte.
///
/// It starts anew each time and keeps nothing. The loop ends: the results are counted, and no more than
/// [`OPS_MAX`](super::limits::OPS_MAX).
pub fn scan(bytes: &[u8]) -> Result<Scan, Error> {
    let mut m = Measure { bytes, at: 0 };
    match m.reply() {
        Ok(scan) => Ok(scan),
        Err(Short::Need(len)) => Ok(Scan::Need(len)),
        Err(Short::Error(error)) => Err(error),
    }
}

/// Why measuring stops.
enum Short {
    Need(usize),
    Error(Error),
}

/// A cursor that says how many bytes would be enough.
struct Measure<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Measure<'_> {
    fn reply(&mut self) -> Result<Scan, Short> {
        self.skip(4)?;
        self.opaque(TAG_LEN_MAX, "COMPOUND.tag")?;
        self.skip(4)?;
        let (_, _, count) = head(self.bytes).map_err(Short::Error)?;
        for left in (0..count).rev() {
            let (op, status) = (Op(self.be32()?), Status(self.be32()?));
            if !status.is_ok() {
                return Ok(Scan::NoData);
            }
            match op {
                Op::READ => {
                    let head = self.fixed(read::HEAD_LEN, read::Head::decode)?;
                    return Ok(Scan::Read { at: self.at, head, left });
                }
                Op::READ_PLUS => {
                    let head = self.fixed(read_plus::HEAD_LEN, read_plus::Head::decode)?;
                    return Ok(Scan::ReadPlus { at: self.at, head, left });
                }
                Op::PUTFH | Op::PUTROOTFH | Op::LOOKUP | Op::RENEW | Op::RECLAIM_COMPLETE => {}
                Op::ACCESS => self.skip(8)?,
                Op::SEEK => self.skip(12)?,
                Op::CLOSE | Op::OPEN_CONFIRM => self.skip(stateid::LEN)?,
                Op::SEQUENCE => self.skip(36)?,
                Op::GETFH => self.opaque(FHSIZE, "GETFH.object")?,
                Op::READLINK => self.opaque(LINK_LEN_MAX, "READLINK.link")?,
                Op::GETATTR => {
                    self.bitmap("fattr4.attrmask")?;
                    self.opaque(ATTR_LEN_MAX, "fattr4.attr_vals")?;
                }
                Op::OPEN => self.open()?,
                _ => return Ok(Scan::NoData),
            }
        }
        Ok(Scan::NoData)
    }

    fn open(&mut self) -> Result<(), Short> {
        self.skip(stateid::LEN + 20 + 4)?;
        self.bitmap("OPEN.attrset")?;
        match self.be32()? {
            1 => self.skip(stateid::LEN + 4 + 12)?,
            2 => self.skip(stateid::LEN + 4 + 12 + 12)?,
            3 => {
                return match self.be32()? {
                    1 | 2 => self.skip(4),
                    _ => Ok(()),
                };
            }
            _ => return Ok(()), // None; and what is neither will be refused.
        }
        self.opaque(WHO_LEN_MAX, "OPEN.delegation.permissions")
    }

    fn bitmap(&mut self, field: &'static str) -> Result<(), Short> {
        match self.be32()? as usize {
            words @ 0..=BITMAP_WORDS_MAX => self.skip(words.saturating_mul(4)),
            _ => Err(Short::Error(Error::Malformed(field))),
        }
    }

    fn opaque(&mut self, max: u32, field: &'static str) -> Result<(), Short> {
        match self.be32()? {
            len if len <= max => self.skip((len as usize).saturating_add(pad(len as usize))),
            _ => Err(Short::Error(Error::Malformed(field))),
        }
    }

    fn be32(&mut self) -> Result<u32, Short> {
        self.fixed(4, |r| r.be32("COMPOUND"))
    }

    fn fixed<T>(
        &mut self,
        len: usize,
        decode: impl FnOnce(&mut Reader<'_>) -> Result<T, Error>,
    ) -> Result<T, Short> {
        let from = self.at;
        self.skip(len)?;
        decode(&mut Reader::new(self.bytes.get(from..).unwrap_or(&[]))).map_err(Short::Error)
    }

    /// Every length that comes here is bounded, so the sum does not wrap.
    fn skip(&mut self, len: usize) -> Result<(), Short> {
        self.at = self.at.saturating_add(len);
        if self.at > self.bytes.len() { Err(Short::Need(self.at)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::compound::{Ops, Results};
    use super::super::testing::*;
    use super::*;
    use crate::wire::Writer;
    use std::vec::Vec;

    /// A reply: the status of the whole, and per result its opcode and what follows `NFS4_OK`.
    fn reply(results: &[(Op, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::from([0, 0, 0, 0, 0, 0, 0, 1, b't', 0, 0, 0, 0, 0, 0, results.len() as u8]);
        for (op, body) in results {
            bytes.extend(op.0.to_be_bytes());
            bytes.extend([0; 4]);
            bytes.extend(*body);
        }
        bytes
    }

    const OPEN: [u8; 52] = [0; 52];
    const OPENED: [u8; 48] = [0; 48];

    /// Everything that may stand in front of a READ.
    fn before() -> Vec<(Op, &'static [u8])> {
        Vec::from([
            (Op::SEQUENCE, &[0; 36][..]),
            (Op::PUTROOTFH, &[]),
            (Op::LOOKUP, &[]),
            (Op::GETFH, &[0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0]),
            (Op::PUTFH, &[]),
            (Op::ACCESS, &[0; 8]),
            (Op::GETATTR, &[0, 0, 0, 1, 0, 0, 0, 0x10, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 9]),
            (Op::READLINK, &[0, 0, 0, 1, b'x', 0, 0, 0]),
            (Op::OPEN, &OPENED),
            (Op::OPEN_CONFIRM, &[0; 16]),
            (Op::SEEK, &[0; 12]),
            (Op::RENEW, &[]),
            (Op::RECLAIM_COMPLETE, &[]),
            (Op::CLOSE, &[0; 16]),
        ])
    }

    /// Feeds `bytes` as it asks for them; returns what it says in the end and how many it has seen.
    fn feed(bytes: &[u8]) -> (Result<Scan, Error>, usize) {
        let mut len = 0;
        loop {
            match scan(&bytes[..len]) {
                Ok(Scan::Need(need)) => {
                    assert!(need > len, "it asks for what it has");
                    assert!(need <= bytes.len(), "it asks for what is not there");
                    len = need;
                }
                said => return (said, len),
            }
        }
    }

    #[test]
    fn data_is_found_behind_everything_and_nothing_of_it_is_asked_for() {
        let mut results = before();
        results.push((Op::READ, &[0, 0, 0, 1, 0, 0, 0, 5]));
        results.push((Op::GETATTR, &[0; 8]));
        results.push((Op::CLOSE, &[0; 16]));
        let bytes = reply(&results);
        let at = bytes.len() - 16 - 24;
        let found = Scan::Read { at, head: read::Head { eof: true, len: 5 }, left: 2 };
        assert_eq!(feed(&bytes), (Ok(found), at));
        // And it does not depend on how much has come.
        for len in 0..bytes.len() {
            match scan(&bytes[..len]) {
                Ok(Scan::Need(need)) => assert!(need > len && need <= at, "{len} {need}"),
                said => assert!(said == Ok(found) && len >= at),
            }
        }
    }

    #[test]
    fn segments_are_found_likewise() {
        let bytes = reply(&[(Op::PUTFH, &[]), (Op::READ_PLUS, &[0, 0, 0, 0, 0, 0, 0, 9])]);
        let head = read_plus::Head { eof: false, segments: 9 };
        let found = Scan::ReadPlus { at: bytes.len(), head, left: 0 };
        assert_eq!(feed(&bytes), (Ok(found), bytes.len()));
    }

    #[test]
    fn delegations_are_measured() {
        let mut read = OPEN.to_vec();
        read[44 + 3] = 1;
        read.resize(48 + 16 + 4 + 12, 0);
        read.extend([0, 0, 0, 6, b'O', b'W', b'N', b'E', b'R', b'@', 0, 0]);
        let mut write = read.clone();
        write[44 + 3] = 2;
        write.splice(68..68, [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9]);
        let none_ext = |why: u8, more: &[u8]| [&[0; 47][..], &[3, 0, 0, 0, why], more].concat();
        for open in
            [read, write, none_ext(0, &[]), none_ext(1, &[0; 4]), none_ext(2, &[0; 4]), none_ext(7, &[])]
        {
            // What is measured is what is decoded.
            strict(&open, super::super::open::ResOk::decode);
            let bytes = reply(&[(Op::OPEN, &open), (Op::READ, &[0, 0, 0, 1, 0, 0, 0, 0])]);
            let found = Scan::Read { at: bytes.len(), head: read::Head { eof: true, len: 0 }, left: 0 };
            assert_eq!(feed(&bytes), (Ok(found), bytes.len()));
        }
    }

    #[test]
    fn a_refusal_or_a_reply_without_data_is_all_head() {
        let mut bytes = reply(&before());
        assert_eq!(feed(&bytes).0, Ok(Scan::NoData));
        assert_eq!(feed(&reply(&[])).0, Ok(Scan::NoData));
        assert_eq!(feed(&reply(&[(Op::READDIR, &[0; 16])])).0, Ok(Scan::NoData));
        assert_eq!(feed(&reply(&[(Op(3333), &[])])).0, Ok(Scan::NoData));
        bytes = reply(&[(Op::PUTFH, &[]), (Op::READ, &[])]);
        let end = bytes.len();
        bytes[end - 1] = 70; // NFS4ERR_STALE
        assert_eq!(feed(&bytes), (Ok(Scan::NoData), end));
    }

    #[test]
    fn lengths_are_bounded_before_they_are_waited_for() {
        for (op, at, field) in [
            (Op::GETFH, 24, "GETFH.object"),
            (Op::READLINK, 24, "READLINK.link"),
            (Op::GETATTR, 24, "fattr4.attrmask"),
            (Op::GETATTR, 28, "fattr4.attr_vals"),
            (Op::OPEN, 64, "OPEN.attrset"),
        ] {
            let mut bytes = reply(&[(op, &[0; 64])]);
            bytes[at] = 0x7F;
            assert_eq!(feed(&bytes).0, Err(Error::Malformed(field)));
        }
        assert_eq!(scan(&[0, 0, 0, 0, 0, 0, 0, 17]), Err(Error::Malformed("COMPOUND.tag")));
        let many = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0];
        assert_eq!(scan(&many), Err(Error::Malformed("COMPOUND.resarray")));
    }

    #[test]
    fn it_survives_any_byte() {
        let mut results = before();
        results.push((Op::READ, &[0, 0, 0, 1, 0, 0, 0, 5]));
        let bytes = reply(&results);
        crate::nfs::xdr::testing::survives_any_byte(&bytes, |bytes| scan(bytes).err());
    }

    #[test]
    fn what_is_behind_the_data_is_read_on() {
        let bytes = reply(&[(Op::READ, &[0, 0, 0, 0, 0, 0, 0, 1]), (Op::CLOSE, &[0; 16])]);
        let Scan::Read { at, left, .. } = scan(&bytes).unwrap() else { panic!() };
        let mut whole = Results::decode(&bytes, 2).unwrap();
        read::Head::decode(whole.take(Op::READ).unwrap()).unwrap();
        assert_eq!((whole.at(), whole.left()), (at, left));
        let mut tail = Results::resume(&bytes[at..], whole.status(), left);
        super::super::close::ResOk::decode(tail.take(Op::CLOSE).unwrap()).unwrap();
        assert_eq!(tail.end(), Ok(()));
        let mut buf = [0; 64];
        assert_eq!(Ops::begin(&mut Writer::new(&mut buf), b"", 0).count(), 0);
    }
}
