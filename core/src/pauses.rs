//! The pauses of an operation whose server asks to be asked later.

use crate::limits;
use crate::time::Millis;

#[derive(Debug)]
pub(crate) struct Pauses {
    /// How many in a row an operation makes.
    pub max: u32,
    /// How many it has made since the last answer.
    count: u32,
    until: Option<Millis>,
}

impl Pauses {
    pub const fn new() -> Pauses {
        Pauses { max: limits::PAUSES_MAX, count: 0, until: None }
    }

    /// For another operation.
    pub const fn restart(&mut self) {
        (self.count, self.until) = (0, None);
    }

    /// Something was answered: the next pause is a short one.
    pub const fn answered(&mut self) {
        self.count = 0;
    }

    /// Begins one, unless one runs, which is for all that was in flight. `false` if there were enough of them.
    pub fn begin(&mut self, now: Millis) -> bool {
        if self.until.is_none() && self.count < self.max {
            self.until = Some(now.after(len_ms(self.count)));
            self.count = self.count.saturating_add(1);
        }
        self.until.is_some()
    }

    /// When the one that runs ends.
    pub fn until(&self, now: Millis) -> Option<Millis> {
        self.until.filter(|until| now < *until)
    }

    /// The same, and one that has ended is forgotten.
    pub fn runs(&mut self, now: Millis) -> Option<Millis> {
        self.until = self.until(now);
        self.until
    }
}

/// Each is twice as long as the one before it.
fn len_ms(count: u32) -> u32 {
    let factor = 1_u32.checked_shl(count).unwrap_or(u32::MAX);
    limits::PAUSE_MS_MIN.saturating_mul(factor).min(limits::PAUSE_MS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_outlast_a_grace_period() {
        let all: std::vec::Vec<u32> = (0..limits::PAUSES_MAX).map(len_ms).collect();
        assert_eq!(all[..8], [100, 200, 400, 800, 1600, 3200, 6400, 6400]);
        assert_eq!(len_ms(u32::MAX), 6400);
        assert!(all.iter().sum::<u32>() > 90_000 + 6400);
    }

    #[test]
    fn one_pause_is_for_all_and_an_answer_makes_the_next_a_short_one() {
        let mut pauses = Pauses { max: 2, ..Pauses::new() };
        let now = Millis(1000);
        assert!(pauses.begin(now) && pauses.begin(Millis(1050)));
        assert_eq!(pauses.runs(Millis(1099)), Some(Millis(1100)));
        assert_eq!(pauses.runs(Millis(1100)), None);
        assert!(pauses.begin(now));
        assert_eq!(pauses.runs(now), Some(Millis(1200)));
        assert_eq!(pauses.runs(Millis(1200)), None);
        assert!(!pauses.begin(now), "two were allowed");
        pauses.answered();
        assert!(pauses.begin(now));
        assert_eq!(pauses.runs(now), Some(Millis(1100)));
    }
}
