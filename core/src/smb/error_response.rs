//! MS-SMB2 2.2.2: the ERROR Response, which answers whatever was asked if the status says so.

use super::header::structure_size;
use crate::error::Error;
use crate::wire::{Reader, slice};

/// The fixed part.
const FIXED: usize = 8;

/// The most bytes of a reply behind the header, besides the error data: with none there is a byte of padding,
/// which some servers leave out. Error data may be of any length; a caller that wants none may skip it.
pub const REPLY_HEAD_MAX: usize = FIXED + 1;

/// Why not, in more than the status, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// How many contexts the data consists of: zero before 3.1.1, where it has the layout of the status.
    pub error_context_count: u8,
    /// Empty of most errors.
    pub error_data: &'a [u8],
}

impl<'a> Response<'a> {
    /// Decodes what follows the header.
    pub fn decode(body: &'a [u8]) -> Result<Response<'a>, Error> {
        let mut r = Reader::new(body);
        structure_size(&mut r, 9, "ErrorResponse.StructureSize")?;
        let error_context_count = r.u8("ErrorResponse.ErrorContextCount")?;
        r.skip(1, "ErrorResponse.Reserved")?;
        let len = r.le32("ErrorResponse.ByteCount")? as usize;
        Ok(Response { error_context_count, error_data: r.take(len, "ErrorResponse.ErrorData")? })
    }

    /// The data in the layout of the status: that of the first context if there are contexts.
    pub fn data(&self) -> Result<&'a [u8], Error> {
        match self.contexts().next() {
            Some(context) => context.map(|context| context.data),
            None => Ok(self.error_data),
        }
    }

    /// The contexts of 3.1.1, 255 at most.
    pub const fn contexts(&self) -> Contexts<'a> {
        Contexts { left: self.error_context_count, at: 0, error_data: self.error_data }
    }
}

/// MS-SMB2 2.2.2.1: one of several explanations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context<'a> {
    /// `SMB2_ERROR_ID_DEFAULT`, zero, if the data has the layout of the status.
    pub error_id: u32,
    /// The data.
    pub data: &'a [u8],
}

/// The contexts of a response, each 8-aligned; after an error there are no more.
#[derive(Clone, Debug)]
pub struct Contexts<'a> {
    left: u8,
    at: usize,
    error_data: &'a [u8],
}

impl<'a> Iterator for Contexts<'a> {
    type Item = Result<Context<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let context = Context::decode(self.error_data, &mut self.at);
        if context.is_err() {
            self.left = 0;
        }
        Some(context)
    }
}

impl<'a> Context<'a> {
    /// Decodes the context at `at`, and moves that to where the next would be.
    fn decode(error_data: &'a [u8], at: &mut usize) -> Result<Context<'a>, Error> {
        let rest = slice(error_data, *at, error_data.len().saturating_sub(*at), "ErrorContext")?;
        let mut r = Reader::new(rest);
        let len = r.le32("ErrorContext.ErrorDataLength")? as usize;
        let error_id = r.le32("ErrorContext.ErrorId")?;
        let data = r.take(len, "ErrorContext.ErrorContextData")?;
        *at = at.saturating_add(r.at()).saturating_add(7) & !7;
        Ok(Context { error_id, data })
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::testing::*;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn without_data_it_has_eight_or_nine_bytes() {
        for body in [&[9, 0, 0, 0, 0, 0, 0, 0][..], &[9, 0, 0, 0, 0, 0, 0, 0, 0xFF]] {
            let response = Response { error_context_count: 0, error_data: &[] };
            assert_eq!(Response::decode(body), Ok(response));
            assert_eq!(response.data(), Ok(&[][..]));
        }
        strict(&[9, 0, 0, 0, 0, 0, 0, 0], |bytes| Response::decode(bytes).err());
    }

    #[test]
    fn before_3_1_1_the_data_stands_by_itself() {
        let body = [9, 0, 0, 0, 4, 0, 0, 0, 0x80, 0, 0, 0];
        assert_eq!(Response::decode(&body).and_then(|response| response.data()), Ok(&[0x80, 0, 0, 0][..]));
        strict(&body, |bytes| Response::decode(bytes).err());
    }

    /// Two contexts: five bytes, three of padding, then one byte.
    const CONTEXTS: [u8; 33] =
        [9, 0, 2, 0, 25, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 6];

    #[test]
    fn contexts_are_aligned() {
        let response = Response::decode(&CONTEXTS).unwrap();
        let contexts: Result<Vec<_>, _> = response.contexts().collect();
        assert_eq!(
            contexts.unwrap(),
            [Context { error_id: 0, data: &[1, 2, 3, 4, 5] }, Context { error_id: 7, data: &[6] }]
        );
        assert_eq!(response.data(), Ok(&[1, 2, 3, 4, 5][..]));
        strict(&CONTEXTS, |bytes| Response::decode(bytes).err());
        survives_any_byte(&CONTEXTS, |body| {
            let response = Response::decode(body).ok()?;
            assert!(response.contexts().count() <= 255);
            response.data().err()
        });
    }

    #[test]
    fn more_contexts_than_data_end_with_an_error() {
        for count in 3..=u8::MAX {
            let mut body = CONTEXTS;
            body[2] = count;
            let contexts: Vec<_> = Response::decode(&body).unwrap().contexts().collect();
            assert_eq!(contexts.len(), 3);
            assert_eq!(contexts[2], Err(Error::Malformed("ErrorContext")));
        }
        let body = [9, 0, 1, 0, 0, 0, 0, 0, 0];
        assert!(Response::decode(&body).unwrap().data().is_err());
    }
}
