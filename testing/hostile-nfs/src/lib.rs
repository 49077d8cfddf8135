//! What an NFS server may do to the engine, and what must come of it.
//!
//! Everything happens in memory. A [`Session`](pagewire_line::Session) drives the engine over a [`Line`] to a model
//! server with encoders of its own: [`v3`] or [`v4`], which have the files ([`Tree`]) and how they speak RPC ([`Rpc`]) in
//! common. What every run owes, whatever the server does, is asserted where it runs and not in the tests:
//!
//! - what [`pagewire_line`] asserts;
//! - pages hold no more bytes than were received for them once an operation has failed;
//! - no byte, entry or attribute is lent that is not what the tree has at that place ([`scene`]).

#![forbid(unsafe_code)]

mod fetched;
mod layout;
mod lent;
mod rpc;
pub mod scene;
mod story;
mod tree;
pub mod v3;
pub mod v4;
mod xdr;

pub use fetched::{Came, fetch};
pub use layout::{Layout, Run, Segment};
pub use lent::Lent;
pub use pagewire_line::{Chunks, Heard, Line, Link};
pub use rpc::{Counts, Fragments, Lie, Manner, Place, Rpc, Sent, Told};
pub use scene::refused;
pub use story::{Program, Story};
pub use tree::{Kind, Node, Tree};
pub use xdr::{Args, Xdr};
