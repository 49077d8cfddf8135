//! The command sequence window (MS-SMB2 3.3.1.1).

use std::collections::BTreeSet;

/// The message ids a client may use, each once.
pub(crate) struct Window {
    ids: BTreeSet<u64>,
    next: u64,
    max: usize,
}

impl Window {
    /// Message id 0 and nothing else.
    pub(crate) fn new(max: u16) -> Self {
        Window { ids: BTreeSet::from([0]), next: 1, max: max.into() }
    }

    pub(crate) fn available(&self) -> usize {
        self.ids.len()
    }

    /// Uses up `charge` ids from `id`; `false` if one of them was never granted or is used.
    pub(crate) fn take(&mut self, id: u64, charge: u16) -> bool {
        let Some(end) = id.checked_add(charge.into()) else { return false };
        let all = (id..end).all(|id| self.ids.contains(&id));
        if all {
            self.ids.retain(|used| !(id..end).contains(used));
        }
        all
    }

    /// Grants what is asked up to the cap, and never leaves a client with nothing.
    pub(crate) fn grant(&mut self, asked: u16) -> u16 {
        let floor = usize::from(self.ids.is_empty());
        let room = self.max.saturating_sub(self.ids.len());
        let granted = room.min(asked.into()).max(floor) as u16;
        self.ids.extend(self.next..self.next + u64::from(granted));
        self.next += u64::from(granted);
        granted
    }
}

/// The credits that a payload of `len` bytes costs (MS-SMB2 3.1.5.2).
pub(crate) fn charge(len: usize) -> usize {
    len.div_ceil(65536).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_can_be_used_once_and_only_if_granted() {
        let mut window = Window::new(10);
        assert!(!window.take(1, 1));
        assert!(window.take(0, 1));
        assert!(!window.take(0, 1));
        assert_eq!(window.grant(3), 3);
        assert!(!window.take(2, 3), "runs past the window");
        assert!(window.take(2, 2));
        assert!(window.take(1, 1));
        assert!(!window.take(u64::MAX, 1));
    }

    #[test]
    fn grants_stop_at_the_cap_and_never_starve() {
        let mut window = Window::new(4);
        assert_eq!(window.grant(100), 3);
        assert_eq!(window.grant(100), 0);
        assert!(window.take(0, 4));
        assert_eq!(window.grant(0), 1);
    }

    #[test]
    fn the_charge_counts_started_64_kib() {
        assert_eq!([0, 1, 65536, 65537].map(charge), [1, 1, 1, 2]);
    }
}
