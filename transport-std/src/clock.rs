//! The clock of the system, for deadlines.

use pagewire::{Clock, Millis};
use std::time::Instant;

/// Milliseconds since it was made. It never goes back and does not follow changes of the date.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock(Instant);

impl MonotonicClock {
    /// A clock that starts at zero now.
    pub fn new() -> Self {
        MonotonicClock(Instant::now())
    }
}

impl Default for MonotonicClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Millis {
        Millis(u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn wait(&self, until: Millis) {
        let left = until.0.saturating_sub(self.now().0);
        std::thread::sleep(std::time::Duration::from_millis(left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs_and_never_goes_back() {
        let clock = MonotonicClock::new();
        let earlier = clock.now();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(clock.runs() && clock.now() > earlier);
    }

    #[test]
    fn it_waits_as_long_as_is_asked_and_for_the_past_not_at_all() {
        let clock = MonotonicClock::new();
        clock.wait(Millis(20));
        assert!(clock.now() >= Millis(20));
        clock.wait(Millis(0));
    }
}
