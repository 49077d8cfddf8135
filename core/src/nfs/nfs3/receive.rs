//! Which call a reply answers, and where its data goes.

use crate::error::Error;
use crate::inflight::Inflight;
use crate::nfs::rpc::{Outcome, Reply, reply_head_len};
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
    let asked = inflight.get(slot).unwrap_or_default();
    let reads = u32::from(asked.kind) == Procedure::READ.0 && reply.outcome == Outcome::Success;
    if !reads {
        return whole(head, left, slot);
    }
    let body = head.get(reply.len..).unwrap_or(&[]);
    let need = read::head_len(body);
    if body.len() < need {
        return Ok(Head::Need(reply.len.saturating_add(need)));
    }
    let Ok(data) = read::Head::decode(body) else { return whole(head, left, slot) };
    if data.len() > asked.extent.len {
        return Err(Error::Misbehaved("READ brought more than was asked"));
    }
    Ok(Head::Data { slot, at: 0, gap: 0, len: data.len(), pad: data.pad() })
}

/// A message that is kept whole, however many fragments it comes in.
fn whole(head: &[u8], left: Left, slot: usize) -> Result<Head, Error> {
    match (left.len, left.last) {
        (0, true) => Ok(Head::Message { slot: Some(slot), pad: 0 }),
        // The next fragment's length is not known yet: a byte of it will tell.
        (0, false) => Ok(Head::Need(head.len().saturating_add(1))),
        (len, _) => Ok(Head::Need(head.len().saturating_add(len as usize))),
    }
}
