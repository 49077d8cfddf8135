//! What is done about a refusal that is not about the file: the same is asked again after a pause, or by another session
//! or another client. So whatever operation is under way goes on when the server has forgotten these, as long as the connection
//! lasts.

use super::Nfs4;
use super::calls::Stage;
use super::open_by_name::{Naming, forgets_client};
use super::sent::{Sent, What};
use crate::error::{Error, Refusal};
use crate::limits::RECOVERIES_MAX;
use crate::nfs::v4::{Fh, Op, Status};
use crate::outgoing::Outbox;
use crate::protocol::Answer;

/// How far client and server have come with each other. Minor version 0 has only the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// The server does not know the client: EXCHANGE_ID.
    Stranger,
    /// There is no session: CREATE_SESSION.
    Client,
    /// The client has not said that it reclaims nothing: RECLAIM_COMPLETE.
    Session,
    Ready,
}

impl Nfs4<'_> {
    /// The same is to be asked again, or the refusal stands.
    pub(super) fn mend(
        &mut self,
        refusal: Refusal,
        sent: Sent,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Answer<Fh>, Error> {
        if Status(refusal.code).is_transient() {
            out.pause(refusal)?;
            let opens = matches!(sent.what, What::FileOpen | What::MapOpen);
            if opens && Status(refusal.code) == Status::GRACE {
                // RECLAIM_COMPLETE, for which nobody waits, may have come later or not been taken.
                self.standing = self.standing.min(Standing::Session);
            }
        } else if sent.what == What::Keepalive {
            self.forgets(refusal);
            return Err(Error::Refused(refusal));
        } else if self.minor == 0 {
            self.is_stranger_again(refusal, sent.what)?;
        } else {
            let standing = self.falls_to(refusal, sent.what).ok_or(Error::Refused(refusal))?;
            // What was in flight together has lost one session.
            let counts = self.standing == Standing::Ready || !sent.what.in_session();
            self.standing = self.standing.min(standing);
            if counts {
                self.recovers(refusal)?;
            }
        }
        stage.again(sent.what);
        Ok(Answer::Again)
    }

    /// What Keepalive was refused with: who asks next makes anew what the server has forgotten.
    fn forgets(&mut self, refusal: Refusal) {
        match self.falls_to(refusal, What::Keepalive) {
            Some(standing) if self.minor > 0 => self.standing = self.standing.min(standing),
            _ if forgets_client(refusal) => self.naming = Naming::Stranger,
            _ => {}
        }
    }

    /// What has to be made anew after a refusal, if that is why.
    fn falls_to(&self, refusal: Refusal, what: What) -> Option<Standing> {
        match Status(refusal.code) {
            Status::STALE_CLIENTID => Some(Standing::Stranger),
            Status::EXPIRED if refusal.during == Op::SEQUENCE.name() => Some(Standing::Stranger),
            Status::SEQ_MISORDERED if what == What::CreateSession => Some(Standing::Stranger),
            Status::BADSESSION
            | Status::DEADSESSION
            | Status::BADSLOT
            | Status::BAD_HIGH_SLOT
            | Status::CONN_NOT_BOUND_TO_SESSION
            | Status::SEQ_MISORDERED
            | Status::SEQ_FALSE_RETRY
            | Status::RETRY_UNCACHED_REP => Some(Standing::Client),
            _ => None,
        }
    }

    /// Something is made anew because of a refusal, unless it was too often without anything gained.
    pub(super) fn recovers(&mut self, refusal: Refusal) -> Result<(), Error> {
        self.recoveries = self.recoveries.saturating_add(1);
        if self.recoveries > RECOVERIES_MAX {
            // For the next operation.
            self.recoveries = 0;
            return Err(Error::Refused(refusal));
        }
        Ok(())
    }
}
