//! The holes that a stream has before it, and where in its ring of pages the bytes between them lie. Pure.

use crate::limits::{HOLE_LEN_MIN, HOLES_MAX};
use crate::operation::Ahead;
use core::fmt;

/// A run of zeros that a stream has before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hole {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// It was asked for and told with the data, so that pages are set aside for it.
    asked: bool,
}

impl Hole {
    const fn len(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    const fn is_left_out(&self) -> bool {
        self.len() >= HOLE_LEN_MIN && !self.asked
    }

    /// Bytes of the whole pages in it, which have no place in a ring of `page` long pages that starts at `base`.
    #[expect(clippy::arithmetic_side_effects, reason = "a page is never empty")]
    const fn skipped(&self, base: u64, page: u64) -> u64 {
        let (start, end) = (self.start.saturating_sub(base), self.end.saturating_sub(base));
        match (start.checked_next_multiple_of(page), self.asked) {
            (Some(first), false) => (end - end % page).saturating_sub(first),
            _ => 0,
        }
    }
}

/// Where a stream keeps the holes before it, and the map that tells of them: in no memory at all if the protocol can tell of none.
pub trait HoleList: AsRef<[Hole]> + AsMut<[Hole]> + fmt::Debug + Default {
    /// The map: one or none.
    type Map: AsMut<[Option<Ahead>]> + fmt::Debug + Default;
}

impl HoleList for [Hole; HOLES_MAX] {
    type Map = [Option<Ahead>; 1];
}

impl HoleList for [Hole; 0] {
    type Map = [Option<Ahead>; 0];
}

/// Holes in the order of the file, which do not meet; as many as the list has room for.
#[derive(Debug, Default)]
pub(crate) struct Holes<L> {
    list: L,
    len: usize,
}

impl<L: AsRef<[Hole]> + AsMut<[Hole]>> Holes<L> {
    fn all(&self) -> &[Hole] {
        self.list.as_ref().get(..self.len).unwrap_or(&[])
    }

    fn last(&mut self) -> Option<&mut Hole> {
        self.list.as_mut().get_mut(self.len.checked_sub(1)?)
    }

    /// Whether there is no room for another one.
    pub fn is_full(&self) -> bool {
        self.len == self.list.as_ref().len()
    }

    /// Whether so few have room that it is better to come to some of them before more are asked for.
    pub fn is_crowded(&self) -> bool {
        self.len > self.list.as_ref().len() / 2
    }

    /// The first one.
    pub fn first(&self) -> Option<Hole> {
        self.all().first().copied()
    }

    /// Forgets the first one.
    pub fn pop(&mut self) {
        self.len = self.len.saturating_sub(1);
        let mut moved = Hole::default();
        self.list.as_mut().iter_mut().rev().for_each(|place| core::mem::swap(place, &mut moved));
    }

    /// A map says that `start..end` is a hole, behind all that it said before. Forgotten if there is no room.
    pub fn learn(&mut self, start: u64, end: u64) {
        match self.last() {
            Some(last) if last.end == start && !last.asked => last.end = end,
            _ => self.insert(Hole { start, end, asked: false }),
        }
    }

    /// Nothing more is to come of the last hole: if that is too short to be left out it is no more.
    pub fn settle(&mut self) {
        if self.unsettled().is_some() {
            self.len = self.len.saturating_sub(1);
        }
    }

    /// Where the last hole starts, if it is too short to be left out unless it goes on.
    pub fn unsettled(&self) -> Option<u64> {
        let last = self.all().last()?;
        (last.len() < HOLE_LEN_MIN && !last.asked).then_some(last.start)
    }

    /// A reply said that a part of what was asked for is a hole. It is forgotten if it is short, or if there is no room.
    pub fn told(&mut self, start: u64, end: u64) {
        let before = self.all().iter().position(|hole| hole.end == start && hole.asked);
        match before.and_then(|index| self.list.as_mut().get_mut(index)) {
            Some(hole) => hole.end = end,
            None if end.saturating_sub(start) >= HOLE_LEN_MIN => {
                self.insert(Hole { start, end, asked: true })
            }
            None => {}
        }
    }

    fn insert(&mut self, mut hole: Hole) {
        if self.is_full() {
            return;
        }
        let at = self.all().iter().position(|other| other.start > hole.start).unwrap_or(self.len);
        self.len = self.len.saturating_add(1);
        let rest = self.list.as_mut().iter_mut().take(self.len).skip(at);
        rest.for_each(|place| core::mem::swap(place, &mut hole));
    }

    /// Where the hole ends that need not be asked for and that `offset` lies in.
    pub fn end_at(&self, offset: u64) -> Option<u64> {
        let around = |hole: &&Hole| hole.is_left_out() && hole.start <= offset && offset < hole.end;
        self.all().iter().find(around).map(|hole| hole.end)
    }

    /// Where the next hole starts that need not be asked for; `u64::MAX` if none is known.
    pub fn next_start(&self, offset: u64) -> u64 {
        let behind = |hole: &&Hole| hole.is_left_out() && hole.start >= offset;
        self.all().iter().find(behind).map_or(u64::MAX, |hole| hole.start)
    }

    /// How far from the start of a ring of `page` long pages, which starts at `base`, the byte `offset` lies: what
    /// lies between them, but for the whole pages of the holes. So every byte keeps its place in its page.
    pub fn position(&self, base: u64, page: u64, offset: u64) -> u64 {
        let before = self.all().iter().filter(|hole| hole.end <= offset);
        let skipped = before.fold(0u64, |sum, hole| sum.saturating_add(hole.skipped(base, page)));
        offset.saturating_sub(base).saturating_sub(skipped)
    }

    /// What is to be added to the base of the ring when the first hole is forgotten.
    pub fn first_skipped(&self, base: u64, page: u64) -> u64 {
        self.first().map_or(0, |hole| hole.skipped(base, page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::HOLES_MAX;
    use std::vec::Vec;

    const MIN: u64 = HOLE_LEN_MIN;

    type Holes = super::Holes<[Hole; HOLES_MAX]>;

    fn list(holes: &Holes) -> Vec<(u64, u64)> {
        holes.all().iter().map(|hole| (hole.start, hole.end)).collect()
    }

    #[test]
    fn what_a_map_says_piece_by_piece_is_one_hole_and_short_ones_are_none() {
        let mut holes = Holes::default();
        holes.learn(0, 10);
        holes.learn(10, MIN);
        holes.settle();
        assert_eq!(list(&holes), [(0, MIN)]);
        holes.learn(2 * MIN, 2 * MIN + 5);
        assert_eq!((list(&holes).len(), holes.unsettled()), (2, Some(2 * MIN)), "it may go on");
        assert_eq!((holes.end_at(2 * MIN), holes.next_start(MIN)), (None, u64::MAX));
        holes.settle();
        assert_eq!(list(&holes), [(0, MIN)]);
        assert_eq!((holes.end_at(0), holes.end_at(MIN - 1), holes.end_at(MIN)), (Some(MIN), Some(MIN), None));
        assert_eq!((holes.next_start(0), holes.next_start(1)), (0, u64::MAX));
    }

    #[test]
    fn no_more_holes_are_kept_than_there_is_room_for() {
        let mut holes = Holes::default();
        for at in 0..HOLES_MAX as u64 {
            assert_eq!(holes.is_crowded(), at > HOLES_MAX as u64 / 2);
            assert!(!holes.is_full());
            holes.learn(2 * at * MIN, (2 * at + 1) * MIN);
        }
        assert!(holes.is_full());
        holes.learn(u64::MAX - MIN, u64::MAX);
        holes.told(0, MIN);
        assert_eq!(list(&holes).len(), HOLES_MAX);
        holes.pop();
        assert_eq!(holes.first().unwrap().start, 2 * MIN);
        assert!(!holes.is_full());
    }

    #[test]
    fn holes_that_came_with_the_data_stand_among_the_others_in_order_and_take_part_in_the_ring() {
        let mut holes = Holes::default();
        holes.learn(9 * MIN, 10 * MIN);
        holes.told(2 * MIN, 3 * MIN);
        holes.told(3 * MIN, 3 * MIN + 1);
        holes.told(5 * MIN, 6 * MIN - 1);
        assert_eq!(list(&holes), [(2 * MIN, 3 * MIN + 1), (9 * MIN, 10 * MIN)]);
        assert_eq!((holes.end_at(2 * MIN), holes.next_start(0)), (None, 9 * MIN));
        assert_eq!(holes.position(0, 4096, 9 * MIN), 9 * MIN);
        assert_eq!(holes.position(0, 4096, 10 * MIN), 9 * MIN);
    }

    #[test]
    fn in_the_ring_every_byte_keeps_its_place_in_its_page_and_no_two_share_one() {
        let page = 4;
        for (base, start, len) in
            (0..3).flat_map(|b| (b..14).flat_map(move |s| (1..14).map(move |l| (b, s, l))))
        {
            let mut holes = Holes::default();
            let end = start + len;
            holes.learn(start, end);
            let data = (base..start).chain(end..30);
            let positions: Vec<u64> = data.clone().map(|at| holes.position(base, page, at)).collect();
            assert!(positions.windows(2).all(|pair| pair[0] < pair[1]), "{base} {start} {len}");
            assert!(data.clone().zip(&positions).all(|(at, position)| (at - base) % page == position % page));
            let gap = holes.position(base, page, end) - start.saturating_sub(base);
            assert!(gap < 2 * page, "a hole takes less than two pages of the ring");
            // And once it is behind, the others stay where they are.
            let moved = base + holes.first_skipped(base, page);
            holes.pop();
            assert!(
                (end..30)
                    .zip(positions.iter().skip((start - base) as usize))
                    .all(|(at, position)| { holes.position(moved, page, at) == *position })
            );
        }
    }
}
