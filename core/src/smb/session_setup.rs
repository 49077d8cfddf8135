//! MS-SMB2 2.2.5, 2.2.6: SESSION_SETUP.

use super::header::{LEN, buffer, len16, structure_size};
use crate::error::Error;
use crate::wire::{Mark, Reader, Writer};

/// `Flags` of a request: `SMB2_SESSION_FLAG_BINDING`, one more channel of a session.
pub const BINDING: u8 = 0x01;

/// `SessionFlags`: `SMB2_SESSION_FLAG_IS_GUEST`.
pub const IS_GUEST: u16 = 0x0001;
/// `SessionFlags`: `SMB2_SESSION_FLAG_IS_NULL`, anonymous.
pub const IS_NULL: u16 = 0x0002;
/// `SessionFlags`: `SMB2_SESSION_FLAG_ENCRYPT_DATA`, all of this session.
pub const ENCRYPT_DATA: u16 = 0x0004;

/// The fixed part of a request.
const REQUEST_FIXED: usize = 24;

/// Carries a token to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// [`BINDING`] or zero.
    pub flags: u8,
    /// The low byte of what NEGOTIATE had.
    pub security_mode: u8,
    /// Only `SMB2_GLOBAL_CAP_DFS` has a meaning here.
    pub capabilities: u32,
    /// A session that ended with its connection and that the server may forget, or zero.
    pub previous_session_id: u64,
}

/// A request whose security buffer is being written.
#[must_use = "end() says how long the security buffer became"]
#[derive(Debug)]
pub struct Pending {
    security_buffer_length: Mark,
    start: usize,
}

impl Request {
    /// Appends the fixed part. Whatever the caller then appends is the security buffer, until
    /// [`end`](Pending::end): so a token is encoded in its place.
    pub fn begin(&self, w: &mut Writer<'_>) -> Pending {
        w.le16(25); // StructureSize
        w.u8(self.flags);
        w.u8(self.security_mode);
        w.le32(self.capabilities);
        w.le32(0); // Channel
        w.le16((LEN + REQUEST_FIXED) as u16); // SecurityBufferOffset
        let security_buffer_length = w.mark();
        w.le16(0);
        w.le64(self.previous_session_id);
        Pending { security_buffer_length, start: w.at() }
    }

    /// Appends the message with a token that is there already.
    pub fn encode(&self, w: &mut Writer<'_>, security_buffer: &[u8]) -> Result<(), Error> {
        let pending = self.begin(w);
        w.put(security_buffer);
        pending.end(w)
    }
}

impl Pending {
    /// Patches the length of what was written since [`begin`](Request::begin) to the same writer. `Invalid` if
    /// it is over 65535 bytes.
    pub fn end(self, w: &mut Writer<'_>) -> Result<(), Error> {
        let len = len16(w.at().saturating_sub(self.start), "security buffer too long")?;
        w.patch(self.security_buffer_length, &len.to_le_bytes());
        Ok(())
    }
}

/// The fixed part of a response.
const FIXED: usize = 8;

/// The most bytes of a reply behind the header, besides the security buffer.
pub const REPLY_HEAD_MAX: usize = FIXED;

/// The server's next token, or its last with the session that it allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// [`IS_GUEST`], [`IS_NULL`], [`ENCRYPT_DATA`]: of meaning only once the status is success.
    pub session_flags: u16,
    /// The token, or empty.
    pub security_buffer: &'a [u8],
}

impl<'a> Response<'a> {
    /// Decodes what follows the header.
    pub fn decode(body: &'a [u8]) -> Result<Response<'a>, Error> {
        let mut r = Reader::new(body);
        structure_size(&mut r, 9, "SESSION_SETUP.StructureSize")?;
        let session_flags = r.le16("SESSION_SETUP.SessionFlags")?;
        let offset = r.le16("SESSION_SETUP.SecurityBufferOffset")?.into();
        let len = r.le16("SESSION_SETUP.SecurityBufferLength")?.into();
        let security_buffer = buffer(body, FIXED, offset, len, "SESSION_SETUP.SecurityBufferOffset")?;
        Ok(Response { session_flags, security_buffer })
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::testing::*;
    use super::*;

    const RESPONSE: [u8; 12] = [9, 0, 4, 0, 72, 0, 4, 0, 0xA1, 2, 0x30, 0];

    #[test]
    fn a_request_is_patched_with_the_length_of_its_token() {
        let request = Request {
            flags: 0,
            security_mode: 1,
            capabilities: 1,
            previous_session_id: 0x0102_0304_0506_0708,
        };
        let bytes = encoded(|w| {
            let pending = request.begin(w);
            w.put(b"tok");
            w.put(b"en");
            pending.end(w).unwrap();
        });
        assert_eq!(
            bytes,
            [
                25, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 88, 0, 5, 0, 8, 7, 6, 5, 4, 3, 2,
                1, // PreviousSessionId
                b't', b'o', b'k', b'e', b'n',
            ]
        );
        assert_eq!(encoded(|w| request.encode(w, b"token").unwrap()), bytes);
    }

    #[test]
    fn a_token_that_16_bits_cannot_count_is_refused() {
        let mut buf = [0; 8];
        let mut w = Writer::new(&mut buf);
        let pending = Request::default().begin(&mut w);
        w.zeros(65536);
        assert_eq!(pending.end(&mut w), Err(Error::Invalid("security buffer too long")));
    }

    #[test]
    fn a_response_with_a_token() {
        assert_eq!(
            Response::decode(&RESPONSE),
            Ok(Response { session_flags: ENCRYPT_DATA, security_buffer: &[0xA1, 2, 0x30, 0] })
        );
        strict(&RESPONSE, |bytes| Response::decode(bytes).err());
        survives_any_byte(&RESPONSE, |body| Response::decode(body).err());
    }

    #[test]
    fn a_response_without_a_token_may_end_early() {
        for body in [&[9, 0, 1, 0, 0, 0, 0, 0][..], &[9, 0, 1, 0, 72, 0, 0, 0, 0]] {
            assert_eq!(
                Response::decode(body),
                Ok(Response { session_flags: IS_GUEST, security_buffer: &[] })
            );
        }
    }

    #[test]
    fn a_token_over_the_fixed_part_is_refused() {
        let mut body = RESPONSE;
        body[4] = 71;
        assert_eq!(Response::decode(&body), Err(Error::Malformed("SESSION_SETUP.SecurityBufferOffset")));
    }
}
