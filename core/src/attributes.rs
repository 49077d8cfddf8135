//! What servers say about files, in words that both protocols share.

use core::fmt::{self, Write as _};

/// A point in time, as POSIX has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Time {
    /// Seconds since 1970-01-01 00:00 UTC; negative before.
    pub seconds: i64,
    /// 0 to 999,999,999, always forward from `seconds`.
    pub nanoseconds: u32,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Kind {
    /// A regular file.
    #[default]
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A device, a socket, a pipe, or a link of a kind only its server understands.
    Other,
}

/// The attributes of a file or directory. `None` is what the server did not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Attributes {
    /// What it is.
    pub kind: Kind,
    /// Its length in bytes.
    pub len: u64,
    /// How many bytes it takes on the server's disk.
    pub allocated: Option<u64>,
    /// When its contents were changed last.
    pub modified: Option<Time>,
    /// When it was read last.
    pub accessed: Option<Time>,
    /// When it or its attributes were changed last.
    pub changed: Option<Time>,
    /// When it was made.
    pub created: Option<Time>,
    /// Its number on the server.
    pub id: Option<u64>,
    /// How many names it has.
    pub links: Option<u32>,
    /// Its name is left out of listings by convention.
    pub hidden: bool,
    /// It is not to be written to.
    pub read_only: bool,
    /// It may have holes, and the server can say where.
    pub sparse: bool,
    /// A number that is another one whenever the file was changed in between, if the server has one that can be relied on.
    pub change: Option<u64>,
}

/// What of a file is another whenever its content was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its length in bytes.
    pub len: u64,
    /// When its contents were changed last.
    pub modified: Option<Time>,
}

impl Attributes {
    /// Its version then.
    pub const fn version(&self) -> Version {
        Version { len: self.len, modified: self.modified }
    }

    /// What shows that this is not the file that it was `then`, or not its content: one of the attributes that both tell differs.
    /// `None` if nothing does. Samba tells of an open file the times that it had when it was opened.
    pub fn change_since(&self, then: &Attributes) -> Option<&'static str> {
        fn differ<T: PartialEq>(then: Option<T>, now: Option<T>) -> bool {
            then.zip(now).is_some_and(|(then, now)| then != now)
        }
        if then.kind != self.kind || differ(then.id, self.id) {
            Some("it is another file now")
        } else if then.len != self.len {
            Some("its length is another now")
        } else if differ(then.modified, self.modified) {
            Some("its time of modification is another now")
        } else if differ(then.change, self.change) {
            Some("the server says so")
        } else {
            differ(then.changed, self.changed).then_some("its time of change is another now")
        }
    }
}

/// The space of a file system, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Space {
    /// All of it.
    pub total: u64,
    /// What is free.
    pub free: u64,
    /// What is free for the caller (quotas, reserves).
    pub available: u64,
    /// The unit of allocation.
    pub unit: u64,
}

/// How a name is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Encoding {
    /// UTF-16, little-endian.
    Utf16,
    /// Bytes, UTF-8 by convention.
    Bytes,
}

/// A name as the server sent it, lent from the receive memory. It holds no separator of its protocol's
/// paths and no NUL, and is neither
/// empty nor `.` or `..`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a> {
    pub(crate) raw: &'a [u8],
    pub(crate) encoding: Encoding,
}

impl<'a> Name<'a> {
    /// The bytes of the wire.
    pub const fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// How [`raw`](Self::raw) is to be read.
    pub const fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Its characters. `Err` stands for what is no character: a surrogate without its other half, bytes that are not UTF-8.
    pub fn chars(&self) -> impl Iterator<Item = Result<char, Broken>> + 'a {
        let (units, bytes) = match self.encoding {
            Encoding::Utf16 => (self.raw, &[][..]),
            Encoding::Bytes => (&[][..], self.raw),
        };
        let units = units.chunks_exact(2).map(|unit| match *unit {
            [low, high] => u16::from_le_bytes([low, high]),
            _ => 0,
        });
        let units = char::decode_utf16(units).map(|unit| unit.map_err(|_| Broken));
        let bytes = bytes.utf8_chunks().flat_map(|chunk| {
            let broken = (!chunk.invalid().is_empty()).then_some(Err(Broken));
            chunk.valid().chars().map(Ok).chain(broken)
        });
        units.chain(bytes)
    }

    /// Whether it is one name: not empty, not `.` or `..`, and without a separator of its protocol's paths and NUL.
    pub(crate) fn is_safe(&self) -> bool {
        let unsafe_char = |c: Result<char, Broken>| match c {
            Ok('/' | '\0') => true,
            // NFS has it as a character like others.
            Ok('\\') => self.encoding == Encoding::Utf16,
            _ => false,
        };
        !self.raw.is_empty() && !self.is_dots() && !self.chars().any(unsafe_char)
    }

    /// Whether it is `.` or `..`.
    pub(crate) fn is_dots(&self) -> bool {
        self.chars().all(|c| c == Ok('.')) && matches!(self.chars().count(), 1 | 2)
    }
}

/// Something in a name that is no character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Broken;

/// Shows U+FFFD for what is no character. Control characters pass: making a name safe for a terminal is the
/// business of who owns the terminal.
impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chars().try_for_each(|c| f.write_char(c.unwrap_or(char::REPLACEMENT_CHARACTER)))
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Name<'_> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "{}", defmt::Display2Format(self));
    }
}

/// An entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Entry<'a> {
    /// Its name.
    pub name: Name<'a>,
    /// What the listing says of it.
    pub attributes: Attributes,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;
    use std::vec::Vec;

    fn utf16(text: &[u16]) -> Vec<u8> {
        text.iter().flat_map(|unit| unit.to_le_bytes()).collect()
    }

    #[test]
    fn a_change_is_what_both_attributes_tell_in_different_ways() {
        let at = |seconds| Some(Time { seconds, nanoseconds: 0 });
        let then = Attributes {
            len: 1,
            id: Some(1),
            modified: at(1),
            changed: at(1),
            change: Some(1),
            ..Attributes::default()
        };
        assert_eq!(Attributes { accessed: at(2), allocated: Some(8), ..then }.change_since(&then), None);
        let silent = Attributes { id: None, modified: None, changed: None, change: None, ..then };
        assert_eq!((silent.change_since(&then), then.change_since(&silent)), (None, None));
        for now in [
            Attributes { kind: Kind::Directory, ..then },
            Attributes { id: Some(2), ..then },
            Attributes { len: 2, ..then },
            Attributes { modified: at(2), ..then },
            Attributes { changed: at(2), ..then },
            Attributes { change: Some(2), ..then },
        ] {
            assert!(now.change_since(&then).is_some(), "{now:?}");
        }
    }

    #[test]
    fn surrogate_pairs_are_one_character_and_halves_are_shown_as_broken() {
        let raw = utf16(&[0xD83D, 0xDE00, 0x61, 0xD83D, 0x62]);
        let name = Name { raw: &raw, encoding: Encoding::Utf16 };
        assert_eq!(name.to_string(), "\u{1F600}a\u{FFFD}b");
        let name = Name { raw: b"a\xFFb", encoding: Encoding::Bytes };
        assert_eq!(name.to_string(), "a\u{FFFD}b");
    }

    #[test]
    fn names_that_would_leave_their_directory_are_not_safe() {
        for bad in ["", ".", "..", "a/b", "a\\b", "a\0b", "/", "\0"] {
            let units: Vec<u16> = bad.encode_utf16().collect();
            assert!(!Name { raw: &utf16(&units), encoding: Encoding::Utf16 }.is_safe(), "{bad:?}");
            let safe = Name { raw: bad.as_bytes(), encoding: Encoding::Bytes }.is_safe();
            assert_eq!(safe, bad == "a\\b", "{bad:?}");
        }
        for good in ["...", ".a", "a.", "a b", "é", "\u{1F600}"] {
            assert!(Name { raw: good.as_bytes(), encoding: Encoding::Bytes }.is_safe(), "{good:?}");
        }
    }
}
