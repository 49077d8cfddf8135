//! The time since [`start`], from CMSDK APB timer 0: 32 bits that count down at 25 MHz.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use smoltcp::time::Instant;

const CTRL: *mut u32 = 0x4000_0000 as *mut u32;
const VALUE: *mut u32 = 0x4000_0004 as *mut u32;
const RELOAD: *mut u32 = 0x4000_0008 as *mut u32;
const TICKS_PER_US: u64 = 25;

/// How often the timer went round, and what it showed last.
static ROUNDS: AtomicU32 = AtomicU32::new(0);
static LAST: AtomicU32 = AtomicU32::new(0);

/// Starts the timer. Once, before anything asks for the time.
pub fn start() {
    // SAFETY: these are registers of a timer that only this module uses, and writing them has no effect on memory.
    unsafe {
        RELOAD.write_volatile(u32::MAX);
        VALUE.write_volatile(u32::MAX);
        CTRL.write_volatile(1);
    }
}

/// The time. It must be asked for at least once in 171 s, from one place: the timer's rounds are seen here and no interrupt counts
/// them.
pub fn now() -> Instant {
    // SAFETY: as above, and reading has no effect at all.
    let ticks = !unsafe { VALUE.read_volatile() };
    if ticks < LAST.load(Relaxed) {
        ROUNDS.store(ROUNDS.load(Relaxed) + 1, Relaxed);
    }
    LAST.store(ticks, Relaxed);
    let ticks = u64::from(ROUNDS.load(Relaxed)) << 32 | u64::from(ticks);
    Instant::from_micros((ticks / TICKS_PER_US) as i64)
}
