//! A map of a file: OPEN, SEEK, CLOSE. Only minor version 2 has SEEK, and it is the only thing that is opened for, since
//! servers take no special stateid there. An open that the server has lost is made anew.
//!
//! Every COMPOUND looks for a hole and for data from where the last has ended: one of the two is there, and the other
//! says how far that goes.
//!
//! Every OPEN has an owner of its own: those of one owner share a stateid, and a CLOSE that nobody waits for would end
//! the next OPEN too (seen on Ganesha 4.3). So a map that is dropped leaves its file open until the session ends.

use super::Nfs4;
use super::calls::Stage;
use super::open::refuses_stateid;
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
    from: u64,
    end: u64,
    /// What SEEK says has no sense.
    useless: bool,
}

impl Nfs4<'_> {
    pub(super) fn map(
        &mut self,
        file: Fh,
        (from, end): (u64, u64),
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        let over = from == end || stage.survey.useless;
        let what = match stage.survey.open {
            _ if self.minor < 2 => return Ok(Progress::Complete),
            None if over => return Ok(Progress::Complete),
            None => What::MapOpen,
            Some(_) if over => What::Close,
            Some(_) => What::Seek,
        };
        let owner = self.xid.to_be_bytes();
        let stateid = stage.survey.open.unwrap_or(Stateid::CURRENT);
        let progress = self.send(Sent::new(what, false, 0), Some(file), Extent::default(), out, &|ops| {
            match what {
                What::MapOpen => open::Args::v41(&owner, open::Claim::Fh).encode(ops)?,
                What::Close => close::Args { seqid: 0, open_stateid: stateid }.encode(ops),
                _ => {
                    // That there is no data behind is an error to some, and ends the COMPOUND: it comes last.
                    seek::Args { stateid, offset: from, what: seek::What::Hole }.encode(ops);
                    seek::Args { stateid, offset: from, what: seek::What::Data }.encode(ops);
                }
            }
            Ok(())
        })?;
        if progress == Progress::Sent {
            (stage.survey.from, stage.survey.end) = (from, end);
            stage.survey.open = stage.survey.open.filter(|_| what != What::Close);
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
        if sent.what == What::MapOpen {
            survey.open = Some(open::ResOk::decode(results.take(Op::OPEN)?)?.stateid.latest());
            return results.end().map(|()| Answer::Nothing);
        }
        let hole = match survey.found(seek::What::Hole, results) {
            Err(Error::Refused(refusal)) if refuses_stateid(Status(refusal.code)) => {
                survey.open = None;
                return self.recovers(refusal).map(|()| Answer::Again);
            }
            found => found?,
        };
        // Where the file has become shorter, there is no other result.
        let data = if hole.is_some() { survey.found(seek::What::Data, results)? } else { None };
        results.end()?;
        Ok(survey.told(hole, data))
    }
}

impl Survey {
    /// Where a SEEK has found what it looked for.
    fn found(&self, what: seek::What, results: &mut Results<'_>) -> Result<Option<u64>, Error> {
        match results.next(Op::SEEK)? {
            Status::OK => seek::ResOk::decode(results.reader())?.found(what, self.from),
            Status::NXIO => Ok(None),
            status => Err(Error::Refused(status.refusal(Op::SEEK.name()))),
        }
    }

    /// What follows from where the next hole and the next data are. A place that is both is neither to be believed.
    fn told(&mut self, hole: Option<u64>, data: Option<u64>) -> Answer<Fh> {
        match (hole, data) {
            (Some(hole), _) if hole > self.from => Answer::Run { known: hole, hole: false },
            (Some(_), Some(data)) if data > self.from => Answer::Run { known: data, hole: true },
            (Some(_), Some(_)) => {
                self.useless = true;
                Answer::Nothing
            }
            (_, None) | (None, _) => Answer::Run { known: self.end, hole: true },
        }
    }
}
