//! QUERY_DIRECTORY (MS-SMB2 2.2.33, 2.2.34, 3.3.5.18).

use crate::connection::{Chain, Connection, Handled};
use crate::header::{self, Request};
use crate::listing::{self, Class};
use crate::tree::Node;
use crate::wire::{Put, from_utf16};
use crate::{Lie, Status, Tree};

const RESTART_SCANS: u8 = 0x01;
const RETURN_SINGLE_ENTRY: u8 = 0x02;
const REOPEN: u8 = 0x10;

/// Where a handle stands in the listing of its directory.
pub(crate) struct Listing {
    entries: Vec<Entry>,
    at: usize,
}

/// A name, and the path of what it names.
struct Entry {
    name: String,
    path: String,
}

impl Connection {
    pub(crate) fn query_directory(&mut self, chain: &mut Chain, request: &Request) -> Handled {
        let mut body = request.body();
        body.structure_size(33)?;
        let (class, flags) = (body.u8()?, body.u8()?);
        body.skip(4)?;
        let id = self.handle(chain, &mut body)?;
        let (offset, len) = (body.u16()?, body.u16()?);
        let output_max = body.u32()?;
        let pattern = match len {
            0 => String::new(),
            len => from_utf16(body.slice(offset.into(), len.into())?)?,
        };
        self.paid(request, output_max)?;
        let class = Class::from_wire(class).ok_or(Status::INVALID_INFO_CLASS)?;
        if !self.node(id)?.is_directory() || output_max > self.config.max_transact_size {
            return Err(Status::INVALID_PARAMETER);
        }
        self.rewind(id, flags, &pattern)?;
        let page = self.next_page(id, class, flags, output_max as usize)?;
        let mut body = Vec::new();
        body.u16(9);
        body.u16(header::LEN as u16 + 8);
        body.u32(page.len() as u32);
        body.put(&page);
        Ok(body.into())
    }

    /// Starts the listing if it is new or asked to start again; the pattern counts then only.
    fn rewind(&mut self, id: u64, flags: u8, pattern: &str) -> Result<(), Status> {
        let open = self.opens.get(&id).ok_or(Status::FILE_CLOSED)?;
        let fresh = open.listing.is_none() || flags & REOPEN != 0;
        let listing = match fresh {
            true => Some(self.list(&open.path, pattern)?),
            false => None,
        };
        let open = self.opens.get_mut(&id).ok_or(Status::FILE_CLOSED)?;
        if listing.is_some() {
            open.listing = listing;
        } else if let Some(listing) = open.listing.as_mut().filter(|_| flags & RESTART_SCANS != 0) {
            listing.at = 0;
        }
        Ok(())
    }

    /// `.` and `..`, then the children by name, as far as they match.
    fn list(&self, path: &str, pattern: &str) -> Result<Listing, Status> {
        let parent = path.rsplit_once('\\').map_or("", |(parent, _)| parent);
        let dots =
            [(".", path), ("..", parent)].map(|(name, path)| Entry { name: name.into(), path: path.into() });
        let child = |node: &Node| Entry { name: node.name.clone(), path: join(path, &node.name) };
        let all = dots.into_iter().chain(self.config.tree.children(path).map(child));
        let pattern: Vec<char> = pattern.to_uppercase().chars().collect();
        let matching =
            |entry: &Entry| matches(&pattern, &entry.name.to_uppercase().chars().collect::<Vec<_>>());
        let mut entries: Vec<Entry> = all.filter(matching).collect();
        if entries.is_empty() {
            return Err(Status::NO_SUCH_FILE);
        }
        let false_names = self.config.lies.iter().filter_map(false_name);
        entries.extend(false_names.map(|name| Entry { name: name.into(), path: path.into() }));
        Ok(Listing { entries, at: 0 })
    }

    fn next_page(&mut self, id: u64, class: Class, flags: u8, output_max: usize) -> Result<Vec<u8>, Status> {
        let open = self.opens.get(&id).ok_or(Status::FILE_CLOSED)?;
        let listing = open.listing.as_ref().ok_or(Status::FILE_CLOSED)?;
        let count_max = if flags & RETURN_SINGLE_ENTRY != 0 { 1 } else { usize::MAX };
        let at = match listing.entries.len() {
            len if listing.at < len => listing.at,
            _ if self.lies(Lie::ListingGoesRound) => 0,
            _ => return Err(Status::NO_MORE_FILES),
        };
        let rest = nodes(&self.config.tree, &listing.entries[at..]).take(count_max);
        let (mut page, count) = listing::page(class, rest, output_max);
        if count == 0 {
            return Err(Status::INFO_LENGTH_MISMATCH);
        }
        self.distort_page(class, &mut page);
        let again = self.lies(Lie::ListingNeverEnds);
        let open = self.opens.get_mut(&id).ok_or(Status::FILE_CLOSED)?;
        if let Some(listing) = open.listing.as_mut().filter(|_| !again) {
            listing.at = at + count;
        }
        Ok(page)
    }

    fn distort_page(&self, class: Class, page: &mut Vec<u8>) {
        let beyond = (page.len() as u32 + 8).to_le_bytes();
        if self.lies(Lie::EntryOffsetBeyond) {
            page[..4].copy_from_slice(&beyond);
        }
        if self.lies(Lie::EntryOffsetTooSmall) {
            page[..4].copy_from_slice(&8u32.to_le_bytes());
        }
        if self.lies(Lie::NameLengthBeyond) {
            page[class.name_length_at()..][..4].copy_from_slice(&beyond);
        }
        if self.lies(Lie::EmptyPages) {
            page.clear();
        }
    }
}

fn nodes<'a>(tree: &'a Tree, entries: &'a [Entry]) -> impl Iterator<Item = (&'a str, &'a Node)> {
    entries.iter().filter_map(|entry| Some((entry.name.as_str(), tree.get(&entry.path)?)))
}

fn join(directory: &str, name: &str) -> String {
    match directory {
        "" => name.into(),
        _ => format!("{directory}\\{name}"),
    }
}

fn false_name(lie: &Lie) -> Option<&'static str> {
    match lie {
        Lie::NameEmpty => Some(""),
        Lie::NameWithSlash => Some("a/b"),
        Lie::NameWithBackslash => Some("a\\b"),
        Lie::NameWithNul => Some("a\0b"),
        Lie::NameDotDot => Some(".."),
        _ => None,
    }
}

/// `*` stands for any characters, `?` for one.
fn matches(pattern: &[char], name: &[char]) -> bool {
    match pattern {
        [] => name.is_empty(),
        ['*', rest @ ..] => (0..=name.len()).any(|skipped| matches(rest, &name[skipped..])),
        ['?', rest @ ..] => !name.is_empty() && matches(rest, &name[1..]),
        [first, rest @ ..] => name.first() == Some(first) && matches(rest, &name[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_people_expect() {
        let matches = |pattern: &str, name: &str| {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            matches(&chars(pattern), &chars(name))
        };
        assert!(matches("*", "") && matches("*", "abc") && matches("a*c", "abc") && matches("a?c", "abc"));
        assert!(
            matches("abc", "abc") && !matches("abc", "abcd") && !matches("a?c", "ac") && !matches("", "a")
        );
    }
}
