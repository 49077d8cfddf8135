//! Signatures (MS-SMB2 3.1.4.1) and the MACs beneath.

use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes128Gcm, KeyInit};
use cmac::{Cmac, Mac};
use hmac::Hmac;
use sha2::Sha256;

use crate::header::{FLAG_SIGNED, LEN};
use crate::{Command, Signing};

/// Offsets in the header.
pub(crate) const FLAGS: usize = 16;
const MESSAGE_ID: usize = 24;
pub(crate) const SIGNATURE: std::ops::Range<usize> = 48..LEN;

/// How one side of one session signs.
#[derive(Clone, Debug)]
pub(crate) struct Signer {
    pub(crate) algorithm: Signing,
    pub(crate) key: [u8; 16],
}

impl Signer {
    /// Sets the flag and the signature of a whole reply.
    pub(crate) fn sign(&self, reply: &mut [u8]) {
        reply[FLAGS] |= FLAG_SIGNED as u8;
        let signature = self.signature(reply, true);
        reply[SIGNATURE].copy_from_slice(&signature);
    }

    /// Whether a request carries the signature it should.
    pub(crate) fn verify(&self, request: &[u8]) -> bool {
        self.signature(request, false) == request[SIGNATURE]
    }

    pub(crate) fn signature(&self, message: &[u8], from_server: bool) -> [u8; 16] {
        let mut message = message.to_vec();
        message[SIGNATURE].fill(0);
        match self.algorithm {
            Signing::HmacSha256 => hmac_sha256(&self.key, &message)[..16].try_into().expect("half of 32"),
            Signing::AesCmac => aes_cmac(&self.key, &message),
            Signing::AesGmac => aes_gmac(&self.key, &gmac_nonce(&message, from_server), &message),
        }
    }
}

/// MessageId, then a bit for the server and one for CANCEL.
fn gmac_nonce(message: &[u8], from_server: bool) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[..8].copy_from_slice(&message[MESSAGE_ID..][..8]);
    let cancel = message[12] == Command::Cancel as u8;
    nonce[8] = u8::from(from_server) | u8::from(cancel) << 1;
    nonce
}

pub(crate) fn hmac_sha256(key: &[u8], data: &[u8]) -> [u8; 32] {
    let mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).expect("any length");
    mac.chain_update(data).finalize().into_bytes().into()
}

fn aes_cmac(key: &[u8; 16], data: &[u8]) -> [u8; 16] {
    let mac = <Cmac<aes::Aes128> as KeyInit>::new(key.into());
    mac.chain_update(data).finalize().into_bytes().into()
}

/// GCM of nothing, with the message as associated data.
fn aes_gmac(key: &[u8; 16], nonce: &[u8; 12], data: &[u8]) -> [u8; 16] {
    let mut nothing = [];
    let tag =
        Aes128Gcm::new(key.into()).encrypt_inout_detached(nonce.into(), data, (&mut nothing[..]).into());
    tag.expect("messages are short").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cmac_agrees_with_rfc_4493() {
        let key = 0x2b7e151628aed2a6abf7158809cf4f3c_u128.to_be_bytes();
        assert_eq!(aes_cmac(&key, &[]), 0xbb1d6929e95937287fa37d129b756746_u128.to_be_bytes());
        let block = 0x6bc1bee22e409f96e93d7e117393172a_u128.to_be_bytes();
        assert_eq!(aes_cmac(&key, &block), 0x070a16b46b4d4144f79bdd9dd04a287c_u128.to_be_bytes());
    }

    #[test]
    fn a_signature_covers_every_bit_and_both_directions_differ() {
        for algorithm in [Signing::HmacSha256, Signing::AesCmac, Signing::AesGmac] {
            let signer = Signer { algorithm, key: [7; 16] };
            let mut message = vec![0; 80];
            let signature = signer.signature(&message, false);
            message[SIGNATURE].copy_from_slice(&signature);
            assert!(signer.verify(&message));
            for byte in 0..message.len() {
                message[byte] ^= 1;
                assert!(!signer.verify(&message), "{algorithm:?} byte {byte}");
                message[byte] ^= 1;
            }
            let from_server = signer.signature(&message, true);
            assert_eq!(from_server != signature, algorithm == Signing::AesGmac);
        }
    }
}
