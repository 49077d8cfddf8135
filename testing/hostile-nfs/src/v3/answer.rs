//! What each procedure brings.

use super::model::{Model, at};
use crate::tree::WRITTEN;
use crate::xdr::{Args, Xdr};
use crate::{Kind, Node};

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
    /// The results of a call.
    pub(crate) fn answer(&mut self, program: u32, version: u32, procedure: u32, mut args: Args<'_>) -> Xdr {
        let (mount_port, nfs_port) = (self.config.mount_port, self.config.nfs_port);
        let mut x = Xdr::padded(self.config.rpc.padding);
        match (program, version, procedure) {
            (at::PORTMAP, 2, 3) => {
                let port = match (args.word(), args.word(), args.word(), args.word()) {
                    (at::MOUNT, 3, 6, 0) => mount_port,
                    (at::NFS, 3, 6, 0) => nfs_port,
                    other => panic!("nobody asks for {other:?}"),
                };
                x.word(port.into());
            }
            (at::MOUNT, 3, 1) => self.mnt(&mut x, &mut args),
            (at::MOUNT, 3, 5) => self.export(&mut x),
            (at::NFS, 3, 0) => {}
            (at::NFS, 3, procedure) => {
                if procedure == 6 {
                    let count = args.0.last_chunk().map_or(0, |count| u32::from_be_bytes(*count));
                    assert!(count > 0, "nobody reads nothing");
                    self.longest_read = self.longest_read.max(count);
                }
                self.nfs(&mut x, procedure, &mut args);
            }
            _ => panic!("nobody asks for {program} {version} {procedure}"),
        }
        assert!(args.0.is_empty(), "arguments are as long as they should be");
        x
    }

    fn mnt(&mut self, x: &mut Xdr, args: &mut Args<'_>) {
        let path = std::str::from_utf8(args.opaque()).expect("paths are UTF-8");
        self.mounts.push(path.to_owned());
        if let Some((_, status)) = self.config.unmountable.iter().find(|(known, _)| *known == path) {
            x.word(*status);
            return;
        }
        match self.config.tree.get(path) {
            None => x.word(NOENT),
            Some(node) => x.word(0).opaque(&node.handle(self.config.handle_len)).words(&[2, 1, 0]),
        };
    }

    fn export(&self, x: &mut Xdr) {
        for (path, groups) in &self.config.exports {
            x.word(1).opaque(path.as_bytes());
            for group in *groups {
                x.word(1).opaque(group.as_bytes());
            }
            x.word(0);
        }
        x.word(0);
    }

    fn nfs(&self, x: &mut Xdr, procedure: u32, args: &mut Args<'_>) {
        let Some(node) = self.config.tree.by_handle(args.opaque()) else {
            args.0 = &[];
            return self.fails(x, BADHANDLE, procedure);
        };
        match procedure {
            1 => fattr(x.word(0), node),
            3 => self.lookup(x, node, args),
            5 => match node.kind {
                Kind::Link(target) => {
                    self.post_op_attr(x.word(0), node);
                    x.opaque(target.as_bytes());
                }
                _ => self.fails(x, INVAL, procedure),
            },
            6 => self.read(x, node, args),
            16 | 17 => self.listing(x, node, args, procedure),
            18 => {
                self.post_op_attr(x.word(0), node);
                [1 << 40, 1 << 39, 1 << 38, 1000, 500, 400].into_iter().for_each(|number| {
                    x.hyper(number);
                });
                x.word(0);
            }
            19 => {
                self.post_op_attr(x.word(0), node);
                x.word(self.config.rtmax).words(&[4096; 6]).hyper(u64::MAX).words(&[0, 1, 0x1B]);
            }
            other => panic!("nobody calls {other}"),
        }
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

    fn read(&self, x: &mut Xdr, node: &Node, args: &mut Args<'_>) {
        let (offset, count) = (args.hyper(), args.word());
        let count = count.min(self.config.rtmax);
        let Kind::File(file) = &node.kind else {
            return self.fails(x, if node.kind == Kind::Directory { ACCES } else { INVAL }, 6);
        };
        let mut data = file.read(offset, u64::from(count).min(self.config.brings as u64));
        let len = data.len();
        let eof = offset.saturating_add(len as u64) >= file.len();
        self.post_op_attr(x.word(0), node);
        x.word(if len == 0 { 0 } else { len as u32 + self.config.deficit }).word(eof.into());
        data.resize(len + self.config.surplus, 0xBB);
        x.file_data(&data, len);
    }

    /// READDIR, or READDIRPLUS, which also says how long names and cookies may be in all.
    fn listing(&self, x: &mut Xdr, node: &Node, args: &mut Args<'_>, procedure: u32) {
        let plus = procedure == 17;
        let (from, verifier) = (args.hyper(), args.hyper());
        let _dircount = plus.then(|| args.word());
        let maxcount = args.word();
        if node.kind != Kind::Directory {
            return self.fails(x, NOTDIR, procedure);
        }
        let children = self.config.tree.children(&node.path).map(|child| (child.name(), child));
        let all: Vec<_> = [(".", node), ("..", node)].into_iter().chain(children).collect();
        let begin = match from {
            0 => 0,
            from => (0..all.len()).position(|index| cookie(index) == from).map_or(usize::MAX, |at| at + 1),
        };
        if begin > all.len() || verifier != if from == 0 { 0 } else { COOKIE_VERIFIER } {
            return self.fails(x, BAD_COOKIE, procedure);
        }
        self.post_op_attr(x.word(0), node);
        x.hyper(COOKIE_VERIFIER);
        let mut end = begin;
        for (index, (name, child)) in all.iter().enumerate().skip(begin) {
            let mut entry = Xdr::padded(x.padding);
            entry.word(1).hyper(child.id).opaque(name.as_bytes()).hyper(cookie(index));
            if plus {
                self.post_op_attr(&mut entry, child);
                entry.word(self.config.attributes.into());
            }
            if plus && self.config.attributes {
                entry.opaque(&child.handle(self.config.handle_len));
            }
            // The standard counts all but the status.
            if x.bytes.len() - 4 + entry.bytes.len() + 8 > maxcount as usize {
                break;
            }
            x.append(entry);
            end = index + 1;
        }
        if end == begin && end < all.len() {
            x.bytes.clear();
            return self.fails(x, TOOSMALL, procedure);
        }
        x.word(0).word((end == all.len()).into());
    }
}

/// `fattr3`.
fn fattr(x: &mut Xdr, node: &Node) {
    x.words(&[node.file_type(), 0o644, 1, 1000, 100]);
    x.hyper(node.len()).hyper(node.used()).word(0).word(0).hyper(7).hyper(node.id);
    x.words(&[WRITTEN, 1, WRITTEN, 2, WRITTEN, 3]);
}
