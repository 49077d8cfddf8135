//! A file as a reader.

use super::{Failure, Link, drive};
use crate::client::Client;
use crate::error::Error;
use crate::operation::stream::Stream;
use crate::operation::{Content, Operation};
use crate::page::Sink;
use crate::protocol::{File, Protocol};
use crate::time::Clock;
use core::ops::ControlFlow;
use embedded_io::{ErrorType, Read, Seek, SeekFrom};

/// A file as `embedded_io`'s [`Read`] and [`Seek`], read ahead into a ring of pages: the requests in flight stay in
/// flight between two calls, so reading in small pieces is as fast as in large ones. Over a link of `asynch` it is
/// `embedded_io_async`'s.
///
/// `read` gives 0 at the end of the file (the end it had when it was opened, or an earlier one if it has become shorter)
/// and for an empty buffer. Seeking drops what was read ahead; a place beyond the end reads as the end.
pub struct FileReader<'r, 's, P: Protocol, T, C> {
    pub(crate) client: &'r mut Client<'s, P>,
    pub(crate) io: &'r mut T,
    pub(crate) clock: &'r C,
    pub(crate) stream: Stream<'r, P>,
    /// Where the next byte is.
    at: u64,
    len: u64,
    /// Bytes of the stream's item that were given away.
    used: u64,
}

impl<'r, 's, P: Protocol, T, C> FileReader<'r, 's, P, T, C> {
    /// Starts at the first byte. `pages` bound what is read ahead.
    pub fn new(
        client: &'r mut Client<'s, P>,
        io: &'r mut T,
        clock: &'r C,
        file: &File<P::Handle>,
        pages: &'r mut dyn Sink,
    ) -> Self {
        let len = file.attributes.len;
        FileReader { client, io, clock, stream: Stream::new(file, 0, pages), at: 0, len, used: 0 }
    }

    /// Copies into `buf` what is left of the stream's item. 0 says that the next item is wanted.
    pub(crate) fn give(&mut self, buf: &mut [u8]) -> usize {
        let len = give(self.stream.item(&[]), self.used, buf);
        self.used = if len > 0 { self.used.saturating_add(len as u64) } else { 0 };
        self.at = self.at.saturating_add(len as u64);
        len
    }

    /// Goes on elsewhere. Nothing is sent, and nothing waited for.
    pub(crate) fn seek_to<E>(&mut self, to: SeekFrom) -> Result<u64, Failure<E>> {
        let target = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => self.len.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.at.checked_add_signed(offset),
        };
        let target = target.ok_or(Failure::Engine(Error::Invalid("a place before the start of the file")))?;
        if target != self.at {
            self.stream.seek(target);
            (self.at, self.used) = (target, 0);
        }
        Ok(self.at)
    }
}

impl<P: Protocol, T: ErrorType, C> ErrorType for FileReader<'_, '_, P, T, C> {
    type Error = Failure<T::Error>;
}

impl<P, T, C> Read for FileReader<'_, '_, P, T, C>
where
    P: Protocol,
    T: Link,
    C: Clock,
{
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Self::Error> {
        while !buf.is_empty() {
            let len = self.give(buf);
            if len > 0 {
                return Ok(len);
            }
            // The item is still there after the break: it is lent until the next step.
            if drive(self.client, self.io, self.clock, &mut self.stream, |_| ControlFlow::Break(()))?
                .is_some()
            {
                return Ok(0);
            }
        }
        Ok(0)
    }
}

/// Copies what of an item is behind the first `used` bytes, as much as there is room for.
fn give(item: Content<'_>, used: u64, buf: &mut [u8]) -> usize {
    match item {
        Content::Data(bytes) => {
            let rest = usize::try_from(used).ok().and_then(|used| bytes.get(used..)).unwrap_or(&[]);
            buf.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            rest.len().min(buf.len())
        }
        Content::Hole(len) => {
            let rest = usize::try_from(len.saturating_sub(used)).unwrap_or(usize::MAX);
            buf.iter_mut().take(rest).for_each(|to| *to = 0);
            rest.min(buf.len())
        }
    }
}

impl<P: Protocol, T: ErrorType, C> Seek for FileReader<'_, '_, P, T, C> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64, Self::Error> {
        self.seek_to(to)
    }
}
