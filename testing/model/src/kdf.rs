//! Key derivation (MS-SMB2 3.1.4.2): SP800-108 in counter mode over HMAC-SHA256.

use crate::sign;
use crate::{Cipher, Dialect, Signing};

/// The keys of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) signing: [u8; 16],
    /// Client to server.
    pub(crate) c2s: Vec<u8>,
    /// Server to client.
    pub(crate) s2c: Vec<u8>,
}

/// Keys of a session from what NTLM agreed on; `preauth` counts at 3.1.1 only.
pub(crate) fn keys(
    dialect: Dialect,
    cipher: Option<Cipher>,
    session_key: &[u8; 16],
    preauth: &[u8; 64],
) -> Keys {
    let len = cipher.map_or(16, Cipher::key_len);
    let derive = |label: &[u8], context: &[u8], len| counter_kdf(session_key, label, context, len);
    let (signing, c2s, s2c) = match dialect {
        Dialect::V202 | Dialect::V210 => (session_key.to_vec(), Vec::new(), Vec::new()),
        Dialect::V300 | Dialect::V302 => (
            derive(b"SMB2AESCMAC\0", b"SmbSign\0", 16),
            derive(b"SMB2AESCCM\0", b"ServerIn \0", 16),
            derive(b"SMB2AESCCM\0", b"ServerOut\0", 16),
        ),
        Dialect::V311 => (
            derive(b"SMBSigningKey\0", preauth, 16),
            derive(b"SMBC2SCipherKey\0", preauth, len),
            derive(b"SMBS2CCipherKey\0", preauth, len),
        ),
    };
    Keys { signing: signing.try_into().expect("16 bytes were asked for"), c2s, s2c }
}

/// One block is enough: nobody asks for more than 32 bytes.
fn counter_kdf(key: &[u8], label: &[u8], context: &[u8], len: usize) -> Vec<u8> {
    let bits = (len as u32 * 8).to_be_bytes();
    let block = sign::hmac_sha256(key, &[&1u32.to_be_bytes(), label, &[0], context, &bits].concat());
    block[..len].to_vec()
}

impl Cipher {
    pub(crate) fn key_len(self) -> usize {
        match self {
            Cipher::Aes128Ccm | Cipher::Aes128Gcm => 16,
            Cipher::Aes256Ccm | Cipher::Aes256Gcm => 32,
        }
    }
}

impl Dialect {
    /// What signs before 3.1.1, and at 3.1.1 if the client sent no signing context.
    pub(crate) fn default_signing(self) -> Signing {
        match self {
            Dialect::V202 | Dialect::V210 => Signing::HmacSha256,
            Dialect::V300 | Dialect::V302 | Dialect::V311 => Signing::AesCmac,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().map(|c| (c as char).to_digit(16).unwrap() as u8).collect();
        digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
    }

    #[test]
    fn keys_of_a_session_at_3_0_are_those_of_a_published_capture() {
        let session_key = hex("9a9ea16a0cdbeb6064772318073f172f").try_into().unwrap();
        let keys = keys(Dialect::V300, Some(Cipher::Aes128Ccm), &session_key, &[0; 64]);
        assert_eq!(keys.c2s, hex("bff985870e81784d533fdc09497b8eab"));
        assert_eq!(keys.s2c, hex("8be6cc53d4beba29387e69aef035d497"));
    }

    #[test]
    fn keys_at_3_1_1_depend_on_the_hash_and_have_the_ciphers_length() {
        let one = keys(Dialect::V311, Some(Cipher::Aes256Gcm), &[1; 16], &[1; 64]);
        let two = keys(Dialect::V311, Some(Cipher::Aes256Gcm), &[1; 16], &[2; 64]);
        assert_eq!((one.c2s.len(), one.s2c.len()), (32, 32));
        assert_ne!(one.signing, two.signing);
        assert_ne!(one.c2s, one.s2c);
    }
}
