//! RFC 7530 16.16, RFC 8881 18.16: OPEN, here always to read what is there.

use super::bitmap::{self, Bitmap};
use super::compound::{Ops, RESULT_HEAD_MAX};
use super::limits::{OPAQUE_LIMIT, WHO_LEN_MAX};
use super::lookup::component;
use super::op::Op;
use super::stateid::{self, Stateid};
use crate::error::Error;
use crate::wire::Reader;

/// `OPEN4_SHARE_ACCESS_READ`.
const SHARE_ACCESS_READ: u32 = 1;
/// `OPEN4_SHARE_ACCESS_WANT_NO_DELEG` (4.1): we have no use for a promise.
const WANT_NO_DELEG: u32 = 0x0400;
/// `OPEN4_SHARE_DENY_NONE`. A reader is in nobody's way.
const SHARE_DENY_NONE: u32 = 0;
/// `OPEN4_NOCREATE`, what is not there is not made.
const NOCREATE: u32 = 0;

/// Which file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim<'a> {
    /// `CLAIM_NULL`: a name in the current directory. The file becomes the current one.
    Null(&'a [u8]),
    /// `CLAIM_FH`: the current file (4.1).
    Fh,
}

/// Opens a regular file for reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args<'a> {
    /// Counts the requests of the owner (4.0).
    pub seqid: u32,
    /// Whose the owner is (4.0).
    pub clientid: u64,
    /// Any bytes, 1024 at most: opens of the same file by the same owner share a stateid.
    pub owner: &'a [u8],
    /// Which file.
    pub claim: Claim<'a>,
    /// Whether to say that no delegation is wanted (4.1).
    pub want_no_deleg: bool,
}

impl<'a> Args<'a> {
    /// As 4.0 has it.
    pub const fn v40(seqid: u32, clientid: u64, owner: &'a [u8], name: &'a [u8]) -> Args<'a> {
        Args { seqid, clientid, owner, claim: Claim::Null(name), want_no_deleg: false }
    }

    /// As 4.1 and later have it: the session says who the client is.
    pub const fn v41(owner: &'a [u8], claim: Claim<'a>) -> Args<'a> {
        Args { seqid: 0, clientid: 0, owner, claim, want_no_deleg: true }
    }

    /// Appends the operation. `Invalid`, and nothing is appended, if the name is (see [`component`]) or the owner is too
    /// long.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) -> Result<(), Error> {
        if let Claim::Null(name) = self.claim {
            component(name)?;
        }
        if self.owner.len() > OPAQUE_LIMIT as usize {
            return Err(Error::Invalid("open owner too long"));
        }
        let w = ops.op(Op::OPEN, REPLY_HEAD_MAX);
        w.be32(self.seqid);
        w.be32(SHARE_ACCESS_READ | if self.want_no_deleg { WANT_NO_DELEG } else { 0 });
        w.be32(SHARE_DENY_NONE);
        w.be64(self.clientid);
        w.opaque(self.owner);
        w.be32(NOCREATE);
        match self.claim {
            Claim::Null(name) => {
                w.be32(0);
                w.opaque(name);
            }
            Claim::Fh => w.be32(4),
        }
        Ok(())
    }
}

/// The most bytes of a result, a delegation that nobody asked for included.
pub const REPLY_HEAD_MAX: usize =
    RESULT_HEAD_MAX + stateid::LEN + 20 + 4 + bitmap::LEN_MAX + 4 + stateid::LEN + 4 + 12 + ACE_LEN_MAX;
/// `nfsace4`.
const ACE_LEN_MAX: usize = 12 + 4 + WHO_LEN_MAX as usize;

/// `rflags`: `OPEN4_RESULT_CONFIRM`, to be confirmed before the stateid is of use (4.0).
pub const RESULT_CONFIRM: u32 = 0x02;

/// What stands in the place of a delegation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delegation {
    /// `OPEN_DELEGATE_NONE`.
    None,
    /// `OPEN_DELEGATE_READ`: one that is to be returned some day.
    Read(Stateid),
    /// `OPEN_DELEGATE_WRITE`, likewise.
    Write(Stateid),
    /// `OPEN_DELEGATE_NONE_EXT` (4.1): none, and why: `why_no_delegation4`.
    NoneExt(u32),
}

impl Delegation {
    fn decode(r: &mut Reader<'_>) -> Result<Delegation, Error> {
        match r.be32("OPEN.delegation_type")? {
            0 => Ok(Delegation::None),
            1 => {
                let stateid = Stateid::decode(r, "OPEN.delegation.stateid")?;
                r.boolean("OPEN.delegation.recall")?;
                skip_ace(r)?;
                Ok(Delegation::Read(stateid))
            }
            2 => {
                let stateid = Stateid::decode(r, "OPEN.delegation.stateid")?;
                r.boolean("OPEN.delegation.recall")?;
                match r.be32("OPEN.delegation.limitby")? {
                    1 | 2 => r.skip(8, "OPEN.delegation.space_limit")?, // Bytes, or blocks and their size.
                    _ => return Err(Error::Malformed("OPEN.delegation.limitby")),
                }
                skip_ace(r)?;
                Ok(Delegation::Write(stateid))
            }
            3 => {
                let why = r.be32("OPEN.why_no_delegation")?;
                if let 1 | 2 = why {
                    r.boolean("OPEN.why_no_delegation")?; // Contention, resource: whether it will say when.
                }
                Ok(Delegation::NoneExt(why))
            }
            _ => Err(Error::Malformed("OPEN.delegation_type")),
        }
    }
}

/// `nfsace4`: who else may open the file.
fn skip_ace(r: &mut Reader<'_>) -> Result<(), Error> {
    r.skip(12, "OPEN.delegation.permissions")?;
    r.opaque(WHO_LEN_MAX, "OPEN.delegation.permissions").map(|_| ())
}

/// What was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResOk {
    /// For the requests about it.
    pub stateid: Stateid,
    /// [`RESULT_CONFIRM`] and others.
    pub rflags: u32,
    /// What stands in the place of a delegation.
    pub delegation: Delegation,
}

impl ResOk {
    /// Decodes what follows the status. What changed in the directory is not looked at, for nothing was made.
    pub fn decode(r: &mut Reader<'_>) -> Result<ResOk, Error> {
        let stateid = Stateid::decode(r, "OPEN.stateid")?;
        r.boolean("OPEN.cinfo.atomic")?;
        r.skip(16, "OPEN.cinfo")?;
        let rflags = r.be32("OPEN.rflags")?;
        Bitmap::decode(r, "OPEN.attrset")?;
        Ok(ResOk { stateid, rflags, delegation: Delegation::decode(r)? })
    }

    /// Whether OPEN_CONFIRM is to follow.
    pub const fn must_confirm(&self) -> bool {
        self.rflags & RESULT_CONFIRM != 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn arguments_of_4_0() {
        let open = Args::v40(7, 0x0102_0304_0506_0708, b"own", b"f");
        #[rustfmt::skip]
        assert_eq!(args(Op::OPEN, REPLY_HEAD_MAX, |ops| open.encode(ops).unwrap()), [
            0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8,
            0, 0, 0, 3, b'o', b'w', b'n', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, b'f', 0, 0, 0,
        ]);
    }

    #[test]
    fn arguments_of_4_1() {
        let open = Args::v41(b"own", Claim::Fh);
        #[rustfmt::skip]
        assert_eq!(args(Op::OPEN, REPLY_HEAD_MAX, |ops| open.encode(ops).unwrap()), [
            0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 3, b'o', b'w', b'n', 0, 0, 0, 0, 0, 0, 0, 0, 4,
        ]);
    }

    #[test]
    fn names_with_a_meaning_and_long_owners_are_refused() {
        written(|w| {
            let mut ops = Ops::begin(w, b"", 1);
            for name in [&b""[..], b".", b"..", b"a/b", b"a\0"] {
                assert!(Args::v41(b"", Claim::Null(name)).encode(&mut ops).is_err());
            }
            assert!(Args::v41(&[0; 1025], Claim::Fh).encode(&mut ops).is_err());
            assert_eq!(ops.count(), 0);
        });
    }

    /// A result with `delegation` at its end.
    fn result(delegation: &[u8]) -> Vec<u8> {
        #[rustfmt::skip]
        let mut bytes = Vec::from([
            0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, // stateid
            0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 5, // cinfo
            0, 0, 0, 6, // rflags
            0, 0, 0, 1, 0, 0, 0, 0x10, // attrset
        ]);
        bytes.extend(delegation);
        bytes
    }

    const STATEID: Stateid = Stateid { seqid: 1, other: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] };
    #[rustfmt::skip]
    const READ: [u8; 48] = [
        0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0, 0x81, 0, 0, 0, 6, b'O', b'W', b'N', b'E', b'R', b'@', 0, 0,
    ];
    #[rustfmt::skip]
    const WRITE: [u8; 52] = [
        0, 0, 0, 2, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
        0, 0, 0, 1, 0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];

    #[test]
    fn a_result_with_each_delegation() {
        for (bytes, delegation) in [
            (&[0, 0, 0, 0][..], Delegation::None),
            (&READ, Delegation::Read(STATEID)),
            (&WRITE, Delegation::Write(STATEID)),
            (&[0, 0, 0, 3, 0, 0, 0, 0], Delegation::NoneExt(0)),
            (&[0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 1], Delegation::NoneExt(1)),
            (&[0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 0], Delegation::NoneExt(2)),
            (&[0, 0, 0, 3, 0, 0, 0, 7], Delegation::NoneExt(7)),
        ] {
            let bytes = result(bytes);
            let open = strict(&bytes, ResOk::decode);
            assert_eq!(open, ResOk { stateid: STATEID, rflags: 6, delegation });
            assert!(open.must_confirm());
        }
    }

    #[test]
    fn a_delegation_of_another_kind_is_refused() {
        for (at, value, field) in [
            (48, 4, "OPEN.delegation_type"),
            (48 + 20, 2, "OPEN.delegation.recall"),
            (48 + 24, 3, "OPEN.delegation.limitby"),
            (48 + 24, 0, "OPEN.delegation.limitby"),
        ] {
            let mut bytes = result(&WRITE);
            bytes[at + 3] = value;
            assert_eq!(ResOk::decode(&mut Reader::new(&bytes)), Err(Error::Malformed(field)));
        }
        let mut who = result(&READ);
        who[48 + 38] = 2; // 518 bytes
        who.resize(1000, 0);
        assert_eq!(
            ResOk::decode(&mut Reader::new(&who)),
            Err(Error::Malformed("OPEN.delegation.permissions"))
        );
    }

    #[test]
    fn the_longest_result() {
        assert_eq!(REPLY_HEAD_MAX, 8 + result(&WRITE).len() + 8 + 256);
    }
}
