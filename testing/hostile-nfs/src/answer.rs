//! What each procedure brings.

use crate::model::{Model, at};
use crate::tree::WRITTEN;
use crate::xdr::{Args, Xdr};
use crate::{Kind, Node};
use std::ops::Range;

const NOENT: u32 = 2;
const ACCES: u32 = 13;
const NOTDIR: u32 = 20;
const INVAL: u32 = 22;
const BADHANDLE: u32 = 10_001;
const BAD_COOKIE: u32 = 10_003;
const TOOSMALL: u32 = 10_005;

/// What a listing that goes on must bring back.
const COOKIE_VERIFIER: u64 = 0xC0FF_EE00_1234_5678;

/// The cookie of the entry `index`: all 64 bits count, and later ones are not greater.
fn cookie(index: usize) -> u64 {
    (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Model {
    /// The results of a call, and where file data lies in them.
    pub(crate) fn answer(
        &mut self,
        program: u32,
        version: u32,
        procedure: u32,
        mut args: Args<'_>,
    ) -> (Xdr, Option<Range<usize>>) {
        let (mount_port, nfs_port) = (self.config.mount_port, self.config.nfs_port);
        let x = Xdr { padding: self.config.padding, ..Xdr::default() };
        let (x, data) = match (program, version, procedure) {
            (at::PORTMAP, 2, 3) if self.port == at::PORTMAP_PORT => {
                let port = match (args.word(), args.word(), args.word(), args.word()) {
                    (at::MOUNT, 3, 6, 0) => mount_port,
                    (at::NFS, 3, 6, 0) => nfs_port,
                    other => panic!("nobody asks for {other:?}"),
                };
                (words(x, &[port.into()]), None)
            }
            (at::MOUNT, 3, 1) if self.port == mount_port => (self.mnt(x, &mut args), None),
            (at::MOUNT, 3, 5) if self.port == mount_port => (self.export(x), None),
            (at::NFS, 3, procedure) if self.port == nfs_port => {
                if procedure == 6 {
                    let count = args.0.last_chunk().map_or(0, |count| u32::from_be_bytes(*count));
                    assert!(count > 0, "nobody reads nothing");
                    self.longest_read = self.longest_read.max(count);
                }
                self.nfs(x, procedure, &mut args)
            }
            _ => panic!("{program} {version} {procedure} is not at port {}", self.port),
        };
        assert!(args.0.is_empty(), "arguments are as long as they should be");
        (x, data)
    }

    fn mnt(&mut self, mut x: Xdr, args: &mut Args<'_>) -> Xdr {
        let path = std::str::from_utf8(args.opaque()).expect("paths are UTF-8");
        self.mounts.push(path.to_owned());
        if let Some((_, status)) = self.config.unmountable.iter().find(|(known, _)| *known == path) {
            return words(x, &[*status]);
        }
        match self.config.tree.get(path) {
            None => words(x, &[NOENT]),
            Some(node) => {
                x.word(0).opaque(&node.handle(self.config.handle_len)).word(2).word(1).word(0);
                x
            }
        }
    }

    fn export(&self, mut x: Xdr) -> Xdr {
        for (path, groups) in &self.config.exports {
            x.word(1).opaque(path.as_bytes());
            for group in *groups {
                x.word(1).opaque(group.as_bytes());
            }
            x.word(0);
        }
        words(x, &[0])
    }

    fn nfs(&self, mut x: Xdr, procedure: u32, args: &mut Args<'_>) -> (Xdr, Option<Range<usize>>) {
        let Some(node) = self.config.tree.by_handle(args.opaque()) else {
            args.0 = &[];
            self.fails(&mut x, BADHANDLE, procedure);
            return (x, None);
        };
        match procedure {
            1 => fattr(x.word(0), node),
            3 => self.lookup(&mut x, node, args),
            5 => match node.kind {
                Kind::Link(target) => {
                    self.post_op_attr(x.word(0), node);
                    x.opaque(target.as_bytes());
                }
                _ => self.fails(&mut x, INVAL, procedure),
            },
            6 => return self.read(x, node, args),
            17 => self.readdirplus(&mut x, node, args),
            18 => {
                self.post_op_attr(x.word(0), node);
                [1 << 40, 1 << 39, 1 << 38, 1000, 500, 400].into_iter().for_each(|number| {
                    x.hyper(number);
                });
                x.word(0);
            }
            19 => {
                self.post_op_attr(x.word(0), node);
                x.word(self.config.rtmax);
                x = words(x, &[4096, 4096, 4096, 4096, 4096, 4096]);
                x.hyper(u64::MAX).word(0).word(1).word(0x1B);
            }
            other => panic!("nobody calls {other}"),
        }
        (x, None)
    }

    /// A status that is not OK, and the attributes that it always comes with.
    fn fails(&self, x: &mut Xdr, status: u32, procedure: u32) {
        x.word(status);
        if procedure != 1 {
            x.word(0);
        }
    }

    fn post_op_attr(&self, x: &mut Xdr, node: &Node) {
        x.word(self.config.attributes.into());
        if self.config.attributes {
            fattr(x, node);
        }
    }

    fn lookup(&self, x: &mut Xdr, directory: &Node, args: &mut Args<'_>) {
        let name = std::str::from_utf8(args.opaque()).expect("names are UTF-8");
        if directory.kind != Kind::Directory {
            return self.fails(x, NOTDIR, 3);
        }
        match self.config.tree.get(&format!("{}/{name}", directory.path)) {
            None => self.fails(x, NOENT, 3),
            Some(node) => {
                self.post_op_attr(x.word(0).opaque(&node.handle(self.config.handle_len)), node);
                self.post_op_attr(x, directory);
            }
        }
    }

    fn read(&self, mut x: Xdr, node: &Node, args: &mut Args<'_>) -> (Xdr, Option<Range<usize>>) {
        let (offset, count) = (args.hyper(), args.word());
        let count = count.min(self.config.rtmax);
        let Kind::File(bytes) = &node.kind else {
            self.fails(&mut x, if node.kind == Kind::Directory { ACCES } else { INVAL }, 6);
            return (x, None);
        };
        let start = bytes.len().min(offset as usize);
        let whole = &bytes[start..bytes.len().min(start.saturating_add(count as usize))];
        let brought = &whole[..whole.len().min(self.config.brings)];
        let eof = start + brought.len() == bytes.len();
        self.post_op_attr(x.word(0), node);
        let len = brought.len() as u32;
        x.word(if len == 0 { 0 } else { len + self.config.deficit }).word(eof.into());
        let mut data = brought.to_vec();
        data.resize(data.len() + self.config.surplus, 0xBB);
        let at = x.bytes.len() + 4;
        x.opaque(&data);
        (x, Some(at..at + brought.len()))
    }

    fn readdirplus(&self, x: &mut Xdr, node: &Node, args: &mut Args<'_>) {
        let (from, verifier, _, maxcount) = (args.hyper(), args.hyper(), args.word(), args.word());
        if node.kind != Kind::Directory {
            return self.fails(x, NOTDIR, 17);
        }
        let children = self.config.tree.children(&node.path).map(|child| (child.name(), child));
        let all: Vec<_> = [(".", node), ("..", node)].into_iter().chain(children).collect();
        let begin = match from {
            0 => 0,
            from => (0..all.len()).position(|index| cookie(index) == from).map_or(usize::MAX, |at| at + 1),
        };
        if begin > all.len() || verifier != if from == 0 { 0 } else { COOKIE_VERIFIER } {
            return self.fails(x, BAD_COOKIE, 17);
        }
        self.post_op_attr(x.word(0), node);
        x.hyper(COOKIE_VERIFIER);
        let mut end = begin;
        for (index, (name, child)) in all.iter().enumerate().skip(begin) {
            let mut entry = Xdr { padding: x.padding, ..Xdr::default() };
            entry.word(1).hyper(child.id).opaque(name.as_bytes()).hyper(cookie(index));
            self.post_op_attr(&mut entry, child);
            entry.word(self.config.attributes.into());
            if self.config.attributes {
                entry.opaque(&child.handle(self.config.handle_len));
            }
            // The standard counts all but the status.
            if x.bytes.len() - 4 + entry.bytes.len() + 8 > maxcount as usize {
                break;
            }
            x.bytes.extend(entry.bytes);
            end = index + 1;
        }
        if end == begin && end < all.len() {
            x.bytes.clear();
            return self.fails(x, TOOSMALL, 17);
        }
        x.word(0).word((end == all.len()).into());
    }
}

fn words(mut x: Xdr, words: &[u32]) -> Xdr {
    words.iter().for_each(|word| {
        x.word(*word);
    });
    x
}

/// `fattr3`.
pub(crate) fn fattr(x: &mut Xdr, node: &Node) {
    x.word(node.file_type()).word(0o644).word(1).word(1000).word(100);
    x.hyper(node.len()).hyper(node.len()).word(0).word(0).hyper(7).hyper(node.id);
    [WRITTEN, 1, WRITTEN, 2, WRITTEN, 3].into_iter().for_each(|word| {
        x.word(word);
    });
}
