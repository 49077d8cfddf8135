//! Pagewire over std sockets: a TCP connection, a clock and random bytes for the engine in `pagewire`.
//!
//! ```no_run
//! use pagewire_std::{MonotonicClock, Tcp};
//! use std::time::Duration;
//!
//! let mut io = Tcp::connect("server.example", 445, Duration::from_secs(10))?;
//! let clock = MonotonicClock::new();
//! // `pagewire::blocking::run(&mut client, &mut io, &clock, &mut operation)` does the rest.
//! # Ok::<(), std::io::Error>(())
//! ```
#![forbid(unsafe_code)]

mod clock;
mod random;
mod tcp;

pub use clock::MonotonicClock;
pub use random::random;
pub use tcp::{RECEIVE_LEN_MAX, Source, TICK, Tcp};
