//! Tests on the processor itself, each in a machine of its own.
#![no_std]
#![no_main]

use cortex_m as _; // its critical section

mod recorded;

#[panic_handler]
fn panic(panic: &core::panic::PanicInfo<'_>) -> ! {
    semihosting::eprintln!("{panic}");
    semihosting::process::abort()
}

#[embedded_test::tests]
mod tests {
    use crate::recorded;
    use cortex_m::peripheral::CPUID;
    use mps2::lan9118::{Error, Lan9118};
    use mps2::{clock, lan9118_base, stack};
    use sha2::{Digest, Sha256};

    fn base() -> usize {
        // SAFETY: CPUID has an effect on nothing, whoever else reads it.
        lan9118_base(unsafe { (*CPUID::PTR).base.read() })
    }

    #[test]
    fn the_ethernet_controller_says_what_it_is_and_has_an_address() {
        // SAFETY: that is where it is, and nobody else in this machine uses it.
        let device = unsafe { Lan9118::new(base()) }.unwrap();
        assert_eq!(device.id() >> 16, 0x0118);
        assert_eq!(device.mac()[..3], [0x52, 0x54, 0x00], "QEMU's own");
    }

    #[test]
    fn what_is_no_ethernet_controller_is_told_apart() {
        // SAFETY: RAM that nobody writes to can be read.
        let outcome = unsafe { Lan9118::new(0x2020_0000) };
        assert!(matches!(outcome, Err(Error::ByteTest(_))));
    }

    #[test]
    fn the_clock_goes_on_and_never_back() {
        clock::start();
        let begin = clock::now();
        let mut last = begin;
        while last.total_millis() < begin.total_millis() + 5 {
            let now = clock::now();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn the_paint_tells_how_deep_the_stack_has_been() {
        #[inline(never)]
        fn deep() -> usize {
            core::hint::black_box([1u8; 10_000]).iter().map(|byte| usize::from(*byte)).sum()
        }
        stack::paint();
        let before = stack::high_water();
        assert_eq!(deep(), 10_000);
        let after = stack::high_water();
        assert!(after >= before + 9_000, "{before} then {after}");
    }

    #[test]
    fn sha_256_is_that_of_fips_180() {
        let digest = Sha256::digest(b"abc");
        assert_eq!(digest[..8], [0xBA, 0x78, 0x16, 0xBF, 0x8F, 0x01, 0xCF, 0xEA]);
    }

    #[test]
    fn a_recorded_conversation_that_is_signed_is_had_again() {
        recorded::replay_signed();
    }

    #[test]
    fn a_recorded_conversation_that_is_sealed_is_had_again() {
        recorded::replay_sealed();
    }
}
