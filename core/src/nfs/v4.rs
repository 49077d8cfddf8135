//! NFS version 4: minor versions 0 (RFC 7530), 1 (RFC 8881) and 2 (RFC 7862). Pure encoders and decoders.
//!
//! One operation one file; `compound` is what they travel in, `scan` tells where the file data of a reply starts
//! while it comes in. Every `Args::encode` appends an operation to [`Ops`], every `decode` reads what follows
//! `NFS4_OK` in a result. A `REPLY_HEAD_MAX` counts the opcode and the status of a result too, so that a reply is the
//! sum of them and [`compound::REPLY_HEAD_MAX`].

pub mod access;
pub mod bitmap;
#[cfg(test)]
mod captured;
pub mod close;
pub mod compound;
pub mod create_session;
pub mod destroy_clientid;
pub mod destroy_session;
pub mod exchange_id;
pub mod fattr4;
pub mod fh;
pub mod fs_locations;
pub mod getattr;
pub mod getfh;
pub mod limits;
pub mod lookup;
pub mod op;
pub mod open;
pub mod open_confirm;
pub mod putfh;
pub mod putrootfh;
pub mod read;
pub mod read_plus;
pub mod readdir;
pub mod readlink;
pub mod reclaim_complete;
pub mod renew;
pub mod scan;
pub mod seek;
pub mod sequence;
pub mod setclientid;
pub mod setclientid_confirm;
pub mod stateid;
pub mod status;
#[cfg(test)]
mod testing;

pub use bitmap::Bitmap;
pub use compound::{Ops, Results};
pub use fattr4::Fattr4;
pub use fh::Fh;
pub use op::Op;
pub use stateid::Stateid;
pub use status::Status;
