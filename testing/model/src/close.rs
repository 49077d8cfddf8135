//! CLOSE (MS-SMB2 2.2.15, 2.2.16), and the two that are as short: LOGOFF and ECHO.

use crate::connection::{Chain, Connection, Handled};
use crate::create::put_attributes;
use crate::header::Request;
use crate::wire::Put;

const POSTQUERY_ATTRIB: u16 = 1;

impl Connection {
    pub(crate) fn close(&mut self, chain: &mut Chain, request: &Request) -> Handled {
        let mut body = request.body();
        body.structure_size(24)?;
        let flags = body.u16()?;
        body.skip(4)?;
        let id = self.handle(chain, &mut body)?;
        let node = self.node(id)?;
        let mut out = Vec::new();
        out.u16(60);
        out.u16(flags & POSTQUERY_ATTRIB);
        out.u32(0);
        match flags & POSTQUERY_ATTRIB != 0 {
            true => put_attributes(&mut out, node),
            false => out.zeros(52),
        }
        self.opens.remove(&id);
        Ok(out.into())
    }

    pub(crate) fn logoff(&mut self, chain: &Chain, request: &Request) -> Handled {
        request.body().structure_size(4)?;
        self.end_session(chain.session_id);
        Ok(vec![4, 0, 0, 0].into())
    }

    pub(crate) fn echo(&self, request: &Request) -> Handled {
        request.body().structure_size(4)?;
        Ok(vec![4, 0, 0, 0].into())
    }
}
