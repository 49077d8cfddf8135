//! FSCTL_QUERY_ALLOCATED_RANGES (MS-FSCC, by this name; MS-SMB2 3.3.5.15): where a file has data.

use std::ops::Range;

use crate::connection::Connection;
use crate::wire::{Put, Reader};
use crate::{Kind, Lie, Status};

/// Bytes of a FILE_ALLOCATED_RANGE_BUFFER.
const RANGE_LEN: usize = 16;

impl Connection {
    /// The ranges within what the input asks about, as far as they have room, and whether they are all.
    pub(crate) fn query_allocated_ranges(
        &mut self,
        id: u64,
        input: &[u8],
        output_max: u32,
    ) -> Result<(Status, Vec<u8>), Status> {
        let mut input = Reader::new(input);
        let (from, len) = (input.u64()?, input.u64()?);
        let end = from.checked_add(len).filter(|end| *end <= i64::MAX as u64);
        let asked = from..end.ok_or(Status::INVALID_PARAMETER)?;
        if let Some(status) = self.refusal() {
            return Err(status);
        }
        self.told.maps += 1;
        let mut ranges = self.ranges(id, &asked)?;
        let overflows = self.distort_ranges(&mut ranges, &asked);
        let room = output_max as usize / RANGE_LEN;
        let most = self.lie(|lie| if let Lie::ShortRanges(most) = *lie { Some(most) } else { None });
        let most = most.unwrap_or(room).min(room);
        let more = ranges.len() > most;
        if more && (room == 0 || self.lies(Lie::RangesTooMany)) {
            return Err(Status::BUFFER_TOO_SMALL);
        }
        ranges.truncate(most);
        if self.lies(Lie::RangesOutOfOrder) && !ranges.is_empty() {
            ranges.rotate_left(1);
        }
        let mut output = Vec::new();
        for (offset, len) in ranges {
            output.u64(offset);
            output.u64(len);
        }
        if self.lies(Lie::RangesTorn) {
            output.u8(0);
        }
        let cut = overflows || more && !self.lies(Lie::RangesCut);
        Ok((if cut { Status::BUFFER_OVERFLOW } else { Status::SUCCESS }, output))
    }

    fn refusal(&self) -> Option<Status> {
        self.lie(|lie| match *lie {
            Lie::RangesRefused(status) => Some(status),
            Lie::TooSmallForEver => Some(Status::BUFFER_TOO_SMALL),
            _ => None,
        })
    }

    /// FileOffset and Length of the data within what is asked about.
    fn ranges(&self, id: u64, asked: &Range<u64>) -> Result<Vec<(u64, u64)>, Status> {
        let node = self.node(id)?;
        let Kind::File(content) = &node.kind else { return Err(Status::INVALID_PARAMETER) };
        let granule = self.lie(|lie| if let Lie::RangeGranule(len) = *lie { Some(len) } else { None });
        let changed = self.lie(|lie| if let Lie::RangesChange { nth } = *lie { Some(nth) } else { None });
        let granule = match changed {
            // All is one.
            Some(nth) if self.told.maps >= nth => node.len(),
            _ => granule.unwrap_or(1),
        };
        let runs = granules(content.runs(), granule, node.len());
        let clip = |run: Range<u64>| match self.lies(Lie::RangesUnclipped) {
            true => run,
            false => run.start.max(asked.start)..run.end.min(asked.end),
        };
        let meets = |run: &Range<u64>| run.start < asked.end && run.end > asked.start;
        Ok(runs.into_iter().filter(meets).map(clip).map(|run| (run.start, run.end - run.start)).collect())
    }

    /// What lies make of the ranges, and whether there are more of them whatever the client's buffer has room for.
    fn distort_ranges(&self, ranges: &mut Vec<(u64, u64)>, asked: &Range<u64>) -> bool {
        let mut overflows = false;
        for lie in &self.config.lies {
            overflows |= matches!(lie, Lie::OverflowEmpty | Lie::OverflowStays | Lie::OverflowForEver(_));
            match *lie {
                Lie::RangesOverlap => {
                    ranges.extend(ranges.last().map(|(offset, len)| (offset + len / 2, *len)))
                }
                Lie::RangeMore { offset, len } => ranges.push((offset, len)),
                Lie::OverflowEmpty => ranges.clear(),
                Lie::OverflowStays if asked.start > 0 => *ranges = vec![(0, asked.start)],
                Lie::OverflowStays => ranges.truncate(1),
                Lie::OverflowForEver(most) => {
                    ranges.truncate(1);
                    ranges.iter_mut().for_each(|(_, len)| *len = most.min(*len));
                    overflows &= !ranges.is_empty();
                }
                _ => {}
            }
        }
        overflows
    }
}

/// The granules that have data in them, those that follow each other as one.
fn granules(runs: Vec<Range<u64>>, granule: u64, end: u64) -> Vec<Range<u64>> {
    let mut whole: Vec<Range<u64>> = Vec::new();
    for run in runs {
        let run = run.start / granule * granule..run.end.next_multiple_of(granule).min(end);
        match whole.last_mut().filter(|last| last.end >= run.start) {
            Some(last) => last.end = run.end,
            None => whole.push(run),
        }
    }
    whole
}
