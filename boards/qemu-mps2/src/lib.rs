#![no_std]
//! What the firmware for QEMU's mps2 machines has in common: the hardware as far as a network client needs it, and what it is told.

pub mod clock;
pub mod job;
pub mod lan9118;
pub mod stack;

/// Where the Ethernet controller is: the machine with a Cortex-M7 (an500) has it in another place.
pub fn lan9118_base(cpuid: u32) -> usize {
    const CORTEX_M7: u32 = 0xC27; // CPUID.PartNo (Armv7-M B3.2.3)
    if cpuid >> 4 & 0xFFF == CORTEX_M7 { 0xA000_0000 } else { 0x4020_0000 }
}
