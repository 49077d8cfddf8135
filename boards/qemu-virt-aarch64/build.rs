//! The link script: aarch64-rt's, and where memory is.

fn main() {
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    println!("cargo::rustc-link-arg=-Timage.ld");
    println!("cargo::rustc-link-arg=-T{here}/memory.ld");
    println!("cargo::rerun-if-changed=memory.ld");
}
