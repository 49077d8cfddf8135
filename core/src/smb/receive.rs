//! Receiving: which message is this, where does its data go, and is it the server that sent it.

use super::header::{self, Command, Header};
use super::negotiate::Dialect;
use super::read;
use super::seal::{Opening, TransformHeader};
use super::session::{Session, Standing};
use super::sign::Mac;
use super::status::Status;
use crate::error::Error;
use crate::inflight::Inflight;
use crate::protocol::{Head, Mark};

/// NetBIOS SESSION KEEP ALIVE (RFC 1002 4.3.1), which Samba sends with `keepalive`.
const KEEPALIVE: u8 = 0x85;

/// What watches over the bytes that arrive.
#[derive(Default)]
#[allow(clippy::large_enum_variant, reason = "there is one of it, and nowhere else to put it")]
enum Guard {
    #[default]
    Nothing,
    Signature(Mac, [u8; 16]),
    /// The whole frame is one sealed message.
    Seal(Opening),
}

/// The receive side's state within a frame.
#[derive(Default)]
pub(super) struct Receive {
    guard: Guard,
    /// The last message had a signature that was right, or was sealed.
    authentic: bool,
}

impl core::fmt::Debug for Receive {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Receive { .. }")
    }
}

/// MS-SMB2 2.1: a zero byte and three bytes of length; or a keepalive of NetBIOS.
pub(super) fn mark(mark: [u8; 4]) -> Result<Mark, Error> {
    match mark {
        [0, high, middle, low] => Ok(Mark { len: u32::from_be_bytes([0, high, middle, low]), last: true }),
        [KEEPALIVE, 0, 0, 0] => Ok(Mark { len: 0, last: true }),
        _ => Err(Error::Malformed("StreamProtocolLength")),
    }
}

impl Receive {
    /// An envelope is shorter than a header: with sealing it is expected first.
    pub fn head_len(&self, session: &Session) -> usize {
        match self.guard {
            Guard::Nothing if may_be_sealed(session) => TransformHeader::SIZE,
            _ => header::LEN,
        }
    }

    pub fn absorb(&mut self, bytes: &mut [u8]) {
        match &mut self.guard {
            Guard::Nothing => {}
            Guard::Signature(mac, _) => mac.update(bytes),
            Guard::Seal(opening) => opening.update(bytes),
        }
    }

    pub fn head(
        &mut self,
        session: &Session,
        head: &[u8],
        left: u32,
        inflight: &Inflight<'_>,
    ) -> Result<Head, Error> {
        if head.starts_with(&TransformHeader::PROTOCOL_ID) {
            return self.envelope(session, head, left);
        }
        if head.len() < header::LEN {
            return Ok(Head::Need(header::LEN));
        }
        let header = Header::decode(head)?;
        if session.seals && !matches!(self.guard, Guard::Seal(_)) {
            return Err(match is_forgotten(&header) {
                true => Error::Closed,
                false => Error::Unauthentic("a reply in the clear where everything is encrypted"),
            });
        }
        if head.len() == header::LEN {
            self.begin_message(session, &header, head)?;
        }
        let all = message_len(&header, head.len(), left)?;
        let Some(index) = self.request(session, &header, inflight)? else {
            return whole(head, all, None);
        };
        let asked = inflight.get(index).map_or(0, |slot| slot.extent.len);
        if header.command == Command::READ && header.status == Status::SUCCESS {
            return read_data(head, all, index, asked);
        }
        whole(head, all, Some(index))
    }

    /// MS-SMB2 2.2.41: everything after the envelope is decrypted as it comes.
    fn envelope(&mut self, session: &Session, head: &[u8], left: u32) -> Result<Head, Error> {
        if matches!(self.guard, Guard::Seal(_)) {
            return Err(Error::Misbehaved("an encrypted message inside an encrypted message"));
        }
        let opener = match &session.opener {
            Some(opener) if may_be_sealed(session) => opener,
            _ => return Err(Error::Misbehaved("an encrypted reply where nothing is encrypted")),
        };
        let bytes = head.first_chunk().ok_or(Error::Malformed("TRANSFORM_HEADER"))?;
        let header = TransformHeader::decode(bytes)?;
        if header.session_id != session.session_id {
            return Err(Error::Unauthentic("an encrypted reply of another session"));
        }
        if header.original_message_size != left {
            return Err(Error::Malformed("TRANSFORM_HEADER.OriginalMessageSize"));
        }
        self.guard = Guard::Seal(opener.open(bytes)?);
        Ok(Head::Forget)
    }

    /// A header has arrived: from here on its message is watched over.
    fn begin_message(&mut self, session: &Session, header: &Header, head: &[u8]) -> Result<(), Error> {
        if matches!(self.guard, Guard::Seal(_)) {
            self.authentic = true;
            return Ok(());
        }
        self.authentic = false;
        let signed = header.flags & header::SIGNED != 0;
        match &session.signer {
            // MS-SMB2 3.2.5.1.3: the signature of interim replies and breaks is nothing, and servers say that it is there.
            Some(_) if is_interim(header) || is_unsolicited(header) => Ok(()),
            Some(signer) if signed => {
                let bytes = head.first_chunk().ok_or(Error::Malformed("Header"))?;
                self.guard = Guard::Signature(signer.begin(bytes), header.signature);
                Ok(())
            }
            Some(_) => may_be_unsigned(session, header),
            _ => Ok(()),
        }
    }

    /// Which request this answers, or `None` for a message that no request asked for.
    fn request(
        &self,
        session: &Session,
        header: &Header,
        inflight: &Inflight<'_>,
    ) -> Result<Option<usize>, Error> {
        if header.flags & header::SERVER_TO_REDIR == 0 {
            return Err(Error::Misbehaved("a request came where a reply was awaited"));
        }
        if is_unsolicited(header) {
            return Ok(None);
        }
        if session.is_admitted() && header.session_id != session.session_id {
            return Err(Error::Misbehaved("a reply of another session"));
        }
        let index = inflight.find(header.message_id);
        let index = index.ok_or(Error::Misbehaved("a reply to a request that is not in flight"))?;
        if inflight.get(index).is_none_or(|slot| slot.kind != header.command.0) {
            return Err(Error::Misbehaved("a reply to another command than was asked"));
        }
        Ok(Some(index))
    }

    pub fn part_end(&mut self) -> Result<(), Error> {
        match core::mem::take(&mut self.guard) {
            Guard::Nothing => Ok(()),
            seal @ Guard::Seal(_) => {
                self.guard = seal;
                Ok(())
            }
            Guard::Signature(mac, signature) => {
                self.authentic = mac.verify(&signature);
                if self.authentic {
                    Ok(())
                } else {
                    Err(Error::Unauthentic("the signature of a reply is wrong"))
                }
            }
        }
    }

    pub fn frame_end(&mut self) -> Result<(), Error> {
        match core::mem::take(&mut self.guard) {
            Guard::Seal(opening) => opening.finish(),
            Guard::Nothing | Guard::Signature(..) => Ok(()),
        }
    }

    /// Whether the last message of the frame is known to come from who knows the session key.
    pub fn authentic(&self) -> bool {
        self.authentic
    }
}

/// Where everything is sealed; or where Samba seals the reply to a chain in the clear, since the TREE_CONNECT at its head has
/// reached a share that demands it.
fn may_be_sealed(session: &Session) -> bool {
    session.seals || session.standing == Standing::Entering && session.opener.is_some()
}

/// Where everything is signed a reply is, once the authentication is over; and that to TREE_CONNECT is at 3.1.1, that to
/// the proof that nobody changed NEGOTIATE always (MS-SMB2 3.2.5.5). Each member of a chain is judged by itself.
fn may_be_unsigned(session: &Session, header: &Header) -> Result<(), Error> {
    let signs = session.signs || session.dialect == Some(Dialect::Smb311);
    match header.command {
        Command::TREE_CONNECT if signs => Err(Error::Unauthentic("the reply to TREE_CONNECT is not signed")),
        Command::IOCTL if session.standing == Standing::Proving => {
            Err(Error::Unauthentic("the reply to VALIDATE_NEGOTIATE_INFO is not signed"))
        }
        _ if session.signs && is_forgotten(header) => Err(Error::Closed),
        _ if session.signs => {
            Err(Error::Unauthentic("a reply without a signature where everything is signed"))
        }
        _ => Ok(()),
    }
}

/// The server says that it has no such session: so it has no key of it either. To believe it is to give up a connection that whoever
/// can say it could cut as well.
fn is_forgotten(header: &Header) -> bool {
    header.status == Status::USER_SESSION_DELETED
}

fn is_unsolicited(header: &Header) -> bool {
    header.message_id == header::UNSOLICITED && header.command == Command::OPLOCK_BREAK
}

fn is_interim(header: &Header) -> bool {
    header.status == Status::PENDING && header.is_async()
}

/// How long the message is, of whose frame `have` bytes from its start and `left` more are known.
fn message_len(header: &Header, have: usize, left: u32) -> Result<usize, Error> {
    let all = have.saturating_add(left as usize);
    let next = header.next_command as usize;
    match next {
        0 => Ok(all),
        _ if next % 8 != 0 => Err(Error::Malformed("Header.NextCommand")),
        // ksmbd refuses TREE_CONNECT with others behind it in a frame that promises them and does not have them.
        _ if is_cut_short(header, all) => Ok(all),
        // At least a header must follow, and this message has one itself.
        _ if next <= header::LEN || next.saturating_add(header::LEN) > all => {
            Err(Error::Malformed("Header.NextCommand"))
        }
        _ => Ok(next),
    }
}

/// Whether a message of `len` bytes refuses TREE_CONNECT and leaves out what it says that follows.
pub(super) fn is_cut_short(header: &Header, len: usize) -> bool {
    let refuses = header.command == Command::TREE_CONNECT && header.status.is_error();
    refuses && header.next_command as usize > len
}

/// A message that is kept whole.
fn whole(head: &[u8], all: usize, slot: Option<usize>) -> Result<Head, Error> {
    Ok(if head.len() < all { Head::Need(all) } else { Head::Message { slot, pad: 0 } })
}

/// A READ's reply: its data goes to the pages.
fn read_data(head: &[u8], all: usize, slot: usize, asked: u32) -> Result<Head, Error> {
    let body_at = header::LEN.saturating_add(read::HEAD_LEN);
    if head.len() < body_at {
        let enough = all >= body_at;
        return if enough { Ok(Head::Need(body_at)) } else { Err(Error::Malformed("READ.StructureSize")) };
    }
    let reply = read::Head::decode(head.get(header::LEN..).unwrap_or(&[]))?;
    if reply.data_length > asked {
        return Err(Error::Misbehaved("READ brought more than was asked"));
    }
    let room = all.saturating_sub(body_at);
    let pad = room.checked_sub(reply.gap()).and_then(|room| room.checked_sub(reply.data_length as usize));
    let pad = pad.ok_or(Error::Malformed("READ.DataLength"))?;
    // All three are parts of a frame, whose length has 24 bits.
    Ok(Head::Data { slot, gap: reply.gap() as u32, len: reply.data_length, pad: pad as u32 })
}
