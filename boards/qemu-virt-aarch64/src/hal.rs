//! The machine: QEMU's `virt`. All unsafe code of this board is below here.

mod cpu;
mod memory;
mod mmu;
mod net;

pub use cpu::{microseconds, random};
pub use memory::{image, paint_stack, stack_high_water, stack_len};
pub use mmu::{GRANULE, granule_in_use};
pub use net::Net;

/// Reads a system register. Only for registers that reading changes nothing of.
macro_rules! register {
    ($name:literal) => {{
        let value: u64;
        // SAFETY: a register that has no side effects is read, at an exception level that may read it.
        unsafe {
            core::arch::asm!(concat!("mrs {}, ", $name), out(reg) value, options(nomem, nostack, preserves_flags));
        }
        value
    }};
}
use register;
