//! A file as a reader.

use super::{FileReader, Link, Timer, drive};
use crate::protocol::Protocol;
use core::ops::ControlFlow;
use embedded_io_async::{ErrorType, Read, Seek, SeekFrom};

/// As the blocking `read`. Dropping its future is allowed: no byte is lost, and the next `read` goes on.
impl<P, T, C> Read for FileReader<'_, '_, P, T, C>
where
    P: Protocol,
    T: Link,
    C: Timer,
{
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, Self::Error> {
        while !buf.is_empty() {
            let len = self.give(buf);
            if len > 0 {
                return Ok(len);
            }
            // The item is still there after the break: it is lent until the next step.
            let next = drive(self.client, self.io, self.clock, &mut self.stream, |_| ControlFlow::Break(()));
            if next.await?.is_some() {
                return Ok(0);
            }
        }
        Ok(0)
    }
}

/// As the blocking `seek`: it never waits.
impl<P: Protocol, T: ErrorType, C> Seek for FileReader<'_, '_, P, T, C> {
    async fn seek(&mut self, to: SeekFrom) -> Result<u64, Self::Error> {
        self.seek_to(to)
    }
}
