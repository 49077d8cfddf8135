//! The SMB2 header (MS-SMB2 2.2.1) and the split of a chain into its members.

use crate::wire::{Put, Reader};
use crate::{Command, Status};

pub(crate) const LEN: usize = 64;
pub(crate) const PROTOCOL: &[u8] = b"\xFESMB";

pub(crate) const FLAG_RESPONSE: u32 = 0x1;
pub(crate) const FLAG_ASYNC: u32 = 0x2;
pub(crate) const FLAG_RELATED: u32 = 0x4;
pub(crate) const FLAG_SIGNED: u32 = 0x8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) credit_charge: u16,
    pub(crate) status: Status,
    pub(crate) command: Command,
    /// Requested in a request, granted in a reply.
    pub(crate) credits: u16,
    pub(crate) flags: u32,
    pub(crate) next_command: u32,
    pub(crate) message_id: u64,
    pub(crate) process_id: u32,
    pub(crate) tree_id: u32,
    /// Stands where process and tree id do when FLAG_ASYNC is set.
    pub(crate) async_id: u64,
    pub(crate) session_id: u64,
    pub(crate) signature: [u8; 16],
}

impl Header {
    pub(crate) fn decode(message: &[u8]) -> Result<Header, Status> {
        let mut reader = Reader::new(message);
        if reader.bytes(4)? != PROTOCOL {
            return Err(Status::INVALID_PARAMETER);
        }
        reader.structure_size(LEN as u16)?;
        Ok(Header {
            credit_charge: reader.u16()?,
            status: Status(reader.u32()?),
            command: Command::from_wire(reader.u16()?).ok_or(Status::INVALID_PARAMETER)?,
            credits: reader.u16()?,
            flags: reader.u32()?,
            next_command: reader.u32()?,
            message_id: reader.u64()?,
            process_id: reader.u32()?,
            tree_id: reader.u32()?,
            async_id: 0,
            session_id: reader.u64()?,
            signature: reader.array()?,
        })
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(LEN);
        out.put(PROTOCOL);
        out.u16(LEN as u16);
        out.u16(self.credit_charge);
        out.u32(self.status.0);
        out.u16(self.command as u16);
        out.u16(self.credits);
        out.u32(self.flags);
        out.u32(self.next_command);
        out.u64(self.message_id);
        if self.flags & FLAG_ASYNC != 0 {
            out.u64(self.async_id);
        } else {
            out.u32(self.process_id);
            out.u32(self.tree_id);
        }
        out.u64(self.session_id);
        out.put(&self.signature);
        out
    }

    pub(crate) fn is(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }
}

/// One member of a chain, padding included: signatures cover it.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) header: Header,
    pub(crate) message: &'a [u8],
}

impl<'a> Request<'a> {
    /// A reader of the whole message that stands at the body.
    pub(crate) fn body(&self) -> Reader<'a> {
        let mut reader = Reader::new(self.message);
        reader.skip(LEN).expect("the header was decoded");
        reader
    }
}

/// Splits a frame; NextCommand must move forward by multiples of 8 and stay inside.
pub(crate) fn split(mut frame: &[u8]) -> Result<Vec<Request<'_>>, Status> {
    let mut requests = Vec::new();
    loop {
        let header = Header::decode(frame)?;
        let next = header.next_command as usize;
        if next == 0 {
            requests.push(Request { header, message: frame });
            return Ok(requests);
        }
        if next < LEN || !next.is_multiple_of(8) || next > frame.len() {
            return Err(Status::INVALID_PARAMETER);
        }
        let (message, rest) = frame.split_at(next);
        requests.push(Request { header, message });
        frame = rest;
    }
}
