//! What the replies mean.

use super::calls::{Phase, Stage};
use super::sent::{Sent, What};
use super::session::LOST;
use super::{Message, Nfs4};
use crate::attributes::Kind;
use crate::error::Error;
use crate::nfs::rpc;
use crate::nfs::v4::fattr4::Type;
use crate::nfs::v4::limits::TAG_LEN_MAX;
use crate::nfs::v4::{Fh, Op, Results, Stateid, Status, getattr, getfh, read, readdir, readlink, sequence};
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
        if let Some(session) = self.session.as_mut().filter(|_| in_session) {
            let remembers = session.answered(slotid, &mut results)?;
            // Until RECLAIM_COMPLETE a server that has restarted says that it has.
            if !remembers && sent.what != What::Limits {
                return Err(LOST);
            }
        }
        let Some(stage) = stage else { return Ok(Answer::Nothing) };
        match sent.what {
            What::ExchangeId => self.exchanged(&mut results).map(|()| Answer::Nothing),
            What::CreateSession => self.created(&mut results, out).map(|()| Answer::Nothing),
            What::Limits => self.limited(&mut results).map(|()| Answer::Nothing),
            What::Read | What::ReadAnonymous => self.read(reply, sent, &mut results, stage, out),
            What::MapOpen | What::SeekData | What::SeekHole => {
                self.surveyed(sent, &mut results, &mut stage.survey)
            }
            What::MapClose => Ok(Answer::Nothing),
            _ => self.walked(sent, start, &mut results, stage),
        }
    }

    fn read(
        &mut self,
        reply: &Reply<'_>,
        sent: Sent,
        results: &mut Results<'_>,
        stage: &Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Answer<Fh>, Error> {
        results.take(sent.put())?;
        let status = results.next(Op::READ)?;
        if sent.what == What::Read && refuses_bypass(status) && reply.slot.interims == 0 {
            self.anonymous = true;
            return self.read_again(reply, sent, stage, out);
        }
        if !status.is_ok() {
            return Err(Error::Refused(status.refusal(Op::READ.name())));
        }
        let head = read::Head::decode(results.reader())?;
        results.end()?;
        match head {
            read::Head { len: 0, eof: true } => Ok(Answer::EndOfFile),
            _ => Ok(Answer::Data),
        }
    }

    /// The same READ with the anonymous stateid, in the same slots. So the reply that came was not the final one.
    fn read_again(
        &mut self,
        reply: &Reply<'_>,
        sent: Sent,
        stage: &Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Answer<Fh>, Error> {
        let slot = reply.slot;
        let sequence = self.session.as_ref().map(|session| session.args(slot.charge));
        let args =
            read::Args { stateid: Stateid::ANONYMOUS, offset: slot.extent.offset, count: slot.extent.len };
        // It came from the id of a request of ours, which was a u32.
        let message = Message { xid: slot.id as u32, sent, from: stage.found, sequence };
        self.write(message, out, &|ops| {
            args.encode(ops);
            Ok(())
        })?;
        self.session.iter_mut().for_each(|session| session.take(slot.charge));
        Ok(Answer::Interim)
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
            What::More => entries(start, results, stage),
            _ => {
                let object = getfh::ResOk::decode(results.take(Op::GETFH)?)?.object;
                (stage.found, stage.at) = (Some(object), stage.until);
                self.at_the_end(sent.what, object, start, results, stage)
            }
        }
    }

    /// What is asked at the end of the path, or of the part of it that fits.
    fn at_the_end(
        &mut self,
        what: What,
        handle: Fh,
        start: usize,
        results: &mut Results<'_>,
        stage: &mut Stage,
    ) -> Result<Answer<Fh>, Error> {
        if what == What::Walk {
            stage.phase = Phase::Walking;
            return results.end().map(|()| Answer::Nothing);
        }
        let known = getattr::ResOk::decode(results.take(Op::GETATTR)?)?.obj_attributes;
        if known.kind == Some(Type::Symlink) {
            (stage.phase, stage.link) = (Phase::Link, 0);
            return Ok(Answer::Nothing);
        }
        let answer = match what {
            What::List => return entries(start, results, stage),
            What::Statfs => Answer::Space(known.space()?),
            What::Stat => Answer::Attributes(known.stat()?),
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
}

/// What a server may say that does not know the bypass stateid.
fn refuses_bypass(status: Status) -> bool {
    matches!(status, Status::BAD_STATEID | Status::STALE_STATEID | Status::OLD_STATEID | Status::EXPIRED)
}

/// The result of READDIR.
fn entries(start: usize, results: &mut Results<'_>, stage: &mut Stage) -> Result<Answer<Fh>, Error> {
    results.take(Op::READDIR)?;
    let start = start.saturating_add(results.at());
    let listing = readdir::ResOk::decode(results.reader(), stage.cookie)?;
    results.end()?;
    (stage.cookie, stage.cookieverf) = (listing.cookie, listing.cookieverf);
    stage.phase = if listing.eof { Phase::Ended } else { Phase::More };
    Ok(Answer::Entries { start: start.saturating_add(listing.entries_at), len: listing.entries.len() })
}

/// The target of the symbolic link that a path ran into. `Malformed` if the frame is about something else.
pub(super) fn link_target(frame: &[u8]) -> Result<&[u8], Error> {
    const NO_LINK: Error = Error::Malformed("READLINK.link");
    let start = rpc::Reply::decode(frame)?.results(COMPOUND)?;
    let body = frame.get(start..).unwrap_or(&[]);
    // As many results as it says.
    let mut r = Reader::new(body);
    r.skip(4, "COMPOUND.status")?;
    r.opaque(TAG_LEN_MAX, "COMPOUND.tag")?;
    let mut results = Results::decode(body, r.be32("COMPOUND.resarray")?)?;
    // Each turn takes a result.
    while results.left() > 0 {
        let op = Op(results.reader().clone().be32("COMPOUND.resop").map_err(|_| NO_LINK)?);
        results.take(op)?;
        match op {
            Op::PUTROOTFH | Op::PUTFH | Op::LOOKUP => {}
            Op::SEQUENCE => drop(sequence::ResOk::decode(results.reader())?),
            Op::READLINK => return Ok(readlink::ResOk::decode(results.reader())?.link),
            _ => return Err(NO_LINK),
        }
    }
    Err(NO_LINK)
}
