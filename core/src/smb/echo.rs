//! MS-SMB2 2.2.28, 2.2.29: ECHO.

use super::header::structure_size;
use crate::error::Error;
use crate::wire::{Reader, Writer};

/// Asks whether the server is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request;

impl Request {
    /// Appends the four bytes.
    pub fn encode(&self, w: &mut Writer<'_>) {
        w.le16(4); // StructureSize
        w.le16(0); // Reserved
    }
}

/// The most bytes of a reply behind the header: all of it.
pub const REPLY_HEAD_MAX: usize = 4;

/// It is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response;

impl Response {
    /// Decodes what follows the header.
    pub fn decode(body: &[u8]) -> Result<Response, Error> {
        let mut r = Reader::new(body);
        structure_size(&mut r, 4, "ECHO.StructureSize")?;
        r.skip(2, "ECHO.Reserved")?;
        Ok(Response)
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::testing::*;
    use super::*;

    #[test]
    fn there_and_back() {
        assert_eq!(encoded(|w| Request.encode(w)), [4, 0, 0, 0]);
        assert_eq!(Response::decode(&[4, 0, 0, 0]), Ok(Response));
        strict(&[4, 0, 0, 0], |bytes| Response::decode(bytes).err());
    }
}
