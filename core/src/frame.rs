//! Where in a frame the next bytes belong. Offsets only: the bytes are elsewhere.

use crate::protocol::Head;
use crate::segment::Segment;

/// What the next bytes of a frame are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A head, collected in `rx` from `start` on.
    Head { start: usize, have: usize, want: usize },
    /// Bytes that mean nothing.
    Skip { left: u32 },
    /// File data of a slot, from byte `at` of its extent on.
    Data { slot: usize, at: u32, left: u32 },
}

/// What follows the current place within its part: gap, data, pad, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Follows {
    /// The slot, from which byte of its extent on, and how many.
    data: (usize, u32, u32),
    pad: u32,
}

/// The receive position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// How many bytes of a mark have arrived, while one is awaited.
    pub marking: Option<u8>,
    pub mark: [u8; 4],
    /// What has not arrived of the fragment.
    pub left: u32,
    /// Whether the frame ends with this fragment.
    pub last: bool,
    /// Bytes that the marks of this frame have announced.
    pub announced: u32,
    /// It has a mark.
    pub marked: bool,
    /// How many of its marks announced nothing.
    pub empty_fragments: u32,
    pub place: Place,
    follows: Follows,
}

impl Frame {
    /// Before the first mark.
    pub const fn new() -> Self {
        Frame {
            marking: Some(0),
            mark: [0; 4],
            left: 0,
            last: false,
            announced: 0,
            marked: false,
            empty_fragments: 0,
            place: Place::Skip { left: 0 },
            follows: Follows { data: (0, 0, 0), pad: 0 },
        }
    }

    /// Whether a frame has begun and not ended.
    pub const fn begun(&self) -> bool {
        self.marked || !matches!(self.marking, Some(0))
    }

    /// Whether all of the frame has arrived.
    pub const fn over(&self) -> bool {
        self.left == 0 && self.last
    }

    /// A head is complete and says what follows it; a segment begins at byte `at` of its extent. Returns whether the part
    /// has ended with it. `None` if it claims more bytes than the frame has left.
    pub fn head_ends(&mut self, head: Head, at: u32) -> Option<bool> {
        const NONE: (usize, u32, u32) = (0, 0, 0);
        let (gap, data, pad) = match head {
            Head::Message { pad, .. } => (0, NONE, pad),
            Head::Data { slot, gap, len, pad } => (gap, (slot, 0, len), pad),
            Head::Segment { slot, segment: Segment::Data(extent), gap, pad } => {
                (gap, (slot, at, extent.len), pad)
            }
            Head::Segment { segment: Segment::Hole(_), gap, pad, .. } => (gap, NONE, pad),
            Head::Need(_) | Head::Forget => (0, NONE, 0),
        };
        let all = gap.checked_add(data.2)?.checked_add(pad)?;
        if self.last && all > self.left {
            return None;
        }
        self.follows = Follows { data, pad };
        self.place = Place::Skip { left: gap };
        Some(self.settle())
    }

    /// `len` bytes of a gap, of data or of padding have arrived. Returns whether the part has ended.
    pub fn body_arrives(&mut self, len: u32) -> bool {
        match &mut self.place {
            Place::Skip { left } => *left = left.saturating_sub(len),
            Place::Data { at, left, .. } => {
                *at = at.saturating_add(len);
                *left = left.saturating_sub(len);
            }
            Place::Head { .. } => {}
        }
        self.settle()
    }

    /// Goes on to the next place that still wants bytes.
    fn settle(&mut self) -> bool {
        match self.place {
            Place::Skip { left: 0 } | Place::Data { left: 0, .. } => {}
            _ => return false,
        }
        if let (slot, at, left @ 1..) = core::mem::take(&mut self.follows.data) {
            self.place = Place::Data { slot, at, left };
            return false;
        }
        let pad = core::mem::take(&mut self.follows.pad);
        self.place = Place::Skip { left: pad };
        pad == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(left: u32) -> Frame {
        Frame { left, last: true, marking: None, marked: true, ..Frame::new() }
    }

    #[test]
    fn every_gap_data_and_pad_is_walked_in_order_in_every_step_size() {
        for (gap, len, pad, step) in itertools(5) {
            let mut frame = of(gap + len + pad);
            let (mut skipped_before, mut data, mut skipped_after) = (0, 0, 0);
            let mut ended = frame.head_ends(Head::Data { slot: 0, gap, len, pad }, 0).unwrap();
            while !ended {
                let taken = match frame.place {
                    Place::Skip { left } => {
                        let taken = left.min(step);
                        *(if data == 0 && skipped_before < gap {
                            &mut skipped_before
                        } else {
                            &mut skipped_after
                        }) += taken;
                        taken
                    }
                    Place::Data { at, left, .. } => {
                        assert_eq!(at, data);
                        data += left.min(step);
                        left.min(step)
                    }
                    _ => panic!("a body has no head"),
                };
                ended = frame.body_arrives(taken);
            }
            assert_eq!((skipped_before, data, skipped_after), (gap, len, pad));
        }
    }

    fn itertools(max: u32) -> impl Iterator<Item = (u32, u32, u32, u32)> {
        let all = move || 0..max;
        all().flat_map(move |a| {
            all().flat_map(move |b| all().flat_map(move |c| (1..max).map(move |d| (a, b, c, d))))
        })
    }

    #[test]
    fn a_head_that_claims_more_than_its_frame_has_is_refused() {
        let mut frame = of(10);
        assert_eq!(frame.head_ends(Head::Data { slot: 0, gap: 1, len: 9, pad: 1 }, 0), None);
        assert_eq!(frame.head_ends(Head::Data { slot: 0, gap: u32::MAX, len: u32::MAX, pad: 2 }, 0), None);
        assert_eq!(frame.head_ends(Head::Message { slot: None, pad: 11 }, 0), None);
    }
}
