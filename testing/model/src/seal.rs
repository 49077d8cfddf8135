//! The transform (MS-SMB2 2.2.41, 3.1.4.3).

use aes_gcm::aead::array::Array;
use aes_gcm::aead::consts::{U11, U16};
use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use ccm::Ccm;

use crate::Cipher;
use crate::wire::Put;

type Aes128Ccm = Ccm<aes::Aes128, U16, U11>;
type Aes256Ccm = Ccm<aes::Aes256, U16, U11>;

pub(crate) const PROTOCOL: &[u8] = b"\xFDSMB";
pub(crate) const LEN: usize = 52;
/// Where the tag stands, and the start of what it covers besides the message.
pub(crate) const TAG: std::ops::Range<usize> = 4..20;

/// One direction of one session.
#[derive(Clone, Debug)]
pub(crate) struct Sealer {
    pub(crate) cipher: Cipher,
    pub(crate) key: Vec<u8>,
    pub(crate) session_id: u64,
}

impl Sealer {
    /// A transform around `message`, said to be `original_len` long.
    pub(crate) fn seal(&self, nonce: u64, message: &[u8], original_len: usize) -> Vec<u8> {
        let mut out = PROTOCOL.to_vec();
        out.zeros(16);
        out.u64(nonce);
        out.zeros(8);
        out.u32(original_len as u32);
        out.u16(0);
        out.u16(1);
        out.u64(self.session_id);
        out.put(message);
        let (head, body) = out.split_at_mut(LEN);
        let nonce: [u8; 12] = head[20..32].try_into().expect("twelve bytes");
        let tag = self.encrypt(&nonce, &head[20..], body);
        head[TAG].copy_from_slice(&tag);
        out
    }

    /// What is inside a transform, if it is whole and for this session.
    pub(crate) fn unseal(&self, transform: &[u8]) -> Option<Vec<u8>> {
        let (head, body) = transform.split_at_checked(LEN)?;
        let original_len = u32::from_le_bytes(head[36..40].try_into().ok()?) as usize;
        let flags = u16::from_le_bytes(head[42..44].try_into().ok()?);
        if original_len != body.len() || flags != 1 || session_id(transform)? != self.session_id {
            return None;
        }
        let nonce: [u8; 12] = head[20..32].try_into().ok()?;
        let tag: [u8; 16] = head[TAG].try_into().ok()?;
        let mut body = body.to_vec();
        self.decrypt(&nonce, &head[20..], &mut body, &tag).then_some(body)
    }

    fn encrypt(&self, nonce: &[u8; 12], head: &[u8], body: &mut [u8]) -> [u8; 16] {
        match self.cipher {
            Cipher::Aes128Ccm => encrypt::<Aes128Ccm>(&self.key, nonce, head, body),
            Cipher::Aes128Gcm => encrypt::<Aes128Gcm>(&self.key, nonce, head, body),
            Cipher::Aes256Ccm => encrypt::<Aes256Ccm>(&self.key, nonce, head, body),
            Cipher::Aes256Gcm => encrypt::<Aes256Gcm>(&self.key, nonce, head, body),
        }
    }

    fn decrypt(&self, nonce: &[u8; 12], head: &[u8], body: &mut [u8], tag: &[u8; 16]) -> bool {
        match self.cipher {
            Cipher::Aes128Ccm => decrypt::<Aes128Ccm>(&self.key, nonce, head, body, tag),
            Cipher::Aes128Gcm => decrypt::<Aes128Gcm>(&self.key, nonce, head, body, tag),
            Cipher::Aes256Ccm => decrypt::<Aes256Ccm>(&self.key, nonce, head, body, tag),
            Cipher::Aes256Gcm => decrypt::<Aes256Gcm>(&self.key, nonce, head, body, tag),
        }
    }
}

/// SessionId of a transform.
pub(crate) fn session_id(transform: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(transform.get(44..LEN)?.try_into().ok()?))
}

/// The first bytes of the 16 on the wire that the cipher takes: 12 for GCM, 11 for CCM.
fn nonce_of<A: AeadInOut>(nonce: &[u8; 12]) -> Array<u8, A::NonceSize> {
    Array::from_fn(|i| nonce[i])
}

fn encrypt<A: AeadInOut<TagSize = U16> + KeyInit>(
    key: &[u8],
    nonce: &[u8; 12],
    head: &[u8],
    body: &mut [u8],
) -> [u8; 16] {
    let cipher = A::new_from_slice(key).expect("the key was derived for this cipher");
    let tag = cipher.encrypt_inout_detached(&nonce_of::<A>(nonce), head, body.into());
    tag.expect("messages are short").into()
}

fn decrypt<A: AeadInOut<TagSize = U16> + KeyInit>(
    key: &[u8],
    nonce: &[u8; 12],
    head: &[u8],
    body: &mut [u8],
    tag: &[u8; 16],
) -> bool {
    let cipher = A::new_from_slice(key).expect("the key was derived for this cipher");
    cipher.decrypt_inout_detached(&nonce_of::<A>(nonce), head, body.into(), tag.into()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cipher_opens_its_own_transform_and_no_altered_one() {
        for cipher in [Cipher::Aes128Ccm, Cipher::Aes128Gcm, Cipher::Aes256Ccm, Cipher::Aes256Gcm] {
            let sealer = Sealer { cipher, key: vec![3; cipher.key_len()], session_id: 9 };
            let mut sealed = sealer.seal(1, b"a message", 9);
            assert_eq!(sealer.unseal(&sealed).unwrap(), b"a message");
            for byte in 4..sealed.len() {
                sealed[byte] ^= 1;
                assert!(sealer.unseal(&sealed).is_none(), "{cipher:?} byte {byte}");
                sealed[byte] ^= 1;
            }
        }
    }
}
