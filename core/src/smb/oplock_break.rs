//! MS-SMB2 2.2.23 to 2.2.25: OPLOCK_BREAK. The server takes an oplock or a lease back, the client acknowledges.
//!
//! The lengths tell which: 24 bytes are about an oplock, 44 (the notification) and 36 about a lease.

use super::create::FileId;
use crate::error::Error;
use crate::wire::{Reader, Writer};

/// `SMB2_NOTIFY_BREAK_LEASE_FLAG_ACK_REQUIRED`: the server waits for an acknowledgment.
pub const ACK_REQUIRED: u32 = 0x0000_0001;

/// `LeaseState`: `SMB2_LEASE_READ_CACHING`.
pub const LEASE_READ_CACHING: u32 = 0x0000_0001;
/// `LeaseState`: `SMB2_LEASE_HANDLE_CACHING`.
pub const LEASE_HANDLE_CACHING: u32 = 0x0000_0002;
/// `LeaseState`: `SMB2_LEASE_WRITE_CACHING`.
pub const LEASE_WRITE_CACHING: u32 = 0x0000_0004;

/// What both sides of an acknowledgment say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledgment {
    /// Of an oplock.
    Oplock {
        /// What is left of it.
        oplock_level: u8,
        /// The file.
        file_id: FileId,
    },
    /// Of a lease.
    Lease {
        /// Whose.
        lease_key: [u8; 16],
        /// What is left of it.
        lease_state: u32,
    },
}

/// Acknowledges a break.
pub type Request = Acknowledgment;

impl Acknowledgment {
    /// Appends the message.
    pub fn encode(&self, w: &mut Writer<'_>) {
        match self {
            Acknowledgment::Oplock { oplock_level, file_id } => {
                w.le16(24); // StructureSize
                w.u8(*oplock_level);
                w.zeros(5); // Reserved, Reserved2
                w.put(&file_id.0);
            }
            Acknowledgment::Lease { lease_key, lease_state } => {
                w.le16(36); // StructureSize
                w.zeros(6); // Reserved, Flags
                w.put(lease_key);
                w.le32(*lease_state);
                w.le64(0); // LeaseDuration
            }
        }
    }
}

/// The most bytes behind the header, of a notification or of a reply: all of it.
pub const REPLY_HEAD_MAX: usize = 44;

/// The server has the acknowledgment.
pub type Response = Acknowledgment;

impl Acknowledgment {
    /// Decodes what follows the header of a response that was asked for.
    pub fn decode(body: &[u8]) -> Result<Acknowledgment, Error> {
        let mut r = Reader::new(body);
        match r.le16("OPLOCK_BREAK.StructureSize")? {
            24 => {
                oplock(&mut r).map(|(oplock_level, file_id)| Acknowledgment::Oplock { oplock_level, file_id })
            }
            36 => {
                r.skip(6, "OPLOCK_BREAK.Flags")?;
                let lease_key = r.array("OPLOCK_BREAK.LeaseKey")?;
                let lease_state = r.le32("OPLOCK_BREAK.LeaseState")?;
                r.skip(8, "OPLOCK_BREAK.LeaseDuration")?;
                Ok(Acknowledgment::Lease { lease_key, lease_state })
            }
            _ => Err(Error::Malformed("OPLOCK_BREAK.StructureSize")),
        }
    }
}

/// What the server says unasked, in a message with the id [`UNSOLICITED`](super::header::UNSOLICITED).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification {
    /// An oplock is broken. Acknowledged, unless the level is down to `SMB2_OPLOCK_LEVEL_NONE` from `_II`.
    Oplock {
        /// What may be kept.
        oplock_level: u8,
        /// The file.
        file_id: FileId,
    },
    /// A lease is broken.
    Lease {
        /// A counter of its changes, 3.x only.
        new_epoch: u16,
        /// [`ACK_REQUIRED`] or zero.
        flags: u32,
        /// Whose.
        lease_key: [u8; 16],
        /// What it was.
        current_lease_state: u32,
        /// What may be kept.
        new_lease_state: u32,
    },
}

impl Notification {
    /// Decodes what follows the header.
    pub fn decode(body: &[u8]) -> Result<Notification, Error> {
        let mut r = Reader::new(body);
        match r.le16("OPLOCK_BREAK.StructureSize")? {
            24 => {
                oplock(&mut r).map(|(oplock_level, file_id)| Notification::Oplock { oplock_level, file_id })
            }
            44 => {
                let notification = Notification::Lease {
                    new_epoch: r.le16("OPLOCK_BREAK.NewEpoch")?,
                    flags: r.le32("OPLOCK_BREAK.Flags")?,
                    lease_key: r.array("OPLOCK_BREAK.LeaseKey")?,
                    current_lease_state: r.le32("OPLOCK_BREAK.CurrentLeaseState")?,
                    new_lease_state: r.le32("OPLOCK_BREAK.NewLeaseState")?,
                };
                r.skip(12, "OPLOCK_BREAK.ShareMaskHint")?; // BreakReason, AccessMaskHint, ShareMaskHint
                Ok(notification)
            }
            _ => Err(Error::Malformed("OPLOCK_BREAK.StructureSize")),
        }
    }
}

/// The level and the file of all oplock forms.
fn oplock(r: &mut Reader<'_>) -> Result<(u8, FileId), Error> {
    let oplock_level = r.u8("OPLOCK_BREAK.OplockLevel")?;
    r.skip(5, "OPLOCK_BREAK.Reserved2")?;
    Ok((oplock_level, FileId(r.array("OPLOCK_BREAK.FileId")?)))
}

#[cfg(test)]
mod tests {
    use super::super::create::OPLOCK_II;
    use super::super::header::testing::*;
    use super::*;

    const OPLOCK: [u8; 24] = [24, 0, 1, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
    const LEASE_ACK: [u8; 36] = [
        36, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 3, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0,
    ];
    const LEASE_BREAK: [u8; 44] = [
        44, 0, 2, 1, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 7, 0, 0, 0, 1, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
    const KEY: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];

    #[test]
    fn acknowledgments_there_and_back() {
        for (acknowledgment, bytes) in [
            (Request::Oplock { oplock_level: OPLOCK_II, file_id: FileId(KEY) }, &OPLOCK[..]),
            (
                Request::Lease { lease_key: KEY, lease_state: LEASE_READ_CACHING | LEASE_HANDLE_CACHING },
                &LEASE_ACK[..],
            ),
        ] {
            assert_eq!(encoded(|w| acknowledgment.encode(w)), bytes);
            assert_eq!(Response::decode(bytes), Ok(acknowledgment));
            strict(bytes, |bytes| Response::decode(bytes).err());
        }
    }

    #[test]
    fn notifications() {
        assert_eq!(
            Notification::decode(&OPLOCK),
            Ok(Notification::Oplock { oplock_level: OPLOCK_II, file_id: FileId(KEY) })
        );
        assert_eq!(
            Notification::decode(&LEASE_BREAK),
            Ok(Notification::Lease {
                new_epoch: 0x0102,
                flags: ACK_REQUIRED,
                lease_key: KEY,
                current_lease_state: LEASE_READ_CACHING | LEASE_HANDLE_CACHING | LEASE_WRITE_CACHING,
                new_lease_state: LEASE_READ_CACHING,
            })
        );
        strict(&OPLOCK, |bytes| Notification::decode(bytes).err());
        strict(&LEASE_BREAK, |bytes| Notification::decode(bytes).err());
    }

    #[test]
    fn the_form_of_the_other_direction_is_refused() {
        assert_eq!(Notification::decode(&LEASE_ACK), Err(Error::Malformed("OPLOCK_BREAK.StructureSize")));
        assert_eq!(Response::decode(&LEASE_BREAK), Err(Error::Malformed("OPLOCK_BREAK.StructureSize")));
    }
}
