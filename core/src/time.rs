//! Time as the caller tells it.

/// Milliseconds of a clock that never goes back. Its zero has no meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Millis(pub u64);

impl Millis {
    /// `self` and `ms` later.
    #[must_use]
    pub const fn after(self, ms: u32) -> Millis {
        Millis(self.0.saturating_add(ms as u64))
    }
}

/// Where a driver reads the time, to tell it to the client.
pub trait Clock {
    /// The time now.
    fn now(&self) -> Millis;

    /// Whether it moves. Deadlines pass only if it does.
    fn runs(&self) -> bool {
        true
    }

    /// Returns at this time, or earlier: then it is called again. Only for a clock that runs. Unless there is a better way
    /// it returns at once, so that the caller goes round until then.
    fn wait(&self, _until: Millis) {
        core::hint::spin_loop();
    }
}

/// A clock that stands still: no deadline ever passes. For a caller whose transport has time-outs of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timeless;

impl Clock for Timeless {
    fn now(&self) -> Millis {
        Millis(0)
    }

    fn runs(&self) -> bool {
        false
    }
}
