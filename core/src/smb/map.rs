//! A map of an open file: `FSCTL_QUERY_ALLOCATED_RANGES`, as often as it takes.

use super::Smb;
use super::calls::Stage;
use super::chain::{Member, Reply as Wait};
use super::create::FileId;
use super::header::{self, Command, Header};
use super::ioctl::{self, AllocatedRange};
use super::session::CREDIT_LEN;
use super::status::Status;
use crate::error::Error;
use crate::outgoing::Outbox;
use crate::protocol::{Answer, Progress};
use crate::wire::Writer;

/// What was asked last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    from: u64,
    end: u64,
    /// How many bytes of ranges may come.
    output_max: usize,
    /// Where the server said that it has more ranges than that: half of what was asked then. 0 is no limit.
    span: u64,
}

impl Asked {
    /// Up to where in the file `output` tells: what has no room for another range may be cut, and ksmbd does not say so. All
    /// ranges are judged before one is believed, since a range that goes back is data in what seemed to be a hole.
    fn known(&self, status: Status, output: &[u8]) -> Result<u64, Error> {
        if output.len() % AllocatedRange::LEN != 0 || output.len() > self.output_max {
            return Err(Error::Malformed("FILE_ALLOCATED_RANGE_BUFFER"));
        }
        let mut last = 0;
        for range in output.chunks_exact(AllocatedRange::LEN) {
            let AllocatedRange { file_offset, length } = AllocatedRange::decode(range)?;
            if length == 0 || file_offset < last {
                return Err(Error::Misbehaved("the ranges of a map are empty, overlap or go back"));
            }
            last = file_offset.saturating_add(length);
        }
        let room = self.output_max.saturating_sub(output.len());
        if status == Status::SUCCESS && room >= AllocatedRange::LEN {
            return Ok(self.end);
        }
        if last == 0 {
            return Err(Error::Misbehaved("a map is cut before its first range"));
        }
        Ok(last.min(self.end))
    }
}

impl<const KEPT: usize> Smb<'_, KEPT> {
    /// Asks about `from..end`, or about as much of it as the server has room to answer.
    pub(super) fn map(
        &mut self,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
        file_id: FileId,
        from: u64,
        end: u64,
    ) -> Result<Progress, Error> {
        let Some(left) = end.checked_sub(from).filter(|left| *left > 0) else {
            return Ok(Progress::Complete);
        };
        let span = stage.asked.span;
        let length = if span == 0 { left } else { left.min(span) };
        let output_max = self.map_len(out)?;
        let request = ioctl::Request {
            ctl_code: ioctl::QUERY_ALLOCATED_RANGES,
            file_id,
            input: &AllocatedRange { file_offset: from, length }.to_bytes(),
            max_output_response: output_max as u32,
        };
        let body = |w: &mut Writer<'_>| {
            request.encode(w);
            Ok(())
        };
        let reply_max = ioctl::REPLY_HEAD_MAX.saturating_add(output_max);
        let progress =
            self.session.send(out, &[Member::new(Command::IOCTL, reply_max, &body)], Wait::Awaited)?;
        if progress == Progress::Sent {
            stage.asked = Asked { from, end: from.saturating_add(length), output_max, span };
        }
        Ok(progress)
    }

    /// As much as `rx`, the server and a credit allow, in whole ranges.
    fn map_len(&self, out: &Outbox<'_, '_>) -> Result<usize, Error> {
        // As a member of a chain costs: padded to 8.
        let head = header::LEN.saturating_add(ioctl::REPLY_HEAD_MAX).saturating_add(8);
        let have = out.lent().reply;
        let room = have.saturating_sub(head);
        if room < AllocatedRange::LEN {
            return Err(Error::Budget { what: "rx", need: head.saturating_add(AllocatedRange::LEN), have });
        }
        let len = room.min(CREDIT_LEN as usize).min(self.session.transact_len_max as usize);
        Ok((len / AllocatedRange::LEN).max(1).saturating_mul(AllocatedRange::LEN))
    }

    pub(super) fn map_goes_on(
        &mut self,
        header: &Header,
        body: &[u8],
        stage: &mut Stage,
    ) -> Result<Answer<FileId>, Error> {
        let asked = &mut stage.asked;
        let length = asked.end.saturating_sub(asked.from);
        if header.status == Status::BUFFER_TOO_SMALL && length > 1 {
            // Samba 4.17: the ranges are more than there is room for, and so there is none.
            asked.span = length / 2;
            return Ok(Answer::Nothing);
        }
        if !header.status.has_response(header.command) {
            return Err(Error::Refused(header.status.refusal(header.command)));
        }
        // Twice as much may do the next time.
        asked.span = asked.span.saturating_mul(2);
        let response = ioctl::Response::decode(body)?;
        let known = asked.known(header.status, response.output)?;
        Ok(Answer::Ranges { start: response.output_offset, len: response.output.len(), known })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Entropy, Identity};
    use super::*;
    use crate::attributes::Attributes;
    use crate::inflight::{Landed, Slot};
    use crate::operation::{Arrival, Job, Operation};
    use crate::{File, Map};
    use std::vec::Vec;

    fn smb() -> Smb<'static> {
        Smb::new(Config::new("host", "share", Identity::Guest, Entropy::from_bytes([0; Entropy::LEN])))
    }

    /// The segments of `100..900` after a reply with `output` that tells of all.
    fn mapped(output: &[u8]) -> Result<Vec<(u64, u64, bool)>, Error> {
        let attributes = Attributes { len: 900, sparse: true, ..Attributes::default() };
        let mut map = Map::<Smb<'_>>::new(&File { handle: FileId([7; 16]), attributes }, 100);
        // What lies in front of a reply in `rx`, its head, and the ranges.
        let rx = [&[0xEE; 5][..], output].concat();
        let landed = Landed { start: 2, len: 3 + output.len(), ..Landed::default() };
        let (mut segments, protocol) = (Vec::new(), smb());
        let answer = Answer::Ranges { start: 3, len: output.len(), known: 900 };
        map.answer(Arrival { slot: Slot::FREE, landed, answer, message: &[], protocol: &protocol })?;
        while map.prepare(&protocol, &rx)? {
            let segment = map.item(&rx);
            segments.push((segment.offset, segment.end(), segment.hole));
        }
        assert!(!map.holds_replies());
        Ok(segments)
    }

    #[test]
    fn the_segments_of_a_map_are_the_ranges_of_the_reply_and_the_holes_between_them() {
        assert_eq!(mapped(&[]), Ok(Vec::from([(100, 900, true)])));
        let segments = [(100, 200, false), (200, 300, true), (300, 350, false), (350, 900, true)];
        assert_eq!(mapped(&ranges(&[(50, 150), (300, 20), (320, 30)])), Ok(Vec::from(segments)));
        assert_eq!(mapped(&ranges(&[(0, 1 << 40)])), Ok(Vec::from([(100, 900, false)])));
    }

    #[test]
    fn ranges_without_order_length_or_end_are_refused_before_one_of_them_is_believed() {
        for bad in
            [[(100, 10), (109, 1)], [(200, 10), (100, 10)], [(100, 10), (100, 10)], [(100, 10), (300, 0)]]
        {
            for status in [Status::SUCCESS, Status::BUFFER_OVERFLOW] {
                assert!(matches!(ASKED.known(status, &ranges(&bad)), Err(Error::Misbehaved(_))), "{bad:?}");
            }
        }
        for negative in [(100, u64::MAX), (1 << 63, 1)] {
            let known = ASKED.known(Status::SUCCESS, &ranges(&[negative, (200, 10)]));
            assert!(matches!(known, Err(Error::Malformed(_))), "{negative:?}");
        }
        let huge = i64::MAX as u64;
        assert_eq!(ASKED.known(Status::BUFFER_OVERFLOW, &ranges(&[(huge, huge)])), Ok(900));
    }

    #[test]
    fn where_the_ranges_have_no_room_half_as_much_is_asked_about_until_there_is_nothing_to_halve() {
        let (mut smb, mut stage) = (smb(), Stage::default());
        stage.asked = ASKED;
        let header = |status| Header { status, command: Command::IOCTL, ..Header::default() };
        let too_small = header(Status::BUFFER_TOO_SMALL);
        assert!(matches!(smb.map_goes_on(&too_small, &[], &mut stage), Ok(Answer::Nothing)));
        assert_eq!(stage.asked.span, 400);
        stage.asked.end = 101;
        assert!(matches!(smb.map_goes_on(&too_small, &[], &mut stage), Err(Error::Refused(_))));
        let mut body = [0; ioctl::REPLY_HEAD_MAX];
        body[0] = 49;
        let none = smb.map_goes_on(&header(Status::SUCCESS), &body, &mut stage);
        assert!(matches!(none, Ok(Answer::Ranges { len: 0, known: 101, .. })));
        assert_eq!(stage.asked.span, 800, "twice as much may do again");
    }

    const ASKED: Asked = Asked { from: 100, end: 900, output_max: 48, span: 0 };

    fn ranges(ranges: &[(u64, u64)]) -> Vec<u8> {
        ranges
            .iter()
            .flat_map(|&(file_offset, length)| AllocatedRange { file_offset, length }.to_bytes())
            .collect()
    }

    #[test]
    fn a_reply_with_room_left_tells_of_all_that_was_asked() {
        for few in [&[][..], &[(100, 10)], &[(100, 10), (200, 10)]] {
            assert_eq!(ASKED.known(Status::SUCCESS, &ranges(few)), Ok(900));
        }
    }

    #[test]
    fn a_reply_without_room_or_with_a_warning_tells_up_to_its_last_range() {
        let full = ranges(&[(100, 10), (200, 10), (300, 10)]);
        for status in [Status::SUCCESS, Status::BUFFER_OVERFLOW] {
            assert_eq!(ASKED.known(status, &full), Ok(310));
        }
        assert_eq!(ASKED.known(Status::BUFFER_OVERFLOW, &ranges(&[(100, 10)])), Ok(110));
        assert_eq!(ASKED.known(Status::BUFFER_OVERFLOW, &ranges(&[(800, 200)])), Ok(900));
        assert!(matches!(ASKED.known(Status::BUFFER_OVERFLOW, &[]), Err(Error::Misbehaved(_))));
    }

    #[test]
    fn ranges_that_are_cut_or_more_than_was_asked_for_are_refused() {
        let full = ranges(&[(100, 10), (200, 10), (300, 10), (400, 10)]);
        for len in 0..=full.len() {
            let known = ASKED.known(Status::SUCCESS, &full[..len]);
            assert_eq!(known.is_ok(), len % 16 == 0 && len <= 48, "{len}");
        }
    }
}
