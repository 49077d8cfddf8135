//! RFC 1813 3.3.17: READDIRPLUS.

use super::directory::{ENTRY_LEN_MAX, LISTING_HEAD_MAX, Listing, count_min, count_sent};
use super::{Fh, Procedure};
use crate::error::Error;
use crate::wire::Writer;

/// The least `maxcount`: enough for every entry with a name of at most 255 bytes. To less, servers answer with
/// `NFS3ERR_TOOSMALL`, with nothing, or with the end of a directory that has not ended.
pub const MAXCOUNT_MIN: u32 = count_min(ENTRY_LEN_MAX);

/// Lists a directory, with attributes and handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The directory.
    pub dir: Fh,
    /// Behind which entry: [`COOKIE_START`](super::directory::COOKIE_START), then what the last reply says.
    pub cookie: u64,
    /// Zeros, then what the last reply says.
    pub cookieverf: [u8; 8],
    /// The most bytes of names, numbers and cookies. Servers of today do not look at it.
    pub dircount: u32,
    /// The most bytes of a reply behind the status, at least [`MAXCOUNT_MIN`]. What is no multiple of four is rounded
    /// down.
    pub maxcount: u32,
}

impl Request {
    /// Appends the arguments. `Invalid`, and nothing is appended, if `maxcount` is less than [`MAXCOUNT_MIN`].
    pub fn encode(&self, w: &mut Writer<'_>) -> Result<(), Error> {
        let maxcount = count_sent(self.maxcount, MAXCOUNT_MIN)?;
        self.dir.encode(w);
        w.be64(self.cookie);
        w.put(&self.cookieverf);
        w.be32(self.dircount);
        w.be32(maxcount);
        Ok(())
    }
}

/// The most bytes of a reply behind the RPC header, besides `maxcount`. The standard counts all but the status within
/// `maxcount`; Linux counts only the entries and the end of the list.
pub const REPLY_HEAD_MAX: usize = LISTING_HEAD_MAX;

/// Decodes what follows the RPC header of a reply to a request with `cookie`, and checks every entry, so that
/// [`Entries::of_readdirplus`](super::directory::Entries::of_readdirplus) gives no error later.
///
/// `Refused` if the status is not `NFS3_OK`. `Misbehaved` if a cookie is the asked one or that of the entry before,
/// or if there are no entries and yet no end: a listing that went on from there would never end.
pub fn decode(body: &[u8], cookie: u64) -> Result<Listing<'_>, Error> {
    Listing::decode(body, cookie, Procedure::READDIRPLUS)
}

#[cfg(test)]
mod tests {
    use super::super::directory::{COOKIE_START, Entries, Entry, NAME_AT};
    use super::super::testing::*;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn a_request() {
        let request = Request {
            dir: fh(),
            cookie: 0x8000_0000_0000_0001,
            cookieverf: [1, 2, 3, 4, 5, 6, 7, 8],
            dircount: 0x2000,
            maxcount: 0x8003,
        };
        #[rustfmt::skip]
        assert_eq!(encoded(|w| request.encode(w).unwrap()), body(&[&FH, &[
            0x80, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0x20, 0, 0, 0, 0x80, 0,
        ]]));
    }

    #[test]
    fn less_than_an_entry_is_not_asked_for() {
        let request = Request {
            dir: fh(),
            cookie: COOKIE_START,
            cookieverf: [0; 8],
            dircount: 0,
            maxcount: MAXCOUNT_MIN - 1,
        };
        let bytes = encoded(|w| {
            assert_eq!(request.encode(w), Err(Error::Invalid("directory count too small")));
        });
        assert!(bytes.is_empty());
        let least = encoded(|w| Request { maxcount: MAXCOUNT_MIN, ..request }.encode(w).unwrap());
        assert_eq!(least[12..], body(&[&[0; 20], &[0, 0, 0x02, 0x28]]));
    }

    /// An entry as a server would write it.
    fn entry(name: &[u8], cookie: u64, attributes: bool, handle: bool) -> Vec<u8> {
        let mut bytes = Vec::from([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9]);
        bytes.extend((name.len() as u32).to_be_bytes());
        bytes.extend(name);
        bytes.resize(bytes.len().next_multiple_of(4), 0xDE);
        bytes.extend(cookie.to_be_bytes());
        bytes.extend(if attributes { some_fattr() } else { Vec::from([0; 4]) });
        bytes.extend(if handle { body(&[&[0, 0, 0, 1], &FH]) } else { Vec::from([0; 4]) });
        bytes
    }

    const VERIFIER: [u8; 8] = [8, 7, 6, 5, 4, 3, 2, 1];

    /// A reply with these entries.
    fn reply(entries: &[Vec<u8>], eof: bool) -> Vec<u8> {
        body(&[&[0; 8], &VERIFIER, &entries.concat(), &[0, 0, 0, 0, 0, 0, 0, eof.into()]])
    }

    fn two(eof: bool) -> Vec<u8> {
        reply(&[entry(b".", 1, false, false), entry(b".bash", u64::MAX, true, true)], eof)
    }

    #[test]
    fn a_response_and_its_entries() {
        let bytes = two(false);
        let listing = decode(&bytes, 0).unwrap();
        assert_eq!((listing.dir_attributes, listing.cookieverf), (None, VERIFIER));
        assert_eq!((listing.cookie, listing.eof, listing.entries_offset), (u64::MAX, false, 16));
        let entries: Result<Vec<Entry<'_>>, Error> = Entries::of_readdirplus(listing.entries).collect();
        let entries = entries.unwrap();
        let [dot, file] = entries[..] else { panic!() };
        assert_eq!((dot.name, dot.cookie, dot.attributes(), dot.name_handle), (&b"."[..], 1, None, None));
        let expected = Entry {
            fileid: 9,
            name: b".bash",
            cookie: u64::MAX,
            name_attributes: Some(fattr()),
            name_handle: Some(fh()),
        };
        assert_eq!(file, expected);
        assert!(file.attributes().unwrap().hidden);
        assert!(!Entry { name: b"bash", ..file }.attributes().unwrap().hidden);
    }

    #[test]
    fn replies_are_whole_and_their_bytes_may_be_anything() {
        strict(&two(true), Procedure::READDIRPLUS, |body| {
            let listing = match decode(body, 0) {
                Ok(listing) => listing,
                Err(error) => return Some(error),
            };
            assert!(Entries::of_readdirplus(listing.entries).all(|entry| entry.is_ok()));
            None
        });
    }

    #[test]
    fn attributes_of_the_directory() {
        let bytes = body(&[&[0; 4], &some_fattr(), &VERIFIER, &[0, 0, 0, 0, 0, 0, 0, 1]]);
        assert_eq!(bytes.len(), REPLY_HEAD_MAX);
        let listing = decode(&bytes, 7).unwrap();
        assert_eq!(listing.dir_attributes, Some(fattr()));
        assert_eq!((listing.cookie, listing.eof, listing.entries_offset), (7, true, 100));
        assert_eq!(Entries::of_readdirplus(listing.entries).count(), 0);
    }

    #[test]
    fn what_is_left_tells_where_the_next_entry_is() {
        let bytes = two(true);
        let listing = decode(&bytes, 0).unwrap();
        let mut entries = Entries::of_readdirplus(listing.entries);
        let mut at = 0;
        for name in [&b"."[..], b".bash"] {
            assert_eq!(entries.next().unwrap().unwrap().name, name);
            assert_eq!(&bytes[listing.entries_offset + at + NAME_AT..][..name.len()], name);
            at = listing.entries.len() - entries.left();
            let again = Entries::of_readdirplus(&listing.entries[at..]).count();
            assert_eq!(again, if at == listing.entries.len() { 0 } else { 1 });
        }
        assert_eq!(entries.left(), 0);
    }

    #[test]
    fn a_cookie_moves() {
        const STUCK: Result<Listing<'_>, Error> = Err(Error::Misbehaved("entry3.cookie"));
        let list = |cookies: &[u64]| -> Vec<u8> {
            let entries: Vec<Vec<u8>> = cookies.iter().map(|&c| entry(b"n", c, false, false)).collect();
            reply(&entries, false)
        };
        for (cookies, asked) in [
            (&[0][..], 0),
            (&[5, 5], 0),
            (&[5], 5),
            (&[6, 5], 5),
            (&[1, 1 << 32, 1 << 32], 0),
            (&[u64::MAX, 4, 4, 9], 3),
        ] {
            assert_eq!(decode(&list(cookies), asked), STUCK, "{cookies:?} {asked}");
        }
        // They need not grow, and the upper half counts.
        for (cookies, asked) in [(&[9, 4, 7][..], 5), (&[1, 1 | 1 << 32, 2], 0), (&[0], 7)] {
            assert_eq!(decode(&list(cookies), asked).unwrap().cookie, *cookies.last().unwrap());
        }
    }

    #[test]
    fn an_empty_reply_that_is_not_the_last_is_refused() {
        assert_eq!(decode(&reply(&[], false), 3), Err(Error::Misbehaved("dirlist3.entries")));
        assert!(decode(&reply(&[], true), 3).unwrap().eof);
    }

    #[test]
    fn names_may_be_longer_than_255_bytes_and_lengths_are_inside() {
        for len in [0, 1, 255, 256, 1000] {
            let name = std::vec![b'n'; len];
            let bytes = reply(&[entry(&name, 1, true, true)], true);
            let listing = decode(&bytes, 0).unwrap();
            let mut entries = Entries::of_readdirplus(listing.entries);
            assert_eq!(entries.next().unwrap().unwrap().name, name);
            assert_eq!(entries.next(), None);
        }
        for len in [1000, u32::MAX, u32::MAX - 3] {
            assert_eq!(decode(&with_word(&two(true), 28, len), 0), Err(Error::Malformed("entry3.name")));
        }
    }

    #[test]
    fn wrong_discriminants_are_refused() {
        let bytes = reply(&[entry(b"a", 1, false, false)], true);
        for (at, field) in [
            (4, "post_op_attr.attributes_follow"),
            (16, "entry3"),
            (44, "post_op_attr.attributes_follow"),
            (48, "post_op_fh3.handle_follows"),
            (52, "entry3"),
            (56, "dirlist3.eof"),
        ] {
            assert_eq!(decode(&with_word(&bytes, at, 2), 0), Err(Error::Malformed(field)), "{at}");
        }
        let empty_handle = with_word(&reply(&[entry(b"a", 1, false, true)], true), 52, 0);
        assert_eq!(decode(&empty_handle, 0), Err(Error::Malformed("nfs_fh3")));
    }

    #[test]
    fn entries_that_were_not_checked_end_with_their_first_error() {
        let bytes = entry(b"a", 1, false, false);
        for len in 1..bytes.len() {
            let mut entries = Entries::of_readdirplus(&bytes[..len]);
            assert!(entries.next().unwrap().is_err());
            assert_eq!(entries.next(), None);
        }
        assert_eq!(Entries::of_readdirplus(&[0; 40]).next(), None);
    }

    #[test]
    fn the_least_maxcount_is_enough_for_a_name_of_255_bytes() {
        let mut longest = entry(&[b'n'; 255], 1, true, false);
        longest.truncate(longest.len() - 4);
        longest.extend([0, 0, 0, 1, 0, 0, 0, 64]);
        longest.extend([7; 64]);
        assert_eq!(longest.len(), ENTRY_LEN_MAX);
        let bytes = body(&[&[0; 4], &some_fattr(), &VERIFIER, &longest, &[0, 0, 0, 0, 0, 0, 0, 1]]);
        assert!(decode(&bytes, 0).unwrap().eof);
        assert_eq!(bytes.len() + 4, MAXCOUNT_MIN as usize);
    }
}
