//! Fills pages with a part of a file.

use super::filling::Filling;
use super::{Job, Nothing, Operation};
use crate::error::Error;
use crate::page::{self, Sink};
use crate::protocol::{File, Protocol};

/// Fills the pages of a sink from `offset` on, as far as the file goes; what is left of the pages is zeroed.
///
/// At the end of the file, with an empty sink or beyond the end it is `Done` without a request. The end is where the
/// file ended when it was opened; a file that has become shorter since ends where the server says so. Until it is
/// `Done(Ok)` the pages are unspecified; dropping it early leaves them so.
pub struct Read<'p, P: Protocol>(Filling<'p, P>);

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Filled {
    /// Bytes of the file at the start of the pages. The rest is zero.
    pub len: usize,
    /// Whether the file ends with them.
    pub eof: bool,
}

impl<'p, P: Protocol> Read<'p, P> {
    /// Nothing happens before its first step.
    pub fn new(file: &File<P::Handle>, offset: u64, pages: &'p mut dyn Sink) -> Self {
        let end = offset.saturating_add(pages.len() as u64);
        Read(Filling::new(file, offset, end, pages))
    }
}

impl<P: Protocol> Operation<P> for Read<'_, P> {
    type Lends = Nothing;
    type Output = Filled;

    fn job(&mut self) -> &mut dyn Job<P> {
        &mut self.0
    }

    fn item<'i>(&'i mut self, _: &'i [u8]) {}

    fn output(&mut self) -> Result<Filled, Error> {
        self.0.result()?;
        let eof = self.0.is_at_eof();
        let ring = &mut self.0.ring;
        // Within the sink, whose length is a usize.
        let (len, all) = (ring.filled() as usize, ring.len());
        page::zero(ring.sink(), len, all.saturating_sub(len));
        Ok(Filled { len, eof })
    }
}
