//! Key derivation (MS-SMB2 3.1.4.2): SP800-108 in counter mode with HMAC-SHA256 and r = 32.

use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::{Zeroize, Zeroizing};

use super::seal::Cipher;

/// HMAC-SHA256 keyed with `key`. A key that is zero-padded to the block is the same key (RFC 2104 section 2).
pub(super) fn hmac_sha256(key: &[u8; 16]) -> Hmac<Sha256> {
    let mut block = Zeroizing::new([0u8; 64]);
    block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    Hmac::new((&*block).into())
}

/// One round of SP800-108 5.1, which is all that SMB needs: K(1), of which `N` bytes are taken.
///
/// The fixed input is Label, a zero byte, Context and L, the length in bits.
#[expect(clippy::arithmetic_side_effects, reason = "a key has 32 bytes at most")]
fn derive<const N: usize>(key: &[u8; 16], label: &[u8], context: &[u8]) -> [u8; N] {
    const { assert!(N <= 32) };
    let mut mac = hmac_sha256(key);
    mac.update(&1u32.to_be_bytes());
    mac.update(label);
    mac.update(&[0]);
    mac.update(context);
    mac.update(&(N as u32 * 8).to_be_bytes());
    let block = Zeroizing::new(<[u8; 32]>::from(mac.finalize().into_bytes()));
    let mut derived = [0; N];
    derived.iter_mut().zip(block.iter()).for_each(|(to, from)| *to = *from);
    derived
}

/// The keys of one session. Zeroized on drop, never printed.
///
/// Both cipher keys are empty where the session cannot be sealed.
pub struct SessionKeys {
    signing: [u8; 16],
    encryption: [u8; 32],
    decryption: [u8; 32],
    cipher_key_len: usize,
}

impl SessionKeys {
    /// 2.0.2 and 2.1: the session key signs, nothing is sealed.
    pub const fn smb2(session_key: &[u8; 16]) -> Self {
        SessionKeys { signing: *session_key, encryption: [0; 32], decryption: [0; 32], cipher_key_len: 0 }
    }

    /// 3.0 and 3.0.2: AES-CMAC and AES-128-CCM.
    pub fn smb30(session_key: &[u8; 16]) -> Self {
        let cipher = |context| derive::<16>(session_key, b"SMB2AESCCM\0", context);
        let mut keys = Self::smb2(session_key);
        keys.signing = derive(session_key, b"SMB2AESCMAC\0", b"SmbSign\0");
        keys.set_cipher_keys(cipher(b"ServerIn \0"), cipher(b"ServerOut\0"));
        keys
    }

    /// 3.1.1, from the session's pre-authentication hash and the cipher that was agreed, if any.
    ///
    /// NTLM has 16-byte session keys only, so Session.FullSessionKey, from which 256-bit ciphers derive, is the
    /// same key.
    pub fn smb311(session_key: &[u8; 16], preauth: &[u8; 64], cipher: Option<Cipher>) -> Self {
        let (c2s, s2c) = (b"SMBC2SCipherKey\0", b"SMBS2CCipherKey\0");
        let mut keys = Self::smb2(session_key);
        keys.signing = derive(session_key, b"SMBSigningKey\0", preauth);
        match cipher.map(Cipher::key_len) {
            None => (),
            Some(16) => keys
                .set_cipher_keys::<16>(derive(session_key, c2s, preauth), derive(session_key, s2c, preauth)),
            Some(_) => keys
                .set_cipher_keys::<32>(derive(session_key, c2s, preauth), derive(session_key, s2c, preauth)),
        }
        keys
    }

    fn set_cipher_keys<const N: usize>(&mut self, mut encryption: [u8; N], mut decryption: [u8; N]) {
        self.encryption.iter_mut().zip(&encryption).for_each(|(to, from)| *to = *from);
        self.decryption.iter_mut().zip(&decryption).for_each(|(to, from)| *to = *from);
        self.cipher_key_len = N;
        encryption.zeroize();
        decryption.zeroize();
    }

    /// Session.SigningKey.
    pub const fn signing(&self) -> &[u8; 16] {
        &self.signing
    }

    /// Session.EncryptionKey: what the client seals with. Empty, 16 or 32 bytes.
    pub fn encryption(&self) -> &[u8] {
        self.encryption.get(..self.cipher_key_len).unwrap_or(&[])
    }

    /// Session.DecryptionKey: what the server sealed with. Empty, 16 or 32 bytes.
    pub fn decryption(&self) -> &[u8] {
        self.decryption.get(..self.cipher_key_len).unwrap_or(&[])
    }
}

impl Drop for SessionKeys {
    fn drop(&mut self) {
        self.signing.zeroize();
        self.encryption.zeroize();
        self.decryption.zeroize();
    }
}

impl fmt::Debug for SessionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionKeys").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
    }

    /// Test case 1 of RFC 4231 has a key of 20 bytes; ours have 16, so this is its test case 2 with zeros.
    #[test]
    fn a_short_key_padded_with_zeros_is_the_same_key() {
        let mut key = [0; 16];
        key[..4].copy_from_slice(b"Jefe");
        let mac = hmac_sha256(&key).chain_update(b"what do ya want for nothing?").finalize().into_bytes();
        assert_eq!(mac[..], hex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"));
    }

    /// The session of `smb300-aes-128-ccm.pcap` (see `tests/captures.rs` for 3.1.1).
    #[test]
    fn keys_of_3_0_are_those_of_a_real_session() {
        let session_key = hex("9a9ea16a0cdbeb6064772318073f172f").try_into().unwrap();
        let keys = SessionKeys::smb30(&session_key);
        assert_eq!(keys.encryption(), hex("bff985870e81784d533fdc09497b8eab"));
        assert_eq!(keys.decryption(), hex("8be6cc53d4beba29387e69aef035d497"));
    }

    #[test]
    fn sessions_that_cannot_be_sealed_have_no_cipher_keys() {
        let keys = SessionKeys::smb2(&[5; 16]);
        assert_eq!((keys.signing(), keys.encryption(), keys.decryption()), (&[5; 16], &[][..], &[][..]));
        let keys = SessionKeys::smb311(&[5; 16], &[0; 64], None);
        assert_ne!(keys.signing(), &[5; 16]);
        assert_eq!((keys.encryption(), keys.decryption()), (&[][..], &[][..]));
    }

    #[test]
    fn the_length_of_a_key_changes_all_of_it() {
        let short = SessionKeys::smb311(&[5; 16], &[9; 64], Some(Cipher::Aes128Gcm));
        let long = SessionKeys::smb311(&[5; 16], &[9; 64], Some(Cipher::Aes256Gcm));
        assert_eq!((short.encryption().len(), long.encryption().len()), (16, 32));
        assert_ne!(short.encryption(), &long.encryption()[..16]);
        assert_eq!(short.signing(), long.signing());
    }

    #[test]
    fn keys_are_never_printed() {
        assert_eq!(std::format!("{:?}", SessionKeys::smb2(&[0xAB; 16])), "SessionKeys { .. }");
    }
}
