//! MS-SMB2 2.2.1: the header in front of every message, and what all messages behind it share.
//!
//! Offsets on the wire count from the first byte of this header. The other message files see a `body`, which
//! starts [`LEN`] bytes later, and subtract.

use super::status::Status;
use crate::error::Error;
use crate::wire::{Reader, Writer, slice};

/// Bytes of a header, with or without an asynchronous id.
pub const LEN: usize = 64;
/// The first four bytes of a header.
pub const PROTOCOL_ID: [u8; 4] = *b"\xFESMB";
/// Where `Flags` stands, to mark a member of a chain after it was encoded.
pub const FLAGS_AT: usize = 16;
/// Where `NextCommand` stands, to link a chain after its members were encoded.
pub const NEXT_COMMAND_AT: usize = 20;
/// Where the 16 bytes of `Signature` stand: the last of the header.
pub const SIGNATURE_AT: usize = 48;

/// `SMB2_FLAGS_SERVER_TO_REDIR`: a response.
pub const SERVER_TO_REDIR: u32 = 0x0000_0001;
/// `SMB2_FLAGS_ASYNC_COMMAND`: the header has an `AsyncId` and no `TreeId`.
pub const ASYNC_COMMAND: u32 = 0x0000_0002;
/// `SMB2_FLAGS_RELATED_OPERATIONS`: a later member of a related chain.
pub const RELATED_OPERATIONS: u32 = 0x0000_0004;
/// `SMB2_FLAGS_SIGNED`: the signature is one.
pub const SIGNED: u32 = 0x0000_0008;
/// `SMB2_FLAGS_PRIORITY_MASK`: three bits of priority, 3.1.1 only.
pub const PRIORITY_MASK: u32 = 0x0000_0070;
/// `SMB2_FLAGS_DFS_OPERATIONS`: the path of a CREATE is a DFS path.
pub const DFS_OPERATIONS: u32 = 0x1000_0000;
/// `SMB2_FLAGS_REPLAY_OPERATION`: a CREATE or WRITE sent once more after a channel failed.
pub const REPLAY_OPERATION: u32 = 0x2000_0000;

/// The `MessageId` of a response nobody asked for: a break.
pub const UNSOLICITED: u64 = u64::MAX;
/// The `SessionId` that in a related operation means that of the one before.
pub const RELATED_SESSION: u64 = u64::MAX;
/// The `TreeId` that in a related operation means that of the one before.
pub const RELATED_TREE: u32 = u32::MAX;

/// What a message asks for or answers. Open: a peer may use numbers without a constant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Command(pub u16);

impl Command {
    /// Agree on a dialect.
    pub const NEGOTIATE: Command = Command(0x0000);
    /// Authenticate.
    pub const SESSION_SETUP: Command = Command(0x0001);
    /// End a session.
    pub const LOGOFF: Command = Command(0x0002);
    /// Enter a share.
    pub const TREE_CONNECT: Command = Command(0x0003);
    /// Leave a share.
    pub const TREE_DISCONNECT: Command = Command(0x0004);
    /// Open a file or directory.
    pub const CREATE: Command = Command(0x0005);
    /// Close it.
    pub const CLOSE: Command = Command(0x0006);
    /// Write cached data out.
    pub const FLUSH: Command = Command(0x0007);
    /// Read a file.
    pub const READ: Command = Command(0x0008);
    /// Write a file.
    pub const WRITE: Command = Command(0x0009);
    /// Lock a range of bytes.
    pub const LOCK: Command = Command(0x000A);
    /// Issue a control code.
    pub const IOCTL: Command = Command(0x000B);
    /// Give up an asynchronous request.
    pub const CANCEL: Command = Command(0x000C);
    /// Ask whether the server is there.
    pub const ECHO: Command = Command(0x000D);
    /// List a directory.
    pub const QUERY_DIRECTORY: Command = Command(0x000E);
    /// Watch a directory.
    pub const CHANGE_NOTIFY: Command = Command(0x000F);
    /// Ask for metadata.
    pub const QUERY_INFO: Command = Command(0x0010);
    /// Change metadata.
    pub const SET_INFO: Command = Command(0x0011);
    /// An oplock or a lease is broken, or the break acknowledged.
    pub const OPLOCK_BREAK: Command = Command(0x0012);

    /// The standard's name, or "" of a number it does not have.
    pub const fn name(self) -> &'static str {
        match self {
            Command::NEGOTIATE => "NEGOTIATE",
            Command::SESSION_SETUP => "SESSION_SETUP",
            Command::LOGOFF => "LOGOFF",
            Command::TREE_CONNECT => "TREE_CONNECT",
            Command::TREE_DISCONNECT => "TREE_DISCONNECT",
            Command::CREATE => "CREATE",
            Command::CLOSE => "CLOSE",
            Command::FLUSH => "FLUSH",
            Command::READ => "READ",
            Command::WRITE => "WRITE",
            Command::LOCK => "LOCK",
            Command::IOCTL => "IOCTL",
            Command::CANCEL => "CANCEL",
            Command::ECHO => "ECHO",
            Command::QUERY_DIRECTORY => "QUERY_DIRECTORY",
            Command::CHANGE_NOTIFY => "CHANGE_NOTIFY",
            Command::QUERY_INFO => "QUERY_INFO",
            Command::SET_INFO => "SET_INFO",
            Command::OPLOCK_BREAK => "OPLOCK_BREAK",
            Command(_) => "",
        }
    }
}

/// A header of either direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Credits that the request costs: one per 64 KiB. Zero at 2.0.2.
    pub credit_charge: u16,
    /// Of a response. Zero in a request, where 3.x keeps the channel sequence here.
    pub status: Status,
    /// What is asked or answered.
    pub command: Command,
    /// Credits asked for in a request, granted in a response.
    pub credits: u16,
    /// [`SERVER_TO_REDIR`] and the others.
    pub flags: u32,
    /// From this header to the next of the chain, or zero in the last.
    pub next_command: u32,
    /// Pairs a response with its request.
    pub message_id: u64,
    /// The share. Not on the wire, and zero, with [`ASYNC_COMMAND`].
    pub tree_id: u32,
    /// The asynchronous request. On the wire with [`ASYNC_COMMAND`] only, else zero.
    pub async_id: u64,
    /// The session.
    pub session_id: u64,
    /// All zero without [`SIGNED`].
    pub signature: [u8; 16],
}

impl Header {
    /// Appends the 64 bytes.
    pub fn encode(&self, w: &mut Writer<'_>) {
        w.put(&PROTOCOL_ID);
        w.le16(LEN as u16);
        w.le16(self.credit_charge);
        w.le32(self.status.0);
        w.le16(self.command.0);
        w.le16(self.credits);
        w.le32(self.flags);
        w.le32(self.next_command);
        w.le64(self.message_id);
        if self.is_async() {
            w.le64(self.async_id);
        } else {
            // Samba's clients put a process id here; the standard says reserved.
            w.le32(0);
            w.le32(self.tree_id);
        }
        w.le64(self.session_id);
        w.put(&self.signature);
    }

    /// Decodes the first 64 bytes of `message`. What its fields may be is for the caller to say.
    pub fn decode(message: &[u8]) -> Result<Header, Error> {
        let mut r = Reader::new(message);
        if r.array("Header.ProtocolId")? != PROTOCOL_ID {
            return Err(Error::Malformed("Header.ProtocolId"));
        }
        structure_size(&mut r, LEN as u16, "Header.StructureSize")?;
        let mut header = Header {
            credit_charge: r.le16("Header.CreditCharge")?,
            status: Status(r.le32("Header.Status")?),
            command: Command(r.le16("Header.Command")?),
            credits: r.le16("Header.CreditResponse")?,
            flags: r.le32("Header.Flags")?,
            next_command: r.le32("Header.NextCommand")?,
            message_id: r.le64("Header.MessageId")?,
            ..Header::default()
        };
        if header.is_async() {
            header.async_id = r.le64("Header.AsyncId")?;
        } else {
            r.skip(4, "Header.Reserved")?;
            header.tree_id = r.le32("Header.TreeId")?;
        }
        header.session_id = r.le64("Header.SessionId")?;
        header.signature = r.array("Header.Signature")?;
        Ok(header)
    }

    /// Whether the header has an `AsyncId` in the place of the `TreeId`.
    pub const fn is_async(&self) -> bool {
        self.flags & ASYNC_COMMAND != 0
    }
}

/// Reads the `StructureSize` that every message starts with. `Malformed(field)` if it is another.
pub(super) fn structure_size(r: &mut Reader<'_>, size: u16, field: &'static str) -> Result<(), Error> {
    if r.le16(field)? == size { Ok(()) } else { Err(Error::Malformed(field)) }
}

/// The `len` bytes that a message says are `offset` bytes from its header. They lie in `body`, which starts
/// behind the header, and past its `fixed` part; the offset of no bytes is not looked at.
pub(super) fn buffer<'a>(
    body: &'a [u8],
    fixed: usize,
    offset: usize,
    len: usize,
    field: &'static str,
) -> Result<&'a [u8], Error> {
    if len == 0 {
        return Ok(&[]);
    }
    match offset.checked_sub(LEN) {
        Some(at) if at >= fixed => slice(body, at, len, field),
        _ => Err(Error::Malformed(field)),
    }
}

/// The length of a variable part, where the wire has 16 bits for it. `Invalid(what)` if it has more.
pub(super) fn len16(len: usize, what: &'static str) -> Result<u16, Error> {
    u16::try_from(len).map_err(|_| Error::Invalid(what))
}

/// What the tests of every message file do.
#[cfg(test)]
pub(super) mod testing {
    use crate::error::Error;
    use crate::wire::Writer;
    use std::vec::Vec;

    /// What `encode` appends, behind three bytes: no encoder may count from the start of the writer.
    pub fn encoded(encode: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
        let mut buf = [0xEE; 1024];
        let mut w = Writer::new(&mut buf);
        w.put(&[1, 2, 3]);
        encode(&mut w);
        let len = w.finish().unwrap();
        buf[3..len].to_vec()
    }

    /// Checks that `decode`, which returns what it complains of, takes `bytes` and refuses each of its truncations and another StructureSize.
    pub fn strict(bytes: &[u8], decode: impl Fn(&[u8]) -> Option<Error>) {
        truncations_refused(bytes, &decode);
        for structure_size in [0, u16::from_le_bytes([bytes[0], bytes[1]]) ^ 1, u16::MAX] {
            let mut wrong = bytes.to_vec();
            wrong[..2].copy_from_slice(&structure_size.to_le_bytes());
            assert!(
                matches!(decode(&wrong), Some(Error::Malformed(field)) if field.ends_with("StructureSize"))
            );
        }
    }

    /// Checks that `decode` takes `bytes`, and none of its truncations.
    pub fn truncations_refused(bytes: &[u8], decode: impl Fn(&[u8]) -> Option<Error>) {
        assert_eq!(decode(bytes), None);
        for len in 0..bytes.len() {
            assert!(matches!(decode(&bytes[..len]), Some(Error::Malformed(_))), "{len} of {}", bytes.len());
        }
    }

    /// Checks that `decode` does not panic whichever byte of `bytes` is replaced by whatever.
    pub fn survives_any_byte(bytes: &[u8], decode: impl Fn(&[u8]) -> Option<Error>) {
        for at in 0..bytes.len() {
            for byte in 0..=u8::MAX {
                let mut changed = bytes.to_vec();
                changed[at] = byte;
                decode(&changed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::*;
    use super::*;

    /// A READ in the middle of a related chain.
    const REQUEST: [u8; 64] = [
        0xFE, b'S', b'M', b'B', 64, 0, 2, 0, 0, 0, 0, 0, 8, 0, 0x20, 0, 4, 0, 0, 0, 120, 0, 0,
        0, // NextCommand
        7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x22, 0x33, 0x44, // TreeId
        8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];

    /// STATUS_PENDING for it.
    const PENDING: [u8; 64] = [
        0xFE, b'S', b'M', b'B', 64, 0, 2, 0, 3, 1, 0, 0, 8, 0, 1, 0, 3, 0, 0, 0, 0, 0, 0,
        0, // NextCommand
        7, 0, 0, 0, 0, 0, 0, 0, 0xA8, 0xA7, 0xA6, 0xA5, 0xA4, 0xA3, 0xA2, 0xA1, // AsyncId
        8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
    ];

    fn request() -> Header {
        Header {
            credit_charge: 2,
            command: Command::READ,
            credits: 32,
            flags: RELATED_OPERATIONS,
            next_command: 120,
            message_id: 7,
            tree_id: 0x4433_2211,
            session_id: 0x0102_0304_0506_0708,
            ..Header::default()
        }
    }

    fn pending() -> Header {
        Header {
            credit_charge: 2,
            status: Status::PENDING,
            command: Command::READ,
            credits: 1,
            flags: SERVER_TO_REDIR | ASYNC_COMMAND,
            message_id: 7,
            async_id: 0xA1A2_A3A4_A5A6_A7A8,
            session_id: 0x0102_0304_0506_0708,
            signature: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
            ..Header::default()
        }
    }

    #[test]
    fn both_forms_there_and_back() {
        for (header, bytes) in [(request(), REQUEST), (pending(), PENDING)] {
            assert_eq!(encoded(|w| header.encode(w)), bytes);
            assert_eq!(Header::decode(&bytes), Ok(header));
            truncations_refused(&bytes, |bytes| Header::decode(bytes).err());
        }
    }

    #[test]
    fn fields_to_patch_are_where_the_constants_say() {
        assert_eq!(REQUEST[FLAGS_AT], RELATED_OPERATIONS as u8);
        assert_eq!(REQUEST[NEXT_COMMAND_AT], 120);
        assert_eq!(PENDING[SIGNATURE_AT..], pending().signature);
    }

    #[test]
    fn another_protocol_or_size_is_refused() {
        for id in [0xFF, 0xFD, 0xFC] {
            let mut bytes = REQUEST;
            bytes[0] = id;
            assert_eq!(Header::decode(&bytes), Err(Error::Malformed("Header.ProtocolId")));
        }
        let mut bytes = REQUEST;
        bytes[4] = 65;
        assert_eq!(Header::decode(&bytes), Err(Error::Malformed("Header.StructureSize")));
    }

    #[test]
    fn a_buffer_lies_behind_the_fixed_part_and_inside_the_body() {
        let body = [0, 1, 2, 3, 4, 5];
        assert_eq!(buffer(&body, 2, 66, 4, "b"), Ok(&[2, 3, 4, 5][..]));
        assert_eq!(buffer(&body, 2, 0, 0, "b"), Ok(&[][..]));
        for (offset, len) in [(65, 1), (63, 1), (0, 1), (66, 5), (72, 1), (usize::MAX, 2), (66, usize::MAX)] {
            assert_eq!(buffer(&body, 2, offset, len, "b"), Err(Error::Malformed("b")));
        }
    }

    #[test]
    fn commands_have_names() {
        assert!((0..=0x12).all(|number| !Command(number).name().is_empty()));
        assert_eq!(Command(0x13).name(), "");
    }
}
