//! MS-SMB2 2.2.13.2.8 and 2.2.13.2.10, 2.2.14.2.10 and 2.2.14.2.11: a lease, as a create context of CREATE and of its response.

use super::create::OPLOCK_LEASE;
use super::header::LEN;
use super::oplock_break::{LEASE_HANDLE_CACHING, LEASE_READ_CACHING};
use crate::error::Error;
use crate::wire::{Mark, Reader, Writer, slice};

/// `LeaseFlags` of a response: `SMB2_LEASE_FLAG_BREAK_IN_PROGRESS`.
pub const BREAK_IN_PROGRESS: u32 = 0x0000_0002;

/// `SMB2_CREATE_REQUEST_LEASE` and `_V2`, and the responses to them, have the same name.
const NAME: [u8; 4] = *b"RqLs";
/// Where the data of a context starts: behind Next, NameOffset, NameLength, Reserved, DataOffset, DataLength, the name and padding.
const DATA_AT: u16 = 24;
/// The data of version 1.
const V1_LEN: u32 = 32;
/// The data of version 2, which adds ParentLeaseKey, Epoch and Reserved.
const V2_LEN: u32 = 52;

/// Where `RequestedOplockLevel` stands in the body of CREATE.
const OPLOCK_LEVEL_AT: usize = 3;
/// Where `CreateContextsOffset` and `CreateContextsLength` stand there.
const CONTEXTS_AT: usize = 48;
/// Where the two stand in the body of its response.
const RESPONSE_CONTEXTS_AT: usize = 80;

/// Asks to keep reads and the handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The client's name for it.
    pub lease_key: [u8; 16],
    /// As 3.x has it, and not 2.1.
    pub v2: bool,
}

impl Request {
    /// What is asked for.
    pub const STATE: u32 = LEASE_READ_CACHING | LEASE_HANDLE_CACHING;

    /// Makes the CREATE whose body stands from `create` to the end of `w` ask for the lease, and appends the context.
    pub fn append(&self, w: &mut Writer<'_>, create: Mark) {
        let body_len = w.since(create).len();
        w.zeros(body_len.wrapping_neg() & 7); // A header is a multiple of 8.
        let offset = LEN.saturating_add(w.since(create).len()) as u32;
        let start = w.at();
        w.le32(0); // Next
        w.le16(16); // NameOffset
        w.le16(NAME.len() as u16);
        w.le16(0); // Reserved
        w.le16(DATA_AT);
        w.le32(if self.v2 { V2_LEN } else { V1_LEN });
        w.put(&NAME);
        w.zeros(4);
        w.put(&self.lease_key);
        w.le32(Self::STATE);
        w.zeros(12); // LeaseFlags, LeaseDuration
        if self.v2 {
            w.zeros(20); // ParentLeaseKey, Epoch, Reserved
        }
        let len = w.at().saturating_sub(start) as u32;
        w.patch(create.plus(OPLOCK_LEVEL_AT), &[OPLOCK_LEASE]);
        w.patch(create.plus(CONTEXTS_AT), &(u64::from(len) << 32 | u64::from(offset)).to_le_bytes());
    }
}

/// The most bytes that it adds to the reply of CREATE.
pub const REPLY_MAX: usize = DATA_AT as usize + V2_LEN as usize;

/// What was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Whose it is.
    pub lease_key: [u8; 16],
    /// `LEASE_READ_CACHING` and the others.
    pub lease_state: u32,
    /// [`BREAK_IN_PROGRESS`], and what a client that set no flag need not know.
    pub lease_flags: u32,
}

impl Response {
    /// What the response to CREATE whose body this is, which is decoded already, says of a lease. `None` if there is none.
    pub fn decode(body: &[u8]) -> Result<Option<Response>, Error> {
        if body.get(2) != Some(&OPLOCK_LEASE) {
            return Ok(None);
        }
        let mut r = Reader::new(body.get(RESPONSE_CONTEXTS_AT..).unwrap_or(&[]));
        let offset = r.le32("CREATE.CreateContextsOffset")? as usize;
        let len = r.le32("CREATE.CreateContextsLength")? as usize;
        let mut contexts = slice(body, offset.wrapping_sub(LEN), len, "CREATE.CreateContextsOffset")?;
        // Each turn but the last moves forward in the message.
        loop {
            let mut r = Reader::new(contexts);
            let next = r.le32("CREATE_CONTEXT.Next")? as usize;
            let (name_at, name_len) =
                (r.le16("CREATE_CONTEXT.NameOffset")?, r.le16("CREATE_CONTEXT.NameLength")?);
            r.skip(2, "CREATE_CONTEXT.Reserved")?;
            let (data_at, data_len) =
                (r.le16("CREATE_CONTEXT.DataOffset")?, r.le32("CREATE_CONTEXT.DataLength")?);
            let name = slice(contexts, name_at.into(), name_len.into(), "CREATE_CONTEXT.NameOffset")?;
            if name == NAME {
                let data = slice(contexts, data_at.into(), data_len as usize, "CREATE_CONTEXT.DataOffset")?;
                return Response::data(data).map(Some);
            }
            if next == 0 {
                return Err(Error::Malformed("CREATE.OplockLevel"));
            }
            contexts = contexts.get(next..).ok_or(Error::Malformed("CREATE_CONTEXT.Next"))?;
        }
    }

    /// Both versions begin alike.
    fn data(data: &[u8]) -> Result<Response, Error> {
        if ![V1_LEN as usize, V2_LEN as usize].contains(&data.len()) {
            return Err(Error::Malformed("CREATE_RESPONSE_LEASE.DataLength"));
        }
        let mut r = Reader::new(data);
        Ok(Response {
            lease_key: r.array("CREATE_RESPONSE_LEASE.LeaseKey")?,
            lease_state: r.le32("CREATE_RESPONSE_LEASE.LeaseState")?,
            lease_flags: r.le32("CREATE_RESPONSE_LEASE.LeaseFlags")?,
        })
    }

    /// Whether the handle may be kept.
    pub const fn keeps_handle(&self) -> bool {
        self.lease_state & LEASE_HANDLE_CACHING != 0 && self.lease_flags & BREAK_IN_PROGRESS == 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::create;
    use super::super::header::testing::*;
    use super::*;
    use std::vec::Vec;

    const KEY: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];

    fn asking(path: &str, v2: bool) -> Vec<u8> {
        encoded(|w| {
            let create = w.mark();
            create::Request::file(path).encode(w).unwrap();
            Request { lease_key: KEY, v2 }.append(w, create);
        })
    }

    #[test]
    fn a_request_of_version_1() {
        let bytes = asking("f", false);
        assert_eq!(bytes[..4], [57, 0, 0, 0xFF]);
        #[rustfmt::skip]
        assert_eq!(bytes[44..], [
            120, 0, 2, 0, 128, 0, 0, 0, 56, 0, 0, 0, b'f', 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 16, 0, 4, 0, 0, 0, 24, 0, 32, 0, 0, 0, b'R', b'q', b'L', b's', 0, 0, 0, 0,
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 3, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0,
        ]);
    }

    #[test]
    fn a_request_of_version_2_is_longer_by_a_parent_and_an_epoch() {
        let (v1, v2) = (asking("name", false), asking("name", true));
        assert_eq!(v2.len(), v1.len() + 20);
        assert_eq!(v2[48..56], [128, 0, 0, 0, 76, 0, 0, 0]);
        assert_eq!(v2[64 + 12], 52);
        assert_eq!((&v2[64 + 16..v1.len()], &v2[v1.len()..]), (&v1[64 + 16..], &[0; 20][..]));
    }

    /// What stands behind the fixed part of a response.
    #[rustfmt::skip]
    const GRANTED: [u8; 80] = [
        24, 0, 0, 0, 16, 0, 4, 0, 0, 0, 24, 0, 0, 0, 0, 0, b'M', b'x', b'A', b'c', 0, 0, 0, 0,
        0, 0, 0, 0, 16, 0, 4, 0, 0, 0, 24, 0, 32, 0, 0, 0, b'R', b'q', b'L', b's', 0, 0, 0, 0,
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 3, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0,
    ];

    fn response(contexts: &[u8]) -> Vec<u8> {
        let mut body = std::vec![0; create::REPLY_HEAD_MAX];
        body[..3].copy_from_slice(&[89, 0, OPLOCK_LEASE]);
        body[80] = 152;
        body[84] = contexts.len() as u8;
        body.extend(contexts);
        body
    }

    #[test]
    fn a_response_with_another_context_before_it() {
        let granted = Response { lease_key: KEY, lease_state: Request::STATE, lease_flags: 0 };
        assert_eq!(Response::decode(&response(&GRANTED)), Ok(Some(granted)));
        assert!(granted.keeps_handle());
        let reads = Response { lease_state: LEASE_READ_CACHING, ..granted };
        let breaks = Response { lease_flags: BREAK_IN_PROGRESS, ..granted };
        assert!(!reads.keeps_handle() && !breaks.keeps_handle());
        let mut none = response(&GRANTED);
        none[2] = 0;
        assert_eq!(Response::decode(&none), Ok(None));
    }

    #[test]
    fn contexts_that_leave_their_list_or_do_not_end_are_refused() {
        let decode = |body: &[u8]| Response::decode(body).err();
        for len in 3..168 {
            assert!(matches!(decode(&response(&GRANTED)[..len]), Some(Error::Malformed(_))), "{len}");
        }
        survives_any_byte(&response(&GRANTED), decode);
        let only_mxac = response(&[&[0, 0, 0, 0], &GRANTED[4..24]].concat());
        assert_eq!(decode(&only_mxac), Some(Error::Malformed("CREATE.OplockLevel")));
        let mut long = GRANTED;
        long[36] = 31;
        let error = Error::Malformed("CREATE_RESPONSE_LEASE.DataLength");
        assert_eq!(decode(&response(&long)), Some(error));
    }
}
