//! Minor version 0 where the server takes no special stateid: SETCLIENTID and SETCLIENTID_CONFIRM once, and at the end of a
//! walk OPEN of the last name in its directory (RFC 7530 16.16). Every OPEN has an owner of its own, whose requests count
//! from 1.
//!
//! The lease is renewed by every READ, and by RENEW where the caller asks for it (Keepalive): what is not read for longer than the lease
//! is to be opened again.

use super::Nfs4;
use super::calls::{OPEN, Phase, Stage, lookups};
use super::open::{Opened, State};
use super::sent::{Access, Sent, What};
use crate::error::{Error, Refusal};
use crate::nfs::path::components;
use crate::nfs::v4::{Fh, Op, Results, Status, getattr, getfh, open, setclientid, setclientid_confirm};
use crate::outgoing::Outbox;
use crate::protocol::{Answer, File, Progress};
use crate::segment::Extent;

/// Whether the server knows the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    Stranger,
    /// What SETCLIENTID_CONFIRM is to bring back.
    Unconfirmed([u8; 8]),
    Confirmed,
}

impl Nfs4<'_> {
    /// Whether files are opened at the end of a walk.
    pub(super) const fn opens_by_name(&self) -> bool {
        self.minor == 0 && matches!(self.access, Access::Opened)
    }

    /// Opens what the last COMPOUND has walked to, `stage.link` names behind where that began.
    pub(super) fn open_by_name(
        &mut self,
        path: &str,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        // One at a time: the numbers of one client's opens are in one order, and there is room to remember one.
        if !out.is_quiet() {
            return Ok(Progress::Wait);
        }
        if self.naming != Naming::Confirmed {
            return self.introduce(out);
        }
        match self.close(out)? {
            Progress::Complete => {}
            progress => return Ok(progress),
        }
        let (at, dirs, clientid) = (stage.at, stage.link.saturating_sub(1), self.client.0);
        let name = components(path, at).nth(dirs.into()).map_or("", |(name, _)| name);
        let owner = self.xid.to_be_bytes();
        let sent = Sent::new(What::NameOpen, stage.found.is_none(), dirs);
        let progress = self.send(sent, stage.found, Extent::default(), out, &|ops| {
            lookups(path, at, dirs, ops)?;
            open::Args::v40(1, clientid, &owner, name.as_bytes()).encode(ops)?;
            getfh::Args.encode(ops);
            getattr::Args { attr_request: OPEN }.encode(ops);
            Ok(())
        })?;
        if progress == Progress::Sent {
            stage.phase = Phase::Asked;
        }
        Ok(progress)
    }

    fn introduce(&mut self, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let (verifier, id, clientid) = (self.config.verifier, self.config.owner, self.client.0);
        match self.naming {
            Naming::Unconfirmed(setclientid_confirm) => {
                let sent = Sent::new(What::ConfirmClientid, false, 0);
                self.send(sent, None, Extent::default(), out, &|ops| {
                    setclientid_confirm::Args { clientid, setclientid_confirm }.encode(ops);
                    Ok(())
                })
            }
            _ => {
                let sent = Sent::new(What::SetClientid, false, 0);
                self.send(sent, None, Extent::default(), out, &|ops| {
                    setclientid::Args { verifier, id }.encode(ops)
                })
            }
        }
    }

    /// The reply to SETCLIENTID or SETCLIENTID_CONFIRM.
    pub(super) fn introduced(&mut self, what: What, results: &mut Results<'_>) -> Result<(), Error> {
        if what == What::SetClientid {
            let result = setclientid::ResOk::decode(results.take(Op::SETCLIENTID)?)?;
            self.client.0 = result.clientid;
            self.naming = Naming::Unconfirmed(result.setclientid_confirm);
        } else {
            results.take(Op::SETCLIENTID_CONFIRM)?;
            self.naming = Naming::Confirmed;
        }
        results.end()
    }

    /// The results behind the LOOKUPs. What the caller has dropped is closed before another is opened.
    pub(super) fn named_file_opened(&mut self, results: &mut Results<'_>) -> Result<Answer<Fh>, Error> {
        let open = open::ResOk::decode(results.take(Op::OPEN)?)?;
        let handle = getfh::ResOk::decode(results.take(Op::GETFH)?)?.object;
        let state = match open.must_confirm() {
            true => State::Unconfirmed(open.stateid),
            false => State::Open(open.stateid),
        };
        self.opened = Some(Opened { file: handle, state, seqid: 2 });
        let known = getattr::ResOk::decode(results.take(Op::GETATTR)?)?.obj_attributes;
        results.end()?;
        self.reads_up_to(known.maxread)?;
        Ok(Answer::Opened(File { handle, attributes: known.stat()? }))
    }

    /// The server has forgotten the client, or the refusal stands.
    pub(super) fn is_stranger_again(&mut self, refusal: Refusal, what: What) -> Result<(), Error> {
        if !forgets_client(refusal) || !matches!(what, What::ConfirmClientid | What::NameOpen) {
            return Err(Error::Refused(refusal));
        }
        self.naming = Naming::Stranger;
        self.recovers(refusal)
    }
}

/// Whether that is what a refusal says.
pub(super) fn forgets_client(refusal: Refusal) -> bool {
    matches!(Status(refusal.code), Status::STALE_CLIENTID | Status::EXPIRED)
}
