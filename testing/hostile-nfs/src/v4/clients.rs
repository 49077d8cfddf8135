//! Who the clients are, and their sessions (RFC 7530 16.33, 16.34, RFC 8881 18.35 to 18.37, 18.46, 18.50, 18.51).

use super::compound::{Compound, Refused};
use super::model::{Channel, Model};
use super::numbers::status;
use super::quirk::Quirk;
use crate::xdr::{Args, Xdr};

/// `EXCHGID4_FLAG_USE_NON_PNFS`.
const USE_NON_PNFS: u32 = 0x0001_0000;
/// `EXCHGID4_FLAG_CONFIRMED_R`.
const CONFIRMED_R: u32 = 0x8000_0000;

/// The number that CREATE_SESSION is to have first.
const FIRST_SEQUENCE: u32 = 0x1234;

/// A client.
#[derive(Debug)]
pub(super) struct Client {
    pub id: u64,
    owner: Vec<u8>,
    verifier: [u8; 8],
    pub confirmed: bool,
    /// The number of its next CREATE_SESSION.
    sequence: u32,
    pub reclaimed: bool,
}

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    id: [u8; 16],
    pub client: u64,
    channel: Channel,
    /// The number of the last request of each slot.
    slots: Vec<u32>,
}

impl Model {
    /// The client of a request: that of the session.
    pub(super) fn client_of(&self, compound: &Compound) -> Option<u64> {
        let session = self.sessions.iter().find(|session| Some(session.id) == compound.session);
        session.map(|session| session.client)
    }

    pub(super) fn client(&mut self, id: u64) -> Result<&mut Client, Refused> {
        self.clients.iter_mut().find(|client| client.id == id).ok_or(status::STALE_CLIENTID)
    }

    /// The record of an owner with this verifier, and whether there was one.
    fn introduce(&mut self, owner: &[u8], verifier: [u8; 8]) -> (u64, u32, bool) {
        let known = self.clients.iter().find(|known| known.owner == owner && known.verifier == verifier);
        if let Some(client) = known {
            return (client.id, client.sequence, client.confirmed);
        }
        let (id, sequence, owner) = (self.new_id(), FIRST_SEQUENCE, owner.to_vec());
        self.clients.push(Client { id, owner, verifier, confirmed: false, sequence, reclaimed: false });
        (id, sequence, false)
    }

    /// What the same owner was before it started again is forgotten.
    fn confirm(&mut self, id: u64) -> Result<(), Refused> {
        let client = self.client(id)?;
        client.confirmed = true;
        let owner = client.owner.clone();
        let (gone, kept) = std::mem::take(&mut self.clients)
            .into_iter()
            .partition(|client| client.owner == owner && client.id != id);
        self.clients = kept;
        gone.iter().for_each(|client: &Client| self.forget(client.id));
        Ok(())
    }

    fn forget(&mut self, client: u64) {
        self.sessions.retain(|session| session.client != client);
        self.opens.opened.retain(|open| open.client != client);
    }

    pub(super) fn setclientid(&mut self, args: &mut Args<'_>, x: &mut Xdr) -> Result<(), Refused> {
        let verifier = args.array();
        let owner = args.opaque();
        let _callback = (args.word(), args.opaque(), args.opaque(), args.word());
        let (id, ..) = self.introduce(owner, verifier);
        x.hyper(id).hyper(!id);
        Ok(())
    }

    pub(super) fn setclientid_confirm(&mut self, args: &mut Args<'_>) -> Result<(), Refused> {
        let (id, verifier) = (args.hyper(), args.hyper());
        if verifier != !id {
            return Err(status::STALE_CLIENTID);
        }
        self.confirm(id)
    }

    pub(super) fn renew(&mut self, args: &mut Args<'_>) -> Result<(), Refused> {
        match self.client(args.hyper())?.confirmed {
            true => Ok(()),
            false => Err(status::STALE_CLIENTID),
        }
    }

    pub(super) fn exchange_id(&mut self, args: &mut Args<'_>, x: &mut Xdr) -> Result<(), Refused> {
        let verifier = args.array();
        let owner = args.opaque();
        let _flags = args.word();
        assert_eq!([args.word(), args.word()], [0, 0], "SP4_NONE, and nobody in particular");
        let (id, sequence, confirmed) = self.introduce(owner, verifier);
        let flags = USE_NON_PNFS | if confirmed { CONFIRMED_R } else { 0 };
        x.hyper(id).word(sequence).word(flags).word(0);
        x.hyper(1).opaque(b"model").opaque(b"model").word(0);
        Ok(())
    }

    pub(super) fn create_session(&mut self, args: &mut Args<'_>, x: &mut Xdr) -> Result<(), Refused> {
        let (clientid, sequence, _flags) = (args.hyper(), args.word(), args.word());
        let asked = channel(args);
        let back = channel(args);
        assert_eq!([args.word(), args.word(), args.word()], [0, 1, 0], "AUTH_NONE calls back");
        let client = self.client(clientid)?;
        if sequence != client.sequence {
            return Err(status::SEQ_MISORDERED);
        }
        client.sequence += 1;
        self.confirm(clientid)?;
        let most = self.config.channel;
        let channel = Channel {
            request_len_max: asked.request_len_max.min(most.request_len_max),
            response_len_max: asked.response_len_max.min(most.response_len_max),
            operations: asked.operations.min(most.operations),
            slots: asked.slots.min(most.slots),
        };
        let mut id = [0x5E; 16];
        id[..8].copy_from_slice(&self.new_id().to_be_bytes());
        let slots = vec![0; channel.slots as usize];
        self.sessions.push(Session { id, client: clientid, channel, slots });
        x.raw(&id).word(sequence).word(0);
        for Channel { request_len_max, response_len_max, operations, slots } in [channel, back] {
            x.words(&[0, request_len_max, response_len_max, 0, operations, slots, 0]);
        }
        Ok(())
    }

    pub(super) fn sequence(
        &mut self,
        compound: &mut Compound,
        args: &mut Args<'_>,
        x: &mut Xdr,
    ) -> Result<(), Refused> {
        let mut id = args.array();
        let (mut number, mut slot, highest, _cache) = (args.word(), args.word(), args.word(), args.word());
        let session = self.sessions.iter_mut().find(|session| session.id == id).ok_or(status::BADSESSION)?;
        let channel = session.channel;
        let seen = session.slots.get_mut(slot as usize).ok_or(status::BADSLOT)?;
        if highest >= channel.slots || slot > highest {
            return Err(status::BAD_HIGH_SLOT);
        }
        match number.wrapping_sub(*seen) {
            1 => {}
            0 => return Err(status::RETRY_UNCACHED_REP),
            _ => return Err(status::SEQ_MISORDERED),
        }
        if compound.count > channel.operations {
            return Err(status::TOO_MANY_OPS);
        }
        if compound.call_len > channel.request_len_max as usize {
            return Err(status::REQ_TOO_BIG);
        }
        *seen = number;
        compound.session = Some(id);
        compound.response_len_max = channel.response_len_max as usize;
        id[15] ^= u8::from(self.shows(Quirk::OtherSession));
        slot ^= u32::from(self.shows(Quirk::OtherSlot));
        number ^= u32::from(self.shows(Quirk::OtherSequence));
        let flags = self.quirk(|quirk| match quirk {
            Quirk::StatusFlags(flags) => Some(flags),
            _ => None,
        });
        let target = self.quirk(|quirk| match quirk {
            Quirk::TargetSlot(slot) => Some(slot),
            _ => None,
        });
        let last = channel.slots - 1;
        x.raw(&id).words(&[number, slot, last, target.unwrap_or(last)]);
        x.word(flags.unwrap_or(0));
        Ok(())
    }

    pub(super) fn reclaim_complete(
        &mut self,
        compound: &Compound,
        args: &mut Args<'_>,
    ) -> Result<(), Refused> {
        assert_eq!(args.word(), 0, "of all file systems");
        let id = self.client_of(compound).ok_or(status::BADSESSION)?;
        match std::mem::replace(&mut self.client(id)?.reclaimed, true) {
            true => Err(status::COMPLETE_ALREADY),
            false => Ok(()),
        }
    }

    pub(super) fn destroy_session(&mut self, args: &mut Args<'_>) -> Result<(), Refused> {
        let id = args.array();
        let before = self.sessions.len();
        self.sessions.retain(|session| session.id != id);
        if self.sessions.len() < before { Ok(()) } else { Err(status::BADSESSION) }
    }

    pub(super) fn destroy_clientid(&mut self, args: &mut Args<'_>) -> Result<(), Refused> {
        let id = args.hyper();
        self.client(id)?;
        if self.sessions.iter().any(|session| session.client == id) {
            return Err(status::CLIENTID_BUSY);
        }
        self.clients.retain(|client| client.id != id);
        self.forget(id);
        Ok(())
    }
}

/// `channel_attrs4`.
fn channel(args: &mut Args<'_>) -> Channel {
    args.word(); // headerpadsize
    let (request_len_max, response_len_max, _cached) = (args.word(), args.word(), args.word());
    let (operations, slots) = (args.word(), args.word());
    assert_eq!(args.word(), 0, "no RDMA");
    Channel { request_len_max, response_len_max, operations, slots }
}
