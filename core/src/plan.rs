//! From what is wanted and what is allowed to the next request. Pure: nothing is remembered here.

use crate::limits::{REQUEST_LEN_MIN, SHARES};
use crate::segment::Extent;

/// What bounds a read. All lengths in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Limits {
    /// The longest read the server accepts.
    pub read_len_max: u32,
    /// What may be asked right now, in all.
    pub allowance: u64,
    /// What may be in flight in all once every reply has come back.
    pub allowance_total: u64,
}

/// How long each request of a read should be: as long as the server permits, and so that [`SHARES`] of them, or as many as there are
/// `slots`, fill `window` bytes of pages or take all of the allowance. The page size has no part in it.
///
/// 0 if the server allows nothing: then no read is possible.
pub fn request_len(window: u64, slots: usize, limits: &Limits) -> u32 {
    let shares = slots.clamp(1, SHARES) as u64;
    // Rounded up; and by no division of which the linker keeps that it might be one by zero.
    let most = window.min(limits.allowance_total.max(1)).saturating_add(shares.saturating_sub(1));
    let share = most.checked_div(shares).unwrap_or(most);
    let granule = u64::from(REQUEST_LEN_MIN);
    // Whole granules, so that no request pays for a granule and uses a part of it.
    let whole = share.div_ceil(granule).saturating_mul(granule);
    whole.min(u64::from(limits.read_len_max)) as u32
}

/// The next extent to ask for, from `from` towards `until` (exclusive), at most `request_len` long and within the
/// allowance. `None` if nothing is wanted or nothing is allowed now.
pub fn next(from: u64, until: u64, request_len: u32, limits: &Limits) -> Option<Extent> {
    let wanted = until.saturating_sub(from);
    let len = wanted.min(u64::from(request_len)).min(u64::from(limits.read_len_max)).min(limits.allowance);
    (len > 0).then_some(Extent { offset: from, len: len as u32 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB64: u64 = 64 * 1024;

    fn limits(read_len_max: u32) -> Limits {
        Limits { read_len_max, allowance: u64::MAX, allowance_total: u64::MAX }
    }

    #[test]
    fn extents_cover_the_range_without_gap_or_overlap_for_every_small_case() {
        for from in 0..6 {
            for until in 0..12 {
                for request in 1..5 {
                    for max in 1..5 {
                        let mut at = from;
                        while let Some(extent) = next(at, until, request, &limits(max)) {
                            assert_eq!(extent.offset, at);
                            assert!(extent.len >= 1 && extent.len <= request.min(max));
                            at = extent.end();
                        }
                        assert_eq!(at, from.max(until));
                    }
                }
            }
        }
    }

    #[test]
    fn the_request_length_follows_the_server_and_never_the_page() {
        let window = 4 << 20;
        assert_eq!(request_len(window, 4, &limits(8 << 20)), 1 << 20);
        assert_eq!(request_len(window, 64, &limits(8 << 20)), 1 << 20);
        assert_eq!(request_len(window, 2, &limits(8 << 20)), 2 << 20);
        assert_eq!(request_len(window, 4, &limits(65536)), 65536);
        assert_eq!(request_len(window, 4, &limits(4095)), 4095);
        assert_eq!(request_len(4096, 8, &limits(8 << 20)), 65536);
    }

    #[test]
    fn few_credits_make_requests_smaller_rather_than_lock_step() {
        let limits = Limits { read_len_max: 8 << 20, allowance: 16 * KIB64, allowance_total: 16 * KIB64 };
        assert_eq!(request_len(8 << 20, 8, &limits), 4 * KIB64 as u32);
    }

    #[test]
    fn no_allowance_or_a_server_that_reads_nothing_asks_nothing() {
        assert_eq!(next(0, 10, 10, &Limits { allowance: 0, ..limits(10) }), None);
        assert_eq!(next(0, 10, 10, &limits(0)), None);
        assert_eq!(request_len(1 << 20, 4, &limits(0)), 0);
        assert_eq!(next(u64::MAX, 3, 10, &limits(10)), None);
    }
}
