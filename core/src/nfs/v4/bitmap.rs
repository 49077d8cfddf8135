//! RFC 7530 2.2, RFC 8881 3.3.7: `bitmap4`, a set of attributes.

use super::limits::BITMAP_WORDS_MAX;
use crate::error::Error;
use crate::wire::{Reader, Writer};

/// The most bytes that a bitmap takes on the wire.
pub const LEN_MAX: usize = 4 + 4 * BITMAP_WORDS_MAX;

/// A set of numbers up to 95.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    words: [u32; BITMAP_WORDS_MAX],
}

impl Bitmap {
    /// Nothing.
    pub const EMPTY: Bitmap = Bitmap { words: [0; BITMAP_WORDS_MAX] };

    /// With these numbers; those over 95 are left out.
    pub const fn of(numbers: &[u32]) -> Bitmap {
        let mut bitmap = Bitmap::EMPTY;
        let mut rest = numbers;
        while let [number, others @ ..] = rest {
            bitmap = bitmap.with(*number);
            rest = others;
        }
        bitmap
    }

    /// With this number too, unless it is over 95.
    #[must_use]
    pub const fn with(self, number: u32) -> Bitmap {
        let [mut first, mut second, mut third] = self.words;
        let bit = 1 << (number % 32);
        match number / 32 {
            0 => first |= bit,
            1 => second |= bit,
            2 => third |= bit,
            _ => {}
        }
        Bitmap { words: [first, second, third] }
    }

    /// Whether it has this number.
    pub const fn has(&self, number: u32) -> bool {
        let [first, second, third] = self.words;
        let word = match number / 32 {
            0 => first,
            1 => second,
            2 => third,
            _ => 0,
        };
        word & (1 << (number % 32)) != 0
    }

    /// What both have.
    #[must_use]
    pub const fn and(&self, other: &Bitmap) -> Bitmap {
        let ([a, b, c], [x, y, z]) = (self.words, other.words);
        Bitmap { words: [a & x, b & y, c & z] }
    }

    /// What either has.
    #[must_use]
    pub const fn or(&self, other: &Bitmap) -> Bitmap {
        let ([a, b, c], [x, y, z]) = (self.words, other.words);
        Bitmap { words: [a | x, b | y, c | z] }
    }

    /// What this has and `other` has not.
    #[must_use]
    pub const fn without(&self, other: &Bitmap) -> Bitmap {
        let ([a, b, c], [x, y, z]) = (self.words, other.words);
        Bitmap { words: [a & !x, b & !y, c & !z] }
    }

    /// Whether there is nothing in it.
    pub const fn is_empty(&self) -> bool {
        matches!(self.words, [0, 0, 0])
    }

    /// Its numbers, the lowest first: the order in which attributes stand.
    pub fn numbers(self) -> impl Iterator<Item = u32> {
        (0..(BITMAP_WORDS_MAX as u32).saturating_mul(32)).filter(move |number| self.has(*number))
    }

    /// Appends it, without words of zeros at the end.
    pub fn encode(&self, w: &mut Writer<'_>) {
        let used = self.words.iter().rposition(|word| *word != 0).map_or(0, |last| last.saturating_add(1));
        w.be32(used as u32);
        self.words.iter().take(used).for_each(|word| w.be32(*word));
    }

    /// Decodes one of [`BITMAP_WORDS_MAX`] words at most.
    pub fn decode(r: &mut Reader<'_>, field: &'static str) -> Result<Bitmap, Error> {
        let mut bitmap = Bitmap::EMPTY;
        let count = r.be32(field)? as usize;
        for word in bitmap.words.get_mut(..count).ok_or(Error::Malformed(field))? {
            *word = r.be32(field)?;
        }
        Ok(bitmap)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use std::vec::Vec;

    const BYTES: [u8; 12] = [0, 0, 0, 2, 0, 0, 0x40, 0x02, 0, 0, 0, 0x10];

    #[test]
    fn a_bitmap_each_way() {
        let bitmap = Bitmap::of(&[1, 14, 36]);
        assert_eq!(written(|w| bitmap.encode(w)), BYTES);
        assert_eq!(strict(&BYTES, |r| Bitmap::decode(r, "bitmap")), bitmap);
        assert_eq!(bitmap.numbers().collect::<Vec<_>>(), [1, 14, 36]);
        assert!(bitmap.has(36) && !bitmap.has(4) && !bitmap.has(1000));
        assert_eq!(bitmap.with(1000), bitmap);
    }

    #[test]
    fn sets() {
        let (a, b) = (Bitmap::of(&[0, 31, 32, 95]), Bitmap::of(&[31, 64, 95]));
        assert_eq!(a.and(&b), Bitmap::of(&[31, 95]));
        assert_eq!(a.or(&b), Bitmap::of(&[0, 31, 32, 64, 95]));
        assert_eq!(a.without(&b), Bitmap::of(&[0, 32]));
        assert!(a.without(&a).is_empty() && !a.is_empty());
        assert_eq!(Bitmap::of(&[96, u32::MAX]), Bitmap::EMPTY);
    }

    #[test]
    fn words_of_zeros_are_legal_and_too_many_words_are_not() {
        assert_eq!(written(|w| Bitmap::EMPTY.encode(w)), [0; 4]);
        let mut zeros = Vec::from([0, 0, 0, 3]);
        zeros.resize(16, 0);
        assert_eq!(strict(&zeros, |r| Bitmap::decode(r, "bitmap")), Bitmap::EMPTY);
        for count in [4u32, 1000, u32::MAX] {
            let mut bytes = Vec::from(count.to_be_bytes());
            bytes.resize(64, 0);
            assert_eq!(Bitmap::decode(&mut Reader::new(&bytes), "bitmap"), Err(Error::Malformed("bitmap")));
        }
    }
}
