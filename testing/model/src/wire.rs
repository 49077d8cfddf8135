//! Little-endian reading and writing.

use crate::Status;

/// Reads one message from a position on; everything short of what is asked is INVALID_PARAMETER.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    message: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(message: &'a [u8]) -> Self {
        Reader { message, at: 0 }
    }

    /// The bytes of the message from `offset`, which counts from its first byte.
    pub(crate) fn slice(&self, offset: usize, len: usize) -> Result<&'a [u8], Status> {
        let end = offset.checked_add(len).ok_or(Status::INVALID_PARAMETER)?;
        self.message.get(offset..end).ok_or(Status::INVALID_PARAMETER)
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8], Status> {
        let bytes = self.slice(self.at, len)?;
        self.at += len;
        Ok(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Status> {
        Ok(self.bytes(N)?.try_into().expect("as many as asked"))
    }

    pub(crate) fn skip(&mut self, len: usize) -> Result<(), Status> {
        self.bytes(len).map(drop)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Status> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Status> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Status> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Status> {
        self.array().map(u64::from_le_bytes)
    }

    /// StructureSize, which opens every body.
    pub(crate) fn structure_size(&mut self, expected: u16) -> Result<(), Status> {
        match self.u16()? == expected {
            true => Ok(()),
            false => Err(Status::INVALID_PARAMETER),
        }
    }
}

/// Appends little-endian values.
pub(crate) trait Put {
    fn put(&mut self, bytes: &[u8]);

    fn u8(&mut self, value: u8) {
        self.put(&[value]);
    }

    fn u16(&mut self, value: u16) {
        self.put(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    fn zeros(&mut self, count: usize) {
        self.put(&vec![0; count]);
    }
}

impl Put for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Pads with zeros to a multiple of 8.
pub(crate) fn pad8(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
}

pub(crate) fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// UTF-16LE to text; odd lengths and broken surrogates are refused.
pub(crate) fn from_utf16(bytes: &[u8]) -> Result<String, Status> {
    let (units, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(Status::INVALID_PARAMETER);
    }
    let units: Vec<u16> = units.iter().map(|&unit| u16::from_le_bytes(unit)).collect();
    String::from_utf16(&units).map_err(|_| Status::OBJECT_NAME_INVALID)
}
