//! Times as text, in UTC: the time zone is the one thing here that would need a library.

use pagewire::Time;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// `2024-02-29T12:34:56Z`, or with another character between date and time and after them.
pub fn format(time: Time, between: char, after: &str) -> String {
    let days = time.seconds.div_euclid(86_400);
    let second = time.seconds.rem_euclid(86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}{between}{hour:02}:{minute:02}:{second:02}{after}")
}

/// As RFC 3339 has it.
pub fn rfc3339(time: Time) -> String {
    format(time, 'T', &format!(".{:09}Z", time.nanoseconds))
}

/// The date of a day counted from 1970-01-01, in the Gregorian calendar. Years are counted from March on, so
/// that the day that a leap year adds is the last of its year.
fn civil(days: i64) -> (i64, i64, i64) {
    const DAYS_OF_400_YEARS: i64 = 146_097;
    // From 0000-03-01 on.
    let days = days + 719_468;
    let era = days.div_euclid(DAYS_OF_400_YEARS);
    let day = days.rem_euclid(DAYS_OF_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next_year, month, day_of_month)
}

/// `None` if the system has no such time.
pub fn to_system(time: Time) -> Option<SystemTime> {
    let whole = Duration::from_secs(time.seconds.unsigned_abs());
    let whole = if time.seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    whole?.checked_add(Duration::from_nanos(time.nanoseconds.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(seconds: i64) -> String {
        format(Time { seconds, nanoseconds: 0 }, ' ', "")
    }

    #[test]
    fn known_dates() {
        assert_eq!(text(0), "1970-01-01 00:00:00");
        assert_eq!(text(-1), "1969-12-31 23:59:59");
        assert_eq!(text(951_782_400), "2000-02-29 00:00:00");
        assert_eq!(text(1_709_210_096), "2024-02-29 12:34:56");
        assert_eq!(text(4_107_542_400), "2100-03-01 00:00:00");
        assert_eq!(text(-11_644_473_600), "1601-01-01 00:00:00");
        assert_eq!(rfc3339(Time { seconds: 1, nanoseconds: 500 }), "1970-01-01T00:00:01.000000500Z");
    }

    #[test]
    fn every_day_of_eight_centuries_follows_the_one_before() {
        let mut before = civil(-200_000);
        for days in -199_999..100_000 {
            let (year, month, day) = civil(days);
            let follows = (year, month, day) == (before.0, before.1, before.2 + 1)
                || (year, month, day) == (before.0, before.1 + 1, 1)
                || (year, month, day) == (before.0 + 1, 1, 1);
            assert!(follows && month <= 12 && day <= 31, "{before:?} {:?}", (year, month, day));
            before = (year, month, day);
        }
    }

    #[test]
    fn system_times_before_and_after_1970() {
        let time = to_system(Time { seconds: -2, nanoseconds: 500_000_000 }).unwrap();
        assert_eq!(UNIX_EPOCH.duration_since(time).unwrap(), Duration::from_millis(1500));
        let time = to_system(Time { seconds: 2, nanoseconds: 5 }).unwrap();
        assert_eq!(time.duration_since(UNIX_EPOCH).unwrap(), Duration::new(2, 5));
    }
}
