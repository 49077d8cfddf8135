//! Sizes and durations as people write and read them.

use super::budget;
use std::time::Duration;

/// Bytes: `65536`, `64K`, `1M`, `2GiB`. K is 1024.
pub fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let unit = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return Err("expected bytes, with K, M or G for powers of 1024".into()),
    };
    number.and_then(|number| number.checked_mul(unit)).ok_or_else(|| "expected a number of bytes".into())
}

/// The sizes that pages can have.
pub fn page_size(text: &str) -> Result<usize, String> {
    let size = usize::try_from(size(text)?).ok().filter(|size| budget::pages(*size, &mut []).is_some());
    size.ok_or_else(|| "expected a power of two from 512 to 1M".into())
}

/// A time span: `30` and `30s` are seconds; `500ms`, `1.5s`, `2h30m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    const WRONG: &str = "expected a time such as 10s, 1.5s, 500ms or 2h30m";
    let mut rest = text;
    let mut ms = 0u64;
    while !rest.is_empty() {
        let (number, tail) = split(rest);
        let (fraction, tail) = fraction(tail).ok_or(WRONG)?;
        let unit_len = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_len);
        let unit = match unit {
            "ms" => 1,
            "s" => 1000,
            // Without a unit the number must stand alone.
            "" if rest == text => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return Err(WRONG.into()),
        };
        let part = number.and_then(|number| number.checked_mul(unit)).ok_or(WRONG)?;
        let part = part.checked_add(unit * fraction / FRACTION).ok_or(WRONG)?;
        ms = ms.checked_add(part).ok_or(WRONG)?;
        rest = tail;
    }
    // The engine counts in 32 bits, which are seven weeks.
    if ms == 0 || ms > u64::from(u32::MAX) {
        return Err("expected a time between 1ms and 1193h".into());
    }
    Ok(Duration::from_millis(ms))
}

/// What a whole is divided into.
const FRACTION: u64 = 1_000_000_000;

/// What follows the point at the start, in parts of [`FRACTION`], and what follows that. No point is none of
/// it; `None` is a point without digits, or with too many of them.
fn fraction(text: &str) -> Option<(u64, &str)> {
    let Some(digits) = text.strip_prefix('.') else { return Some((0, text)) };
    let (number, tail) = split(digits);
    let count = (digits.len() - tail.len()) as u32;
    Some((number? * (FRACTION / 10u64.checked_pow(count).filter(|whole| *whole <= FRACTION)?), tail))
}

/// The digits at the start and what follows them.
fn split(text: &str) -> (Option<u64>, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].parse().ok(), &text[end..])
}

/// Bytes in at most four digits and a unit, rounded up as `df -h` does.
pub fn human(bytes: u64) -> String {
    let mut unit = 0;
    let mut tenths = u128::from(bytes) * 10;
    while tenths > 10 * 1023 {
        tenths = tenths.div_ceil(1024);
        unit += 1;
    }
    let letter = ["", "K", "M", "G", "T", "P", "E"][unit];
    if unit == 0 || tenths >= 100 {
        format!("{}{letter}", tenths.div_ceil(10))
    } else {
        format!("{}.{}{letter}", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in
            [("0", 0), ("512", 512), ("4K", 4096), ("4kib", 4096), ("1M", 1 << 20), ("2GB", 2 << 30)]
        {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "K", "-1", "1.5M", "1T", "1 K", "99999999999999999999", "18446744073709551615K"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn pages_are_powers_of_two() {
        assert_eq!(page_size("512"), Ok(512));
        assert_eq!(page_size("1M"), Ok(1 << 20));
        for text in ["0", "256", "1000", "3K", "2M"] {
            assert!(page_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations() {
        for (text, ms) in [
            ("10", 10_000),
            ("10s", 10_000),
            ("500ms", 500),
            ("2h30m", 9_000_000),
            ("1m1s", 61_000),
            ("1.5s", 1500),
            ("0.25", 250),
            ("1.5m0.5s", 90_500),
            ("0.999999999h", 3_599_999),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in [
            "",
            "0",
            "s",
            "10x",
            "1m30",
            "-1",
            "1.s",
            ".5s",
            "1.5.5s",
            "0.0001s",
            "1.0000000000s",
            "2000h",
            "99999999999999999999",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bytes_for_people() {
        for (bytes, text) in [
            (0, "0"),
            (1023, "1023"),
            (1024, "1.0K"),
            (1025, "1.1K"),
            (10 * 1024, "10K"),
            (1_048_575, "1.0M"),
            (5 << 30, "5.0G"),
            (u64::MAX, "16E"),
        ] {
            assert_eq!(human(bytes), text);
        }
    }
}
