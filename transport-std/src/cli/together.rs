//! Small files side by side: several come in the round trip that one would take.

use super::budget::HEAD_PAGE_LEN;
use super::destination::Destination;
use super::failure::Cause;
use super::session::Session;
use super::stats::Report;
use super::transfer::Writer;
use super::url::Url;
use pagewire::limits::HOLE_LEN_MIN;
use pagewire::{Attributes, Content, Error, Fetched, Kind, Pages, Reason};
use std::mem;
use std::ops::ControlFlow::{self, Break, Continue};

/// What went well is tried with so many times the files next: what is read in vain when one of them is not small is not
/// much more than what was of use before.
const GROWTH: usize = 4;

/// Memory for the heads of several files, and how many files may be tried next.
///
/// Only files that come whole with their heads are served together: there is nothing to be asked about them afterwards. What
/// does not, or fails in a way that is worth a second look, ends that and is served by itself.
pub struct Together<'h> {
    heads: &'h mut [[u8; HEAD_PAGE_LEN]],
    head_pages: usize,
    files: usize,
}

impl<'h> Together<'h> {
    /// A head takes `head_pages` of the pages, of which there are enough for one file at least.
    pub fn new(heads: &'h mut [[u8; HEAD_PAGE_LEN]], head_pages: usize) -> Together<'h> {
        Together { heads, head_pages, files: usize::MAX }
    }

    /// Memory for the head of one file.
    pub fn head(&mut self) -> Pages<'_, HEAD_PAGE_LEN> {
        Pages(&mut self.heads[..self.head_pages])
    }

    /// Whether a file with these attributes can be served together with others.
    pub fn takes(&self, file: &Attributes) -> bool {
        is_small(file, self.head_pages)
    }

    /// Takes it that it can be so with all that come next.
    pub fn expects(&mut self) {
        self.files = usize::MAX;
    }

    /// Learns from a file that was served by itself.
    pub fn saw(&mut self, file: &Attributes) {
        self.files = if self.takes(file) { self.files.max(1) } else { 0 };
    }

    /// Has the first of `urls` written by `writer`, as far as they can be served together, and reports what came of them.
    /// How many that were.
    pub fn fetch(
        &mut self,
        session: &mut dyn Session,
        urls: &[Url],
        writer: &Writer<'_>,
        report: &mut Report,
    ) -> usize {
        let place = |url| if session.covers(url) { (writer.place)(url).ok() } else { None };
        let destinations: Vec<_> = urls.iter().take(self.files).map_while(place).collect();
        let wanted = destinations.len();
        let lanes = wanted.min(self.heads.len() / self.head_pages);
        if lanes == 0 {
            return 0;
        }
        let urls = &urls[..wanted];
        let mut paths = urls.iter().map(|url| url.path.as_str());
        let mut heads = Pages(&mut self.heads[..lanes * self.head_pages]);
        let (done, opened, refused, head_pages) = (0, None, Vec::new(), self.head_pages);
        let connected = session.is_connected();
        let mut batch =
            Batch { urls, destinations, writer, report, head_pages, connected, done, opened, refused };
        let outcome = session.fetch_heads(&mut paths, lanes, &mut heads, &mut |part| batch.take(part));
        self.files = if batch.done == wanted { self.files.saturating_mul(GROWTH) } else { 0 };
        batch.end(session, outcome)
    }
}

/// Whether all of a file comes with its head.
fn is_small(file: &Attributes, head_pages: usize) -> bool {
    let may_have_holes = file.sparse && file.len >= HOLE_LEN_MIN;
    file.kind == Kind::File && !may_have_holes && file.len <= (head_pages * HEAD_PAGE_LEN) as u64
}

/// Files that are served together, and what came of them so far.
struct Batch<'b> {
    urls: &'b [Url],
    /// Of each of them.
    destinations: Vec<Destination>,
    writer: &'b Writer<'b>,
    report: &'b mut Report,
    head_pages: usize,
    /// That nobody was let in is told once, and not for each.
    connected: bool,
    done: usize,
    /// What the one after those that are done was when it was opened.
    opened: Option<Attributes>,
    /// By place in `urls`.
    refused: Vec<(usize, Error)>,
}

impl Batch<'_> {
    fn take(&mut self, part: Fetched<'_>) -> ControlFlow<()> {
        match (part, self.opened) {
            (Fetched::Opened { file, whole: true }, _) if is_small(&file, self.head_pages) => {
                (self.connected, self.opened) = (true, Some(file));
            }
            // The head of a file is one piece, since the pages are.
            (Fetched::Content(content), Some(file)) if content.len() == file.len => {
                self.write(file, content)?
            }
            (Fetched::Ended(end), Some(file)) if end == file.len => {
                if end == 0 {
                    self.write(file, Content::Data(&[]))?;
                }
                (self.done, self.opened) = (self.done + 1, None);
            }
            (Fetched::Failed(error), None) if self.connected && is_plain(&error) => {
                self.refused.push((self.done, error));
                self.done += 1;
            }
            _ => return Break(()),
        }
        Continue(())
    }

    fn write(&mut self, file: Attributes, content: Content<'_>) -> ControlFlow<()> {
        let outcome = self.writer.whole(&self.urls[self.done], &self.destinations[self.done], file, content);
        self.report.outcome(outcome);
        if self.report.unread { Break(()) } else { Continue(()) }
    }

    /// Reports what could not be while files came, and says how many are done.
    fn end(mut self, session: &dyn Session, outcome: Result<(), Cause>) -> usize {
        for (index, error) in mem::take(&mut self.refused) {
            self.fail(session, index, Cause::Engine(error));
        }
        match outcome {
            // The first of what is missing is served by itself, over another connection.
            Err(cause) if cause.is_lost() && self.writer.retries > 0 => self.done,
            Err(cause) if self.done < self.urls.len() && !self.report.unread => {
                self.fail(session, self.done, cause);
                self.done + 1
            }
            _ => self.done,
        }
    }

    fn fail(&mut self, session: &dyn Session, index: usize, cause: Cause) {
        let tried = if index == self.done && self.opened.is_some() { "reading" } else { "opening" };
        let failure = session.failure(format!("{tried} {}", self.urls[index]), cause);
        self.report.outcome(Err(failure));
    }
}

/// Whether there is no more to it: a link, or that a file is on another server, shows only if it is asked for by itself.
fn is_plain(error: &Error) -> bool {
    matches!(error, Error::Refused(refusal) if matches!(refusal.reason, Reason::NotFound | Reason::Denied))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_long_is_followed_by_one_alone_and_what_was_short_by_more_each_time() {
        let mut heads = [[0; HEAD_PAGE_LEN]; 4];
        assert!(!is_small(
            &Attributes { kind: Kind::File, sparse: true, len: HOLE_LEN_MIN, ..Attributes::default() },
            200
        ));
        let mut together = Together::new(&mut heads, 2);
        let file = |len| Attributes { kind: Kind::File, len, ..Attributes::default() };
        together.saw(&file(1024));
        assert_eq!(together.files, usize::MAX, "the first of many");
        together.saw(&file(1025));
        assert_eq!(together.files, 0);
        // ksmbd calls every file sparse.
        together.saw(&Attributes { sparse: true, ..file(1) });
        assert_eq!(together.files, 1);
    }

    #[test]
    fn only_what_is_missing_or_denied_is_not_asked_for_once_more() {
        let refused = |reason| {
            is_plain(&Error::Refused(pagewire::Refusal { reason, code: 1, name: "X", during: "CREATE" }))
        };
        assert!(refused(Reason::NotFound) && refused(Reason::Denied));
        assert!(!refused(Reason::Symlink) && !refused(Reason::Expired) && !refused(Reason::Other));
        assert!(!is_plain(&Error::Closed));
    }
}
