//! RFC 8881 18.36: CREATE_SESSION (4.1).

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::op::Op;
use crate::error::Error;
use crate::nfs::rpc::AUTH_NONE;
use crate::wire::{Reader, Writer};

/// `sessionid4`: what a server calls a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionId(pub [u8; 16]);

/// `channel_attrs4`: what one direction of a session takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelAttrs {
    /// The longest request, from the RPC header on.
    pub maxrequestsize: u32,
    /// The longest reply, likewise: `NFS4ERR_REP_TOO_BIG` for more, even if `maxread` is larger.
    pub maxresponsesize: u32,
    /// The longest reply that the server keeps for a retry.
    pub maxresponsesize_cached: u32,
    /// Operations of a COMPOUND, SEQUENCE among them.
    pub maxoperations: u32,
    /// Requests in flight: the slots.
    pub maxrequests: u32,
}

impl ChannelAttrs {
    /// Of a back channel that is never used, and still must be named: the least that servers accept.
    pub const BACK: ChannelAttrs = ChannelAttrs {
        maxrequestsize: 4096,
        maxresponsesize: 4096,
        maxresponsesize_cached: 0,
        maxoperations: 2,
        maxrequests: 1,
    };

    fn encode(&self, w: &mut Writer<'_>) {
        w.be32(0); // headerpadsize
        w.be32(self.maxrequestsize);
        w.be32(self.maxresponsesize);
        w.be32(self.maxresponsesize_cached);
        w.be32(self.maxoperations);
        w.be32(self.maxrequests);
        w.be32(0); // rdma_ird: none
    }

    fn decode(r: &mut Reader<'_>) -> Result<ChannelAttrs, Error> {
        r.skip(4, "CREATE_SESSION.headerpadsize")?;
        let attrs = ChannelAttrs {
            maxrequestsize: r.be32("CREATE_SESSION.maxrequestsize")?,
            maxresponsesize: r.be32("CREATE_SESSION.maxresponsesize")?,
            maxresponsesize_cached: r.be32("CREATE_SESSION.maxresponsesize_cached")?,
            maxoperations: r.be32("CREATE_SESSION.maxoperations")?,
            maxrequests: r.be32("CREATE_SESSION.maxrequests")?,
        };
        // An array of one at most: the same bytes as an optional.
        r.optional("CREATE_SESSION.rdma_ird", |r| r.be32("CREATE_SESSION.rdma_ird"))?;
        Ok(attrs)
    }
}

/// Creates a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args {
    /// What EXCHANGE_ID returned.
    pub clientid: u64,
    /// What EXCHANGE_ID returned, one more for every further session of the client.
    pub sequence: u32,
    /// What we would like: the server may take less.
    pub fore: ChannelAttrs,
    /// Of calls from the server, which we do not answer: [`ChannelAttrs::BACK`].
    pub back: ChannelAttrs,
}

impl Args {
    /// Appends the operation.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) {
        let w = ops.op(Op::CREATE_SESSION, REPLY_HEAD_MAX);
        w.be64(self.clientid);
        w.be32(self.sequence);
        w.be32(0); // flags: not persistent, no back channel
        self.fore.encode(w);
        self.back.encode(w);
        w.be32(0); // cb_program
        w.be32(1); // sec_parms: nobody in particular calls back
        w.be32(AUTH_NONE);
    }
}

/// The most bytes of a result.
pub const REPLY_HEAD_MAX: usize = RESULT_HEAD_MAX + 16 + 4 + 4 + 2 * (28 + 4);

/// The session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResOk {
    /// For SEQUENCE.
    pub sessionid: SessionId,
    /// What the server takes.
    pub fore: ChannelAttrs,
}

impl ResOk {
    /// Decodes what follows the status. `Misbehaved` if there is no room in the session for any request.
    pub fn decode(r: &mut Reader<'_>) -> Result<ResOk, Error> {
        let sessionid = SessionId(r.array("CREATE_SESSION.sessionid")?);
        r.skip(4, "CREATE_SESSION.sequence")?;
        r.skip(4, "CREATE_SESSION.flags")?;
        let fore = ChannelAttrs::decode(r)?;
        ChannelAttrs::decode(r)?;
        if fore.maxrequests == 0 || fore.maxoperations == 0 {
            return Err(Error::Misbehaved("CREATE_SESSION takes no requests"));
        }
        Ok(ResOk { sessionid, fore })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    const FORE: ChannelAttrs = ChannelAttrs {
        maxrequestsize: 0x1000,
        maxresponsesize: 0x0010_2000,
        maxresponsesize_cached: 0x300,
        maxoperations: 16,
        maxrequests: 8,
    };

    #[test]
    fn arguments() {
        let create =
            Args { clientid: 0x0102_0304_0506_0708, sequence: 3, fore: FORE, back: ChannelAttrs::BACK };
        #[rustfmt::skip]
        assert_eq!(args(Op::CREATE_SESSION, REPLY_HEAD_MAX, |ops| create.encode(ops)), [
            1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 3, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 16, 0, 0, 16, 32, 0, 0, 0, 3, 0, 0, 0, 0, 16, 0, 0, 0, 8, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
        ]);
    }

    /// With the depth that only RDMA uses in the one direction.
    #[rustfmt::skip]
    const BYTES: [u8; 84] = [
        9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 0, 0, 0, 3, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 16, 0, 0, 16, 32, 0, 0, 0, 3, 0, 0, 0, 0, 16, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 5,
        0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0,
    ];

    #[test]
    fn a_result() {
        let result = strict(&BYTES, ResOk::decode);
        assert_eq!(result, ResOk { sessionid: SessionId([9; 16]), fore: FORE });
        assert_eq!(REPLY_HEAD_MAX, 8 + BYTES.len() + 4);
    }

    #[test]
    fn a_session_without_room_is_refused() {
        for at in [43, 47] {
            let mut bytes = BYTES;
            bytes[at] = 0;
            assert!(matches!(ResOk::decode(&mut Reader::new(&bytes)), Err(Error::Misbehaved(_))));
        }
        let mut bytes = BYTES;
        bytes[51] = 2;
        assert_eq!(ResOk::decode(&mut Reader::new(&bytes)), Err(Error::Malformed("CREATE_SESSION.rdma_ird")));
    }
}
