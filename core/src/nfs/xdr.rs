//! RFC 4506: XDR, as further methods of [`Reader`] and [`Writer`].
//!
//! Everything is big-endian and takes a multiple of four bytes. Padding is written as zeros and read as whatever
//! it is: some servers fill it from memory that was not cleared.

use crate::error::Error;
use crate::wire::{Reader, Writer};

/// The bound of variable-length data for which the standard names none (RFC 4506 4.10). What is decoded is
/// borrowed, so the bytes received bound it anyway.
pub const UNBOUNDED: u32 = u32::MAX;

/// How many bytes follow `len` bytes of data to make it a multiple of four.
pub const fn pad(len: usize) -> usize {
    len.wrapping_neg() & 3
}

/// XDR (RFC 4506).
impl<'a> Reader<'a> {
    /// A big-endian `u32`: `unsigned int`, and `enum` before it is known which are allowed.
    #[inline(always)]
    pub fn be32(&mut self, field: &'static str) -> Result<u32, Error> {
        self.word().ok_or(Error::Malformed(field))
    }

    fn word(&mut self) -> Option<u32> {
        self.chunk().map(|bytes| u32::from_be_bytes(*bytes))
    }

    /// A big-endian `u64`: `unsigned hyper`.
    #[inline(always)]
    pub fn be64(&mut self, field: &'static str) -> Result<u64, Error> {
        self.array(field).map(u64::from_be_bytes)
    }

    /// A `bool`. `Malformed(field)` if it is neither 0 nor 1.
    #[inline(always)]
    pub fn boolean(&mut self, field: &'static str) -> Result<bool, Error> {
        match self.be32(field)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Error::Malformed(field)),
        }
    }

    /// `opaque[len]`: `len` bytes and their padding, which is not looked at. `Malformed(field)` if they are not
    /// all there, padding included.
    #[inline(always)]
    pub fn opaque_fixed(&mut self, len: usize, field: &'static str) -> Result<&'a [u8], Error> {
        let bytes = self.take(len, field)?;
        self.skip(pad(len), field)?;
        Ok(bytes)
    }

    /// `opaque<max>` and `string<max>`: a length, so many bytes, and their padding. `Malformed(field)` if there are
    /// more than `max` or not all of them.
    #[inline(always)]
    pub fn opaque(&mut self, max: u32, field: &'static str) -> Result<&'a [u8], Error> {
        match self.be32(field)? {
            len if len <= max => self.opaque_fixed(len as usize, field),
            _ => Err(Error::Malformed(field)),
        }
    }

    /// `*T`: a `bool`, and what `decode` reads where it is true.
    pub fn optional<T>(
        &mut self,
        field: &'static str,
        decode: impl FnOnce(&mut Reader<'a>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        if self.boolean(field)? { decode(self).map(Some) } else { Ok(None) }
    }
}

/// XDR (RFC 4506).
impl Writer<'_> {
    /// Appends a big-endian `u32`: `unsigned int`, `enum`.
    pub fn be32(&mut self, value: u32) {
        self.put(&value.to_be_bytes());
    }

    /// Appends a big-endian `u64`: `unsigned hyper`.
    pub fn be64(&mut self, value: u64) {
        self.put(&value.to_be_bytes());
    }

    /// Appends a `bool`.
    pub fn boolean(&mut self, value: bool) {
        self.be32(value.into());
    }

    /// Appends `opaque[n]`: `bytes` and their padding.
    pub fn opaque_fixed(&mut self, bytes: &[u8]) {
        self.put(bytes);
        self.zeros(pad(bytes.len()));
    }

    /// Appends `opaque<>` or `string<>`: the length of `bytes`, `bytes`, and their padding. More than
    /// 4 GiB less one fit nowhere, and overflow.
    pub fn opaque(&mut self, bytes: &[u8]) {
        self.be32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.opaque_fixed(bytes);
    }
}

/// What the tests of every message use.
#[cfg(test)]
pub(in crate::nfs) mod testing {
    use crate::error::Error;
    use crate::wire::Writer;
    use std::vec::Vec;

    /// What `encode` appends, behind three bytes: no encoder may count from the start of the writer.
    pub fn encoded(encode: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
        let mut buf = [0xEE; 2048];
        let mut w = Writer::new(&mut buf);
        w.put(&[1, 2, 3]);
        encode(&mut w);
        let len = w.finish().unwrap();
        buf[3..len].to_vec()
    }

    /// Checks that `decode`, which returns what it complains of, takes `bytes` and none of its truncations.
    pub fn truncations_refused(bytes: &[u8], decode: impl Fn(&[u8]) -> Option<Error>) {
        assert_eq!(decode(bytes), None);
        for len in 0..bytes.len() {
            assert!(matches!(decode(&bytes[..len]), Some(Error::Malformed(_))), "{len} of {}", bytes.len());
        }
    }

    /// Checks that `decode` does not panic whichever byte of `bytes` is replaced by whatever, cut anywhere behind it.
    pub fn survives_any_byte(bytes: &[u8], decode: impl Fn(&[u8]) -> Option<Error>) {
        for at in 0..bytes.len() {
            for byte in 0..=u8::MAX {
                let mut changed = bytes.to_vec();
                changed[at] = byte;
                decode(&changed);
                changed.truncate(at + 1);
                decode(&changed);
            }
        }
    }

    /// `bytes` with the 32-bit word at `at` replaced by `value`.
    pub fn with_word(bytes: &[u8], at: usize, value: u32) -> Vec<u8> {
        let mut changed = bytes.to_vec();
        changed[at..at + 4].copy_from_slice(&value.to_be_bytes());
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::testing::*;
    use super::*;

    #[test]
    fn padding_fills_a_word() {
        assert_eq!([0, 1, 2, 3, 4, 5, 64].map(pad), [0, 3, 2, 1, 0, 3, 0]);
        assert_eq!(pad(usize::MAX), 1);
    }

    #[test]
    fn numbers_are_big_endian() {
        let bytes = [1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18];
        let mut r = Reader::new(&bytes);
        assert_eq!(r.be32("a"), Ok(0x0102_0304));
        assert_eq!(r.be64("b"), Ok(0x1112_1314_1516_1718));
        assert_eq!(r.be32("c"), Err(Error::Malformed("c")));
        let written = encoded(|w| {
            w.be32(0x0102_0304);
            w.be64(0x1112_1314_1516_1718);
        });
        assert_eq!(written, bytes);
    }

    #[test]
    fn a_bool_is_zero_or_one() {
        assert_eq!(Reader::new(&[0, 0, 0, 0]).boolean("b"), Ok(false));
        assert_eq!(Reader::new(&[0, 0, 0, 1]).boolean("b"), Ok(true));
        for word in [[0, 0, 0, 2], [1, 0, 0, 0], [0, 0, 1, 1], [0xFF; 4]] {
            assert_eq!(Reader::new(&word).boolean("b"), Err(Error::Malformed("b")));
        }
        let written = encoded(|w| {
            w.boolean(false);
            w.boolean(true);
        });
        assert_eq!(written, [0, 0, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn opaque_data_is_padded_both_ways() {
        for (data, bytes) in [
            (&b""[..], &[0, 0, 0, 0][..]),
            (b"a", &[0, 0, 0, 1, b'a', 0, 0, 0]),
            (b"abc", &[0, 0, 0, 3, b'a', b'b', b'c', 0]),
            (b"abcd", &[0, 0, 0, 4, b'a', b'b', b'c', b'd']),
            (b"abcde", &[0, 0, 0, 5, b'a', b'b', b'c', b'd', b'e', 0, 0, 0]),
        ] {
            assert_eq!(encoded(|w| w.opaque(data)), bytes);
            assert_eq!(encoded(|w| w.opaque_fixed(data)), bytes[4..]);
            let mut r = Reader::new(bytes);
            assert_eq!(r.opaque(5, "o"), Ok(data));
            assert!(r.rest().is_empty());
            truncations_refused(bytes, |bytes| Reader::new(bytes).opaque(5, "o").err());
        }
    }

    #[test]
    fn padding_may_be_anything() {
        let mut r = Reader::new(&[0, 0, 0, 1, b'a', 0xDE, 0xAD, 0xFF, 0, 0, 0, 7]);
        assert_eq!(r.opaque(1, "o"), Ok(&b"a"[..]));
        assert_eq!(r.be32("next"), Ok(7));
    }

    #[test]
    fn opaque_data_is_not_longer_than_its_bound() {
        let bytes = [0, 0, 0, 2, b'a', b'b', 0, 0];
        assert_eq!(Reader::new(&bytes).opaque(2, "o"), Ok(&b"ab"[..]));
        assert_eq!(Reader::new(&bytes).opaque(1, "o"), Err(Error::Malformed("o")));
        for len in [3, 5, u32::MAX, u32::MAX - 3, 0x8000_0000] {
            let bytes = with_word(&bytes, 0, len);
            assert_eq!(Reader::new(&bytes).opaque(UNBOUNDED, "o").is_err(), len > 4);
        }
    }

    #[test]
    fn an_optional_is_there_or_not() {
        let decode = |bytes: &[u8]| Reader::new(bytes).optional("o", |r| r.be32("value"));
        assert_eq!(decode(&[0, 0, 0, 0]), Ok(None));
        assert_eq!(decode(&[0, 0, 0, 1, 0, 0, 0, 7]), Ok(Some(7)));
        assert_eq!(decode(&[0, 0, 0, 1, 0, 0, 0]), Err(Error::Malformed("value")));
        assert_eq!(decode(&[0, 0, 0, 3, 0, 0, 0, 7]), Err(Error::Malformed("o")));
    }
}
