//! Where in a frame the next bytes belong. Offsets only: the bytes are elsewhere.

use crate::protocol::Head;

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The 4-byte mark in front of a frame.
    Mark { have: usize },
    /// A head, collected in `rx` from `start` on.
    Head { start: usize, have: usize, want: usize },
    /// Bytes that mean nothing.
    Skip { left: u32 },
    /// File data of a slot; `at` bytes of it have arrived.
    Data { slot: usize, at: u32, left: u32 },
}

/// What follows the current place within its part: gap, data, pad, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Follows {
    data: Option<(usize, u32)>,
    pad: u32,
}

/// The receive position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub place: Place,
    pub mark: [u8; 4],
    /// Bytes of the frame that have not arrived.
    pub left: u32,
    /// Parts of the frame that have begun.
    pub parts: u32,
    follows: Follows,
}

impl Frame {
    /// Before a mark.
    pub const fn new() -> Self {
        Frame::of(0)
    }

    /// Behind a mark that announces `left` bytes.
    pub const fn of(left: u32) -> Self {
        Frame {
            place: Place::Mark { have: 0 },
            mark: [0; 4],
            left,
            parts: 0,
            follows: Follows { data: None, pad: 0 },
        }
    }

    /// Whether a frame has begun and not ended.
    pub const fn begun(&self) -> bool {
        !matches!(self.place, Place::Mark { have: 0 })
    }

    /// A head is complete and says what follows it. Returns whether the part has ended with it.
    /// `None` if it claims more bytes than the frame has left.
    pub fn head_ends(&mut self, head: Head) -> Option<bool> {
        let (gap, data, pad) = match head {
            Head::Message { pad, .. } => (0, None, pad),
            Head::Data { slot, gap, len, pad } => (gap, Some((slot, len)), pad),
            Head::Need(_) | Head::Forget => (0, None, 0),
        };
        let len = data.map_or(0, |(_, len)| len);
        let all = gap.checked_add(len)?.checked_add(pad)?;
        if all > self.left {
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
            Place::Mark { .. } | Place::Head { .. } => {}
        }
        self.settle()
    }

    /// Goes on to the next place that still wants bytes.
    fn settle(&mut self) -> bool {
        match self.place {
            Place::Skip { left: 0 } | Place::Data { left: 0, .. } => {}
            _ => return false,
        }
        if let Some((slot, left @ 1..)) = self.follows.data.take() {
            self.place = Place::Data { slot, at: 0, left };
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

    #[test]
    fn every_gap_data_and_pad_is_walked_in_order_in_every_step_size() {
        for (gap, len, pad, step) in itertools(5) {
            let mut frame = Frame::of(gap + len + pad);
            let (mut skipped_before, mut data, mut skipped_after) = (0, 0, 0);
            let mut ended = frame.head_ends(Head::Data { slot: 0, gap, len, pad }).unwrap();
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
        let mut frame = Frame::of(10);
        assert_eq!(frame.head_ends(Head::Data { slot: 0, gap: 1, len: 9, pad: 1 }), None);
        assert_eq!(frame.head_ends(Head::Data { slot: 0, gap: u32::MAX, len: u32::MAX, pad: 2 }), None);
        assert_eq!(frame.head_ends(Head::Message { slot: None, pad: 11 }), None);
    }
}
