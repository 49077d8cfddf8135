//! The protocols of a job, as the engine has them.

use core::fmt;
use pagewire::Protocol;
use pagewire::nfs::rpc::{AuthSys, Credential};
use pagewire::nfs::{self, Nfs3, Nfs4, nfs4};
use pagewire::smb::Smb;

/// As whom NFS is spoken: the server believes it.
pub const AUTH_SYS: Credential<'static> =
    Credential::Sys(AuthSys { stamp: 0, machine_name: "qemu-virt-aarch64", uid: 1000, gid: 1000, gids: &[] });

/// An NFS 3 server of which as much of `path` is to be mounted as can be.
pub fn nfs3(path: &str, nfs_port: u16, mount_port: Option<u16>, random: [u8; 4]) -> nfs::Config<'_> {
    let nfs_port = Some(nfs_port);
    let config = nfs::Config::new(path, u32::from_le_bytes(random));
    nfs::Config { credential: AUTH_SYS, nfs_port, mount_port, ..config }
}

/// An NFS 4 server, to which this client is `owner`.
pub fn nfs4(owner: &[u8; 16], minor: u32, random: [u8; 4]) -> nfs4::Config<'_> {
    let config = nfs4::Config::new(owner, [0; 8], u32::from_le_bytes(random));
    nfs4::Config { credential: AUTH_SYS, minor: Some(minor), ..config }
}

/// A protocol that can say what was negotiated.
pub trait Spoken: Protocol {
    /// In words.
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl Spoken for Smb<'_> {
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SMB {}", self.dialect().map_or("", |dialect| dialect.name()))?;
        match (self.sealing(), self.signing()) {
            (Some(cipher), _) => write!(f, " sealed ({cipher:?})"),
            (None, Some(algorithm)) => write!(f, " signed ({algorithm:?})"),
            (None, None) => Ok(()),
        }
    }
}

impl Spoken for Nfs3<'_> {
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NFS 3")
    }
}

impl Spoken for Nfs4<'_> {
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NFS 4.{}", self.minor().unwrap_or(0))
    }
}

/// What was negotiated, to be printed.
pub struct Description<'a, P>(pub &'a P);

impl<P: Spoken> fmt::Display for Description<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe(f)
    }
}
