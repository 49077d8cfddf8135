//! What an operation becomes on the wire: one COMPOUND that walks from the server's root and asks at the end of the path
//! what is wanted; several only where a path is too long for one.

use super::map::Survey;
use super::path::fitting;
use super::recover::Standing;
use super::sent::{Sent, What};
use super::{Nfs4, OPS_ASKED, OPS_MIN, OPS_UNTOLD, WALK_LEN_MAX};
use crate::error::Error;
use crate::nfs::path::{component, components};
use crate::nfs::rpc;
use crate::nfs::v4::bitmap::Bitmap;
use crate::nfs::v4::compound::RESULT_HEAD_MAX;
use crate::nfs::v4::{
    Fh, Op, Ops, Stateid, compound, fattr4, getattr, getfh, lookup, putfh, read, read_plus, readdir,
    readlink, sequence,
};
use crate::outgoing::Outbox;
use crate::protocol::{Ask, Progress};
use crate::rounds::Rounds;
use crate::segment::Extent;

/// Where a call stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stage {
    pub(super) phase: Phase,
    /// Where the path was walked to; `None` is the server's root.
    pub(super) found: Option<Fh>,
    /// How many bytes of the path lead there.
    pub(super) at: usize,
    /// How many bytes of the path the COMPOUND in flight walks to.
    pub(super) until: usize,
    /// How many names behind `at` the symbolic link is, or what is on another server or to be opened.
    pub(super) link: u8,
    pub(super) cookie: u64,
    pub(super) cookieverf: [u8; 8],
    pub(super) survey: Survey,
    /// By their last cookies: as bytes, since a word of 64 bits would be padded for.
    pub(super) replies: Rounds<[u8; 8]>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing is sent yet.
    #[default]
    Start,
    /// A part of the path is walked, and more is to be.
    Walking,
    /// There is a symbolic link on the way: its target is to be asked.
    Link,
    /// Something on the way is on another server: which is to be asked.
    Moved,
    /// A file is at the end of the path, and to be opened by name.
    Opening,
    /// The last COMPOUND is sent.
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

    /// What the last COMPOUND asked is to be asked again.
    pub(super) fn again(&mut self, what: What) {
        self.phase = match what {
            What::Walk
            | What::Open
            | What::OpenRead
            | What::Stat
            | What::Statfs
            | What::StatBoth
            | What::List => Phase::Walking,
            What::More => Phase::More,
            What::Link => Phase::Link,
            What::Moved => Phase::Moved,
            What::NameOpen => Phase::Opening,
            What::Keepalive => Phase::Start,
            _ => self.phase,
        }
    }
}

/// A listing of so many bytes asks for more than any server sends at a time.
const LISTING_LEN_MAX: usize = 1 << 20;

/// A listing of fewer bytes may have no room for an entry with a long name: Linux and Ganesha refuse it then.
const LISTING_LEN_MIN: usize = 2048;

/// What Open asks: each file system has its own longest READ.
pub(super) const OPEN: Bitmap = fattr4::STAT.with(fattr4::MAXREAD);

/// What Stat asks where the space is wanted too.
pub(super) const BOTH: Bitmap = fattr4::STAT.or(&fattr4::STATFS);

/// What a listing asks about the directory itself: whether it is one.
const KIND: Bitmap = Bitmap::of(&[fattr4::TYPE]);

/// What Statfs asks: a symbolic link is on another file system than what it leads to.
const STATFS: Bitmap = fattr4::STATFS.with(fattr4::TYPE);

impl Nfs4<'_> {
    pub(super) fn encode_ask(
        &mut self,
        ask: Ask<'_, Fh>,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        let extent = match ask {
            Ask::Close { handle } => return self.give_back(handle, out),
            Ask::Read { extent, .. } => extent,
            // In vain.
            _ if self.standing != Standing::Ready && stage.phase == Phase::Ended => {
                return Ok(Progress::Complete);
            }
            _ => Extent::default(),
        };
        match self.greet(extent, out)? {
            Progress::Complete => {}
            progress => return Ok(progress),
        }
        match ask {
            Ask::Read { handle, extent, sparse } => {
                let what = if sparse && self.plus && self.minor >= 2 { What::ReadPlus } else { What::Read };
                self.send_read(what, handle, extent, out)
            }
            Ask::Look { handle } => {
                self.send(Sent::new(What::Look, false, 0), Some(handle), Extent::default(), out, &|ops| {
                    getattr::Args { attr_request: fattr4::STAT }.encode(ops);
                    Ok(())
                })
            }
            Ask::Close { .. } | Ask::Connect | Ask::Keepalive | Ask::Disconnect => Ok(Progress::Complete),
            Ask::Map { handle, from, end, .. } => self.map(handle, (from, end), stage, out),
            Ask::Open { path, first } if first > 0 && self.special_stateid().is_some() => {
                self.walk(path, What::OpenRead, first, stage, out)
            }
            Ask::Open { path, .. } => self.walk(path, What::Open, 0, stage, out),
            Ask::Stat { path, space: true } => self.walk(path, What::StatBoth, 0, stage, out),
            Ask::Stat { path, space: false } => self.walk(path, What::Stat, 0, stage, out),
            Ask::Statfs { path } => self.walk(path, What::Statfs, 0, stage, out),
            Ask::List { path } => self.walk(path, What::List, 0, stage, out),
        }
    }

    fn walk(
        &mut self,
        path: &str,
        what: What,
        first: u32,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        if out.in_flight() > 0 {
            return Ok(Progress::Wait);
        }
        let progress = match stage.phase {
            Phase::Start | Phase::Walking => self.send_walk(path, what, first, stage, out)?,
            Phase::Link => self.send_readlink(path, stage, out)?,
            Phase::Moved => self.send_moved(path, stage, out)?,
            Phase::More => self.send_more(stage, out)?,
            Phase::Opening => return self.open_by_name(path, stage, out),
            Phase::Asked | Phase::Ended => return Ok(Progress::Complete),
        };
        if progress == Progress::Sent {
            stage.phase = Phase::Asked;
        }
        Ok(progress)
    }

    /// As many names as fit; if these are all that are left, what is wanted at the end too.
    fn send_walk(
        &mut self,
        path: &str,
        what: What,
        first: u32,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        let ops_max = self.session.as_ref().map_or(OPS_UNTOLD, |session| session.ops_max.min(OPS_ASKED));
        let room = out.lent().tx.saturating_sub(WALK_LEN_MAX);
        let (names, until) = fitting(path, stage.at, ops_max.saturating_sub(OPS_MIN - 1), room);
        let what = if component(path, until).is_some() { What::Walk } else { what };
        let at = stage.at;
        let listing = Listing::first(self.listing_max(), out);
        let sent = Sent::new(what, stage.found.is_none(), names);
        let len = if what == What::OpenRead { self.first_len(first, names) } else { 0 };
        let stateid = self.special_stateid().unwrap_or(Stateid::CURRENT);
        let progress = self.send(sent, stage.found, Extent { offset: 0, len }, out, &|ops| {
            lookups(path, at, names, ops)?;
            getfh::Args.encode(ops);
            match what {
                What::OpenRead => {
                    getattr::Args { attr_request: OPEN }.encode(ops);
                    // Last: if it is refused, all else is good.
                    read::Args { stateid, offset: 0, count: len }.encode(ops);
                }
                What::StatBoth => getattr::Args { attr_request: BOTH }.encode(ops),
                What::Open => getattr::Args { attr_request: OPEN }.encode(ops),
                What::Stat => getattr::Args { attr_request: fattr4::STAT }.encode(ops),
                What::Statfs => getattr::Args { attr_request: STATFS }.encode(ops),
                What::List => {
                    getattr::Args { attr_request: KIND }.encode(ops);
                    listing.encode(ops)?;
                }
                _ => {}
            }
            Ok(())
        })?;
        stage.until = until;
        Ok(progress)
    }

    /// How many of the `first` bytes of a file a reply may bring that walks so many names to it.
    #[expect(clippy::arithmetic_side_effects, reason = "a sum of constants, times less than 256 names")]
    fn first_len(&self, first: u32, names: u8) -> u32 {
        let heads = walk_reply_max(names.into()) + read::REPLY_HEAD_MAX + PAD_MAX;
        // Some hundred bytes, and less than 256 names.
        let fits = self.session.as_ref().map(|session| session.response_max.saturating_sub(heads as u32));
        first.min(self.read_len_max).min(fits.unwrap_or(u32::MAX))
    }

    /// The target may be as long as a path: what of it does not fit into `rx` is an error there.
    fn send_readlink(
        &mut self,
        path: &str,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        let (at, names) = (stage.at, stage.link);
        self.link_end = components(path, at).take(names.into()).last().map_or(at, |(_, end)| end);
        let sent = Sent::new(What::Link, stage.found.is_none(), names);
        self.send(sent, stage.found, Extent::default(), out, &|ops| {
            lookups(path, at, names, ops)?;
            ops.op(Op::READLINK, readlink::REPLY_HEAD_MAX);
            Ok(())
        })
    }

    /// The only thing that is told of what is on another server (RFC 8881 11.3.2).
    fn send_moved(
        &mut self,
        path: &str,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        let (at, names) = (stage.at, stage.link);
        let sent = Sent::new(What::Moved, stage.found.is_none(), names);
        self.send(sent, stage.found, Extent::default(), out, &|ops| {
            lookups(path, at, names, ops)?;
            getattr::Args { attr_request: fattr4::REFERRAL }.encode(ops);
            Ok(())
        })
    }

    fn send_more(&mut self, stage: &mut Stage, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let first = Listing::first(self.listing_max(), out);
        let listing = Listing { cookie: stage.cookie, cookieverf: stage.cookieverf, ..first };
        let sent = Sent::new(What::More, false, 0);
        self.send(sent, stage.found, Extent::default(), out, &|ops| listing.encode(ops))
    }

    fn send_read(
        &mut self,
        what: What,
        file: Fh,
        extent: Extent,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        let Some(stateid) = self.stateid(file) else { return self.open(file, extent, out) };
        let Extent { offset, len: count } = extent;
        self.send(Sent::read(what, self.access), Some(file), extent, out, &|ops| {
            match what {
                What::ReadPlus => read_plus::Args { stateid, offset, count }.encode(ops),
                _ => read::Args { stateid, offset, count }.encode(ops),
            }
            Ok(())
        })
    }

    /// The longest reply that may bring entries.
    fn listing_max(&self) -> usize {
        self.session.as_ref().map_or(usize::MAX, |session| session.response_max as usize)
    }
}

/// The most bytes that follow data and mean nothing.
const PAD_MAX: usize = 3;

/// The longest reply that walks so many names and asks for attributes at the end.
#[expect(clippy::arithmetic_side_effects, reason = "a sum of constants, times less than 256 names")]
pub(super) fn walk_reply_max(names: usize) -> usize {
    rpc::REPLY_HEAD_MAX
        + compound::REPLY_HEAD_MAX
        + sequence::REPLY_HEAD_MAX
        + putfh::REPLY_HEAD_MAX
        + names * lookup::REPLY_HEAD_MAX
        + getfh::REPLY_HEAD_MAX
        + getattr::reply_head_max(OPEN).max(getattr::reply_head_max(BOTH))
}

/// A READDIR that is as long as the reply may be.
#[derive(Clone, Copy)]
struct Listing {
    cookie: u64,
    cookieverf: [u8; 8],
    lent: usize,
    response_max: usize,
}

impl Listing {
    fn first(response_max: usize, out: &Outbox<'_, '_>) -> Listing {
        Listing { cookie: 0, cookieverf: [0; 8], lent: out.lent().reply, response_max }
    }

    /// Appends it, behind what the reply has besides.
    fn encode(self, ops: &mut Ops<'_, '_>) -> Result<(), Error> {
        let heads = rpc::REPLY_HEAD_MAX.saturating_add(ops.reply_max()).saturating_add(RESULT_HEAD_MAX);
        let room = self.lent.min(self.response_max).saturating_sub(heads).min(LISTING_LEN_MAX);
        if room < LISTING_LEN_MIN {
            return Err(match self.response_max < self.lent {
                true => Error::Incompatible("the session has no room for a listing"),
                false => {
                    Error::Budget { what: "rx", need: heads.saturating_add(LISTING_LEN_MIN), have: self.lent }
                }
            });
        }
        // At most `LISTING_LEN_MAX`.
        let first = readdir::Args::first(room as u32, fattr4::LIST);
        readdir::Args { cookie: self.cookie, cookieverf: self.cookieverf, ..first }.encode(ops);
        Ok(())
    }
}

/// A LOOKUP for each of so many names behind byte `at`. `Invalid` if one is `.` or `..` or has a NUL.
pub(super) fn lookups(path: &str, at: usize, names: u8, ops: &mut Ops<'_, '_>) -> Result<(), Error> {
    components(path, at)
        .take(names.into())
        .try_for_each(|(name, _)| lookup::Args { objname: name.as_bytes() }.encode(ops))
}
