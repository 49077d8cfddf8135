//! NEGOTIATE (MS-SMB2 2.2.3, 2.2.4, 3.3.5.4).

use crate::connection::{Connection, Handled};
use crate::header::{self, Request};
use crate::session::{Negotiated, Preauth};
use crate::spnego;
use crate::wire::{Put, Reader, pad8};
use crate::{Cipher, Dialect, Lie, Sealing, Signing, Status};

const CAP_LEASING: u32 = 0x02;
const CAP_LARGE_MTU: u32 = 0x04;
const CAP_ENCRYPTION: u32 = 0x40;

const CONTEXT_PREAUTH: u16 = 1;
const CONTEXT_ENCRYPTION: u16 = 2;
const CONTEXT_SIGNING: u16 = 8;
const SHA_512: u16 = 1;

/// 2.0.2 knows no charge, hence no more than one credit's worth.
const SIZE_MAX_202: u32 = 65536;

/// The three contexts of 3.1.1 that matter here.
#[derive(Default)]
struct Contexts {
    hashes: Vec<u16>,
    ciphers: Option<Vec<u16>>,
    signing: Option<Vec<u16>>,
}

struct Offer {
    capabilities: u32,
    /// Capabilities, Guid, SecurityMode and dialects in VALIDATE_NEGOTIATE_INFO's order.
    validation: Vec<u8>,
    dialects: Vec<u16>,
    contexts: Contexts,
}

impl Connection {
    pub(crate) fn negotiate(&mut self, request: &Request) -> Handled {
        if self.negotiated.is_some() {
            self.closed = true;
            return Err(Status::INVALID_PARAMETER);
        }
        let offer = Offer::decode(request)?;
        let common =
            self.config.dialects.iter().filter(|&&dialect| offer.dialects.contains(&(dialect as u16)));
        let dialect = *common.max().ok_or(Status::NOT_SUPPORTED)?;
        if dialect == Dialect::V311 && !offer.contexts.hashes.contains(&SHA_512) {
            return Err(Status::SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP);
        }
        let cipher = self.choose_cipher(dialect, &offer);
        let signing = self.choose_signing(dialect, &offer.contexts);
        let encryption_cap = if dialect < Dialect::V311 && cipher.is_some() { CAP_ENCRYPTION } else { 0 };
        let large_mtu = if dialect > Dialect::V202 { CAP_LARGE_MTU } else { 0 };
        let leasing = if self.config.leases && dialect > Dialect::V202 { CAP_LEASING } else { 0 };
        let mut preauth = Preauth::new();
        preauth.update(request.message);
        let negotiated = Negotiated {
            dialect,
            cipher,
            signing,
            preauth,
            capabilities: large_mtu | encryption_cap | leasing,
            client: offer.validation,
        };
        let contexts = self.encode_contexts(&negotiated, &offer.contexts);
        let body = self.encode_negotiate(&negotiated, &contexts);
        self.negotiated = Some(negotiated);
        Ok(body.into())
    }

    fn choose_cipher(&self, dialect: Dialect, offer: &Offer) -> Option<Cipher> {
        if self.config.sealing == Sealing::Off {
            return None;
        }
        let ccm_capable = offer.capabilities & CAP_ENCRYPTION != 0;
        let takes = |cipher: &Cipher| match dialect {
            Dialect::V202 | Dialect::V210 => false,
            Dialect::V300 | Dialect::V302 => *cipher == Cipher::Aes128Ccm && ccm_capable,
            Dialect::V311 => offer.contexts.ciphers.iter().flatten().any(|&id| id == *cipher as u16),
        };
        self.config.ciphers.iter().copied().find(takes)
    }

    fn choose_signing(&self, dialect: Dialect, contexts: &Contexts) -> Signing {
        let offered = contexts.signing.iter().flatten();
        let takes = |signing: &Signing| offered.clone().any(|&id| id == *signing as u16);
        let chosen = self.config.signing.iter().copied().find(takes).filter(|_| dialect == Dialect::V311);
        chosen.unwrap_or(dialect.default_signing())
    }

    pub(crate) fn security_mode(&self) -> u16 {
        if self.config.signing_required { 3 } else { 1 }
    }

    fn encode_negotiate(&self, negotiated: &Negotiated, contexts: &[Vec<u8>]) -> Vec<u8> {
        let limit = if negotiated.dialect == Dialect::V202 { SIZE_MAX_202 } else { u32::MAX };
        let transact = self.config.max_transact_size.min(limit);
        let read = self.config.max_read_size.min(limit);
        let hint = spnego::hint();
        let offset = header::LEN + 64;
        let contexts_at = match contexts.is_empty() {
            true => 0,
            false => (offset + hint.len()).next_multiple_of(8),
        };
        let mut body = Vec::new();
        body.u16(65);
        body.u16(self.security_mode());
        body.u16(self.lie_dialect().unwrap_or(negotiated.dialect as u16));
        body.u16(contexts.len() as u16);
        body.put(&self.guid);
        body.u32(negotiated.capabilities);
        body.u32(transact);
        body.u32(self.lie_max_read_size().unwrap_or(read));
        body.u32(transact);
        body.u64(self.config.now);
        body.u64(0);
        body.u16(offset as u16);
        body.u16(hint.len() as u16);
        body.u32(contexts_at as u32);
        body.put(&hint);
        for context in contexts {
            pad8(&mut body);
            body.put(context);
        }
        body
    }

    fn encode_contexts(&mut self, negotiated: &Negotiated, offered: &Contexts) -> Vec<Vec<u8>> {
        let mut contexts = Vec::new();
        if negotiated.dialect < Dialect::V311 {
            return contexts;
        }
        let salt = self.entropy.draw();
        if !self.lies(Lie::NegotiateWithoutPreauth) {
            let head: Vec<u8> =
                [1, salt.len() as u16, SHA_512].into_iter().flat_map(u16::to_le_bytes).collect();
            contexts.push(context(CONTEXT_PREAUTH, &[&head, &salt[..]].concat()));
        }
        if offered.ciphers.is_some() {
            let cipher = negotiated.cipher.map_or(0, |cipher| cipher as u16);
            contexts.push(context(CONTEXT_ENCRYPTION, &one_id(self.lie_cipher().unwrap_or(cipher))));
        }
        if offered.signing.is_some() {
            let signing = self.lie_signing().unwrap_or(negotiated.signing as u16);
            contexts.push(context(CONTEXT_SIGNING, &one_id(signing)));
        }
        contexts
    }

    fn lie_dialect(&self) -> Option<u16> {
        self.lie(|lie| if let Lie::DialectRevision(code) = *lie { Some(code) } else { None })
    }

    fn lie_max_read_size(&self) -> Option<u32> {
        self.lie(|lie| if let Lie::MaxReadSize(size) = *lie { Some(size) } else { None })
    }

    fn lie_cipher(&self) -> Option<u16> {
        self.lie(|lie| if let Lie::CipherId(id) = *lie { Some(id) } else { None })
    }

    fn lie_signing(&self) -> Option<u16> {
        self.lie(|lie| if let Lie::SigningId(id) = *lie { Some(id) } else { None })
    }
}

/// A count of one and the id.
fn one_id(id: u16) -> Vec<u8> {
    [1u16.to_le_bytes(), id.to_le_bytes()].concat()
}

fn context(kind: u16, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    out.u16(kind);
    out.u16(data.len() as u16);
    out.u32(0);
    out.put(data);
    out
}

impl Offer {
    fn decode(request: &Request) -> Result<Offer, Status> {
        let mut body = request.body();
        body.structure_size(36)?;
        let count = body.u16()?;
        let security_mode = body.u16()?;
        body.skip(2)?;
        let capabilities = body.u32()?;
        let guid = body.bytes(16)?;
        let (contexts_at, contexts_count) = (body.u32()?, body.u16()?);
        body.skip(2)?;
        let dialects = u16s(&mut body, count)?;
        let mut validation = Vec::new();
        validation.u32(capabilities);
        validation.put(guid);
        validation.u16(security_mode);
        validation.u16(count);
        dialects.iter().for_each(|&dialect| validation.u16(dialect));
        let contexts = match dialects.contains(&(Dialect::V311 as u16)) {
            true => Contexts::decode(request.message, contexts_at as usize, contexts_count)?,
            false => Contexts::default(),
        };
        Ok(Offer { capabilities, validation, dialects, contexts })
    }
}

impl Contexts {
    fn decode(message: &[u8], at: usize, count: u16) -> Result<Contexts, Status> {
        let mut contexts = Contexts::default();
        let mut reader = Reader::new(message);
        reader.skip(at)?;
        let mut end = at;
        for _ in 0..count {
            reader.skip(end.next_multiple_of(8) - end)?;
            let (kind, len) = (reader.u16()?, reader.u16()?);
            reader.skip(4)?;
            let mut data = Reader::new(reader.bytes(len.into())?);
            end = end.next_multiple_of(8) + 8 + usize::from(len);
            match kind {
                CONTEXT_PREAUTH => {
                    let count = data.u16()?;
                    data.skip(2)?;
                    contexts.hashes = u16s(&mut data, count)?;
                }
                CONTEXT_ENCRYPTION => contexts.ciphers = Some(counted(&mut data)?),
                CONTEXT_SIGNING => contexts.signing = Some(counted(&mut data)?),
                _ => {}
            }
        }
        Ok(contexts)
    }
}

fn counted(data: &mut Reader) -> Result<Vec<u16>, Status> {
    let count = data.u16()?;
    u16s(data, count)
}

fn u16s(reader: &mut Reader, count: u16) -> Result<Vec<u16>, Status> {
    (0..count).map(|_| reader.u16()).collect()
}
