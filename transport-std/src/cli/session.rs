//! One connection to one share: the engine's operations, with errors that say what was tried.

use super::budget::Memory;
use super::failure::{Cause, Failure, Stage};
use super::options::{Target, Who};
use super::stats::Stats;
use super::url::Url;
use pagewire::blocking;
use pagewire::operation::{Item, Operation};
use pagewire::protocol::Protocol;
use pagewire::smb::filetime::FileTime;
use pagewire::smb::seal::Cipher;
use pagewire::smb::sign::SigningAlgorithm;
use pagewire::smb::{Config, Dialect, Entropy, FileId, Identity, Policy, Smb};
use pagewire::{
    Attributes, Client, Close, Connect, Entry, Error, File, List, Open, Refusal, Sink, Space, Stat, Statfs,
    Stream, plan,
};
use pagewire_std::{MonotonicClock, Tcp};
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What the engine calls it when a named user would be a guest.
const NAMED_AS_GUEST: &str = "SMB2_SESSION_FLAG_IS_GUEST";

/// A connection and what drives it.
pub struct Session<'m> {
    client: Client<'m, Smb<'m>>,
    io: Tcp,
    clock: MonotonicClock,
    target: &'m Target,
    /// The transport broke: the engine cannot know.
    cut: bool,
}

impl<'m> Session<'m> {
    /// Connects to the server, and says nothing to it yet.
    pub fn dial(
        memory: &'m mut Memory,
        target: &'m Target,
        password: &'m str,
        timeout: Duration,
    ) -> Result<Self, Failure> {
        let trouble = |cause| Failure::new(format!("connecting to {target}"), cause);
        let engine = |error| trouble(Cause::Engine(error));
        let entropy = pagewire_std::random().map_err(|error| trouble(Cause::Local(error)))?;
        let smb = Smb::new(config(target, password, Entropy::from_bytes(entropy)));
        let mut client = Client::new(memory.lend(), smb).map_err(engine)?;
        client.set_timeout_ms(u32::try_from(target.timeout.as_millis()).unwrap_or(u32::MAX));
        let io = Tcp::connect(&target.host, target.port, timeout);
        let io = io.map_err(|error| trouble(Cause::Network(error)))?;
        Ok(Session { client, io, clock: MonotonicClock::new(), target, cut: false })
    }

    /// Everything up to a usable share.
    pub fn log_in(&mut self) -> Result<(), Failure> {
        let outcome = self.run(&mut Connect::new(), |()| Ok(()));
        outcome.map_err(|cause| self.failure(format!("connecting to {}", self.target), cause))
    }

    /// Opens a file to read it.
    pub fn open(&mut self, url: &Url) -> Result<File<FileId>, Failure> {
        let outcome = self.run(&mut Open::new(&url.path), |()| Ok(()));
        outcome.map_err(|cause| self.failure(format!("opening {url}"), cause))
    }

    /// Shows all bytes of a file to `each`, and gives the offset where it ended.
    pub fn stream(
        &mut self,
        url: &Url,
        file: &File<FileId>,
        ring: &mut dyn Sink,
        each: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<u64, Failure> {
        let outcome = self.run(&mut Stream::new(file, 0, ring), each);
        outcome.map_err(|cause| self.failure(format!("reading {url}"), cause))
    }

    /// Gives a file back. What the server says about it is of no interest.
    pub fn close(&mut self, file: &File<FileId>) {
        let _ = self.run(&mut Close::new(file), |()| Ok(()));
    }

    /// Shows the entries of a directory to `each`.
    pub fn list(&mut self, url: &Url, each: impl FnMut(Entry<'_>) -> io::Result<()>) -> Result<(), Failure> {
        let outcome = self.run(&mut List::new(&url.path), each);
        outcome.map_err(|cause| self.failure(format!("listing {url}"), cause))
    }

    /// The attributes of a file or directory.
    pub fn stat(&mut self, url: &Url) -> Result<Attributes, Failure> {
        let outcome = self.run(&mut Stat::new(&url.path), |()| Ok(()));
        outcome.map_err(|cause| self.failure(format!("asking about {url}"), cause))
    }

    /// The space of the file system that a path is on.
    pub fn statfs(&mut self, url: &Url) -> Result<Space, Failure> {
        let outcome = self.run(&mut Statfs::new(&url.path), |()| Ok(()));
        outcome.map_err(|cause| self.failure(format!("asking for the space of {url}"), cause))
    }

    /// Whether nothing more can be asked of it.
    pub fn is_lost(&self) -> bool {
        self.cut || self.client.failed().is_some()
    }

    /// The bytes of one read with these pages.
    pub fn read_len(&self, ring: &dyn Sink) -> u32 {
        let limits = self.client.protocol().limits();
        plan::request_len(ring.len() as u64, self.client.lent().slots, &limits)
    }

    /// One line about what was negotiated.
    pub fn describe(&self) -> String {
        let smb = self.client.protocol();
        let dialect = smb.dialect().map_or("", Dialect::name);
        let guest = if smb.is_guest() { ", as a guest" } else { "" };
        let protection = match (smb.sealing(), smb.signing()) {
            (Some(cipher), _) => format!("sealed with {}", cipher_name(cipher)),
            (None, Some(signing)) => format!("signed with {}", signing_name(signing)),
            (None, None) => "neither signed nor sealed".to_owned(),
        };
        format!("connected to {}: SMB {dialect}, {protection}{guest}", self.target)
    }

    /// Adds what it has cost to `stats`. Once, at its end.
    pub fn account(&self, stats: &mut Stats) {
        let smb = self.client.protocol();
        stats.dialect = smb.dialect().map(Dialect::name);
        stats.signing = smb.signing().map(signing_name);
        stats.cipher = smb.sealing().map(cipher_name);
        stats.guest = smb.is_guest();
        stats.add(self.client.counters());
    }

    fn failure(&self, tried: String, cause: Cause) -> Failure {
        let as_nobody = !matches!(self.target.who, Who::Named { .. }) || self.client.protocol().is_guest();
        let negotiated = self.client.protocol().dialect().is_some();
        let stage = if negotiated { Stage::Negotiated } else { Stage::Connected };
        let cause = match (cause, &self.target.who) {
            (
                Cause::Engine(Error::Refused(Refusal { name: NAMED_AS_GUEST, .. })),
                Who::Named { user, .. },
            ) => Cause::OnlyAsGuest(user.clone()),
            (cause, _) => cause,
        };
        Failure { as_nobody, stage, ..Failure::new(tried, cause) }
    }

    /// Where it leads.
    pub fn target(&self) -> &Target {
        self.target
    }

    fn run<O: Operation<Smb<'m>>>(
        &mut self,
        op: &mut O,
        mut each: impl FnMut(Item<'_, Smb<'m>, O>) -> io::Result<()>,
    ) -> Result<O::Output, Cause> {
        let mut unwritten = None;
        let outcome = blocking::run_each(&mut self.client, &mut self.io, &self.clock, op, |item| {
            unwritten = each(item).err();
            if unwritten.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let cause = match (outcome, unwritten) {
            (Ok(output), _) => return Ok(output),
            (Err(_), Some(error)) if error.kind() == io::ErrorKind::BrokenPipe => Cause::BrokenPipe,
            (Err(_), Some(error)) => Cause::Local(error),
            (Err(failure), None) => Cause::from(failure),
        };
        self.cut |= matches!(cause, Cause::Network(_) | Cause::Engine(Error::Closed));
        Err(cause)
    }
}

fn signing_name(algorithm: SigningAlgorithm) -> &'static str {
    match algorithm {
        SigningAlgorithm::HmacSha256 => "HMAC-SHA256",
        SigningAlgorithm::AesCmac => "AES-128-CMAC",
        SigningAlgorithm::AesGmac => "AES-128-GMAC",
    }
}

fn cipher_name(cipher: Cipher) -> &'static str {
    match cipher {
        Cipher::Aes128Ccm => "AES-128-CCM",
        Cipher::Aes128Gcm => "AES-128-GCM",
        Cipher::Aes256Ccm => "AES-256-CCM",
        Cipher::Aes256Gcm => "AES-256-GCM",
    }
}

fn config<'m>(target: &'m Target, password: &'m str, entropy: Entropy) -> Config<'m> {
    let identity = match &target.who {
        Who::Named { domain, user } => {
            Identity::Named { domain: domain.as_deref().unwrap_or(""), user, password }
        }
        Who::Guest => Identity::Guest,
        Who::Anonymous => Identity::Anonymous,
    };
    let policy = |always| if always { Policy::Always } else { Policy::IfNeeded };
    Config {
        dialects: target.dialects,
        sign: policy(target.sign),
        seal: policy(target.seal),
        filetime: filetime(),
        ..Config::new(&target.host, &target.share, identity, entropy)
    }
}

/// The time now; 0, which is "unknown", if the clock of the system is out of its mind.
fn filetime() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    FileTime::from_unix(seconds, now.subsec_nanos()).unwrap_or(FileTime::NONE).0
}
