//! What an operation becomes on the wire: a walk from the mounted root, LOOKUP by LOOKUP, and then one call.

use super::{Message, Nfs3, kind};
use crate::compound::Cost;
use crate::error::Error;
use crate::nfs::path::{component, components};
use crate::nfs::rpc;
use crate::nfs::v3::fattr3::FileType;
use crate::nfs::v3::{Fh, Procedure, fsstat, getattr, lookup, read, readdir, readdirplus, readlink};
use crate::outgoing::Outbox;
use crate::protocol::{Ask, Progress};
use crate::rounds::Rounds;
use crate::segment::Extent;

/// Where a call stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stage {
    pub(super) phase: Phase,
    /// How many bytes of the path are done with.
    pub(super) at: usize,
    /// The same after the LOOKUP in flight.
    pub(super) until: usize,
    /// What was found there.
    pub(super) found: Option<Found>,
    /// What is wanted at the path's end.
    pub(super) wants: Wants,
    /// The LOOKUP in flight leads there.
    pub(super) is_last: bool,
    pub(super) cookie: u64,
    pub(super) cookieverf: [u8; 8],
    /// By their last cookies: as bytes, since a word of 64 bits would be padded for.
    pub(super) replies: Rounds<[u8; 8]>,
    /// The server asked to be asked later: nothing is asked besides any more.
    pub(super) alone: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Wants {
    /// A file is to be opened: what LOOKUP tells of it is enough.
    File,
    /// Its attributes: the same.
    Look,
    /// More than LOOKUP tells.
    #[default]
    More,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) handle: Fh,
    /// What it is, if the server has said so.
    pub(super) file_type: Option<FileType>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing is sent yet.
    #[default]
    Start,
    /// On the way from the root to the path.
    Walking,
    /// What was found on the way came without attributes: it may be a symbolic link.
    Looking,
    /// READLINK was asked about a symbolic link on the way.
    Link,
    /// The last call is sent.
    Asked,
    /// A directory has more entries.
    More,
    /// Nothing more is to be sent.
    Ended,
}

impl Stage {
    pub(super) fn end(&mut self) {
        self.phase = Phase::Ended;
    }
}

/// A listing of so many bytes asks for more than any server sends at a time.
const LISTING_LEN_MAX: usize = 1 << 20;

impl Nfs3<'_> {
    pub(super) fn encode_ask(
        &mut self,
        ask: Ask<'_, Fh>,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        if self.root.is_none() && stage.phase == Phase::Ended {
            // In vain.
            return Ok(Progress::Complete);
        }
        if let (Ask::Read { .. }, None) = (ask, self.root) {
            return Err(Error::Invalid("nothing is mounted from which a file could be read"));
        }
        match self.enter(out)? {
            Progress::Complete => {}
            progress => return Ok(progress),
        }
        stage.wants = match ask {
            Ask::Open { .. } => Wants::File,
            Ask::Stat { space: false, .. } => Wants::Look,
            _ => Wants::More,
        };
        match ask {
            Ask::Read { handle, extent, .. } => self.send_read(handle, extent, out),
            Ask::Look { handle } => self.send_getattr(&handle, out),
            // NFSv3 knows no holes. The others are done already.
            Ask::Close { .. } | Ask::Connect | Ask::Keepalive | Ask::Disconnect | Ask::Map { .. } => {
                Ok(Progress::Complete)
            }
            // Long before anything longer than what is known is read; once for each, since nobody counts the refusals.
            Ask::Open { .. } if !self.limits_asked && stage.phase == Phase::Start => {
                self.send_fsinfo(false, out)
            }
            Ask::List { .. } if stage.phase == Phase::More => self.send_listing(stage, out),
            Ask::Open { path, .. } | Ask::Stat { path, .. } | Ask::Statfs { path } | Ask::List { path } => {
                match self.walk(path, stage, out)? {
                    Progress::Complete if stage.phase == Phase::Walking => self.send_last(ask, stage, out),
                    progress => Ok(progress),
                }
            }
        }
    }

    /// What is wanted of the path's end, and at once with GETATTR what else is, if both fit.
    fn send_last(
        &mut self,
        ask: Ask<'_, Fh>,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        let progress = match ask {
            Ask::List { .. } => self.send_listing(stage, out)?,
            Ask::Statfs { .. } => self.send_fsstat(stage, out)?,
            _ => self.look(stage, out)?,
        };
        if progress == Progress::Sent {
            match ask {
                _ if stage.alone => {}
                Ask::Open { first, .. } => {
                    self.send_first_read(first, stage, out)?;
                }
                Ask::Stat { space: true, .. } => {
                    self.send_fsstat(stage, out)?;
                }
                _ => {}
            }
            stage.phase = Phase::Asked;
        }
        Ok(progress)
    }

    /// NULL, where the connection is one to NFS.
    pub(super) fn keep_alive(
        &mut self,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        let is_there = self.root.is_some() && self.port == self.nfs_port;
        if stage.phase != Phase::Start || !is_there {
            return Ok(Progress::Complete);
        }
        let progress = self.call(out, Message::nfs(Procedure::NULL, 0), &|_| Ok(()))?;
        if progress == Progress::Sent {
            stage.phase = Phase::Asked;
        }
        Ok(progress)
    }

    /// One LOOKUP after another. `Complete`, and still [`Walking`](Phase::Walking), at the path's end.
    fn walk(&mut self, path: &str, stage: &mut Stage, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        if stage.phase == Phase::Start {
            let (handle, len) = self.root.ok_or(Error::Invalid("nothing is mounted"))?;
            stage.at = below(path, self.config.path.get(..len).unwrap_or(""))?;
            stage.found = Some(Found { handle, file_type: None });
            stage.phase = Phase::Walking;
        }
        if out.in_flight() > 0 {
            return Ok(Progress::Wait);
        }
        let Some(Found { handle, file_type }) = &stage.found else { return Ok(Progress::Complete) };
        match (stage.phase, component(path, stage.at)) {
            (Phase::Looking, _) => self.look(stage, out),
            (Phase::Walking, _) if *file_type == Some(FileType::Symlink) => {
                let progress = self.send_readlink(handle, out)?;
                if progress == Progress::Sent {
                    (stage.phase, self.link_end) = (Phase::Link, stage.at);
                }
                Ok(progress)
            }
            (Phase::Walking, Some((name, end))) => {
                check_name(name)?;
                let progress = self.send_lookup(handle, name, out)?;
                (stage.until, stage.is_last) = (end, component(path, end).is_none());
                Ok(progress)
            }
            _ => Ok(Progress::Complete),
        }
    }

    fn send_lookup(&mut self, dir: &Fh, name: &str, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let message = Message::nfs(Procedure::LOOKUP, lookup::REPLY_HEAD_MAX);
        self.call(out, message, &|w| lookup::Request { dir: *dir, name: name.as_bytes() }.encode(w))
    }

    fn send_readlink(&mut self, symlink: &Fh, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        // The target may be as long as a path: what of it does not fit into `rx` is an error there.
        let message = Message::nfs(Procedure::READLINK, readlink::REPLY_HEAD_MAX);
        self.call_on(symlink, message, out)
    }

    fn look(&mut self, stage: &mut Stage, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        self.send_getattr(&found(stage)?.handle, out)
    }

    fn send_getattr(&mut self, object: &Fh, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        self.call_on(object, Message::nfs(Procedure::GETATTR, getattr::REPLY_HEAD_MAX), out)
    }

    fn send_fsstat(&mut self, stage: &mut Stage, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let fsroot = &found(stage)?.handle;
        self.call_on(fsroot, Message::nfs(Procedure::FSSTAT, fsstat::REPLY_HEAD_MAX), out)
    }

    /// What GETATTR tells to be no file is not read, whatever the server says to this.
    fn send_first_read(
        &mut self,
        first: u32,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        let &Found { handle, file_type } = found(stage)?;
        let len = first.min(self.read_len_max);
        if len == 0 || file_type.is_some_and(|known| known != FileType::Regular) {
            return Ok(Progress::Complete);
        }
        self.send_read_as(kind::FIRST_READ, handle, Extent { offset: 0, len }, out)
    }

    fn send_read(&mut self, file: Fh, extent: Extent, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        // The numbers of the standard go up to 21.
        self.send_read_as(Procedure::READ.0 as u16, file, extent, out)
    }

    fn send_read_as(
        &mut self,
        kind: u16,
        file: Fh,
        extent: Extent,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        let message = Message { extent, kind, ..Message::nfs(Procedure::READ, read::REPLY_HEAD_MAX) };
        self.call(out, message, &|w| {
            read::Request { file, offset: extent.offset, count: extent.len }.encode(w);
            Ok(())
        })
    }

    /// As many entries as `rx` holds: READDIRPLUS, or READDIR, whose entries have no attributes, where that is not there.
    fn send_listing(&mut self, stage: &mut Stage, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let dir = found(stage)?.handle;
        let (plus, cookie, cookieverf) = (self.plus, stage.cookie, stage.cookieverf);
        let (procedure, listing, least) = match plus {
            true => (Procedure::READDIRPLUS, readdirplus::REPLY_HEAD_MAX, readdirplus::MAXCOUNT_MIN),
            false => (Procedure::READDIR, readdir::REPLY_HEAD_MAX, readdir::COUNT_MIN),
        };
        let heads = rpc::REPLY_HEAD_MAX.saturating_add(listing);
        let room = out.lent().reply.saturating_sub(heads).min(LISTING_LEN_MAX);
        let reply = heads.saturating_add(least as usize);
        out.can_ever_hold(&Cost { reply, ..Cost::default() })?;
        // At most `LISTING_LEN_MAX`.
        let count = room as u32;
        let message = Message::nfs(procedure, listing.saturating_add(room));
        let progress = self.call(out, message, &|w| match plus {
            true => {
                readdirplus::Request { dir, cookie, cookieverf, dircount: count, maxcount: count }.encode(w)
            }
            false => readdir::Request { dir, cookie, cookieverf, count }.encode(w),
        })?;
        if progress == Progress::Sent {
            stage.phase = Phase::Asked;
        }
        Ok(progress)
    }
}

pub(super) fn found(stage: &Stage) -> Result<&Found, Error> {
    stage.found.as_ref().ok_or(Error::Invalid("nothing was found yet"))
}

/// `.` and `..` would be resolved by the server, and names have no NUL.
fn check_name(name: &str) -> Result<(), Error> {
    let plain = name != "." && name != ".." && !name.contains('\0');
    if plain { Ok(()) } else { Err(Error::Invalid("a path with `.`, `..` or a NUL")) }
}

/// How many bytes of `path` lead to `mounted`. `Invalid` if it does not lie there.
fn below(path: &str, mounted: &str) -> Result<usize, Error> {
    let mut at = 0;
    for (name, _) in components(mounted, 0) {
        match component(path, at) {
            Some((same, next)) if same == name => at = next,
            _ => return Err(Error::Invalid("the path does not lie below what was mounted")),
        }
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_lies_below_what_was_mounted_by_whole_components() {
        for (path, mounted, rest) in [
            ("/export/a/b", "/export", Some("/a/b")),
            ("/export/a", "/export/a", Some("")),
            ("export//a", "/export/", Some("//a")),
            ("/a", "", Some("/a")),
            ("/exports/a", "/export", None),
            ("/export", "/export/a", None),
        ] {
            let at = below(path, mounted);
            assert_eq!(at.ok().and_then(|at| path.get(at..)), rest, "{path} {mounted}");
        }
    }
}
