//! READ (MS-SMB2 2.2.19, 2.2.20, 3.3.5.12).

use crate::connection::{Chain, Connection, Handled};
use crate::header::{self, Request};
use crate::wire::Put;
use crate::{Dialect, Kind, Lie, Status};

const FILE_READ_DATA: u32 = 1;
const FILE_EXECUTE: u32 = 0x20;
/// Where data stands when nothing is between: right after the fixed part of the body.
const DATA_OFFSET: usize = header::LEN + 16;

/// The reply, each field as it goes on the wire.
struct ReadReply {
    data_offset: u8,
    data_length: u32,
    structure_size: u16,
    /// Bytes between the body and the data.
    gap: usize,
    data: Vec<u8>,
}

impl Connection {
    pub(crate) fn read(&mut self, chain: &mut Chain, request: &Request) -> Handled {
        let mut body = request.body();
        body.structure_size(49)?;
        body.skip(2)?;
        let (len, offset) = (body.u32()?, body.u64()?);
        let id = self.handle(chain, &mut body)?;
        let minimum = body.u32()?;
        self.told.reads += 1;
        if self.lies(Lie::SessionExpired { nth: self.told.reads }) {
            self.sessions.entry(chain.session_id).and_modify(|session| session.expired = true);
            return Err(Status::NETWORK_SESSION_EXPIRED);
        }
        if self.lies(Lie::SessionDeleted { nth: self.told.reads }) {
            self.end_session(chain.session_id);
            return Err(Status::USER_SESSION_DELETED);
        }
        self.may_read(id, len)?;
        self.paid(request, len)?;
        let data = self.content(id, offset, len)?;
        if data.is_empty() && len > 0 || (data.len() as u64) < minimum.into() {
            return Err(Status::END_OF_FILE);
        }
        let reply = ReadReply {
            data_offset: DATA_OFFSET as u8,
            data_length: data.len() as u32,
            structure_size: 17,
            gap: 0,
            data,
        };
        Ok(self.distort(reply, id, offset, len).encode().into())
    }

    fn may_read(&self, id: u64, len: u32) -> Result<(), Status> {
        let open = self.opens.get(&id).ok_or(Status::FILE_CLOSED)?;
        if self.node(id)?.is_directory() {
            return Err(Status::INVALID_DEVICE_REQUEST);
        }
        if open.access & (FILE_READ_DATA | FILE_EXECUTE) == 0 {
            return Err(Status::ACCESS_DENIED);
        }
        let at_202 = self.negotiated.as_ref().is_some_and(|negotiated| negotiated.dialect == Dialect::V202);
        let limit = if at_202 { self.config.max_read_size.min(65536) } else { self.config.max_read_size };
        if len > limit { Err(Status::INVALID_PARAMETER) } else { Ok(()) }
    }

    fn content(&self, id: u64, offset: u64, len: u32) -> Result<Vec<u8>, Status> {
        let Kind::File(content) = &self.node(id)?.kind else { return Err(Status::INVALID_DEVICE_REQUEST) };
        let end = self.lie(|lie| match *lie {
            Lie::TruncatedAfterOpen(len) => Some(len),
            Lie::EndOfFileAt(at) if offset >= at => Some(0),
            _ => None,
        });
        let len = end.map_or(len.into(), |end| end.saturating_sub(offset).min(len.into()));
        Ok(content.read(offset, len as usize))
    }

    fn distort(&self, mut reply: ReadReply, id: u64, offset: u64, asked: u32) -> ReadReply {
        for lie in &self.config.lies {
            match *lie {
                Lie::DataLengthBeyondFrame => reply.data.truncate(reply.data.len() / 2),
                Lie::DataLengthBeyondAsked => reply.replace_data(self.generous(id, offset, asked)),
                Lie::DataOffsetOutside => reply.data_offset = 0xF8,
                Lie::DataOffsetBeforeBody => reply.data_offset = 0x20,
                Lie::DataGap => {
                    reply.gap = 16;
                    reply.data_offset += 16;
                }
                Lie::ShortReads(len) => {
                    let data = reply.data[..reply.data.len().min(len as usize)].to_vec();
                    reply.replace_data(data);
                }
                Lie::ReadStructureSize => reply.structure_size = 16,
                Lie::EmptyReads => reply.replace_data(Vec::new()),
                _ => {}
            }
        }
        reply
    }

    /// Eight bytes more than asked, with zeros past the end of the file.
    fn generous(&self, id: u64, offset: u64, asked: u32) -> Vec<u8> {
        let mut data = self.content(id, offset, asked + 8).unwrap_or_default();
        data.resize(asked as usize + 8, 0);
        data
    }
}

impl ReadReply {
    fn replace_data(&mut self, data: Vec<u8>) {
        self.data_length = data.len() as u32;
        self.data = data;
    }

    fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(16 + self.gap + self.data.len());
        body.u16(self.structure_size);
        body.u8(self.data_offset);
        body.u8(0);
        body.u32(self.data_length);
        body.u32(0);
        body.u32(0);
        body.put(&vec![0xEE; self.gap]);
        body.put(&self.data);
        if self.data_length == 0 {
            body.u8(0);
        }
        body
    }
}
