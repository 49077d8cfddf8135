//! MS-DTYP 2.3.3: FILETIME, 100 ns since 1601.

/// Seconds from the first of January 1601 to that of 1970.
const UNIX_EPOCH_S: i64 = 11_644_473_600;
const TICKS_PER_S: u64 = 10_000_000;
const NS_PER_TICK: u32 = 100;

/// A time as it is on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileTime(pub u64);

impl FileTime {
    /// What a server says when it has no time.
    pub const NONE: FileTime = FileTime(0);

    /// Seconds since 1970, negative before, and the nanoseconds to add to them. `None` for "no time": zero,
    /// and all that is negative or greatest as the signed number which servers take it for.
    #[expect(clippy::arithmetic_side_effects, reason = "64 bits of ticks are 40 bits of seconds")]
    pub const fn to_unix(self) -> Option<(i64, u32)> {
        if self.0 == 0 || self.0 >= i64::MAX as u64 {
            return None;
        }
        let seconds = (self.0 / TICKS_PER_S) as i64 - UNIX_EPOCH_S;
        Some((seconds, (self.0 % TICKS_PER_S) as u32 * NS_PER_TICK))
    }

    /// The other way, cut to 100 ns. `None` if there is no such time or `nanoseconds` are a second and more.
    pub const fn from_unix(seconds: i64, nanoseconds: u32) -> Option<FileTime> {
        let Some(seconds) = seconds.checked_add(UNIX_EPOCH_S) else { return None };
        if seconds < 0 || nanoseconds >= 1_000_000_000 {
            return None;
        }
        let Some(ticks) = (seconds as u64).checked_mul(TICKS_PER_S) else { return None };
        let Some(ticks) = ticks.checked_add((nanoseconds / NS_PER_TICK) as u64) else { return None };
        if ticks == 0 || ticks >= i64::MAX as u64 { None } else { Some(FileTime(ticks)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times_there_and_back() {
        for (ticks, unix) in [
            (116_444_736_000_000_000, (0, 0)),
            (116_444_735_999_999_999, (-1, 999_999_900)),
            (132_223_104_000_000_001, (1_577_836_800, 100)), // 2020
            (1, (-UNIX_EPOCH_S, 100)),
            (i64::MAX as u64 - 1, (910_692_730_085, 477_580_600)),
        ] {
            assert_eq!(FileTime(ticks).to_unix(), Some(unix));
            assert_eq!(FileTime::from_unix(unix.0, unix.1), Some(FileTime(ticks)));
        }
    }

    #[test]
    fn no_time_is_none() {
        for ticks in [0, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX - 1, u64::MAX] {
            assert_eq!(FileTime(ticks).to_unix(), None);
        }
        for (seconds, nanoseconds) in [
            (i64::MIN, 0),
            (i64::MAX, 0),
            (-UNIX_EPOCH_S - 1, 0),
            (-UNIX_EPOCH_S, 99),
            (0, 1_000_000_000),
            (910_692_730_085, 477_580_700),
            (910_692_730_086, 0),
        ] {
            assert_eq!(FileTime::from_unix(seconds, nanoseconds), None);
        }
    }
}
