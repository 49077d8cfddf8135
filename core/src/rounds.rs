//! Whether a listing goes round.

/// The replies of a listing so far, as far as it takes to see that they come again: no two have the same `mark`, be that a name or a
/// cookie. That of one reply is remembered, and that of the reply twice as far on takes its place, so a round of any
/// length is found (R. P. Brent, 1980).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rounds<T> {
    pub count: u32,
    mark: T,
}

impl<T: Copy + PartialEq> Rounds<T> {
    /// Another reply. Whether it was there before.
    pub fn repeats(&mut self, mark: T) -> bool {
        let repeats = self.count > 0 && mark == self.mark;
        self.count = self.count.saturating_add(1);
        if self.count.is_power_of_two() {
            self.mark = mark;
        }
        repeats
    }
}

#[cfg(test)]
mod tests {
    use super::Rounds;

    #[test]
    fn a_listing_that_goes_round_is_found_whatever_the_length_of_its_round_and_what_came_before() {
        for lead in 0..20u32 {
            for round in 1..20 {
                let mut rounds = Rounds::default();
                let mark = |reply: u32| if reply < lead { reply } else { lead + (reply - lead) % round };
                let found = (0..200).position(|reply| rounds.repeats(mark(reply)));
                assert!(found.is_some_and(|reply| reply as u32 >= lead + round), "{lead} {round}: {found:?}");
            }
        }
    }

    #[test]
    fn a_long_listing_without_a_repeat_is_none() {
        let mut rounds = Rounds::default();
        assert!(!(0..100_000u32).any(|reply| rounds.repeats(reply)));
    }
}
