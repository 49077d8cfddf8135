//! Which call a reply answers, and where its data goes.

use super::kind;
use crate::error::Error;
use crate::inflight::{Inflight, Slot};
use crate::nfs::rpc::{Outcome, Reply, reply_head_len, whole};
use crate::nfs::v3::{Procedure, read};
use crate::protocol::{Head, Left};

/// READ's data goes to the pages; every other reply is kept whole.
pub(super) fn head(head: &[u8], left: Left, inflight: &Inflight<'_>) -> Result<Head, Error> {
    let rpc_len = reply_head_len(head);
    if head.len() < rpc_len {
        return Ok(Head::Need(rpc_len));
    }
    let reply = Reply::decode(head)?;
    let slot = inflight
        .find(reply.xid.into())
        .ok_or(Error::Misbehaved("a reply to a call that is not in flight"))?;
    let asked = inflight.get(slot).unwrap_or(&Slot::FREE);
    let reads = asked.kind == kind::FIRST_READ || u32::from(asked.kind) == Procedure::READ.0;
    if !reads || reply.outcome != Outcome::Success {
        return whole(head, left, slot);
    }
    let body = head.get(reply.len..).unwrap_or(&[]);
    let need = read::head_len(body);
    if body.len() < need {
        return Ok(Head::Need(reply.len.saturating_add(need)));
    }
    let data = match read::Head::decode(body) {
        Err(Error::Refused(_)) => return whole(head, left, slot),
        data => data?,
    };
    if data.len() > asked.extent.len {
        return Err(Error::Misbehaved("READ brought more than was asked"));
    }
    Ok(Head::Data { slot, gap: 0, len: data.len(), pad: data.pad() })
}
