//! What the replies mean.

use super::Nfs4;
use super::calls::{Phase, Stage};
use super::open::refuses_stateid;
use super::sent::{Access, Sent, What};
use crate::attributes::Kind;
use crate::error::Error;
use crate::nfs::rpc;
use crate::nfs::v4::fattr4::Type;
use crate::nfs::v4::fs_locations::FsLocations;
use crate::nfs::v4::limits::TAG_LEN_MAX;
use crate::nfs::v4::{Fh, Op, Results, Status, getattr, getfh, read, read_plus, readdir, readlink, sequence};
use crate::outgoing::Outbox;
use crate::protocol::{Answer, File, Reply};
use crate::wire::Reader;

/// What is called during what no operation refused.
const COMPOUND: &str = "COMPOUND";

impl Nfs4<'_> {
    /// Frees the session's slot, whoever awaits the reply; the rest of it is for `stage`.
    pub(super) fn decode_reply(
        &mut self,
        reply: &Reply<'_>,
        sent: Sent,
        stage: Option<&mut Stage>,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Answer<Fh>, Error> {
        let slotid = reply.slot.charge;
        let in_session = self.session.is_some() && sent.what.in_session();
        let start = match rpc::Reply::decode(reply.message)?.results(COMPOUND) {
            Ok(start) => start,
            Err(error) => {
                self.session.iter_mut().filter(|_| in_session).for_each(|session| session.give_back(slotid));
                return Err(error);
            }
        };
        let body = reply.message.get(start..).unwrap_or(&[]);
        let mut results = Results::decode(body, sent.ops(in_session))?;
        self.heard |= results.status() != Status::MINOR_VERS_MISMATCH;
        if let Some(session) = self.session.as_mut().filter(|_| in_session) {
            session.answered(slotid, &mut results)?;
        }
        if let What::FileOpen | What::OpenConfirm = sent.what {
            return self.file_opened(sent, &mut results);
        }
        // What the server knows of the client now it does not know for this operation alone.
        let lasts = matches!(sent.what, What::NameOpen | What::ReclaimComplete) || !sent.what.in_session();
        let mut lost = Stage::default();
        let stage = stage.or(lasts.then_some(&mut lost));
        let Some(stage) = stage else { return Ok(Answer::Nothing) };
        match sent.what {
            // Whatever these were sent for.
            What::ExchangeId => self.exchanged(&mut results).map(|()| Answer::Again),
            What::CreateSession => self.created(&mut results, out).map(|()| Answer::Again),
            What::ReclaimComplete => self.reclaimed(&mut results).map(|()| Answer::Again),
            What::Limits => self.limited(&mut results).map(|()| Answer::Again),
            What::SetClientid | What::ConfirmClientid => {
                self.introduced(sent.what, &mut results).map(|()| Answer::Again)
            }
            What::DestroySession | What::DestroyClientid => {
                // Whatever the server said.
                self.session = None;
                Ok(Answer::Nothing)
            }
            What::Read | What::ReadPlus => self.read(reply, sent, &mut results),
            What::Look => looked(sent, &mut results),
            What::MapOpen | What::Seek => self.surveyed(sent, &mut results, &mut stage.survey),
            What::Close => Ok(Answer::Nothing),
            What::Keepalive => kept_alive(sent, in_session, &mut results),
            _ => self.walked(sent, start, &mut results, stage),
        }
    }

    /// READ or READ_PLUS. What a server has against a stateid or against READ_PLUS is known for all requests to come; those
    /// in flight will come here too.
    fn read(
        &mut self,
        reply: &Reply<'_>,
        sent: Sent,
        results: &mut Results<'_>,
    ) -> Result<Answer<Fh>, Error> {
        let op = if sent.what == What::ReadPlus { Op::READ_PLUS } else { Op::READ };
        results.take(sent.put())?;
        let status = results.next(op)?;
        if refuses_stateid(status) {
            return self.stateid_refused(sent.access, status.refusal(op.name()));
        }
        if sent.what == What::ReadPlus && !status.is_transient() {
            return self.read_plus(status, results, reply.brought);
        }
        if !status.is_ok() {
            return Err(Error::Refused(status.refusal(op.name())));
        }
        let head = read::Head::decode(results.reader())?;
        results.end()?;
        match head {
            read::Head { len: 0, eof: true } => Ok(Answer::EndOfFile),
            _ => Ok(Answer::Data),
        }
    }

    /// Whatever is wrong with READ_PLUS, READ will tell whether it is the file: Ganesha 4.3 answers with a segment of
    /// nothing, others have not heard of it.
    fn read_plus(
        &mut self,
        status: Status,
        results: &mut Results<'_>,
        brought: u32,
    ) -> Result<Answer<Fh>, Error> {
        if status.is_ok() {
            let head = read_plus::Head::decode(results.reader())?;
            results.end()?;
            if brought > 0 {
                return Ok(Answer::Data);
            }
            if head == (read_plus::Head { eof: true, segments: 0 }) {
                return Ok(Answer::EndOfFile);
            }
        }
        self.plus = false;
        Ok(Answer::Again)
    }

    /// A COMPOUND that walks; `start` is where the results start in the message.
    fn walked(
        &mut self,
        sent: Sent,
        start: usize,
        results: &mut Results<'_>,
        stage: &mut Stage,
    ) -> Result<Answer<Fh>, Error> {
        results.take(sent.put())?;
        for name in 0..sent.names {
            match results.next(Op::LOOKUP)? {
                Status::OK => {}
                // What this name was to be found in is a link.
                Status::SYMLINK if sent.what != What::Link => {
                    (stage.phase, stage.link) = (Phase::Link, name);
                    return Ok(Answer::Nothing);
                }
                Status::MOVED if sent.what != What::Moved => return Ok(moved(name, stage)),
                status => return Err(Error::Refused(status.refusal(Op::LOOKUP.name()))),
            }
        }
        match sent.what {
            What::Link => {
                // Decoded so that the target is there for who follows it.
                readlink::ResOk::decode(results.take(Op::READLINK)?)?;
                results.end()?;
                Err(Error::Refused(Status::SYMLINK.refusal(Op::LOOKUP.name())))
            }
            What::Moved => {
                getattr::ResOk::decode(results.take(Op::GETATTR)?)?;
                results.end()?;
                Err(Error::Refused(Status::MOVED.refusal(Op::LOOKUP.name())))
            }
            What::More => entries(start, results, stage),
            What::NameOpen => self.named_file_opened(results),
            _ => {
                let object = match results.next(Op::GETFH)? {
                    Status::MOVED => return Ok(moved(sent.names, stage)),
                    status if !status.is_ok() => {
                        return Err(Error::Refused(status.refusal(Op::GETFH.name())));
                    }
                    _ => getfh::ResOk::decode(results.reader())?.object,
                };
                self.at_the_end(sent, object, start, results, stage)
            }
        }
    }

    /// What is asked at the end of the path, or of the part of it that fits.
    fn at_the_end(
        &mut self,
        sent: Sent,
        handle: Fh,
        start: usize,
        results: &mut Results<'_>,
        stage: &mut Stage,
    ) -> Result<Answer<Fh>, Error> {
        if sent.what == What::Walk {
            (stage.found, stage.at, stage.phase) = (Some(handle), stage.until, Phase::Walking);
            return results.end().map(|()| Answer::Nothing);
        }
        let known = match results.next(Op::GETATTR)? {
            Status::MOVED => return Ok(moved(sent.names, stage)),
            status if !status.is_ok() => return Err(Error::Refused(status.refusal(Op::GETATTR.name()))),
            _ => getattr::ResOk::decode(results.reader())?.obj_attributes,
        };
        if sent.what == What::OpenRead {
            self.first_read(results)?;
        }
        let opens = matches!(sent.what, What::Open | What::OpenRead);
        if opens && known.kind == Some(Type::Regular) && self.opens_by_name() {
            (stage.phase, stage.link) = (Phase::Opening, sent.names);
            return results.end().map(|()| Answer::Nothing);
        }
        (stage.found, stage.at) = (Some(handle), stage.until);
        if known.kind == Some(Type::Symlink) {
            (stage.phase, stage.link) = (Phase::Link, 0);
            return Ok(Answer::Nothing);
        }
        let answer = match sent.what {
            What::List => return entries(start, results, stage),
            What::Statfs => Answer::Space(known.space()?),
            What::Stat => Answer::Attributes(known.stat()?),
            What::StatBoth => Answer::Both(known.stat()?, known.space()?),
            _ => match known.stat()? {
                attributes if attributes.kind == Kind::Directory => {
                    return Err(Error::Refused(Status::ISDIR.refusal(Op::GETATTR.name())));
                }
                attributes => {
                    self.reads_up_to(known.maxread)?;
                    Answer::Opened(File { handle, attributes })
                }
            },
        };
        results.end().map(|()| answer)
    }

    /// READ at the end of a walk. If it is refused, be it because this is no file, what stands before it is good all the same,
    /// and a READ of its own will tell.
    fn first_read(&mut self, results: &mut Results<'_>) -> Result<(), Error> {
        match results.next(Op::READ)? {
            Status::OK => read::Head::decode(results.reader()).map(drop),
            status if refuses_stateid(status) => {
                self.access = self.access.max(Access::Anonymous);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// So many names behind where the path was walked to is what is on another server.
fn moved(names: u8, stage: &mut Stage) -> Answer<Fh> {
    (stage.phase, stage.link) = (Phase::Moved, names);
    Answer::Nothing
}

/// The result of Keepalive; that of SEQUENCE was looked at already.
fn kept_alive(sent: Sent, in_session: bool, results: &mut Results<'_>) -> Result<Answer<Fh>, Error> {
    if !in_session {
        let op = if sent.root { Op::PUTROOTFH } else { Op::RENEW };
        match results.next(op)? {
            // RFC 7530 16.28.4: the lease is renewed all the same, and nobody needs to call us back.
            Status::OK | Status::CB_PATH_DOWN => {}
            status => return Err(Error::Refused(status.refusal(op.name()))),
        }
    }
    results.end().map(|()| Answer::Nothing)
}

/// The attributes of an open file.
fn looked(sent: Sent, results: &mut Results<'_>) -> Result<Answer<Fh>, Error> {
    results.take(sent.put())?;
    let known = getattr::ResOk::decode(results.take(Op::GETATTR)?)?.obj_attributes;
    results.end()?;
    known.stat().map(Answer::Attributes)
}

/// The result of READDIR.
fn entries(start: usize, results: &mut Results<'_>, stage: &mut Stage) -> Result<Answer<Fh>, Error> {
    results.take(Op::READDIR)?;
    let start = start.saturating_add(results.at());
    let listing = readdir::ResOk::decode(results.reader(), stage.cookie)?;
    results.end()?;
    if stage.replies.repeats(listing.cookie.to_ne_bytes()) && !listing.eof {
        return Err(Error::Misbehaved("READDIR goes round"));
    }
    (stage.cookie, stage.cookieverf) = (listing.cookie, listing.cookieverf);
    stage.phase = if listing.eof { Phase::Ended } else { Phase::More };
    Ok(Answer::Entries { start: start.saturating_add(listing.entries_at), len: listing.entries.len() })
}

/// The target of the symbolic link that a path ran into. `Malformed` if the frame is about something else.
pub(super) fn link_target(frame: &[u8]) -> Result<&[u8], Error> {
    Ok(readlink::ResOk::decode(&mut result(frame, Op::READLINK)?)?.link)
}

/// After an operation was refused with [`MOVED`](Status::MOVED), from [`Client::frame`](crate::Client::frame): where what was
/// asked for is. `None` if the server did not say.
pub fn locations(frame: &[u8]) -> Option<FsLocations<'_>> {
    let mut r = result(frame, Op::GETATTR).ok()?;
    getattr::ResOk::decode(&mut r).ok()?.obj_attributes.fs_locations
}

/// The result of `wanted`, which stands behind a walk. `Malformed` if the frame is about something else.
fn result(frame: &[u8], wanted: Op) -> Result<Reader<'_>, Error> {
    const OTHER: Error = Error::Malformed("COMPOUND.resop");
    let start = rpc::Reply::decode(frame)?.results(COMPOUND)?;
    let body = frame.get(start..).unwrap_or(&[]);
    // As many results as it says.
    let mut r = Reader::new(body);
    r.skip(4, "COMPOUND.status")?;
    r.opaque(TAG_LEN_MAX, "COMPOUND.tag")?;
    let mut results = Results::decode(body, r.be32("COMPOUND.resarray")?)?;
    // Each turn takes a result.
    while results.left() > 0 {
        let op = Op(results.reader().clone().be32("COMPOUND.resop").map_err(|_| OTHER)?);
        results.take(op)?;
        match op {
            op if op == wanted => return Ok(*results.reader()),
            Op::PUTROOTFH | Op::PUTFH | Op::LOOKUP => {}
            Op::SEQUENCE => drop(sequence::ResOk::decode(results.reader())?),
            _ => return Err(OTHER),
        }
    }
    Err(OTHER)
}
