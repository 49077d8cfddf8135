//! NFSv4 as a protocol behind the seam, minor versions 0, 1 and 2: `connect` finds the minor version and, from 1 on,
//! creates a session; `calls` is what an operation becomes, `answers` what the replies mean, `receive` tells replies apart.
//!
//! Nothing is opened but for a `map`, and where a server takes no special stateid (`open`): a READ with one keeps no state on
//! the server. So at minor version 0 there is not even a client id (but see `open_by_name`), and from 1 on a session has nothing to lose that is not
//! asked for again: `recover` makes a new one under whatever is asked.

mod answers;
mod calls;
mod connect;
mod map;
mod open;
mod open_by_name;
mod path;
mod receive;
mod recover;
mod sent;
mod session;
#[cfg(test)]
mod tests;

pub use answers::locations;
pub use calls::Stage;

use super::rpc::{Call, Credential, RecordMark};
use super::v4::readdir::{Entries, NAME_AT};
use super::v4::{self, Fh, Ops, compound, create_session, exchange_id, read, sequence};
use crate::attributes::{Attributes, Encoding, Name};
use crate::compound::Cost;
use crate::error::Error;
use crate::holes::Hole;
use crate::inflight::{Inflight, Slot};
use crate::outgoing::Outbox;
use crate::plan::Limits;
use crate::protocol::{Answer, Ask, EntryAt, Head, Left, Link, Mark, Progress, Protocol, Reply};
use crate::segment::Extent;
use open::Opened;
use open_by_name::Naming;
use receive::Coming;
use recover::Standing;
use sent::{Access, Sent, What};
use session::Session;

/// Where NFSv4 is, unless told otherwise. There is nothing else to connect to.
pub const PORT: u16 = 2049;

/// The highest minor version that is spoken here.
pub const MINOR_MAX: u32 = 2;

/// The longest READ: its reply must fit into [`FRAME_LEN_MAX`](crate::limits::FRAME_LEN_MAX), and some servers offer more.
const READ_LEN_MAX: u32 = 8 << 20;

/// The longest READ of a server that does not say: RFC 8881 names no least, and every server takes this.
const READ_LEN_UNTOLD: u32 = 64 << 10;

/// Operations of a COMPOUND where no session says how many: what Linux took before 5.10, and less than others do.
const OPS_UNTOLD: u32 = 16;

/// Operations that a session is asked for, at most: a path of so many names is rare.
const OPS_ASKED: u32 = 64;

/// The fewest operations with which there is any progress: SEQUENCE, PUTFH, LOOKUP, GETFH, GETATTR, READDIR.
const OPS_MIN: u32 = 6;

/// What a connection is to be.
#[derive(Clone, Debug)]
pub struct Config<'s> {
    /// As whom. AUTH_SYS proves nothing: the server believes it or not.
    pub credential: Credential<'s>,
    /// The minor version; `None` is the highest that the server has.
    pub minor: Option<u32>,
    /// Any number: the first xid. A server that remembers a client's last xids must not take new ones for these.
    pub xid: u32,
    /// Another one each time the client starts. Minor version 0 tells it only to open, which few servers want.
    pub verifier: [u8; 8],
    /// What tells this client from all others of the server, at most 1024 bytes. Minor version 0 tells it only to open.
    pub owner: &'s [u8],
}

impl<'s> Config<'s> {
    /// As nobody, with the highest minor version that the server has.
    pub const fn new(owner: &'s [u8], verifier: [u8; 8], xid: u32) -> Self {
        Config { credential: Credential::None, minor: None, xid, verifier, owner }
    }
}

/// An NFSv4 connection to one server. Paths of operations start at the server's root.
#[derive(Debug)]
pub struct Nfs4<'s> {
    config: Config<'s>,
    xid: u32,
    minor: u32,
    standing: Standing,
    /// What EXCHANGE_ID said, for CREATE_SESSION: the client, and the number of its next session.
    client: (u64, u32),
    /// One that is lost is kept for as long as replies in it may come.
    session: Option<Session>,
    /// How much was made anew since the last answer.
    recoveries: u32,
    /// That of the file opened last, or what every server takes: what is longer than another file system's is answered in
    /// part, and the rest asked again.
    read_len_max: u32,
    lease_seconds: Option<u32>,
    /// The server has answered in the minor version that is spoken.
    heard: bool,
    /// The server has said all that Connect asks.
    limits_known: bool,
    /// By which stateid is read: as far as is known, the server takes it.
    access: Access,
    opened: Option<Opened>,
    /// Of minor version 0, which needs it only to open.
    naming: Naming,
    /// The server may know READ_PLUS.
    plus: bool,
    /// The segments of the reply that is coming in.
    coming: Option<Coming>,
    /// How many bytes of the last path led to a symbolic link.
    link_end: usize,
}

impl<'s> Nfs4<'s> {
    /// Nothing is sent before the first operation, whatever it is.
    pub const fn new(config: Config<'s>) -> Self {
        let (minor, standing) = match config.minor {
            Some(0) => (0, Standing::Ready),
            Some(minor) => (minor, Standing::Stranger),
            None => (MINOR_MAX, Standing::Stranger),
        };
        Nfs4 {
            xid: config.xid,
            minor,
            config,
            standing,
            client: (0, 0),
            session: None,
            recoveries: 0,
            read_len_max: READ_LEN_UNTOLD,
            lease_seconds: None,
            heard: false,
            limits_known: false,
            access: Access::Bypass,
            opened: None,
            naming: Naming::Stranger,
            plus: true,
            coming: None,
            link_end: 0,
        }
    }

    /// The minor version that is spoken, once the server has answered in it.
    pub const fn minor(&self) -> Option<u32> {
        if self.heard { Some(self.minor) } else { None }
    }

    /// How long, in seconds, the server remembers a session that is not used, if it was asked
    /// ([`Connect`](crate::Connect)) and said so.
    pub const fn lease_seconds(&self) -> Option<u32> {
        self.lease_seconds
    }

    /// How many requests the session allows in flight; `None` at minor version 0, which has no sessions.
    pub fn session_slots(&self) -> Option<u32> {
        self.session.as_ref().map(Session::slots)
    }

    /// Sends one COMPOUND: SEQUENCE in a session, what makes `from` the current file handle, and what `encode` appends.
    fn send(
        &mut self,
        sent: Sent,
        from: Option<Fh>,
        extent: Extent,
        out: &mut Outbox<'_, '_>,
        encode: &dyn Fn(&mut Ops<'_, '_>) -> Result<(), Error>,
    ) -> Result<Progress, Error> {
        if out.room().slots == 0 {
            return Ok(Progress::Wait);
        }
        let session = self.session.as_ref().filter(|_| sent.what.in_session());
        let sequence = match session.map(Session::free) {
            None => None,
            Some(Some(args)) => Some(args),
            Some(None) => return Ok(Progress::Wait),
        };
        let others_go_first = out.room().tx < out.lent().tx;
        let message = Message { xid: self.xid, sent, from, sequence };
        match self.write(message, out, encode) {
            Err(Error::Budget { what: "tx", .. }) if others_go_first => return Ok(Progress::Wait),
            written => written?,
        }
        let slotid = sequence.map_or(0, |args| args.slotid);
        let slot = Slot::awaiting(self.xid.into(), sent.kind(), slotid, extent);
        match sent.what {
            What::Close | What::DestroySession | What::DestroyClientid => out.expect_nothing(slot)?,
            What::ReclaimComplete if extent.len == 0 => out.expect_nothing(slot)?,
            _ => out.expect(slot)?,
        }
        if let (Some(session), Some(_)) = (&mut self.session, sequence) {
            session.take(slotid);
        }
        self.xid = self.xid.wrapping_add(1);
        Ok(Progress::Sent)
    }

    /// Writes the frame of one COMPOUND, unless its reply could be too long.
    fn write(
        &self,
        message: Message,
        out: &mut Outbox<'_, '_>,
        encode: &dyn Fn(&mut Ops<'_, '_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Message { xid, sent, from, sequence } = message;
        let have = out.lent().reply;
        let request_max = sequence.and(self.session.as_ref()).map_or(u32::MAX, |session| session.request_max);
        let (program, version, procedure) = (compound::PROGRAM, compound::VERSION, compound::PROCEDURE);
        let call = Call { xid, program, version, procedure, credential: self.config.credential };
        out.frame(|w| {
            let begun = RecordMark::begin(w);
            call.encode(w)?;
            let mut ops = Ops::begin(w, b"", self.minor);
            if let Some(args) = sequence {
                args.encode(&mut ops);
            }
            match from {
                Some(object) => v4::putfh::Args { object: &object }.encode(&mut ops),
                None if sent.root => v4::putrootfh::Args.encode(&mut ops),
                None => {}
            }
            encode(&mut ops)?;
            let need = super::rpc::REPLY_HEAD_MAX.saturating_add(ops.end());
            RecordMark::end(w, begun);
            if need > have {
                return Err(Error::Budget { what: "rx", need, have });
            }
            if !w.overflows() && w.since(begun.plus(RecordMark::LEN)).len() > request_max as usize {
                return Err(Error::Incompatible("the session takes no request as long as this one"));
            }
            Ok(())
        })
    }
}

/// What a COMPOUND is, besides what an operation adds to it.
#[derive(Clone, Copy)]
struct Message {
    xid: u32,
    sent: Sent,
    from: Option<Fh>,
    sequence: Option<sequence::Args>,
}

/// Bytes of a reply in front of the results, if it has no verifier and no tag: as every server sends it.
const REPLY_HEAD_USUAL: usize = 24 + 12;

/// What a READ's reply has in front of its data, in a session or without.
#[expect(clippy::arithmetic_side_effects, reason = "a sum of constants")]
const fn read_heads(session: bool) -> usize {
    let sequence = if session { sequence::REPLY_HEAD_MAX } else { 0 };
    REPLY_HEAD_USUAL + sequence + v4::putfh::REPLY_HEAD_MAX + read::REPLY_HEAD_MAX
}

/// The most bytes of a COMPOUND that walks, with all but the names.
const WALK_LEN_MAX: usize = RecordMark::LEN
    + Call::LEN_MAX
    + 12 // COMPOUND without a tag
    + 36 // SEQUENCE
    + 4 + v4::fh::LEN_MAX // PUTFH
    + 4 // GETFH
    + 4 + v4::bitmap::LEN_MAX // GETATTR
    + 28 + v4::bitmap::LEN_MAX; // READDIR

/// The name that is always sent: longer ones take more memory, and say so.
const NAME_LEN: usize = 8 + 256;

impl Protocol for Nfs4<'_> {
    type Handle = Fh;
    type Stage = Stage;
    type Holes = [Hole; crate::limits::HOLES_MAX];

    #[expect(clippy::arithmetic_side_effects, reason = "a sum of constants")]
    fn need(&self) -> Cost {
        let exchange_id =
            RecordMark::LEN + Call::LEN_MAX + 12 + 28 + self.config.owner.len().saturating_add(3);
        let walk = calls::walk_reply_max(1) + read::REPLY_HEAD_MAX;
        let session = exchange_id::REPLY_HEAD_MAX.max(create_session::REPLY_HEAD_MAX);
        let session = super::rpc::REPLY_HEAD_MAX + compound::REPLY_HEAD_MAX + session;
        Cost {
            tx: (WALK_LEN_MAX + NAME_LEN).max(exchange_id),
            slots: 2,
            reply: crate::limits::SCRATCH_LEN
                + match self.config.minor {
                    Some(0) => walk,
                    _ => walk.max(session),
                },
            allowance: 0,
        }
    }

    fn mark(&self, mark: [u8; 4]) -> Result<Mark, Error> {
        let RecordMark { last, len } = RecordMark::decode(mark);
        Ok(Mark { len, last })
    }

    fn head_len(&self, left: Left) -> usize {
        // A record is one reply, so no byte of another can be taken by mistake. What a READ has before its data is never
        // less than this; data that comes with it would have to be copied.
        if let Some(coming) = &self.coming {
            return coming.head_len(left);
        }
        let reads = read_heads(self.session.is_some());
        if left.last { reads.min(left.len as usize) } else { super::rpc::reply_head_len(&[]) }
    }

    fn head(&mut self, head: &[u8], left: Left, inflight: &Inflight<'_>) -> Result<Head, Error> {
        let mut coming = self.coming.take();
        let said = receive::head(head, left, inflight, &mut coming)?;
        self.coming = coming;
        Ok(said)
    }

    fn frame_end(&mut self) -> Result<(), Error> {
        self.coming.take().map_or(Ok(()), Coming::end)
    }

    fn ask(
        &mut self,
        ask: Ask<'_, Fh>,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        match ask {
            Ask::Connect => self.connect(stage, out),
            Ask::Keepalive => self.keep_alive(stage, out),
            Ask::Disconnect => self.disconnect(out),
            _ => self.encode_ask(ask, stage, out),
        }
    }

    fn answer(
        &mut self,
        reply: Reply<'_>,
        stage: Option<&mut Stage>,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Answer<Fh>, Error> {
        let sent = Sent::of(reply.slot.kind).ok_or(Error::Misbehaved("a reply to nothing that was asked"))?;
        let mut lost = Stage::default();
        let awaited = stage.is_some();
        let stage = stage.unwrap_or(&mut lost);
        let answer = match self.decode_reply(&reply, sent, awaited.then_some(&mut *stage), out) {
            Err(Error::Refused(refusal)) if awaited => self.mend(refusal, sent, stage, out),
            answer => answer,
        };
        if !matches!(answer, Err(_) | Ok(Answer::Nothing | Answer::Again)) {
            self.recoveries = 0;
        }
        // Streams and maps share their stage with what is asked after them: whether the file still is the same.
        let goes_on = sent.what.reads() || matches!(sent.what, What::MapOpen | What::Seek);
        if answer.is_err() && !goes_on {
            stage.end();
        }
        answer
    }

    fn notice(&mut self, _: &[u8], _: &mut Outbox<'_, '_>) -> Result<(), Error> {
        // `head` never says that there is one.
        Ok(())
    }

    fn entry(&self, entries: &[u8], at: usize) -> Result<EntryAt, Error> {
        let rest = entries.get(at..).unwrap_or(&[]);
        let mut decoder = Entries::new(rest);
        let entry = decoder.next().ok_or(Error::Malformed("entry4"))??;
        let end = decoder.at();
        Ok(EntryAt {
            name_start: at.saturating_add(NAME_AT),
            name_len: entry.name.len(),
            encoding: Encoding::Bytes,
            // By convention, as in NFSv3's listings.
            attributes: Attributes { hidden: entry.name.starts_with(b"."), ..entry.attrs.attributes() },
            next: (end < rest.len()).then(|| at.saturating_add(end)),
        })
    }

    fn link<'f>(&self, frame: &'f [u8], _: &str) -> Result<Link<'f>, Error> {
        let raw = answers::link_target(frame)?;
        Ok(Link { end: self.link_end, target: Name { raw, encoding: Encoding::Bytes } })
    }

    fn limits(&self) -> Limits {
        Limits { read_len_max: self.read_len_max, allowance: u64::MAX, allowance_total: u64::MAX }
    }
}
