//! TREE_CONNECT (MS-SMB2 2.2.9, 2.2.10, 3.3.5.7) and TREE_DISCONNECT.

use crate::connection::{Chain, Connection, Handled};
use crate::header::Request;
use crate::wire::{Put, from_utf16};
use crate::{Lie, Sealing, Status};

const DISK: u8 = 1;
const SHAREFLAG_ENCRYPT_DATA: u32 = 0x8000;
/// FILE_GENERIC_READ and FILE_EXECUTE: all that anybody gets.
pub(crate) const READ_ACCESS: u32 = 0x0012_00A9;

impl Connection {
    pub(crate) fn tree_connect(&mut self, chain: &mut Chain, request: &Request) -> Handled {
        let mut body = request.body();
        body.structure_size(9)?;
        body.skip(2)?;
        let (offset, len) = (body.u16()?, body.u16()?);
        let path = from_utf16(body.slice(offset.into(), len.into())?)?;
        let share = path.strip_prefix(r"\\").and_then(|path| path.split_once('\\'));
        let (_, share) = share.ok_or(Status::BAD_NETWORK_NAME)?;
        if !share.eq_ignore_ascii_case(&self.config.share) {
            return Err(Status::BAD_NETWORK_NAME);
        }
        let sealed = self.config.sealing == Sealing::Share;
        let id = self.next_id() as u32;
        let session = self.sessions.get_mut(&chain.session_id).ok_or(Status::USER_SESSION_DELETED)?;
        let can_seal = session.keys.is_some() && self.negotiated.as_ref().is_some_and(|n| n.cipher.is_some());
        if sealed && !can_seal {
            return Err(Status::ACCESS_DENIED);
        }
        session.trees.insert(id);
        chain.tree_id = id;
        let mut body = Vec::new();
        body.u16(16);
        body.u8(self
            .lie(|lie| if let Lie::ShareType(kind) = *lie { Some(kind) } else { None })
            .unwrap_or(DISK));
        body.u8(0);
        body.u32(if sealed { SHAREFLAG_ENCRYPT_DATA } else { 0 });
        body.u32(0);
        body.u32(READ_ACCESS);
        Ok(body.into())
    }

    pub(crate) fn tree_disconnect(&mut self, chain: &Chain, request: &Request) -> Handled {
        request.body().structure_size(4)?;
        let session = self.sessions.get_mut(&chain.session_id).ok_or(Status::USER_SESSION_DELETED)?;
        session.trees.remove(&chain.tree_id);
        self.opens.retain(|_, open| (open.session_id, open.tree_id) != (chain.session_id, chain.tree_id));
        Ok(vec![4, 0, 0, 0].into())
    }
}
