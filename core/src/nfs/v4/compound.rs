//! RFC 7530 14.2, 16.2, RFC 8881 16.2: COMPOUND, the procedure that all operations travel in.

use super::limits::{OPS_MAX, TAG_LEN_MAX};
use super::op::Op;
use super::status::Status;
use crate::error::Error;
use crate::wire::{Mark, Reader, Writer};

/// The RPC program of NFS.
pub const PROGRAM: u32 = 100003;
/// The version of it.
pub const VERSION: u32 = 4;
/// `NFSPROC4_COMPOUND`.
pub const PROCEDURE: u32 = 1;

/// A COMPOUND that is being written: `COMPOUND4args`. It counts the operations, and adds up the most bytes that their
/// results take.
#[derive(Debug)]
pub struct Ops<'w, 'b> {
    w: &'w mut Writer<'b>,
    numops: Mark,
    count: u32,
    reply_max: usize,
}

impl<'w, 'b> Ops<'w, 'b> {
    /// Appends what stands in front of the operations. Of `tag`, which says to those who watch the wire what it is all
    /// for, no more than [`TAG_LEN_MAX`] bytes are sent.
    pub fn begin(w: &'w mut Writer<'b>, tag: &[u8], minorversion: u32) -> Ops<'w, 'b> {
        w.opaque(tag.get(..TAG_LEN_MAX as usize).unwrap_or(tag));
        w.be32(minorversion);
        let numops = w.mark();
        w.be32(0);
        Ops { w, numops, count: 0, reply_max: REPLY_HEAD_MAX }
    }

    /// Appends the opcode of an operation whose result takes `reply_head_max` bytes at most, data apart. Its arguments
    /// are to follow.
    pub fn op(&mut self, op: Op, reply_head_max: usize) -> &mut Writer<'b> {
        self.count = self.count.saturating_add(1);
        self.reply_max = self.reply_max.saturating_add(reply_head_max);
        self.w.be32(op.0);
        self.w
    }

    /// How many operations there are so far.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// How many bytes the reply has at most, data apart, with the operations so far.
    pub const fn reply_max(&self) -> usize {
        self.reply_max
    }

    /// Writes the number of operations to where it belongs; returns [`reply_max`](Self::reply_max).
    pub fn end(self) -> usize {
        self.w.patch(self.numops, &self.count.to_be_bytes());
        self.reply_max
    }
}

/// The most bytes of a reply in front of the results.
pub const REPLY_HEAD_MAX: usize = 4 + 4 + TAG_LEN_MAX as usize + 4;

/// The most bytes of a result that has nothing but its opcode and its status, as every refused one.
pub const RESULT_HEAD_MAX: usize = 8;

/// The results of a COMPOUND: `COMPOUND4res`. The first that is refused is the last; so there may be fewer than were
/// asked for.
#[derive(Clone, Debug)]
pub struct Results<'a> {
    r: Reader<'a>,
    status: Status,
    left: u32,
    refused: bool,
}

impl<'a> Results<'a> {
    /// Decodes what stands in front of the results. `Misbehaved` if there are more of them than the `asked`
    /// operations, or fewer although all is well.
    pub fn decode(bytes: &'a [u8], asked: u32) -> Result<Results<'a>, Error> {
        let (r, status, left) = head(bytes)?;
        if left > asked {
            return Err(Error::Misbehaved("COMPOUND has more results than operations"));
        }
        if status.is_ok() && left < asked {
            return Err(Error::Misbehaved("COMPOUND has fewer results than operations"));
        }
        Ok(Results { r, status, left, refused: false })
    }

    /// Goes on behind the file data of a READ, with what [`status`](Self::status) and [`left`](Self::left) were in
    /// front of it. `bytes` starts after the data's padding.
    pub const fn resume(bytes: &'a [u8], status: Status, left: u32) -> Results<'a> {
        Results { r: Reader::new(bytes), status, left, refused: false }
    }

    /// The status of the whole: that of the last result, or why there are no results at all.
    pub const fn status(&self) -> Status {
        self.status
    }

    /// How many results are still to be read.
    pub const fn left(&self) -> u32 {
        self.left
    }

    /// Reads opcode and status of the next result, which is to be that of `op`. What follows `NFS4_OK` is to be decoded
    /// from [`reader`](Self::reader) before the next call.
    ///
    /// Where there is no further result, this is the status of the whole. `Misbehaved` if the result is that of another
    /// operation, if something follows a refused one, or if the last status is not that of the whole.
    pub fn next(&mut self, op: Op) -> Result<Status, Error> {
        let Some(left) = self.left.checked_sub(1) else {
            return match self.status.is_ok() || self.refused {
                true => Err(Error::Misbehaved("COMPOUND has fewer results than operations")),
                false => Ok(self.status),
            };
        };
        let (resop, status) = (Op(self.r.be32("COMPOUND.resop")?), Status(self.r.be32("COMPOUND.status")?));
        // What a server answers to an operation that it has never heard of.
        let illegal = resop == Op::ILLEGAL && status == Status::OP_ILLEGAL;
        if resop != op && !illegal {
            return Err(Error::Misbehaved("a COMPOUND result is of another operation"));
        }
        let last = left == 0;
        if (!status.is_ok() && !last) || (last && status != self.status) {
            return Err(Error::Misbehaved("the status of a COMPOUND is not that of its last result"));
        }
        self.left = left;
        self.refused = !status.is_ok();
        Ok(status)
    }

    /// As [`next`](Self::next), where every status but `NFS4_OK` is an error: `Refused` by `op`. Returns
    /// [`reader`](Self::reader).
    pub fn take(&mut self, op: Op) -> Result<&mut Reader<'a>, Error> {
        match self.next(op)? {
            Status::OK => Ok(&mut self.r),
            status => Err(Error::Refused(status.refusal(op.name()))),
        }
    }

    /// Where what follows `NFS4_OK` in the result is read.
    pub const fn reader(&mut self) -> &mut Reader<'a> {
        &mut self.r
    }

    /// How many bytes were read. Not from the start of the reply if this was [`resume`](Self::resume)d.
    pub const fn at(&self) -> usize {
        self.r.at()
    }

    /// Checks that nothing is left. `Misbehaved` if a result is, `Malformed` if bytes are.
    pub fn end(&self) -> Result<(), Error> {
        match (self.left, self.r.rest()) {
            (0, []) => Ok(()),
            (0, _) => Err(Error::Malformed("COMPOUND is longer than its results")),
            _ => Err(Error::Misbehaved("COMPOUND has results that nobody reads")),
        }
    }
}

/// Reads what stands in front of the results: the status of the whole, and how many there are.
pub(super) fn head(bytes: &[u8]) -> Result<(Reader<'_>, Status, u32), Error> {
    let mut r = Reader::new(bytes);
    let status = Status(r.be32("COMPOUND.status")?);
    r.opaque(TAG_LEN_MAX, "COMPOUND.tag")?;
    let count = r.be32("COMPOUND.resarray")?;
    if count > OPS_MAX {
        return Err(Error::Malformed("COMPOUND.resarray"));
    }
    Ok((r, status, count))
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::error::Reason;
    use std::vec::Vec;

    #[test]
    fn a_compound_counts_its_operations_and_their_results() {
        let bytes = written(|w| {
            let mut ops = Ops::begin(w, b"list", 2);
            ops.op(Op::PUTROOTFH, 8);
            ops.op(Op::ACCESS, 16).be32(7);
            assert_eq!((ops.count(), ops.reply_max()), (2, REPLY_HEAD_MAX + 24));
            assert_eq!(ops.end(), REPLY_HEAD_MAX + 24);
        });
        #[rustfmt::skip]
        assert_eq!(bytes, [
            0, 0, 0, 4, b'l', b'i', b's', b't', 0, 0, 0, 2, 0, 0, 0, 2,
            0, 0, 0, 24, 0, 0, 0, 3, 0, 0, 0, 7,
        ]);
    }

    #[test]
    fn a_long_tag_is_cut_and_no_memory_is_no_panic() {
        let bytes = written(|w| {
            Ops::begin(w, &[b'x'; 99], 0).end();
        });
        assert_eq!(bytes.len(), 4 + 16 + 8);
        let mut buf = [0; 9];
        let mut w = Writer::new(&mut buf);
        let mut ops = Ops::begin(&mut w, b"", 0);
        ops.op(Op::PUTROOTFH, 8);
        ops.end();
        assert_eq!(w.finish(), Err(Error::Budget { what: "tx", need: 16, have: 9 }));
    }

    /// PUTROOTFH well, LOOKUP refused; a tag comes back.
    #[rustfmt::skip]
    const REFUSED: [u8; 32] = [
        0, 0, 0, 2, 0, 0, 0, 1, b't', 0, 0, 0, 0, 0, 0, 2,
        0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0, 15, 0, 0, 0, 2,
    ];

    fn walk(bytes: &[u8], asked: u32, ops: &[Op]) -> Result<(), Error> {
        let mut results = Results::decode(bytes, asked)?;
        for op in ops {
            results.take(*op)?;
        }
        results.end()
    }

    #[test]
    fn the_first_refusal_is_the_last_result() {
        let mut results = Results::decode(&REFUSED, 5).unwrap();
        assert_eq!((results.status(), results.left()), (Status::NOENT, 2));
        assert_eq!(results.next(Op::PUTROOTFH), Ok(Status::OK));
        let Err(Error::Refused(refusal)) = results.take(Op::LOOKUP) else { panic!() };
        assert_eq!((refusal.reason, refusal.during), (Reason::NotFound, "LOOKUP"));
        assert_eq!(results.end(), Ok(()));
        assert!(matches!(results.next(Op::GETATTR), Err(Error::Misbehaved(_))));
        for len in 0..REFUSED.len() {
            let walked = walk(&REFUSED[..len], 2, &[Op::PUTROOTFH, Op::LOOKUP]);
            assert!(matches!(walked, Err(Error::Malformed(_))), "{len} {walked:?}");
        }
    }

    #[test]
    fn a_refusal_may_have_no_results_at_all() {
        let mismatch = [0, 0, 0x27, 0x25, 0, 0, 0, 0, 0, 0, 0, 0];
        let mut results = Results::decode(&mismatch, 3).unwrap();
        assert_eq!(results.next(Op::SEQUENCE), Ok(Status::MINOR_VERS_MISMATCH));
        let Err(Error::Refused(refusal)) = results.take(Op::SEQUENCE) else { panic!() };
        assert_eq!((refusal.reason, refusal.during), (Reason::Unsupported, "SEQUENCE"));
    }

    #[test]
    fn an_unknown_operation_is_answered_as_illegal() {
        #[rustfmt::skip]
        let illegal = [
            0, 0, 0x27, 0x3C, 0, 0, 0, 0, 0, 0, 0, 1,
            0, 0, 0x27, 0x3C, 0, 0, 0x27, 0x3C,
        ];
        let Err(Error::Refused(refusal)) = walk(&illegal, 1, &[Op::SEEK]) else { panic!() };
        assert_eq!((refusal.name, refusal.during), ("NFS4ERR_OP_ILLEGAL", "SEEK"));
        // The opcode of the operation itself is as good; another status with ILLEGAL is not.
        let mut other = illegal;
        other[14..16].copy_from_slice(&[0, 69]);
        assert!(matches!(walk(&other, 1, &[Op::SEEK]), Err(Error::Refused(_))));
        let mut other = illegal;
        (other[3], other[19]) = (5, 5);
        assert!(matches!(walk(&other, 1, &[Op::SEEK]), Err(Error::Misbehaved(_))));
    }

    #[test]
    fn results_that_do_not_answer_the_operations_are_refused() {
        let with = |at: usize, byte: u8| {
            let mut bytes = REFUSED;
            bytes[at] = byte;
            walk(&bytes, 2, &[Op::PUTROOTFH, Op::LOOKUP, Op::LOOKUP])
        };
        for (at, byte) in [
            (3, 13),  // another status of the whole
            (3, 0),   // all is well, and it is not
            (15, 3),  // more results than operations
            (19, 25), // another operation
            (23, 2),  // refused, and not the last
            (31, 0),  // well, and the whole is not
        ] {
            assert!(matches!(with(at, byte), Err(Error::Misbehaved(_))), "{at} {byte} {:?}", with(at, byte));
        }
        assert_eq!(with(14, 1), Err(Error::Malformed("COMPOUND.resarray"))); // 258 results
        assert_eq!(with(7, 17), Err(Error::Malformed("COMPOUND.tag")));
        let well = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 24, 0, 0, 0, 0];
        assert_eq!(walk(&well, 1, &[Op::PUTROOTFH]), Ok(()));
        assert!(matches!(walk(&well, 2, &[Op::PUTROOTFH]), Err(Error::Misbehaved(_))));
        assert!(matches!(walk(&well, 1, &[]), Err(Error::Misbehaved(_))));
        let longer: Vec<u8> = well.iter().copied().chain([0; 4]).collect();
        assert!(matches!(walk(&longer, 1, &[Op::PUTROOTFH]), Err(Error::Malformed(_))));
    }

    #[test]
    fn it_goes_on_behind_file_data() {
        let close = [0, 0, 0, 4, 0, 0, 0, 0];
        let mut results = Results::resume(&close, Status::OK, 1);
        assert_eq!(results.next(Op::CLOSE), Ok(Status::OK));
        assert_eq!(results.end(), Ok(()));
        assert!(Results::resume(&close, Status::IO, 1).next(Op::CLOSE).is_err());
    }
}
