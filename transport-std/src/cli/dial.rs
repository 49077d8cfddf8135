//! How a connection to a server is made: what it is asked as, from where, and with what options.

use super::budget::Memory;
use super::connection::{Connection, Dial};
use super::failure::{Cause, Failure};
use super::safe;
use super::spoken::Spoken;
use super::target::{Exports, Share, Target, Who};
use pagewire::nfs::rpc::{AuthSys, Credential};
use pagewire::nfs::{self, Nfs3, Nfs4, nfs4};
use pagewire::smb::filetime::FileTime;
use pagewire::smb::{Config, Entropy, Identity, Policy, Smb};
use pagewire_std::{Source, Tcp};
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A server that is to be connected to, whatever is spoken with it. Nothing is said to it yet.
pub struct Call<'m> {
    pub memory: &'m mut Memory,
    pub target: &'m Target,
    /// For the TCP connection.
    pub timeout: Duration,
}

/// What tells one NFS 4 connection from all others. A server would take a second one of the same name for the first one
/// started anew, and end that.
pub type Owner = [u8; 16];

impl<'m> Call<'m> {
    pub fn smb(self, share: &'m Share, password: &'m str) -> Result<Connection<'m, Smb<'m>>, Failure> {
        let (target, timeout) = (self.target, self.timeout);
        let dial = move || {
            let entropy = random(target).map(Entropy::from_bytes)?;
            let smb = Smb::new(smb_config(&target.host, share, password, entropy));
            Ok((smb, reach::<Smb>(target, (Source::Any, share.port), timeout)?))
        };
        self.connect(target.to_string(), Box::new(dial))
    }

    /// As much of `path` is to be mounted as can be.
    pub fn nfs3(self, exports: &'m Exports, path: &'m str) -> Result<Connection<'m, Nfs3<'m>>, Failure> {
        let (target, timeout) = (self.target, self.timeout);
        let dial = move || {
            let config = nfs::Config {
                credential: credential(exports),
                nfs_port: exports.nfs_port,
                mount_port: exports.mount_port,
                ..nfs::Config::new(path, random(target).map(u32::from_le_bytes)?)
            };
            let from_and_to = (source(exports), Nfs3::first_port(&config));
            Ok((Nfs3::new(config), reach::<Nfs3>(target, from_and_to, timeout)?))
        };
        self.connect(format!("{target}{}", safe::text(path)), Box::new(dial))
    }

    /// Nothing is mounted. `owner` is where the name of the connection is kept.
    pub fn nfs4(
        self,
        exports: &'m Exports,
        minor: Option<u32>,
        owner: &'m mut Owner,
    ) -> Result<Connection<'m, Nfs4<'m>>, Failure> {
        let (target, timeout) = (self.target, self.timeout);
        *owner = random(target)?;
        let owner = &*owner;
        let dial = move || {
            let xid = random(target).map(u32::from_le_bytes)?;
            let known = nfs4::Config::new(owner, [0; 8], xid);
            let config = nfs4::Config { credential: credential(exports), minor, ..known };
            let from_and_to = (source(exports), exports.nfs_port.unwrap_or(nfs4::PORT));
            Ok((Nfs4::new(config), reach::<Nfs4>(target, from_and_to, timeout)?))
        };
        self.connect(target.to_string(), Box::new(dial))
    }

    fn connect<P: Spoken>(self, place: String, dial: Dial<'m, P>) -> Result<Connection<'m, P>, Failure> {
        let tried = format!("connecting to {place}");
        match dial() {
            Ok(made) => Connection::new(self.memory, self.target, place, made, dial),
            Err(failure) => Err(Failure { tried, ..failure }),
        }
    }
}

fn credential(exports: &Exports) -> Credential<'_> {
    let (machine_name, gids) = (exports.machine_name.as_str(), exports.gids.as_slice());
    Credential::Sys(AuthSys { stamp: 0, machine_name, uid: exports.uid, gid: exports.gid, gids })
}

fn source(exports: &Exports) -> Source {
    if exports.privileged { Source::Privileged } else { Source::Any }
}

fn random<const LEN: usize>(target: &Target) -> Result<[u8; LEN], Failure> {
    let random = pagewire_std::random();
    random.map_err(|error| Failure::new(format!("connecting to {target}"), Cause::Local(error)))
}

/// A TCP connection to the server.
fn reach<P: Spoken>(
    target: &Target,
    (source, port): (Source, u16),
    timeout: Duration,
) -> Result<Tcp, Failure> {
    Tcp::connect_from(source, &target.host, port, timeout).map_err(|error| {
        let cause = match error.kind() {
            io::ErrorKind::PermissionDenied if source == Source::Privileged => {
                Cause::Usage("only root may connect from a port below 1024".into())
            }
            _ => Cause::Network(error),
        };
        Failure { wire: P::WIRE, ..Failure::new(format!("connecting to {target}"), cause) }
    })
}

fn smb_config<'m>(host: &'m str, share: &'m Share, password: &'m str, entropy: Entropy) -> Config<'m> {
    let identity = match &share.who {
        Who::Named { domain, user } => {
            Identity::Named { domain: domain.as_deref().unwrap_or(""), user, password }
        }
        Who::Guest => Identity::Guest,
        Who::Anonymous => Identity::Anonymous,
    };
    let policy = |always| if always { Policy::Always } else { Policy::IfNeeded };
    Config {
        dialects: share.dialects,
        sign: policy(share.sign),
        seal: policy(share.seal),
        filetime: filetime(),
        ..Config::new(host, &share.name, identity, entropy)
    }
}

/// The time now; 0, which is "unknown", if the clock of the system is out of its mind.
fn filetime() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    FileTime::from_unix(seconds, now.subsec_nanos()).unwrap_or(FileTime::NONE).0
}
