//! A model SMB2/3 server for tests: in memory, sans I/O, deterministic.
//!
//! Bytes of a client go in, bytes of the server come out. There is no thread, no clock and no randomness: the
//! same [`Config`] and the same input give the same output. It is right by default, and every [`Lie`] in
//! [`Config::lies`] makes it wrong in exactly one way.
//!
//! It shares no code with the engine it tests: a mistake made twice in the same way would be invisible.
//!
//! ```
//! use pagewire_model::{Command, Config, Model, Tree};
//!
//! let tree = Tree::new().file("docs/hello.txt", "hello").pattern("big.bin", 5 << 30);
//! let mut model = Model::new(Config { tree, ..Config::default() });
//! model.input(&[0, 0, 0]); // any chunking: here, not even one frame
//! assert!(model.output().is_empty());
//! assert_eq!(model.requests(Command::Negotiate), 0);
//! ```

#![forbid(unsafe_code)]

mod account;
mod arrange;
mod assemble;
#[cfg(test)]
mod client;
mod close;
mod command;
mod config;
mod connection;
mod create;
mod credits;
mod entropy;
mod forge;
mod header;
mod ioctl;
mod kdf;
mod lease;
mod lie;
mod listing;
mod model;
mod negotiate;
mod ntlm;
mod oplock_break;
mod query_allocated_ranges;
mod query_directory;
mod query_info;
mod read;
mod seal;
mod session;
mod session_setup;
mod sign;
mod spnego;
mod status;
#[cfg(test)]
mod tests;
mod tree;
mod tree_connect;
mod wire;

pub use account::Record;
pub use command::Command;
pub use config::{Cipher, Config, Dialect, Sealing, Signing};
pub use lie::Lie;
pub use model::Model;
pub use status::Status;
pub use tree::{Content, Kind, Node, Tree, pattern};
