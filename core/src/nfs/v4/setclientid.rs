//! RFC 7530 16.33: SETCLIENTID (4.0).

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::limits::OPAQUE_LIMIT;
use super::op::Op;
use crate::error::Error;
use crate::wire::Reader;

/// Says who the client is. It is not to be called back: no delegations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args<'a> {
    /// Another one each time the client starts: the server then forgets what was open.
    pub verifier: [u8; 8],
    /// What tells the client from all others, at most 1024 bytes.
    pub id: &'a [u8],
}

impl Args<'_> {
    /// Appends the operation. `Invalid`, and nothing is appended, if the identity is too long.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) -> Result<(), Error> {
        if self.id.len() > OPAQUE_LIMIT as usize {
            return Err(Error::Invalid("client identity too long"));
        }
        let w = ops.op(Op::SETCLIENTID, REPLY_HEAD_MAX);
        w.put(&self.verifier);
        w.opaque(self.id);
        w.be32(0); // cb_program
        w.opaque(b"tcp"); // r_netid
        w.opaque(b"0.0.0.0.0.0"); // r_addr: nowhere
        w.be32(0); // callback_ident
        Ok(())
    }
}

/// The most bytes of a result. A refusal (`NFS4ERR_CLID_INUSE`) may be longer, by the address of who uses the identity.
pub const REPLY_HEAD_MAX: usize = RESULT_HEAD_MAX + 16;

/// What the server calls the client, once it is confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResOk {
    /// For the requests to come.
    pub clientid: u64,
    /// For SETCLIENTID_CONFIRM.
    pub setclientid_confirm: [u8; 8],
}

impl ResOk {
    /// Decodes what follows the status.
    pub fn decode(r: &mut Reader<'_>) -> Result<ResOk, Error> {
        Ok(ResOk {
            clientid: r.be64("SETCLIENTID.clientid")?,
            setclientid_confirm: r.array("SETCLIENTID.setclientid_confirm")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn arguments() {
        let setclientid = Args { verifier: [1, 2, 3, 4, 5, 6, 7, 8], id: b"me" };
        #[rustfmt::skip]
        assert_eq!(args(Op::SETCLIENTID, REPLY_HEAD_MAX, |ops| setclientid.encode(ops).unwrap()), [
            1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 2, b'm', b'e', 0, 0, 0, 0, 0, 0,
            0, 0, 0, 3, b't', b'c', b'p', 0,
            0, 0, 0, 11, b'0', b'.', b'0', b'.', b'0', b'.', b'0', b'.', b'0', b'.', b'0', 0, 0, 0, 0, 0,
        ]);
        written(|w| {
            let mut ops = Ops::begin(w, b"", 0);
            assert!(Args { verifier: [0; 8], id: &[0; 1025] }.encode(&mut ops).is_err());
            assert_eq!(ops.count(), 0);
        });
    }

    #[test]
    fn a_result() {
        let result = strict(&[0, 0, 0, 1, 0, 0, 0, 2, 9, 8, 7, 6, 5, 4, 3, 2], ResOk::decode);
        assert_eq!(result.clientid, 0x1_0000_0002);
        assert_eq!(result.setclientid_confirm, [9, 8, 7, 6, 5, 4, 3, 2]);
    }
}
