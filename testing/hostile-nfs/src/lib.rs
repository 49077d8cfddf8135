//! What an NFS server may do to the engine, and what must come of it.
//!
//! Everything happens in memory: no socket, no thread, and a clock that is told. A [`Session`] drives the engine over
//! a [`Line`] to a [`Model`], which is a port mapper, a MOUNT server and an NFSv3 server on ports of their own, with encoders
//! of its own. What every run owes, whatever the server does, is asserted where it runs and not in the tests:
//!
//! - it ends within [`STEPS_MAX`] steps, and no window or transmission is empty;
//! - a step after the end gives the same again, and a fatal error stays for every other operation;
//! - pages hold no more bytes than were received for them once an operation has failed;
//! - no byte, entry or attribute is lent that is not what the tree has at that place ([`Scene`]).

#![forbid(unsafe_code)]

mod answer;
mod line;
mod model;
mod scene;
mod session;
mod story;
mod tree;
mod xdr;

pub use line::{Chunks, Heard, Line};
pub use model::{Config, Fragments, Lie, Model, Place, Told};
pub use scene::{Played, Scene, refused};
pub use session::{STEPS_MAX, Session};
pub use story::{Program, Story};
pub use tree::{Kind, Node, Tree};
pub use xdr::{Args, Xdr};
