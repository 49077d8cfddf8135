//! MS-SMB2 2.2.15, 2.2.16: CLOSE.

use super::create::FileId;
use super::header::structure_size;
use crate::error::Error;
use crate::wire::{Reader, Writer};

/// Closes a file or directory. Its attributes are not asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What to close.
    pub file_id: FileId,
}

impl Request {
    /// Appends the 24 bytes.
    pub fn encode(&self, w: &mut Writer<'_>) {
        w.le16(24); // StructureSize
        w.le16(0); // Flags
        w.le32(0); // Reserved
        w.put(&self.file_id.0);
    }
}

/// The most bytes of a reply behind the header: all of it.
pub const REPLY_HEAD_MAX: usize = 60;

/// It is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response;

impl Response {
    /// Decodes what follows the header. The attributes have no meaning, as they were not asked for.
    pub fn decode(body: &[u8]) -> Result<Response, Error> {
        let mut r = Reader::new(body);
        structure_size(&mut r, 60, "CLOSE.StructureSize")?;
        r.skip(58, "CLOSE.FileAttributes")?;
        Ok(Response)
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::testing::*;
    use super::*;

    #[test]
    fn there_and_back() {
        assert_eq!(
            encoded(|w| {
                Request { file_id: FileId([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6]) }.encode(w)
            }),
            [24, 0, 0, 0, 0, 0, 0, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6]
        );
        let mut body = [0; 60];
        body[0] = 60;
        strict(&body, |bytes| Response::decode(bytes).err());
    }
}
