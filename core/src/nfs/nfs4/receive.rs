//! Which COMPOUND a reply answers, and where its data goes.

use super::sent::{Sent, What};
use crate::error::Error;
use crate::inflight::{Inflight, Slot};
use crate::nfs::rpc::{Outcome, Reply, reply_head_len, whole};
use crate::nfs::v4::read_plus::SegmentHead;
use crate::nfs::v4::scan::{Scan, scan};
use crate::protocol::{Head, Left};
use crate::segment::{Cover, Extent, Segment};

/// The segments of a READ_PLUS, of which some are still to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coming {
    slot: usize,
    left: u32,
    cover: Cover,
}

impl Coming {
    /// As many bytes as every segment has.
    pub fn head_len(&self, left: Left) -> usize {
        let least = SegmentHead::head_len_min();
        // So that what follows the last segment is seen, too.
        if left.last && self.left == 0 { least.min(left.len as usize) } else { least }
    }

    /// The reply has ended.
    pub fn end(self) -> Result<(), Error> {
        if self.left == 0 { Ok(()) } else { Err(Error::Malformed("READ_PLUS.contents")) }
    }

    /// The head of the next segment. Only what continues the segments before it is used.
    fn segment(&mut self, head: &[u8]) -> Result<Head, Error> {
        let next = SegmentHead::decode(head)?;
        let rest = self.cover.rest();
        let Some(clipped) = next.clip(rest) else { return Ok(Head::Need(next.head_len())) };
        self.left = self.left.checked_sub(1).ok_or(Error::Malformed("READ_PLUS.contents"))?;
        let nothing = Segment::Data(Extent { len: 0, ..rest });
        let segment = self.cover.add(clipped).unwrap_or(nothing);
        let cut = next.cut(segment.extent());
        let pad = u32::try_from(cut.rest).map_err(|_| Error::Malformed("READ_PLUS.data"))?;
        Ok(Head::Segment { slot: self.slot, segment, gap: cut.skip, pad })
    }
}

/// READ's and READ_PLUS's data goes to the pages; every other reply is kept whole.
pub(super) fn head(
    head: &[u8],
    left: Left,
    inflight: &Inflight<'_>,
    coming: &mut Option<Coming>,
) -> Result<Head, Error> {
    if let Some(coming) = coming {
        return coming.segment(head);
    }
    let rpc_len = reply_head_len(head);
    if head.len() < rpc_len {
        return Ok(Head::Need(rpc_len));
    }
    let reply = Reply::decode(head)?;
    let slot = inflight
        .find(reply.xid.into())
        .ok_or(Error::Misbehaved("a reply to a call that is not in flight"))?;
    let asked = inflight.get(slot).unwrap_or(&Slot::FREE);
    let reads = Sent::of(asked.kind).map(|sent| sent.what).filter(|what| what.brings_data());
    if reads.is_none() || reply.outcome != Outcome::Success {
        return whole(head, left, slot);
    }
    let results = head.get(reply.len..).unwrap_or(&[]);
    match (scan(results)?, reads) {
        (Scan::Need(len), _) => Ok(Head::Need(reply.len.saturating_add(len))),
        (Scan::Read { head: data, .. }, _) if data.len > asked.extent.len => {
            Err(Error::Misbehaved("READ brought more than was asked"))
        }
        // Behind the data there is nothing, and of the data nothing is here.
        (Scan::Read { at, head: data, left: 0 }, Some(What::Read | What::OpenRead))
            if at == results.len() =>
        {
            Ok(Head::Data { slot, gap: 0, len: data.len, pad: data.pad() as u32 })
        }
        (Scan::ReadPlus { at, head: data, left: 0 }, Some(What::ReadPlus)) if at == results.len() => {
            *coming = Some(Coming { slot, left: data.segments, cover: Cover::new(asked.extent) });
            Ok(Head::Message { slot: Some(slot), pad: 0 })
        }
        (Scan::Read { .. } | Scan::ReadPlus { .. }, _) => {
            Err(Error::Misbehaved("a COMPOUND result is of another operation"))
        }
        (Scan::NoData, _) => whole(head, left, slot),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nfs::v4::Op;
    use std::vec::Vec;

    const ALL: Left = Left { len: 100, last: true };

    /// A reply to call 5 that ends where `words` do.
    fn reply(words: &[u32]) -> Vec<u8> {
        [5, 1, 0, 0, 0, 0].iter().chain(words).flat_map(|word| word.to_be_bytes()).collect()
    }

    fn judge(bytes: &[u8], what: What, left: Left) -> Result<Head, Error> {
        let mut slots = [Slot::FREE; 2];
        let mut inflight = Inflight::new(&mut slots);
        let extent = Extent { offset: 0, len: 9 };
        inflight.insert(Slot::awaiting(5, Sent::new(what, false, 0).kind(), 0, extent));
        head(bytes, left, &inflight, &mut None)
    }

    #[test]
    fn data_starts_where_the_last_result_says_so() {
        let head = reply(&[0, 0, 2, Op::PUTFH.0, 0, Op::READ.0, 0, 1, 9]);
        let data = Head::Data { slot: 0, gap: 0, len: 9, pad: 3 };
        assert_eq!(judge(&head, What::Read, ALL), Ok(data));
        for len in 24..head.len() {
            let judged = judge(&head[..len], What::Read, ALL);
            assert!(matches!(judged, Ok(Head::Need(need)) if need > len && need <= head.len()), "{judged:?}");
        }
    }

    #[test]
    fn data_that_was_not_asked_for_or_stands_elsewhere_is_refused() {
        for words in [
            &[0, 0, 2, Op::PUTFH.0, 0, Op::READ.0, 0, 1, 10][..], // more than was asked
            &[0, 0, 3, Op::PUTFH.0, 0, Op::READ.0, 0, 1, 9],      // something behind it
            &[0, 0, 1, Op::READ.0, 0, 1, 9, 7, 7],                // some of it came with the head
            &[0, 0, 1, Op::READ_PLUS.0, 0, 1, 1],
        ] {
            let judged = judge(&reply(words), What::Read, ALL);
            assert!(matches!(judged, Err(Error::Misbehaved(_))), "{words:?} {judged:?}");
        }
        let other = reply(&[0, 0, 2, Op::PUTFH.0, 0, Op::READ.0, 0, 1, 9]);
        assert_eq!(judge(&other, What::Stat, ALL), Ok(Head::Need(other.len() + 100)));
    }

    #[test]
    fn a_refusal_and_what_brings_no_data_are_kept_whole() {
        let refused = reply(&[13, 0, 2, Op::PUTFH.0, 0, Op::READ.0, 13]);
        let end = Left { len: 0, last: true };
        assert_eq!(judge(&refused, What::Read, end), Ok(Head::Message { slot: Some(0), pad: 0 }));
        let cut = Left { len: 0, last: false };
        assert_eq!(judge(&refused, What::Read, cut), Ok(Head::Need(refused.len() + 1)));
        let garbage = [5, 1, 0, 0, 0, 4].iter().flat_map(|word: &u32| word.to_be_bytes()).collect::<Vec<_>>();
        assert_eq!(judge(&garbage, What::Read, end), Ok(Head::Message { slot: Some(0), pad: 0 }));
    }

    #[test]
    fn a_reply_to_nothing_is_refused() {
        let mut stranger = reply(&[0, 0, 0]);
        stranger[3] = 6;
        assert!(matches!(judge(&stranger, What::Read, ALL), Err(Error::Misbehaved(_))));
    }
}
