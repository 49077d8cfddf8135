//! How deep the stack has been: all below it is painted, and the paint that is left is counted.

use core::ops::Range;
use cortex_m::register::msp;

const PAINT: u32 = 0xC0DE_FACE;

/// The largest frame of [`paint`] itself and of what an interrupt could put below it.
const MARGIN: usize = 256;

/// From the end of the statics to where the stack starts.
fn region() -> Range<usize> {
    unsafe extern "C" {
        static _stack_start: u32;
    }
    cortex_m_rt::heap_start() as usize..&raw const _stack_start as usize
}

/// Bytes of statics: what lies in RAM below the stack. `ram` is where RAM starts.
pub fn statics_len(ram: usize) -> usize {
    region().start - ram
}

/// Paints everything below the caller's frame.
pub fn paint() {
    let end = msp::read() as usize - MARGIN;
    for at in (region().start..end).step_by(4) {
        // SAFETY: between the statics and the stack nothing is kept, there is no heap, and the region starts at a word.
        unsafe { (at as *mut u32).write_volatile(PAINT) }
    }
}

/// The most bytes that the stack has taken since [`paint`].
pub fn high_water() -> usize {
    let region = region();
    // SAFETY: as above; reading what nobody uses.
    let is_painted = |at: &usize| unsafe { (*at as *const u32).read_volatile() } == PAINT;
    let deepest = region.clone().step_by(4).find(|at| !is_painted(at)).unwrap_or(region.end);
    region.end - deepest
}
