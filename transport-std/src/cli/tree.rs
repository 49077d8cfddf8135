//! Directories with all that is in them.

use super::failure::{Cause, Failure};
use super::retries::{persist, stay_connected};
use super::safe::{self, Reader, Shown};
use super::session::Session;
use super::stats::Report;
use super::transfer::Job;
use super::url::Url;
use super::visit::Serve;
use pagewire::{Entry, Error, Kind, Reason, Refusal};
use std::fmt;
use std::io;
use std::path::Path;

/// Directories in directories. Links that the server follows may lead in a circle.
const DEPTH_MAX: usize = 128;

/// Bytes of the names that are held at once.
const NAMES_LEN_MAX: usize = 32 << 20;

/// Files that are handed on at once, of as many directories as it takes.
const FILES_MAX: usize = 1024;

/// Makes the directory that what is in the one at a URL is put into.
pub type MakeDirectory<'m> = &'m dyn Fn(&Url) -> Result<(), Failure>;

/// Has files served by `job`, and directories by all the files in them.
pub struct Tree<'t> {
    job: Job<'t>,
    make: MakeDirectory<'t>,
    /// Files that were found and are not served yet.
    found: Vec<Url>,
}

impl<'t> Tree<'t> {
    pub fn new(job: Job<'t>, make: MakeDirectory<'t>) -> Tree<'t> {
        Tree { job, make, found: Vec::new() }
    }
}

impl Serve for Tree<'_> {
    fn retries(&self) -> u32 {
        self.job.retries()
    }

    fn one(&mut self, session: &mut dyn Session, url: &Url, report: &mut Report) -> Result<(), Failure> {
        self.found.clear();
        let (inside, listed) = self.list(session, url, 0);
        let url = match &listed {
            Err(failure) if is_no_directory(failure) => return self.job.one(session, url, report),
            // What is in it is asked for where it is, and not by a link.
            Ok(path) => &url.meant(path.clone()),
            Err(_) => url,
        };
        let listed = listed.map(drop);
        if inside.is_worth_entering(&listed) {
            (self.make)(url)?;
            let entered = self.enter(session, url, inside, Above::default(), report);
            let served = entered.and_then(|()| self.serve_found(session, report));
            served.map_err(|failure| failure.going_on_with(url))?;
        }
        listed
    }
}

/// What lies above a directory.
#[derive(Clone, Copy, Default)]
struct Above {
    depth: usize,
    names_len: usize,
}

/// What fails is an error here only if nothing more can be had after it.
impl Tree<'_> {
    /// What is in a directory, as far as it could be listed, and its path.
    fn list(
        &mut self,
        session: &mut dyn Session,
        url: &Url,
        held_len: usize,
    ) -> (Inside, Result<String, Failure>) {
        let (mut inside, together) = (Inside::default(), &self.job.together);
        let listed = persist(session, self.retries(), |session| {
            inside = Inside::default();
            session.list(url, &mut |entry| {
                inside.take(&entry, together.takes(&entry.attributes));
                if held_len + inside.len() <= NAMES_LEN_MAX {
                    return Ok(());
                }
                Err(io::Error::other(format!(
                    "its names take more than the {NAMES_LEN_MAX} bytes there are for them"
                )))
            })
        });
        (inside, listed)
    }

    /// Serves what is `inside` of a directory, which is made already.
    fn enter(
        &mut self,
        session: &mut dyn Session,
        url: &Url,
        inside: Inside,
        above: Above,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let Inside { files, small, directories, left_out, why } = inside;
        left_out.iter().zip(why).for_each(|(name, why)| why.tell(&url.child(name), report));
        for (name, small) in files.iter().zip(small) {
            self.find(session, url.child(name), small, report)?;
        }
        drop((files, left_out));
        let above = Above { depth: above.depth + 1, names_len: above.names_len + directories.0.len() };
        for name in directories.iter() {
            let url = url.child(name);
            if above.depth == DEPTH_MAX {
                let why = format!("it lies more than {DEPTH_MAX} directories deep");
                report.outcome(Err(failure(&url, why)));
                continue;
            }
            stay_connected(session, self.retries())?;
            let (inside, listed) = self.list(session, &url, above.names_len);
            let mut outcome = listed.map(drop);
            if inside.is_worth_entering(&outcome) {
                match (self.make)(&url) {
                    Ok(()) => self.enter(session, &url, inside, above, report)?,
                    Err(failure) => outcome = Err(failure),
                }
            }
            report.outcome(outcome);
        }
        Ok(())
    }

    /// Serves a file; a small one later, together with others, and before the next that is not.
    fn find(
        &mut self,
        session: &mut dyn Session,
        url: Url,
        small: bool,
        report: &mut Report,
    ) -> Result<(), Failure> {
        if !small || self.found.len() == FILES_MAX {
            self.serve_found(session, report)?;
        }
        if small {
            self.found.push(url);
            return Ok(());
        }
        self.serve_one(session, &url, report)
    }

    fn serve_found(&mut self, session: &mut dyn Session, report: &mut Report) -> Result<(), Failure> {
        let found = std::mem::take(&mut self.found);
        let mut rest = found.as_slice();
        self.job.together.expects();
        while let Some(url) = rest.first() {
            stay_connected(session, self.retries())?;
            let mut served = self.job.several(session, rest, report);
            if served == 0 {
                self.serve_one(session, url, report)?;
                served = 1;
            }
            rest = &rest[served..];
        }
        Ok(())
    }

    fn serve_one(
        &mut self,
        session: &mut dyn Session,
        url: &Url,
        report: &mut Report,
    ) -> Result<(), Failure> {
        stay_connected(session, self.retries())?;
        let outcome = self.job.one(session, url, report);
        report.outcome(outcome);
        Ok(())
    }
}

fn is_no_directory(failure: &Failure) -> bool {
    matches!(failure.cause, Cause::Engine(Error::Refused(Refusal { reason: Reason::NotDirectory, .. })))
}

fn failure(what: impl fmt::Display, why: impl Into<String>) -> Failure {
    Failure::new(format!("getting {what}"), Cause::Local(io::Error::other(why.into())))
}

/// Names, each followed by a NUL, which none of them holds.
#[derive(Default)]
struct Names(String);

impl Names {
    fn push(&mut self, name: &str) {
        self.0.push_str(name);
        self.0.push('\0');
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.split_terminator('\0')
    }
}

/// What is in a directory, in the server's order.
#[derive(Default)]
struct Inside {
    files: Names,
    /// For each of the files whether it is one to serve together with others.
    small: Vec<bool>,
    directories: Names,
    /// Names as they are shown.
    left_out: Names,
    /// For each of these.
    why: Vec<Why>,
}

impl Inside {
    fn len(&self) -> usize {
        self.files.0.len() + self.directories.0.len() + self.left_out.0.len()
    }

    /// Whether the directory is to be there, as empty as it may be.
    fn is_worth_entering(&self, listed: &Result<(), Failure>) -> bool {
        listed.is_ok() || self.len() > 0
    }

    fn take(&mut self, entry: &Entry<'_>, small: bool) {
        let name = entry.name.to_string();
        match (Why::of(entry, &name), entry.attributes.kind) {
            (Some(why), _) => {
                self.left_out.push(&Shown(entry.name, Reader::Terminal).to_string());
                self.why.push(why);
            }
            (None, Kind::Directory) => self.directories.push(&name),
            (None, _) => {
                self.files.push(&name);
                self.small.push(small);
            }
        }
    }
}

/// Why something is left out.
#[derive(Clone, Copy)]
enum Why {
    NotUtf8,
    Unfit,
    Symlink,
    Neither,
}

impl Why {
    fn of(entry: &Entry<'_>, name: &str) -> Option<Why> {
        if entry.name.chars().any(|c| c.is_err()) {
            return Some(Why::NotUtf8);
        }
        // Another name could be that of another file. Some systems have more separators than `/`.
        let here = safe::file_name(name).filter(|here| Path::new(here).file_name() == Some(here.as_ref()));
        if here.as_deref() != Some(name) {
            return Some(Why::Unfit);
        }
        match entry.attributes.kind {
            Kind::File | Kind::Directory => None,
            Kind::Symlink => Some(Why::Symlink),
            Kind::Other => Some(Why::Neither),
        }
    }

    fn tell(self, url: &Url, report: &mut Report) {
        match self {
            Why::NotUtf8 => report.outcome(Err(failure(url, "its name is not UTF-8"))),
            Why::Unfit => {
                let why = "no file gets such a name here: it has a separator, or controls terminals";
                report.outcome(Err(failure(url, why)));
            }
            Why::Symlink => tell!("pagewire: note: {url} is a symbolic link, and left out"),
            Why::Neither => tell!("pagewire: note: {url} is neither a file nor a directory, and left out"),
        }
    }
}
