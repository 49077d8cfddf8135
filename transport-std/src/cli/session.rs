//! One connection to one share or export: the engine's operations, with errors that say what was tried.

use super::budget::Memory;
use super::failure::{Cause, Failure, Link, Stage};
use super::links::{self, LINKS_MAX};
use super::spoken::Spoken;
use super::stats::Stats;
use super::target::{Exports, Share, Target, Who};
use super::url::{Url, Wire};
use pagewire::blocking;
use pagewire::nfs::mount::Export;
use pagewire::nfs::rpc::{AuthSys, Credential};
use pagewire::nfs::{self, Nfs3, Nfs4, nfs4};
use pagewire::operation::{Item, Operation};
use pagewire::smb::filetime::FileTime;
use pagewire::smb::{Config, Entropy, Identity, Policy, Smb};
use pagewire::{
    Attributes, Buffer, Client, Close, Connect, Disconnect, Entry, Error, Fetch, Fetched, File, Lane, List,
    Map, MapSegment, Open, Reason, Sink, Space, Stat, Statfs, Stream,
};
use pagewire_std::{MonotonicClock, Source, Tcp};
use std::borrow::Cow;
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What a command wants of a connection, whatever is spoken over it. There is one open file at a time.
pub trait Session {
    /// Everything up to a usable share or export. Whatever is asked first does it too, in fewer round trips.
    fn log_in(&mut self) -> Result<(), Failure>;

    /// Whether that was tried and did not work.
    fn is_shut_out(&self) -> bool;

    /// Opens a file to read it.
    fn open(&mut self, url: &Url) -> Result<Attributes, Failure>;

    /// Shows what is at `url` to `each`: what it is, its content, and where it has ended. `head` is memory for its start, `ring` for
    /// the rest.
    fn fetch(
        &mut self,
        url: &Url,
        head: &mut dyn Sink,
        ring: &mut dyn Sink,
        each: &mut dyn FnMut(Fetched<'_>) -> io::Result<()>,
    ) -> Result<(), Failure>;

    /// Shows what is at each of `paths` to `each`, in their order, until that breaks off. Several files are asked for side by
    /// side: as many as there are `lanes`, among which `heads` is shared out. No more than the head of a file is read,
    /// and links are not followed.
    fn fetch_heads<'p>(
        &mut self,
        paths: &mut dyn Iterator<Item = &'p str>,
        lanes: usize,
        heads: &mut dyn Sink,
        each: &mut dyn FnMut(Fetched<'_>) -> ControlFlow<()>,
    ) -> Result<(), Cause>;

    /// Connects anew after the connection was lost.
    fn reconnect(&mut self) -> Result<(), Failure>;

    /// Shows to `each` what is at `url` from the byte `at` on, and where it has ended; if it is still the file that was `opened`
    /// before.
    fn resume(
        &mut self,
        url: &Url,
        opened: &Attributes,
        at: u64,
        ring: &mut dyn Sink,
        each: &mut dyn FnMut(Fetched<'_>) -> io::Result<()>,
    ) -> Result<(), Failure>;

    /// Gives the open file back, if there is one. What the server says about it is of no interest.
    fn close(&mut self);

    /// Shows the entries of a directory to `each`.
    fn list(&mut self, url: &Url, each: &mut dyn FnMut(Entry<'_>) -> io::Result<()>) -> Result<(), Failure>;

    /// Shows the segments of the open file to `each`. Whether the server could say where they are: if not, what it did
    /// not say counts as data.
    fn map(&mut self, url: &Url, each: &mut dyn FnMut(MapSegment) -> io::Result<()>)
    -> Result<bool, Failure>;

    /// The attributes of a file or directory.
    fn stat(&mut self, url: &Url) -> Result<Attributes, Failure>;

    /// The space of the file system that a path is on.
    fn statfs(&mut self, url: &Url) -> Result<Space, Failure>;

    /// Whether `url`, which has the same target, can be asked for over it.
    fn covers(&self, url: &Url) -> bool;

    /// Whether nothing more can be asked of it.
    fn is_lost(&self) -> bool;

    /// What came of what was `tried` over it.
    fn failure(&self, tried: String, cause: Cause) -> Failure;

    /// The bytes of one read with these pages.
    fn read_len(&self, ring: &dyn Sink) -> u32;

    /// The share or export as users of the system's own tools name it.
    fn share(&self) -> String;

    /// One line about what was negotiated.
    fn describe(&self) -> String;

    /// Adds what it has cost to `stats`. Once, at its end.
    fn account(&self, stats: &mut Stats);

    /// Tells the server that this is the end, so that it can forget the client. What it says about it is of no interest and not waited
    /// for: a server that finds the connection closed when it says it (NFS-Ganesha) forgets the session at once, and the rest later.
    fn leave(&mut self);
}

/// A connection and what drives it.
pub struct Connection<'m, P: Spoken> {
    client: Client<'m, P>,
    io: Tcp,
    clock: MonotonicClock,
    target: &'m Target,
    /// Where it leads, for messages.
    place: String,
    file: Option<File<P::Handle>>,
    /// The transport broke: the engine cannot know.
    cut: bool,
    dial: Dial<'m, P>,
    reconnects: u32,
}

/// What makes a connection, and makes it anew: nothing of one outlives it.
type Dial<'m, P> = Box<dyn Fn() -> Result<(P, Tcp), Failure> + 'm>;

/// How long the server may take for replies that nobody waited for, if these keep it from letting a client go.
const LEAVING_MS: u32 = 1000;

/// Connects to an SMB server, and says nothing to it yet.
pub fn dial_smb<'m>(
    memory: &'m mut Memory,
    target: &'m Target,
    share: &'m Share,
    password: &'m str,
    timeout: Duration,
) -> Result<Connection<'m, Smb<'m>>, Failure> {
    let dial = move || {
        let entropy = random(target).map(Entropy::from_bytes)?;
        let smb = Smb::new(smb_config(&target.host, share, password, entropy));
        Ok((smb, call(target, (Source::Any, share.port), timeout, Smb::WIRE)?))
    };
    connect(memory, target, target.to_string(), Box::new(dial))
}

/// Connects to an NFS 3 server, of which as much of `path` is to be mounted as can be, and says nothing to it yet.
pub fn dial_nfs3<'m>(
    memory: &'m mut Memory,
    target: &'m Target,
    exports: &'m Exports,
    path: &'m str,
    timeout: Duration,
) -> Result<Connection<'m, Nfs3<'m>>, Failure> {
    let dial = move || {
        let xid = random(target).map(u32::from_le_bytes)?;
        let config = nfs::Config {
            credential: credential(exports),
            nfs_port: exports.nfs_port,
            mount_port: exports.mount_port,
            ..nfs::Config::new(path, xid)
        };
        let from_and_to = (source(exports), Nfs3::first_port(&config));
        Ok((Nfs3::new(config), call(target, from_and_to, timeout, Nfs3::WIRE)?))
    };
    connect(memory, target, format!("{target}{}", super::safe::text(path)), Box::new(dial))
}

/// What tells one NFS 4 connection from all others. A server would take a second one of the same name for the first one
/// started anew, and end that.
pub type Owner = [u8; 16];

/// Connects to an NFS 4 server, of which nothing is mounted, and says nothing to it yet. `owner` is where the name of
/// the connection is kept.
pub fn dial_nfs4<'m>(
    memory: &'m mut Memory,
    target: &'m Target,
    (exports, minor): (&'m Exports, Option<u32>),
    owner: &'m mut Owner,
    timeout: Duration,
) -> Result<Connection<'m, Nfs4<'m>>, Failure> {
    *owner = random(target)?;
    let owner = &*owner;
    let dial = move || {
        let xid = random(target).map(u32::from_le_bytes)?;
        let config =
            nfs4::Config { credential: credential(exports), minor, ..nfs4::Config::new(owner, [0; 8], xid) };
        let from_and_to = (source(exports), exports.nfs_port.unwrap_or(nfs4::PORT));
        Ok((Nfs4::new(config), call(target, from_and_to, timeout, Nfs4::WIRE)?))
    };
    connect(memory, target, target.to_string(), Box::new(dial))
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

/// Reaches the server.
fn call(
    target: &Target,
    (source, port): (Source, u16),
    timeout: Duration,
    wire: Wire,
) -> Result<Tcp, Failure> {
    Tcp::connect_from(source, &target.host, port, timeout).map_err(|error| {
        let cause = match error.kind() {
            io::ErrorKind::PermissionDenied if source == Source::Privileged => {
                Cause::Usage("only root may connect from a port below 1024".into())
            }
            _ => Cause::Network(error),
        };
        Failure { wire, ..Failure::new(format!("connecting to {target}"), cause) }
    })
}

fn connect<'m, P: Spoken>(
    memory: &'m mut Memory,
    target: &'m Target,
    place: String,
    dial: Dial<'m, P>,
) -> Result<Connection<'m, P>, Failure> {
    let (protocol, io) =
        dial().map_err(|failure| Failure { tried: format!("connecting to {place}"), ..failure })?;
    let read_len = memory.read_len;
    let client = Client::new(memory.lend(), protocol);
    let mut client = client.map_err(|error| {
        let failure = Failure::new(format!("connecting to {place}"), Cause::Engine(error));
        Failure { wire: P::WIRE, ..failure }
    })?;
    client.set_timeout_ms(u32::try_from(target.timeout.as_millis()).unwrap_or(u32::MAX));
    client.set_read_len_max(read_len);
    target.pauses_max.into_iter().for_each(|count| client.set_pauses_max(count));
    let (clock, file, cut, reconnects) = (MonotonicClock::new(), None, false, 0);
    Ok(Connection { client, io, clock, target, place, file, cut, dial, reconnects })
}

impl<P: Spoken> Session for Connection<'_, P> {
    fn log_in(&mut self) -> Result<(), Failure> {
        let outcome = self.run(&mut Connect::new(), |()| Ok(()));
        outcome.map_err(|cause| self.failure(format!("connecting to {}", self.place), cause))
    }

    fn is_shut_out(&self) -> bool {
        self.client.counters().requests > 0 && !self.client.protocol().connected()
    }

    fn open(&mut self, url: &Url) -> Result<Attributes, Failure> {
        let file = self.at(url, "opening", |me, path| me.run(&mut Open::new(path), |()| Ok(())))?;
        self.file = Some(file);
        Ok(file.attributes)
    }

    fn fetch(
        &mut self,
        url: &Url,
        head: &mut dyn Sink,
        ring: &mut dyn Sink,
        each: &mut dyn FnMut(Fetched<'_>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let (mut opened, mut begun) = (false, false);
        let mut fetch = |me: &mut Self, begun: &mut bool| {
            me.at(url, "opening", |me, path| {
                me.fetch_path(path, head, ring, &mut |part| {
                    opened |= matches!(part, Fetched::Opened(_));
                    *begun |= matches!(part, Fetched::Content(_));
                    each(part)
                })
            })
        };
        let mut outcome = fetch(self, &mut begun);
        if outcome.as_ref().is_err_and(Failure::is_expired) && !begun {
            // That a server of NFS 4.0 wants files to be opened by name shows only when one is read.
            outcome = fetch(self, &mut begun);
        }
        outcome.map_err(|failure| match opened {
            true => Failure { tried: format!("reading {url}"), ..failure },
            false => failure,
        })
    }

    fn fetch_heads<'p>(
        &mut self,
        paths: &mut dyn Iterator<Item = &'p str>,
        lanes: usize,
        heads: &mut dyn Sink,
        each: &mut dyn FnMut(Fetched<'_>) -> ControlFlow<()>,
    ) -> Result<(), Cause> {
        let mut lanes: Vec<_> = (0..lanes).map(|_| Lane::new()).collect();
        let mut no_pages = Buffer(&mut []);
        let mut fetch = Fetch::new(paths, &mut lanes, heads, &mut no_pages);
        if self.run_until(&mut fetch, each)?.is_none() {
            fetch.stop();
            self.run(&mut fetch, |_| Ok(()))?;
        }
        Ok(())
    }

    fn reconnect(&mut self) -> Result<(), Failure> {
        let (protocol, io) = (self.dial)()?;
        let restarted = self.client.restart(protocol);
        (self.io, self.file, self.cut) = (io, None, false);
        self.reconnects += 1;
        restarted.map_err(|error| self.failure(format!("connecting to {}", self.place), Cause::Engine(error)))
    }

    fn resume(
        &mut self,
        url: &Url,
        opened: &Attributes,
        at: u64,
        ring: &mut dyn Sink,
        each: &mut dyn FnMut(Fetched<'_>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let now = self.open(url)?;
        let outcome = match now.change_since(opened) {
            Some(how) => Err(Cause::Changed(how.into())),
            None => self.stream_from(at, ring, each),
        };
        self.close();
        outcome.map_err(|cause| self.failure(format!("reading {url}"), cause))
    }

    fn close(&mut self) {
        if let Some(file) = self.file.take() {
            let _ = self.run(&mut Close::new(&file), |()| Ok(()));
        }
    }

    fn list(&mut self, url: &Url, each: &mut dyn FnMut(Entry<'_>) -> io::Result<()>) -> Result<(), Failure> {
        self.at(url, "listing", |me, path| me.run(&mut List::new(path), &mut *each))
    }

    fn map(
        &mut self,
        url: &Url,
        each: &mut dyn FnMut(MapSegment) -> io::Result<()>,
    ) -> Result<bool, Failure> {
        let outcome = self.opened().and_then(|file| {
            let mut map = Map::new(&file, 0);
            self.run(&mut map, each).map(|()| map.was_told())
        });
        outcome.map_err(|cause| self.failure(format!("asking for the holes of {url}"), cause))
    }

    fn stat(&mut self, url: &Url) -> Result<Attributes, Failure> {
        self.at(url, "asking about", |me, path| me.run(&mut Stat::new(path), |()| Ok(())))
    }

    fn statfs(&mut self, url: &Url) -> Result<Space, Failure> {
        let tried = "asking for the space of";
        self.at(url, tried, |me, path| me.run(&mut Statfs::new(path), |()| Ok(())))
    }

    fn covers(&self, url: &Url) -> bool {
        self.client.protocol().covers(&url.path)
    }

    fn is_lost(&self) -> bool {
        self.cut || self.client.failed().is_some()
    }

    fn failure(&self, tried: String, cause: Cause) -> Failure {
        let protocol = self.client.protocol();
        let stage = if protocol.negotiated() { Stage::Negotiated } else { Stage::Connected };
        let as_nobody = protocol.as_nobody(self.target);
        let tried = if self.is_shut_out() { format!("connecting to {}", self.place) } else { tried };
        let cause = P::explain(cause, self.target);
        Failure { as_nobody, stage, wire: P::WIRE, ..Failure::new(tried, cause) }
    }

    fn read_len(&self, ring: &dyn Sink) -> u32 {
        self.client.request_len(ring.len() as u64)
    }

    fn share(&self) -> String {
        self.target.share(self.client.protocol().mounted())
    }

    fn describe(&self) -> String {
        format!("connected to {}: {}", self.target, self.client.protocol().describe())
    }

    fn account(&self, stats: &mut Stats) {
        self.client.protocol().account(stats);
        stats.add(self.client.counters());
        stats.connections += self.reconnects;
    }

    fn leave(&mut self) {
        if !self.is_lost() {
            self.client.set_timeout_ms(LEAVING_MS);
            let _ = self.run(&mut Disconnect::new(), |()| Ok(()));
        }
    }
}

impl<'m> Connection<'m, Nfs3<'m>> {
    /// Shows the exports of the server to `each`, before anything is mounted.
    pub fn exports(&mut self, each: &mut dyn FnMut(Export<'_>) -> io::Result<()>) -> Result<(), Failure> {
        let outcome = self.run(&mut nfs::Exports::new(), each);
        outcome.map_err(|cause| self.failure(format!("asking {} for its exports", self.target), cause))
    }
}

impl<'m, P: Spoken> Connection<'m, P> {
    fn opened(&self) -> Result<File<P::Handle>, Cause> {
        self.file.ok_or(Cause::Engine(Error::Invalid("no file is open")))
    }

    /// What the open file has from the byte `at` on.
    fn stream_from(
        &mut self,
        at: u64,
        ring: &mut dyn Sink,
        each: &mut dyn FnMut(Fetched<'_>) -> io::Result<()>,
    ) -> Result<(), Cause> {
        let file = self.opened()?;
        let end = self.run(&mut Stream::new(&file, at, ring), |content| each(Fetched::Content(content)))?;
        each(Fetched::Ended(end)).map_err(Cause::unwritten)
    }

    /// One file. Whatever comes of it, it is closed.
    fn fetch_path(
        &mut self,
        path: &str,
        head: &mut dyn Sink,
        ring: &mut dyn Sink,
        each: &mut dyn FnMut(Fetched<'_>) -> io::Result<()>,
    ) -> Result<(), Cause> {
        let (mut lanes, mut paths, mut failed) = ([Lane::new()], std::iter::once(path), None);
        let outcome = self.run(&mut Fetch::new(&mut paths, &mut lanes, head, ring), |part| match part {
            Fetched::Failed(error) => {
                failed = Some(error);
                Ok(())
            }
            part => each(part),
        });
        for file in lanes.iter().filter_map(Lane::left_open) {
            let _ = self.run(&mut Close::new(&file), |()| Ok(()));
        }
        outcome?;
        failed.map_or(Ok(()), |error| Err(Cause::Engine(error)))
    }

    /// Runs `op` on the path of `url`, and where that meets a symbolic link, on the path that is meant, if links are
    /// ours to follow.
    fn at<T>(
        &mut self,
        url: &Url,
        tried: &str,
        mut op: impl FnMut(&mut Self, &str) -> Result<T, Cause>,
    ) -> Result<T, Failure> {
        let mut path = Cow::Borrowed(url.path.as_str());
        for _ in 0..=LINKS_MAX {
            let cause = match op(self, &path) {
                Ok(output) => return Ok(output),
                Err(cause) => cause,
            };
            path = match self.follow(&path, cause) {
                Ok(meant) => Cow::Owned(meant),
                Err(cause) => return Err(self.failure(format!("{tried} {url}"), cause)),
            };
        }
        Err(self.failure(format!("{tried} {url}"), Cause::TooManyLinks))
    }

    /// The path that is meant by `path`, if it was a symbolic link that was the `cause`.
    fn follow(&self, path: &str, cause: Cause) -> Result<String, Cause> {
        let Cause::Engine(Error::Refused(refusal)) = cause else { return Err(cause) };
        if refusal.reason != Reason::Symlink {
            let moved = P::moved(self.client.frame());
            return Err(moved.map_or(cause, |place| Cause::Moved(refusal, place)));
        }
        let Some(link) = self.client.link(path) else { return Err(cause) };
        let target = link.target.to_string();
        let meant = links::resolve(path, link.end, &target);
        let protocol = self.client.protocol();
        let (why, wider) = if !P::LINKS {
            ("which the server does not follow", None)
        } else if link.target.chars().any(|c| c.is_err()) {
            ("which is not UTF-8", None)
        } else if protocol.covers(&meant) {
            return Ok(meant);
        } else {
            ("which leads out of what is mounted", Some(links::common(protocol.mounted(), &meant)))
        };
        Err(Cause::Link(Box::new(Link { refusal, target, why, wider })))
    }

    fn run<O: Operation<P>>(
        &mut self,
        op: &mut O,
        mut each: impl FnMut(Item<'_, P, O>) -> io::Result<()>,
    ) -> Result<O::Output, Cause> {
        let mut unwritten = None;
        let outcome = self.run_until(op, |item| {
            unwritten = each(item).err();
            if unwritten.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        outcome?.ok_or_else(|| unwritten.map_or(Cause::BrokenPipe, Cause::unwritten))
    }

    /// Runs `op` to its end, or until `each` breaks off: `None`. It can be gone on with then.
    fn run_until<O: Operation<P>>(
        &mut self,
        op: &mut O,
        each: impl FnMut(Item<'_, P, O>) -> ControlFlow<()>,
    ) -> Result<Option<O::Output>, Cause> {
        let cause = match blocking::run_each(&mut self.client, &mut self.io, &self.clock, op, each) {
            Ok(output) => return Ok(Some(output)),
            Err(blocking::Failure::Stopped) => return Ok(None),
            Err(failure) => Cause::from(failure),
        };
        self.cut |= matches!(cause, Cause::Network(_) | Cause::Engine(Error::Closed));
        Err(cause)
    }
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
