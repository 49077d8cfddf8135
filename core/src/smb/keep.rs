//! Files that stay open under a lease after their last use, and are opened again without CREATE (MS-SMB2 3.2.4.3.8, 3.2.5.19.2).
//!
//! All of it is left out of the code where nothing is kept (`KEPT` is 0).

use super::attributes::all_attributes;
use super::calls::{Phase, Stage, query_body, query_member};
use super::chain::Member;
use super::create;
use super::header::{Command, Header};
use super::kept::{Broken, NameDigest, Room};
use super::lease::{self, Request};
use super::negotiate::{CAP_LEASING, Dialect};
use super::oplock_break::{ACK_REQUIRED, Acknowledgment, Notification};
use super::query_info::{self, AllInformation};
use super::session::Standing;
use super::{FileId, Smb};
use crate::error::Error;
use crate::outgoing::Outbox;
use crate::protocol::{Answer, File, Progress};
use crate::wire::Writer;

impl<const KEPT: usize> Smb<'_, KEPT> {
    /// Begins to open a file so that it may be kept: by a handle that was, or with a lease; or closes another to have room for it.
    /// `None`: it will not be kept.
    pub(super) fn keep(
        &mut self,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
        path: &str,
        first: u32,
    ) -> Result<Option<Progress>, Error> {
        let session = &self.session;
        let grants = session.dialect > Some(Dialect::Smb202) && session.capabilities & CAP_LEASING != 0;
        // Samba says in the clear that a lease is broken, whatever else it seals; and nothing in the clear is believed then.
        // Before the share is there it is not known whether all will be sealed.
        let may_keep = grants && session.standing == Standing::Ready && !session.seals;
        let Some(name) = in_root(path).filter(|_| may_keep) else { return Ok(None) };
        let progress = match (self.shelf.find(NameDigest::of(name)), self.shelf.room()) {
            (Some(file_id), _) => self.check(stage, out, file_id, name, first)?,
            (None, Room::Free) => self.open_with_lease(stage, out, name, first)?,
            (None, Room::Behind(file_id)) => self.let_go(file_id, out)?,
            (None, Room::None) => return Ok(None),
        };
        Ok(Some(progress))
    }

    /// CREATE, asking for a lease.
    fn open_with_lease(
        &mut self,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
        name: &str,
        first: u32,
    ) -> Result<Progress, Error> {
        let message_id = self.session.message_id;
        let v2 = self.session.dialect >= Some(Dialect::Smb300);
        let body = |w: &mut Writer<'_>| {
            let create = w.mark();
            create::Request::file(name).encode(w)?;
            Request { lease_key: lease_key(message_id), v2 }.append(w, create);
            Ok(())
        };
        let reply_max = create::REPLY_HEAD_MAX.saturating_add(lease::REPLY_MAX);
        let member = Member::new(Command::CREATE, reply_max, &body);
        let progress = self.open_by(member, FileId::RELATED, Phase::Opening, stage, out, first)?;
        if progress == Progress::Sent {
            self.shelf.ask(NameDigest::of(name), message_id);
        }
        Ok(progress)
    }

    /// QUERY_INFO, and READ with it for what is wanted of the start of the file.
    fn check(
        &mut self,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
        file_id: FileId,
        name: &str,
        first: u32,
    ) -> Result<Progress, Error> {
        let message_id = self.session.message_id;
        let request = query_info::Request::all_information_of(file_id, name);
        let body = query_body(request);
        let query = query_member(&body, request);
        let progress = self.open_by(query, file_id, Phase::Checking, stage, out, first)?;
        if progress == Progress::Sent {
            self.shelf.check(file_id, message_id);
        }
        Ok(progress)
    }

    /// A reply to what `check` has sent, up to that to QUERY_INFO.
    pub(super) fn checked(
        &mut self,
        header: &Header,
        body: &[u8],
        stage: &mut Stage,
    ) -> Result<Answer<FileId>, Error> {
        if header.command != Command::QUERY_INFO {
            return Ok(Answer::Again); // It came too early to be believed.
        }
        let told = match header.status.has_response(header.command) {
            true => query_info::Response::decode(body)?.output_buffer,
            false => &[],
        };
        let now = Some(told).filter(|told| !told.is_empty()).map(AllInformation::decode).transpose()?;
        let there = now.filter(|now| now.number_of_links > 0 && !now.delete_pending);
        let name = there.and_then(|_| AllInformation::name(told)).map(NameDigest::of_told);
        match (self.shelf.checked(header.message_id, name), there) {
            (Some((handle, true)), Some(now)) => {
                stage.phase = Phase::Opened;
                Ok(Answer::Opened(File { handle, attributes: all_attributes(&now) }))
            }
            (kept, _) => {
                (stage.phase, stage.handle) = (Phase::Again, kept.map(|(file_id, _)| file_id));
                Ok(Answer::Again)
            }
        }
    }

    /// A file was opened: what its server grants is held against what was asked for.
    pub(super) fn opened(
        &mut self,
        message_id: u64,
        response: &create::Response,
        body: &[u8],
    ) -> Result<(), Error> {
        if !self.shelf.has_asked(message_id) {
            return Ok(());
        }
        let Some(granted) = lease::Response::decode(body)? else { return Ok(()) };
        if granted.lease_key != lease_key(message_id) {
            return Err(Error::Misbehaved("a lease under another key than was asked for"));
        }
        if granted.lease_state & !Request::STATE != 0 {
            return Err(Error::Misbehaved("a lease of more than was asked for"));
        }
        if granted.keeps_handle() {
            self.shelf.open(message_id, response.file_id);
        }
        Ok(())
    }

    /// What the server takes back is given back: by CLOSE where nobody uses it, and else by an acknowledgment. What is broken twice,
    /// or was never ours, is not answered.
    pub(super) fn lease_breaks(
        &mut self,
        notification: &Notification,
        out: &mut Outbox<'_, '_>,
    ) -> Result<(), Error> {
        let Notification::Lease { flags, lease_key, new_lease_state, .. } = *notification else {
            return Ok(());
        };
        match message_id(lease_key).map_or(Broken::Nobody, |lease| self.shelf.break_lease(lease)) {
            Broken::Idle => self.let_broken_go(out),
            Broken::InUse if flags & ACK_REQUIRED != 0 => {
                self.acknowledge(&Acknowledgment::Lease { lease_key, lease_state: new_lease_state }, out)
            }
            Broken::InUse | Broken::Nobody => Ok(()),
        }
    }

    /// Closes what is broken and in nobody's use, as far as it can be sent now.
    pub(super) fn let_broken_go(&mut self, out: &mut Outbox<'_, '_>) -> Result<(), Error> {
        // Each turn but the last forgets one.
        while let Some(file_id) = self.shelf.broken() {
            if self.let_go(file_id, out)? != Progress::Sent {
                break;
            }
        }
        Ok(())
    }

    fn let_go(&mut self, file_id: FileId, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let progress = self.send_close(file_id, out)?;
        if progress == Progress::Sent {
            self.shelf.forget(file_id);
        }
        Ok(progress)
    }
}

/// The name of a file in the root of the share. Only these are kept: Samba lets others rename a directory in which files are open, breaks
/// no lease of theirs, and goes on to tell their old names.
fn in_root(path: &str) -> Option<&str> {
    let mut names = create::components(path);
    names.next().filter(|_| names.next().is_none())
}

/// A lease key that no other has: the message id of the CREATE that asks for it.
fn lease_key(message_id: u64) -> [u8; 16] {
    u128::from(message_id).to_le_bytes()
}

fn message_id(lease_key: [u8; 16]) -> Option<u64> {
    u64::try_from(u128::from_le_bytes(lease_key)).ok()
}
