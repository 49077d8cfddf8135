//! Reads a file from front to back through a ring of pages.

use super::filling::Filling;
use super::{Content, Contents, Job, Operation};
use crate::error::Error;
use crate::page::Sink;
use crate::protocol::{File, Protocol};

/// Lends a file in order: what is stored as runs of whole verified pages (a run also ends where a hole or the end of the
/// file comes), and what is a hole without reading it, as far as the server says so and it is worth while. A run is
/// lent until the next step; then its pages are filled anew, so a long file needs no more pages than are in flight.
///
/// At the end of the file it is `Done` with the offset where that was. If holes were left out and the file was changed since
/// it was opened, it is [`Changed`](Error::Changed) there: what was lent may be of two files then. An empty range is `Done` at once; an empty sink is
/// `Invalid` unless nothing is to be read. Dropping it early is allowed at any point.
pub struct Stream<'p, P: Protocol>(Filling<'p, P>);

impl<'p, P: Protocol> Stream<'p, P> {
    /// From `offset` to the end that the file had when it was opened. Nothing happens before its first step.
    pub fn new(file: &File<P::Handle>, offset: u64, pages: &'p mut dyn Sink) -> Self {
        let mut stream = Stream::whole(file, offset, pages);
        stream.0.map();
        stream
    }

    /// The same, and no map of its holes is asked for: of a file that changes all the time.
    pub fn whole(file: &File<P::Handle>, offset: u64, pages: &'p mut dyn Sink) -> Self {
        Stream(Filling::stream(file, offset, pages))
    }

    /// Goes on at `offset`: what was read ahead and what is in flight is forgotten.
    pub fn seek(&mut self, offset: u64) {
        self.0.restart(offset);
    }
}

impl<P: Protocol> Operation<P> for Stream<'_, P> {
    type Lends = Contents;
    type Output = u64;

    fn job(&mut self) -> &mut dyn Job<P> {
        &mut self.0
    }

    fn item<'i>(&'i mut self, _: &'i [u8]) -> Content<'i> {
        self.0.content()
    }

    fn output(&mut self) -> Result<u64, Error> {
        self.0.result().map(|()| self.0.ring.end)
    }
}
