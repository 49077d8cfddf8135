//! The client's half of the toy.
//!
//! A frame is a big-endian length and that many bytes; length 0 is a keepalive. A request is a frame:
//! id 8, kind 1, handle 4, offset 8, len 4, length of path 2, path. A frame from the server is, if sealed, an
//! envelope (`E`, key 1, checksum 4) and then one or more replies: id 8, kind 1, status 1, grant 2, gap 2, pad 2,
//! len 4; then gap, `len` bytes, pad. Little-endian all. The id `NOTICE` is a message that nobody asked for.
//!
//! A reply of kind `PLUS` has `len` parts instead, its pad behind them: hole 1, gap 2, pad 2, offset 8, len 4, nothing 3;
//! then, if it is no hole, gap, `len` bytes, pad.

use pagewire::attributes::{Attributes, Encoding, Kind};
use pagewire::compound::Cost;
use pagewire::inflight::{Inflight, Slot};
use pagewire::plan::Limits;
use pagewire::protocol::{Answer, Ask, EntryAt, File, Head, Left, Link, Mark, Progress, RangeAt, Reply};
use pagewire::segment::{Cover, Extent, Segment};
use pagewire::wire::{Reader, Writer};
use pagewire::{Error, Hole, Outbox, Protocol, Reason, Refusal};

pub const CONNECT: u8 = 1;
pub const OPEN: u8 = 2;
pub const READ: u8 = 3;
pub const LIST: u8 = 4;
pub const STAT: u8 = 5;
pub const CLOSE: u8 = 6;
pub const PLUS: u8 = 7;
pub const MAP: u8 = 8;
pub const LOOK: u8 = 9;

pub const OK: u8 = 0;
pub const EOF: u8 = 1;
pub const REFUSED: u8 = 2;
pub const PENDING: u8 = 3;
pub const LATER: u8 = 4;

/// In a mark: the frame goes on after these bytes.
pub const MORE: u32 = 1 << 31;
/// The port that a toy behind a door must be connected to.
pub const DOOR: u16 = 77;

pub const NOTICE: u64 = u64::MAX;
pub const REQUEST_LEN: usize = 27;
pub const HEAD_LEN: usize = 20;
/// What stands in front of the ranges of a map: whether all is a hole, and up to where the reply tells.
pub const MAP_HEAD_LEN: usize = 9;
pub const RANGE_LEN: usize = 16;
pub const ENVELOPE_LEN: usize = 6;
/// The largest reply that is neither a listing nor a map: an open's.
pub const BODY_LEN_MAX: usize = 20;

/// The toy's own state, and what the tests look at.
#[derive(Debug)]
pub struct Toy {
    pub sealed: bool,
    /// What one credit buys, in bytes of a read.
    pub unit: u32,
    pub credits: u32,
    /// Credits that the requests in flight took.
    pub charged: u32,
    pub read_len_max: u32,
    /// A listing is asked for twice at one time, so that two replies with entries may stand in one frame.
    pub lists_twice: bool,
    /// A connection to `DOOR` is wanted first.
    pub door: bool,
    /// Sparse files are read by `PLUS`.
    pub plus: bool,
    /// They can be asked for a map, whose replies are ranges or, one by one, runs.
    pub maps: bool,
    pub frames_ended: u32,
    pub parts_ended: u32,
    pub notices: u32,
    next_id: u64,
    envelope: [u8; ENVELOPE_LEN],
    absorbed: usize,
    opened: bool,
    sum: u32,
    coming: Option<Coming>,
}

/// The parts of a reply that are still to come, and the pad behind them.
#[derive(Clone, Copy, Debug)]
struct Coming {
    slot: usize,
    left: u32,
    cover: Cover,
    pad: u32,
}

/// Where an operation stands: whether its request was sent, and how far a listing came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stage {
    asked: bool,
    ended: bool,
    cursor: u64,
}

struct Request<'p> {
    kind: u8,
    handle: u32,
    extent: Extent,
    path: &'p str,
}

#[derive(Clone, Copy)]
struct ReplyHead {
    id: u64,
    kind: u8,
    status: u8,
    grant: u16,
    gap: u16,
    pad: u16,
    len: u32,
}

const NOWHERE: Extent = Extent { offset: 0, len: 0 };

fn hash(sum: u32, byte: u8) -> u32 {
    (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}

impl ReplyHead {
    fn decode(message: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(message);
        Ok(ReplyHead {
            id: reader.le64("id")?,
            kind: reader.u8("kind")?,
            status: reader.u8("status")?,
            grant: reader.le16("grant")?,
            gap: reader.le16("gap")?,
            pad: reader.le16("pad")?,
            len: reader.le32("len")?,
        })
    }

    fn refusal(&self) -> Refusal {
        let reason = if self.len == 2 { Reason::NotFound } else { Reason::Other };
        Refusal { reason, code: self.len, name: "", during: "TOY" }
    }
}

impl Toy {
    pub fn new(sealed: bool, unit: u32) -> Self {
        Toy {
            sealed,
            unit,
            credits: 1,
            charged: 0,
            read_len_max: 0,
            lists_twice: false,
            door: false,
            plus: false,
            maps: false,
            frames_ended: 0,
            parts_ended: 0,
            notices: 0,
            next_id: 1,
            envelope: [0; ENVELOPE_LEN],
            absorbed: 0,
            opened: false,
            sum: 0,
            coming: None,
        }
    }

    /// Sends if it fits now; `Budget` if it never will.
    fn send(
        &mut self,
        request: Request<'_>,
        nobody: bool,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        let (charge, body, extent) = match request.kind {
            READ | PLUS => (request.extent.len.div_ceil(self.unit), 0, request.extent),
            LIST | MAP => (1, request.extent.len as usize, NOWHERE),
            _ => (1, BODY_LEN_MAX, NOWHERE),
        };
        let tx = 4 + REQUEST_LEN + request.path.len();
        let cost = Cost { tx, slots: 1, reply: HEAD_LEN + body, allowance: charge };
        if let Some((what, need, have)) = cost.exceeds(&out.lent()) {
            return Err(Error::Budget { what, need, have });
        }
        if !cost.fits(&Cost { allowance: self.credits, ..out.room() }) {
            return Ok(Progress::Wait);
        }
        let id = self.next_id;
        out.frame(|writer| {
            writer.put(&((tx - 4) as u32).to_be_bytes());
            encode(writer, id, &request);
            Ok(())
        })?;
        let slot = Slot::awaiting(id, u16::from(request.kind), charge, extent);
        if nobody {
            out.expect_nothing(slot)?
        } else {
            out.expect(slot)?
        }
        self.next_id += 1;
        self.credits -= charge;
        self.charged += charge;
        Ok(Progress::Sent)
    }

    fn once(
        &mut self,
        kind: u8,
        handle: u32,
        path: &str,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        if stage.asked {
            return Ok(Progress::Complete);
        }
        let progress = self.send(Request { kind, handle, extent: NOWHERE, path }, kind == CLOSE, out)?;
        stage.asked = progress == Progress::Sent;
        Ok(progress)
    }

    fn list(&mut self, path: &str, stage: &mut Stage, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        if stage.ended {
            return Ok(Progress::Complete);
        }
        if stage.asked {
            return Ok(Progress::Wait);
        }
        let len = out.lent().reply.saturating_sub(HEAD_LEN) as u32;
        let extent = Extent { offset: stage.cursor, len };
        let mut progress = self.send(Request { kind: LIST, handle: 0, extent, path }, false, out)?;
        if self.lists_twice && progress == Progress::Sent {
            progress = self.send(Request { kind: LIST, handle: 0, extent, path }, false, out)?;
        }
        stage.asked = progress == Progress::Sent;
        Ok(progress)
    }

    fn opened(
        &mut self,
        mut body: Reader<'_>,
        orphan: bool,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Answer<u32>, Error> {
        let handle = body.le32("handle")?;
        let mut attributes = Attributes { len: body.le64("length of a file")?, ..Attributes::default() };
        if !body.rest().is_empty() {
            let change = body.le64("change")?;
            (attributes.sparse, attributes.change) = (true, (change > 0).then_some(change));
        }
        if orphan {
            self.send(Request { kind: CLOSE, handle, extent: NOWHERE, path: "" }, true, out)?;
        }
        Ok(Answer::Opened(File { handle, attributes }))
    }
}

impl Coming {
    /// The head of a part. What does not continue the parts before it is thrown away.
    fn part(mut self, head: &[u8]) -> Result<(Head, Option<Coming>), Error> {
        let mut reader = Reader::new(head);
        let hole = reader.u8("hole")? == 1;
        let (gap, pad) = (reader.le16("gap")?, reader.le16("pad")?);
        let extent = Extent { offset: reader.le64("offset")?, len: reader.le32("len")? };
        let nothing = Segment::Data(Extent { len: 0, ..self.cover.rest() });
        let told = if hole { Segment::Hole(extent) } else { Segment::Data(extent) };
        let segment = self.cover.add(told).unwrap_or(nothing);
        let new = segment.extent();
        let before = if new.len == 0 { extent.len } else { (new.offset - extent.offset) as u32 };
        let (before, behind) = if hole { (0, 0) } else { (before, extent.len - before - new.len) };
        self.left -= 1;
        let last = if self.left == 0 { self.pad } else { 0 };
        let (gap, pad) = (u32::from(gap) + before, behind + u32::from(pad) + last);
        let head = Head::Segment { slot: self.slot, segment, gap, pad };
        Ok((head, Some(self).filter(|coming| coming.left > 0)))
    }
}

fn encode(writer: &mut Writer<'_>, id: u64, request: &Request<'_>) {
    writer.le64(id);
    writer.u8(request.kind);
    writer.le32(request.handle);
    writer.le64(request.extent.offset);
    writer.le32(request.extent.len);
    writer.le16(request.path.len() as u16);
    writer.put(request.path.as_bytes());
}

/// The entries of a listing: the cursor of the next request (0 at the end), then the entries.
fn listed(mut body: Reader<'_>, stage: Option<&mut Stage>) -> Result<Answer<u32>, Error> {
    let cursor = body.le64("cursor")?;
    let Some(stage) = stage else { return Ok(Answer::Nothing) };
    if cursor != 0 && cursor <= stage.cursor {
        return Err(Error::Misbehaved("the cursor of a listing does not move on"));
    }
    *stage = Stage { asked: false, ended: cursor == 0, cursor };
    Ok(Answer::Entries { start: HEAD_LEN + 8, len: body.rest().len() })
}

/// The same is to be asked again after a pause, or what was said is the end.
fn later(said: Refusal, stage: Option<&mut Stage>, out: &mut Outbox<'_, '_>) -> Result<Answer<u32>, Error> {
    let Some(stage) = stage else { return Ok(Answer::Nothing) };
    stage.asked = false;
    out.pause(said).inspect_err(|_| (stage.asked, stage.ended) = (true, true))?;
    Ok(Answer::Again)
}

impl Protocol for Toy {
    type Handle = u32;
    type Stage = Stage;
    type Holes = [Hole; pagewire::limits::HOLES_MAX];

    fn need(&self) -> Cost {
        // Eight heads in a chain and the scratch.
        Cost { tx: 64, slots: 1, reply: 256, allowance: 0 }
    }

    fn mark(&self, mark: [u8; 4]) -> Result<Mark, Error> {
        let word = u32::from_be_bytes(mark);
        Ok(Mark { len: word & !MORE, last: word & MORE == 0 })
    }

    fn head_len(&self, _: Left) -> usize {
        if self.sealed && !self.opened { ENVELOPE_LEN } else { HEAD_LEN }
    }

    fn absorb(&mut self, bytes: &mut [u8]) {
        for byte in bytes.iter_mut().filter(|_| self.sealed) {
            match self.envelope.get_mut(self.absorbed) {
                Some(place) => *place = *byte,
                None => {
                    *byte ^= self.envelope[1].wrapping_add(self.absorbed as u8);
                    self.sum = hash(self.sum, *byte);
                }
            }
            self.absorbed += 1;
        }
    }

    fn head(&mut self, head: &[u8], _left: Left, inflight: &Inflight<'_>) -> Result<Head, Error> {
        if self.sealed && !self.opened {
            self.opened = head[0] == b'E';
            return if self.opened { Ok(Head::Forget) } else { Err(Error::Malformed("envelope")) };
        }
        if let Some(coming) = self.coming {
            let (head, coming) = coming.part(head)?;
            self.coming = coming;
            return Ok(head);
        }
        let reply = ReplyHead::decode(head)?;
        let pad = u32::from(reply.pad);
        let slot = (reply.id != NOTICE).then(|| inflight.find(reply.id));
        if slot == Some(None) {
            return Err(Error::Misbehaved("a reply that no request awaits"));
        }
        let slot = slot.flatten();
        let asked = slot.and_then(|slot| inflight.get(slot));
        if asked.is_some_and(|asked| asked.kind != u16::from(reply.kind)) {
            return Err(Error::Misbehaved("a reply of another kind"));
        }
        match (reply.status, reply.kind, slot) {
            (OK, READ, Some(slot)) => {
                if asked.is_none_or(|asked| reply.len > asked.extent.len) {
                    return Err(Error::Misbehaved("more data than was asked for"));
                }
                Ok(Head::Data { slot, gap: u32::from(reply.gap), len: reply.len, pad })
            }
            (OK, PLUS, Some(slot)) if reply.len > 0 => {
                let cover = Cover::new(asked.map_or(Extent::default(), |asked| asked.extent));
                self.coming = Some(Coming { slot, left: reply.len, cover, pad });
                Ok(Head::Message { slot: Some(slot), pad: 0 })
            }
            (OK, ..) => match HEAD_LEN.saturating_add(reply.len as usize) {
                want if want > head.len() => Ok(Head::Need(want)),
                _ => Ok(Head::Message { slot, pad }),
            },
            (EOF, READ | PLUS, Some(_)) | (REFUSED | PENDING | LATER, _, Some(_)) => {
                Ok(Head::Message { slot, pad })
            }
            _ => Err(Error::Malformed("status")),
        }
    }

    fn part_end(&mut self) -> Result<(), Error> {
        self.parts_ended += 1;
        Ok(())
    }

    fn frame_end(&mut self) -> Result<(), Error> {
        let [_, _, announced @ ..] = self.envelope;
        let honest = !self.sealed || (self.opened && u32::from_le_bytes(announced) == self.sum);
        (self.absorbed, self.opened, self.sum) = (0, false, 0);
        self.frames_ended += 1;
        match (honest, self.coming.take()) {
            (false, _) => Err(Error::Unauthentic("checksum")),
            (true, Some(_)) => Err(Error::Malformed("parts")),
            (true, None) => Ok(()),
        }
    }

    fn ask(
        &mut self,
        ask: Ask<'_, u32>,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        match ask {
            Ask::Connect if std::mem::take(&mut self.door) => Ok(Progress::Connect(DOOR)),
            Ask::Connect => self.once(CONNECT, 0, "", stage, out),
            Ask::Open { path, .. } => self.once(OPEN, 0, path, stage, out),
            Ask::Stat { path, .. } => self.once(STAT, 0, path, stage, out),
            Ask::Close { handle } => self.once(CLOSE, handle, "", stage, out),
            Ask::List { path } => self.list(path, stage, out),
            Ask::Read { handle, extent, sparse } => {
                let kind = if sparse && self.plus { PLUS } else { READ };
                self.send(Request { kind, handle, extent, path: "" }, false, out)
            }
            Ask::Map { handle, sparse, from, end } if sparse && self.maps && from < end => {
                let len = out.lent().reply.saturating_sub(HEAD_LEN) as u32;
                let extent = Extent { offset: from, len };
                self.send(Request { kind: MAP, handle, extent, path: "" }, false, out)
            }
            Ask::Map { .. } | Ask::Keepalive | Ask::Disconnect => Ok(Progress::Complete),
            Ask::Look { handle } => {
                self.send(Request { kind: LOOK, handle, extent: NOWHERE, path: "" }, false, out)
            }
            Ask::Statfs { .. } => Err(Error::Incompatible("the toy has no statfs")),
        }
    }

    fn answer(
        &mut self,
        reply: Reply<'_>,
        mut stage: Option<&mut Stage>,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Answer<u32>, Error> {
        let head = ReplyHead::decode(reply.message)?;
        self.credits += u32::from(head.grant);
        if head.status == PENDING {
            return Ok(Answer::Interim);
        }
        self.charged -= reply.slot.charge;
        if let (REFUSED, Some(stage)) = (head.status, &mut stage) {
            stage.ended = true;
        }
        let mut body = Reader::new(&reply.message[HEAD_LEN..]);
        match (head.status, head.kind) {
            (LATER, _) => later(head.refusal(), stage, out),
            (REFUSED, _) => Err(Error::Refused(head.refusal())),
            (EOF, _) => Ok(Answer::EndOfFile),
            (_, CONNECT) => {
                self.read_len_max = body.le32("longest read")?;
                Ok(Answer::Nothing)
            }
            (_, OPEN) => self.opened(body, stage.is_none(), out),
            (_, READ) => Ok(Answer::Data),
            (_, PLUS) if reply.brought > 0 => Ok(Answer::Data),
            (_, PLUS) => {
                self.plus = false;
                Ok(Answer::Again)
            }
            (_, MAP) => {
                let (how, known) = (body.u8("kind of a map")?, body.le64("known")?);
                let (start, len) = (HEAD_LEN + MAP_HEAD_LEN, body.rest().len());
                Ok(match how {
                    0 => Answer::Ranges { start, len, known },
                    how => Answer::Run { known, hole: how == 1 },
                })
            }
            (_, LOOK) => {
                let change = Some(body.le64("change")?).filter(|change| *change != 0);
                let len = body.le64("length of a file")?;
                Ok(Answer::Attributes(Attributes { change, len, ..Attributes::default() }))
            }
            (_, STAT) => {
                let kind = if body.u8("kind of a file")? == 1 { Kind::Directory } else { Kind::File };
                let len = body.le64("length of a file")?;
                Ok(Answer::Attributes(Attributes { kind, len, ..Attributes::default() }))
            }
            (_, LIST) => listed(body, stage),
            _ => Ok(Answer::Nothing),
        }
    }

    fn notice(&mut self, _message: &[u8], _out: &mut Outbox<'_, '_>) -> Result<(), Error> {
        self.notices += 1;
        Ok(())
    }

    fn entry(&self, entries: &[u8], at: usize) -> Result<EntryAt, Error> {
        let mut reader = Reader::new(entries);
        reader.skip(at, "offset of an entry")?;
        let next = reader.le32("next entry")? as usize;
        let len = reader.le64("length of a file")?;
        let name_len = usize::from(reader.le16("length of a name")?);
        let name_start = reader.at();
        reader.skip(name_len, "name")?;
        Ok(EntryAt {
            name_start,
            name_len,
            encoding: Encoding::Bytes,
            attributes: Attributes { len, ..Attributes::default() },
            next: (next != 0).then_some(next),
        })
    }

    fn range(&self, ranges: &[u8], at: usize) -> Result<RangeAt, Error> {
        let mut reader = Reader::new(ranges);
        reader.skip(at, "offset of a range")?;
        let (offset, len) = (reader.le64("range")?, reader.le64("range")?);
        let next = at + RANGE_LEN;
        Ok(RangeAt { offset, len, next: (next < ranges.len()).then_some(next) })
    }

    fn link<'f>(&self, _: &'f [u8], _: &str) -> Result<Link<'f>, Error> {
        Err(Error::Incompatible("the toy has no links"))
    }

    fn limits(&self) -> Limits {
        let unit = u64::from(self.unit);
        Limits {
            read_len_max: self.read_len_max,
            allowance: u64::from(self.credits) * unit,
            allowance_total: u64::from(self.credits + self.charged) * unit,
        }
    }
}
