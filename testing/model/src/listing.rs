//! Pages of directory entries (MS-FSCC 2.4.10, .14, .17, .18, .8, .28).

use crate::create::{allocation, put_times};
use crate::tree::Node;
use crate::wire::{Put, pad8, utf16};

/// The class of information a client lists with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Directory,
    Full,
    Both,
    Names,
    IdBoth,
    IdFull,
}

impl Class {
    pub(crate) fn from_wire(code: u8) -> Option<Class> {
        match code {
            1 => Some(Class::Directory),
            2 => Some(Class::Full),
            3 => Some(Class::Both),
            12 => Some(Class::Names),
            37 => Some(Class::IdBoth),
            38 => Some(Class::IdFull),
            _ => None,
        }
    }

    /// Where FileNameLength stands in an entry.
    pub(crate) fn name_length_at(self) -> usize {
        if self == Class::Names { 8 } else { 60 }
    }
}

/// As many whole entries as fit, and their number.
pub(crate) fn page<'a>(
    class: Class,
    entries: impl Iterator<Item = (&'a str, &'a Node)>,
    max: usize,
) -> (Vec<u8>, usize) {
    let mut page = Vec::new();
    let mut last = 0;
    let mut count = 0;
    for (name, node) in entries {
        let entry = entry(class, name, node);
        let start = page.len().next_multiple_of(8);
        if start + entry.len() > max {
            break;
        }
        if count > 0 {
            pad8(&mut page);
            page[last..last + 4].copy_from_slice(&((start - last) as u32).to_le_bytes());
        }
        page.put(&entry);
        last = start;
        count += 1;
    }
    (page, count)
}

/// One entry, with no next.
fn entry(class: Class, name: &str, node: &Node) -> Vec<u8> {
    let name = utf16(name);
    let mut out = Vec::new();
    out.zeros(8);
    if class != Class::Names {
        put_times(&mut out, node);
        out.u64(node.len());
        out.u64(allocation(node));
        out.u32(node.file_attributes());
    }
    out.u32(name.len() as u32);
    const EA_SIZE: usize = 4;
    const SHORT_NAME: usize = 26;
    match class {
        Class::Directory | Class::Names => {}
        Class::Full => out.zeros(EA_SIZE),
        Class::Both => out.zeros(EA_SIZE + SHORT_NAME),
        Class::IdBoth => {
            out.zeros(EA_SIZE + SHORT_NAME + 2);
            out.u64(node.id);
        }
        Class::IdFull => {
            out.zeros(EA_SIZE + 4);
            out.u64(node.id);
        }
    }
    out.put(&name);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn names_stand_where_the_standard_puts_them() {
        let tree = Tree::new();
        let node = tree.get("").unwrap();
        let classes = [(1, 64), (2, 68), (3, 94), (12, 12), (37, 104), (38, 80)];
        for (code, name_at) in classes {
            let entry = entry(Class::from_wire(code).unwrap(), "x", node);
            assert_eq!(entry.len(), name_at + 2, "class {code}");
            assert_eq!(entry[name_at..], *b"x\0");
            assert_eq!(entry[Class::from_wire(code).unwrap().name_length_at()], 2);
        }
    }

    #[test]
    fn entries_are_aligned_and_none_is_cut() {
        let tree = Tree::new();
        let node = tree.get("").unwrap();
        for max in 0..60 {
            let (page, count) = page(Class::Names, [("a", node), ("bcd", node)].into_iter(), max);
            let expected = match max {
                0..14 => (0, 0),
                14..34 => (14, 1),
                _ => (34, 2),
            };
            assert_eq!((page.len(), count), expected);
            if count == 2 {
                assert_eq!((page[0], page[16], page[24]), (16, 0, 6));
            }
        }
    }
}
