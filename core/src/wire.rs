//! Reading and writing wire integers, in both byte orders.
//!
//! [`Reader`] names the field it could not read, so a truncated message says where it ended.
//! [`Writer`] overflows stickily: encoders are straight lines and [`Writer::finish`] tells once
//! whether the lent memory was enough.

use crate::error::Error;

/// A cursor over received bytes.
// What reads a field is inlined, and no more of it than the error: so that is made where it is returned, which takes a third
// of the code that copying it there does.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    /// How many bytes were read or skipped so far.
    pub const fn at(&self) -> usize {
        self.at
    }

    /// What is left to read.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or(&[])
    }

    /// Takes `len` bytes. `Malformed(field)` if fewer are left.
    #[inline(always)]
    pub fn take(&mut self, len: usize, field: &'static str) -> Result<&'a [u8], Error> {
        self.bytes(len).ok_or(Error::Malformed(field))
    }

    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let taken = self.rest().get(..len)?;
        self.at = self.at.saturating_add(len);
        Some(taken)
    }

    pub(crate) fn chunk<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let taken = self.rest().first_chunk()?;
        self.at = self.at.saturating_add(N);
        Some(taken)
    }

    /// Takes an array of `N` bytes. `Malformed(field)` if fewer are left.
    #[inline(always)]
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Error> {
        self.chunk().copied().ok_or(Error::Malformed(field))
    }

    /// Skips `len` bytes. `Malformed(field)` if fewer are left.
    #[inline(always)]
    pub fn skip(&mut self, len: usize, field: &'static str) -> Result<(), Error> {
        self.take(len, field).map(drop)
    }

    /// One byte.
    #[inline(always)]
    pub fn u8(&mut self, field: &'static str) -> Result<u8, Error> {
        self.array::<1>(field).map(|[byte]| byte)
    }

    /// A little-endian `u16`.
    #[inline(always)]
    pub fn le16(&mut self, field: &'static str) -> Result<u16, Error> {
        self.array(field).map(u16::from_le_bytes)
    }

    /// A little-endian `u32`.
    #[inline(always)]
    pub fn le32(&mut self, field: &'static str) -> Result<u32, Error> {
        self.array(field).map(u32::from_le_bytes)
    }

    /// A little-endian `u64`.
    #[inline(always)]
    pub fn le64(&mut self, field: &'static str) -> Result<u64, Error> {
        self.array(field).map(u64::from_le_bytes)
    }
}

/// The `len` bytes of `bytes` at `offset`. `Malformed(field)` if they are not all there.
#[inline(always)]
pub fn slice<'a>(bytes: &'a [u8], offset: usize, len: usize, field: &'static str) -> Result<&'a [u8], Error> {
    offset.checked_add(len).and_then(|end| bytes.get(offset..end)).ok_or(Error::Malformed(field))
}

/// A cursor over memory to fill.
#[derive(Debug)]
pub struct Writer<'a> {
    buf: &'a mut [u8],
    at: usize,
}

/// A place in a [`Writer`] that is filled in later.
#[derive(Clone, Copy, Debug)]
pub struct Mark(usize);

impl Mark {
    /// The place `len` bytes further on.
    #[must_use]
    pub const fn plus(self, len: usize) -> Mark {
        Mark(self.0.saturating_add(len))
    }
}

impl<'a> Writer<'a> {
    /// Starts at the first byte of `buf`.
    pub fn new(buf: &'a mut [u8]) -> Self {
        Writer { buf, at: 0 }
    }

    /// How many bytes were written, counting those that did not fit.
    pub const fn at(&self) -> usize {
        self.at
    }

    /// Where the next byte goes, for [`patch`](Self::patch).
    pub const fn mark(&self) -> Mark {
        Mark(self.at)
    }

    /// Appends `bytes`. What does not fit is counted and dropped.
    pub fn put(&mut self, bytes: &[u8]) {
        self.patch(self.mark(), bytes);
        self.at = self.at.saturating_add(bytes.len());
    }

    /// Appends one byte.
    pub fn u8(&mut self, value: u8) {
        self.put(&[value]);
    }

    /// Appends a little-endian `u16`.
    pub fn le16(&mut self, value: u16) {
        self.put(&value.to_le_bytes());
    }

    /// Appends a little-endian `u32`.
    pub fn le32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    /// Appends a little-endian `u64`.
    pub fn le64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    /// Appends `len` zero bytes.
    pub fn zeros(&mut self, len: usize) {
        let end = self.at.saturating_add(len);
        if let Some(room) = self.buf.get_mut(self.at..end) {
            room.fill(0);
        }
        self.at = end;
    }

    /// Appends zeros until [`at`](Self::at) is a multiple of `to`, a power of two.
    pub fn align(&mut self, to: usize) {
        self.zeros(self.at.wrapping_neg() & to.wrapping_sub(1));
    }

    /// Appends `text` as UTF-16LE and returns its length in bytes.
    pub fn utf16(&mut self, text: &str) -> usize {
        let start = self.at;
        text.encode_utf16().for_each(|unit| self.le16(unit));
        self.at.saturating_sub(start)
    }

    /// Overwrites what stands at `mark`. Nothing happens where the bytes did not fit.
    pub fn patch(&mut self, mark: Mark, bytes: &[u8]) {
        let end = mark.0.saturating_add(bytes.len());
        let room = self.buf.get_mut(mark.0..end).unwrap_or(&mut []);
        room.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    }

    /// The bytes written from `mark` on (empty once something did not fit).
    pub fn since(&mut self, mark: Mark) -> &mut [u8] {
        self.buf.get_mut(mark.0..self.at).unwrap_or(&mut [])
    }

    /// Whether something did not fit.
    pub const fn overflows(&self) -> bool {
        self.at > self.buf.len()
    }

    /// The number of bytes written. `Budget` with what would have been enough if they did not fit.
    pub fn finish(self) -> Result<usize, Error> {
        if self.overflows() {
            return Err(Error::Budget { what: "tx", need: self.at, have: self.buf.len() });
        }
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_names_the_field_that_is_missing() {
        let mut reader = Reader::new(&[1, 2, 3, 4, 5]);
        assert_eq!(reader.le32("first"), Ok(0x0403_0201));
        assert_eq!(reader.le16("second"), Err(Error::Malformed("second")));
        assert_eq!(reader.u8("third"), Ok(5));
        assert_eq!(reader.rest(), &[0u8; 0]);
    }

    #[test]
    fn a_writer_that_overflows_says_what_would_have_been_enough() {
        let mut buf = [0xFF; 4];
        let mut writer = Writer::new(&mut buf);
        writer.le16(0x0201);
        writer.le32(0x0605_0403);
        assert_eq!(writer.finish(), Err(Error::Budget { what: "tx", need: 6, have: 4 }));
        assert_eq!(buf, [1, 2, 0xFF, 0xFF]);
    }

    #[test]
    fn patching_changes_only_what_was_reserved() {
        let mut buf = [0; 8];
        let mut writer = Writer::new(&mut buf);
        let len = writer.mark();
        writer.le16(0);
        let text = writer.utf16("é");
        writer.patch(len, &(text as u16).to_le_bytes());
        writer.align(8);
        assert_eq!(writer.finish(), Ok(8));
        assert_eq!(buf, [2, 0, 0xE9, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_slice_that_would_wrap_around_is_refused() {
        assert_eq!(slice(&[0; 4], usize::MAX, 2, "blob"), Err(Error::Malformed("blob")));
        assert_eq!(slice(&[0, 1, 2, 3], 1, 2, "blob"), Ok(&[1, 2][..]));
    }
}
