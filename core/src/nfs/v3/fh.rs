//! RFC 1813 2.5: `nfs_fh3`.

use crate::error::Error;
use crate::wire::{Reader, Writer};
use core::fmt;

/// What a server calls a file. Opaque: only the server knows what is in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fh {
    /// 1 to 64. A word, so that a handle is copied in words.
    len: u32,
    /// Zero behind `len`.
    bytes: [u8; Fh::LEN_MAX],
}

impl Fh {
    /// The most bytes of a handle: `NFS3_FHSIZE`.
    pub const LEN_MAX: usize = 64;
    /// The most bytes of a handle in a message.
    pub const LEN_MAX_ON_WIRE: usize = 4 + Self::LEN_MAX;

    /// A handle of these bytes. `None` if there are none or more than [`LEN_MAX`](Self::LEN_MAX).
    pub fn new(handle: &[u8]) -> Option<Fh> {
        let mut bytes = [0; Self::LEN_MAX];
        let len = u32::try_from(handle.len()).ok().filter(|&len| len > 0)?;
        let room = bytes.get_mut(..handle.len())?;
        room.iter_mut().zip(handle).for_each(|(to, from)| *to = *from);
        Some(Fh { len, bytes })
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len as usize).unwrap_or(&[])
    }

    /// Decodes one. An empty one is `Malformed`: it is the public handle of WebNFS, and would name another file.
    pub fn decode(r: &mut Reader<'_>) -> Result<Fh, Error> {
        const FIELD: &str = "nfs_fh3";
        Fh::new(r.opaque(Self::LEN_MAX as u32, FIELD)?).ok_or(Error::Malformed(FIELD))
    }

    /// Appends it.
    pub fn encode(&self, w: &mut Writer<'_>) {
        w.opaque(self.as_bytes());
    }
}

/// In hexadecimal.
impl fmt::Debug for Fh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fh(")?;
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use std::format;

    #[test]
    fn a_handle_both_ways() {
        assert_eq!(Fh::decode(&mut Reader::new(&FH)), Ok(fh()));
        assert_eq!(encoded(|w| fh().encode(w)), FH);
        assert_eq!(fh().as_bytes(), [1, 2, 3, 4, 5]);
        truncations_refused(&FH, |bytes| Fh::decode(&mut Reader::new(bytes)).err());
        survives_any_byte(&FH, |bytes| Fh::decode(&mut Reader::new(bytes)).err());
    }

    #[test]
    fn a_handle_has_one_byte_to_64() {
        let mut bytes = [0xAB; 72];
        bytes[..3].fill(0);
        for len in 0..=68 {
            bytes[3] = len;
            let handle = Fh::decode(&mut Reader::new(&bytes));
            assert_eq!(handle.is_ok(), matches!(len, 1..=64), "{len}");
            assert_eq!(handle.ok(), Fh::new(&bytes[4..4 + usize::from(len)]));
        }
        assert_eq!(Fh::new(&[0; 256 + 5]), None);
    }

    #[test]
    fn handles_are_equal_when_their_bytes_are_whatever_the_padding_was() {
        let mut padded = FH;
        padded[9..].fill(0xFF);
        assert_eq!(Fh::decode(&mut Reader::new(&padded)), Ok(fh()));
        assert_ne!(Fh::new(&[1]), Fh::new(&[1, 0]));
    }

    #[test]
    fn a_handle_is_shown_in_hexadecimal() {
        assert_eq!(format!("{:?}", Fh::new(&[0x01, 0xAB, 0]).unwrap()), "Fh(01ab00)");
    }
}
