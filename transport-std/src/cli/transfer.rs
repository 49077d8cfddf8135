//! `get` and `cat`: file data goes from the lent pages straight to where it is wanted.

use super::args::{Cat, Common, Get, Messages, Transfer};
use super::budget::{self, READ_LEN};
use super::date;
use super::destination::Destination;
use super::failure::{Cause, Failure};
use super::progress::Progress;
use super::session::Session;
use super::stats::Report;
use super::url::Url;
use super::visit::Visitor;
use pagewire::smb::FileId;
use pagewire::{Attributes, Kind, Sink};
use std::fs::{File, FileTimes};
use std::io::Write;

pub fn get(args: &Get, report: &mut Report) -> Result<(), Failure> {
    let several = args.urls.len() > 1;
    transfer(&args.urls, &args.transfer, &args.common, report, |job| {
        let destination = Destination::of(job.url, args, several)?;
        job.fetch(&destination, args.preserve)
    })
}

pub fn cat(args: &Cat, report: &mut Report) -> Result<(), Failure> {
    transfer(&args.urls, &args.transfer, &args.common, report, |job| job.fetch(&Destination::Stdout, false))
}

/// One file that is to be read.
struct Job<'j, 'm> {
    session: &'j mut Session<'m>,
    url: &'j Url,
    pages: &'j mut dyn Sink,
    messages: Messages,
    report: &'j mut Report,
}

/// Lends the memory and has `serve` called for each file. The number of pages follows the requests, and never
/// the other way round.
fn transfer(
    urls: &[String],
    transfer: &Transfer,
    common: &Common,
    report: &mut Report,
    mut serve: impl FnMut(&mut Job<'_, '_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut visitor = Visitor::new(common, transfer.in_flight)?;
    let read_len = transfer.rsize.or(visitor.options().rsize).unwrap_or(READ_LEN);
    let mut ring = budget::ring(transfer.page, read_len, transfer.in_flight);
    report.stats.page_size = Some(transfer.page);
    report.stats.lent_memory = visitor.lent() + ring.len();
    let wrong = || Failure::new("lending pages", Cause::Usage("there are no pages of this size".into()));
    let mut pages = budget::pages(transfer.page, &mut ring).ok_or_else(wrong)?;
    visitor.visit(urls, report, |session, url, report| {
        serve(&mut Job { session, url, pages: pages.as_mut(), messages: common.messages, report })
    })
}

impl Job<'_, '_> {
    fn fetch(&mut self, destination: &Destination, preserve: bool) -> Result<(), Failure> {
        let file = self.session.open(self.url)?;
        self.report.stats.read_size = Some(self.session.read_len(self.pages));
        let outcome = match file.attributes.kind {
            Kind::File => destination.write(|out| self.copy(&file, destination, out, preserve)),
            kind => Err(Failure::new(format!("reading {}", self.url), Cause::NoFile(kind))),
        };
        self.session.close(&file);
        outcome
    }

    /// Writes what is lent, as it is lent: there is no buffer in between.
    fn copy(
        &mut self,
        file: &pagewire::File<FileId>,
        destination: &Destination,
        mut out: &File,
        preserve: bool,
    ) -> Result<(), Failure> {
        let len = file.attributes.len;
        let mut progress = Progress::new(self.url, len, destination, self.messages);
        let end = self.session.stream(self.url, file, self.pages, |bytes| {
            out.write_all(bytes)?;
            progress.advance(bytes.len());
            Ok(())
        });
        let end = end.map_err(|failure| destination.blame(failure))?;
        if end != len {
            let cause = Cause::Changed { then: len, now: end };
            return Err(Failure::new(format!("reading {}", self.url), cause));
        }
        if preserve {
            keep_times(out, &file.attributes).map_err(|error| destination.failure(error))?;
        }
        progress.done();
        Ok(())
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
