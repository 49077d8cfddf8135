//! Messages to frames: chained, signed, hashed, sealed.

use crate::arrange::Message;
use crate::connection::{Connection, Reply};
use crate::header;
use crate::model::Frame;
use crate::seal::{self, Sealer};
use crate::sign;
use crate::wire::{Put, pad8};
use crate::{Command, Lie, Status};

const NEXT_COMMAND: std::ops::Range<usize> = 20..24;

impl Connection {
    pub(crate) fn assemble(&mut self, message: Message) -> Frame {
        let mut plain = Vec::new();
        for (i, reply) in message.replies.iter().enumerate() {
            let is_last = i + 1 == message.replies.len();
            let false_next = reply.next_command.or(self.false_next(&message, i));
            plain.put(&self.member(reply, is_last, false_next));
        }
        self.hash(&message.replies[0], &plain);
        if message.read && self.lies(Lie::Compressed) {
            plain = compressed(&plain);
        }
        let bytes = match &message.sealer {
            Some(sealer) => self.seal(sealer, &plain),
            None => plain,
        };
        Frame { bytes, read: message.read }
    }

    /// One reply: all but the last are padded, and signatures cover the padding.
    fn member(&mut self, reply: &Reply, is_last: bool, false_next: Option<u32>) -> Vec<u8> {
        let mut bytes = [&reply.header.encode()[..], &reply.body].concat();
        let mut next = 0;
        if !is_last {
            pad8(&mut bytes);
            next = bytes.len() as u32;
        }
        bytes[NEXT_COMMAND].copy_from_slice(&false_next.unwrap_or(next).to_le_bytes());
        let needs_none = reply.header.status == Status::PENDING || reply.header.message_id == u64::MAX;
        if needs_none && self.lies(Lie::FalselySigned) {
            bytes[sign::FLAGS] |= header::FLAG_SIGNED as u8;
            bytes[sign::SIGNATURE].fill(0x5A);
        }
        if let Some(signer) = &reply.signer {
            self.told.signed += 1;
            let nth = self.told.signed;
            if !self.lies(Lie::Unsigned { nth }) {
                signer.sign(&mut bytes);
            }
            if self.lies(Lie::SignatureWrong { nth }) {
                bytes[sign::SIGNATURE.start] ^= 1;
            }
        }
        bytes
    }

    /// What NextCommand of the first member says instead of the truth.
    fn false_next(&self, message: &Message, i: usize) -> Option<u32> {
        if !message.read || i > 0 {
            return None;
        }
        self.lie(|lie| match lie {
            Lie::NextCommandBeyond => Some(0x7FFF_FFF8),
            Lie::NextCommandUnaligned => Some(header::LEN as u32 + 4),
            Lie::NextCommandTooSmall => Some(8),
            _ => None,
        })
    }

    /// Adds a reply to the pre-authentication hash it belongs to.
    fn hash(&mut self, reply: &Reply, plain: &[u8]) {
        let header = &reply.header;
        match header.command {
            Command::Negotiate => {
                if let Some(negotiated) = &mut self.negotiated {
                    negotiated.preauth.update(plain);
                }
            }
            Command::SessionSetup if header.status == Status::MORE_PROCESSING_REQUIRED => {
                let session = self.sessions.get_mut(&header.session_id);
                if let Some(authentication) = session.and_then(|session| session.authentication.as_mut()) {
                    authentication.preauth.update(plain);
                }
            }
            _ => {}
        }
    }

    fn seal(&mut self, sealer: &Sealer, plain: &[u8]) -> Vec<u8> {
        self.told.sealed += 1;
        let nth = self.told.sealed;
        if self.lies(Lie::PlaintextOnSealed { nth }) {
            return plain.to_vec();
        }
        let mut sealer = sealer.clone();
        if self.lies(Lie::TransformSessionId { nth }) {
            sealer.session_id ^= 1 << 32;
        }
        let false_len = if self.lies(Lie::OriginalMessageSize { nth }) { 8 } else { 0 };
        let mut sealed = sealer.seal(self.next_nonce(), plain, plain.len() + false_len);
        if self.lies(Lie::TransformNested { nth }) {
            sealed = sealer.seal(self.next_nonce(), &sealed, sealed.len());
        }
        if self.lies(Lie::SealTagWrong { nth }) {
            sealed[seal::TAG.start] ^= 1;
        }
        if self.lies(Lie::CiphertextWrong { nth }) {
            sealed[seal::LEN] ^= 1;
        }
        sealed
    }

    fn next_nonce(&mut self) -> u64 {
        self.nonce += 1;
        self.nonce
    }
}

/// A compression transform (MS-SMB2 2.2.42.1) that leaves everything uncompressed.
fn compressed(plain: &[u8]) -> Vec<u8> {
    const LZNT1: u16 = 1;
    let mut out = b"\xFCSMB".to_vec();
    out.u32(0);
    out.u16(LZNT1);
    out.u16(0);
    out.u32(plain.len() as u32);
    out.put(plain);
    out
}
