//! What is open, and stateids (RFC 7530 9.1, 16.16, 16.18, 16.2, RFC 8881 8.2, 18.16, 18.2).

use super::compound::{Compound, Refused, Stateid};
use super::model::Model;
use super::numbers::status;
use crate::Kind;
use crate::xdr::{Args, Xdr};

/// The anonymous stateid.
const ANONYMOUS: Stateid = (0, [0; 12]);
/// The bypass stateid.
const BYPASS: Stateid = (u32::MAX, [0xFF; 12]);
/// The current stateid (RFC 8881 8.2.3).
const CURRENT: Stateid = (1, [0; 12]);

/// `OPEN4_RESULT_CONFIRM`.
const CONFIRM: u32 = 2;

/// An open file.
#[derive(Debug)]
pub(super) struct Open {
    pub client: u64,
    owner: Vec<u8>,
    path: String,
    stateid: Stateid,
}

/// An owner, as minor version 0 keeps one.
#[derive(Debug)]
struct Owner {
    client: u64,
    name: Vec<u8>,
    /// The number of its last request.
    seqid: u32,
    confirmed: bool,
}

/// All that is open.
#[derive(Debug, Default)]
pub(super) struct Opens {
    pub opened: Vec<Open>,
    owners: Vec<Owner>,
}

impl Model {
    pub(super) fn open(
        &mut self,
        compound: &mut Compound,
        args: &mut Args<'_>,
        x: &mut Xdr,
    ) -> Result<(), Refused> {
        let (seqid, access, deny, mut client) = (args.word(), args.word(), args.word(), args.hyper());
        let owner = args.opaque();
        let (create, claim) = (args.word(), args.word());
        assert_eq!((access & 3, deny, create), (1, 0, 0), "to read, in nobody's way, and nothing is made");
        match (claim, compound.minor) {
            (0, _) => {
                let name = args.opaque();
                compound.file = Some(self.named(compound, name)?);
            }
            (4, 1..) => {}
            other => panic!("nobody claims {other:?}"),
        }
        let node = self.current(compound)?;
        match node.kind {
            Kind::File(_) => {}
            Kind::Directory => return Err(status::ISDIR),
            Kind::Link(_) => return Err(status::SYMLINK),
        }
        let path = node.path.clone();
        let mut confirm = 0;
        if compound.minor > 0 {
            client = self.client_of(compound).ok_or(status::BADSESSION)?;
            if !self.client(client)?.reclaimed {
                return Err(status::GRACE);
            }
        } else {
            self.client(client).ok().filter(|client| client.confirmed).ok_or(status::STALE_CLIENTID)?;
            confirm = if self.opens.owner(client, owner, seqid)? { 0 } else { CONFIRM };
        }
        let stateid = self.opened(client, owner, path);
        compound.stateid = Some(stateid);
        write(x, stateid);
        x.word(1).hyper(1).hyper(1).word(confirm).word(0);
        match access & 0xFF00 {
            0x0400 => x.words(&[3, 0]), // OPEN_DELEGATE_NONE_EXT: not wanted
            _ => x.word(0),
        };
        Ok(())
    }

    /// Opens of one file by one owner share a stateid.
    fn opened(&mut self, client: u64, owner: &[u8], path: String) -> Stateid {
        let same = |open: &&mut Open| (open.client, &open.owner[..], &open.path) == (client, owner, &path);
        if let Some(open) = self.opens.opened.iter_mut().find(same) {
            open.stateid.0 += 1;
            return open.stateid;
        }
        let mut other = [0x0E; 12];
        other[..8].copy_from_slice(&self.new_id().to_be_bytes());
        let stateid = (1, other);
        self.opens.opened.push(Open { client, owner: owner.to_vec(), path, stateid });
        stateid
    }

    pub(super) fn open_confirm(
        &mut self,
        compound: &Compound,
        args: &mut Args<'_>,
        x: &mut Xdr,
    ) -> Result<(), Refused> {
        let (stateid, seqid) = (read(args), args.word());
        let at = self.open_at(compound, stateid)?;
        let open = &mut self.opens.opened[at];
        let owners = &mut self.opens.owners;
        let owner = owners.iter_mut().find(|owner| (owner.client, &owner.name) == (open.client, &open.owner));
        let owner = owner.ok_or(status::BAD_STATEID)?;
        owner.follows(seqid)?;
        owner.confirmed = true;
        open.stateid.0 += 1;
        write(x, open.stateid);
        Ok(())
    }

    pub(super) fn close(
        &mut self,
        compound: &mut Compound,
        args: &mut Args<'_>,
        x: &mut Xdr,
    ) -> Result<(), Refused> {
        let (seqid, stateid) = (args.word(), read(args));
        let at = self.open_at(compound, stateid)?;
        if compound.minor == 0 {
            self.opens.confirmed(at)?.follows(seqid)?;
        }
        self.opens.opened.remove(at);
        compound.stateid = None;
        write(x, (u32::MAX, [0; 12]));
        Ok(())
    }

    /// Whether the current file may be read with a stateid; of the special ones only those that `special` says.
    pub(super) fn may_read(
        &mut self,
        compound: &Compound,
        args: &mut Args<'_>,
        special: bool,
    ) -> Result<(), Refused> {
        match read(args) {
            BYPASS if special && self.config.takes_bypass => Ok(()),
            ANONYMOUS if special && self.config.takes_anonymous => Ok(()),
            stateid => {
                let at = self.open_at(compound, stateid)?;
                if compound.minor == 0 {
                    self.opens.confirmed(at)?;
                }
                Ok(())
            }
        }
    }

    /// Which open of the current file a stateid stands for.
    fn open_at(&self, compound: &Compound, stateid: Stateid) -> Result<usize, Refused> {
        let stateid = match stateid {
            CURRENT if compound.minor > 0 => compound.stateid.ok_or(status::BAD_STATEID)?,
            BYPASS | ANONYMOUS => return Err(status::BAD_STATEID),
            stateid => stateid,
        };
        let boot = u32::from_be_bytes([0, 1, 2, 3].map(|at| stateid.1[at]));
        if boot != self.boot {
            return Err(status::STALE_STATEID);
        }
        let at = self.opens.opened.iter().position(|open| open.stateid.1 == stateid.1);
        let at = at.ok_or(status::BAD_STATEID)?;
        let open = &self.opens.opened[at];
        let mine = compound.minor == 0 || self.client_of(compound) == Some(open.client);
        if !mine || compound.file.as_ref() != Some(&open.path) || stateid.0 > open.stateid.0 {
            return Err(status::BAD_STATEID);
        }
        // 0 is the latest (RFC 8881 8.2.2).
        match stateid.0 {
            0 if compound.minor > 0 => Ok(at),
            number if number == open.stateid.0 => Ok(at),
            _ => Err(status::OLD_STATEID),
        }
    }
}

impl Opens {
    /// A request of an owner, which may be a new one. Whether it is confirmed.
    fn owner(&mut self, client: u64, name: &[u8], seqid: u32) -> Result<bool, Refused> {
        match self.owners.iter_mut().find(|owner| (owner.client, &owner.name[..]) == (client, name)) {
            Some(owner) => {
                owner.follows(seqid)?;
                Ok(owner.confirmed)
            }
            None => {
                self.owners.push(Owner { client, name: name.to_vec(), seqid, confirmed: false });
                Ok(false)
            }
        }
    }

    /// The owner of an open. BAD_STATEID until it is confirmed.
    fn confirmed(&mut self, at: usize) -> Result<&mut Owner, Refused> {
        let open = &self.opened[at];
        let mut owners = self.owners.iter_mut().filter(|owner| owner.confirmed);
        owners
            .find(|owner| (owner.client, &owner.name) == (open.client, &open.owner))
            .ok_or(status::BAD_STATEID)
    }
}

impl Owner {
    fn follows(&mut self, seqid: u32) -> Result<(), Refused> {
        if seqid != self.seqid.wrapping_add(1) {
            return Err(status::BAD_SEQID);
        }
        self.seqid = seqid;
        Ok(())
    }
}

fn read(args: &mut Args<'_>) -> Stateid {
    (args.word(), args.array())
}

fn write(x: &mut Xdr, stateid: Stateid) {
    x.word(stateid.0).raw(&stateid.1);
}
