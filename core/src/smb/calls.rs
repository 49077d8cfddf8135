//! What an operation becomes on the wire, and what its replies mean.

use super::chain::{Member, Reply as Wait};
use super::create::{self, FileId};
use super::filetime::FileTime;
use super::header::{self, Command, Header};
use super::map::Asked;
use super::oplock_break::{self, Acknowledgment, Notification};
use super::query_directory::{self, Entry};
use super::query_info::{self, AllInformation, FsFullSizeInformation};
use super::session::CREDIT_LEN;
use super::status::Status;
use super::{Smb, close, read, symlink};
use crate::attributes::{Attributes, Kind, Space, Time};
use crate::digest::Digest;
use crate::error::Error;
use crate::outgoing::Outbox;
use crate::protocol::{Answer, Ask, File, Progress, Reply};
use crate::segment::Extent;
use crate::wire::Writer;

/// Where a call stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    pub(super) phase: Phase,
    /// What is open for this call alone and must be closed after it.
    handle: Option<FileId>,
    pages: Pages,
    pub(super) asked: Asked,
}

/// The pages of a listing so far, as far as it takes to see that they come again: no name comes twice. The first name of
/// one page is remembered, and that of the page twice as far on takes its place, so a round of any length is found
/// (Brent's algorithm).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pages {
    count: u32,
    first_name: Digest,
}

impl Pages {
    /// Another page. Whether it was there before.
    fn repeats(&mut self, name: &[u8]) -> bool {
        let digest = Digest::new().with(name);
        let repeats = self.count > 0 && digest == self.first_name;
        self.count = self.count.saturating_add(1);
        if self.count.is_power_of_two() {
            self.first_name = digest;
        }
        repeats
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing is sent yet.
    #[default]
    Start,
    /// All that the call needs is sent; or, of a connection, NEGOTIATE.
    Asked,
    /// NTLM's NEGOTIATE_MESSAGE is sent.
    Greeted,
    /// NTLM's AUTHENTICATE_MESSAGE is sent.
    Authenticated,
    /// TREE_CONNECT is sent.
    Admitted,
    /// The handle that CREATE brings is the result.
    Opening,
    /// CREATE is sent alone: the rest follows when its reply is here.
    Alone,
    /// A directory is open and has more entries.
    More,
    /// Nothing is left but to close what is open.
    Ended,
}

/// The shortest output buffer that holds any entry: its fixed part and a name of 255 units.
const LISTING_LEN_MIN: usize = query_directory::NAME_AT + 2 * 255;

/// The longest that we ask for: more saves no round trip worth the memory.
const LISTING_LEN_MAX: usize = 1 << 20;

type Body<'m> = &'m dyn Fn(&mut Writer<'_>) -> Result<(), Error>;

impl Smb<'_> {
    pub(super) fn encode_ask(
        &mut self,
        ask: Ask<'_, FileId>,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        if let (Ask::Connect, Phase::Start) = (ask, stage.phase) {
            stage.phase = Phase::Asked;
            return self.send_negotiate(out);
        }
        if let Ask::Connect | Ask::Disconnect = ask {
            return Ok(Progress::Complete);
        }
        if !self.session.ready {
            return Err(Error::Invalid("the connection is not ready: Connect comes first, and must succeed"));
        }
        match ask {
            Ask::Connect | Ask::Disconnect => Ok(Progress::Complete),
            Ask::Open { path, .. } => {
                let body = |w: &mut Writer<'_>| create::Request::file(path).encode(w);
                self.once(stage, out, Phase::Opening, &[create_member(&body)])
            }
            Ask::Read { handle, extent, .. } => self.send_read(handle, extent, out),
            Ask::Stat { path } => self.inquire(stage, out, path, query_info::Request::all_information),
            Ask::Statfs { path } => {
                self.inquire(stage, out, path, query_info::Request::fs_full_size_information)
            }
            Ask::List { path } => self.list(stage, out, path),
            Ask::Look { handle } => self.look(handle, out),
            // Samba says that all is data where the attribute is missing.
            Ask::Map { sparse: false, .. } => Ok(Progress::Complete),
            Ask::Map { handle, from, end, .. } => self.map(stage, out, handle, from, end),
            Ask::Close { handle } => match stage.phase {
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

    /// Sends a chain, and afterwards closes what it may have left open.
    fn once(
        &mut self,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
        next: Phase,
        members: &[Member<'_>],
    ) -> Result<Progress, Error> {
        if stage.phase != Phase::Start {
            return self.tidy(stage, out);
        }
        let progress = self.session.send(out, members, Wait::Awaited)?;
        if progress == Progress::Sent {
            stage.phase = next;
        }
        Ok(progress)
    }

    /// A chain whose CREATE went well and whose CLOSE did not leaves a handle.
    fn tidy(&mut self, stage: &mut Stage, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
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

    fn send_close(&mut self, file_id: FileId, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let body = close_body(file_id);
        let member = Member::new(Command::CLOSE, close::REPLY_HEAD_MAX, &body);
        self.session.send(out, &[member], Wait::Ignored)
    }

    fn send_read(
        &mut self,
        file_id: FileId,
        extent: Extent,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        let body = |w: &mut Writer<'_>| {
            read::Request { file_id, offset: extent.offset, length: extent.len }.encode(w);
            Ok(())
        };
        let charge = self.session.charge(extent.len);
        let member = Member { charge, extent, ..Member::new(Command::READ, read::REPLY_HEAD_MAX, &body) };
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

    /// CREATE, QUERY_INFO, CLOSE: one round trip.
    fn inquire(
        &mut self,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
        path: &str,
        what: fn(FileId) -> query_info::Request,
    ) -> Result<Progress, Error> {
        let query = what(stage.handle.unwrap_or(FileId::RELATED));
        let output_max = query.output_buffer_length as usize;
        let open = |w: &mut Writer<'_>| create::Request::attributes(path).encode(w);
        let ask = |w: &mut Writer<'_>| {
            query.encode(w);
            Ok(())
        };
        let close = close_body(FileId::RELATED);
        let members = [
            create_member(&open),
            Member::new(Command::QUERY_INFO, query_info::REPLY_HEAD_MAX.saturating_add(output_max), &ask),
            Member::new(Command::CLOSE, close::REPLY_HEAD_MAX, &close),
        ];
        let [create, query, _] = &members;
        match (stage.phase, stage.handle) {
            (Phase::Start, _) if self.is_poor(members.len()) => {
                self.once(stage, out, Phase::Alone, core::slice::from_ref(create))
            }
            (Phase::Alone, Some(_)) if out.in_flight() == 0 => {
                let progress = self.session.send(out, core::slice::from_ref(query), Wait::Awaited)?;
                if progress == Progress::Sent {
                    stage.phase = Phase::Asked;
                }
                Ok(progress)
            }
            _ => self.once(stage, out, Phase::Asked, &members),
        }
    }

    /// Whether the server leaves us fewer credits than a chain costs, and owes no reply that could bring more: some give
    /// one for one, for ever.
    fn is_poor(&self, chain: usize) -> bool {
        (self.session.credits as usize) < chain && self.session.charged == 0
    }

    /// CREATE and QUERY_DIRECTORY together, then QUERY_DIRECTORY until there are no more. The next one is asked for
    /// before the entries of the last are looked at.
    fn list(&mut self, stage: &mut Stage, out: &mut Outbox<'_, '_>, path: &str) -> Result<Progress, Error> {
        let open = |w: &mut Writer<'_>| create::Request::directory(path).encode(w);
        let handle = match (stage.phase, stage.handle) {
            (Phase::Start, _) if self.is_poor(2) => {
                return self.once(stage, out, Phase::Alone, &[create_member(&open)]);
            }
            (Phase::Start, _) => FileId::RELATED,
            (Phase::Alone, Some(handle)) if out.in_flight() == 0 => handle,
            (Phase::More, Some(handle)) => handle,
            _ => return self.tidy(stage, out),
        };
        let first = stage.phase == Phase::Start;
        let output_max = self.listing_len(out, first)?;
        let request =
            query_directory::Request { file_id: handle, flags: 0, output_buffer_length: output_max as u32 };
        let ask = |w: &mut Writer<'_>| {
            request.encode(w);
            Ok(())
        };
        let reply_max = query_directory::REPLY_HEAD_MAX.saturating_add(output_max);
        let charge = self.session.charge(output_max as u32);
        let query = Member { charge, ..Member::new(Command::QUERY_DIRECTORY, reply_max, &ask) };
        let progress = if first {
            self.session.send(out, &[create_member(&open), query], Wait::Awaited)?
        } else {
            self.session.send(out, &[query], Wait::Awaited)?
        };
        if progress == Progress::Sent {
            stage.phase = Phase::Asked;
        }
        Ok(progress)
    }

    /// As much as `rx`, the server and the credits allow.
    fn listing_len(&self, out: &Outbox<'_, '_>, with_create: bool) -> Result<usize, Error> {
        let head = |body: usize| header::LEN.saturating_add(body).saturating_add(8);
        let create = if with_create { head(create::REPLY_HEAD_MAX) } else { 0 };
        let taken = create.saturating_add(head(query_directory::REPLY_HEAD_MAX));
        let room = out.lent().reply.saturating_sub(taken);
        if room < LISTING_LEN_MIN {
            let need = out.lent().reply.saturating_add(LISTING_LEN_MIN.saturating_sub(room));
            return Err(Error::Budget { what: "rx", need, have: out.lent().reply });
        }
        let credits = self.session.credits.saturating_sub(u32::from(with_create)).max(1);
        let credits = if self.session.large_mtu() { credits } else { 1 };
        let paid = (credits as usize).saturating_mul(CREDIT_LEN as usize);
        let transact_len_max = (self.session.transact_len_max as usize).max(LISTING_LEN_MIN);
        Ok(room.min(paid).min(transact_len_max).min(LISTING_LEN_MAX))
    }

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
            (Command::IOCTL, Some(stage)) if self.session.ready => self.map_goes_on(&header, body, stage),
            (
                Command::NEGOTIATE | Command::SESSION_SETUP | Command::TREE_CONNECT | Command::IOCTL,
                Some(stage),
            ) => {
                self.connect_goes_on(&header, reply.message, body, stage, out)?;
                Ok(Answer::Nothing)
            }
            (_, Some(stage)) => self.call_goes_on(&header, body, stage),
            (Command::CREATE, None) if header.status == Status::SUCCESS => {
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
        if !header.status.has_response(header.command) {
            return refused(header, stage);
        }
        match header.command {
            Command::CREATE => {
                let response = create::Response::decode(body)?;
                if stage.phase == Phase::Opening {
                    let attributes = create_attributes(&response);
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
                if stage.pages.repeats(first.name) {
                    return Err(Error::Misbehaved("a listing goes round"));
                }
                stage.phase = Phase::More;
                Ok(Answer::Entries {
                    start: response.output_buffer_offset,
                    len: response.output_buffer.len(),
                })
            }
            Command::QUERY_INFO => query_answer(body),
            Command::CLOSE => {
                close::Response::decode(body)?;
                stage.handle = None;
                Ok(Answer::Nothing)
            }
            _ => Ok(Answer::Nothing),
        }
    }

    /// MS-SMB2 3.2.5.19: what the server takes back is acknowledged; we keep nothing that depends on it.
    pub(super) fn acknowledge_break(
        &mut self,
        message: &[u8],
        out: &mut Outbox<'_, '_>,
    ) -> Result<(), Error> {
        let body = message.get(header::LEN..).unwrap_or(&[]);
        let acknowledgment = match Notification::decode(body)? {
            Notification::Oplock { oplock_level, file_id } => {
                Acknowledgment::Oplock { oplock_level, file_id }
            }
            Notification::Lease { flags, .. } if flags & oplock_break::ACK_REQUIRED == 0 => return Ok(()),
            Notification::Lease { lease_key, new_lease_state, .. } => {
                Acknowledgment::Lease { lease_key, lease_state: new_lease_state }
            }
        };
        let body = |w: &mut Writer<'_>| {
            acknowledgment.encode(w);
            Ok(())
        };
        let member = Member::new(Command::OPLOCK_BREAK, oplock_break::REPLY_HEAD_MAX, &body);
        // Without a credit it is left out, and the server's own time-out takes its place.
        self.session.send(out, &[member], Wait::Ignored).map(|_| ())
    }
}

fn create_member<'m>(body: Body<'m>) -> Member<'m> {
    Member::new(Command::CREATE, create::REPLY_HEAD_MAX, body)
}

fn close_body(file_id: FileId) -> impl Fn(&mut Writer<'_>) -> Result<(), Error> {
    move |w| {
        close::Request { file_id }.encode(w);
        Ok(())
    }
}

fn refused(header: &Header, stage: &mut Stage) -> Result<Answer<FileId>, Error> {
    match (header.command, header.status) {
        (Command::READ, Status::END_OF_FILE) => return Ok(Answer::EndOfFile),
        (Command::QUERY_DIRECTORY, status) => {
            stage.phase = Phase::Ended;
            if status == Status::NO_MORE_FILES {
                return Ok(Answer::Nothing);
            }
        }
        _ => {}
    }
    Err(Error::Refused(header.status.refusal(header.command)))
}

fn query_answer(body: &[u8]) -> Result<Answer<FileId>, Error> {
    let output = query_info::Response::decode(body)?.output_buffer;
    // The two that we ask for differ in length: no other information that we want is this short.
    if output.len() == FsFullSizeInformation::LEN as usize {
        let size = FsFullSizeInformation::decode(output)?;
        return Ok(Answer::Space(Space {
            total: size.total_bytes(),
            free: size.actual_available_bytes(),
            available: size.caller_available_bytes(),
            unit: size.unit_bytes(),
        }));
    }
    Ok(Answer::Attributes(all_attributes(&AllInformation::decode(output)?)))
}

fn time(time: FileTime) -> Option<Time> {
    time.to_unix().map(|(seconds, nanoseconds)| Time { seconds, nanoseconds })
}

/// What the attribute bits say; a reparse point of a kind that is not known is followed by the server.
fn bits(file_attributes: u32, reparse_tag: Option<u32>) -> Attributes {
    let has = |bit| file_attributes & bit != 0;
    let kind = match reparse_tag {
        Some(symlink::IO_REPARSE_TAG_SYMLINK) => Kind::Symlink,
        Some(tag) if tag != 0 => Kind::Other,
        _ if has(create::ATTRIBUTE_DIRECTORY) => Kind::Directory,
        _ => Kind::File,
    };
    Attributes {
        kind,
        hidden: has(create::ATTRIBUTE_HIDDEN),
        read_only: has(create::ATTRIBUTE_READONLY),
        sparse: has(create::ATTRIBUTE_SPARSE_FILE),
        ..Attributes::default()
    }
}

/// There is no `change`: Samba tells the times that an open file had when it was opened, whatever happens to it.
fn create_attributes(response: &create::Response) -> Attributes {
    Attributes {
        len: response.end_of_file,
        allocated: Some(response.allocation_size),
        modified: time(response.last_write_time),
        accessed: time(response.last_access_time),
        changed: time(response.change_time),
        created: time(response.creation_time),
        ..bits(response.file_attributes, None)
    }
}

fn all_attributes(all: &AllInformation) -> Attributes {
    Attributes {
        len: all.end_of_file,
        allocated: Some(all.allocation_size),
        modified: time(all.last_write_time),
        accessed: time(all.last_access_time),
        changed: time(all.change_time),
        created: time(all.creation_time),
        id: Some(all.index_number),
        links: Some(all.number_of_links),
        ..bits(all.file_attributes, None)
    }
}

pub(super) fn entry_attributes(entry: &Entry<'_>) -> Attributes {
    Attributes {
        len: entry.end_of_file,
        allocated: Some(entry.allocation_size),
        modified: time(entry.last_write_time),
        accessed: time(entry.last_access_time),
        changed: time(entry.change_time),
        created: time(entry.creation_time),
        // MS-FSCC 2.1.9: 0 and all ones where the file system has none.
        id: Some(entry.file_id).filter(|id| ![0, u64::MAX].contains(id)),
        ..bits(entry.file_attributes, entry.reparse_tag())
    }
}

#[cfg(test)]
mod tests {
    use super::Pages;

    #[test]
    fn a_listing_that_goes_round_is_found_whatever_the_length_of_its_round_and_what_came_before() {
        for lead in 0..20u32 {
            for round in 1..20 {
                let mut pages = Pages::default();
                let name =
                    |page: u32| (if page < lead { page } else { lead + (page - lead) % round }).to_le_bytes();
                let found = (0..200).position(|page| pages.repeats(&name(page)));
                assert!(found.is_some_and(|page| page as u32 >= lead + round), "{lead} {round}: {found:?}");
            }
        }
    }

    #[test]
    fn a_long_listing_without_a_repeat_is_none() {
        let mut pages = Pages::default();
        assert!(!(0..100_000u32).any(|page| pages.repeats(&page.to_le_bytes())));
    }
}
