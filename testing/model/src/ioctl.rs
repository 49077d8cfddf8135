//! IOCTL (MS-SMB2 2.2.31, 2.2.32, 3.3.5.15): VALIDATE_NEGOTIATE_INFO and refusals.

use crate::connection::{Connection, Handled};
use crate::header::{self, Request};
use crate::wire::Put;
use crate::{Dialect, Lie, Status};

const FSCTL_DFS_GET_REFERRALS: u32 = 0x0006_0194;
const FSCTL_VALIDATE_NEGOTIATE_INFO: u32 = 0x0014_0204;
const IS_FSCTL: u32 = 1;
const VALIDATE_REPLY_LEN: u32 = 24;

impl Connection {
    pub(crate) fn ioctl(&mut self, request: &Request) -> Handled {
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
        Ok(encode(FSCTL_VALIDATE_NEGOTIATE_INFO, file_id, &output).into())
    }
}

fn encode(code: u32, file_id: &[u8], output: &[u8]) -> Vec<u8> {
    let offset = header::LEN as u32 + 48;
    let mut body = Vec::new();
    body.u16(49);
    body.u16(0);
    body.u32(code);
    body.put(file_id);
    body.u32(offset);
    body.u32(0);
    body.u32(offset);
    body.u32(output.len() as u32);
    body.u32(0);
    body.u32(0);
    body.put(output);
    body
}
