//! Replies that are not what they should be, whatever the call.

use crate::dice::Dice;
use pagewire_hostile_nfs::{Lie, Place, Told};
use std::rc::Rc;

/// What of a reply is a lie.
#[derive(Clone, Copy, Debug)]
pub enum Wrong {
    /// It is sent so many times.
    Times(usize),
    /// The server hangs up behind it.
    Last,
    /// Its mark is another one.
    Mark(u32),
    /// It is to a call that is not in flight: these bits of the xid are others.
    Xid(u32),
    /// So many bytes of its end are missing.
    Ends(usize),
    /// So many bytes more.
    Longer(usize),
    /// A word of its results, not of file data.
    Word(usize, u32),
    /// Refused by RPC.
    Refused,
}

/// Extremes.
const WORDS: [u32; 8] = [0, 1, 2, 70, 10_008, 0x7FFF_FFFF, 0x8000_0000, u32::MAX];

impl Wrong {
    fn draw(dice: &mut Dice, words: bool) -> Wrong {
        match dice.below(if words { 11 } else { 7 }) {
            0 => Wrong::Times(dice.one_of(&[0, 2, 3])),
            1 => Wrong::Last,
            2 => Wrong::Mark(dice.one_of(&[0, 0x8000_0000, 0x8000_0040, 64, 0x80FF_FFFF, u32::MAX])),
            3 => Wrong::Xid(1 << (16 + dice.below(16))),
            4 => Wrong::Ends(4 * (1 + dice.scaled(5))),
            5 => Wrong::Longer(4 * (1 + dice.scaled(5))),
            6 => Wrong::Refused,
            _ => Wrong::Word(4 * dice.below(40), dice.one_of(&WORDS)),
        }
    }

    fn tell(self, told: &mut Told) {
        let len = told.message.len();
        match self {
            Wrong::Times(times) => told.times = times,
            Wrong::Last => told.last = true,
            Wrong::Mark(mark) => told.mark = Some(mark),
            Wrong::Xid(bits) => {
                let xid = u32::from_be_bytes(*told.message.first_chunk().expect("a reply has an xid"));
                told.message[..4].copy_from_slice(&(xid ^ bits).to_be_bytes());
            }
            Wrong::Ends(less) => told.message.truncate(len - less.min(len)),
            Wrong::Longer(more) => told.message.resize(len + more, 0),
            Wrong::Word(at, word) => {
                let end = told.data.first().map_or(len, |data| data.start).min(len);
                if told.results + at + 4 <= end {
                    told.word(at, word);
                }
            }
            Wrong::Refused => told.words(&[1, 1, 1, 1]),
        }
        told.data.retain(|data| data.end <= told.message.len());
    }
}

/// What of the replies to calls of `places` is not true: of each or of one only. Nothing, one time in two.
pub(super) fn wrong(dice: &mut Dice, places: &[Place], words: bool) -> Vec<(Place, Option<usize>, Wrong)> {
    let count = dice.below(4).saturating_sub(1);
    let draw = |_| {
        let nth = if dice.once_in(4) { None } else { Some(dice.scaled(4)) };
        match (dice.one_of(places), Wrong::draw(dice, words)) {
            // Byte by byte, each time with the rest of the file behind it, is right and takes for ever.
            (place @ (_, 6), Wrong::Word(at, 1..1000)) => (place, nth, Wrong::Word(at, 1000)),
            (place, wrong) => (place, nth, wrong),
        }
    };
    let mut wrong: Vec<_> = (0..count).map(draw).collect();
    // Two in one reply may be a lie about what is in the file.
    wrong.dedup_by_key(|(place, ..)| *place);
    wrong
}

/// The same as the model takes it.
pub(super) fn lies(wrong: &[(Place, Option<usize>, Wrong)]) -> Vec<Lie> {
    let lie = |(place, nth, wrong): &(Place, Option<usize>, Wrong)| {
        let (place, nth, wrong) = (*place, *nth, *wrong);
        Lie { place, nth, tell: Rc::new(move |told: &mut Told| wrong.tell(told)) }
    };
    wrong.iter().map(lie).collect()
}
