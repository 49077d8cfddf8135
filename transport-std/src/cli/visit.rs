//! Several URLs over as few connections as it takes.

use super::args::Common;
use super::budget::Memory;
use super::credentials::Secrets;
use super::dial::{Call, Owner};
use super::failure::{Cause, Failure};
use super::links;
use super::options::{NfsVersion, Options};
use super::retries::stay_connected;
use super::session::Session;
use super::stats::Report;
use super::target::{Exports, Place, Target, Who};
use super::url::Url;
use pagewire::nfs::mount::Export;
use std::io;

/// Of fewer URLs the first is served alone: were it long, those behind it would be opened in vain, for a round trip or two.
const SEVERAL_MIN: usize = 5;

/// What a command does with what is at URLs of the same target.
pub trait Serve {
    /// Serves one, whatever it is.
    fn one(&mut self, session: &mut dyn Session, url: &Url, report: &mut Report) -> Result<(), Failure>;

    /// How often in a row a connection that is lost between two of them is made anew, after the first time.
    fn retries(&self) -> u32 {
        0
    }

    /// Serves as many of the next as can be served side by side over this connection, which may be none, and reports what
    /// came of them.
    fn several(&mut self, _: &mut dyn Session, _urls: &[Url], _: &mut Report) -> usize {
        0
    }
}

/// The options, the memory and the secrets of a command.
pub struct Visitor<'c> {
    common: &'c Common,
    options: Options,
    memory: Memory,
    secrets: Secrets,
    /// That of the NFS 4 connection there is.
    owner: Owner,
    /// User and domain of the credentials file.
    fallback: Options,
}

impl<'c> Visitor<'c> {
    /// Reads what the options name.
    pub fn new(common: &'c Common, memory: Memory) -> Result<Visitor<'c>, Failure> {
        let options = common.options().map_err(usage)?;
        let (secrets, fallback) =
            Secrets::new(options.credentials.as_deref(), options.password_command.clone())?;
        Ok(Visitor { common, options, memory, secrets, owner: Owner::default(), fallback })
    }

    /// Bytes that are lent to the engine.
    pub fn lent(&mut self) -> usize {
        self.memory.lend().len()
    }

    /// Has each URL served, in their order, and reports what comes of it. All of them are looked
    /// at before the first is connected to.
    pub fn visit(
        &mut self,
        urls: &[String],
        report: &mut Report,
        mut serve: impl Serve,
    ) -> Result<(), Failure> {
        let parsed: Result<_, _> = urls.iter().map(|text| self.parse(text)).collect();
        let (urls, targets): (Vec<Url>, Vec<Target>) = parsed.map_err(usage)?;
        let (mut done, mut wider) = (0, None);
        while let Some(target) = targets.get(done)
            && !report.unread
        {
            let same = targets[done..].iter().take_while(|other| *other == target).count();
            let served;
            (served, wider) = self.serve(target, &urls[done..][..same], wider, report, &mut serve);
            done += served;
        }
        Ok(())
    }

    /// Shows the exports of an NFS 3 server to `each`. Nothing is mounted.
    pub fn exports(
        &mut self,
        target: &Target,
        exports: &Exports,
        report: &mut Report,
        each: &mut dyn FnMut(Export<'_>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let (memory, timeout) = (&mut self.memory, self.common.connect_timeout);
        let mut session = Call { memory, target, timeout }.nfs3(exports, "/")?;
        let outcome = session.exports(each);
        session.account(&mut report.stats);
        outcome
    }

    /// The URL and where it leads.
    pub fn parse(&self, text: &str) -> Result<(Url, Target), String> {
        let url = Url::parse(text)?;
        let target = self.options.target(&url, self.fallback.clone())?;
        Ok((url, target))
    }

    /// As many of `urls` as one connection serves, and what the next must mount if it is a link that ends it. If there is
    /// none to be had, they have all failed: to try a password that was refused once more for each of them could lock the
    /// account. But an NFS server that does not let one be mounted may let another.
    fn serve(
        &mut self,
        target: &Target,
        urls: &[Url],
        wider: Option<Wider>,
        report: &mut Report,
        serve: &mut impl Serve,
    ) -> (usize, Option<Wider>) {
        let verbose = self.common.messages.verbose;
        let is_nfs = matches!(target.place, Place::Nfs(_));
        let (mount, before) = wider.map(|wider| (wider.mount, wider.outcome)).unzip();
        let path = mount.as_deref().unwrap_or_else(|| to_mount(urls));
        let mut session = match self.dial(target, path) {
            Ok(session) => session,
            Err(failure) => {
                report.outcome(Err(failure));
                return (urls.len(), None);
            }
        };
        // What is to be told of the connection is told before it is used; and whether more can be mounted must be known.
        let first = verbose || before.is_some();
        let logged_in = if first { session.log_in() } else { Ok(()) };
        let served = match (logged_in, before) {
            (Ok(()), _) => {
                if verbose {
                    tell!("pagewire: {}", session.describe());
                }
                match serve_all(session.as_mut(), urls, report, serve) {
                    // Of the exports of one server one may be mounted where another is not.
                    (_, None) if session.is_shut_out() && (session.is_lost() || !is_nfs) => {
                        (urls.len(), None)
                    }
                    served => served,
                }
            }
            // More than before is not mounted: what was wrong before is what is wrong.
            (Err(_), Some(before)) => {
                report.outcome(before);
                (1, None)
            }
            (Err(failure), None) => {
                report.outcome(Err(failure));
                (if is_nfs && !session.is_lost() { 1 } else { urls.len() }, None)
            }
        };
        session.leave();
        session.account(&mut report.stats);
        served
    }

    fn dial<'s>(&'s mut self, target: &'s Target, path: &'s str) -> Result<Box<dyn Session + 's>, Failure> {
        let (memory, timeout) = (&mut self.memory, self.common.connect_timeout);
        let call = Call { memory, target, timeout };
        match &target.place {
            Place::Smb(share) => {
                let password = match &share.who {
                    Who::Named { user, .. } => self.secrets.password(user, &target.host)?,
                    Who::Guest | Who::Anonymous => "",
                };
                Ok(Box::new(call.smb(share, password)?))
            }
            Place::Nfs(exports) => Ok(match exports.version {
                NfsVersion::V3 => Box::new(call.nfs3(exports, path)?),
                NfsVersion::V4(minor) => Box::new(call.nfs4(exports, minor, &mut self.owner)?),
            }),
        }
    }
}

/// A link leads out of what is mounted.
struct Wider {
    /// What must be mounted instead.
    mount: String,
    /// What came of the URL, if it is not.
    outcome: Result<(), Failure>,
}

/// What an NFS server is asked to mount, as far as it lets that be mounted: the path of the first URL; or the directory
/// that it is in, where the next one is there too, since some servers mount a file and nothing beside it.
fn to_mount(urls: &[Url]) -> &str {
    match urls {
        [first, next, ..] => {
            let parent = links::parent(&first.path);
            if links::is_below(&next.path, parent) { parent } else { &first.path }
        }
        [only] => &only.path,
        [] => "/",
    }
}

fn serve_all(
    session: &mut dyn Session,
    urls: &[Url],
    report: &mut Report,
    serve: &mut impl Serve,
) -> (usize, Option<Wider>) {
    let mut index = 0;
    while let Some(url) = urls.get(index) {
        if index > 0 && !session.covers(url) {
            return (index, None);
        }
        let begins_alone = index == 0 && urls.len() < SEVERAL_MIN;
        let several = if begins_alone { 0 } else { serve.several(session, &urls[index..], report) };
        index += several;
        if several == 0 && !report.unread {
            let outcome = serve.one(session, url, report);
            if let Err(Failure { cause: Cause::Link(link), .. }) = &outcome
                && let Some(mount) = link.wider.clone()
            {
                // More is mounted each time, so this ends.
                return (index, Some(Wider { mount, outcome }));
            }
            report.outcome(outcome);
            index += 1;
        }
        if report.unread {
            return (index, None);
        }
        if let Some(next) = urls.get(index)
            && let Err(failure) = stay_connected(session, serve.retries())
        {
            report.outcome(Err(failure.going_on_with(next)));
            return (urls.len(), None);
        }
        if session.is_shut_out() {
            return (index, None);
        }
    }
    (urls.len(), None)
}

/// What is wrong with the command line.
pub fn usage(message: String) -> Failure {
    Failure::new("reading the command line", Cause::Usage(message))
}
