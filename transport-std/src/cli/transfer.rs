//! `get` and `cat`: file data goes from the lent pages straight to where it is wanted.

use super::args::{Cat, Common, Get, Messages, Sparse, Transfer};
use super::budget::{self, HEAD_PAGE_LEN, Memory, READ_LEN, RX_LEN};
use super::coming::Coming;
use super::date;
use super::destination::Destination;
use super::failure::{Cause, Failure};
use super::layout::Layout;
use super::output::Output;
use super::progress::Progress;
use super::session::Session;
use super::stats::Report;
use super::together::Together;
use super::tree::{MakeDirectory, Tree};
use super::url::Url;
use super::visit::{Serve, Visitor, usage};
use pagewire::{Attributes, Content, Sink};
use std::fs::{File, FileTimes};

pub fn get(args: &Get, report: &mut Report) -> Result<(), Failure> {
    let layout = Layout::new(args)?;
    let place = |url: &Url| layout.destination(url);
    let (preserve, sparse, messages) = (args.preserve, args.sparse, args.common.messages);
    let writer = Writer { place: &place, preserve, sparse, retries: args.transfer.retries, messages };
    let make = |url: &Url| layout.make_directory(url);
    let make: Option<MakeDirectory<'_>> = if args.recursive { Some(&make) } else { None };
    transfer(&args.urls, &args.transfer, &args.common, report, (writer, make))
}

pub fn cat(args: &Cat, report: &mut Report) -> Result<(), Failure> {
    let place = |_: &Url| Ok(Destination::Stdout);
    let (retries, messages) = (args.transfer.retries, args.common.messages);
    let writer = Writer { place: &place, preserve: false, sparse: Sparse::Never, retries, messages };
    transfer(&args.urls, &args.transfer, &args.common, report, (writer, None))
}

/// Lends the memory and has the files written, and with a way to make directories, those too. The number of pages follows the
/// requests, and never the other way round.
fn transfer(
    urls: &[String],
    transfer: &Transfer,
    common: &Common,
    report: &mut Report,
    (writer, make): (Writer<'_>, Option<MakeDirectory<'_>>),
) -> Result<(), Failure> {
    let read_len = transfer.rsize.or(common.options().map_err(usage)?.rsize).unwrap_or(READ_LEN);
    let mut memory = Memory::new(transfer.in_flight, RX_LEN)?;
    memory.read_len = read_len;
    let mut visitor = Visitor::new(common, memory)?;
    let mut ring = budget::ring(transfer.page, read_len, transfer.in_flight)?;
    report.stats.page_size = Some(transfer.page);
    // One for each file that is asked for side by side with others.
    let files = if make.is_some() { usize::MAX } else { urls.len() };
    let mut heads = budget::heads(read_len, files.min(budget::lanes(transfer.in_flight)))?;
    report.stats.lent_memory = visitor.lent() + ring.len() + heads.len() * HEAD_PAGE_LEN;
    let wrong = || Failure::new("lending pages", Cause::Usage("there are no pages of this size".into()));
    let mut pages = budget::pages(transfer.page, &mut ring).ok_or_else(wrong)?;
    let together = Together::new(&mut heads, budget::head_pages(read_len));
    let job = Job { writer, together, pages: pages.as_mut() };
    match make {
        Some(make) => visitor.visit(urls, report, Tree::new(job, make)),
        None => visitor.visit(urls, report, job),
    }
}

/// Where files go, and how.
pub struct Writer<'w> {
    pub place: &'w dyn Fn(&Url) -> Result<Destination, Failure>,
    preserve: bool,
    sparse: Sparse,
    /// How often in a row a connection that is lost is made anew.
    pub retries: u32,
    messages: Messages,
}

/// Files that are to be read.
pub struct Job<'j> {
    pub writer: Writer<'j>,
    pub together: Together<'j>,
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

    fn retries(&self) -> u32 {
        self.writer.retries
    }

    fn several(&mut self, session: &mut dyn Session, urls: &[Url], report: &mut Report) -> usize {
        let served = self.together.fetch(session, urls, &self.writer, report);
        report.stats.read_size = Some(session.read_len(self.pages));
        served
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
            // Times are those of a file: what was there before, a device or whatever standard output is, keeps its own.
            if self.preserve && destination.is_new() {
                keep_times(out, &opened).map_err(|error| destination.failure(error))?;
            }
            Ok(opened)
        })
    }

    /// Writes a file that is all there.
    pub fn whole(
        &self,
        url: &Url,
        destination: &Destination,
        opened: Attributes,
        content: Content<'_>,
    ) -> Result<(), Failure> {
        let written = self.write(destination, |mut out| {
            let mut progress = Progress::new(url, opened.len, destination, self.messages);
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
        out: Output<'_>,
    ) -> Result<Attributes, Failure> {
        let mut progress = None;
        let mut advance = |opened: &Attributes, more| {
            let begin = || Progress::new(url, opened.len, destination, self.messages);
            progress.get_or_insert_with(begin).advance(more);
        };
        let mut coming = Coming::new(url, out, &mut advance);
        let opened = coming.arrives(session, (head, pages), destination, self.retries)?;
        progress.into_iter().for_each(Progress::done);
        Ok(opened)
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

#[cfg(test)]
mod tests {
    use super::*;
    use pagewire::Time;
    use std::fs;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn times_are_kept_of_a_new_file_and_of_nothing_that_was_there_before() {
        let directory = tempfile::tempdir().unwrap();
        let (named, device) = (directory.path().join("file"), directory.path().join("device"));
        fs::write(&device, "").unwrap();
        let messages = Messages { stats: None, quiet: true, verbose: false };
        let place = |_: &Url| Ok(Destination::Stdout);
        let writer = Writer { place: &place, preserve: true, sparse: Sparse::Auto, retries: 0, messages };
        let modified = Some(Time { seconds: 1_000_000, nanoseconds: 0 });
        let opened = Attributes { modified, ..Attributes::default() };
        for destination in [Destination::named(&named, true).unwrap(), Destination::Special(device.clone())] {
            writer.write(&destination, |_| Ok(opened)).unwrap();
        }
        let then = UNIX_EPOCH + Duration::from_secs(1_000_000);
        let has_it = |path| fs::metadata(path).unwrap().modified().unwrap() == then;
        assert!(has_it(&named) && !has_it(&device));
    }
}
