//! Where memory is, and which link scripts who needs.

use std::path::PathBuf;
use std::{env, fs};

/// Arm application notes 385, 386 and 500: two banks of 4 MiB each are used as ROM and RAM.
const MEMORY: &str = "MEMORY
{
    FLASH : ORIGIN = 0x00000000, LENGTH = 4M
    RAM : ORIGIN = 0x20000000, LENGTH = 4M
}
";

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("memory.x"), MEMORY).expect("the build directory can be written");
    println!("cargo:rustc-link-search={}", out.display());
    println!("cargo:rustc-link-arg-bins=-Tdefmt.x");
    println!("cargo:rustc-link-arg-tests=-Tembedded-test.x");
    println!("cargo:rerun-if-changed=build.rs");
}
