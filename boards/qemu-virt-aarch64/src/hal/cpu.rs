//! The processor: its counter, its random numbers, its exceptions.

use super::register;
use aarch64_rt::{ExceptionHandlers, RegisterStateRef, exception_handlers};

/// How often the processor may have no random number in a row. It has one again in no time, or never.
const RANDOM_TRIES: usize = 1000;

/// The time since some moment.
pub fn microseconds() -> u64 {
    let ticks = u128::from(register!("cntvct_el0"));
    (ticks * 1_000_000 / u128::from(register!("cntfrq_el0"))) as u64
}

/// Random bytes that are good enough for keys: FEAT_RNG of Armv8.5, which QEMU serves with the random numbers of its host.
/// `None` if the processor does not have it.
pub fn random<const LEN: usize>() -> Option<[u8; LEN]> {
    if register!("id_aa64isar0_el1") >> 60 == 0 {
        return None;
    }
    let mut bytes = [0; LEN];
    for chunk in bytes.chunks_mut(8) {
        let word = (0..RANDOM_TRIES).find_map(|_| rndr())?;
        chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
    }
    Some(bytes)
}

/// One reading of RNDR: Z is set, and the value 0, if there is no random number now.
fn rndr() -> Option<u64> {
    let (value, there): (u64, u64);
    // SAFETY: our caller has seen that the register exists. It is named by its encoding, as not every assembler knows it.
    unsafe {
        core::arch::asm!("mrs {}, s3_3_c2_c4_0", "cset {}, ne", out(reg) value, out(reg) there, options(nomem, nostack));
    }
    (there == 1).then_some(value)
}

struct Exceptions;

/// There is none to be expected: interrupts are never enabled.
impl ExceptionHandlers for Exceptions {
    extern "C" fn sync_current(state: RegisterStateRef) {
        let (syndrome, address) = (register!("esr_el1"), register!("far_el1"));
        panic!("exception at {:#x}: ESR_EL1 {syndrome:#x}, FAR_EL1 {address:#x}", state.elr);
    }
}
exception_handlers!(Exceptions);
