//! Sending: one or more requests in one frame, signed one by one or sealed as a whole.

use super::header::{self, Command, Header};
use super::negotiate::Dialect;
use super::seal::TransformHeader;
use super::session::{Session, Standing};
use super::status::Status;
use crate::compound::Cost;
use crate::error::Error;
use crate::inflight::Slot;
use crate::outgoing::Outbox;
use crate::protocol::Progress;
use crate::segment::Extent;
use crate::wire::Writer;

/// How a body is written.
pub(super) type Encode<'m> = &'m dyn Fn(&mut Writer<'_>) -> Result<(), Error>;

/// A request of a chain.
#[derive(Clone, Copy)]
pub(super) struct Member<'m> {
    pub command: Command,
    /// Credits.
    pub charge: u16,
    /// The most bytes of the reply besides its header and file data.
    pub reply_max: usize,
    /// What is read, if it is a READ.
    pub extent: Extent,
    pub encode: Encode<'m>,
}

impl<'m> Member<'m> {
    /// A request that costs one credit.
    pub fn new(command: Command, reply_max: usize, encode: Encode<'m>) -> Self {
        Member { command, charge: 1, reply_max, extent: Extent::default(), encode }
    }
}

/// Whether anybody waits for the replies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    Awaited,
    Ignored,
}

impl Session {
    /// Sends `members` as one frame; all but the first are related to the one before them.
    ///
    /// `Wait` if slots, credits or `tx` do not suffice now, `Budget` if the lent memory never does.
    pub fn send(
        &mut self,
        out: &mut Outbox<'_, '_>,
        members: &[Member<'_>],
        reply: Reply,
    ) -> Result<Progress, Error> {
        let cost = members.iter().map(Member::cost).fold(Cost::default(), Cost::and);
        out.can_ever_hold(&cost)?;
        if !cost.fits(&Cost { allowance: self.credits, ..out.room() }) {
            return Ok(Progress::Wait);
        }
        let others_go_first = out.room().tx < out.lent().tx;
        match out.frame(|w| self.encode(w, members)) {
            Err(Error::Budget { what: "tx", .. }) if others_go_first => return Ok(Progress::Wait),
            encoded => encoded?,
        }
        for member in members {
            let charge = u32::from(member.charge);
            let slot = Slot::awaiting(self.message_id, member.command.0, charge, member.extent);
            match reply {
                Reply::Awaited => out.expect(slot)?,
                Reply::Ignored => out.expect_nothing(slot)?,
            }
            self.spend(charge);
        }
        Ok(Progress::Sent)
    }

    /// MS-SMB2 2.1: direct TCP's length, then the envelope if there is one, then the chain.
    fn encode(&mut self, w: &mut Writer<'_>, members: &[Member<'_>]) -> Result<(), Error> {
        let mark = w.mark();
        w.zeros(4);
        let frame = w.mark();
        if self.seals {
            w.zeros(TransformHeader::SIZE);
        }
        let mut message_id = self.message_id;
        // What the server calls a tree that is being connected to is not known yet. All other ids are real: some servers
        // look those that mean "as before" up literally.
        let enters = members.first().is_some_and(|first| first.command == Command::TREE_CONNECT);
        for (index, member) in members.iter().enumerate() {
            let last = index.saturating_add(1) == members.len();
            let tree_id = if index > 0 && enters { header::RELATED_TREE } else { self.tree_id };
            self.encode_member(w, member, message_id, tree_id, index > 0, last)?;
            message_id = message_id.saturating_add(member.charge.into());
        }
        if w.overflows() {
            return Ok(()); // `Outbox::frame` says how much would have been enough.
        }
        if !self.is_admitted() {
            // MS-SMB2 3.2.4.2.2.2 and 3.2.4.2.3: what is sent before the keys are known, so that they depend on it.
            self.preauth.update(w.since(frame));
        }
        if let (true, Some(sealer)) = (self.seals, &self.sealer) {
            // A counter never repeats, and it would take centuries to use it up.
            self.nonce = self.nonce.checked_add(1).ok_or(Error::Invalid("no nonces are left"))?;
            sealer.seal(w.since(frame), self.session_id, self.nonce)?;
        }
        let len = w.since(frame).len() as u32;
        w.patch(mark, &len.to_be_bytes());
        Ok(())
    }

    fn encode_member(
        &self,
        w: &mut Writer<'_>,
        member: &Member<'_>,
        message_id: u64,
        tree_id: u32,
        related: bool,
        last: bool,
    ) -> Result<(), Error> {
        let (start, start_at) = (w.mark(), w.at());
        let charge = if self.dialect > Some(Dialect::Smb202) { member.charge } else { 0 };
        let header = Header {
            credit_charge: charge,
            status: Status(0),
            command: member.command,
            credits: self.credits_to_ask(member.charge),
            flags: if related { header::RELATED_OPERATIONS } else { 0 },
            next_command: 0,
            message_id,
            tree_id,
            async_id: 0,
            session_id: self.session_id,
            signature: [0; 16],
        };
        header.encode(w);
        (member.encode)(w)?;
        if !last {
            w.zeros(w.at().wrapping_sub(start_at).wrapping_neg() & 7);
            let next = w.at().saturating_sub(start_at) as u32;
            w.patch(start.plus(header::NEXT_COMMAND_AT), &next.to_le_bytes());
        }
        match &self.signer {
            Some(signer) if self.signs_now(member.command) && !w.overflows() => signer.sign(w.since(start)),
            _ => Ok(()),
        }
    }

    /// MS-SMB2 3.2.4.1.1; and at 3.1.1 TREE_CONNECT is signed or sealed in any case (3.2.4.1.8), as is the proof that
    /// nobody changed NEGOTIATE before it.
    fn signs_now(&self, command: Command) -> bool {
        let proof = match command {
            Command::TREE_CONNECT => self.dialect == Some(Dialect::Smb311),
            Command::IOCTL => self.standing == Standing::Entering,
            _ => false,
        };
        !self.seals && (self.signs || proof)
    }
}

impl Member<'_> {
    fn cost(&self) -> Cost {
        // Members of a chain are padded to 8.
        let reply = header::LEN.saturating_add(self.reply_max).saturating_add(8);
        Cost { tx: 0, slots: 1, reply, allowance: self.charge.into() }
    }
}
