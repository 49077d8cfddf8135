//! What a reply brings: extents of a file that are data or a hole, held against what was asked.

/// A run of bytes in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
        Extent { offset: self.offset.saturating_add(skipped as u64), len: self.len - skipped }
    }

    /// What both have in common, empty where they do not meet.
    #[must_use]
    pub const fn clip(&self, other: Extent) -> Extent {
        let start = if self.offset > other.offset { self.offset } else { other.offset };
        let end = if self.end() < other.end() { self.end() } else { other.end() };
        // Both lengths are u32, so what they share is one too.
        Extent { offset: start, len: if end > start { (end - start) as u32 } else { 0 } }
    }
}

/// A part of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        self.covered += new.extent().len;
        Some(new)
    }

    /// What is not covered yet. Empty when all is.
    pub const fn rest(&self) -> Extent {
        self.asked.after(self.covered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

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
