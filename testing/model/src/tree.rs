//! The share's files: paths to contents, which may be generated.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};

/// 2024-01-02 03:04:05 UTC as FILETIME: every time of a file unless set otherwise.
pub(crate) const DEFAULT_TIME: u64 = 133_486_382_450_000_000;

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// These bytes.
    Bytes(Vec<u8>),
    /// `len` bytes of [`pattern`]: costs no memory, whatever the length.
    Pattern {
        /// Length of the file.
        len: u64,
        /// Two files with different seeds differ.
        seed: u64,
    },
    /// The same where there is data, and elsewhere a hole. The file says that it is sparse.
    Sparse {
        /// Length of the file.
        len: u64,
        /// Two files with different seeds differ.
        seed: u64,
        /// Where data starts and ends: in order, none of them empty, and none behind the end of the file.
        runs: Vec<Range<u64>>,
    },
}

impl Content {
    /// Length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Pattern { len, .. } | Content::Sparse { len, .. } => *len,
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where there is data.
    pub fn runs(&self) -> Vec<Range<u64>> {
        match self {
            Content::Sparse { runs, .. } => runs.clone(),
            _ => Vec::from_iter(Some(0..self.len()).filter(|all| !all.is_empty())),
        }
    }

    /// The bytes from `offset`, at most `len`, fewer at the end of the file.
    pub fn read(&self, offset: u64, len: usize) -> Vec<u8> {
        let len = self.len().saturating_sub(offset).min(len as u64) as usize;
        match self {
            _ if len == 0 => Vec::new(),
            Content::Bytes(bytes) => bytes[offset as usize..][..len].to_vec(),
            Content::Pattern { seed, .. } => pattern(*seed, offset, len),
            Content::Sparse { seed, runs, .. } => {
                let mut bytes = vec![0; len];
                for run in runs {
                    let (start, end) = (run.start.max(offset), run.end.min(offset + len as u64));
                    if start < end {
                        let data = pattern(*seed, start, (end - start) as usize);
                        bytes[(start - offset) as usize..][..data.len()].copy_from_slice(&data);
                    }
                }
                bytes
            }
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Content::Bytes(text.as_bytes().to_vec())
    }
}

impl From<&[u8]> for Content {
    fn from(bytes: &[u8]) -> Self {
        Content::Bytes(bytes.to_vec())
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Content::Bytes(bytes)
    }
}

/// `len` bytes at `offset` of the endless pattern `seed`: no two places look alike, so a shifted byte shows.
pub fn pattern(seed: u64, offset: u64, len: usize) -> Vec<u8> {
    let skip = (offset % 8) as usize;
    let words = (skip + len).div_ceil(8) as u64;
    let mut bytes: Vec<u8> = (0..words)
        .flat_map(|i| mix(seed ^ (offset / 8 + i).wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_le_bytes())
        .collect();
    bytes.drain(..skip);
    bytes.truncate(len);
    bytes
}

/// The finaliser of splitmix64.
fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A file.
    File(Content),
    /// A symbolic link with its target, relative to its own directory.
    Symlink(String),
}

/// A file, directory or link.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its last name, as listed.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Attributes besides DIRECTORY, REPARSE_POINT and SPARSE_FILE, which follow from the kind.
    pub attributes: u32,
    /// CreationTime (FILETIME, 0 for none).
    pub created: u64,
    /// LastAccessTime.
    pub accessed: u64,
    /// LastWriteTime.
    pub written: u64,
    /// ChangeTime.
    pub changed: u64,
    /// Nobody may open it.
    pub denied: bool,
    /// Its number, unique in the tree.
    pub id: u64,
}

impl Node {
    /// Length of the data, 0 for what has none.
    pub fn len(&self) -> u64 {
        match &self.kind {
            Kind::File(content) => content.len(),
            _ => 0,
        }
    }

    /// How many bytes of it are stored.
    pub fn stored(&self) -> u64 {
        match &self.kind {
            Kind::File(content) => content.runs().iter().map(|run| run.end - run.start).sum(),
            _ => 0,
        }
    }

    /// Whether there is no data.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it is a directory.
    pub fn is_directory(&self) -> bool {
        self.kind == Kind::Directory
    }

    /// FileAttributes as on the wire.
    pub fn file_attributes(&self) -> u32 {
        match self.kind {
            Kind::Directory => self.attributes & !NORMAL | 0x10,
            Kind::Symlink(_) => self.attributes & !NORMAL | 0x400,
            Kind::File(Content::Sparse { .. }) => self.attributes & !NORMAL | 0x200,
            Kind::File(_) => self.attributes,
        }
    }
}

/// FILE_ATTRIBUTE_NORMAL
const NORMAL: u32 = 0x80;

/// Everything in the share. Paths take `/` or `\`; case does not matter, as on the wire.
#[derive(Clone, Debug)]
pub struct Tree {
    nodes: BTreeMap<String, Node>,
}

impl Default for Tree {
    fn default() -> Self {
        Self::new()
    }
}

impl Tree {
    /// A root directory and nothing else.
    pub fn new() -> Self {
        let mut tree = Tree { nodes: BTreeMap::new() };
        tree.insert("", Kind::Directory);
        tree
    }

    /// Adds a file, and the directories on the way to it.
    pub fn file(mut self, path: &str, content: impl Into<Content>) -> Self {
        self.insert(path, Kind::File(content.into()));
        self
    }

    /// Adds a file of `len` bytes of `pattern(0, ..)`.
    pub fn pattern(self, path: &str, len: u64) -> Self {
        self.file(path, Content::Pattern { len, seed: 0 })
    }

    /// Adds a file of `len` bytes of which `runs` are data, of `pattern(0, ..)`, and all others a hole.
    pub fn sparse(self, path: &str, len: u64, runs: &[Range<u64>]) -> Self {
        self.file(path, Content::Sparse { len, seed: 0, runs: runs.to_vec() })
    }

    /// Adds a directory, and those on the way to it.
    pub fn directory(mut self, path: &str) -> Self {
        self.insert(path, Kind::Directory);
        self
    }

    /// Adds a symbolic link.
    pub fn symlink(mut self, path: &str, target: &str) -> Self {
        self.insert(path, Kind::Symlink(target.replace('/', "\\")));
        self
    }

    /// Adds a file that nobody may open.
    pub fn denied(self, path: &str) -> Self {
        self.file(path, "denied").with(path, |node| node.denied = true)
    }

    /// Changes what stands at `path` (attributes, times); nothing happens if nothing stands there.
    pub fn with(mut self, path: &str, change: impl FnOnce(&mut Node)) -> Self {
        if let Some(node) = self.nodes.get_mut(&key(path)) {
            change(node);
        }
        self
    }

    /// Gives what stands at `from` the name `to`, in place of what stands there; nothing happens if nothing stands at `from`.
    pub fn rename(&mut self, from: &str, to: &str) {
        if let Some(node) = self.nodes.remove(&key(from)) {
            let name = to.rsplit(['/', '\\']).next().unwrap_or(to).into();
            self.nodes.insert(key(to), Node { name, ..node });
        }
    }

    /// What stands at `path`.
    pub fn get(&self, path: &str) -> Option<&Node> {
        self.nodes.get(&key(path))
    }

    /// The children of a directory, sorted by name.
    pub fn children(&self, path: &str) -> impl Iterator<Item = &Node> {
        let prefix = match key(path) {
            root if root.is_empty() => root,
            path => path + "\\",
        };
        let from = (Bound::Excluded(prefix.clone()), Bound::Unbounded);
        self.nodes
            .range(from)
            .map_while(move |(key, node)| Some((key.strip_prefix(&prefix)?, node)))
            .filter(|(rest, _)| !rest.contains('\\'))
            .map(|(_, node)| node)
    }

    fn insert(&mut self, path: &str, kind: Kind) {
        let path = path.replace('/', "\\");
        let (parent, name) = path.rsplit_once('\\').unwrap_or(("", &path));
        if !path.is_empty() && self.get(parent).is_none() {
            self.insert(parent, Kind::Directory);
        }
        let node = Node {
            name: name.into(),
            kind,
            attributes: NORMAL,
            created: DEFAULT_TIME,
            accessed: DEFAULT_TIME,
            written: DEFAULT_TIME,
            changed: DEFAULT_TIME,
            denied: false,
            id: self.nodes.len() as u64 + 1,
        };
        self.nodes.insert(key(&path), node);
    }
}

fn key(path: &str) -> String {
    path.replace('/', "\\").to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_piece_of_the_pattern_is_the_piece_of_the_whole() {
        let whole = pattern(7, 0, 100);
        for offset in 0..100 {
            for len in 0..100 - offset {
                assert_eq!(pattern(7, offset as u64, len), whole[offset..offset + len]);
            }
        }
    }

    #[test]
    fn a_read_stops_at_the_end_of_the_file() {
        let content = Content::Pattern { len: 5 << 30, seed: 1 };
        assert_eq!(content.read((5 << 30) - 3, 10).len(), 3);
        assert_eq!(content.read(5 << 30, 10).len(), 0);
        assert_eq!(Content::from("abc").read(u64::MAX, 10).len(), 0);
    }

    #[test]
    fn what_is_no_run_of_a_sparse_file_is_zero_and_not_stored() {
        let tree = Tree::new().sparse("f", 40, &[3..10, 10..11, 25..40]);
        let node = tree.get("f").unwrap();
        assert_eq!((node.len(), node.stored(), node.file_attributes()), (40, 23, 0x200));
        let Kind::File(content) = &node.kind else { panic!("it is a file") };
        let mut whole = pattern(0, 0, 40);
        whole[..3].fill(0);
        whole[11..25].fill(0);
        for offset in 0..=40 {
            for len in 0..50 {
                let end = (offset + len).min(40);
                assert_eq!(content.read(offset as u64, len), whole[offset..end], "{offset} {len}");
            }
        }
    }

    #[test]
    fn children_are_sorted_and_only_of_one_level() {
        let tree = Tree::new().file("d/b", "").file("d/a/x", "").file("d/C", "").file("da", "");
        let names: Vec<_> = tree.children("D").map(|n| n.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "C"]);
        let names: Vec<_> = tree.children("").map(|n| n.name.as_str()).collect();
        assert_eq!(names, ["d", "da"]);
    }
}
