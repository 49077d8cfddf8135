//! What a server may do to the engine, and what must come of it.
//!
//! A [`Session`] drives the engine over a [`Link`] in memory, which is the model server ([`Scene`]) or a recorded
//! conversation ([`Tape`]). What every run owes, whatever the server does, is asserted where it runs and not in the tests:
//!
//! - what [`pagewire_line`] asserts;
//! - pages hold no byte that was not verified once an operation has failed;
//! - no run of bytes, entry or attribute is lent that is not in the tree ([`Scene`]).

#![forbid(unsafe_code)]

mod conversation;
mod recorded;
mod scene;
mod setup;
mod story;
mod tape;

pub use conversation::{Conversation, Recorder, Side};
pub use pagewire_line::{Chunks, Heard, Line, Link};
pub use recorded::{RECORDED, Recorded};
pub use scene::{Played, Scene, Server};
pub use setup::Setup;
pub use story::{Program, Story};
pub use tape::Tape;

/// An engine that speaks SMB, and its link.
pub type Session<'s, L> = pagewire_line::Session<'s, pagewire::smb::Smb<'s>, L>;
