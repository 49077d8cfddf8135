//! RFC 7530 9.1.4, RFC 8881 8.2: `stateid4`, what a server calls an open.

use crate::error::Error;
use crate::wire::{Reader, Writer};

/// Bytes of a stateid.
pub const LEN: usize = 16;

/// An open, or one of the values with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stateid {
    /// Counts the changes of the open. In 4.1 and later, 0 is the latest.
    pub seqid: u32,
    /// What tells it from the other opens.
    pub other: [u8; 12],
}

impl Stateid {
    /// All zeros: of no open. The server checks what it would for an open at the time of the READ.
    pub const ANONYMOUS: Stateid = Stateid { seqid: 0, other: [0; 12] };
    /// All ones: as [`ANONYMOUS`](Self::ANONYMOUS), and what others denied to readers is ignored where the server
    /// allows it.
    pub const BYPASS: Stateid = Stateid { seqid: u32::MAX, other: [0xFF; 12] };
    /// RFC 8881 16.2.3.1.2: the one that an operation before in the same COMPOUND returned (4.1).
    pub const CURRENT: Stateid = Stateid { seqid: 1, other: [0; 12] };

    /// The same open, whatever was changed since (4.1): no OLD_STATEID.
    #[must_use]
    pub const fn latest(self) -> Stateid {
        Stateid { seqid: 0, ..self }
    }

    /// Appends it.
    pub fn encode(&self, w: &mut Writer<'_>) {
        w.be32(self.seqid);
        w.put(&self.other);
    }

    /// Decodes one, whichever it is.
    pub fn decode(r: &mut Reader<'_>, field: &'static str) -> Result<Stateid, Error> {
        Ok(Stateid { seqid: r.be32(field)?, other: r.array(field)? })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    const BYTES: [u8; 16] = [0, 0, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

    #[test]
    fn a_stateid_each_way() {
        let stateid = Stateid { seqid: 9, other: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] };
        assert_eq!(written(|w| stateid.encode(w)), BYTES);
        assert_eq!(strict(&BYTES, |r| Stateid::decode(r, "stateid")), stateid);
        assert_eq!(stateid.latest().seqid, 0);
        assert_eq!(stateid.latest().other, stateid.other);
    }

    #[test]
    fn the_values_with_a_meaning() {
        assert_eq!(written(|w| Stateid::ANONYMOUS.encode(w)), [0; 16]);
        assert_eq!(written(|w| Stateid::BYPASS.encode(w)), [0xFF; 16]);
        assert_eq!(written(|w| Stateid::CURRENT.encode(w)), [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
