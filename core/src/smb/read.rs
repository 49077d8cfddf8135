//! MS-SMB2 2.2.19, 2.2.20: READ.

use super::create::FileId;
use super::header::{LEN, structure_size};
use crate::error::Error;
use crate::wire::{Reader, Writer};

/// Where a response's data starts, counted from its header, if there is no gap.
const DATA_OFFSET: u8 = (LEN + HEAD_LEN) as u8;

/// Reads `length` bytes at `offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The file.
    pub file_id: FileId,
    /// Where to start.
    pub offset: u64,
    /// How many bytes at most, not zero.
    pub length: u32,
}

impl Request {
    /// Appends the message.
    pub fn encode(&self, w: &mut Writer<'_>) {
        w.le16(49); // StructureSize
        w.u8(DATA_OFFSET); // Padding: where we would like the data
        w.u8(0); // Flags
        w.le32(self.length);
        w.le64(self.offset);
        w.put(&self.file_id.0);
        w.le32(0); // MinimumCount
        w.le32(0); // Channel
        w.le32(0); // RemainingBytes
        w.le32(0); // ReadChannelInfoOffset, ReadChannelInfoLength
        w.u8(0); // Buffer: never less than a byte
    }
}

/// Bytes of a [`Head`].
pub const HEAD_LEN: usize = 16;

/// The most bytes of a reply behind the header, besides the data: the head, and the gap that is legal.
pub const REPLY_HEAD_MAX: usize = u8::MAX as usize - LEN;

/// What stands in front of the data. The data itself goes straight to the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Where the data starts, counted from the header.
    pub data_offset: u8,
    /// How many bytes there are.
    pub data_length: u32,
    /// How many more could have been sent: only RDMA and pipes use it.
    pub data_remaining: u32,
}

impl Head {
    /// Decodes the [`HEAD_LEN`] bytes that follow the header. The data is not looked at and need not be there;
    /// that it ends inside the message, and is not more than was asked for, is for the caller to check.
    pub fn decode(body: &[u8]) -> Result<Head, Error> {
        let mut r = Reader::new(body);
        structure_size(&mut r, 17, "READ.StructureSize")?;
        let data_offset = r.u8("READ.DataOffset")?;
        r.skip(1, "READ.Reserved")?;
        let data_length = r.le32("READ.DataLength")?;
        let data_remaining = r.le32("READ.DataRemaining")?;
        r.skip(4, "READ.Flags")?;
        if data_length > 0 && data_offset < DATA_OFFSET {
            return Err(Error::Malformed("READ.DataOffset"));
        }
        Ok(Head { data_offset, data_length, data_remaining })
    }

    /// Bytes between the head and the data: at most [`REPLY_HEAD_MAX`] - [`HEAD_LEN`]; none if there is no data.
    pub const fn gap(&self) -> usize {
        if self.data_length == 0 { 0 } else { self.data_offset.saturating_sub(DATA_OFFSET) as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::testing::*;
    use super::*;

    const HEAD: [u8; 16] = [17, 0, 80, 0, 0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0, 0, 0, 0, 0];

    #[test]
    fn a_request() {
        let request = Request {
            file_id: FileId([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
            offset: 0x0102_0304_0506_0708,
            length: 0x0010_0000,
        };
        assert_eq!(
            encoded(|w| request.encode(w)),
            [
                49, 0, 80, 0, 0, 0, 16, 0, 8, 7, 6, 5, 4, 3, 2, 1, // Offset
                0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, // FileId
                0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            ]
        );
    }

    #[test]
    fn a_head_without_its_data() {
        let head = Head { data_offset: 80, data_length: 0x1234_5678, data_remaining: 0 };
        assert_eq!(Head::decode(&HEAD), Ok(head));
        assert_eq!(head.gap(), 0);
        strict(&HEAD, |bytes| Head::decode(bytes).err());
        survives_any_byte(&HEAD, |body| Head::decode(body).map(|head| head.gap()).err());
    }

    #[test]
    fn a_gap_is_legal_and_data_over_the_head_is_not() {
        let mut body = HEAD;
        body[2] = 255;
        let head = Head::decode(&body).unwrap();
        assert_eq!(HEAD_LEN + head.gap(), REPLY_HEAD_MAX);
        for offset in [0, 64, 79] {
            body[2] = offset;
            assert_eq!(Head::decode(&body), Err(Error::Malformed("READ.DataOffset")));
        }
    }

    #[test]
    fn no_data_may_be_anywhere() {
        for offset in [0, 80, 255] {
            let body = [17, 0, offset, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            assert_eq!(Head::decode(&body).map(|head| head.gap()), Ok(0));
        }
    }
}
