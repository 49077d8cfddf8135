//! One connection to one share or export: the engine's operations, with errors that say what was tried.

use super::budget::Memory;
use super::failure::{Cause, Failure, Link, Stage};
use super::links::{self, LINKS_MAX};
use super::session::Session;
use super::spoken::Spoken;
use super::stats::Stats;
use super::target::Target;
use super::url::Url;
use pagewire::blocking;
use pagewire::nfs::mount::Export;
use pagewire::nfs::{self, Nfs3};
use pagewire::operation::{Item, Operation};
use pagewire::{
    Attributes, Buffer, Client, Close, Connect, Disconnect, Entry, Error, Fetch, Fetched, File, Lane, List,
    Map, MapSegment, Open, Reason, Sink, Space, Stat, Statfs, Stream,
};
use pagewire_std::{MonotonicClock, Tcp};
use std::borrow::Cow;
use std::io;
use std::ops::ControlFlow;

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
    /// Only who was let in connects anew.
    reconnects: u32,
    /// Requests of the connections before this one.
    asked_before: u64,
}

/// What makes a connection, and makes it anew: nothing of one outlives it.
pub type Dial<'m, P> = Box<dyn Fn() -> Result<(P, Tcp), Failure> + 'm>;

/// How long the server may take for replies that nobody waited for, if these keep it from letting a client go.
const LEAVING_MS: u32 = 1000;

impl<P: Spoken> Session for Connection<'_, P> {
    fn log_in(&mut self) -> Result<(), Failure> {
        let outcome = self.run(&mut Connect::new(), |()| Ok(()));
        outcome.map_err(|cause| self.failure(format!("connecting to {}", self.place), cause))
    }

    fn is_shut_out(&self) -> bool {
        !self.is_connected() && (self.is_lost() || self.client.counters().requests > self.asked_before)
    }

    fn was_let_in(&self) -> bool {
        let admitted = || self.client.protocol().admitted(self.client.counters());
        self.is_connected() || self.reconnects > 0 || self.is_lost() && admitted()
    }

    fn is_connected(&self) -> bool {
        self.client.protocol().connected()
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
                    opened |= matches!(part, Fetched::Opened { .. });
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
        self.asked_before = self.client.counters().requests;
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
        let mut begun = false;
        let mut resume = |me: &mut Self, begun: &mut bool| {
            let now = me.open(url)?;
            let outcome = match now.change_since(opened) {
                Some(how) => Err(Cause::Changed(how.into())),
                None => me.stream_from(at, ring, &mut |part| {
                    *begun |= matches!(part, Fetched::Content(_));
                    each(part)
                }),
            };
            me.close();
            outcome.map_err(|cause| me.failure(format!("reading {url}"), cause))
        };
        let outcome = resume(self, &mut begun);
        if outcome.as_ref().is_err_and(Failure::is_expired) && !begun {
            // As in `fetch`.
            return resume(self, &mut begun);
        }
        outcome
    }

    fn close(&mut self) {
        if let Some(file) = self.file.take() {
            let _ = self.run(&mut Close::new(&file), |()| Ok(()));
        }
    }

    fn list(
        &mut self,
        url: &Url,
        each: &mut dyn FnMut(Entry<'_>) -> io::Result<()>,
    ) -> Result<String, Failure> {
        self.at(url, "listing", |me, path| {
            me.run(&mut List::new(path), &mut *each)?;
            Ok(path.to_owned())
        })
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
    /// Over what was `made` by `dial`, to a `place` of the target.
    pub fn new(
        memory: &'m mut Memory,
        target: &'m Target,
        place: String,
        (protocol, io): (P, Tcp),
        dial: Dial<'m, P>,
    ) -> Result<Connection<'m, P>, Failure> {
        let read_len = memory.read_len;
        let mut client = Client::new(memory.lend(), protocol).map_err(|error| {
            let failure = Failure::new(format!("connecting to {place}"), Cause::Engine(error));
            Failure { wire: P::WIRE, ..failure }
        })?;
        client.set_timeout_ms(u32::try_from(target.timeout.as_millis()).unwrap_or(u32::MAX));
        client.set_read_len_max(read_len);
        target.pauses_max.into_iter().for_each(|count| client.set_pauses_max(count));
        let clock = MonotonicClock::new();
        Ok(Connection {
            client,
            io,
            clock,
            target,
            place,
            file: None,
            cut: false,
            dial,
            reconnects: 0,
            asked_before: 0,
        })
    }

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
