//! What the tests against real servers share: where the servers are, a session, digests, what a process cost.
//!
//! `testing/servers/run -- cargo test -p pagewire-interop --release` starts the servers. Without them a test prints
//! why it did nothing.

pub mod command;
pub mod cut;
mod holes;
pub mod namespace;
pub mod tap;
pub mod usage;

pub use holes::extents;

use pagewire::blocking::{self, Failure, FileReader};
use pagewire::nfs::rpc::{AuthSys, Credential};
use pagewire::nfs::{self, Nfs3, Nfs4, nfs4};
use pagewire::operation::{Item, Operation};
use pagewire::protocol::Protocol;
use pagewire::smb::{Config, Dialects, Entropy, Identity, Policy, Smb};
use pagewire::storage::StorageArray;
use pagewire::{Client, Connect, Content, File, List, Map, MapSegment, Open, Pages, Read, Sink, Stream};
use pagewire_std::{MonotonicClock, Tcp, random};
use sha2::{Digest, Sha256};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The login of the servers.
pub const USER: Identity<'static> = Identity::Named { domain: "", user: "lab", password: "lab-password" };
/// Nobody in particular.
pub const GUEST: Identity<'static> = Identity::Guest;

/// The servers, for one test at a time: Samba 4.17 may panic where several connections open and close the same files at once
/// ("Could not store share mode data"), and what others have open would be counted.
#[derive(Clone, Debug)]
pub struct Lab {
    _alone: Rc<MutexGuard<'static, ()>>,
    /// Samba as it comes, `HOST:PORT`.
    pub samba: String,
    /// Its configuration, for `smbstatus`. The share `scratch`, which may be changed, is the directory of that name beside it.
    pub samba_conf: PathBuf,
    /// With signing mandatory.
    pub signed: String,
    /// With reads of 64 KiB at most and 16 credits.
    pub tight: String,
    /// What the shares show.
    pub files: PathBuf,
    /// NFS-Ganesha, `HOST:NFSPORT:MOUNTPORT`, if it was asked for.
    pub ganesha: Option<String>,
    /// Linux nfsd, likewise.
    pub nfsd: Option<String>,
    /// Linux ksmbd, `HOST:PORT`, likewise.
    pub ksmbd: Option<String>,
}

impl Lab {
    /// `None`, and a line that says so, where no servers were started.
    pub fn find() -> Option<Lab> {
        let get = |name| {
            let value = std::env::var(name);
            value
                .inspect_err(|_| println!("skipped: {name} is not set; testing/servers/run starts servers"))
                .ok()
        };
        let optional = |name| std::env::var(name).ok();
        static ALONE: Mutex<()> = Mutex::new(());
        Some(Lab {
            _alone: Rc::new(ALONE.lock().unwrap_or_else(PoisonError::into_inner)),
            samba: get("PAGEWIRE_SAMBA")?,
            samba_conf: get("PAGEWIRE_SAMBA_CONF")?.into(),
            signed: get("PAGEWIRE_SAMBA_SIGNED")?,
            tight: get("PAGEWIRE_SAMBA_TIGHT")?,
            files: get("PAGEWIRE_TEST_FILES")?.into(),
            ganesha: optional("PAGEWIRE_GANESHA"),
            nfsd: optional("PAGEWIRE_NFSD"),
            ksmbd: optional("PAGEWIRE_KSMBD"),
        })
    }

    /// The digests that `SHA256SUMS` gives, by name.
    pub fn sums(&self) -> Vec<(String, String)> {
        let sums = std::fs::read_to_string(self.files.join("SHA256SUMS")).expect("SHA256SUMS is readable");
        let line = |line: &str| {
            let (sum, name) = line.split_once("  ").expect("a sum and a name");
            (name.trim_start_matches("./").to_owned(), sum.to_owned())
        };
        sums.lines().map(line).collect()
    }
}

/// How to connect.
#[derive(Clone, Debug)]
pub struct Options {
    /// `HOST:PORT`.
    pub address: String,
    /// The share.
    pub share: &'static str,
    /// As whom.
    pub identity: Identity<'static>,
    /// What is offered.
    pub dialects: Dialects,
    /// What is offered, if not everything.
    pub ciphers: Option<u16>,
    /// What is offered, if not everything.
    pub signing_algorithm: Option<u16>,
    /// Signed always.
    pub sign: Policy,
    /// Sealed always.
    pub seal: Policy,
}

impl Options {
    /// The share `data`, as the user, with everything offered.
    pub fn new(address: &str) -> Options {
        Options {
            address: address.to_owned(),
            share: "data",
            identity: USER,
            dialects: Dialects::ALL,
            ciphers: None,
            signing_algorithm: None,
            sign: Policy::IfNeeded,
            seal: Policy::IfNeeded,
        }
    }
}

/// A connection.
pub struct Session<'s, P: Protocol> {
    /// The engine.
    pub client: Client<'s, P>,
    io: Tcp,
    clock: MonotonicClock,
}

/// A connection to an SMB server.
pub type SmbSession<'s, const KEPT: usize = 0> = Session<'s, Smb<'s, KEPT>>;

/// Why something did not work.
pub type Error = Failure<std::io::Error>;

/// Connects and shows the session to `body`.
pub fn with_session<R>(options: &Options, body: impl FnOnce(&mut SmbSession<'_>) -> R) -> Result<R, Error> {
    with_lent_session::<70_000, R>(options, body)
}

/// The same with so many bytes to receive into.
pub fn with_lent_session<const RX: usize, R>(
    options: &Options,
    body: impl FnOnce(&mut SmbSession<'_>) -> R,
) -> Result<R, Error> {
    with_new_session::<RX, 16, _>(options, |session| {
        session.run(&mut Connect::new()).map(|()| body(session))
    })?
}

/// The same with so many slots, and before anything is sent: the first operation connects.
pub fn with_new_session<const RX: usize, const SLOTS: usize, R>(
    options: &Options,
    body: impl FnOnce(&mut SmbSession<'_>) -> R,
) -> Result<R, Error> {
    with_keeping_session::<0, RX, SLOTS, R>(options, body)
}

/// The same, and so many files are kept open.
pub fn with_keeping_session<const KEPT: usize, const RX: usize, const SLOTS: usize, R>(
    options: &Options,
    body: impl FnOnce(&mut SmbSession<'_, KEPT>) -> R,
) -> Result<R, Error> {
    let (host, port) = options.address.split_once(':').expect("HOST:PORT");
    let mut storage = Box::new(StorageArray::<16_384, RX, SLOTS>::new());
    let entropy = Entropy::from_bytes(random().expect("the system has random bytes"));
    let ciphers = options.ciphers.map(|id| [id]);
    let algorithms = options.signing_algorithm.map(|id| [id]);
    let mut config = Config::new(host, options.share, options.identity, entropy);
    config.dialects = options.dialects;
    config.sign = options.sign;
    config.seal = options.seal;
    if let Some(ciphers) = &ciphers {
        config.ciphers = ciphers;
    }
    if let Some(algorithms) = &algorithms {
        config.signing_algorithms = algorithms;
    }
    let client = Client::new(storage.lend(), Smb::keeping(config)).map_err(Failure::Engine)?;
    let port = port.parse().expect("a port");
    let io = Tcp::connect(host, port, Duration::from_secs(10)).map_err(Failure::Transport)?;
    Ok(body(&mut Session { client, io, clock: MonotonicClock::new() }))
}

/// An ordinary user.
const AUTH_SYS: AuthSys<'static> =
    AuthSys { stamp: 0, machine_name: "interop", uid: 1000, gid: 1000, gids: &[] };

/// Where an NFS server is: `HOST:NFSPORT:MOUNTPORT`, as `testing/servers/run` says it.
pub fn nfs_address(address: &str) -> (&str, u16, u16) {
    let mut parts = address.rsplitn(3, ':');
    let mut port = || parts.next().expect("a port").parse().expect("a port is a number");
    let (mount, nfs) = (port(), port());
    (parts.next().expect("a host"), nfs, mount)
}

/// Mounts as much of `path` as the server lets be mounted and shows the session to `body`.
pub fn with_nfs3<R>(
    address: &str,
    path: &str,
    body: impl FnOnce(&mut Session<'_, Nfs3<'_>>) -> R,
) -> Result<R, Error> {
    with_new_nfs3::<70_000, 16, _>(address, path, |session| {
        session.run(&mut Connect::new())?;
        Ok(body(session))
    })?
}

/// Shows a session to `body` in which nothing was asked yet, with so many bytes for the heads of replies and so many slots.
pub fn with_new_nfs3<const RX: usize, const SLOTS: usize, R>(
    address: &str,
    path: &str,
    body: impl FnOnce(&mut Session<'_, Nfs3<'_>>) -> R,
) -> Result<R, Error> {
    let (host, nfs_port, mount_port) = nfs_address(address);
    let xid = u32::from_le_bytes(random().expect("the system has random bytes"));
    let config = nfs::Config {
        credential: Credential::Sys(AUTH_SYS),
        nfs_port: Some(nfs_port),
        mount_port: Some(mount_port),
        ..nfs::Config::new(path, xid)
    };
    let mut storage = Box::new(StorageArray::<16_384, RX, SLOTS>::new());
    let io =
        Tcp::connect(host, Nfs3::first_port(&config), Duration::from_secs(10)).map_err(Failure::Transport)?;
    let client = Client::new(storage.lend(), Nfs3::new(config)).map_err(Failure::Engine)?;
    let mut session = Session { client, io, clock: MonotonicClock::new() };
    Ok(body(&mut session))
}

/// Connects at a minor version, or at the highest that both have, and shows the session to `body`.
pub fn with_nfs4<R>(
    address: &str,
    minor: Option<u32>,
    body: impl FnOnce(&mut Session<'_, Nfs4<'_>>) -> R,
) -> Result<R, Error> {
    with_new_nfs4::<70_000, 16, _>(address, minor, |session| {
        session.run(&mut Connect::new())?;
        Ok(body(session))
    })?
}

/// Shows a session to `body` in which nothing was asked yet, with so many bytes for the heads of replies and so many slots.
pub fn with_new_nfs4<const RX: usize, const SLOTS: usize, R>(
    address: &str,
    minor: Option<u32>,
    body: impl FnOnce(&mut Session<'_, Nfs4<'_>>) -> R,
) -> Result<R, Error> {
    let (host, port, _) = nfs_address(address);
    // An owner of its own each time: a new verifier under a known name would end the sessions of the one before.
    let owner: [u8; 16] = random().expect("the system has random bytes");
    let xid = random().expect("the system has random bytes");
    let mut config = nfs4::Config::new(&owner, [0; 8], u32::from_le_bytes(xid));
    config.credential = Credential::Sys(AUTH_SYS);
    config.minor = minor;
    let mut storage = Box::new(StorageArray::<16_384, RX, SLOTS>::new());
    let io = Tcp::connect(host, port, Duration::from_secs(10)).map_err(Failure::Transport)?;
    let client = Client::new(storage.lend(), Nfs4::new(config)).map_err(Failure::Engine)?;
    let mut session = Session { client, io, clock: MonotonicClock::new() };
    Ok(body(&mut session))
}

impl<'s, P: Protocol> Session<'s, P> {
    /// Runs an operation that lends nothing of interest.
    pub fn run<O: Operation<P>>(&mut self, op: &mut O) -> Result<O::Output, Error> {
        blocking::run(&mut self.client, &mut self.io, &self.clock, op)
    }

    /// Runs an operation and shows its items to `each`.
    pub fn run_each<O: Operation<P>>(
        &mut self,
        op: &mut O,
        mut each: impl FnMut(Item<'_, P, O>),
    ) -> Result<O::Output, Error> {
        blocking::run_each(&mut self.client, &mut self.io, &self.clock, op, |item| {
            each(item);
            ControlFlow::Continue(())
        })
    }

    /// Opens a file.
    pub fn open(&mut self, path: &str) -> Result<File<P::Handle>, Error> {
        self.run(&mut Open::new(path))
    }

    /// Streams a file through a ring of `PAGES` pages and returns its length and digest.
    pub fn digest<const SIZE: usize>(&mut self, path: &str, pages: usize) -> Result<(u64, String), Error> {
        let file = self.open(path)?;
        let mut memory = vec![[0; SIZE]; pages];
        let mut pages = Pages(&mut memory);
        let mut stream = Stream::new(&file, 0, &mut pages);
        let (mut sha, mut len) = (Sha256::new(), 0);
        let end = self.run_each(&mut stream, |run| {
            sha.update(run.data());
            if let Content::Hole(hole) = run {
                (0..hole.div_ceil(4096)).for_each(|at| {
                    sha.update(&[0; 4096][..(hole - at * 4096).min(4096) as usize]);
                });
            }
            len += run.len();
        })?;
        assert_eq!((end, len), (file.attributes.len, file.attributes.len), "{path}");
        self.run(&mut pagewire::Close::new(&file))?;
        Ok((len, hex(&sha.finalize())))
    }

    /// Reads `len` bytes at `offset` into fresh pages.
    pub fn read<const SIZE: usize>(
        &mut self,
        path: &str,
        offset: u64,
        pages: usize,
    ) -> Result<(Vec<u8>, bool), Error> {
        let file = self.open(path)?;
        let mut memory = vec![[0xAA; SIZE]; pages];
        let filled = self.run(&mut Read::new(&file, offset, &mut Pages(&mut memory)))?;
        let bytes = memory.as_flattened();
        assert!(bytes[filled.len..].iter().all(|byte| *byte == 0), "the tail of the pages is zero");
        Ok((bytes[..filled.len].to_vec(), filled.eof))
    }

    /// A file as `embedded_io` has it.
    pub fn reader<'r>(
        &'r mut self,
        file: &File<P::Handle>,
        pages: &'r mut dyn Sink,
    ) -> FileReader<'r, 's, P, Tcp, MonotonicClock> {
        FileReader::new(&mut self.client, &mut self.io, &self.clock, file, pages)
    }

    /// The map of a file from `from` on.
    pub fn map(&mut self, file: &File<P::Handle>, from: u64) -> Result<Vec<MapSegment>, Error> {
        let mut segments = Vec::new();
        self.run_each(&mut Map::new(file, from), |segment| segments.push(segment))?;
        Ok(segments)
    }

    /// The names of a directory.
    pub fn names(&mut self, path: &str) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        self.run_each(&mut List::new(path), |entry| names.push(entry.name.to_string()))?;
        Ok(names)
    }
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
