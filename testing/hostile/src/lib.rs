//! What a server may do to the engine, and what must come of it.
//!
//! Everything happens in memory: no socket, no thread, and a clock that is told. A [`Session`] drives the engine over
//! a [`Link`], which is the model server ([`Scene`]) or a recorded conversation ([`Tape`]). What every run owes, whatever
//! the server does, is asserted where it runs and not in the tests:
//!
//! - it ends within [`STEPS_MAX`] steps, and no window or transmission is empty;
//! - a step after the end gives the same again, and a fatal error stays for every other operation;
//! - pages hold no byte that was not verified once an operation has failed;
//! - no run of bytes, entry or attribute is lent that is not in the tree ([`Scene`]).

#![forbid(unsafe_code)]

mod conversation;
mod recorded;
mod scene;
mod session;
mod setup;
mod story;
mod tape;

pub use conversation::{Conversation, Recorder, Side};
pub use recorded::{RECORDED, Recorded};
pub use scene::{Played, Scene};
pub use session::{Heard, Link, STEPS_MAX, Session};
pub use setup::Setup;
pub use story::{Program, Story};
pub use tape::{Chunks, Tape};
