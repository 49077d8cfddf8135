#![no_std]
#![forbid(unsafe_code)]
//! Two slots in NOR flash for a file: the newest whole one stays valid until the next one is whole.
//!
//! A slot is the file's bytes from its start, and a record in its last 64 bytes:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | `PWS1` |
//! | 4 | sequence number, little-endian: the higher one is newer |
//! | 4 | length of the file, little-endian |
//! | 32 | SHA-256 of the file |
//! | 20 | the first bytes of the SHA-256 of the 44 before |
//!
//! An update erases the record of the older slot first, then writes the file, and reads it back, and writes its record last. So power
//! may fail at any point, and flash not take what is written: a slot with a record is whole, and the other one was not touched.

#[cfg(test)]
extern crate std;

mod record;
#[cfg(test)]
mod tests;

use embedded_storage::nor_flash::NorFlash;
use record::Record;
use sha2::{Digest, Sha256};

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error<E> {
    /// The flash says so.
    Flash(E),
    /// The slots do not lie on borders of what can be erased, or beyond the flash, or 64 bytes are no multiple of what it reads and
    /// writes, or what it erases no multiple of 64 bytes.
    Geometry,
    /// The file is longer than a slot.
    Full,
    /// Bytes came after some that did not end on a border of what can be written.
    Unaligned,
    /// The flash has not kept what was written to it, though it said that it had. The file that was the newest is so still.
    NotKept,
}

/// A whole file in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// Where it starts in the flash, in bytes.
    pub start: u32,
    /// Its length in bytes.
    pub len: u32,
    /// Of its bytes.
    pub sha256: [u8; 32],
    /// The image before it had one less.
    pub sequence: u32,
}

/// Both slots.
#[derive(Debug)]
pub struct Slots<F> {
    flash: F,
    start: u32,
    len: u32,
}

impl<F: NorFlash> Slots<F> {
    /// Two slots of `len` bytes each, side by side from the byte `start` of the flash. `Geometry` if they cannot lie there.
    pub fn new(flash: F, start: u32, len: u32) -> Result<Self, Error<F::Error>> {
        let fits = u64::from(start) + 2 * u64::from(len) <= flash.capacity() as u64;
        let aligned =
            (start as usize).is_multiple_of(F::ERASE_SIZE) && (len as usize).is_multiple_of(F::ERASE_SIZE);
        let writable = Record::LEN.is_multiple_of(F::WRITE_SIZE) && Record::LEN.is_multiple_of(F::READ_SIZE);
        // Then the record lies in the piece that is erased first, whole.
        let erasable = F::ERASE_SIZE.is_multiple_of(Record::LEN);
        if fits && aligned && writable && erasable && len > 0 {
            Ok(Slots { flash, start, len })
        } else {
            Err(Error::Geometry)
        }
    }

    /// The newest whole file; `None` if there never was one.
    pub fn newest(&mut self) -> Result<Option<Image>, Error<F::Error>> {
        let (first, second) = (self.image(0)?, self.image(1)?);
        Ok(first.into_iter().chain(second).max_by_key(|image| image.sequence))
    }

    /// Begins to write a file into the slot that does not have the newest one. Dropping the update leaves that slot without
    /// a file.
    pub fn update(&mut self) -> Result<Update<'_, F>, Error<F::Error>> {
        let newest = self.newest()?;
        let start = match newest {
            Some(image) if image.start == self.start => self.start + self.len,
            _ => self.start,
        };
        let end = start + self.len;
        // The record first: from here on the slot has no file.
        let last = end - F::ERASE_SIZE as u32;
        self.flash.erase(last, end).map_err(Error::Flash)?;
        Ok(Update {
            flash: &mut self.flash,
            start,
            last,
            record_at: end - Record::LEN as u32,
            next: start,
            erased: start,
            // Flash wears out long before this overflows.
            sequence: newest.map_or(0, |image| image.sequence + 1),
            len: 0,
            hash: Sha256::new(),
        })
    }

    fn image(&mut self, slot: u32) -> Result<Option<Image>, Error<F::Error>> {
        let start = self.start + slot * self.len;
        let mut bytes = [0; Record::LEN];
        self.flash.read(start + self.len - Record::LEN as u32, &mut bytes).map_err(Error::Flash)?;
        let record = Record::decode(&bytes).filter(|record| record.len <= self.len - Record::LEN as u32);
        Ok(record.map(|Record { sequence, len, sha256 }| Image { start, len, sha256, sequence }))
    }
}

/// A file on its way into a slot.
#[derive(Debug)]
pub struct Update<'f, F> {
    flash: &'f mut F,
    start: u32,
    /// Where the last piece that can be erased starts. That is erased already.
    last: u32,
    record_at: u32,
    /// Where the next bytes go.
    next: u32,
    /// Up to here everything was erased.
    erased: u32,
    sequence: u32,
    len: u32,
    hash: Sha256,
}

impl<F: NorFlash> Update<'_, F> {
    /// Appends bytes that were verified. All but the last ones must end on a border of `F::WRITE_SIZE`. After an error the
    /// update is of no more use.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error<F::Error>> {
        if self.next != self.start + self.len {
            return Err(Error::Unaligned);
        }
        let room = (self.record_at - self.next) as usize;
        if bytes.len().next_multiple_of(F::WRITE_SIZE) > room {
            return Err(Error::Full);
        }
        let (whole, rest) = bytes.split_at(bytes.len() - bytes.len() % F::WRITE_SIZE);
        self.program(whole)?;
        if !rest.is_empty() {
            let mut padded = [0xFF; Record::LEN];
            padded[..rest.len()].copy_from_slice(rest);
            self.program(&padded[..F::WRITE_SIZE])?;
        }
        self.hash.update(bytes);
        self.len += bytes.len() as u32;
        Ok(())
    }

    /// Reads the file back and, if it is what came, writes the record: from now on this is the newest file.
    pub fn commit(mut self) -> Result<Image, Error<F::Error>> {
        let sha256 = core::mem::take(&mut self.hash).finalize().into();
        if self.read_back()? != sha256 {
            return Err(Error::NotKept);
        }
        let record = Record { sequence: self.sequence, len: self.len, sha256 };
        self.flash.write(self.record_at, &record.encode()).map_err(Error::Flash)?;
        if Record::decode(&self.read(self.record_at)?) != Some(record) {
            return Err(Error::NotKept);
        }
        Ok(Image { start: self.start, len: record.len, sha256: record.sha256, sequence: record.sequence })
    }

    /// The hash of the file as it lies in the flash.
    fn read_back(&mut self) -> Result<[u8; 32], Error<F::Error>> {
        let mut hash = Sha256::new();
        for done in (0..self.len).step_by(Record::LEN) {
            // The last piece is read whole too, on borders of `F::READ_SIZE`: it ends before the record.
            let piece = self.read(self.start + done)?;
            hash.update(&piece[..Record::LEN.min((self.len - done) as usize)]);
        }
        Ok(hash.finalize().into())
    }

    fn read(&mut self, at: u32) -> Result<[u8; Record::LEN], Error<F::Error>> {
        let mut bytes = [0; Record::LEN];
        self.flash.read(at, &mut bytes).map_err(Error::Flash)?;
        Ok(bytes)
    }

    fn program(&mut self, bytes: &[u8]) -> Result<(), Error<F::Error>> {
        let end = self.next + bytes.len() as u32;
        while self.erased < end.min(self.last) {
            let piece = self.erased + F::ERASE_SIZE as u32;
            self.flash.erase(self.erased, piece).map_err(Error::Flash)?;
            self.erased = piece;
        }
        self.flash.write(self.next, bytes).map_err(Error::Flash)?;
        self.next = end;
        Ok(())
    }
}
