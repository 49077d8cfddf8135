//! OPLOCK_BREAK (MS-SMB2 2.2.23, 2.2.24, 2.2.25): the notification is told as a lie, acknowledgments are counted.

use crate::connection::{Chain, Connection, Handled, Reply};
use crate::create::put_file_id;
use crate::header::{FLAG_RESPONSE, Header, Request};
use crate::wire::Put;
use crate::{Command, Status};

impl Connection {
    pub(crate) fn oplock_break(&mut self, chain: &mut Chain, request: &Request) -> Handled {
        let mut body = request.body();
        if body.u16()? == 36 {
            return self.lease_acknowledgment(&mut body);
        }
        let mut body = request.body();
        body.structure_size(24)?;
        body.skip(6)?;
        let id = self.handle(chain, &mut body)?;
        self.account.oplock_acknowledgments += 1;
        Ok(encode(id).into())
    }
}

/// A notification that breaks the oplock of `file` to none.
pub(crate) fn notification(file: u64) -> Reply {
    unsolicited(encode(file))
}

/// A notification with this body.
pub(crate) fn unsolicited(body: Vec<u8>) -> Reply {
    let header = Header {
        credit_charge: 0,
        status: Status::SUCCESS,
        command: Command::OplockBreak,
        credits: 0,
        flags: FLAG_RESPONSE,
        next_command: 0,
        message_id: u64::MAX,
        process_id: 0,
        tree_id: 0,
        async_id: 0,
        session_id: 0,
        signature: [0; 16],
    };
    Reply { header, body, signer: None, file: None, next_command: None }
}

/// The same 24 bytes as notification and as response.
fn encode(file: u64) -> Vec<u8> {
    let mut body = Vec::new();
    body.u16(24);
    body.zeros(6);
    put_file_id(&mut body, file);
    body
}
