//! A map of a file: OPEN, SEEK for data and for holes in turn, CLOSE. Only minor version 2 has SEEK, and it is the only
//! thing that is opened for, since servers take no special stateid there.
//!
//! Every OPEN has an owner of its own: those of one owner share a stateid, and a CLOSE that nobody waits for would end
//! the next OPEN too (seen on Ganesha 4.3). So a map that is dropped leaves its file open until the session ends.

use super::Nfs4;
use super::calls::Stage;
use super::sent::{Sent, What};
use crate::error::Error;
use crate::nfs::v4::{Fh, Op, Results, Stateid, Status, close, open, seek};
use crate::outgoing::Outbox;
use crate::protocol::{Answer, Progress};
use crate::segment::Extent;

/// Where a map stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Survey {
    open: Option<Stateid>,
    /// What is looked for is a hole, since data was found; or else data.
    in_data: bool,
    from: u64,
    end: u64,
}

impl Nfs4<'_> {
    pub(super) fn map(
        &mut self,
        file: Fh,
        (from, end): (u64, u64),
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        if self.minor < 2 {
            return Ok(Progress::Complete);
        }
        if out.in_flight() > 0 {
            return Ok(Progress::Wait);
        }
        let what = match stage.survey {
            Survey { open: None, .. } if from == end => return Ok(Progress::Complete),
            Survey { open: None, .. } => What::MapOpen,
            Survey { open: Some(_), .. } if from == end => What::MapClose,
            Survey { in_data: false, .. } => What::SeekData,
            Survey { in_data: true, .. } => What::SeekHole,
        };
        let owner = self.xid.to_be_bytes();
        let stateid = stage.survey.open.unwrap_or(Stateid::CURRENT);
        let progress = self.send(Sent::new(what, false, 0), Some(file), Extent::default(), out, &|ops| {
            match what {
                What::MapOpen => open::Args::v41(&owner, open::Claim::Fh).encode(ops)?,
                What::MapClose => close::Args { seqid: 0, open_stateid: stateid }.encode(ops),
                What::SeekHole => seek::Args { stateid, offset: from, what: seek::What::Hole }.encode(ops),
                _ => seek::Args { stateid, offset: from, what: seek::What::Data }.encode(ops),
            }
            Ok(())
        })?;
        if progress == Progress::Sent {
            (stage.survey.from, stage.survey.end) = (from, end);
            stage.survey.open = stage.survey.open.filter(|_| what != What::MapClose);
        }
        Ok(progress)
    }

    /// The reply to OPEN or SEEK.
    pub(super) fn surveyed(
        &mut self,
        sent: Sent,
        results: &mut Results<'_>,
        survey: &mut Survey,
    ) -> Result<Answer<Fh>, Error> {
        results.take(sent.put())?;
        let looks_for = match sent.what {
            What::SeekData => seek::What::Data,
            What::SeekHole => seek::What::Hole,
            _ => {
                survey.open = Some(open::ResOk::decode(results.take(Op::OPEN)?)?.stateid.latest());
                return results.end().map(|()| Answer::Nothing);
            }
        };
        let found = match results.next(Op::SEEK)? {
            Status::OK => seek::ResOk::decode(results.reader())?.found(looks_for, survey.from)?,
            // There is no data behind, or the file has become shorter.
            Status::NXIO => None,
            status => return Err(Error::Refused(status.refusal(Op::SEEK.name()))),
        };
        results.end()?;
        survey.found(looks_for, found)
    }
}

impl Survey {
    fn found(&mut self, what: seek::What, at: Option<u64>) -> Result<Answer<Fh>, Error> {
        match (what, at) {
            (_, None) => Ok(Answer::Run { known: self.end, hole: true }),
            (seek::What::Data, Some(at)) => {
                self.in_data = true;
                let new = at > self.from;
                Ok(if new { Answer::Run { known: at, hole: true } } else { Answer::Nothing })
            }
            (seek::What::Hole, Some(at)) if at == self.from => {
                Err(Error::Misbehaved("a hole was found where data was found before"))
            }
            (seek::What::Hole, Some(at)) => {
                self.in_data = false;
                Ok(Answer::Run { known: at, hole: false })
            }
        }
    }
}
