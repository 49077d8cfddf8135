//! `ls`, `stat` and `df`: what is known about files, for people and for programs.

use super::args::{Common, Ls, Show};
use super::budget::{IN_FLIGHT, Memory, SHOW_RX_LEN};
use super::date;
use super::failure::{Cause, Failure};
use super::json::{self, EntryJson, SpaceJson, StatJson};
use super::platform;
use super::quantity::human;
use super::safe::{self, Reader, Shown};
use super::session::Session;
use super::stats::Report;
use super::url::Url;
use super::visit::{Serve, Visitor};
use pagewire::{Attributes, Entry, Kind, Space, Time};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};

/// Standard output.
pub type Out = BufWriter<File>;

pub fn ls(args: &Ls, report: &mut Report) -> Result<(), Failure> {
    let reader = reader();
    with_output(&args.url, &args.common, report, |session, url, out| {
        let listed = session.list(url, &mut |entry| match (args.json, args.long) {
            (true, _) => json::line(out, &EntryJson::new(&entry)),
            (false, true) => long(out, &entry, reader),
            (false, false) => writeln!(out, "{}", Shown(entry.name, reader)),
        });
        listed.map(drop)
    })
}

pub fn stat(args: &Show, report: &mut Report) -> Result<(), Failure> {
    with_output(&args.url, &args.common, report, |session, url, out| {
        let attributes = session.stat(url)?;
        let written = if args.json {
            json::line(out, &StatJson::new(&url.path, &attributes))
        } else {
            describe(out, url, &attributes)
        };
        written.map_err(Failure::unwritten)
    })
}

pub fn df(args: &Show, report: &mut Report) -> Result<(), Failure> {
    with_output(&args.url, &args.common, report, |session, url, out| {
        let space = session.statfs(url)?;
        let share = session.share();
        let written = if args.json {
            json::line(out, &SpaceJson::new(&share, &space))
        } else {
            columns(out, &safe::text(&share), &space)
        };
        written.map_err(Failure::unwritten)
    })
}

/// Who reads standard output.
pub fn reader() -> Reader {
    if io::stdout().is_terminal() { Reader::Terminal } else { Reader::Pipe }
}

/// Connects, lets `show` write to standard output, and sees to it that all of it is written.
pub fn with_output(
    url: &str,
    common: &Common,
    report: &mut Report,
    show: impl FnMut(&mut dyn Session, &Url, &mut Out) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let out = output()?;
    let mut visitor = Visitor::new(common, Memory::new(IN_FLIGHT, SHOW_RX_LEN)?)?;
    report.stats.lent_memory = visitor.lent();
    visitor.visit(std::slice::from_ref(&url.to_owned()), report, Showing { show, out })
}

/// What is shown of a URL, and where.
struct Showing<F> {
    show: F,
    out: Out,
}

impl<F: FnMut(&mut dyn Session, &Url, &mut Out) -> Result<(), Failure>> Serve for Showing<F> {
    fn one(&mut self, session: &mut dyn Session, url: &Url, _: &mut Report) -> Result<(), Failure> {
        let shown = (self.show)(session, url, &mut self.out);
        written(shown, &mut self.out)
    }
}

/// Opens standard output.
pub fn output() -> Result<Out, Failure> {
    platform::stdout().map(BufWriter::new).map_err(Failure::unwritten)
}

/// What came of showing something, and of writing all of it.
pub fn written(shown: Result<(), Failure>, out: &mut Out) -> Result<(), Failure> {
    // What was listed before an error is of use.
    let flushed = out.flush().map_err(Failure::unwritten);
    let shown = shown.map_err(|failure| match failure.cause {
        Cause::Local(error) => Failure::unwritten(error),
        _ => failure,
    });
    shown.and(flushed)
}

/// Names of kinds, the letter and the word.
pub fn kind(kind: Kind) -> (char, &'static str) {
    match kind {
        Kind::File => ('-', "file"),
        Kind::Directory => ('d', "directory"),
        Kind::Symlink => ('l', "symlink"),
        Kind::Other => ('?', "other"),
    }
}

fn short_time(time: Option<Time>) -> String {
    time.map_or_else(|| "-".to_owned(), |time| date::format(time, ' ', ""))
}

fn long(out: &mut Out, entry: &Entry<'_>, reader: Reader) -> io::Result<()> {
    let attributes = &entry.attributes;
    let (letter, _) = kind(attributes.kind);
    let time = short_time(attributes.modified);
    writeln!(out, "{letter} {:>14} {time:>19} {}", attributes.len, Shown(entry.name, reader))
}

fn describe(out: &mut Out, url: &Url, attributes: &Attributes) -> io::Result<()> {
    let mut line = |name: &str, value: &str| writeln!(out, "{name:>9}: {value}");
    line("url", &url.to_string())?;
    line("type", kind(attributes.kind).1)?;
    line("size", &format!("{} ({})", attributes.len, human(attributes.len)))?;
    if let Some(allocated) = attributes.allocated {
        line("allocated", &format!("{allocated} ({})", human(allocated)))?;
    }
    let times = [
        ("modified", attributes.modified),
        ("accessed", attributes.accessed),
        ("changed", attributes.changed),
        ("created", attributes.created),
    ];
    for (name, time) in times {
        if let Some(time) = time {
            line(name, &format!("{} UTC", date::format(time, ' ', "")))?;
        }
    }
    if let Some(id) = attributes.id {
        line("id", &id.to_string())?;
    }
    if let Some(links) = attributes.links {
        line("links", &links.to_string())?;
    }
    let flags = flags(attributes);
    if !flags.is_empty() { line("flags", &flags) } else { Ok(()) }
}

fn flags(attributes: &Attributes) -> String {
    let all =
        [(attributes.hidden, "hidden"), (attributes.read_only, "read-only"), (attributes.sparse, "sparse")];
    let set: Vec<&str> = all.into_iter().filter_map(|(set, name)| set.then_some(name)).collect();
    set.join(" ")
}

/// As `df -h` has them. What is used is what is not free, and of that and what is available is the part.
fn columns(out: &mut Out, share: &str, space: &Space) -> io::Result<()> {
    let used = space.total.saturating_sub(space.free);
    let all = u128::from(used) + u128::from(space.available);
    let part = (u128::from(used) * 100).div_ceil(all.max(1));
    writeln!(out, "{:>6} {:>6} {:>6} {:>4} Share", "Size", "Used", "Avail", "Use%")?;
    let (total, used, available) = (human(space.total), human(used), human(space.available));
    writeln!(out, "{total:>6} {used:>6} {available:>6} {part:>3}% {share}")
}
