//! NFSv3 as a protocol behind the seam: `connect` finds ports and the root, `calls` is what an operation becomes,
//! `answers` what the replies mean, `receive` tells replies apart, `exports` is an operation that only this protocol has.

mod answers;
mod calls;
mod connect;
mod exports;
mod receive;

pub use calls::Stage;
pub use exports::Exports;

use super::rpc::{Call, Credential, RecordMark};
use super::v3::directory::{Entries, NAME_AT};
use super::v3::{self, Fh};
use super::{mount, portmap};
use crate::attributes::{Attributes, Encoding, Kind, Name, Version};
use crate::compound::Cost;
use crate::error::Error;
use crate::holes::Hole;
use crate::inflight::{Inflight, Slot};
use crate::outgoing::Outbox;
use crate::plan::Limits;
use crate::protocol::{Answer, Ask, EntryAt, Head, Left, Link, Mark, Progress, Protocol, Reply};
use crate::segment::Extent;
use crate::wire::Writer;

/// The longest READ before the server has said how long it may be: every server takes this.
const READ_LEN_UNTOLD: u32 = 64 << 10;

/// What a connection is to be.
#[derive(Clone, Debug)]
pub struct Config<'s> {
    /// What is to be read, from the root of the server: the longest prefix of it that the server lets be mounted is
    /// mounted, and two are asked for at once: first it and the directory that it is in. Paths of operations start at the
    /// root of the server too, and must lie below what was mounted.
    pub path: &'s str,
    /// As whom. AUTH_SYS proves nothing: the server believes it or not.
    pub credential: Credential<'s>,
    /// Where MOUNT is; `None` asks the port mapper.
    pub mount_port: Option<u16>,
    /// Where NFS is; `None` asks the port mapper if that is asked anyway, and is 2049 else.
    pub nfs_port: Option<u16>,
    /// Where the port mapper is.
    pub portmap_port: u16,
    /// Any number: the first xid. A server that remembers a client's last xids must not take new ones for these.
    pub xid: u32,
}

impl<'s> Config<'s> {
    /// As nobody, with the port mapper where it always is.
    pub const fn new(path: &'s str, xid: u32) -> Self {
        Config {
            path,
            credential: Credential::None,
            mount_port: None,
            nfs_port: None,
            portmap_port: portmap::PORT,
            xid,
        }
    }
}

/// An NFSv3 connection to one export.
#[derive(Debug)]
pub struct Nfs3<'s> {
    /// Its xid is that of the next call.
    config: Config<'s>,
    /// Where the transport is connected to.
    port: u16,
    /// 0 while it is not known.
    mount_port: u16,
    /// The same.
    nfs_port: u16,
    /// How many bytes of the configured path are to be mounted next. `None` is all, at first and after all was refused.
    mounting: Option<usize>,
    /// MNTs in flight: two at most.
    mounts: u8,
    /// What the server said about the whole path.
    unmounted: mount::Status,
    /// What was mounted, and how many bytes of the configured path lead there.
    root: Option<(Fh, usize)>,
    /// What every server takes, until FSINFO tells.
    read_len_max: u32,
    /// FSINFO was asked.
    limits_asked: bool,
    /// FSINFO was answered.
    limits_known: bool,
    /// The server may know READDIRPLUS.
    plus: bool,
    /// How many bytes of the last path led to a symbolic link.
    link_end: usize,
}

/// What a request is, for its slot: MOUNT and the port mapper beside the procedures of NFS.
mod kind {
    pub const GETPORT_MOUNT: u16 = 0x100;
    pub const GETPORT_NFS: u16 = 0x101;
    pub const MNT: u16 = 0x200;
    pub const EXPORT: u16 = 0x201;
    /// READ beside a GETATTR, which tells whether there is anything to be read.
    pub const FIRST_READ: u16 = 0x300;
}

const FSINFO: u16 = v3::Procedure::FSINFO.0 as u16;
const READ: u16 = v3::Procedure::READ.0 as u16;

impl<'s> Nfs3<'s> {
    /// Nothing is sent before the first operation, whatever it is. The transport must be connected to
    /// [`first_port`](Self::first_port) then.
    pub fn new(config: Config<'s>) -> Self {
        // The port mapper is asked for NFS only if it is asked for MOUNT.
        let untold = if config.mount_port.is_some() { v3::PORT } else { 0 };
        Nfs3 {
            port: Nfs3::first_port(&config),
            mount_port: config.mount_port.unwrap_or(0),
            nfs_port: config.nfs_port.unwrap_or(untold),
            mounting: None,
            mounts: 0,
            config,
            unmounted: mount::Status::OK,
            root: None,
            read_len_max: READ_LEN_UNTOLD,
            limits_asked: false,
            limits_known: false,
            plus: true,
            link_end: 0,
        }
    }

    /// Where the transport must be connected to at first.
    pub fn first_port(config: &Config<'_>) -> u16 {
        config.mount_port.unwrap_or(config.portmap_port)
    }

    /// The part of the configured path that was mounted, once it was.
    pub fn mounted(&self) -> Option<&'s str> {
        self.root.and_then(|(_, len)| self.config.path.get(..len))
    }

    /// Sends one call.
    fn call(
        &mut self,
        out: &mut Outbox<'_, '_>,
        message: Message,
        encode: &dyn Fn(&mut Writer<'_>) -> Result<(), Error>,
    ) -> Result<Progress, Error> {
        let reply = super::rpc::REPLY_HEAD_MAX.saturating_add(message.reply_max);
        let cost = Cost { tx: 0, slots: 1, reply, allowance: 0 };
        out.can_ever_hold(&cost)?;
        if !cost.fits(&out.room()) {
            return Ok(Progress::Wait);
        }
        let others_go_first = out.room().tx < out.lent().tx;
        let (program, version, procedure) = Message::called(message.kind);
        let call =
            Call { xid: self.config.xid, program, version, procedure, credential: self.config.credential };
        let written = out.frame(|w| {
            let begun = RecordMark::begin(w);
            call.encode(w)?;
            encode(w)?;
            RecordMark::end(w, begun);
            Ok(())
        });
        match written {
            Err(Error::Budget { what: "tx", .. }) if others_go_first => return Ok(Progress::Wait),
            written => written?,
        }
        let slot = Slot::awaiting(self.config.xid.into(), message.kind, 0, message.extent);
        if message.awaited {
            out.expect(slot)?
        } else {
            out.expect_nothing(slot)?
        }
        self.config.xid = self.config.xid.wrapping_add(1);
        Ok(Progress::Sent)
    }

    /// Sends a call whose only argument is a handle.
    fn call_on(
        &mut self,
        object: &Fh,
        message: Message,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        self.call(out, message, &|w| {
            object.encode(w);
            Ok(())
        })
    }

    /// What a reply means to who awaits it, and what it tells of the server, whoever does.
    // Not inlined, so that the loop's frame on the stack is a small one, and so is the code that reaches into it.
    #[inline(never)]
    fn answer_to(
        &mut self,
        reply: &Reply<'_>,
        stage: Option<&mut Stage>,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Answer<Fh>, Error> {
        let kind = reply.slot.kind;
        let results = match super::rpc::Reply::decode(reply.message)?.results(Message::name_of(kind)) {
            // Whatever it is, GETATTR comes to the same, or the READ after it.
            Err(Error::Refused(_)) if kind == kind::FIRST_READ || stage.is_none() => {
                return Ok(Answer::Nothing);
            }
            results => results?,
        };
        let body = reply.message.get(results..).unwrap_or(&[]);
        let answer = match (kind, stage) {
            (kind::GETPORT_MOUNT | kind::GETPORT_NFS | kind::MNT, _) => {
                return self.connect_goes_on(&reply.slot, body, out);
            }
            // If it is refused, perhaps the next time.
            (FSINFO, None) => self.limited(body).inspect_err(|_| self.limits_asked = false),
            (_, None) => return Ok(Answer::Nothing),
            (kind::EXPORT, _) => return Ok(Answer::Entries { start: results, len: body.len() }),
            (kind::FIRST_READ, _) => answers::read(body),
            (_, Some(stage)) => return self.call_goes_on(kind, results, body, stage, out),
        };
        match answer {
            Err(Error::Refused(_)) => Ok(Answer::Nothing),
            answer => answer,
        }
    }
}

/// What a call is, besides its arguments.
#[derive(Clone, Copy)]
struct Message {
    kind: u16,
    reply_max: usize,
    extent: Extent,
    /// Somebody waits for the reply.
    awaited: bool,
}

impl Message {
    const fn new(kind: u16, reply_max: usize) -> Self {
        Message { kind, reply_max, extent: Extent { offset: 0, len: 0 }, awaited: true }
    }

    const fn nfs(procedure: v3::Procedure, reply_max: usize) -> Self {
        // The numbers of the standard go up to 21.
        Message::new(procedure.0 as u16, reply_max)
    }

    /// Program, version and procedure of a slot's kind.
    fn called(kind: u16) -> (u32, u32, u32) {
        match kind {
            kind::GETPORT_MOUNT | kind::GETPORT_NFS => (portmap::PROGRAM, portmap::VERSION, portmap::GETPORT),
            kind::MNT => (mount::PROGRAM, mount::VERSION, mount::Procedure::MNT.0),
            kind::EXPORT => (mount::PROGRAM, mount::VERSION, mount::Procedure::EXPORT.0),
            kind::FIRST_READ => (v3::PROGRAM, v3::VERSION, v3::Procedure::READ.0),
            procedure => (v3::PROGRAM, v3::VERSION, procedure.into()),
        }
    }

    /// What a slot's kind is called.
    fn name_of(kind: u16) -> &'static str {
        match kind {
            kind::GETPORT_MOUNT | kind::GETPORT_NFS => "GETPORT",
            kind::MNT => mount::Procedure::MNT.name(),
            kind::EXPORT => mount::Procedure::EXPORT.name(),
            kind::FIRST_READ => v3::Procedure::READ.name(),
            procedure => v3::Procedure(procedure.into()).name(),
        }
    }
}

impl Protocol for Nfs3<'_> {
    type Handle = Fh;
    type Stage = Stage;
    type Holes = [Hole; 0];

    #[expect(clippy::arithmetic_side_effects, reason = "a sum of constants")]
    fn need(&self) -> Cost {
        // The longest call is LOOKUP with a name of 255 bytes; the longest reply LOOKUP's, behind a verifier of any
        // length. Longer paths to mount take more, and say so.
        let reply = super::rpc::REPLY_HEAD_MAX + v3::lookup::REPLY_HEAD_MAX + crate::limits::SCRATCH_LEN;
        let call = RecordMark::LEN + Call::LEN_BESIDES + self.config.credential.len_on_wire();
        Cost { tx: call + Fh::LEN_MAX_ON_WIRE + 260, slots: 2, reply, allowance: 0 }
    }

    fn mark(&self, mark: [u8; 4]) -> Result<Mark, Error> {
        let RecordMark { last, len } = RecordMark::decode(mark);
        Ok(Mark { len, last })
    }

    #[expect(clippy::arithmetic_side_effects, reason = "a sum of constants")]
    fn head_len(&self, left: Left) -> usize {
        // A record is one reply, so no byte of another can be taken by mistake. What a READ has before its data is never
        // less than this; data that comes with it would have to be copied.
        let reads = super::rpc::reply_head_len(&[]) + 4 + v3::read::REPLY_HEAD_MIN;
        if left.last { reads.min(left.len as usize) } else { super::rpc::reply_head_len(&[]) }
    }

    fn head(&mut self, head: &[u8], left: Left, inflight: &Inflight<'_>) -> Result<Head, Error> {
        receive::head(head, left, inflight)
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
            // A mount is nothing but a line in the server's list, and that a guess; and NFSv3 knows no open files.
            Ask::Disconnect | Ask::Close { .. } => Ok(Progress::Complete),
            _ => self.encode_ask(ask, stage, out),
        }
    }

    fn answer(
        &mut self,
        reply: Reply<'_>,
        mut stage: Option<&mut Stage>,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Answer<Fh>, Error> {
        let answer = self.answer_to(&reply, stage.as_deref_mut(), out);
        let reads = matches!(reply.slot.kind, READ | kind::FIRST_READ);
        if let Some(stage) = stage.filter(|_| answer.is_err() && !reads) {
            stage.end();
            self.mounting = None;
        }
        answer
    }

    fn notice(&mut self, _: &[u8], _: &mut Outbox<'_, '_>) -> Result<(), Error> {
        // `head` never says that there is one.
        Ok(())
    }

    fn entry(&self, entries: &[u8], at: usize) -> Result<EntryAt, Error> {
        let rest = entries.get(at..).unwrap_or(&[]);
        let mut decoder = if self.plus { Entries::of_readdirplus(rest) } else { Entries::of_readdir(rest) };
        let entry = decoder.next().ok_or(Error::Malformed("entryplus3"))??;
        let left = decoder.left();
        let unknown = Attributes { kind: Kind::Other, id: Some(entry.fileid), ..Attributes::default() };
        Ok(EntryAt {
            name_start: at.saturating_add(NAME_AT),
            name_len: entry.name.len(),
            encoding: Encoding::Bytes,
            attributes: entry.attributes().unwrap_or(unknown),
            next: (left > 0).then(|| entries.len().saturating_sub(left)),
        })
    }

    fn version(&self, message: &[u8]) -> Option<Version> {
        let results =
            super::rpc::Reply::decode(message).and_then(|reply| reply.results(v3::Procedure::READ.name()));
        let head = v3::read::Head::decode(message.get(results.ok()?..)?).ok()?;
        head.file_attributes.map(|known| known.attributes().version())
    }

    fn link<'f>(&self, frame: &'f [u8], _: &str) -> Result<Link<'f>, Error> {
        let results = super::rpc::Reply::decode(frame)?.results(v3::Procedure::READLINK.name())?;
        let raw = v3::readlink::Response::decode(frame.get(results..).unwrap_or(&[]))?.target;
        Ok(Link { end: self.link_end, target: Name { raw, encoding: Encoding::Bytes } })
    }

    fn limits(&self) -> Limits {
        Limits { read_len_max: self.read_len_max, allowance: u64::MAX, allowance_total: u64::MAX }
    }
}
