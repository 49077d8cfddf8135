//! `get` and `cat`: file data goes from the lent pages straight to where it is wanted.

use super::args::{Cat, Common, Get, Messages, Sparse, Transfer};
use super::budget::{self, HEAD_PAGE_LEN, Memory, READ_LEN, RX_LEN};
use super::date;
use super::destination::{self, Destination};
use super::failure::{Cause, Exit, Failure};
use super::output::Output;
use super::progress::Progress;
use super::session::Session;
use super::stats::Report;
use super::target::Target;
use super::together::Together;
use super::url::Url;
use super::visit::{Serve, Visitor};
use pagewire::{Attributes, Content, Fetched, Kind, Sink, Time};
use std::fs::{File, FileTimes};
use std::io;

pub fn get(args: &Get, report: &mut Report) -> Result<(), Failure> {
    let several = args.urls.len() > 1;
    destination::distinct(args)?;
    let place = |url: &Url| Destination::of(url, args, several);
    let (preserve, sparse, messages) = (args.preserve, args.sparse, args.common.messages);
    let writer = Writer { place: &place, preserve, sparse, messages };
    transfer(&args.urls, &args.transfer, &args.common, report, writer)
}

pub fn cat(args: &Cat, report: &mut Report) -> Result<(), Failure> {
    let place = |_: &Url| Ok(Destination::Stdout);
    let messages = args.common.messages;
    let writer = Writer { place: &place, preserve: false, sparse: Sparse::Never, messages };
    transfer(&args.urls, &args.transfer, &args.common, report, writer)
}

/// Lends the memory and has the files written. The number of pages follows the requests, and never the other way
/// round.
fn transfer(
    urls: &[String],
    transfer: &Transfer,
    common: &Common,
    report: &mut Report,
    writer: Writer<'_>,
) -> Result<(), Failure> {
    let mut visitor = Visitor::new(common, Memory::new(transfer.in_flight, RX_LEN)?)?;
    let read_len = transfer.rsize.or(visitor.options().rsize).unwrap_or(READ_LEN);
    let mut ring = budget::ring(transfer.page, read_len, transfer.in_flight)?;
    report.stats.page_size = Some(transfer.page);
    // One for each file that is asked for side by side with others.
    let mut heads = budget::heads(read_len, urls.len().min(transfer.in_flight.into()))?;
    report.stats.lent_memory = visitor.lent() + ring.len() + heads.len() * HEAD_PAGE_LEN;
    let wrong = || Failure::new("lending pages", Cause::Usage("there are no pages of this size".into()));
    let mut pages = budget::pages(transfer.page, &mut ring).ok_or_else(wrong)?;
    let together = Together::new(&mut heads, budget::head_pages(read_len));
    visitor.visit(urls, report, Job { writer, together, pages: pages.as_mut() })
}

/// Where files go, and how.
pub struct Writer<'w> {
    pub place: &'w dyn Fn(&Url) -> Result<Destination, Failure>,
    preserve: bool,
    sparse: Sparse,
    messages: Messages,
}

/// Files that are to be read.
struct Job<'j> {
    writer: Writer<'j>,
    together: Together<'j>,
    pages: &'j mut dyn Sink,
}

impl Serve for Job<'_> {
    fn one(&mut self, session: &mut dyn Session, url: &Url, report: &mut Report) -> Result<(), Failure> {
        let Job { writer, together, pages } = self;
        let destination = (writer.place)(url)?;
        let mut head = together.head();
        let written = writer.write(&destination, |out| {
            writer.copy(session, url, (&mut head, &mut **pages), &destination, out)
        });
        report.stats.read_size = Some(session.read_len(*pages));
        together.saw(&written?);
        Ok(())
    }

    fn several(&mut self, session: &mut dyn Session, urls: &[(Url, Target)], report: &mut Report) -> usize {
        self.together.fetch(session, urls, &self.writer, report)
    }
}

impl Writer<'_> {
    /// Lets `copy` write to `destination` and say what the file was when it was opened.
    fn write(
        &self,
        destination: &Destination,
        copy: impl FnOnce(Output<'_>) -> Result<Attributes, Failure>,
    ) -> Result<Attributes, Failure> {
        destination.write(|out| {
            let opened = copy(Output::new(out, destination.is_new(), self.sparse))?;
            if self.preserve {
                keep_times(out, &opened).map_err(|error| destination.failure(error))?;
            }
            Ok(opened)
        })
    }

    /// Writes a file that is all there.
    pub fn whole(&self, url: &Url, opened: Attributes, content: Content<'_>) -> Result<(), Failure> {
        let destination = (self.place)(url)?;
        let written = self.write(&destination, |mut out| {
            let mut progress = Progress::new(url, opened.len, &destination, self.messages);
            let written = out.write(content).and_then(|()| out.end());
            written.map_err(|error| destination.failure(error))?;
            progress.advance(opened.len);
            progress.done();
            Ok(opened)
        });
        written.map(drop)
    }

    /// Writes what is lent, and gives what the file was when it was opened.
    fn copy(
        &self,
        session: &mut dyn Session,
        url: &Url,
        (head, pages): (&mut dyn Sink, &mut dyn Sink),
        destination: &Destination,
        mut out: Output<'_>,
    ) -> Result<Attributes, Failure> {
        let (mut opened, mut end, mut progress) = (Attributes::default(), 0, None);
        let fetched = session.fetch(url, head, pages, &mut |part| {
            match part {
                Fetched::Opened(attributes) => {
                    opened = attributes;
                    if opened.kind != Kind::File {
                        return Err(io::ErrorKind::InvalidInput.into());
                    }
                    progress = Some(Progress::new(url, opened.len, destination, self.messages));
                }
                Fetched::Content(content) => {
                    out.write(content)?;
                    progress.iter_mut().for_each(|progress| progress.advance(content.len()));
                }
                Fetched::Ended(at) => end = at,
                Fetched::Failed(_) => {}
            }
            Ok(())
        });
        if opened.kind != Kind::File {
            return Err(Failure::new(format!("reading {url}"), Cause::NoFile(opened.kind)));
        }
        fetched.map_err(|failure| destination.blame(failure))?;
        // What came with the opening is of one version. Closed by now: Samba tells the times that a file had when it was
        // opened for as long as it is open.
        if end != opened.len || end > head.len() as u64 {
            must_be_unchanged(session, url, &opened, end)?;
        }
        out.end().map_err(|error| destination.failure(error))?;
        progress.into_iter().for_each(Progress::done);
        Ok(opened)
    }
}

/// Asks once more about a file that was `opened` and ended at `end`: parts of two versions are no file.
pub fn must_be_unchanged(
    session: &mut dyn Session,
    url: &Url,
    opened: &Attributes,
    end: u64,
) -> Result<(), Failure> {
    let changed = |how| Failure::new(format!("reading {url}"), Cause::Changed(how));
    if end != opened.len {
        let how = format!("it had {} bytes when it was opened, and ended after {end}", opened.len);
        return Err(changed(how));
    }
    match session.stat(url) {
        Ok(now) => now.change_since(opened).map_or(Ok(()), |how| Err(changed(how.into()))),
        Err(failure) if failure.exit() == Exit::NotFound => Err(changed("it is not there any more".into())),
        Err(Failure { cause: Cause::Link(_), .. }) => {
            Err(changed("it is a link to another place now".into()))
        }
        Err(failure) => Err(failure),
    }
}

/// As far as the server told them and this system has such times.
fn keep_times(file: &File, attributes: &Attributes) -> std::io::Result<()> {
    let mut times = FileTimes::new();
    if let Some(accessed) = attributes.accessed.and_then(date::to_system) {
        times = times.set_accessed(accessed);
    }
    if let Some(modified) = attributes.modified.and_then(date::to_system) {
        times = times.set_modified(modified);
    }
    file.set_times(times)
}
