//! NFS over TCP: ONC RPC, MOUNT and NFSv3, and NFSv4.
//!
//! One message one file: `rpc` is around every message, `portmap` finds ports, `mount` the root of an export, `v3` has the
//! procedures of version 3 and `v4` the operations of version 4. `Nfs3` and `Nfs4` are the protocols made of them.

#[cfg(feature = "nfs3")]
pub mod mount;
#[cfg(feature = "nfs3")]
mod nfs3;
#[cfg(feature = "nfs4")]
pub mod nfs4;
mod path;
#[cfg(feature = "nfs3")]
pub mod portmap;
pub mod rpc;
#[cfg(feature = "nfs3")]
pub mod status;
#[cfg(feature = "nfs3")]
pub mod v3;
#[cfg(feature = "nfs4")]
pub mod v4;
pub mod xdr;

#[cfg(feature = "nfs3")]
pub use nfs3::{Config, Exports, Nfs3, Stage};
#[cfg(feature = "nfs4")]
pub use nfs4::Nfs4;
