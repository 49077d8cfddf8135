//! From the first message to a usable server: the minor version, from 1 on a client and a session, and the limits.

use super::calls::{Phase, Stage};
use super::open_by_name::Naming;
use super::recover::Standing;
use super::sent::{Sent, What};
use super::session::{SLOTS_MAX, Session};
use super::{MINOR_MAX, Nfs4, OPS_ASKED, OPS_MIN, READ_LEN_MAX, READ_LEN_UNTOLD, read_heads};
use crate::error::Error;
use crate::nfs::v4::create_session::{self, ChannelAttrs};
use crate::nfs::v4::{
    Op, Results, Status, destroy_clientid, destroy_session, exchange_id, fattr4, getattr, reclaim_complete,
};
use crate::outgoing::Outbox;
use crate::protocol::Progress;
use crate::segment::Extent;

/// What a session is asked for beside the longest READ: the heads of its reply.
const RESPONSE_HEADS_ASKED: u32 = 4096;

/// What a server is asked to keep of a reply. We ask it to keep none.
const CACHED_ASKED: u32 = 2048;

/// The least that servers take for the longest request.
const REQUEST_LEN_ASKED_MIN: usize = 4096;

/// What READs are a multiple of, if the session makes them shorter than the server's disk would.
const READ_LEN_GRANULE: u32 = 4096;

impl Nfs4<'_> {
    pub(super) fn connect(&mut self, stage: &mut Stage, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        if stage.phase == Phase::Start {
            // What is in flight was asked in the session before.
            if !out.is_quiet() {
                return Ok(Progress::Wait);
            }
            self.begin()?;
            stage.phase = Phase::Greeting;
        }
        match stage.phase {
            Phase::Greeting => self.greet(Extent::default(), out),
            _ => Ok(Progress::Complete),
        }
    }

    /// The next message on the way to a session, for whatever operation: one that reads asks for `extent` again after it.
    pub(super) fn greet(&mut self, extent: Extent, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        if !out.is_quiet() {
            return Ok(Progress::Wait);
        }
        match self.standing {
            Standing::Stranger => self.send_exchange_id(extent, out),
            Standing::Client => self.send_create_session(extent, out),
            Standing::Session => self.send_limits(extent, out),
            Standing::Ready => Ok(Progress::Complete),
        }
    }

    /// DESTROY_SESSION, then DESTROY_CLIENTID. What the server says to them does not matter.
    pub(super) fn disconnect(&mut self, stage: &Stage, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        if self.standing == Standing::Stranger || stage.phase == Phase::Ended {
            return Ok(Progress::Complete);
        }
        if !out.is_quiet() {
            return Ok(Progress::Wait);
        }
        match self.close(out)? {
            Progress::Complete if self.minor > 0 => {}
            // Minor version 0 has no more to say.
            progress => return Ok(progress),
        }
        let (clientid, sessionid) = (self.client.0, self.session.as_ref().map(Session::id));
        let what = if sessionid.is_some() { What::DestroySession } else { What::DestroyClientid };
        self.send(Sent::new(what, false, 0), None, Extent::default(), out, &|ops| {
            match sessionid {
                Some(sessionid) => destroy_session::Args { sessionid }.encode(ops),
                None => destroy_clientid::Args { clientid }.encode(ops),
            }
            Ok(())
        })
    }

    /// Whatever the server said.
    pub(super) fn destroyed(&mut self, what: What) {
        (self.session, self.read_len_max) = (None, 0);
        self.standing = if what == What::DestroySession { Standing::Client } else { Standing::Stranger };
    }

    fn begin(&mut self) -> Result<(), Error> {
        let minor = self.config.minor.unwrap_or(MINOR_MAX);
        if minor > MINOR_MAX {
            return Err(Error::Invalid("there is no such minor version of NFSv4"));
        }
        (self.minor, self.session, self.opened, self.naming) = (minor, None, None, Naming::Stranger);
        (self.recoveries, self.read_len_max) = (0, 0);
        self.standing = if minor == 0 { Standing::Session } else { Standing::Stranger };
        Ok(())
    }

    fn send_exchange_id(&mut self, extent: Extent, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let args = exchange_id::Args {
            verifier: self.config.verifier,
            ownerid: self.config.owner,
            flags: exchange_id::SUPP_MOVED_REFER | exchange_id::USE_NON_PNFS,
        };
        let sent = Sent::new(What::ExchangeId, false, 0);
        self.send(sent, None, extent, out, &|ops| args.encode(ops))
    }

    fn send_create_session(&mut self, extent: Extent, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let fore = asked(out.lent().slots, out.lent().tx);
        let (clientid, sequence) = self.client;
        let args = create_session::Args { clientid, sequence, fore, back: ChannelAttrs::BACK };
        let sent = Sent::new(What::CreateSession, false, 0);
        self.send(sent, None, extent, out, &|ops| {
            args.encode(ops);
            Ok(())
        })
    }

    fn send_limits(&mut self, extent: Extent, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let session = self.session.is_some();
        self.send(Sent::new(What::Limits, true, 0), None, extent, out, &|ops| {
            getattr::Args { attr_request: fattr4::LIMITS }.encode(ops);
            if session {
                // Last: a server that knows the client already refuses it, and nothing is lost then.
                reclaim_complete::Args { one_fs: false }.encode(ops);
            }
            Ok(())
        })
    }

    /// A server that does not have the minor version is asked for the one below, unless it was chosen.
    pub(super) fn exchanged(&mut self, results: &mut Results<'_>) -> Result<(), Error> {
        if results.status() == Status::MINOR_VERS_MISMATCH && self.config.minor.is_none() {
            // Minor version 0 has no EXCHANGE_ID, so there is one below.
            self.minor = self.minor.saturating_sub(1);
            if self.minor == 0 {
                self.standing = Standing::Session;
            }
            return Ok(());
        }
        let result = exchange_id::ResOk::decode(results.take(Op::EXCHANGE_ID)?)?;
        (self.client, self.standing) = ((result.clientid, result.sequenceid), Standing::Client);
        // Another client has opened nothing.
        self.opened = None;
        results.end()
    }

    pub(super) fn created(&mut self, results: &mut Results<'_>, out: &Outbox<'_, '_>) -> Result<(), Error> {
        let result = create_session::ResOk::decode(results.take(Op::CREATE_SESSION)?)?;
        let session = Session::new(&result, &asked(out.lent().slots, out.lent().tx));
        if session.ops_max < OPS_MIN {
            return Err(Error::Incompatible("the session takes too few operations at a time"));
        }
        (self.session, self.standing) = (Some(session), Standing::Session);
        self.client.1 = self.client.1.wrapping_add(1);
        results.end()
    }

    pub(super) fn limited(&mut self, results: &mut Results<'_>) -> Result<(), Error> {
        results.take(Op::PUTROOTFH)?;
        let known = getattr::ResOk::decode(results.take(Op::GETATTR)?)?.obj_attributes;
        if self.session.is_some() {
            match results.next(Op::RECLAIM_COMPLETE)? {
                Status::OK | Status::COMPLETE_ALREADY => {}
                status => return Err(Error::Refused(status.refusal(Op::RECLAIM_COMPLETE.name()))),
            }
        }
        results.end()?;
        self.lease_seconds = known.lease_time;
        self.reads_up_to(known.maxread.or(Some(READ_LEN_UNTOLD.into())))?;
        self.standing = Standing::Ready;
        Ok(())
    }

    /// The longest READ changes to that of another file system, if that says so.
    pub(super) fn reads_up_to(&mut self, maxread: Option<u64>) -> Result<(), Error> {
        let response_max = self.session.as_ref().map(|session| session.response_max);
        if let Some(maxread) = maxread {
            self.read_len_max = read_len_max(maxread, response_max)?;
        }
        Ok(())
    }
}

/// What a session is asked for, with so many slots and so many bytes to send lent.
fn asked(slots: usize, tx: usize) -> ChannelAttrs {
    ChannelAttrs {
        // Far below 32 bits.
        maxrequestsize: tx.clamp(REQUEST_LEN_ASKED_MIN, READ_LEN_MAX as usize) as u32,
        maxresponsesize: READ_LEN_MAX.saturating_add(RESPONSE_HEADS_ASKED),
        maxresponsesize_cached: CACHED_ASKED,
        maxoperations: OPS_ASKED,
        maxrequests: slots.clamp(1, SLOTS_MAX as usize) as u32,
    }
}

/// The longest READ, from what the server says of it and of the session's replies.
fn read_len_max(maxread: u64, response_max: Option<u32>) -> Result<u32, Error> {
    let told = maxread.min(READ_LEN_MAX.into());
    let fits = match response_max {
        // With the padding of the data.
        Some(max) => whole_granules(max.saturating_sub(read_heads(true) as u32) & !3),
        None => READ_LEN_MAX,
    };
    match told.min(fits.into()) as u32 {
        0 => Err(Error::Incompatible("the server's limit of a READ is 0 bytes")),
        len => Ok(len),
    }
}

fn whole_granules(len: u32) -> u32 {
    if len < READ_LEN_GRANULE { len } else { len - len % READ_LEN_GRANULE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_follow_the_server_the_session_and_the_longest_frame() {
        assert_eq!(read_len_max(65536, None), Ok(65536));
        assert_eq!(read_len_max(64 << 20, None), Ok(READ_LEN_MAX));
        assert_eq!(read_len_max(u64::MAX, Some(1 << 20)), Ok((1 << 20) - 4096));
        assert_eq!(read_len_max(1 << 20, Some((1 << 20) + 4096)), Ok(1 << 20));
        assert_eq!(read_len_max(1 << 20, Some(1026)), Ok(1026 - 104 - 2));
        const { assert!(READ_LEN_MAX + RESPONSE_HEADS_ASKED < crate::limits::FRAME_LEN_MAX) };
    }

    #[test]
    fn a_server_that_reads_nothing_is_refused() {
        assert!(matches!(read_len_max(0, None), Err(Error::Incompatible(_))));
        assert!(matches!(read_len_max(1, Some(100)), Err(Error::Incompatible(_))));
    }

    #[test]
    fn a_session_is_asked_for_what_was_lent_within_bounds() {
        let attrs = asked(8, 16384);
        assert_eq!((attrs.maxrequests, attrs.maxrequestsize), (8, 16384));
        let attrs = asked(1000, 100);
        assert_eq!((attrs.maxrequests, attrs.maxrequestsize), (SLOTS_MAX, 4096));
    }
}
