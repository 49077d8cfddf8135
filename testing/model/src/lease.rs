//! Leases (MS-SMB2 2.2.13.2.8, 2.2.14.2.10, 2.2.23.2, 2.2.24.2, 2.2.25.2): read and handle for whoever asks, if they are offered.

use crate::connection::{Connection, Handled, Reply};
use crate::oplock_break;
use crate::wire::{Put, Reader};
use crate::{Lie, Status};

/// Read and handle.
const RH: u32 = 3;
/// Read alone.
const READ: u32 = 1;
const ACK_REQUIRED: u32 = 1;
pub(crate) const NAME: &[u8] = b"RqLs";

/// The data of a lease context.
pub(crate) struct Asked {
    pub(crate) key: [u8; 16],
    v2: bool,
}

impl Asked {
    pub(crate) fn decode(data: &[u8]) -> Result<Asked, Status> {
        let v2 = match data.len() {
            32 => false,
            52 => true,
            _ => return Err(Status::INVALID_PARAMETER),
        };
        let mut data = Reader::new(data);
        let key = data.array()?;
        if data.u32()? != RH || data.u32()? != 0 {
            return Err(Status::INVALID_PARAMETER);
        }
        Ok(Asked { key, v2 })
    }
}

impl Connection {
    /// What is answered to a CREATE that asks for this, or for nothing.
    pub(crate) fn lease(&self, asked: Option<Asked>) -> Option<Asked> {
        match asked {
            None if self.lies(Lie::LeaseUnasked) => Some(Asked { key: [0x77; 16], v2: true }),
            asked => asked.filter(|_| self.config.leases),
        }
    }

    /// The data of the context in the answer.
    pub(crate) fn lease_data(&self, lease: &Asked) -> Vec<u8> {
        let mut data = Vec::new();
        data.put(&if self.lies(Lie::LeaseOtherKey) { [0x77; 16] } else { lease.key });
        data.u32(if self.lies(Lie::LeaseOfMore) { RH | 4 } else { RH });
        data.zeros(12);
        if lease.v2 {
            data.zeros(16);
            data.u32(1);
        }
        data
    }

    /// What breaks the lease of a handle, if it has one.
    pub(crate) fn lease_break(&self, file: u64) -> Option<Reply> {
        self.opens.get(&file)?.lease.map(notification)
    }

    pub(crate) fn lease_acknowledgment(&mut self, body: &mut Reader) -> Handled {
        body.skip(6)?;
        let key = body.array()?;
        let state = body.u32()?;
        if !self.opens.values().any(|open| open.lease == Some(key)) {
            return Err(Status::OBJECT_NAME_NOT_FOUND);
        }
        self.account.lease_acknowledgments += 1;
        let mut out = Vec::new();
        out.u16(36);
        out.zeros(6);
        out.put(&key);
        out.u32(state);
        out.zeros(8);
        Ok(out.into())
    }
}

/// The lease is broken: the handle is not to be kept.
pub(crate) fn notification(key: [u8; 16]) -> Reply {
    let mut body = Vec::new();
    body.u16(44);
    body.u16(2);
    body.u32(ACK_REQUIRED);
    body.put(&key);
    body.u32(RH);
    body.u32(READ);
    body.zeros(12);
    oplock_break::unsolicited(body)
}
