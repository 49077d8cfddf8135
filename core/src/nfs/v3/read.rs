//! RFC 1813 3.3.6: READ.

use super::fattr3::{Fattr3, POST_OP_ATTR_LEN_MAX, post_op_attr};
use super::{Fh, Procedure};
use crate::error::Error;
use crate::nfs::rpc::RecordMark;
use crate::nfs::status::Status;
use crate::nfs::xdr;
use crate::wire::{Reader, Writer};

/// Reads `count` bytes at `offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The file.
    pub file: Fh,
    /// Where to start.
    pub offset: u64,
    /// How many bytes at most, not zero.
    pub count: u32,
}

impl Request {
    /// Appends the arguments.
    pub fn encode(&self, w: &mut Writer<'_>) {
        self.file.encode(w);
        w.be64(self.offset);
        w.be32(self.count);
    }
}

/// The most bytes of a reply behind the RPC header, besides the data.
pub const REPLY_HEAD_MAX: usize = 4 + POST_OP_ATTR_LEN_MAX + 12;

/// The same of a reply without attributes.
pub const REPLY_HEAD_MIN: usize = REPLY_HEAD_MAX - Fattr3::LEN;

/// How many bytes a [`Head`] takes as far as `body`, what has arrived of it, can tell: decode when there are so many.
/// No more than [`REPLY_HEAD_MAX`], and never less than was said to fewer bytes. Results that are not `NFS3_OK` take
/// four; whatever else they have means nothing here.
pub fn head_len(body: &[u8]) -> usize {
    let mut r = Reader::new(body);
    match (r.be32("status").map(Status), r.be32("attributes_follow")) {
        (Ok(Status::OK), Ok(1)) => REPLY_HEAD_MAX,
        (Ok(Status::OK), _) => REPLY_HEAD_MIN,
        _ => 4,
    }
}

/// What stands in front of the data. The data itself goes straight to the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The file's attributes, if the server has them at hand.
    pub file_attributes: Option<Fattr3>,
    /// How many bytes the server says it has read.
    pub count: u32,
    /// Whether the server says that the file ends behind them.
    pub eof: bool,
    /// How many bytes of data there are. It should be `count`.
    pub data_len: u32,
    /// How many bytes of head there are: where the data starts.
    pub head_len: usize,
}

impl Head {
    /// Decodes what follows the RPC header. `Refused` if the status is not `NFS3_OK`. The data is not looked at and
    /// need not be there; that it ends inside the message, and that [`len`](Self::len) is not more than was asked for,
    /// is for the caller to check.
    ///
    /// `Misbehaved` if there is nothing and yet no end: whoever asks again gets the same again.
    pub fn decode(body: &[u8]) -> Result<Head, Error> {
        let mut r = Reader::new(body);
        Status::decode(&mut r, Procedure::READ)?;
        let file_attributes = post_op_attr(&mut r)?;
        let count = r.be32("READ3resok.count")?;
        let eof = r.boolean("READ3resok.eof")?;
        let data_len = r.be32("READ3resok.data")?;
        if data_len > RecordMark::FRAGMENT_LEN_MAX {
            return Err(Error::Malformed("READ3resok.data"));
        }
        let head = Head { file_attributes, count, eof, data_len, head_len: r.at() };
        if head.is_empty() && !head.ends() {
            return Err(Error::Misbehaved("READ3resok.count"));
        }
        Ok(head)
    }

    /// How many bytes of data are to be used: as many as there are, and no more than the server has read.
    pub const fn len(&self) -> u32 {
        if self.count < self.data_len { self.count } else { self.data_len }
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the file ends behind these. A server that has sent less than it has read does not know: what it
    /// says is about bytes that did not come.
    pub const fn ends(&self) -> bool {
        self.eof && self.count <= self.data_len
    }

    /// How many bytes that mean nothing follow the [`len`](Self::len) bytes: data beyond them, and XDR padding.
    pub const fn pad(&self) -> u32 {
        // Both are below 2^31 + 3.
        self.data_len.saturating_sub(self.len()).saturating_add(xdr::pad(self.data_len as usize) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use std::vec::Vec;

    /// 6 bytes of 6, the end, without attributes.
    const HEAD: [u8; 20] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, 6];

    #[test]
    fn a_request() {
        let request = Request { file: fh(), offset: 0x0102_0304_0506_0708, count: 0x0010_0000 };
        assert_eq!(encoded(|w| request.encode(w)), body(&[&FH, &[1, 2, 3, 4, 5, 6, 7, 8, 0, 16, 0, 0]]));
    }

    #[test]
    fn a_head_without_its_data() {
        let head = Head { file_attributes: None, count: 6, eof: true, data_len: 6, head_len: 20 };
        assert_eq!(Head::decode(&HEAD), Ok(head));
        assert_eq!((head.len(), head.ends(), head.pad(), head.is_empty()), (6, true, 2, false));
        strict(&HEAD, Procedure::READ, |bytes| Head::decode(bytes).err());

        let all = body(&[&[0, 0, 0, 0], &some_fattr(), &HEAD[8..]]);
        assert_eq!(all.len(), REPLY_HEAD_MAX);
        let head = Head { file_attributes: Some(fattr()), head_len: REPLY_HEAD_MAX, ..head };
        assert_eq!(Head::decode(&all), Ok(head));
        strict(&all, Procedure::READ, |bytes| Head::decode(bytes).map(|head| head.pad()).err());
    }

    #[test]
    fn how_long_a_head_is_is_known_as_it_arrives() {
        let some = body(&[&[0, 0, 0, 0], &some_fattr(), &HEAD[8..]]);
        let jukebox = [0, 0, 0x27, 0x18, 0, 0, 0, 1, 0xFF, 0xFF];
        for (bytes, whole) in [(&HEAD[..], 20), (&some, REPLY_HEAD_MAX), (&jukebox, 4)] {
            let steps: Vec<usize> = (0..=bytes.len()).map(|len| head_len(&bytes[..len])).collect();
            assert!(steps.is_sorted() && *steps.last().unwrap() == whole);
            for (len, &need) in steps.iter().enumerate() {
                assert_eq!(need <= len, len >= whole);
            }
        }
        // What is neither is refused when it is decoded.
        let wrong = with_word(&HEAD, 4, 2);
        assert_eq!(head_len(&wrong), wrong.len());
        assert_eq!(Head::decode(&wrong), Err(Error::Malformed("post_op_attr.attributes_follow")));
    }

    #[test]
    fn count_and_length_that_differ() {
        // The opaque data is longer (or shorter) than the count: the smaller of the two is used, and an end that is
        // told of bytes that did not come is none.
        for (count, data_len, eof, len, ends, pad) in [
            (4, 6, 1, 4, true, 4),
            (4, 8, 0, 4, false, 4),
            (0, 8, 1, 0, true, 8),
            (6, 4, 1, 4, false, 0),
            (u32::MAX, 3, 1, 3, false, 1),
            (3, 3, 0, 3, false, 1),
            (0, 0, 1, 0, true, 0),
        ] {
            let bytes = with_word(&with_word(&with_word(&HEAD, 8, count), 12, eof), 16, data_len);
            let head = Head::decode(&bytes).unwrap();
            assert_eq!((head.len(), head.ends(), head.pad()), (len, ends, pad), "{count} {data_len}");
        }
    }

    #[test]
    fn nothing_and_no_end_is_refused() {
        for (count, data_len, eof) in [(0, 0, 0), (0, 8, 0), (8, 0, 0), (8, 0, 1)] {
            let bytes = with_word(&with_word(&with_word(&HEAD, 8, count), 12, eof), 16, data_len);
            assert_eq!(Head::decode(&bytes), Err(Error::Misbehaved("READ3resok.count")));
        }
    }

    #[test]
    fn the_longest_data_and_longer() {
        for (data_len, pad) in [(0x7FFF_FFFF, 0x7FFF_FFFF), (0x7FFF_FFFE, 0x7FFF_FFFF)] {
            let head = Head::decode(&with_word(&with_word(&HEAD, 8, 1), 16, data_len)).unwrap();
            assert_eq!((head.len(), head.pad()), (1, pad));
        }
        for data_len in [0x8000_0000, u32::MAX] {
            let error = Head::decode(&with_word(&HEAD, 16, data_len));
            assert_eq!(error, Err(Error::Malformed("READ3resok.data")));
        }
    }

    #[test]
    fn the_end_is_yes_or_no() {
        for eof in [2, 0x0100_0000, u32::MAX] {
            assert_eq!(Head::decode(&with_word(&HEAD, 12, eof)), Err(Error::Malformed("READ3resok.eof")));
        }
    }
}
