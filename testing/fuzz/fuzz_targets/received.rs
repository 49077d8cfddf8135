#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pagewire_sim::fuzz::received(bytes));
