//! NFS over TCP: ONC RPC, MOUNT and NFSv3.
//!
//! One message one file: `rpc` is around every message, `portmap` finds ports, `mount` the root of an export, `v3` has the
//! procedures. [`Nfs3`] is the protocol made of them.

pub mod mount;
mod nfs3;
pub mod portmap;
pub mod rpc;
pub mod status;
pub mod v3;
pub mod xdr;

pub use nfs3::{Config, Nfs3, Stage};
