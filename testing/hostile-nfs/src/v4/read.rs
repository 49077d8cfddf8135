//! READ, READ_PLUS and SEEK (RFC 8881 18.22, RFC 7862 15.10, 15.11).

use super::compound::{Compound, Refused};
use super::model::{Model, ReadPlus};
use super::numbers::status;
use super::quirk::Quirk;
use super::segments::Reply;
use crate::Kind;
use crate::layout::{Layout, Segment};
use crate::xdr::{Args, Xdr};

impl Model {
    /// The current file, to be read.
    fn readable(&self, compound: &Compound) -> Result<Layout, Refused> {
        match self.current(compound)?.kind {
            Kind::File(file) => Ok(file),
            Kind::Directory => Err(status::ISDIR),
            Kind::Link(_) if compound.minor > 0 => Err(status::SYMLINK),
            Kind::Link(_) => Err(status::INVAL),
        }
    }

    /// Stateid, offset and count of READ and READ_PLUS: the file, and what of it is brought.
    fn asked(&mut self, compound: &Compound, args: &mut Args<'_>) -> Result<(Layout, Segment), Refused> {
        let allowed = self.may_read(compound, args, true);
        let (offset, count) = (args.hyper(), args.word());
        let file = self.readable(compound)?;
        allowed?;
        self.longest_read = self.longest_read.max(count);
        let len = u64::from(count.min(self.config.maxread)).min(self.config.brings as u64);
        Ok((file, Segment { offset, len, hole: false }))
    }

    pub(super) fn read(
        &mut self,
        compound: &Compound,
        args: &mut Args<'_>,
        x: &mut Xdr,
    ) -> Result<(), Refused> {
        let (file, asked) = self.asked(compound, args)?;
        let mut data = file.read(asked.offset, asked.len);
        let mut eof = asked.offset.saturating_add(data.len() as u64) >= file.len();
        if self.shows(Quirk::ReadNothing) {
            (eof, data) = (false, Vec::new());
        }
        let len = data.len();
        let more = self.quirk(|quirk| match quirk {
            Quirk::ReadMore(more) => Some(more as usize),
            _ => None,
        });
        if let Some(more) = more {
            data.resize(asked.len as usize + more, 0xBB);
        }
        x.word(eof.into()).file_data(&data, len);
        Ok(())
    }

    pub(super) fn read_plus(
        &mut self,
        compound: &Compound,
        args: &mut Args<'_>,
        x: &mut Xdr,
    ) -> Result<(), Refused> {
        let (file, asked) = self.asked(compound, args)?;
        let end = asked.end().min(file.len());
        let mut segments: Vec<_> = file.segments(asked.offset, end).collect();
        if self.config.read_plus == ReadPlus::Single && !segments.is_empty() {
            segments = vec![Segment { len: end - asked.offset, ..asked }];
        }
        let mut reply = Reply::new(asked.end() >= file.len(), segments);
        let shapes = self.quirks(|quirk| match quirk {
            Quirk::Segments(shape) => Some(shape),
            _ => None,
        });
        shapes.into_iter().for_each(|shape| reply.shape(shape, asked));
        reply.encode(&file, x);
        Ok(())
    }

    pub(super) fn seek(
        &mut self,
        compound: &Compound,
        args: &mut Args<'_>,
        x: &mut Xdr,
    ) -> Result<(), Refused> {
        // No server takes a special stateid here.
        let allowed = self.may_read(compound, args, false);
        let (offset, what) = (args.hyper(), args.word());
        assert!(what < 2, "data or a hole");
        let file = self.readable(compound)?;
        allowed?;
        if self.shows(Quirk::SeekStays) {
            x.word(0).hyper(offset);
            return Ok(());
        }
        let elsewhere = self.quirk(|quirk| match quirk {
            Quirk::SeekBack(len) => Some(offset.saturating_sub(len)),
            Quirk::SeekOn(len) => Some(offset + len),
            _ => None,
        });
        if let Some(at) = elsewhere {
            x.word(0).hyper(at);
            return Ok(());
        }
        if offset >= file.len() {
            return Err(status::NXIO);
        }
        match file.seek(offset, what == 1) {
            Some(at) => drop(x.word((at == file.len()).into()).hyper(at)),
            None if self.shows(Quirk::SeekEndsThere) => drop(x.word(1).hyper(offset)),
            None => return Err(status::NXIO),
        }
        Ok(())
    }
}
