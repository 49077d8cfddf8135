//! What only looks at the tree: file handles, names, listings.

use super::attributes::Asked;
use super::compound::{Compound, Refused};
use super::model::Model;
use super::numbers::{op, status};
use super::quirk::Quirk;
use crate::xdr::{Args, Xdr};
use crate::{Kind, Node};

/// What a listing that goes on must bring back.
const COOKIE_VERIFIER: u64 = 0xC0FF_EE00_1234_5678;

/// The cookie of the entry `index`: all 64 bits count, and later ones are not greater.
fn cookie(index: usize) -> u64 {
    (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// What may be asked for with ACCESS: all but to change something is allowed.
const ACCESS_ALL: u32 = 0x3F;
const ACCESS_TO_READ: u32 = 0x23;

impl Model {
    /// The current file.
    pub(super) fn current(&self, compound: &Compound) -> Result<Node, Refused> {
        let path = compound.file.as_ref().ok_or(status::NOFILEHANDLE)?;
        self.config.tree.get(path).cloned().ok_or(status::STALE)
    }

    /// The path of a name in the current directory.
    pub(super) fn named(&self, compound: &Compound, name: &[u8]) -> Result<String, Refused> {
        let directory = self.current(compound)?;
        let name = std::str::from_utf8(name).expect("names are UTF-8");
        assert!(!["", ".", ".."].contains(&name) && !name.contains('/'), "{name} is no name");
        match directory.kind {
            Kind::Directory => {}
            Kind::Link(_) => return Err(status::SYMLINK),
            Kind::File(_) => return Err(status::NOTDIR),
        }
        let path = format!("{}/{name}", directory.path);
        self.config.tree.get(&path).map(|node| node.path.clone()).ok_or(status::NOENT)
    }

    pub(super) fn look(
        &mut self,
        op: u32,
        compound: &mut Compound,
        args: &mut Args<'_>,
        x: &mut Xdr,
    ) -> Result<(), Refused> {
        match op {
            op::PUTROOTFH => (compound.file, compound.stateid) = (Some(String::new()), None),
            op::PUTFH => {
                let node = self.config.tree.by_handle(args.opaque()).ok_or(status::BADHANDLE)?;
                (compound.file, compound.stateid) = (Some(node.path.clone()), None);
            }
            op::LOOKUP => {
                (compound.file, compound.stateid) = (Some(self.named(compound, args.opaque())?), None)
            }
            op::GETFH => drop(x.opaque(&self.current(compound)?.handle(self.config.handle_len))),
            op::GETATTR => {
                let asked = Asked::decode(args);
                let node = self.current(compound)?;
                self.fattr4(asked, &node, x);
            }
            op::ACCESS => {
                let asked = args.word() & ACCESS_ALL;
                self.current(compound)?;
                x.word(asked).word(asked & ACCESS_TO_READ);
            }
            op::READLINK => match self.current(compound)?.kind {
                Kind::Link(target) => drop(x.opaque(target.as_bytes())),
                _ if compound.minor > 0 => return Err(status::WRONG_TYPE),
                _ => return Err(status::INVAL),
            },
            op::READDIR => return self.readdir(compound, args, x),
            _ => return Err(status::OP_ILLEGAL),
        }
        Ok(())
    }

    fn readdir(&mut self, compound: &Compound, args: &mut Args<'_>, x: &mut Xdr) -> Result<(), Refused> {
        let (from, verifier, _hint, maxcount) = (args.hyper(), args.hyper(), args.word(), args.word());
        let asked = Asked::decode(args);
        let directory = self.current(compound)?;
        if directory.kind != Kind::Directory {
            return Err(status::NOTDIR);
        }
        let all: Vec<Node> = self.config.tree.children(&directory.path).cloned().collect();
        let begin = match from {
            0 => 0,
            from => (0..all.len()).position(|at| cookie(at) == from).ok_or(status::BAD_COOKIE)? + 1,
        };
        if verifier != if from == 0 { 0 } else { COOKIE_VERIFIER } {
            return Err(status::NOT_SAME);
        }
        let again = self.shows(Quirk::ListsAgain);
        let begin = if again && begin == all.len() { 0 } else { begin };
        let stays = self.shows(Quirk::CookieStays);
        let end = if self.shows(Quirk::ListsNothing) { begin } else { all.len() };
        x.hyper(COOKIE_VERIFIER);
        let mut next = begin;
        for (at, node) in all.iter().enumerate().take(end).skip(begin) {
            let mut entry = Xdr::padded(x.padding);
            let told = if stays && at == begin { from } else { cookie(at) };
            entry.word(1).hyper(told).opaque(node.name().as_bytes());
            self.fattr4(asked.clone(), node, &mut entry);
            if x.bytes.len() + entry.bytes.len() + 8 > maxcount as usize {
                break;
            }
            x.append(entry);
            next = at + 1;
        }
        if next == begin && next < end {
            return Err(status::TOOSMALL);
        }
        x.word(0).word((next == all.len() && !again).into());
        Ok(())
    }
}
