//! Memory as the link script lays it out, and how much of the stack was ever used: it is painted, and what lost its paint
//! was used.

const PAINT: u64 = 0x5041_494E_5441_494E;

/// What is left unpainted below the frame that paints.
const MARGIN: usize = 512;

/// What lies between two symbols of aarch64-rt's link script, as pointers to its first word and behind its last.
macro_rules! between {
    ($begin:ident, $end:ident) => {{
        unsafe extern "C" {
            static mut $begin: u64;
            static mut $end: u64;
        }
        (&raw mut $begin, &raw mut $end)
    }};
}

/// Bytes of code and constants, of variables with initial values, and of variables that begin as zeros.
pub fn image() -> [usize; 3] {
    let spans =
        [between!(text_begin, rodata_end), between!(data_begin, data_end), between!(bss_begin, bss_end)];
    spans.map(|(begin, end)| end as usize - begin as usize)
}

/// The stack, which grows down.
fn stack() -> (*mut u64, *mut u64) {
    between!(boot_stack_begin, boot_stack_end)
}

/// In bytes.
pub fn stack_len() -> usize {
    let (begin, end) = stack();
    end as usize - begin as usize
}

/// To be called first of all.
#[inline(never)]
pub fn paint_stack() {
    let here = 0u64;
    let end = (&raw const here).wrapping_byte_sub(MARGIN);
    let mut word = stack().0;
    while word.cast_const() < end {
        // SAFETY: it lies in the stack, below everything that is in use: the margin is more than this function's frame.
        unsafe { word.write_volatile(PAINT) };
        word = word.wrapping_add(1);
    }
}

/// The most bytes that were in use at one time since it was painted.
pub fn stack_high_water() -> usize {
    let (mut word, end) = stack();
    // SAFETY: it is read only up to the end of the stack.
    while word < end && unsafe { word.read_volatile() } == PAINT {
        word = word.wrapping_add(1);
    }
    end as usize - word as usize
}
