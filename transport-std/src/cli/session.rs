//! What commands want of a connection to one share or export.

use super::failure::{Cause, Failure};
use super::stats::Stats;
use super::url::Url;
use pagewire::{Attributes, Entry, Fetched, MapSegment, Sink, Space};
use std::io;
use std::ops::ControlFlow;

/// What a command wants of a connection, whatever is spoken over it. There is one open file at a time.
pub trait Session {
    /// Everything up to a usable share or export. Whatever is asked first does it too, in fewer round trips.
    fn log_in(&mut self) -> Result<(), Failure>;

    /// Whether that was tried over the connection there is, and did not work.
    fn is_shut_out(&self) -> bool;

    /// Whether it ever worked, or was about to when the connection was lost. Who was never let in is not let in by trying again, and
    /// a password that is refused once more for each file could lock the account.
    fn was_let_in(&self) -> bool;

    /// Whether files can be asked for.
    fn is_connected(&self) -> bool;

    /// Opens a file to read it.
    fn open(&mut self, url: &Url) -> Result<Attributes, Failure>;

    /// Shows what is at `url` to `each`: what it is, its content, and where it has ended. `head` is memory for its start, `ring` for
    /// the rest.
    fn fetch(
        &mut self,
        url: &Url,
        head: &mut dyn Sink,
        ring: &mut dyn Sink,
        each: &mut dyn FnMut(Fetched<'_>) -> io::Result<()>,
    ) -> Result<(), Failure>;

    /// Shows what is at each of `paths` to `each`, in their order, until that breaks off. Several files are asked for side by
    /// side: as many as there are `lanes`, among which `heads` is shared out. No more than the head of a file is read,
    /// and links are not followed.
    fn fetch_heads<'p>(
        &mut self,
        paths: &mut dyn Iterator<Item = &'p str>,
        lanes: usize,
        heads: &mut dyn Sink,
        each: &mut dyn FnMut(Fetched<'_>) -> ControlFlow<()>,
    ) -> Result<(), Cause>;

    /// Connects anew after the connection was lost, or what the server kept for it.
    fn reconnect(&mut self) -> Result<(), Failure>;

    /// Shows to `each` what is at `url` from the byte `at` on, and where it has ended; if it is still the file that was `opened`
    /// before.
    fn resume(
        &mut self,
        url: &Url,
        opened: &Attributes,
        at: u64,
        ring: &mut dyn Sink,
        each: &mut dyn FnMut(Fetched<'_>) -> io::Result<()>,
    ) -> Result<(), Failure>;

    /// Gives the open file back, if there is one. What the server says about it is of no interest.
    fn close(&mut self);

    /// Shows the entries of a directory to `each`. The path of the directory: that of `url`, unless there is a symbolic link in it.
    fn list(
        &mut self,
        url: &Url,
        each: &mut dyn FnMut(Entry<'_>) -> io::Result<()>,
    ) -> Result<String, Failure>;

    /// Shows the segments of the open file to `each`. Whether the server could say where they are: if not, what it did
    /// not say counts as data.
    fn map(&mut self, url: &Url, each: &mut dyn FnMut(MapSegment) -> io::Result<()>)
    -> Result<bool, Failure>;

    /// The attributes of a file or directory.
    fn stat(&mut self, url: &Url) -> Result<Attributes, Failure>;

    /// The space of the file system that a path is on.
    fn statfs(&mut self, url: &Url) -> Result<Space, Failure>;

    /// Whether `url`, which has the same target, can be asked for over it.
    fn covers(&self, url: &Url) -> bool;

    /// Whether nothing more can be asked of it.
    fn is_lost(&self) -> bool;

    /// What came of what was `tried` over it.
    fn failure(&self, tried: String, cause: Cause) -> Failure;

    /// The bytes of one read with these pages.
    fn read_len(&self, ring: &dyn Sink) -> u32;

    /// The share or export as users of the system's own tools name it.
    fn share(&self) -> String;

    /// One line about what was negotiated.
    fn describe(&self) -> String;

    /// Adds what it has cost to `stats`. Once, at its end.
    fn account(&self, stats: &mut Stats);

    /// Tells the server that this is the end, so that it can forget the client. What it says about it is of no interest and not waited
    /// for: a server that finds the connection closed when it says it (NFS-Ganesha) forgets the session at once, and the rest later.
    fn leave(&mut self);
}
