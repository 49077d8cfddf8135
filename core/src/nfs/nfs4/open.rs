//! A file that is opened only because the server takes no special stateid, and CLOSE when it is given back or another such
//! file is opened. There is one at a time, and it lives here and not in the handle: so it can be made anew.
//!
//! From minor version 1 on its file handle is opened before the first READ. Minor version 0 opens by name (`open_by_name`)
//! while a path is walked: what is not open, or no longer, is not read, and `Expired` says that it is to be opened again.

use super::Nfs4;
use super::recover::Standing;
use super::sent::{Access, Sent, What};
use crate::error::{Error, Refusal};
use crate::nfs::v4::{Fh, Op, Results, Stateid, Status, close, open, open_confirm};
use crate::outgoing::Outbox;
use crate::protocol::{Answer, Progress};
use crate::segment::Extent;

/// The file that is open, or being opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub file: Fh,
    pub state: State,
    /// The number of the owner's next request (4.0).
    pub seqid: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    Opening,
    /// OPEN_CONFIRM is to follow (4.0).
    Unconfirmed(Stateid),
    Open(Stateid),
}

impl Nfs4<'_> {
    /// By which stateid a file is read. `None` if it is to be opened first.
    pub(super) fn stateid(&self, file: Fh) -> Option<Stateid> {
        match (self.access, self.opened) {
            (Access::Opened, Some(Opened { file: open, state: State::Open(stateid), .. }))
                if open == file =>
            {
                Some(stateid)
            }
            _ => self.special_stateid(),
        }
    }

    /// The one by which any file is read. `None` if each is to be opened.
    pub(super) const fn special_stateid(&self) -> Option<Stateid> {
        match self.access {
            Access::Bypass => Some(Stateid::BYPASS),
            Access::Anonymous => Some(Stateid::ANONYMOUS),
            Access::Opened => None,
        }
    }

    /// Opens it for an operation that asks for `extent` again after that.
    pub(super) fn open(
        &mut self,
        file: Fh,
        extent: Extent,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        if !out.is_quiet() {
            return Ok(Progress::Wait);
        }
        match self.opened.filter(|opened| opened.file == file) {
            Some(Opened { state: State::Unconfirmed(open_stateid), seqid, .. }) => {
                let sent = Sent::new(What::OpenConfirm, false, 0);
                return self.send(sent, Some(file), extent, out, &|ops| {
                    open_confirm::Args { open_stateid, seqid }.encode(ops);
                    Ok(())
                });
            }
            _ if self.minor == 0 => {
                return Err(Error::Refused(Status::BAD_STATEID.refusal(Op::READ.name())));
            }
            None if self.close(out)? != Progress::Complete => return Ok(Progress::Wait),
            _ => {}
        }
        // An owner of its own, as for a map.
        let owner = self.xid.to_be_bytes();
        let progress = self.send(Sent::new(What::FileOpen, false, 0), Some(file), extent, out, &|ops| {
            open::Args::v41(&owner, open::Claim::Fh).encode(ops)
        })?;
        if progress == Progress::Sent {
            self.opened = Some(Opened { file, state: State::Opening, seqid: 0 });
        }
        Ok(progress)
    }

    /// The reply to OPEN or OPEN_CONFIRM, whoever awaits it.
    pub(super) fn file_opened(&mut self, sent: Sent, results: &mut Results<'_>) -> Result<Answer<Fh>, Error> {
        results.take(sent.put())?;
        let stateid = match sent.what {
            What::OpenConfirm => open_confirm::ResOk::decode(results.take(Op::OPEN_CONFIRM)?)?.open_stateid,
            _ => open::ResOk::decode(results.take(Op::OPEN)?)?.stateid.latest(),
        };
        if let Some(opened) = &mut self.opened {
            opened.state = State::Open(stateid);
            opened.seqid = opened.seqid.wrapping_add(u32::from(self.minor == 0));
        }
        results.end().map(|()| Answer::Again)
    }

    /// A file is given back.
    pub(super) fn give_back(&mut self, file: Fh, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        match self.opened {
            Some(opened) if opened.file == file => self.close(out),
            _ => Ok(Progress::Complete),
        }
    }

    /// Closes what is open, if anything. Nobody waits for the reply. What was never confirmed the server forgets by itself.
    pub(super) fn close(&mut self, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        // With its session gone it is no more than its name; and what is being opened can only be closed then.
        let lost = self.minor > 0 && self.standing < Standing::Session;
        let opening = matches!(self.opened, Some(Opened { state: State::Opening, .. }));
        if self.opened.is_some() && (lost || opening) && !out.is_quiet() {
            return Ok(Progress::Wait);
        }
        let Some(Opened { file, state: State::Open(open_stateid), seqid }) = self.opened else {
            self.opened = None;
            return Ok(Progress::Complete);
        };
        if lost {
            self.opened = None;
            return Ok(Progress::Complete);
        }
        let sent = Sent::new(What::Close, false, 0);
        let progress = self.send(sent, Some(file), Extent::default(), out, &|ops| {
            close::Args { seqid, open_stateid }.encode(ops);
            Ok(())
        })?;
        if progress == Progress::Sent {
            self.opened = None;
        }
        Ok(progress)
    }

    /// A READ's stateid was refused: the next READ has another. Those in flight will come here too.
    pub(super) fn stateid_refused(&mut self, access: Access, refusal: Refusal) -> Result<Answer<Fh>, Error> {
        match access {
            Access::Bypass => self.access = self.access.max(Access::Anonymous),
            Access::Anonymous => self.access = Access::Opened,
            Access::Opened if self.opened.take().is_some() => self.recovers(refusal)?,
            Access::Opened => {}
        }
        Ok(Answer::Again)
    }
}

/// What a server says of a stateid that it does not take, or no longer.
pub(super) const fn refuses_stateid(status: Status) -> bool {
    matches!(
        status,
        Status::BAD_STATEID
            | Status::STALE_STATEID
            | Status::OLD_STATEID
            | Status::EXPIRED
            | Status::ADMIN_REVOKED
    )
}
