//! MS-SMB2 2.2.31, 2.2.32: IOCTL, and the codes of it that have a layout of their own.

use super::create::FileId;
use super::header::{LEN, buffer, structure_size};
use super::negotiate::{Dialect, Dialects};
use crate::error::Error;
use crate::wire::{Reader, Writer};

/// `FSCTL_VALIDATE_NEGOTIATE_INFO`: was what NEGOTIATE said tampered with?
pub const VALIDATE_NEGOTIATE_INFO: u32 = 0x0014_0204;
/// `FSCTL_QUERY_ALLOCATED_RANGES`: where a file has data, and where holes.
pub const QUERY_ALLOCATED_RANGES: u32 = 0x0009_40CF;
/// `FSCTL_GET_REPARSE_POINT`: where a symbolic link goes.
pub const GET_REPARSE_POINT: u32 = 0x0009_00A8;

/// `Flags`: `SMB2_0_IOCTL_IS_FSCTL`.
const IS_FSCTL: u32 = 1;
/// The fixed part of a request.
const REQUEST_FIXED: usize = 56;

/// Issues a file system control code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// [`VALIDATE_NEGOTIATE_INFO`] and the others.
    pub ctl_code: u32,
    /// The file, or [`FileId::RELATED`] where the code is about none.
    pub file_id: FileId,
    /// In the layout of the code.
    pub input: &'a [u8],
    /// The most bytes of a reply besides its head.
    pub max_output_response: u32,
}

impl Request<'_> {
    /// Appends the message.
    pub fn encode(&self, w: &mut Writer<'_>) {
        let start = (LEN + REQUEST_FIXED) as u32;
        let input_len = self.input.len() as u32;
        w.le16(57); // StructureSize
        w.le16(0); // Reserved
        w.le32(self.ctl_code);
        w.put(&self.file_id.0);
        w.le32(if input_len == 0 { 0 } else { start }); // InputOffset
        w.le32(input_len);
        w.le32(0); // MaxInputResponse
        w.le32(0); // OutputOffset
        w.le32(0); // OutputCount
        w.le32(self.max_output_response);
        w.le32(IS_FSCTL);
        w.le32(0); // Reserved2
        if self.input.is_empty() {
            w.u8(0); // Buffer: never less than a byte
        }
        w.put(self.input);
    }
}

/// The most bytes of a reply behind the header, besides the output buffer: no input is asked back.
pub const REPLY_HEAD_MAX: usize = 48;

/// What the code has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// The code again.
    pub ctl_code: u32,
    /// The file again.
    pub file_id: FileId,
    /// In the layout of the code.
    pub output: &'a [u8],
    /// Where it starts, from the start of the header.
    pub output_offset: usize,
}

impl<'a> Response<'a> {
    /// Decodes what follows the header. Input that is sent back is not looked at.
    pub fn decode(body: &'a [u8]) -> Result<Response<'a>, Error> {
        let mut r = Reader::new(body);
        structure_size(&mut r, 49, "IOCTL.StructureSize")?;
        r.skip(2, "IOCTL.Reserved")?;
        let ctl_code = r.le32("IOCTL.CtlCode")?;
        let file_id = FileId(r.array("IOCTL.FileId")?);
        r.skip(8, "IOCTL.InputCount")?;
        let offset = r.le32("IOCTL.OutputOffset")? as usize;
        let len = r.le32("IOCTL.OutputCount")? as usize;
        r.skip(8, "IOCTL.Flags")?;
        let output = buffer(body, REPLY_HEAD_MAX, offset, len, "IOCTL.OutputOffset")?;
        Ok(Response { ctl_code, file_id, output, output_offset: offset })
    }
}

/// MS-SMB2 2.2.31.4: what the client said in NEGOTIATE, as input of [`VALIDATE_NEGOTIATE_INFO`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidateNegotiateInfoRequest {
    /// As in NEGOTIATE.
    pub capabilities: u32,
    /// As in NEGOTIATE.
    pub client_guid: [u8; 16],
    /// As in NEGOTIATE.
    pub security_mode: u16,
    /// As in NEGOTIATE.
    pub dialects: Dialects,
}

impl ValidateNegotiateInfoRequest {
    /// Its bytes with every dialect.
    pub const LEN_MAX: usize = 24 + 2 * Dialect::ALL.len();

    /// Appends the input buffer.
    pub fn encode(&self, w: &mut Writer<'_>) {
        w.le32(self.capabilities);
        w.put(&self.client_guid);
        w.le16(self.security_mode);
        w.le16(self.dialects.len() as u16);
        self.dialects.iter().for_each(|dialect| w.le16(dialect.revision()));
    }
}

/// MS-SMB2 2.2.32.6: what the server said in NEGOTIATE, as output of [`VALIDATE_NEGOTIATE_INFO`]. Whatever
/// differs was tampered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidateNegotiateInfoResponse {
    /// As in NEGOTIATE.
    pub capabilities: u32,
    /// As in NEGOTIATE.
    pub server_guid: [u8; 16],
    /// As in NEGOTIATE.
    pub security_mode: u16,
    /// The number of the dialect: any.
    pub dialect: u16,
}

impl ValidateNegotiateInfoResponse {
    /// Its bytes.
    pub const LEN: u32 = 24;

    /// Decodes an output buffer.
    pub fn decode(output: &[u8]) -> Result<ValidateNegotiateInfoResponse, Error> {
        let mut r = Reader::new(output);
        Ok(ValidateNegotiateInfoResponse {
            capabilities: r.le32("VALIDATE_NEGOTIATE_INFO.Capabilities")?,
            server_guid: r.array("VALIDATE_NEGOTIATE_INFO.Guid")?,
            security_mode: r.le16("VALIDATE_NEGOTIATE_INFO.SecurityMode")?,
            dialect: r.le16("VALIDATE_NEGOTIATE_INFO.Dialect")?,
        })
    }
}

/// MS-FSCC 2.3.52, 2.3.53: `FILE_ALLOCATED_RANGE_BUFFER`, as input of [`QUERY_ALLOCATED_RANGES`] what is asked about,
/// and as output, as often as there is data, what is no hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocatedRange {
    /// The first byte.
    pub file_offset: u64,
    /// How many bytes.
    pub length: u64,
}

impl AllocatedRange {
    /// Its bytes.
    pub const LEN: usize = 16;

    /// Its bytes.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        (u128::from(self.file_offset) | u128::from(self.length) << 64).to_le_bytes()
    }

    /// Decodes the first of an output buffer. Both numbers have a sign, and negative ones no meaning.
    pub fn decode(output: &[u8]) -> Result<AllocatedRange, Error> {
        let mut r = Reader::new(output);
        let mut number = |field| match r.le64(field)? {
            value if value > i64::MAX as u64 => Err(Error::Malformed(field)),
            value => Ok(value),
        };
        Ok(AllocatedRange {
            file_offset: number("FILE_ALLOCATED_RANGE_BUFFER.FileOffset")?,
            length: number("FILE_ALLOCATED_RANGE_BUFFER.Length")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::testing::*;
    use super::*;

    const REQUEST_INFO: ValidateNegotiateInfoRequest = ValidateNegotiateInfoRequest {
        capabilities: 0x47,
        client_guid: [9; 16],
        security_mode: 1,
        dialects: Dialects::between(Dialect::Smb300, Dialect::Smb302),
    };
    #[rustfmt::skip]
    const INPUT: [u8; 28] = [
        0x47, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 1, 0, 2, 0, 0x00, 3, 0x02, 3,
    ];

    #[test]
    fn what_negotiate_said_is_said_again() {
        assert_eq!(encoded(|w| REQUEST_INFO.encode(w)), INPUT);
        let all = ValidateNegotiateInfoRequest { dialects: Dialects::ALL, ..REQUEST_INFO };
        assert_eq!(encoded(|w| all.encode(w)).len(), ValidateNegotiateInfoRequest::LEN_MAX);
    }

    #[test]
    fn a_request_with_input() {
        let request = Request {
            ctl_code: VALIDATE_NEGOTIATE_INFO,
            file_id: FileId::RELATED,
            input: &INPUT,
            max_output_response: ValidateNegotiateInfoResponse::LEN,
        };
        let bytes = encoded(|w| request.encode(w));
        #[rustfmt::skip]
        assert_eq!(bytes[..56], [
            57, 0, 0, 0, 0x04, 0x02, 0x14, 0, 255, 255, 255, 255, 255, 255, 255, 255,
            255, 255, 255, 255, 255, 255, 255, 255, 120, 0, 0, 0, 28, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0, 24, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
        ]);
        assert_eq!(bytes[56..], INPUT);
    }

    #[test]
    fn a_request_without_input_has_a_byte_of_buffer() {
        let file_id = FileId([5; 16]);
        let request =
            Request { ctl_code: GET_REPARSE_POINT, file_id, input: &[], max_output_response: 0x4000 };
        let bytes = encoded(|w| request.encode(w));
        assert_eq!(bytes[24..32], [0; 8]);
        assert_eq!(bytes[56..], [0]);
    }

    /// Of Samba 4.17, at 3.0.
    #[rustfmt::skip]
    const RESPONSE: [u8; 72] = [
        0x31, 0x00, 0x00, 0x00, 0x04, 0x02, 0x14, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x70, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x70, 0x00, 0x00, 0x00, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x47, 0x00, 0x00, 0x00, 0x6c, 0x61, 0x62, 0x73, 0x6d, 0x62, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x03,
    ];

    #[test]
    fn a_response() {
        let response = Response::decode(&RESPONSE).unwrap();
        assert_eq!(
            response,
            Response {
                ctl_code: VALIDATE_NEGOTIATE_INFO,
                file_id: FileId::RELATED,
                output: &RESPONSE[REPLY_HEAD_MAX..],
                output_offset: 0x70,
            }
        );
        assert_eq!(
            ValidateNegotiateInfoResponse::decode(response.output),
            Ok(ValidateNegotiateInfoResponse {
                capabilities: 0x47,
                server_guid: *b"labsmb\0\0\0\0\0\0\0\0\0\0",
                security_mode: 1,
                dialect: 0x0300,
            })
        );
        strict(&RESPONSE, |body| Response::decode(body).err());
        survives_any_byte(&RESPONSE, |body| Response::decode(body).err());
        truncations_refused(response.output, |output| ValidateNegotiateInfoResponse::decode(output).err());
    }

    #[test]
    fn a_range_each_way() {
        let range = AllocatedRange { file_offset: 0x0102_0304_0506_0708, length: 0x1_0000 };
        let bytes = range.to_bytes();
        assert_eq!(bytes, [8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0]);
        assert_eq!(AllocatedRange::decode(&bytes), Ok(range));
        truncations_refused(&bytes, |output| AllocatedRange::decode(output).err());
        for at in [7, 15] {
            let mut negative = bytes;
            negative[at] |= 0x80;
            assert!(matches!(AllocatedRange::decode(&negative), Err(Error::Malformed(_))));
        }
    }

    #[test]
    fn output_over_the_fixed_part_is_refused() {
        let mut body = RESPONSE;
        body[32] = 111;
        assert_eq!(Response::decode(&body), Err(Error::Malformed("IOCTL.OutputOffset")));
    }
}
