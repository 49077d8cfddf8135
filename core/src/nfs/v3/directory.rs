//! RFC 1813 3.3.16, 3.3.17: what the replies of READDIR and READDIRPLUS share: a list of entries.

use super::fattr3::{Fattr3, POST_OP_ATTR_LEN_MAX, post_op_attr};
use super::{Fh, Procedure};
use crate::attributes::Attributes;
use crate::error::Error;
use crate::nfs::status::Status;
use crate::nfs::xdr::UNBOUNDED;
use crate::wire::{Reader, slice};

/// The cookie of the beginning.
pub const COOKIE_START: u64 = 0;

/// Where the name stands in an entry.
pub const NAME_AT: usize = 16;

/// The fewest bytes of an entry: that it is there, number, name, cookie.
pub const ENTRY_LEN_MIN: usize = 4 + 8 + 4 + 8;
/// The most bytes of an entry of READDIRPLUS whose name has no more than 255 bytes.
pub const ENTRY_LEN_MAX: usize = ENTRY_LEN_MIN + 256 + POST_OP_ATTR_LEN_MAX + 4 + Fh::LEN_MAX_ON_WIRE;

/// The most bytes of a reply behind the RPC header, besides the entries: status, attributes of the directory,
/// verifier, and the end of the list.
pub(super) const LISTING_HEAD_MAX: usize = 4 + POST_OP_ATTR_LEN_MAX + 8 + 8;

/// The least number of bytes to ask for so that an entry of `entry_len` fits. NFS-Ganesha counts the status and
/// another word; and where an entry does not fit, it says that the directory ends.
#[expect(clippy::arithmetic_side_effects, reason = "a sum of constants")]
pub(super) const fn count_min(entry_len: usize) -> u32 {
    (LISTING_HEAD_MAX + 4 + entry_len) as u32
}

/// What is sent for a number of bytes to ask for: not more, and a multiple of four. NFS-Ganesha answers others with
/// `NFS3ERR_SERVERFAULT` whenever a reply would end within a word. `Invalid` if it is less than `min`: a server
/// that leaves names out without a word would not be noticed.
pub(super) const fn count_sent(count: u32, min: u32) -> Result<u32, Error> {
    if count < min { Err(Error::Invalid("directory count too small")) } else { Ok(count & !3) }
}

/// Some entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listing<'a> {
    /// The directory's attributes, if the server has them at hand.
    pub dir_attributes: Option<Fattr3>,
    /// For the request that goes on.
    pub cookieverf: [u8; 8],
    /// The bytes of the entries, see [`Entries`]. Every one of them was decoded once.
    pub entries: &'a [u8],
    /// Where they start, counted from the first byte behind the RPC header.
    pub entries_offset: usize,
    /// Of the last entry: for the request that goes on. What was asked with, if there are none.
    pub cookie: u64,
    /// There are no more.
    pub eof: bool,
}

impl<'a> Listing<'a> {
    /// Decodes what follows the RPC header of a reply to a request with `asked`, and checks every entry.
    ///
    /// `Misbehaved` if a cookie is the asked one or that of the entry before, or if there are no entries and yet no
    /// end: a listing that went on from there would never end.
    pub(super) fn decode(body: &'a [u8], asked: u64, during: Procedure) -> Result<Listing<'a>, Error> {
        let mut r = Reader::new(body);
        Status::decode(&mut r, during)?;
        let dir_attributes = post_op_attr(&mut r)?;
        let cookieverf = r.array("cookieverf3")?;
        let entries_offset = r.at();
        let mut cookie = asked;
        for _ in 0..=body.len() / ENTRY_LEN_MIN {
            let len = r.at().saturating_sub(entries_offset);
            if let Some(entry) = Entry::decode(&mut r, during)? {
                if entry.cookie == asked || entry.cookie == cookie {
                    return Err(Error::Misbehaved("entry3.cookie"));
                }
                cookie = entry.cookie;
                continue;
            }
            let eof = r.boolean("dirlist3.eof")?;
            if len == 0 && !eof {
                return Err(Error::Misbehaved("dirlist3.entries"));
            }
            let entries = slice(body, entries_offset, len, "dirlist3.entries")?;
            return Ok(Listing { dir_attributes, cookieverf, entries, entries_offset, cookie, eof });
        }
        // More entries than there are bytes for: one of them was refused before.
        Err(Error::Malformed("dirlist3.entries"))
    }
}

/// Entries one by one. Each takes [`ENTRY_LEN_MIN`] bytes at least, so they end; after an error there are no more.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    rest: &'a [u8],
    during: Procedure,
}

impl<'a> Entries<'a> {
    /// Starts at the first of `entries`, which READDIRPLUS has brought; none if it is empty.
    pub const fn of_readdirplus(entries: &'a [u8]) -> Entries<'a> {
        Entries { rest: entries, during: Procedure::READDIRPLUS }
    }

    /// Starts at the first of `entries`, which READDIR has brought; none if it is empty.
    pub const fn of_readdir(entries: &'a [u8]) -> Entries<'a> {
        Entries { rest: entries, during: Procedure::READDIR }
    }

    /// How many bytes at the end of the entries are still to be decoded; zero after the last entry.
    pub const fn left(&self) -> usize {
        self.rest.len()
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let mut r = Reader::new(self.rest);
        let decoded = Entry::decode(&mut r, self.during);
        self.rest = if matches!(decoded, Ok(Some(_))) { r.rest() } else { &[] };
        decoded.transpose()
    }
}

/// One name and what it stands for: `entry3`, `entryplus3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its number on the file system.
    pub fileid: u64,
    /// As long as the server likes, more than 255 bytes too. Nothing is known of it: it may be empty, `.`, `..`,
    /// or have a `/` or a NUL.
    pub name: &'a [u8],
    /// Where a listing that goes on behind it starts. All 64 bits count.
    pub cookie: u64,
    /// Its attributes. READDIR has none, and READDIRPLUS has some where the server has them at hand.
    pub name_attributes: Option<Fattr3>,
    /// For the requests about it. READDIR has none, and READDIRPLUS likewise.
    pub name_handle: Option<Fh>,
}

impl<'a> Entry<'a> {
    /// Decodes an entry of a list, or that there are no more.
    fn decode(r: &mut Reader<'a>, during: Procedure) -> Result<Option<Entry<'a>>, Error> {
        if !r.boolean("entry3")? {
            return Ok(None);
        }
        let fileid = r.be64("entry3.fileid")?;
        let name = r.opaque(UNBOUNDED, "entry3.name")?;
        let cookie = r.be64("entry3.cookie")?;
        let (name_attributes, name_handle) = match during {
            Procedure::READDIRPLUS => {
                (post_op_attr(r)?, r.optional("post_op_fh3.handle_follows", Fh::decode)?)
            }
            _ => (None, None),
        };
        Ok(Some(Entry { fileid, name, cookie, name_attributes, name_handle }))
    }

    /// The attributes in words that all protocols share; `None` if the reply has none. A name that starts with `.`
    /// is hidden.
    pub fn attributes(&self) -> Option<Attributes> {
        let hidden = self.name.starts_with(b".");
        self.name_attributes.map(|fattr| Attributes { hidden, ..fattr.attributes() })
    }
}
