//! MS-SMB2 2.2.3, 2.2.4: NEGOTIATE.

use super::filetime::FileTime;
use super::header::{LEN, buffer, structure_size};
use crate::error::Error;
use crate::wire::{Reader, Writer};

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u16)]
pub enum Dialect {
    /// 2.0.2, of Windows Vista SP1 and Server 2008.
    Smb202 = 0x0202,
    /// 2.1, of Windows 7: reads over 64 KiB, leases.
    Smb210 = 0x0210,
    /// 3.0, of Windows 8: encryption, AES-CMAC.
    Smb300 = 0x0300,
    /// 3.0.2, of Windows 8.1.
    Smb302 = 0x0302,
    /// 3.1.1, of Windows 10: negotiation that cannot be tampered with, AES-GCM.
    Smb311 = 0x0311,
}

impl Dialect {
    /// All, oldest first.
    pub const ALL: [Dialect; 5] =
        [Dialect::Smb202, Dialect::Smb210, Dialect::Smb300, Dialect::Smb302, Dialect::Smb311];

    /// The number on the wire.
    pub const fn revision(self) -> u16 {
        self as u16
    }

    /// The dialect of a number on the wire. `None` for others, so for the wildcard 0x02FF too.
    pub fn from_revision(revision: u16) -> Option<Dialect> {
        Dialect::ALL.into_iter().find(|dialect| dialect.revision() == revision)
    }

    /// The usual name.
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::Smb202 => "2.0.2",
            Dialect::Smb210 => "2.1",
            Dialect::Smb300 => "3.0",
            Dialect::Smb302 => "3.0.2",
            Dialect::Smb311 => "3.1.1",
        }
    }

    /// Its place in [`Dialects`].
    const fn bit(self) -> u8 {
        match self {
            Dialect::Smb202 => 1 << 0,
            Dialect::Smb210 => 1 << 1,
            Dialect::Smb300 => 1 << 2,
            Dialect::Smb302 => 1 << 3,
            Dialect::Smb311 => 1 << 4,
        }
    }
}

/// A set of dialects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialects(u8);

impl Dialects {
    /// None, which no server accepts.
    pub const EMPTY: Dialects = Dialects(0);
    /// Every dialect.
    pub const ALL: Dialects = Dialects::between(Dialect::Smb202, Dialect::Smb311);

    /// From `least` to `most`, both included. Empty if `least` is newer.
    pub const fn between(least: Dialect, most: Dialect) -> Dialects {
        Dialects((most.bit() << 1).saturating_sub(least.bit()))
    }

    /// One.
    pub const fn only(dialect: Dialect) -> Dialects {
        Dialects(dialect.bit())
    }

    /// These and one more.
    pub const fn with(self, dialect: Dialect) -> Dialects {
        Dialects(self.0 | dialect.bit())
    }

    /// Whether `dialect` is one of them.
    pub const fn contains(self, dialect: Dialect) -> bool {
        self.0 & dialect.bit() != 0
    }

    /// How many there are.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// All of them, oldest first.
    pub fn iter(self) -> impl Iterator<Item = Dialect> {
        Dialect::ALL.into_iter().filter(move |dialect| self.contains(*dialect))
    }
}

/// `SecurityMode`: `SMB2_NEGOTIATE_SIGNING_ENABLED`.
pub const SIGNING_ENABLED: u16 = 0x0001;
/// `SecurityMode`: `SMB2_NEGOTIATE_SIGNING_REQUIRED`.
pub const SIGNING_REQUIRED: u16 = 0x0002;

/// `Capabilities`: `SMB2_GLOBAL_CAP_DFS`.
pub const CAP_DFS: u32 = 0x0000_0001;
/// `Capabilities`: `SMB2_GLOBAL_CAP_LEASING`.
pub const CAP_LEASING: u32 = 0x0000_0002;
/// `Capabilities`: `SMB2_GLOBAL_CAP_LARGE_MTU`, requests of more than one credit.
pub const CAP_LARGE_MTU: u32 = 0x0000_0004;
/// `Capabilities`: `SMB2_GLOBAL_CAP_MULTI_CHANNEL`.
pub const CAP_MULTI_CHANNEL: u32 = 0x0000_0008;
/// `Capabilities`: `SMB2_GLOBAL_CAP_PERSISTENT_HANDLES`.
pub const CAP_PERSISTENT_HANDLES: u32 = 0x0000_0010;
/// `Capabilities`: `SMB2_GLOBAL_CAP_DIRECTORY_LEASING`.
pub const CAP_DIRECTORY_LEASING: u32 = 0x0000_0020;
/// `Capabilities`: `SMB2_GLOBAL_CAP_ENCRYPTION`. Samba wants it at 3.1.1 too, beside the context.
pub const CAP_ENCRYPTION: u32 = 0x0000_0040;

/// Hash algorithm: SHA-512, the only one.
pub const SHA_512: u16 = 0x0001;
/// Cipher: AES-128-CCM, that of 3.0 and 3.0.2.
pub const AES_128_CCM: u16 = 0x0001;
/// Cipher: AES-128-GCM.
pub const AES_128_GCM: u16 = 0x0002;
/// Cipher: AES-256-CCM.
pub const AES_256_CCM: u16 = 0x0003;
/// Cipher: AES-256-GCM.
pub const AES_256_GCM: u16 = 0x0004;
/// Signing algorithm: HMAC-SHA256, that of 2.0.2 and 2.1.
pub const HMAC_SHA256: u16 = 0x0000;
/// Signing algorithm: AES-CMAC, that of 3.x without the context.
pub const AES_CMAC: u16 = 0x0001;
/// Signing algorithm: AES-GMAC.
pub const AES_GMAC: u16 = 0x0002;

/// ContextType: `SMB2_PREAUTH_INTEGRITY_CAPABILITIES`.
const PREAUTH_INTEGRITY: u16 = 0x0001;
/// ContextType: `SMB2_ENCRYPTION_CAPABILITIES`.
const ENCRYPTION: u16 = 0x0002;
/// ContextType: `SMB2_NETNAME_NEGOTIATE_CONTEXT_ID`.
const NETNAME: u16 = 0x0005;
/// ContextType: `SMB2_SIGNING_CAPABILITIES`.
const SIGNING: u16 = 0x0008;

/// Contexts that a response may have: the standard knows seven, and a server answers what was asked.
pub const CONTEXTS_MAX: u16 = 16;

/// Offers dialects, and at 3.1.1 algorithms.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What the client speaks. The contexts are sent only if 3.1.1 is among them.
    pub dialects: Dialects,
    /// [`SIGNING_ENABLED`], [`SIGNING_REQUIRED`].
    pub security_mode: u16,
    /// [`CAP_LARGE_MTU`] and the others; zero if no 3.x dialect is offered.
    pub capabilities: u32,
    /// The same on every connection of a client; zero if only 2.0.2 is offered.
    pub client_guid: [u8; 16],
    /// Random bytes for the pre-authentication hash.
    pub salt: &'a [u8; 32],
    /// The best first. Empty: no encryption.
    pub ciphers: &'a [u16],
    /// The best first. Empty: AES-CMAC.
    pub signing_algorithms: &'a [u16],
    /// The server's name as the client knows it.
    pub netname: Option<&'a str>,
}

impl Request<'_> {
    /// Appends the message.
    pub fn encode(&self, w: &mut Writer<'_>) {
        let body = w.at();
        w.le16(36); // StructureSize
        w.le16(self.dialects.len() as u16);
        w.le16(self.security_mode);
        w.le16(0); // Reserved
        w.le32(self.capabilities);
        w.put(&self.client_guid);
        let contexts = w.mark();
        w.zeros(8); // NegotiateContextOffset, NegotiateContextCount, Reserved2
        self.dialects.iter().for_each(|dialect| w.le16(dialect.revision()));
        if !self.dialects.contains(Dialect::Smb311) {
            return;
        }

        align(w, body);
        let offset = w.at().saturating_sub(body).saturating_add(LEN) as u32;
        let mut count = 1u16;
        context(w, body, PREAUTH_INTEGRITY, |w| {
            w.le16(1); // HashAlgorithmCount
            w.le16(self.salt.len() as u16);
            w.le16(SHA_512);
            w.put(self.salt);
        });
        for (kind, algorithms) in [(ENCRYPTION, self.ciphers), (SIGNING, self.signing_algorithms)] {
            if !algorithms.is_empty() {
                count = count.saturating_add(1);
                context(w, body, kind, |w| {
                    w.le16(algorithms.len() as u16);
                    algorithms.iter().for_each(|algorithm| w.le16(*algorithm));
                });
            }
        }
        if let Some(netname) = self.netname {
            count = count.saturating_add(1);
            context(w, body, NETNAME, |w| {
                w.utf16(netname);
            });
        }
        w.patch(contexts, &(u64::from(count) << 32 | u64::from(offset)).to_le_bytes());
    }
}

/// Appends one context, 8-aligned from the header that stands in front of `body`.
fn context(w: &mut Writer<'_>, body: usize, kind: u16, data: impl FnOnce(&mut Writer<'_>)) {
    align(w, body);
    w.le16(kind);
    let len = w.mark();
    w.le16(0); // DataLength
    w.le32(0); // Reserved
    let start = w.at();
    data(w);
    w.patch(len, &(w.at().saturating_sub(start) as u16).to_le_bytes());
}

/// Appends zeros up to a multiple of 8 from `body`. The header in front of it is a multiple of 8 itself.
fn align(w: &mut Writer<'_>, body: usize) {
    w.zeros(w.at().saturating_sub(body).wrapping_neg() & 7);
}

/// The fixed part of a response.
const FIXED: usize = 64;

/// The most bytes of a reply behind the header, besides the security buffer: its fixed part, and the answers
/// to all contexts that [`Request`] can have, each 8 bytes, 2 per field, a salt of 32, and padding.
pub const REPLY_HEAD_MAX: usize = FIXED + 8 + (8 + 6 + 32 + 2) + (8 + 4 + 4) + (8 + 4 + 4);

/// What the server has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// [`SIGNING_ENABLED`], [`SIGNING_REQUIRED`].
    pub security_mode: u16,
    /// The chosen dialect: any, whether it was offered or not.
    pub dialect: Dialect,
    /// The server.
    pub server_guid: [u8; 16],
    /// [`CAP_LARGE_MTU`] and the others.
    pub capabilities: u32,
    /// The most bytes of an output buffer of QUERY_INFO, QUERY_DIRECTORY and IOCTL.
    pub max_transact_size: u32,
    /// The most bytes of a READ.
    pub max_read_size: u32,
    /// The most bytes of a WRITE.
    pub max_write_size: u32,
    /// The server's clock.
    pub system_time: FileTime,
    /// The server's first token (SPNEGO), or empty.
    pub security_buffer: &'a [u8],
    /// The hash of the pre-authentication integrity. `None` before 3.1.1, as the other two.
    pub preauth_integrity_hash: Option<u16>,
    /// The chosen cipher; `Some(0)` if the server has none of the offered ones.
    pub cipher: Option<u16>,
    /// The chosen signing algorithm.
    pub signing_algorithm: Option<u16>,
}

impl<'a> Response<'a> {
    /// Decodes what follows the header. At 3.1.1, `Misbehaved` if a context comes twice or chooses other than
    /// one algorithm, or if there are more than [`CONTEXTS_MAX`].
    pub fn decode(body: &'a [u8]) -> Result<Response<'a>, Error> {
        let mut r = Reader::new(body);
        structure_size(&mut r, 65, "NEGOTIATE.StructureSize")?;
        let security_mode = r.le16("NEGOTIATE.SecurityMode")?;
        let dialect = Dialect::from_revision(r.le16("NEGOTIATE.DialectRevision")?)
            .ok_or(Error::Malformed("NEGOTIATE.DialectRevision"))?;
        let context_count = r.le16("NEGOTIATE.NegotiateContextCount")?;
        let server_guid = r.array("NEGOTIATE.ServerGuid")?;
        let capabilities = r.le32("NEGOTIATE.Capabilities")?;
        let max_transact_size = r.le32("NEGOTIATE.MaxTransactSize")?;
        let max_read_size = r.le32("NEGOTIATE.MaxReadSize")?;
        let max_write_size = r.le32("NEGOTIATE.MaxWriteSize")?;
        let system_time = FileTime(r.le64("NEGOTIATE.SystemTime")?);
        r.skip(8, "NEGOTIATE.ServerStartTime")?;
        let offset = r.le16("NEGOTIATE.SecurityBufferOffset")?;
        let len = r.le16("NEGOTIATE.SecurityBufferLength")?;
        let context_offset = r.le32("NEGOTIATE.NegotiateContextOffset")?;

        let mut response = Response {
            security_mode,
            dialect,
            server_guid,
            capabilities,
            max_transact_size,
            max_read_size,
            max_write_size,
            system_time,
            security_buffer: buffer(
                body,
                FIXED,
                offset.into(),
                len.into(),
                "NEGOTIATE.SecurityBufferOffset",
            )?,
            preauth_integrity_hash: None,
            cipher: None,
            signing_algorithm: None,
        };
        if dialect == Dialect::Smb311 {
            response.contexts(body, context_offset as usize, context_count)?;
        }
        Ok(response)
    }

    /// Takes what is known of the `count` contexts, `offset` from the header in front of `body`.
    fn contexts(&mut self, body: &[u8], offset: usize, count: u16) -> Result<(), Error> {
        const OFFSET: &str = "NEGOTIATE.NegotiateContextOffset";
        if count > CONTEXTS_MAX {
            return Err(Error::Misbehaved("NEGOTIATE has too many contexts"));
        }
        if count > 0 && (offset < LEN + FIXED || offset % 8 != 0) {
            return Err(Error::Malformed(OFFSET));
        }
        let mut at = offset.saturating_sub(LEN);
        for _ in 0..count {
            let mut r = Reader::new(body.get(at..).ok_or(Error::Malformed(OFFSET))?);
            let kind = r.le16("NegotiateContext.ContextType")?;
            let len = r.le16("NegotiateContext.DataLength")?.into();
            r.skip(4, "NegotiateContext.Reserved")?;
            let data = r.take(len, "NegotiateContext.Data")?;
            at = at.saturating_add(r.at()).saturating_add(7) & !7;
            let (chosen, algorithm) = match kind {
                PREAUTH_INTEGRITY => (&mut self.preauth_integrity_hash, hash(data)?),
                ENCRYPTION => (&mut self.cipher, only(data)?),
                SIGNING => (&mut self.signing_algorithm, only(data)?),
                _ => continue,
            };
            if chosen.replace(algorithm).is_some() {
                return Err(Error::Misbehaved("NEGOTIATE has two contexts of one type"));
            }
        }
        Ok(())
    }
}

/// The one algorithm of a context that has a count and a list of them.
fn only(data: &[u8]) -> Result<u16, Error> {
    let mut r = Reader::new(data);
    one(r.le16("NegotiateContext.Count")?)?;
    r.le16("NegotiateContext.Algorithm")
}

/// The one hash of a pre-authentication context. Its salt is not needed: it is in the bytes that are hashed.
fn hash(data: &[u8]) -> Result<u16, Error> {
    let mut r = Reader::new(data);
    one(r.le16("NegotiateContext.HashAlgorithmCount")?)?;
    let salt = r.le16("NegotiateContext.SaltLength")?;
    let hash = r.le16("NegotiateContext.HashAlgorithm")?;
    r.skip(salt.into(), "NegotiateContext.Salt")?;
    Ok(hash)
}

fn one(count: u16) -> Result<(), Error> {
    if count == 1 { Ok(()) } else { Err(Error::Misbehaved("NEGOTIATE chooses other than one algorithm")) }
}

#[cfg(test)]
mod tests {
    use super::super::header::testing::*;
    use super::*;
    use std::vec::Vec;

    fn request(dialects: Dialects) -> Request<'static> {
        Request {
            dialects,
            security_mode: SIGNING_ENABLED,
            capabilities: CAP_LARGE_MTU | CAP_ENCRYPTION,
            client_guid: [9; 16],
            salt: &[7; 32],
            ciphers: &[AES_128_GCM, AES_128_CCM],
            signing_algorithms: &[AES_GMAC, AES_CMAC, HMAC_SHA256],
            netname: Some("nas"),
        }
    }

    /// Of Samba 4.17, to a client that offers 3.1.1, both AES-128 ciphers and all signing algorithms.
    #[rustfmt::skip]
    const RESPONSE: [u8; 220] = [
        0x41, 0x00, 0x01, 0x00, 0x11, 0x03, 0x03, 0x00, 0x6c, 0x61, 0x62, 0x73, 0x6d, 0x62, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x00,
        0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x80, 0x00, 0xe0, 0x60, 0xd4, 0x6a, 0xc0, 0x80, 0xdd, 0x01,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x00, 0x4a, 0x00, 0xd0, 0x00, 0x00, 0x00,
        0x60, 0x48, 0x06, 0x06, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x02, 0xa0, 0x3e, 0x30, 0x3c, 0xa0, 0x0e,
        0x30, 0x0c, 0x06, 0x0a, 0x2b, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x02, 0x02, 0x0a, 0xa3, 0x2a,
        0x30, 0x28, 0xa0, 0x26, 0x1b, 0x24, 0x6e, 0x6f, 0x74, 0x5f, 0x64, 0x65, 0x66, 0x69, 0x6e, 0x65,
        0x64, 0x5f, 0x69, 0x6e, 0x5f, 0x52, 0x46, 0x43, 0x34, 0x31, 0x37, 0x38, 0x40, 0x70, 0x6c, 0x65,
        0x61, 0x73, 0x65, 0x5f, 0x69, 0x67, 0x6e, 0x6f, 0x72, 0x65, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x01, 0x00, 0x26, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x20, 0x00, 0x01, 0x00, 0x09, 0x22,
        0xbc, 0x7b, 0xbf, 0x9d, 0x56, 0x22, 0x6a, 0xb9, 0xde, 0xec, 0x9c, 0x15, 0xfc, 0x22, 0x19, 0x7b,
        0xf8, 0x0c, 0x0b, 0x0e, 0x66, 0x69, 0x63, 0x77, 0x23, 0xba, 0x89, 0x88, 0xad, 0xf0, 0x00, 0x00,
        0x02, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x08, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x02, 0x00,
    ];
    const CONTEXT_COUNT_AT: usize = 6;
    const CONTEXT_OFFSET_AT: usize = 60;
    const PREAUTH_AT: usize = 144;
    const ENCRYPTION_AT: usize = 192;
    const SIGNING_AT: usize = 208;

    fn decode_with(at: usize, bytes: &[u8]) -> Result<(), Error> {
        let mut body = RESPONSE;
        body[at..at + bytes.len()].copy_from_slice(bytes);
        Response::decode(&body).map(drop)
    }

    #[test]
    fn sets_of_dialects() {
        use Dialect::*;
        let list = |set: Dialects| set.iter().collect::<Vec<_>>();
        assert_eq!(list(Dialects::ALL), Dialect::ALL);
        assert_eq!(list(Dialects::between(Smb210, Smb302)), [Smb210, Smb300, Smb302]);
        assert_eq!(list(Dialects::only(Smb311).with(Smb202)), [Smb202, Smb311]);
        assert!(Dialects::between(Smb311, Smb202).is_empty() && Dialects::EMPTY.is_empty());
        for dialect in Dialect::ALL {
            assert_eq!(Dialect::from_revision(dialect.revision()), Some(dialect));
            assert_eq!(Dialects::between(dialect, dialect), Dialects::only(dialect));
        }
        assert_eq!(Dialect::from_revision(0x02FF), None);
    }

    #[test]
    fn a_request_without_3_1_1_ends_with_its_dialects() {
        let bytes = encoded(|w| request(Dialects::between(Dialect::Smb202, Dialect::Smb302)).encode(w));
        #[rustfmt::skip]
        assert_eq!(bytes, [
            36, 0, 4, 0, 1, 0, 0, 0, 0x44, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9,
            0, 0, 0, 0, 0, 0, 0, 0, // ClientStartTime
            0x02, 2, 0x10, 2, 0x00, 3, 0x02, 3,
        ]);
    }

    #[test]
    fn a_request_with_3_1_1_has_contexts() {
        let bytes = encoded(|w| request(Dialects::between(Dialect::Smb302, Dialect::Smb311)).encode(w));
        #[rustfmt::skip]
        assert_eq!(bytes, [
            36, 0, 2, 0, 1, 0, 0, 0, 0x44, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9,
            104, 0, 0, 0, 4, 0, 0, 0, // NegotiateContextOffset, NegotiateContextCount
            0x02, 3, 0x11, 3,
            1, 0, 38, 0, 0, 0, 0, 0, 1, 0, 32, 0, 1, 0,
            7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
            0, 0,
            2, 0, 6, 0, 0, 0, 0, 0, 2, 0, 2, 0, 1, 0, 0, 0,
            8, 0, 8, 0, 0, 0, 0, 0, 3, 0, 2, 0, 1, 0, 0, 0,
            5, 0, 6, 0, 0, 0, 0, 0, b'n', 0, b'a', 0, b's', 0,
        ]);
    }

    #[test]
    fn what_is_not_offered_has_no_context() {
        let request =
            Request { ciphers: &[], signing_algorithms: &[], netname: None, ..request(Dialects::ALL) };
        let bytes = encoded(|w| request.encode(w));
        assert_eq!(bytes[28..36], [112, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(bytes.len(), 48 + 46);
    }

    #[test]
    fn a_response_with_contexts() {
        assert_eq!(
            Response::decode(&RESPONSE),
            Ok(Response {
                security_mode: SIGNING_ENABLED,
                dialect: Dialect::Smb311,
                server_guid: *b"labsmb\0\0\0\0\0\0\0\0\0\0",
                capabilities: CAP_DFS | CAP_LEASING | CAP_LARGE_MTU,
                max_transact_size: 0x80_0000,
                max_read_size: 0x80_0000,
                max_write_size: 0x80_0000,
                system_time: FileTime(0x01DD_80C0_6AD4_60E0),
                security_buffer: &RESPONSE[64..138],
                preauth_integrity_hash: Some(SHA_512),
                cipher: Some(AES_128_GCM),
                signing_algorithm: Some(AES_GMAC),
            })
        );
        assert!(RESPONSE.len() <= REPLY_HEAD_MAX + 74);
        strict(&RESPONSE, |body| Response::decode(body).err());
        survives_any_byte(&RESPONSE, |body| Response::decode(body).err());
    }

    #[test]
    fn before_3_1_1_contexts_are_not_looked_at() {
        let mut body = RESPONSE;
        body[4..6].copy_from_slice(&0x0302u16.to_le_bytes());
        let response = Response::decode(&body[..138]).unwrap();
        assert_eq!((response.dialect, response.cipher), (Dialect::Smb302, None));
        body[4..6].copy_from_slice(&0x02FFu16.to_le_bytes());
        assert_eq!(Response::decode(&body), Err(Error::Malformed("NEGOTIATE.DialectRevision")));
    }

    #[test]
    fn unknown_contexts_are_skipped() {
        assert_eq!(decode_with(ENCRYPTION_AT, &[0, 1]), Ok(()));
        assert_eq!(decode_with(SIGNING_AT, &[0xFF, 0xFF]), Ok(()));
    }

    #[test]
    fn a_context_that_comes_twice_or_chooses_two_is_refused() {
        let twice = Err(Error::Misbehaved("NEGOTIATE has two contexts of one type"));
        let other = Err(Error::Misbehaved("NEGOTIATE chooses other than one algorithm"));
        assert_eq!(decode_with(SIGNING_AT, &[2, 0]), twice);
        assert_eq!(decode_with(ENCRYPTION_AT, &[8, 0]), twice);
        for at in [PREAUTH_AT, ENCRYPTION_AT, SIGNING_AT] {
            assert_eq!(decode_with(at + 8, &[0, 0]), other);
            assert_eq!(decode_with(at + 8, &[2, 0]), other);
        }
    }

    #[test]
    fn a_context_that_is_not_inside_is_refused() {
        const OFFSET: Result<(), Error> = Err(Error::Malformed("NEGOTIATE.NegotiateContextOffset"));
        for offset in [0u32, 64, 120, 127, 129, 204, 296, u32::MAX, u32::MAX - 7] {
            assert_eq!(decode_with(CONTEXT_OFFSET_AT, &offset.to_le_bytes()), OFFSET, "{offset}");
        }
        assert_eq!(decode_with(CONTEXT_COUNT_AT, &[4, 0]), OFFSET);
        assert_eq!(
            decode_with(CONTEXT_COUNT_AT, &[17, 0]),
            Err(Error::Misbehaved("NEGOTIATE has too many contexts"))
        );
        for (at, len) in [(PREAUTH_AT, 69u16), (ENCRYPTION_AT, 21), (SIGNING_AT, 5), (SIGNING_AT, u16::MAX)] {
            assert!(decode_with(at + 2, &len.to_le_bytes()).is_err());
        }
        let short = Err(Error::Malformed("NegotiateContext.Salt"));
        assert_eq!(decode_with(PREAUTH_AT + 10, &[33, 0]), short);
    }
}
