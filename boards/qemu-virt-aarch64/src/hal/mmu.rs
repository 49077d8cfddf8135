//! Translation: everything where it is, through one static table that aarch64-rt switches on before any Rust code runs.
//!
//! With 36 bits of address one table of blocks is enough at every granule (Arm ARM, D8.2): 64 of 1 GiB at level 1 with
//! 4 KiB, 2048 of 32 MiB at level 2 with 16 KiB, 128 of 512 MiB at level 2 with 64 KiB.

use super::register;
use aarch64_rt::{DEFAULT_MAIR, DEFAULT_SCTLR, DEFAULT_TCR, enable_mmu};

const CHOICES: [bool; 3] =
    [cfg!(feature = "granule-4k"), cfg!(feature = "granule-16k"), cfg!(feature = "granule-64k")];
const _: () = assert!(
    CHOICES[0] as u8 + CHOICES[1] as u8 + CHOICES[2] as u8 == 1,
    "choose one: --features granule-4k, granule-16k or granule-64k"
);

/// The translation granule, in bytes.
pub const GRANULE: usize = match CHOICES {
    [true, ..] => 4 << 10,
    [_, true, _] => 16 << 10,
    _ => 64 << 10,
};

const ADDRESS_BITS: u32 = 36;

/// TCR_EL1.TG0, and how many bits of an address one block covers.
const GRANULE_AND_BLOCK: (u64, u32) = match GRANULE {
    0x1000 => (0b00, 30),
    0x4000 => (0b10, 25),
    _ => (0b01, 29),
};
const TG0: u64 = GRANULE_AND_BLOCK.0;
const BLOCK_BITS: u32 = GRANULE_AND_BLOCK.1;

const TG0_SHIFT: u32 = 14;
const TCR: u64 = DEFAULT_TCR & !(0b11 << TG0_SHIFT | 0x3F) | TG0 << TG0_SHIFT | (64 - ADDRESS_BITS as u64);

/// A block that is there, with the access flag set.
const BLOCK: u64 = 1 | 1 << 10;
/// Of MAIR's first kind (device), where no instruction is ever fetched.
const DEVICE: u64 = BLOCK | 1 << 53 | 1 << 54;
/// Of MAIR's second kind (write-back), inner shareable.
const MEMORY: u64 = BLOCK | 1 << 2 | 0b11 << 8;

/// `virt` has its devices below this, and its RAM from here on.
const RAM: u64 = 1 << 30;
const RAM_END: u64 = 2 << 30;

/// Aligned to its own size at every granule, and to the 4 KiB that `enable_mmu` takes for granted.
#[repr(C, align(16384))]
struct Table([u64; 1 << (ADDRESS_BITS - BLOCK_BITS)]);

static TABLE: Table = {
    let mut table = [0; 1 << (ADDRESS_BITS - BLOCK_BITS)];
    let mut block = 0;
    while (block as u64) << BLOCK_BITS < RAM_END {
        let address = (block as u64) << BLOCK_BITS;
        table[block] = address | if address < RAM { DEVICE } else { MEMORY };
        block += 1;
    }
    Table(table)
};
enable_mmu!(TABLE, DEFAULT_MAIR, DEFAULT_SCTLR, TCR);

/// The granule that the processor says it uses, in bytes. `None` if translation or a cache is off.
pub fn granule_in_use() -> Option<usize> {
    const ON: u64 = 1 << 0 | 1 << 2 | 1 << 12; // SCTLR_EL1.M, C and I
    let granule = match register!("tcr_el1") >> TG0_SHIFT & 0b11 {
        0b00 => 4 << 10,
        0b01 => 64 << 10,
        _ => 16 << 10,
    };
    (register!("sctlr_el1") & ON == ON).then_some(granule)
}
