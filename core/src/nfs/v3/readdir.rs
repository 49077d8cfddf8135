//! RFC 1813 3.3.16: READDIR, for servers that do not have READDIRPLUS.

use super::directory::{ENTRY_LEN_MIN, LISTING_HEAD_MAX, Listing, count_min, count_sent};
use super::{Fh, Procedure};
use crate::error::Error;
use crate::wire::Writer;

/// The least `count`: enough for every entry with a name of at most 255 bytes; see
/// [READDIRPLUS](super::readdirplus::MAXCOUNT_MIN).
pub const COUNT_MIN: u32 = count_min(ENTRY_LEN_MIN + 256);

/// Lists a directory: names and numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The directory.
    pub dir: Fh,
    /// Behind which entry: [`COOKIE_START`](super::directory::COOKIE_START), then what the last reply says.
    pub cookie: u64,
    /// Zeros, then what the last reply says.
    pub cookieverf: [u8; 8],
    /// The most bytes of a reply behind the status, at least [`COUNT_MIN`]. What is no multiple of four is rounded down.
    pub count: u32,
}

impl Request {
    /// Appends the arguments. `Invalid`, and nothing is appended, if `count` is less than [`COUNT_MIN`].
    pub fn encode(&self, w: &mut Writer<'_>) -> Result<(), Error> {
        let count = count_sent(self.count, COUNT_MIN)?;
        self.dir.encode(w);
        w.be64(self.cookie);
        w.put(&self.cookieverf);
        w.be32(count);
        Ok(())
    }
}

/// The most bytes of a reply behind the RPC header, besides `count`; see
/// [READDIRPLUS](super::readdirplus::REPLY_HEAD_MAX).
pub const REPLY_HEAD_MAX: usize = LISTING_HEAD_MAX;

/// Decodes what follows the RPC header of a reply to a request with `cookie`, and checks every entry, so that
/// [`Entries::of_readdir`](super::directory::Entries::of_readdir) gives no error later. Errors are those of
/// [READDIRPLUS](super::readdirplus::decode).
pub fn decode(body: &[u8], cookie: u64) -> Result<Listing<'_>, Error> {
    Listing::decode(body, cookie, Procedure::READDIR)
}

#[cfg(test)]
mod tests {
    use super::super::directory::{Entries, Entry};
    use super::super::testing::*;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn a_request() {
        let request =
            Request { dir: fh(), cookie: 1 << 32, cookieverf: [1, 2, 3, 4, 5, 6, 7, 8], count: 0x1003 };
        #[rustfmt::skip]
        assert_eq!(encoded(|w| request.encode(w).unwrap()), body(&[&FH, &[
            0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0x10, 0,
        ]]));
    }

    #[test]
    fn less_than_an_entry_is_not_asked_for() {
        for (count, good) in [(0, false), (COUNT_MIN - 1, false), (COUNT_MIN, true)] {
            let request = Request { dir: fh(), cookie: 0, cookieverf: [0; 8], count };
            let bytes = encoded(|w| {
                let error = Error::Invalid("directory count too small");
                assert_eq!(request.encode(w), if good { Ok(()) } else { Err(error) });
            });
            assert_eq!(bytes.is_empty(), !good);
        }
        assert_eq!(COUNT_MIN, 392);
    }

    #[rustfmt::skip]
    const REPLY: [u8; 80] = [
        0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8,
        0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 2, b'.', b'.', 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 12,
        0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 1, b'a', 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 12,
        0, 0, 0, 0, 0, 0, 0, 1,
    ];

    #[test]
    fn a_response_and_its_entries() {
        let listing = decode(&REPLY, 0).unwrap();
        assert_eq!((listing.dir_attributes, listing.cookieverf), (None, [1, 2, 3, 4, 5, 6, 7, 8]));
        assert_eq!((listing.cookie, listing.eof, listing.entries_offset), (1 << 32 | 12, true, 16));
        let entries: Vec<Entry<'_>> = Entries::of_readdir(listing.entries).map(Result::unwrap).collect();
        let [dots, file] = entries[..] else { panic!() };
        assert_eq!((dots.name, dots.cookie), (&b".."[..], 12));
        assert_eq!(
            file,
            Entry {
                fileid: 1 << 32 | 9,
                name: b"a",
                cookie: 1 << 32 | 12,
                name_attributes: None,
                name_handle: None
            }
        );
        assert_eq!(file.attributes(), None);
        strict(&REPLY, Procedure::READDIR, |body| decode(body, 0).err());
    }

    #[test]
    fn a_listing_moves_or_ends() {
        assert_eq!(decode(&REPLY, 12), Err(Error::Misbehaved("entry3.cookie")));
        assert_eq!(decode(&with_word(&REPLY, 64, 0), 0), Err(Error::Misbehaved("entry3.cookie")));
        let empty = body(&[&REPLY[..16], &[0; 8]]);
        assert_eq!(decode(&empty, 0), Err(Error::Misbehaved("dirlist3.entries")));
    }

    #[test]
    fn wrong_discriminants_are_refused() {
        for (at, field) in [(16, "entry3"), (44, "entry3"), (72, "entry3"), (76, "dirlist3.eof")] {
            assert_eq!(decode(&with_word(&REPLY, at, 2), 0), Err(Error::Malformed(field)));
        }
    }
}
