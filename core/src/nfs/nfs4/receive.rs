//! Which COMPOUND a reply answers, and where its data goes.

use super::sent::Sent;
use crate::error::Error;
use crate::inflight::Inflight;
use crate::nfs::rpc::{Outcome, Reply, reply_head_len, whole};
use crate::nfs::v4::scan::{Scan, scan};
use crate::protocol::{Head, Left};

/// READ's data goes to the pages; every other reply is kept whole.
pub(super) fn head(head: &[u8], left: Left, inflight: &Inflight<'_>) -> Result<Head, Error> {
    let rpc_len = reply_head_len(head);
    if head.len() < rpc_len {
        return Ok(Head::Need(rpc_len));
    }
    let reply = Reply::decode(head)?;
    let slot = inflight
        .find(reply.xid.into())
        .ok_or(Error::Misbehaved("a reply to a call that is not in flight"))?;
    let asked = inflight.get(slot).unwrap_or_default();
    let reads = Sent::of(asked.kind).is_some_and(|sent| sent.what.reads());
    if !reads || reply.outcome != Outcome::Success {
        return whole(head, left, slot);
    }
    let results = head.get(reply.len..).unwrap_or(&[]);
    match scan(results)? {
        Scan::Need(len) => Ok(Head::Need(reply.len.saturating_add(len))),
        Scan::Read { head: data, .. } if data.len > asked.extent.len => {
            Err(Error::Misbehaved("READ brought more than was asked"))
        }
        // Behind the data there is nothing, and of the data nothing is here.
        Scan::Read { at, head: data, left: 0 } if at == results.len() => {
            Ok(Head::Data { slot, at: 0, gap: 0, len: data.len, pad: data.pad() as u32 })
        }
        Scan::Read { .. } | Scan::ReadPlus { .. } => {
            Err(Error::Misbehaved("a COMPOUND result is of another operation"))
        }
        Scan::NoData => whole(head, left, slot),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sent::What;
    use super::*;
    use crate::inflight::Slot;
    use crate::nfs::v4::Op;
    use crate::segment::Extent;
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
        head(bytes, left, &inflight)
    }

    #[test]
    fn data_starts_where_the_last_result_says_so() {
        let head = reply(&[0, 0, 2, Op::PUTFH.0, 0, Op::READ.0, 0, 1, 9]);
        let data = Head::Data { slot: 0, at: 0, gap: 0, len: 9, pad: 3 };
        assert_eq!(judge(&head, What::Read, ALL), Ok(data));
        assert_eq!(judge(&head, What::ReadAnonymous, ALL), Ok(data));
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
