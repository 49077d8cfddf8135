//! RFC 8881 18.35: EXCHANGE_ID (4.1).

use super::compound::{Ops, RESULT_HEAD_MAX};
use super::limits::{IDENTITY_LEN_USUAL, OPAQUE_LIMIT};
use super::op::Op;
use crate::error::Error;
use crate::wire::Reader;

/// `flags`: `EXCHGID4_FLAG_SUPP_MOVED_REFER`, referrals are understood.
pub const SUPP_MOVED_REFER: u32 = 0x0000_0001;
/// `flags`: `EXCHGID4_FLAG_USE_NON_PNFS`, a server that serves its own data.
pub const USE_NON_PNFS: u32 = 0x0001_0000;
/// `flags` of a result: `EXCHGID4_FLAG_CONFIRMED_R`, the server knows the client already.
pub const CONFIRMED_R: u32 = 0x8000_0000;

/// `state_protect_how4`: `SP4_NONE`.
const SP4_NONE: u32 = 0;

/// Says who the client is. State is protected by nothing but the credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args<'a> {
    /// Another one each time the client starts: the server then forgets what was open.
    pub verifier: [u8; 8],
    /// What tells the client from all others, at most 1024 bytes.
    pub ownerid: &'a [u8],
    /// [`SUPP_MOVED_REFER`] and [`USE_NON_PNFS`], or nothing.
    pub flags: u32,
}

impl Args<'_> {
    /// Appends the operation. `Invalid`, and nothing is appended, if the identity is too long.
    pub fn encode(&self, ops: &mut Ops<'_, '_>) -> Result<(), Error> {
        if self.ownerid.len() > OPAQUE_LIMIT as usize {
            return Err(Error::Invalid("client identity too long"));
        }
        let w = ops.op(Op::EXCHANGE_ID, REPLY_HEAD_MAX);
        w.put(&self.verifier);
        w.opaque(self.ownerid);
        w.be32(self.flags);
        w.be32(SP4_NONE);
        w.be32(0); // client_impl_id: none
        Ok(())
    }
}

/// The most bytes of a result of any server that we know. The RFC allows strings that are longer, up to 1024 bytes each:
/// they are decoded where there is room.
pub const REPLY_HEAD_MAX: usize =
    RESULT_HEAD_MAX + 8 + 4 + 4 + 4 + (8 + STRING_LEN_MAX) + STRING_LEN_MAX + (4 + 2 * STRING_LEN_MAX + 12);
const STRING_LEN_MAX: usize = 4 + IDENTITY_LEN_USUAL as usize;

/// What the server calls the client, once there is a session, and who it is itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResOk<'a> {
    /// For CREATE_SESSION.
    pub clientid: u64,
    /// For CREATE_SESSION.
    pub sequenceid: u32,
    /// [`CONFIRMED_R`] and others.
    pub flags: u32,
    /// With [`server_major_id`](Self::server_major_id): tells servers apart that are one and the same at several
    /// addresses.
    pub server_minor_id: u64,
    /// Which server.
    pub server_major_id: &'a [u8],
    /// Where file handles and the like have the same meaning.
    pub server_scope: &'a [u8],
    /// What software it says that it is, or "".
    pub server_impl_name: &'a [u8],
}

impl<'a> ResOk<'a> {
    /// Decodes what follows the status. `Malformed` if state is to be protected in another way than was asked.
    pub fn decode(r: &mut Reader<'a>) -> Result<ResOk<'a>, Error> {
        let clientid = r.be64("EXCHANGE_ID.clientid")?;
        let sequenceid = r.be32("EXCHANGE_ID.sequenceid")?;
        let flags = r.be32("EXCHANGE_ID.flags")?;
        if r.be32("EXCHANGE_ID.state_protect")? != SP4_NONE {
            return Err(Error::Malformed("EXCHANGE_ID.state_protect"));
        }
        let server_minor_id = r.be64("EXCHANGE_ID.so_minor_id")?;
        let server_major_id = r.opaque(OPAQUE_LIMIT, "EXCHANGE_ID.so_major_id")?;
        let server_scope = r.opaque(OPAQUE_LIMIT, "EXCHANGE_ID.server_scope")?;
        // An array of one at most: the same bytes as an optional.
        let server_impl_name = r.optional("EXCHANGE_ID.server_impl_id", |r| {
            r.opaque(OPAQUE_LIMIT, "EXCHANGE_ID.nii_domain")?;
            let name = r.opaque(OPAQUE_LIMIT, "EXCHANGE_ID.nii_name")?;
            r.skip(12, "EXCHANGE_ID.nii_date")?;
            Ok(name)
        })?;
        Ok(ResOk {
            clientid,
            sequenceid,
            flags,
            server_minor_id,
            server_major_id,
            server_scope,
            server_impl_name: server_impl_name.unwrap_or(&[]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn arguments() {
        let exchange_id =
            Args { verifier: [1, 2, 3, 4, 5, 6, 7, 8], ownerid: b"me", flags: SUPP_MOVED_REFER };
        #[rustfmt::skip]
        assert_eq!(args(Op::EXCHANGE_ID, REPLY_HEAD_MAX, |ops| exchange_id.encode(ops).unwrap()), [
            1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 2, b'm', b'e', 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
        ]);
        written(|w| {
            let mut ops = Ops::begin(w, b"", 1);
            assert!(Args { ownerid: &[0; 1025], ..exchange_id }.encode(&mut ops).is_err());
            assert_eq!(ops.count(), 0);
        });
    }

    #[rustfmt::skip]
    const BYTES: [u8; 76] = [
        0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0x80, 1, 0, 1, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, b'm', 0, 0, 0, 0, 0, 0, 2, b's', b'c', 0, 0,
        0, 0, 0, 1, 0, 0, 0, 1, b'd', 0, 0, 0, 0, 0, 0, 4, b's', b'o', b'f', b't',
        0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0,
    ];

    #[test]
    fn a_result() {
        strict(&BYTES, |r| ResOk::decode(r).map(|_| ()));
        let expected = ResOk {
            clientid: 0x1_0000_0002,
            sequenceid: 3,
            flags: CONFIRMED_R | USE_NON_PNFS | SUPP_MOVED_REFER,
            server_minor_id: 9,
            server_major_id: b"m",
            server_scope: b"sc",
            server_impl_name: b"soft",
        };
        assert_eq!(ResOk::decode(&mut Reader::new(&BYTES)), Ok(expected));
        let mut nameless = BYTES[..48].to_vec();
        nameless[47] = 0;
        strict(&nameless, |r| ResOk::decode(r).map(|_| ()));
        assert_eq!(
            ResOk::decode(&mut Reader::new(&nameless)),
            Ok(ResOk { server_impl_name: b"", ..expected })
        );
    }

    #[test]
    fn other_protection_and_more_than_one_name_are_refused() {
        for (at, value, field) in [
            (19, 1, "EXCHANGE_ID.state_protect"),
            (19, 2, "EXCHANGE_ID.state_protect"),
            (30, 5, "EXCHANGE_ID.so_major_id"), // 1281 bytes
            (47, 2, "EXCHANGE_ID.server_impl_id"),
        ] {
            let mut bytes = BYTES.to_vec();
            bytes[at] = value;
            bytes.resize(4096, 0);
            assert_eq!(ResOk::decode(&mut Reader::new(&bytes)), Err(Error::Malformed(field)));
        }
    }
}
