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
    Op, Ops, Results, Status, destroy_clientid, destroy_session, exchange_id, fattr4, getattr,
    reclaim_complete, renew,
};
use crate::outgoing::Outbox;
use crate::protocol::Progress;
use crate::segment::Extent;

/// What a session is asked for beside the longest READ: the heads of its reply.
const RESPONSE_HEADS_ASKED: u32 = 4096;

/// The longest reply that is to be kept (RFC 8881 18.36.3). None is asked to be (`sa_cachethis`), and of longer ones nfsd gives
/// fewer slots.
const CACHED_ASKED: u32 = 0;

/// The least that servers take for the longest request.
const REQUEST_LEN_ASKED_MIN: usize = 4096;

/// What READs are a multiple of, if the session makes them shorter than the server's disk would.
const READ_LEN_GRANULE: u32 = 4096;

impl Nfs4<'_> {
    /// What every ask does first, and then what the server says of itself, which no other ask needs to know.
    pub(super) fn connect(&mut self, stage: &Stage, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        if self.limits_known || stage.phase == Phase::Ended {
            return Ok(Progress::Complete);
        }
        if out.in_flight() > 0 {
            return Ok(Progress::Wait);
        }
        match self.greet(Extent::default(), out)? {
            Progress::Complete => self.send_limits(out),
            progress => Ok(progress),
        }
    }

    /// The next message on the way to a session, for whatever operation: one that reads asks for `extent` again after it.
    /// `Complete` if there is none. Minor version 0 needs nothing.
    pub(super) fn greet(&mut self, extent: Extent, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        match self.standing {
            Standing::Ready => Ok(Progress::Complete),
            Standing::Session => match self.send_reclaim_complete(extent, out)? {
                // What is asked goes with it, unless it took the place of what is read.
                Progress::Sent if extent.len == 0 => Ok(Progress::Complete),
                progress => Ok(progress),
            },
            // What is in flight was asked in the session before.
            _ if !out.is_quiet() => Ok(Progress::Wait),
            Standing::Client => self.send_create_session(extent, out),
            Standing::Stranger if self.minor > MINOR_MAX => {
                Err(Error::Invalid("there is no such minor version of NFSv4"))
            }
            Standing::Stranger => self.send_exchange_id(extent, out),
        }
    }

    /// SEQUENCE alone; at minor version 0 RENEW of the client, or the cheapest COMPOUND if the server knows none.
    pub(super) fn keep_alive(
        &mut self,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        let is_known = if self.minor == 0 { self.heard } else { self.standing >= Standing::Session };
        if stage.phase != Phase::Start || !is_known {
            return Ok(Progress::Complete);
        }
        let clientid = (self.naming == Naming::Confirmed).then_some(self.client.0);
        let sent = Sent::new(What::Keepalive, self.minor == 0 && clientid.is_none(), 0);
        let progress = self.send(sent, None, Extent::default(), out, &|ops| {
            if let Some(clientid) = clientid {
                renew::Args { clientid }.encode(ops);
            }
            Ok(())
        })?;
        if progress == Progress::Sent {
            stage.phase = Phase::Asked;
        }
        Ok(progress)
    }

    /// DESTROY_SESSION, and DESTROY_CLIENTID behind it. Nobody waits for the replies: what the server says does not matter.
    pub(super) fn disconnect(&mut self, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        if self.standing == Standing::Stranger {
            return Ok(Progress::Complete);
        }
        match self.close(out)? {
            Progress::Complete if self.minor > 0 => {}
            // Minor version 0 has no more to say.
            progress => return Ok(progress),
        }
        let session = self.session.as_ref().filter(|_| self.standing > Standing::Client);
        match session.map(Session::id) {
            // One that is in use is not destroyed.
            Some(_) if !out.is_quiet() => Ok(Progress::Wait),
            Some(sessionid) => self.send_farewell(What::DestroySession, Standing::Client, out, &|ops| {
                destroy_session::Args { sessionid }.encode(ops);
                Ok(())
            }),
            None => {
                let clientid = self.client.0;
                self.send_farewell(What::DestroyClientid, Standing::Stranger, out, &|ops| {
                    destroy_clientid::Args { clientid }.encode(ops);
                    Ok(())
                })
            }
        }
    }

    fn send_farewell(
        &mut self,
        what: What,
        standing: Standing,
        out: &mut Outbox<'_, '_>,
        encode: &dyn Fn(&mut Ops<'_, '_>) -> Result<(), Error>,
    ) -> Result<Progress, Error> {
        let progress = self.send(Sent::new(what, false, 0), None, Extent::default(), out, encode)?;
        if progress == Progress::Sent {
            // At once: what is asked next must not go after it.
            (self.limits_known, self.standing) = (false, standing);
        }
        Ok(progress)
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

    /// In front of what is asked first, and not waited for: only an OPEN is refused before it, which is asked again then. Where
    /// `extent` is read, of which the slot may be the last one, it comes alone.
    fn send_reclaim_complete(&mut self, extent: Extent, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let sent = Sent::new(What::ReclaimComplete, false, 0);
        let progress = self.send(sent, None, extent, out, &|ops| {
            reclaim_complete::Args { one_fs: false }.encode(ops);
            Ok(())
        })?;
        if progress == Progress::Sent {
            self.standing = Standing::Ready;
        }
        Ok(progress)
    }

    fn send_limits(&mut self, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        self.send(Sent::new(What::Limits, true, 0), None, Extent::default(), out, &|ops| {
            getattr::Args { attr_request: fattr4::LIMITS }.encode(ops);
            Ok(())
        })
    }

    /// A server that does not have the minor version is asked for the one below, unless it was chosen.
    pub(super) fn exchanged(&mut self, results: &mut Results<'_>) -> Result<(), Error> {
        if results.status() == Status::MINOR_VERS_MISMATCH && self.config.minor.is_none() {
            // Minor version 0 has no EXCHANGE_ID, so there is one below.
            self.minor = self.minor.saturating_sub(1);
            if self.minor == 0 {
                self.standing = Standing::Ready;
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
        self.read_len_max = read_len_max(READ_LEN_UNTOLD.into(), Some(session.response_max))?;
        (self.session, self.standing) = (Some(session), Standing::Session);
        self.client.1 = self.client.1.wrapping_add(1);
        results.end()
    }

    /// A server that knows the client already refuses it, and nothing is lost then.
    pub(super) fn reclaimed(&mut self, results: &mut Results<'_>) -> Result<(), Error> {
        match results.next(Op::RECLAIM_COMPLETE)? {
            Status::OK | Status::COMPLETE_ALREADY => results.end(),
            status => Err(Error::Refused(status.refusal(Op::RECLAIM_COMPLETE.name()))),
        }
    }

    pub(super) fn limited(&mut self, results: &mut Results<'_>) -> Result<(), Error> {
        results.take(Op::PUTROOTFH)?;
        let known = getattr::ResOk::decode(results.take(Op::GETATTR)?)?.obj_attributes;
        results.end()?;
        (self.lease_seconds, self.limits_known) = (known.lease_time, true);
        self.reads_up_to(known.maxread)
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

#[expect(clippy::arithmetic_side_effects, reason = "a remainder is no more than what it is of")]
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
