//! Worlds out of a seed: an engine, a link, a server, and a time that only passes where something is waited for.
//!
//! A seed decides everything: protocol, protection and version; what is lent; the server's files, habits and lies; what the
//! link does to which frame, and in what pieces bytes come ([`World`], [`Side`]). Then two phases are run:
//!
//! - **Safety**, with faults and lies. What is lent is right, or the operation fails; pages keep no wrong byte; no run is endless, asks
//!   for more memory than was lent, or panics. Where the link has changed bytes this holds of SMB where it is signed or
//!   sealed, and of nothing else: elsewhere nobody can tell, and only what the engine does itself is judged. Frames that are lost, late,
//!   doubled, replayed or out of order are judged everywhere, and so are lies; no lie is about what is in a file.
//! - **Liveness**, without either, over a new connection (to the server as it was left, if it remembers anything). All that is asked
//!   comes, and is right, without waiting.
//!
//! The same seed gives the same world, on any machine. What fails says how to see it again ([`again`]).

#![forbid(unsafe_code)]

pub mod account;
pub mod dice;
pub mod fuzz;
pub mod nfs;
pub mod noise;
pub mod program;
pub mod side;
pub mod smb;
pub mod world;

pub use account::{Account, Failure, check};
pub use side::{Side, Truth};
pub use world::{Outcome, Twist, World, run};

/// The command that lets the world of a seed happen again.
pub fn again(seed: u64, twist: Twist) -> String {
    let calm = if twist.calm { " --calm" } else { "" };
    let cut = twist.cut.map_or(String::new(), |cut| format!(" --cut {cut}"));
    format!("cargo run -p pagewire-sim --release -- --seed {seed}{calm}{cut}")
}
