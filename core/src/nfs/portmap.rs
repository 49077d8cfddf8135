//! RFC 1833 3: the port mapper, version 2: PMAPPROC_GETPORT.

use crate::error::Error;
use crate::wire::{Reader, Writer};

/// The program.
pub const PROGRAM: u32 = 100_000;
/// Its version. Versions 3 and 4 know IPv6 too, and their servers speak this one as well.
pub const VERSION: u32 = 2;
/// `PMAPPROC_GETPORT`.
pub const GETPORT: u32 = 3;
/// The port where it always is.
pub const PORT: u16 = 111;

/// `prot`: TCP.
const TCP: u32 = 6;

/// Asks on which TCP port a program listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The program.
    pub program: u32,
    /// Its version.
    pub version: u32,
}

impl Request {
    /// Appends the arguments.
    pub fn encode(&self, w: &mut Writer<'_>) {
        w.be32(self.program);
        w.be32(self.version);
        w.be32(TCP);
        w.be32(0); // port: not looked at
    }
}

/// The most bytes of a reply behind the RPC header: all of it.
pub const REPLY_HEAD_MAX: usize = 4;

/// Where the program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The port; `None` if the program is not registered.
    pub port: Option<u16>,
}

impl Response {
    /// Decodes what follows the RPC header. `Malformed` if it is no port.
    pub fn decode(body: &[u8]) -> Result<Response, Error> {
        const FIELD: &str = "GETPORT.port";
        let port = u16::try_from(Reader::new(body).be32(FIELD)?).map_err(|_| Error::Malformed(FIELD))?;
        Ok(Response { port: (port != 0).then_some(port) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::xdr::testing::*;
    use super::*;

    #[test]
    fn a_request() {
        let request = Request { program: 100_005, version: 3 };
        assert_eq!(encoded(|w| request.encode(w)), [0, 1, 0x86, 0xA5, 0, 0, 0, 3, 0, 0, 0, 6, 0, 0, 0, 0]);
    }

    #[test]
    fn a_response() {
        assert_eq!(Response::decode(&[0, 0, 0x4E, 0x50]), Ok(Response { port: Some(20048) }));
        assert_eq!(Response::decode(&[0, 0, 0xFF, 0xFF]), Ok(Response { port: Some(65535) }));
        assert_eq!(Response::decode(&[0, 0, 0, 0]), Ok(Response { port: None }));
        truncations_refused(&[0, 0, 8, 1], |body| Response::decode(body).err());
    }

    #[test]
    fn what_is_no_port_is_refused() {
        for body in [[0, 1, 0, 0], [0, 1, 8, 1], [0xFF; 4]] {
            assert_eq!(Response::decode(&body), Err(Error::Malformed("GETPORT.port")));
        }
    }
}
