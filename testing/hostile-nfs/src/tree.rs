//! The files of the server.

use crate::Layout;

/// When everything was written.
pub const WRITTEN: u32 = 1_704_164_645;

/// What something is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File(Layout),
    /// A directory.
    Directory,
    /// A symbolic link that leads there.
    Link(&'static str),
}

/// Something with a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// From the root of the server; that is empty.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// Its number.
    pub id: u64,
}

/// All of them. The root is there from the start.
#[derive(Clone, Debug)]
pub struct Tree(pub Vec<Node>);

impl Default for Tree {
    fn default() -> Self {
        Tree(Vec::new()).with("", Kind::Directory)
    }
}

/// How many bytes of a handle say what it stands for.
pub const HANDLE_LEN: usize = 20;

impl Tree {
    /// With something more. Its parent must be there.
    #[must_use]
    pub fn with(mut self, path: &str, kind: Kind) -> Tree {
        let id = 0x0123_4567_0000_0000 + self.0.len() as u64;
        assert!(path.is_empty() || self.get(parent(path)).is_some(), "{path} has no parent");
        self.0.push(Node { path: path.to_owned(), kind, id });
        self
    }

    /// With a file of nothing but data.
    #[must_use]
    pub fn pattern(self, path: &str, len: usize) -> Tree {
        self.with(path, Kind::File(Layout::data(len as u64)))
    }

    /// What is at a path.
    pub fn get(&self, path: &str) -> Option<&Node> {
        self.0.iter().find(|node| node.path == path.trim_end_matches('/'))
    }

    /// What a handle stands for.
    pub fn by_handle(&self, handle: &[u8]) -> Option<&Node> {
        self.0.iter().find(|node| node.handle(handle.len()) == handle)
    }

    /// What is in a directory.
    pub fn children(&self, directory: &str) -> impl Iterator<Item = &Node> {
        self.0.iter().filter(move |node| !node.path.is_empty() && parent(&node.path) == directory)
    }
}

fn parent(path: &str) -> &str {
    path.rfind('/').map_or("", |at| &path[..at])
}

impl Node {
    /// The last part of its path.
    pub fn name(&self) -> &str {
        &self.path[self.path.rfind('/').map_or(0, |at| at + 1)..]
    }

    /// Bytes.
    pub fn len(&self) -> u64 {
        match &self.kind {
            Kind::File(file) => file.len(),
            Kind::Directory => 4096,
            Kind::Link(target) => target.len() as u64,
        }
    }

    /// Bytes that it takes.
    pub fn used(&self) -> u64 {
        match &self.kind {
            Kind::File(file) => file.used(),
            _ => self.len(),
        }
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the server calls it. No bit that changes makes it another's.
    pub fn handle(&self, len: usize) -> Vec<u8> {
        let mut handle = vec![0xFE; len.max(HANDLE_LEN)];
        handle[..8].copy_from_slice(&self.id.to_be_bytes());
        handle[8..16].copy_from_slice(&(!self.id).to_be_bytes());
        handle
    }

    /// Its number in `ftype3` and `nfs_ftype4`.
    pub const fn file_type(&self) -> u32 {
        match self.kind {
            Kind::File(_) => 1,
            Kind::Directory => 2,
            Kind::Link(_) => 5,
        }
    }
}
