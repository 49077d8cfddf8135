//! The engine over a line in memory: no socket, no thread, and a clock that is told.
//!
//! A [`Session`] drives any protocol over any [`Link`]; a [`Line`] is a link that cuts another's bytes into pieces,
//! breaks, or changes a bit. What every run owes, whatever the server does, is asserted where it runs and not in the tests:
//!
//! - it ends within [`STEPS_MAX`] steps, and no window or transmission is empty;
//! - a step after the end gives the same again, and a fatal error stays for every other operation.

#![forbid(unsafe_code)]

mod link;
mod session;

pub use link::{Chunks, Heard, Line, Link};
pub use session::{STEPS_MAX, Session};
