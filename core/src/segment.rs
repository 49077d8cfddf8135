//! What a reply brings: extents of a file that are data or a hole, held against what was asked.

use crate::digest::Digest;
use crate::error::Error;

/// A run of bytes in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Extent {
    /// The first byte, from the start of the file.
    pub offset: u64,
    /// How many bytes. 0 is an empty extent, which overlaps nothing.
    pub len: u32,
}

impl Extent {
    /// The byte after the last one.
    pub const fn end(&self) -> u64 {
        self.offset.saturating_add(self.len as u64)
    }

    /// What is left after the first `len` bytes.
    #[must_use]
    pub const fn after(&self, len: u32) -> Extent {
        let skipped = if len < self.len { len } else { self.len };
        Extent { offset: self.offset.saturating_add(skipped as u64), len: self.len.saturating_sub(skipped) }
    }

    /// What both have in common, empty where they do not meet.
    #[must_use]
    pub const fn clip(&self, other: Extent) -> Extent {
        let start = if self.offset > other.offset { self.offset } else { other.offset };
        let end = if self.end() < other.end() { self.end() } else { other.end() };
        // Both lengths are u32, so what they share is one too.
        Extent { offset: start, len: end.saturating_sub(start) as u32 }
    }
}

/// A part of a reply.
// Its tag is a word, and not 64 bits as the compiler would have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u32)]
pub enum Segment {
    /// Bytes that came over the wire.
    Data(Extent),
    /// Bytes that did not, and are zero.
    Hole(Extent),
}

impl Segment {
    /// Where it lies.
    pub const fn extent(&self) -> Extent {
        match self {
            Segment::Data(extent) | Segment::Hole(extent) => *extent,
        }
    }

    /// The part of it that was asked for.
    #[must_use]
    pub const fn clip(self, asked: Extent) -> Segment {
        match self {
            Segment::Data(extent) => Segment::Data(extent.clip(asked)),
            Segment::Hole(extent) => Segment::Hole(extent.clip(asked)),
        }
    }
}

/// How far an extent is covered, from its start and without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cover {
    asked: Extent,
    covered: u32,
}

impl Cover {
    /// Nothing of `asked` is covered yet.
    pub const fn new(asked: Extent) -> Self {
        Cover { asked, covered: 0 }
    }

    /// Adds a segment and returns the part of it that is new. `None` if it leaves a gap or brings nothing new:
    /// then the reply makes no progress and the caller must not go on with it.
    pub fn add(&mut self, segment: Segment) -> Option<Segment> {
        let rest = self.asked.after(self.covered);
        let new = segment.clip(rest);
        if new.extent().len == 0 || new.extent().offset != rest.offset {
            return None;
        }
        self.covered = self.covered.saturating_add(new.extent().len);
        Some(new)
    }

    /// What is not covered yet. Empty when all is.
    pub const fn rest(&self) -> Extent {
        self.asked.after(self.covered)
    }
}

/// A part of a file that is all data or all hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct MapSegment {
    /// The first byte, from the start of the file.
    pub offset: u64,
    /// How many bytes, never 0.
    pub len: u64,
    /// It is a hole: all zeros, and not stored.
    pub hole: bool,
}

impl MapSegment {
    /// The byte after the last one.
    pub const fn end(&self) -> u64 {
        self.offset.saturating_add(self.len)
    }
}

/// Makes segments of what one reply after another of a map says: in order, without a gap, and none behind the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Survey {
    /// Up to here there are segments.
    made: u64,
    /// Up to here the replies have told.
    known: u64,
    /// What `made..known` is where no range says otherwise.
    hole: bool,
    end: u64,
}

impl Survey {
    /// Nothing of `from..end` is known.
    pub const fn new(from: u64, end: u64) -> Self {
        let end = if end > from { end } else { from };
        Survey { made: from, known: from, hole: false, end }
    }

    /// Up to where replies have told.
    pub const fn known(&self) -> u64 {
        self.known
    }

    /// Up to where they are to tell.
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// A reply tells of all up to `known`, which is a hole or data but for the ranges that are added before
    /// [`rest`](Self::rest) is called.
    pub fn learn(&mut self, known: u64, hole: bool) -> Result<(), Error> {
        let known = known.min(self.end);
        if known <= self.known {
            return Err(Error::Misbehaved("a map makes no progress"));
        }
        (self.known, self.hole) = (known, hole);
        Ok(())
    }

    /// A range of data, behind those that were added before. Returns whether it is done with; until it is, it is to be
    /// added again.
    pub fn add(&mut self, offset: u64, len: u64) -> (bool, Option<MapSegment>) {
        let start = offset.clamp(self.made, self.known);
        if start > self.made {
            return (false, self.make(start, true));
        }
        (true, self.make(offset.saturating_add(len).min(self.known), false))
    }

    /// There are no more ranges in the reply.
    pub fn rest(&mut self) -> Option<MapSegment> {
        self.make(self.known, self.hole)
    }

    /// The next `len` bytes are of no interest: there is no segment of them.
    pub fn skip(&mut self, len: u64) {
        self.made = self.known.saturating_add(len).min(self.end);
        self.known = self.made;
    }

    /// What the reply has told behind the last segment is forgotten.
    pub fn forget(&mut self) {
        self.known = self.made;
    }

    fn make(&mut self, end: u64, hole: bool) -> Option<MapSegment> {
        let len = end.checked_sub(self.made).filter(|len| *len > 0)?;
        let offset = core::mem::replace(&mut self.made, end);
        Some(MapSegment { offset, len, hole })
    }
}

/// Joins segments of the same kind that follow each other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Joined {
    held: Option<MapSegment>,
    digest: Digest,
}

impl Joined {
    /// Takes the next segment, which may go on. Returns the one before it once that is complete.
    pub fn push(&mut self, next: MapSegment) -> Option<MapSegment> {
        match &mut self.held {
            Some(held) if held.hole == next.hole => {
                held.len = held.len.saturating_add(next.len);
                return None;
            }
            _ => {}
        }
        let complete = self.end();
        self.held = Some(next);
        complete
    }

    /// There are no more.
    pub fn end(&mut self) -> Option<MapSegment> {
        let complete = self.held.take()?;
        let digest = self.digest.with(&complete.offset.to_le_bytes()).with(&complete.len.to_le_bytes());
        self.digest = digest.with(&[complete.hole.into()]);
        Some(complete)
    }

    /// Of all that are complete.
    pub const fn digest(&self) -> Digest {
        self.digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// The segments of `from..end` by replies that list `ranges` and tell of all up to `known`.
    fn survey(from: u64, end: u64, replies: &[(&[(u64, u64)], u64)]) -> Result<Vec<(u64, u64, bool)>, Error> {
        let mut survey = Survey::new(from, end);
        let (mut joined, mut made) = (Joined::default(), Vec::new());
        for (ranges, known) in replies {
            survey.learn(*known, true)?;
            for (offset, len) in *ranges {
                loop {
                    let (done, segment) = survey.add(*offset, *len);
                    made.extend(segment.and_then(|segment| joined.push(segment)));
                    if done {
                        break;
                    }
                }
            }
            made.extend(survey.rest().and_then(|segment| joined.push(segment)));
        }
        made.extend(joined.end());
        Ok(made.into_iter().map(|segment| (segment.offset, segment.end(), segment.hole)).collect())
    }

    #[test]
    fn a_map_is_the_ranges_and_what_lies_between_them() {
        assert_eq!(
            survey(0, 9, &[(&[(2, 2), (6, 1)], 9)]),
            Ok(Vec::from([(0, 2, true), (2, 4, false), (4, 6, true), (6, 7, false), (7, 9, true),]))
        );
        assert_eq!(survey(0, 9, &[(&[], 9)]), Ok(Vec::from([(0, 9, true)])));
        assert_eq!(survey(9, 9, &[]), Ok(Vec::new()));
        let huge = 5 << 40;
        assert_eq!(survey(0, huge, &[(&[(0, huge)], huge)]), Ok(Vec::from([(0, huge, false)])));
    }

    #[test]
    fn ranges_are_clipped_to_what_was_asked_at_both_ends() {
        assert_eq!(survey(3, 6, &[(&[(0, 9)], 6)]), Ok(Vec::from([(3, 6, false)])));
        assert_eq!(
            survey(3, 6, &[(&[(0, 2), (2, 2), (5, 7), (20, 1)], 99)]),
            Ok(Vec::from([(3, 4, false), (4, 5, true), (5, 6, false),]))
        );
    }

    #[test]
    fn segments_of_the_same_kind_are_one_across_ranges_and_replies() {
        assert_eq!(
            survey(0, 9, &[(&[(0, 2), (2, 1)], 3), (&[(3, 2)], 5), (&[], 7), (&[], 9)]),
            Ok(Vec::from([(0, 5, false), (5, 9, true),]))
        );
    }

    #[test]
    fn what_is_forgotten_is_to_be_told_again() {
        let mut survey = Survey::new(0, 9);
        survey.learn(9, true).unwrap();
        assert_eq!(survey.add(2, 1), (false, Some(MapSegment { offset: 0, len: 2, hole: true })));
        survey.forget();
        assert_eq!((survey.known(), survey.rest()), (2, None));
        survey.learn(9, false).unwrap();
        assert_eq!(survey.rest(), Some(MapSegment { offset: 2, len: 7, hole: false }));
    }

    #[test]
    fn replies_without_progress_are_refused() {
        for replies in [&[(&[][..], 0)][..], &[(&[], 4), (&[], 4)], &[(&[], 4), (&[], 3)]] {
            assert!(matches!(survey(0, 9, replies), Err(Error::Misbehaved(_))), "{replies:?}");
        }
    }

    #[test]
    fn every_pair_of_small_ranges_maps_each_byte_as_the_ranges_say() {
        let every = || every_extent(6).filter(|extent| extent.len > 0);
        let ordered = every().flat_map(|a| every().filter(move |b| b.offset >= a.end()).map(move |b| (a, b)));
        for (first, second) in ordered {
            let ranges = [first, second].map(|range| (range.offset, range.len.into()));
            let map = survey(1, 5, &[(&ranges, 5)]).unwrap();
            let data = |at: u64| bytes(first).contains(&at) || bytes(second).contains(&at);
            let mut at = 1;
            for (start, end, hole) in map {
                assert_eq!(start, at, "{ranges:?}");
                assert!((start..end).all(|byte| data(byte) != hole), "{ranges:?}");
                at = end;
            }
            assert_eq!(at, 5, "{ranges:?}");
        }
    }

    fn bytes(extent: Extent) -> Vec<u64> {
        (extent.offset..extent.end()).collect()
    }

    fn every_extent(max: u64) -> impl Iterator<Item = Extent> {
        (0..max).flat_map(move |offset| (0..=(max - offset) as u32).map(move |len| Extent { offset, len }))
    }

    #[test]
    fn clip_is_the_set_intersection_for_every_pair_of_small_extents() {
        for a in every_extent(7) {
            for b in every_extent(7) {
                let both: Vec<u64> = bytes(a).into_iter().filter(|x| bytes(b).contains(x)).collect();
                assert_eq!(bytes(a.clip(b)), both, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn cover_accepts_exactly_what_continues_and_ends_when_all_is_there() {
        for asked in every_extent(5) {
            for first in every_extent(6) {
                for second in every_extent(6) {
                    let mut cover = Cover::new(asked);
                    let mut have: Vec<u64> = Vec::new();
                    for segment in [first, second] {
                        let next = asked.offset + have.len() as u64;
                        let continues = bytes(segment).contains(&next) && bytes(asked).contains(&next);
                        let added = cover.add(Segment::Data(segment));
                        assert_eq!(added.is_some(), continues, "{asked:?} {segment:?}");
                        if let Some(new) = added {
                            have.extend(bytes(new.extent()));
                        }
                    }
                    let expected: Vec<u64> = bytes(asked).into_iter().take(have.len()).collect();
                    assert_eq!(have, expected);
                    assert_eq!(bytes(cover.rest()), bytes(asked)[have.len()..]);
                }
            }
        }
    }

    #[test]
    fn extents_at_the_end_of_the_number_range_do_not_wrap() {
        let last = Extent { offset: u64::MAX - 1, len: u32::MAX };
        assert_eq!(last.end(), u64::MAX);
        assert_eq!(last.clip(last).len, 1);
        assert_eq!(Extent { offset: 3, len: 2 }.after(9), Extent { offset: 5, len: 0 });
    }
}
