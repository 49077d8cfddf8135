//! One file on its way from a server to where it is written, over as many connections as that takes.

use super::destination::Destination;
use super::failure::{Cause, Exit, Failure};
use super::output::Output;
use super::retries::{Retries, persist};
use super::session::Session;
use super::url::Url;
use pagewire::{Attributes, Fetched, Kind, Sink};
use std::io;

/// What has come of a file so far.
pub struct Coming<'c> {
    url: &'c Url,
    out: Output<'c>,
    /// Is told what the file is, and how many bytes have come.
    advance: &'c mut dyn FnMut(&Attributes, u64),
    opened: Option<Attributes>,
    /// All before this byte is written.
    at: u64,
    end: u64,
    /// It came at once: nobody need ask whether it still is the same.
    whole: bool,
}

impl<'c> Coming<'c> {
    pub fn new(url: &'c Url, out: Output<'c>, advance: &'c mut dyn FnMut(&Attributes, u64)) -> Coming<'c> {
        Coming { url, out, advance, opened: None, at: 0, end: 0, whole: false }
    }

    /// Has all of it written, and gives what the file was when it was opened. A connection that is lost on the way is made anew, at
    /// most `retries` times in a row without another byte.
    pub fn arrives(
        &mut self,
        session: &mut dyn Session,
        (head, pages): (&mut dyn Sink, &mut dyn Sink),
        destination: &Destination,
        retries: u32,
    ) -> Result<Attributes, Failure> {
        let mut outcome = session.fetch(self.url, head, pages, &mut |part| self.take(part));
        let (mut again, mut from) = (Retries::new(retries), 0);
        while let Err(failure) = &outcome
            && session.was_let_in()
        {
            if self.at > from {
                from = self.at;
                again.renew();
            }
            if !again.wait(failure) {
                break;
            }
            outcome = self.goes_on(session, (head, pages));
        }
        let opened = self.opened.unwrap_or_default();
        if opened.kind != Kind::File {
            return Err(Failure::new(format!("reading {}", self.url), Cause::NoFile(opened.kind)));
        }
        outcome.map_err(|failure| destination.blame(failure))?;
        // Closed by now: Samba tells the times that a file had when it was opened for as long as it is open.
        if self.end != opened.len || !self.whole {
            persist(session, retries, |session| must_be_unchanged(session, self.url, &opened, self.end))?;
        }
        self.out.end().map_err(|error| destination.failure(error))?;
        Ok(opened)
    }

    /// Over another connection: begins anew if it was lost before anything was told of the file.
    fn goes_on(
        &mut self,
        session: &mut dyn Session,
        (head, pages): (&mut dyn Sink, &mut dyn Sink),
    ) -> Result<(), Failure> {
        session.reconnect()?;
        let (url, at) = (self.url, self.at);
        match self.opened {
            Some(opened) => session.resume(url, &opened, at, pages, &mut |part| self.take(part)),
            None => session.fetch(url, head, pages, &mut |part| self.take(part)),
        }
    }

    fn take(&mut self, part: Fetched<'_>) -> io::Result<()> {
        match part {
            Fetched::Opened { file, whole } => {
                (self.opened, self.whole) = (Some(file), whole);
                if file.kind != Kind::File {
                    return Err(io::ErrorKind::InvalidInput.into());
                }
                (self.advance)(&file, 0);
            }
            Fetched::Content(content) => {
                self.out.write(content)?;
                self.at += content.len();
                (self.advance)(&self.opened.unwrap_or_default(), content.len());
            }
            Fetched::Ended(end) => self.end = end,
            Fetched::Failed(_) => {}
        }
        Ok(())
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
