//! RFC 7862 15.10: READ_PLUS (4.2).
//!
//! What comes back is any number of segments: data or holes, which may start before what was asked for and end behind
//! it. A [`SegmentHead`] is decoded when it has come, the data after it goes straight to the pages, its padding
//! nowhere, and so on; nothing is counted in memory.

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::op::Op;
use super::stateid::Stateid;
use crate::error::Error;
use crate::nfs::xdr::pad;
use crate::segment::{Extent, Segment};
use crate::wire::Reader;

/// Reads the current file, holes as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args {
    /// The open, or one that stands for none.
    pub stateid: Stateid,
    /// Where to start.
    pub offset: u64,
    /// How many bytes at most.
    pub count: u32,
}

impl Args {
    /// Appends the operation. Neither the segments nor their heads are in its budget.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) {
        let w = ops.op(Op::READ_PLUS, REPLY_HEAD_MAX);
        self.stateid.encode(w);
        w.be64(self.offset);
        w.be32(self.count);
    }
}

/// Bytes of a [`Head`].
pub const HEAD_LEN: usize = 8;

/// The most bytes of a result, besides the segments.
pub const REPLY_HEAD_MAX: usize = RESULT_HEAD_MAX + HEAD_LEN;

/// The most bytes of a [`SegmentHead`].
pub const SEGMENT_HEAD_LEN_MAX: usize = HOLE_HEAD_LEN;
/// Content, offset, length of the data.
const DATA_HEAD_LEN: usize = 16;
/// Content, offset, length.
const HOLE_HEAD_LEN: usize = 20;

/// What stands in front of the segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The last segment reaches the end of the file. Only of use if all segments are used up.
    pub eof: bool,
    /// How many segments follow: each takes [`SegmentHead::head_len_min`] bytes at least, so the message bounds them.
    pub segments: u32,
}

impl Head {
    /// Decodes the [`HEAD_LEN`] bytes that follow the status. Segments are not looked at and need not be there.
    pub fn decode(r: &mut Reader<'_>) -> Result<Head, Error> {
        Ok(Head { eof: r.boolean("READ_PLUS.eof")?, segments: r.be32("READ_PLUS.contents")? })
    }
}

/// The beginning of a segment, as much of it as has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentHead {
    /// It is not all there. It takes so many bytes in all, as far as can be told.
    Need(usize),
    /// Data follows its head of 16 bytes, and padding the data.
    Data {
        /// The first byte in the file.
        offset: u64,
        /// How many bytes.
        len: u32,
    },
    /// A hole is nothing but its head of 20 bytes.
    Hole {
        /// The first byte in the file.
        offset: u64,
        /// How many bytes.
        len: u64,
    },
}

impl SegmentHead {
    /// The fewest bytes of a segment.
    pub const fn head_len_min() -> usize {
        DATA_HEAD_LEN
    }

    /// Decodes what stands at the start of `bytes`; more may follow. `Malformed` if it is neither data nor hole, for
    /// then nobody can tell where the next one starts. An empty segment, or one outside of what was asked for, is legal
    /// here; that it brings nothing is for [`Cover`](crate::segment::Cover) to say.
    pub fn decode(bytes: &[u8]) -> Result<SegmentHead, Error> {
        let mut r = Reader::new(bytes);
        if bytes.len() < 4 {
            return Ok(SegmentHead::Need(DATA_HEAD_LEN));
        }
        let (content, len) = match r.be32("READ_PLUS.content")? {
            0 => (0, DATA_HEAD_LEN),
            1 => (1, HOLE_HEAD_LEN),
            _ => return Err(Error::Malformed("READ_PLUS.content")),
        };
        if bytes.len() < len {
            return Ok(SegmentHead::Need(len));
        }
        let offset = r.be64("READ_PLUS.offset")?;
        Ok(match content {
            0 => SegmentHead::Data { offset, len: r.be32("READ_PLUS.data")? },
            _ => SegmentHead::Hole { offset, len: r.be64("READ_PLUS.length")? },
        })
    }

    /// How many bytes the head takes.
    pub const fn head_len(&self) -> usize {
        match self {
            SegmentHead::Need(len) => *len,
            SegmentHead::Data { .. } => DATA_HEAD_LEN,
            SegmentHead::Hole { .. } => HOLE_HEAD_LEN,
        }
    }

    /// What of it was asked for. `None` of a head that is not all there. Holes are clipped in 64 bits: one may be longer
    /// than any [`Extent`].
    pub const fn clip(&self, asked: Extent) -> Option<Segment> {
        match *self {
            SegmentHead::Need(_) => None,
            SegmentHead::Data { offset, len } => Some(Segment::Data(clip(offset, len as u64, asked))),
            SegmentHead::Hole { offset, len } => Some(Segment::Hole(clip(offset, len, asked))),
        }
    }

    /// How the data that follows is used: so many bytes go nowhere, so many into the pages, so many and the padding
    /// nowhere. All zero of a hole.
    pub const fn cut(&self, asked: Extent) -> Cut {
        let SegmentHead::Data { offset, len } = *self else {
            return Cut { skip: 0, take: 0, rest: 0 };
        };
        let wanted = clip(offset, len as u64, asked);
        // What is wanted lies inside the data, whose length is a u32.
        let skip = if wanted.len == 0 { len } else { wanted.offset.saturating_sub(offset) as u32 };
        let behind = len.saturating_sub(skip).saturating_sub(wanted.len);
        Cut { skip, take: wanted.len, rest: (behind as u64).saturating_add(pad(len as usize) as u64) }
    }
}

/// What becomes of the data of a segment, from its first byte to its padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Bytes in front of what was asked for.
    pub skip: u32,
    /// Bytes that were asked for.
    pub take: u32,
    /// Bytes behind it, the padding included.
    pub rest: u64,
}

const fn clip(offset: u64, len: u64, asked: Extent) -> Extent {
    let end = offset.saturating_add(len);
    let start = if offset > asked.offset { offset } else { asked.offset };
    let end = if end < asked.end() { end } else { asked.end() };
    // It is not longer than what was asked, whose length is a u32.
    Extent { offset: start, len: end.saturating_sub(start) as u32 }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::segment::Cover;
    use std::vec::Vec;

    #[test]
    fn arguments() {
        let read = Args { stateid: Stateid::CURRENT, offset: 0x0102_0304_0506_0708, count: 0x0010_0000 };
        #[rustfmt::skip]
        assert_eq!(args(Op::READ_PLUS, REPLY_HEAD_MAX, |ops| read.encode(ops)), [
            0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            1, 2, 3, 4, 5, 6, 7, 8, 0, 0x10, 0, 0,
        ]);
    }

    #[test]
    fn a_head_without_its_segments() {
        let head = strict(&[0, 0, 0, 1, 0, 0, 0, 3], Head::decode);
        assert_eq!(head, Head { eof: true, segments: 3 });
        assert_eq!(
            Head::decode(&mut Reader::new(&[0, 0, 1, 0, 0, 0, 0, 0])),
            Err(Error::Malformed("READ_PLUS.eof"))
        );
    }

    const DATA: [u8; 16] = [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 5];
    const HOLE: [u8; 20] = [0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 1, 0, 0, 0, 0];

    #[test]
    fn a_segment_comes_piece_by_piece() {
        let (data, hole) = (
            SegmentHead::Data { offset: 0x0102_0304_0506_0708, len: 5 },
            SegmentHead::Hole { offset: 0x0102_0304_0506_0708, len: 1 << 32 },
        );
        for (bytes, head) in [(&DATA[..], data), (&HOLE, hole)] {
            assert_eq!(SegmentHead::decode(bytes), Ok(head));
            assert_eq!(head.head_len(), bytes.len());
            let more: Vec<u8> = bytes.iter().copied().chain([0xEE; 9]).collect();
            assert_eq!(SegmentHead::decode(&more), Ok(head));
            for len in 0..bytes.len() {
                let need = if len < 4 { SegmentHead::head_len_min() } else { bytes.len() };
                assert_eq!(SegmentHead::decode(&bytes[..len]), Ok(SegmentHead::Need(need)));
                assert!(need > len && need <= SEGMENT_HEAD_LEN_MAX);
            }
        }
    }

    #[test]
    fn what_is_neither_data_nor_hole_is_refused() {
        for content in [2, 3, 0x0100_0000, u32::MAX] {
            let mut bytes = DATA;
            bytes[..4].copy_from_slice(&content.to_be_bytes());
            assert_eq!(SegmentHead::decode(&bytes), Err(Error::Malformed("READ_PLUS.content")));
            assert_eq!(SegmentHead::decode(&bytes[..4]), Err(Error::Malformed("READ_PLUS.content")));
        }
    }

    #[test]
    fn clipping_is_the_set_intersection_for_every_small_segment() {
        let bytes = |offset: u64, len: u64| (offset..offset + len).collect::<Vec<_>>();
        for (offset, len, asked_offset, asked_len) in
            (0..6 * 6 * 6 * 6).map(|n: u64| (n / 216, n / 36 % 6, n / 6 % 6, (n % 6) as u32))
        {
            let asked = Extent { offset: asked_offset, len: asked_len };
            let both: Vec<u64> = bytes(offset, len)
                .into_iter()
                .filter(|at| (asked_offset..asked.end()).contains(at))
                .collect();
            let (data, hole) =
                (SegmentHead::Data { offset, len: len as u32 }, SegmentHead::Hole { offset, len });
            for segment in [data.clip(asked).unwrap(), hole.clip(asked).unwrap()] {
                let extent = segment.extent();
                assert_eq!(bytes(extent.offset, extent.len.into()), both);
            }
            let cut = data.cut(asked);
            let all: Vec<u64> = bytes(offset, len);
            let taken = &all[cut.skip as usize..][..cut.take as usize];
            assert_eq!(taken, both);
            let rest = all.len() - cut.skip as usize - cut.take as usize;
            assert_eq!(cut.rest, (rest + (len as usize).wrapping_neg() % 4) as u64);
        }
        assert_eq!(SegmentHead::Need(16).clip(Extent { offset: 0, len: 9 }), None);
    }

    #[test]
    fn numbers_at_the_end_of_their_range_do_not_wrap() {
        let asked = Extent { offset: 1 << 40, len: u32::MAX };
        let all = SegmentHead::Hole { offset: 0, len: u64::MAX };
        assert_eq!(all.clip(asked), Some(Segment::Hole(asked)));
        let beyond = SegmentHead::Hole { offset: u64::MAX, len: u64::MAX };
        assert_eq!(beyond.clip(asked).unwrap().extent().len, 0);
        let data = SegmentHead::Data { offset: u64::MAX - 1, len: u32::MAX };
        assert_eq!(data.clip(asked).unwrap().extent().len, 0);
        assert_eq!(data.cut(asked), Cut { skip: u32::MAX, take: 0, rest: 1 });
        let data = SegmentHead::Data { offset: (1 << 40) - 1, len: u32::MAX };
        assert_eq!(data.cut(asked), Cut { skip: 1, take: u32::MAX - 1, rest: 1 });
    }

    #[test]
    fn a_segment_of_no_length_at_zero_brings_nothing() {
        // Ganesha 4.3, whatever is asked for.
        let head = SegmentHead::decode(&[0; 16]).unwrap();
        let asked = Extent { offset: 0, len: 65536 };
        assert_eq!(head, SegmentHead::Data { offset: 0, len: 0 });
        assert_eq!(Cover::new(asked).add(head.clip(asked).unwrap()), None);
    }
}
