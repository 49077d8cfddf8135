//! IOCTL (MS-SMB2 2.2.31, 2.2.32, 3.3.5.15): VALIDATE_NEGOTIATE_INFO, QUERY_ALLOCATED_RANGES and refusals.

use crate::connection::{Answer, Chain, Connection, Handled};
use crate::header::{self, Request};
use crate::wire::{Put, Reader};
use crate::{Dialect, Lie, Status};

const FSCTL_DFS_GET_REFERRALS: u32 = 0x0006_0194;
const FSCTL_QUERY_ALLOCATED_RANGES: u32 = 0x0009_40CF;
const FSCTL_VALIDATE_NEGOTIATE_INFO: u32 = 0x0014_0204;
const IS_FSCTL: u32 = 1;
const VALIDATE_REPLY_LEN: u32 = 24;
/// Where the output stands when nothing is between: right after the fixed part of the body.
const OUTPUT_OFFSET: u32 = header::LEN as u32 + 48;

impl Connection {
    pub(crate) fn ioctl(&mut self, chain: &mut Chain, request: &Request) -> Handled {
        let mut body = request.body();
        body.structure_size(57)?;
        body.skip(2)?;
        let code = body.u32()?;
        let file_id = body.bytes(16)?;
        let (offset, len) = (body.u32()?, body.u32()?);
        body.skip(12)?;
        let output_max = body.u32()?;
        let flags = body.u32()?;
        let input = body.slice(offset as usize, len as usize)?;
        self.paid(request, len.max(output_max))?;
        if flags != IS_FSCTL {
            return Err(Status::NOT_SUPPORTED);
        }
        match code {
            FSCTL_VALIDATE_NEGOTIATE_INFO => self.validate(file_id, input, output_max),
            FSCTL_QUERY_ALLOCATED_RANGES => {
                let id = self.handle(chain, &mut Reader::new(file_id))?;
                if output_max > self.config.max_transact_size {
                    return Err(Status::INVALID_PARAMETER);
                }
                let (status, ranges) = self.query_allocated_ranges(id, input, output_max)?;
                let body = self.distort_output(Output::new(code, file_id, ranges)).encode();
                Ok(Answer { status, body })
            }
            FSCTL_DFS_GET_REFERRALS => Err(Status::FS_DRIVER_REQUIRED),
            _ => Err(Status::INVALID_DEVICE_REQUEST),
        }
    }

    /// Answers what was negotiated, and hangs up on a client that remembers something else.
    fn validate(&mut self, file_id: &[u8], input: &[u8], output_max: u32) -> Handled {
        let negotiated = self.negotiated.as_ref().ok_or(Status::INVALID_PARAMETER)?;
        if input != negotiated.client || output_max < VALIDATE_REPLY_LEN {
            self.closed = true;
            return Err(Status::INVALID_PARAMETER);
        }
        let dialect = match self.lies(Lie::ValidateDowngrade) {
            true => Dialect::V202,
            false => negotiated.dialect,
        };
        let mut output = Vec::new();
        output.u32(negotiated.capabilities);
        output.put(&self.guid);
        output.u16(self.security_mode());
        output.u16(dialect as u16);
        Ok(Output::new(FSCTL_VALIDATE_NEGOTIATE_INFO, file_id, output).encode().into())
    }

    /// What lies make of the reply to QUERY_ALLOCATED_RANGES.
    fn distort_output<'a>(&self, mut output: Output<'a>) -> Output<'a> {
        for lie in &self.config.lies {
            match lie {
                Lie::OutputGap => {
                    output.gap = 16;
                    output.offset += 16;
                }
                Lie::OutputOffsetOutside => output.offset = 0x10_0000,
                Lie::OutputOffsetBeforeBody => output.offset = 0x20,
                Lie::OutputCountBeyond => output.count += 16,
                _ => {}
            }
        }
        output
    }
}

/// The reply, each field as it goes on the wire. No input is sent back.
struct Output<'a> {
    code: u32,
    file_id: &'a [u8],
    offset: u32,
    count: u32,
    /// Bytes between the body and the output.
    gap: usize,
    bytes: Vec<u8>,
}

impl<'a> Output<'a> {
    fn new(code: u32, file_id: &'a [u8], bytes: Vec<u8>) -> Self {
        Output { code, file_id, offset: OUTPUT_OFFSET, count: bytes.len() as u32, gap: 0, bytes }
    }

    fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.u16(49);
        body.u16(0);
        body.u32(self.code);
        body.put(self.file_id);
        body.u32(OUTPUT_OFFSET);
        body.u32(0);
        body.u32(self.offset);
        body.u32(self.count);
        body.u32(0);
        body.u32(0);
        body.put(&vec![0xEE; self.gap]);
        body.put(&self.bytes);
        body
    }
}
