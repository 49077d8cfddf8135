//! What an operation becomes on the wire.

use super::chain::{Member, Reply as Wait};
use super::create::{self, FileId};
use super::header::Command;
use super::map::Asked;
use super::session::{CREDIT_LEN, Standing};
use super::{Smb, close, echo, query_info, read};
use crate::digest::Digest;
use crate::error::Error;
use crate::outgoing::Outbox;
use crate::protocol::{Ask, Progress};
use crate::rounds::Rounds;
use crate::segment::Extent;
use crate::wire::Writer;

/// Where a call stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    pub(super) phase: Phase,
    /// What is open for this call alone and must be closed after it.
    pub(super) handle: Option<FileId>,
    /// Its chain went behind TREE_CONNECT.
    pub(super) enters: bool,
    /// Nothing was sealed then.
    pub(super) in_clear: bool,
    /// By their first names.
    pub(super) replies: Rounds<Digest>,
    pub(super) asked: Asked,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing is sent yet.
    #[default]
    Start,
    /// All that the call needs is sent.
    Asked,
    /// The handle that CREATE brings is the result.
    Opening,
    /// CREATE has brought it, or it was kept, and READ may still bring the start of the file.
    Opened,
    /// A handle that was kept is the result if it still is the file.
    Checking,
    /// CREATE is sent alone: the rest follows when its reply is here.
    Alone,
    /// A directory is open and has more entries.
    More,
    /// Nothing is left but to close what is open.
    Ended,
    /// The chain was of no use: what it has opened is closed, and then all is asked again in another way.
    Again,
}

type Body<'m> = &'m dyn Fn(&mut Writer<'_>) -> Result<(), Error>;

/// What is asked about something open.
type What = fn(FileId) -> query_info::Request;

impl<const KEPT: usize> Smb<'_, KEPT> {
    pub(super) fn encode_ask(
        &mut self,
        ask: Ask<'_, FileId>,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        if KEPT > 0 {
            self.let_broken_go(out)?;
        }
        match ask {
            Ask::Disconnect => return Ok(Progress::Complete),
            // It went with its connection.
            Ask::Close { .. } if self.session.standing != Standing::Ready => return Ok(Progress::Complete),
            Ask::Keepalive => return self.keep_alive(stage, out),
            _ => {}
        }
        let enters =
            matches!(ask, Ask::Open { .. } | Ask::Stat { .. } | Ask::Statfs { .. } | Ask::List { .. });
        match self.connects(enters, out)? {
            Progress::Complete => {}
            progress => return Ok(progress),
        }
        if stage.phase == Phase::Again {
            match self.tidy(stage, out)? {
                Progress::Complete => *stage = Stage::default(),
                progress => return Ok(progress),
            }
        }
        match ask {
            Ask::Connect | Ask::Keepalive | Ask::Disconnect => Ok(Progress::Complete),
            Ask::Open { path, first } => self.open(stage, out, path, first),
            Ask::Read { handle, extent, .. } => self.send_read(handle, extent, out),
            Ask::Stat { path, space } => {
                let space = space.then_some(query_info::Request::fs_full_size_information as What);
                self.inquire(stage, out, path, query_info::Request::all_information, space)
            }
            Ask::Statfs { path } => {
                self.inquire(stage, out, path, query_info::Request::fs_full_size_information, None)
            }
            Ask::List { path } => self.list(stage, out, path),
            Ask::Look { handle } => self.look(handle, out),
            // Samba says that all is data where the attribute is missing.
            Ask::Map { sparse: false, .. } => Ok(Progress::Complete),
            Ask::Map { handle, from, end, .. } => self.map(stage, out, handle, from, end),
            Ask::Close { handle } => match stage.phase {
                Phase::Start if KEPT > 0 && self.shelf.put_away(handle) => {
                    stage.phase = Phase::Ended;
                    Ok(Progress::Complete)
                }
                Phase::Start => {
                    let progress = self.send_close(handle, out)?;
                    if progress == Progress::Sent {
                        stage.phase = Phase::Ended;
                    }
                    Ok(progress)
                }
                _ => Ok(Progress::Complete),
            },
        }
    }

    /// ECHO in a session. While one is being made there is no need of it; and ksmbd, which forgets no connection, looks for no
    /// session at an ECHO, so that its reply is never signed or sealed.
    fn keep_alive(&mut self, stage: &mut Stage, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let is_protected = self.session.signs || self.session.seals;
        match self.session.standing {
            Standing::Refused(error) => return Err(error),
            _ if is_protected && self.session.is_ksmbd() => return Ok(Progress::Complete),
            Standing::Admitted | Standing::Ready if stage.phase == Phase::Start => {}
            _ => return Ok(Progress::Complete),
        }
        let body = |w: &mut Writer<'_>| {
            echo::Request.encode(w);
            Ok(())
        };
        let member = Member::new(Command::ECHO, echo::REPLY_HEAD_MAX, &body);
        let progress = self.session.send(out, &[member], Wait::Awaited)?;
        if progress == Progress::Sent {
            stage.phase = Phase::Asked;
            self.shelf.age();
        }
        Ok(progress)
    }

    /// Sends a chain, and afterwards closes what it may have left open.
    pub(super) fn once(
        &mut self,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
        next: Phase,
        members: &[Member<'_>],
    ) -> Result<Progress, Error> {
        if stage.phase != Phase::Start {
            return self.tidy(stage, out);
        }
        let progress = self.begin(stage, out, members)?;
        if progress == Progress::Sent {
            stage.phase = next;
        }
        Ok(progress)
    }

    /// Sends the first chain of a call, maybe with TREE_CONNECT in front.
    pub(super) fn begin(
        &mut self,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
        members: &[Member<'_>],
    ) -> Result<Progress, Error> {
        let enters = self.session.standing != Standing::Ready;
        let progress = self.enter(out, members)?;
        (stage.enters, stage.in_clear) = (progress == Progress::Sent && enters, !self.session.seals);
        Ok(progress)
    }

    /// A chain whose CREATE went well and whose CLOSE did not leaves a handle.
    pub(super) fn tidy(&mut self, stage: &mut Stage, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        if out.in_flight() > 0 {
            return Ok(Progress::Wait);
        }
        let Some(handle) = stage.handle else { return Ok(Progress::Complete) };
        let progress = self.send_close(handle, out)?;
        if progress == Progress::Sent {
            stage.handle = None;
        }
        Ok(progress)
    }

    pub(super) fn send_close(
        &mut self,
        file_id: FileId,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        let body = close_body(file_id);
        let member = Member::new(Command::CLOSE, close::REPLY_HEAD_MAX, &body);
        self.session.send(out, &[member], Wait::Ignored)
    }

    /// CREATE, and READ with it for what is wanted of the start of the file; or both with a handle that was kept.
    fn open(
        &mut self,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
        path: &str,
        first: u32,
    ) -> Result<Progress, Error> {
        if KEPT > 0 && stage.phase == Phase::Start {
            if let Some(progress) = self.keep(stage, out, path, first)? {
                return Ok(progress);
            }
        }
        let body = |w: &mut Writer<'_>| create::Request::file(path).encode(w);
        self.open_by(create_member(&body), FileId::RELATED, Phase::Opening, stage, out, first)
    }

    /// Sends what opens the file, and READ of its start behind it.
    pub(super) fn open_by(
        &mut self,
        opens: Member<'_>,
        file_id: FileId,
        next: Phase,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
        first: u32,
    ) -> Result<Progress, Error> {
        let extent = Extent { offset: 0, len: first.min(self.first_len(out)) };
        let body = read_body(file_id, extent);
        let both = [opens, read_member(&body, self.session.charge(extent.len), extent)];
        if extent.len > 0 && stage.phase == Phase::Start {
            match self.once(stage, out, next, &both) {
                // There is room for the one, maybe.
                Err(Error::Budget { .. }) => {}
                progress => return progress,
            }
        }
        self.once(stage, out, next, &[opens])
    }

    /// How much a READ in one chain with CREATE may ask for: what the credits pay for, where it costs no wait.
    fn first_len(&self, out: &Outbox<'_, '_>) -> u32 {
        let session = &self.session;
        let max = out.bound(session.limits()).read_len_max;
        let before = if session.standing == Standing::Ready { 1 } else { 2 };
        let paid = session.credits.saturating_sub(before).saturating_mul(CREDIT_LEN);
        match () {
            () if session.opens_alone => 0,
            () if session.charged > 0 => max.min(paid.max(CREDIT_LEN)),
            () => max.min(paid),
        }
    }

    fn send_read(
        &mut self,
        file_id: FileId,
        extent: Extent,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        let body = read_body(file_id, extent);
        let member = read_member(&body, self.session.charge(extent.len), extent);
        self.session.send(out, &[member], Wait::Awaited)
    }

    /// QUERY_INFO about an open file.
    fn look(&mut self, file_id: FileId, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let query = query_info::Request::all_information(file_id);
        let ask = |w: &mut Writer<'_>| {
            query.encode(w);
            Ok(())
        };
        let reply_max = query_info::REPLY_HEAD_MAX.saturating_add(query.output_buffer_length as usize);
        self.session.send(out, &[Member::new(Command::QUERY_INFO, reply_max, &ask)], Wait::Awaited)
    }

    /// CREATE, QUERY_INFO, CLOSE: one round trip. `second` is asked for with it if there is room.
    fn inquire(
        &mut self,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
        path: &str,
        first: What,
        second: Option<What>,
    ) -> Result<Progress, Error> {
        let open = |w: &mut Writer<'_>| create::Request::attributes(path).encode(w);
        let create = create_member(&open);
        let body = close_body(FileId::RELATED);
        let close = Member::new(Command::CLOSE, close::REPLY_HEAD_MAX, &body);
        let request = first(stage.handle.unwrap_or(FileId::RELATED));
        let body = query_body(request);
        let query = query_member(&body, request);
        match (stage.phase, stage.handle) {
            (Phase::Start, _) if self.opens_alone(3) => {
                return self.once(stage, out, Phase::Alone, &[create]);
            }
            (Phase::Alone, Some(_)) if out.in_flight() == 0 => {
                let progress = self.session.send(out, &[query], Wait::Awaited)?;
                if progress == Progress::Sent {
                    stage.phase = Phase::Asked;
                }
                return Ok(progress);
            }
            _ => {}
        }
        if let Some(second) = second.filter(|_| stage.phase == Phase::Start && !self.opens_alone(4)) {
            let request = second(FileId::RELATED);
            let body = query_body(request);
            let members = [create, query, query_member(&body, request), close];
            match self.once(stage, out, Phase::Asked, &members) {
                Err(Error::Budget { .. }) => {}
                progress => return progress,
            }
        }
        self.once(stage, out, Phase::Asked, &[create, query, close])
    }

    /// Whether CREATE is sent without the rest of its chain: because the server refuses chains, or because it leaves us fewer credits
    /// than this one costs and owes no reply that could bring more. Some give one for one, for ever.
    pub(super) fn opens_alone(&self, chain: usize) -> bool {
        let is_poor = (self.session.credits as usize) < chain && self.session.charged == 0;
        self.session.opens_alone || is_poor
    }
}

pub(super) fn create_member<'m>(body: Body<'m>) -> Member<'m> {
    Member::new(Command::CREATE, create::REPLY_HEAD_MAX, body)
}

fn close_body(file_id: FileId) -> impl Fn(&mut Writer<'_>) -> Result<(), Error> {
    move |w| {
        close::Request { file_id }.encode(w);
        Ok(())
    }
}

fn read_body(file_id: FileId, extent: Extent) -> impl Fn(&mut Writer<'_>) -> Result<(), Error> {
    move |w| {
        read::Request { file_id, offset: extent.offset, length: extent.len }.encode(w);
        Ok(())
    }
}

fn read_member<'m>(body: Body<'m>, charge: u16, extent: Extent) -> Member<'m> {
    Member { charge, extent, ..Member::new(Command::READ, read::REPLY_HEAD_MAX, body) }
}

pub(super) fn query_body(request: query_info::Request) -> impl Fn(&mut Writer<'_>) -> Result<(), Error> {
    move |w| {
        request.encode(w);
        Ok(())
    }
}

pub(super) fn query_member<'m>(body: Body<'m>, request: query_info::Request) -> Member<'m> {
    let output_max = request.output_buffer_length as usize;
    Member::new(Command::QUERY_INFO, query_info::REPLY_HEAD_MAX.saturating_add(output_max), body)
}
