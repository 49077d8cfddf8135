//! What the replies to an operation mean.

use super::Nfs3;
use super::calls::{Found, Phase, Stage, Wants, found};
use crate::attributes::{Attributes, Kind};
use crate::error::{Error, Reason, Refusal};
use crate::nfs::rpc;
use crate::nfs::status::Status;
use crate::nfs::v3::fattr3::{Fattr3, FileType};
use crate::nfs::v3::{Fh, Procedure, fsinfo, fsstat, getattr, lookup, read, readdir, readdirplus, readlink};
use crate::outgoing::Outbox;
use crate::protocol::{Answer, File};

/// The longest read: with its head it is no longer than a frame, and a whole number of the smallest requests.
const READ_LEN_MAX: u32 = {
    let heads = (rpc::REPLY_HEAD_MAX + read::REPLY_HEAD_MAX) as u32;
    let len = crate::limits::FRAME_LEN_MAX - heads;
    len - len % crate::limits::REQUEST_LEN_MIN
};

impl Nfs3<'_> {
    /// A reply of NFS; its results are `body`, and start at `results` in the message.
    pub(super) fn call_goes_on(
        &mut self,
        kind: u16,
        results: usize,
        body: &[u8],
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Answer<Fh>, Error> {
        match self.decode_results(kind, results, body, stage) {
            Err(Error::Refused(refusal)) => self.mend(refusal, kind, stage, out),
            answer => answer,
        }
    }

    /// What is asked again, after a pause or in another way, or the refusal.
    fn mend(
        &mut self,
        refusal: Refusal,
        kind: u16,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Answer<Fh>, Error> {
        match (Status(refusal.code), Procedure(kind.into())) {
            (Status::JUKEBOX, _) => {
                out.pause(refusal)?;
                stage.alone = true;
            }
            // A listing that has begun cannot go on in another way: each has cookies of its own.
            (Status::NOTSUPP, Procedure::READDIRPLUS) if stage.cookie == 0 => self.plus = false,
            _ => return Err(Error::Refused(refusal)),
        }
        if matches!(stage.phase, Phase::Asked | Phase::Link) {
            stage.phase = Phase::Walking;
        }
        Ok(Answer::Again)
    }

    /// The reply to FSINFO.
    pub(super) fn limited(&mut self, body: &[u8]) -> Result<Answer<Fh>, Error> {
        self.read_len_max = fsinfo::Response::decode(body)?.rtmax.min(READ_LEN_MAX);
        self.limits_known = true;
        Ok(Answer::Nothing)
    }

    // Not inlined, as `answer_to` is not.
    #[inline(never)]
    fn decode_results(
        &mut self,
        kind: u16,
        results: usize,
        body: &[u8],
        stage: &mut Stage,
    ) -> Result<Answer<Fh>, Error> {
        match Procedure(kind.into()) {
            Procedure::NULL => Ok(Answer::Nothing),
            Procedure::FSINFO => self.limited(body),
            Procedure::READ => read(body),
            Procedure::LOOKUP => {
                let response = lookup::Response::decode(body)?;
                stage.at = stage.until;
                let file_type = response.obj_attributes.map(|known| known.file_type);
                stage.found = Some(Found { handle: response.object, file_type });
                match response.obj_attributes {
                    None => stage.phase = Phase::Looking,
                    Some(known)
                        if stage.wants != Wants::More
                            && stage.is_last
                            && known.file_type != FileType::Symlink =>
                    {
                        stage.end();
                        return attributes(known, Procedure::LOOKUP, stage);
                    }
                    Some(_) => {}
                }
                Ok(Answer::Nothing)
            }
            Procedure::READLINK => {
                // Decoded so that the target is there for who follows it.
                readlink::Response::decode(body)?;
                Err(Error::Refused(SYMLINK))
            }
            Procedure::GETATTR if stage.phase == Phase::Looking => {
                let known = getattr::Response::decode(body)?.obj_attributes;
                stage.found = Some(Found { file_type: Some(known.file_type), ..*found(stage)? });
                stage.phase = Phase::Walking;
                Ok(Answer::Nothing)
            }
            procedure @ Procedure::GETATTR => {
                attributes(getattr::Response::decode(body)?.obj_attributes, procedure, stage)
            }
            Procedure::FSSTAT => Ok(Answer::Space(fsstat::Response::decode(body)?.space())),
            procedure @ (Procedure::READDIRPLUS | Procedure::READDIR) => {
                let listing = match procedure {
                    Procedure::READDIR => readdir::decode(body, stage.cookie)?,
                    _ => readdirplus::decode(body, stage.cookie)?,
                };
                if stage.replies.repeats(listing.cookie.to_ne_bytes()) && !listing.eof {
                    return Err(Error::Misbehaved("entry3.cookie"));
                }
                (stage.cookie, stage.cookieverf) = (listing.cookie, listing.cookieverf);
                stage.phase = if listing.eof { Phase::Ended } else { Phase::More };
                let start = results.saturating_add(listing.entries_offset);
                Ok(Answer::Entries { start, len: listing.entries.len() })
            }
            _ => Err(Error::Misbehaved("a reply to a procedure that was not called")),
        }
    }
}

/// NFSv3 has no status for it: the server leaves links to the client, and the engine to its caller.
const SYMLINK: Refusal =
    Refusal { reason: Reason::Symlink, code: 5, name: "NF3LNK", during: Procedure::LOOKUP.name() };

/// What READ has brought, besides its data.
pub(super) fn read(body: &[u8]) -> Result<Answer<Fh>, Error> {
    let head = read::Head::decode(body)?;
    Ok(if head.is_empty() { Answer::EndOfFile } else { Answer::Data })
}

/// What GETATTR, or the last LOOKUP, says of the path's end.
fn attributes(known: Fattr3, procedure: Procedure, stage: &Stage) -> Result<Answer<Fh>, Error> {
    let attributes: Attributes = known.attributes();
    if stage.wants != Wants::File {
        return Ok(Answer::Attributes(attributes));
    }
    match attributes.kind {
        Kind::Directory => Err(Error::Refused(Status::ISDIR.refusal(procedure))),
        _ => Ok(Answer::Opened(File { handle: found(stage)?.handle, attributes })),
    }
}
