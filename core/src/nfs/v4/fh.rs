//! RFC 7530 4, RFC 8881 4: `nfs_fh4`, what a server calls a file.

use super::limits::FHSIZE;
use crate::error::Error;
use crate::wire::{Reader, Writer};
use core::fmt;

/// The most bytes that a file handle takes on the wire.
pub const LEN_MAX: usize = 4 + FHSIZE as usize;

/// A file handle: up to 128 bytes, of which nobody but the server knows the meaning.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fh {
    len: u32,
    bytes: [u8; FHSIZE as usize],
}

impl Fh {
    /// From its bytes. `None` if there are none, or more than 128.
    pub fn new(bytes: &[u8]) -> Option<Fh> {
        let mut fh =
            Fh { len: u32::try_from(bytes.len()).ok().filter(|len| *len > 0)?, bytes: [0; FHSIZE as usize] };
        let room = fh.bytes.get_mut(..bytes.len())?;
        room.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Some(fh)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len as usize).unwrap_or(&[])
    }

    /// Appends it.
    pub fn encode(&self, w: &mut Writer<'_>) {
        w.opaque(self.bytes());
    }

    /// Decodes one.
    pub fn decode(r: &mut Reader<'_>, field: &'static str) -> Result<Fh, Error> {
        Fh::new(r.opaque(FHSIZE, field)?).ok_or(Error::Malformed(field))
    }
}

/// In hex.
impl fmt::Debug for Fh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fh(")?;
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use std::format;

    #[test]
    fn a_file_handle_each_way() {
        const BYTES: [u8; 12] = [0, 0, 0, 5, 0xDE, 0xAD, 0, 1, 0xFF, 0, 0, 0];
        let fh = strict(&BYTES, |r| Fh::decode(r, "fh"));
        assert_eq!(fh.bytes(), [0xDE, 0xAD, 0, 1, 0xFF]);
        assert_eq!(written(|w| fh.encode(w)), BYTES);
        assert_eq!(format!("{fh:?}"), "Fh(dead0001ff)");
    }

    #[test]
    fn it_has_1_to_128_bytes() {
        assert_eq!(Fh::new(&[]), None);
        assert_eq!(Fh::new(&[7; 128]).unwrap().bytes(), [7; 128]);
        assert_eq!(Fh::new(&[7; 129]), None);
        assert_eq!(Fh::new(&[7; 300]), None);
        for len in [0u32, 129, u32::MAX] {
            let mut bytes = [1; 140];
            bytes[..4].copy_from_slice(&len.to_be_bytes());
            assert_eq!(Fh::decode(&mut Reader::new(&bytes), "fh"), Err(Error::Malformed("fh")));
        }
    }
}
