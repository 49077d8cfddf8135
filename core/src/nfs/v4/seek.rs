//! RFC 7862 15.11: SEEK (4.2).

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::op::Op;
use super::stateid::Stateid;
use crate::error::Error;
use crate::wire::Reader;

/// `data_content4`: what is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// `NFS4_CONTENT_DATA`.
    Data = 0,
    /// `NFS4_CONTENT_HOLE`. Every file has one at its end.
    Hole = 1,
}

/// Looks for the next data or hole of the current file. An offset at or behind the end of the file is refused with
/// `NFS4ERR_NXIO`; so is, by some servers, a search for data from the last hole.
///
/// A hole that is found where data was just found is no progress, and the caller's to refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args {
    /// What OPEN returned, and nothing that stands for it: to [`Stateid::CURRENT`] nfsd 6.12 says BAD_STATEID, and to
    /// [`Stateid::BYPASS`] Ganesha 4.3 that both data and hole are at 0, wherever the search starts.
    pub stateid: Stateid,
    /// Where to start.
    pub offset: u64,
    /// What to look for.
    pub what: What,
}

impl Args {
    /// Appends the operation.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) {
        let w = ops.op(Op::SEEK, REPLY_HEAD_MAX);
        self.stateid.encode(w);
        w.be64(self.offset);
        w.be32(self.what as u32);
    }
}

/// The most bytes of a result.
pub const REPLY_HEAD_MAX: usize = RESULT_HEAD_MAX + 12;

/// Where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResOk {
    /// The file ends there, or nothing was found.
    pub eof: bool,
    /// Where it starts. Of no meaning if nothing was found.
    pub offset: u64,
}

impl ResOk {
    /// Decodes what follows the status.
    pub fn decode(r: &mut Reader<'_>) -> Result<ResOk, Error> {
        Ok(ResOk { eof: r.boolean("SEEK.eof")?, offset: r.be64("SEEK.offset")? })
    }

    /// What it means to the search from `asked`: where the data or hole starts, or `None` if there is nothing of it up
    /// to the end of the file. `Misbehaved` if it goes back, for then a map would never end.
    pub const fn found(&self, what: What, asked: u64) -> Result<Option<u64>, Error> {
        match what {
            // The offset is then the one that was asked (Ganesha), and it is in a hole.
            What::Data if self.eof => Ok(None),
            _ if self.offset < asked => Err(Error::Misbehaved("SEEK goes back")),
            _ => Ok(Some(self.offset)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn arguments() {
        let seek = Args { stateid: Stateid::ANONYMOUS, offset: 0x0102_0304_0506_0708, what: What::Hole };
        #[rustfmt::skip]
        assert_eq!(args(Op::SEEK, REPLY_HEAD_MAX, |ops| seek.encode(ops)), [
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 1,
        ]);
        let seek = Args { what: What::Data, ..seek };
        assert_eq!(args(Op::SEEK, REPLY_HEAD_MAX, |ops| seek.encode(ops))[24..], [0; 4]);
    }

    #[test]
    fn a_result() {
        let result = strict(&[0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2], ResOk::decode);
        assert_eq!(result, ResOk { eof: true, offset: 0x1_0000_0002 });
        assert!(ResOk::decode(&mut Reader::new(&[0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0])).is_err());
    }

    #[test]
    fn data_at_the_end_of_the_file_is_none_and_a_hole_is_there_always() {
        let at = |eof, offset| ResOk { eof, offset };
        assert_eq!(at(true, 7).found(What::Data, 7), Ok(None));
        assert_eq!(at(true, 0).found(What::Data, 7), Ok(None));
        assert_eq!(at(false, 7).found(What::Data, 7), Ok(Some(7)));
        assert_eq!(at(true, 9).found(What::Hole, 7), Ok(Some(9)));
        for what in [What::Data, What::Hole] {
            assert!(matches!(at(false, 6).found(what, 7), Err(Error::Misbehaved(_))));
        }
        assert!(at(true, 6).found(What::Hole, 7).is_err());
    }
}
