//! What the replies to an operation mean, and what the server says unasked.

use super::attributes::{create_attributes, query_answer};
use super::calls::{Phase, Stage};
use super::chain::{Member, Reply as Wait};
use super::create::{self, FileId};
use super::header::{self, Command, Header};
use super::oplock_break::{self, Acknowledgment, Notification};
use super::session::Standing;
use super::status::Status;
use super::{Smb, close, echo, query_directory};
use crate::digest::Digest;
use crate::error::Error;
use crate::inflight::{Inflight, Slot};
use crate::outgoing::Outbox;
use crate::protocol::{Answer, File, Reply};
use crate::wire::Writer;

impl<const KEPT: usize> Smb<'_, KEPT> {
    // Inlined where it is called from, it makes every image larger (see `boards/budget`).
    #[inline(never)]
    pub(super) fn decode_answer(
        &mut self,
        reply: Reply<'_>,
        stage: Option<&mut Stage>,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Answer<FileId>, Error> {
        let header = Header::decode(reply.message)?;
        let body = reply.message.get(header::LEN..).unwrap_or(&[]);
        // Every reply may grant credits, errors and interim ones too (MS-SMB2 3.2.5.1.4).
        self.session.credits = self.session.credits.saturating_add(header.credits.into());
        if header.status == Status::PENDING && header.is_async() {
            return Ok(Answer::Interim);
        }
        self.session.charged = self.session.charged.saturating_sub(reply.slot.charge);
        match (header.command, stage) {
            (Command::NEGOTIATE | Command::SESSION_SETUP | Command::TREE_CONNECT, stage) => {
                let answer = self.connect_goes_on(&header, reply.message, body, out)?;
                if let (Answer::Again, Some(stage)) = (answer, stage) {
                    stage.phase = Phase::Again;
                }
                Ok(answer)
            }
            (Command::IOCTL, _) if self.session.standing == Standing::Proving => {
                self.connect_goes_on(&header, reply.message, body, out)
            }
            (Command::IOCTL, Some(stage)) => self.map_goes_on(&header, body, stage),
            (_, Some(stage)) => self.call_goes_on(&header, body, stage),
            (Command::CREATE, None)
                if header.status == Status::SUCCESS
                    && !is_closed_by_its_chain(&reply.slot, out.inflight()) =>
            {
                // Whoever wanted it is gone. If it cannot be closed now it lives as long as the connection.
                let _ = self.send_close(create::Response::decode(body)?.file_id, out)?;
                Ok(Answer::Nothing)
            }
            (_, None) => Ok(Answer::Nothing),
        }
    }

    fn call_goes_on(
        &mut self,
        header: &Header,
        body: &[u8],
        stage: &mut Stage,
    ) -> Result<Answer<FileId>, Error> {
        // The share demands encryption: what was asked before that was known counts for nothing. Nor does what comes before it can be
        // known, whoever sends that.
        let in_vain = self.session.standing != Standing::Ready || stage.in_clear && self.session.seals;
        if stage.phase == Phase::Again || stage.enters && in_vain {
            return asked_in_vain(header, body, stage);
        }
        if KEPT > 0 && stage.phase == Phase::Checking {
            return self.checked(header, body, stage);
        }
        if !header.status.has_response(header.command) {
            return self.refused(header, stage);
        }
        match header.command {
            Command::CREATE => {
                let response = create::Response::decode(body)?;
                if stage.phase == Phase::Opening {
                    if KEPT > 0 {
                        self.opened(header.message_id, &response, body)?;
                    }
                    let attributes = create_attributes(&response);
                    stage.phase = Phase::Opened;
                    return Ok(Answer::Opened(File { handle: response.file_id, attributes }));
                }
                stage.handle = Some(response.file_id);
                Ok(Answer::Nothing)
            }
            Command::READ => Ok(Answer::Data),
            Command::QUERY_DIRECTORY => {
                let response = query_directory::Response::decode(body)?;
                let first = query_directory::Entries::new(response.output_buffer).next();
                let first = first.ok_or(Error::Misbehaved("a listing brought no entry and no end"))??;
                if stage.replies.repeats(Digest::new().with(first.name)) {
                    return Err(Error::Misbehaved("a listing goes round"));
                }
                stage.phase = Phase::More;
                Ok(Answer::Entries {
                    start: response.output_buffer_offset,
                    len: response.output_buffer.len(),
                })
            }
            Command::QUERY_INFO => query_answer(body),
            Command::ECHO => {
                echo::Response::decode(body)?;
                Ok(Answer::Nothing)
            }
            Command::CLOSE => {
                close::Response::decode(body)?;
                stage.handle = None;
                Ok(Answer::Nothing)
            }
            _ => Ok(Answer::Nothing),
        }
    }

    fn refused(&mut self, header: &Header, stage: &mut Stage) -> Result<Answer<FileId>, Error> {
        let refuses_chain = refuses_chains(header.status);
        let refuses_first = refuses_chain && !self.session.opens_alone;
        let is_first = stage.phase == Phase::Asked && stage.replies.count == 0;
        match (header.command, stage.phase) {
            (Command::CREATE, _) if stage.enters && refuses_chain => {
                return asked_in_vain(header, &[], stage);
            }
            (Command::READ, _) if header.status == Status::END_OF_FILE => return Ok(Answer::EndOfFile),
            // One such READ may be in flight for each of several files.
            (Command::READ, Phase::Opened) if refuses_chain => {
                self.session.opens_alone = true;
                stage.phase = Phase::Ended;
                return Ok(Answer::Again);
            }
            (Command::QUERY_INFO | Command::QUERY_DIRECTORY, _)
                if refuses_first && is_first && stage.handle.is_some() =>
            {
                self.session.opens_alone = true;
                return asked_in_vain(header, &[], stage);
            }
            (Command::QUERY_DIRECTORY, _) => {
                stage.phase = Phase::Ended;
                if header.status == Status::NO_MORE_FILES {
                    return Ok(Answer::Nothing);
                }
            }
            _ => {}
        }
        Err(Error::Refused(header.status.refusal(header.command)))
    }

    /// MS-SMB2 3.2.5.19: what the server takes back is acknowledged; nothing depends on it but what is kept.
    pub(super) fn breaks(&mut self, message: &[u8], out: &mut Outbox<'_, '_>) -> Result<(), Error> {
        let body = message.get(header::LEN..).unwrap_or(&[]);
        let notification = Notification::decode(body)?;
        if KEPT > 0 && matches!(notification, Notification::Lease { .. }) {
            return self.lease_breaks(&notification, out);
        }
        let acknowledgment = match notification {
            Notification::Oplock { oplock_level, file_id } => {
                Acknowledgment::Oplock { oplock_level, file_id }
            }
            Notification::Lease { flags, .. } if flags & oplock_break::ACK_REQUIRED == 0 => return Ok(()),
            Notification::Lease { lease_key, new_lease_state, .. } => {
                Acknowledgment::Lease { lease_key, lease_state: new_lease_state }
            }
        };
        self.acknowledge(&acknowledgment, out)
    }

    pub(super) fn acknowledge(
        &mut self,
        acknowledgment: &Acknowledgment,
        out: &mut Outbox<'_, '_>,
    ) -> Result<(), Error> {
        let body = |w: &mut Writer<'_>| {
            acknowledgment.encode(w);
            Ok(())
        };
        let member = Member::new(Command::OPLOCK_BREAK, oplock_break::REPLY_HEAD_MAX, &body);
        // Without a credit it is left out, and the server's own time-out takes its place.
        self.session.send(out, &[member], Wait::Ignored).map(|_| ())
    }
}

/// Of a chain that is asked again only what it has opened counts, and that is closed before.
fn asked_in_vain(header: &Header, body: &[u8], stage: &mut Stage) -> Result<Answer<FileId>, Error> {
    stage.phase = Phase::Again;
    match (header.command, header.status) {
        (Command::CREATE, Status::SUCCESS) => stage.handle = Some(create::Response::decode(body)?.file_id),
        (Command::CLOSE, Status::SUCCESS) => stage.handle = None,
        _ => {}
    }
    Ok(Answer::Again)
}

/// Whether a CREATE has its CLOSE behind it: CREATE, two of QUERY_INFO, CLOSE are the longest such chain. A second CLOSE could be of
/// another file by then.
fn is_closed_by_its_chain(create: &Slot, inflight: &Inflight<'_>) -> bool {
    let is_close =
        |slot: &Slot| slot.kind == Command::CLOSE.0 && (1..=3).contains(&slot.id.wrapping_sub(create.id));
    inflight.of(create.ticket).any(is_close)
}

/// What servers say that will not have a request behind or in front of others, or that look ids up literally which mean
/// "as before".
pub(super) fn refuses_chains(status: Status) -> bool {
    [
        Status::INVALID_PARAMETER,
        Status::NOT_SUPPORTED,
        Status::NOT_IMPLEMENTED,
        Status::INVALID_HANDLE,
        Status::FILE_CLOSED,
        Status::NETWORK_NAME_DELETED,
    ]
    .contains(&status)
}
