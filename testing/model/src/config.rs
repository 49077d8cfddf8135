//! What the model offers and demands.

use crate::{Lie, Tree};

/// A dialect revision as it stands on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum Dialect {
    /// SMB 2.0.2
    V202 = 0x0202,
    /// SMB 2.1
    V210 = 0x0210,
    /// SMB 3.0
    V300 = 0x0300,
    /// SMB 3.0.2
    V302 = 0x0302,
    /// SMB 3.1.1
    V311 = 0x0311,
}

impl Dialect {
    /// Every dialect, lowest first.
    pub const ALL: [Dialect; 5] = [Dialect::V202, Dialect::V210, Dialect::V300, Dialect::V302, Dialect::V311];

    /// Every dialect up to and including this one.
    pub fn and_below(self) -> Vec<Dialect> {
        Self::ALL.into_iter().filter(|&d| d <= self).collect()
    }
}

/// A cipher of the encryption capabilities context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Cipher {
    /// AES-128-CCM, the only one of 3.0 and 3.0.2
    Aes128Ccm = 1,
    /// AES-128-GCM
    Aes128Gcm = 2,
    /// AES-256-CCM
    Aes256Ccm = 3,
    /// AES-256-GCM
    Aes256Gcm = 4,
}

/// An algorithm of the signing capabilities context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Signing {
    /// HMAC-SHA256, the only one of 2.0.2 and 2.1
    HmacSha256 = 0,
    /// AES-CMAC, the only one of 3.0 and 3.0.2
    AesCmac = 1,
    /// AES-GMAC
    AesGmac = 2,
}

/// Whether messages are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sealing {
    /// Not offered.
    Off,
    /// Offered: a client may.
    Offered,
    /// Every session is encrypted (`SESSION_FLAG_ENCRYPT_DATA`); a client that cannot is refused.
    Session,
    /// The share is encrypted (`SHAREFLAG_ENCRYPT_DATA`); plain requests on it are refused.
    Share,
}

/// Everything the model's behaviour depends on, besides its input.
#[derive(Clone, Debug)]
pub struct Config {
    /// The dialects it speaks; the highest that the client offers too is chosen.
    pub dialects: Vec<Dialect>,
    /// The one account.
    pub user: String,
    /// Its password.
    pub password: String,
    /// NetBIOS name of the server, also its domain.
    pub server_name: String,
    /// Unknown users become guest (no keys) instead of `LOGON_FAILURE`.
    pub guest: bool,
    /// Anonymous sessions (no keys) are let in.
    pub anonymous: bool,
    /// Unsigned requests on a session with keys are refused.
    pub signing_required: bool,
    /// Encryption of messages.
    pub sealing: Sealing,
    /// Ciphers at 3.1.1 in the server's order of preference; 3.0 and 3.0.2 need [`Cipher::Aes128Ccm`] in it.
    pub ciphers: Vec<Cipher>,
    /// Signing algorithms at 3.1.1 in the server's order of preference.
    pub signing: Vec<Signing>,
    /// MaxReadSize; 2.0.2 never gets more than 64 KiB.
    pub max_read_size: u32,
    /// MaxTransactSize and MaxWriteSize; 2.0.2 never gets more than 64 KiB.
    pub max_transact_size: u32,
    /// The most credits a client may hold.
    pub credits_max: u16,
    /// Name of the one share.
    pub share: String,
    /// What is in it.
    pub tree: Tree,
    /// The server's clock, which stands still (FILETIME).
    pub now: u64,
    /// All entropy: server GUID, challenge, salt, ids.
    pub seed: [u8; 32],
    /// Leases are granted, to read and to keep the handle.
    pub leases: bool,
    /// How it misbehaves; empty for a server that is right.
    pub lies: Vec<Lie>,
}

impl Default for Config {
    /// Every dialect, cipher and algorithm; user `lab` with `lab-password`; an empty share `data`; no lies.
    fn default() -> Self {
        Config {
            dialects: Dialect::ALL.to_vec(),
            user: "lab".into(),
            password: "lab-password".into(),
            server_name: "MODEL".into(),
            guest: false,
            anonymous: false,
            signing_required: false,
            sealing: Sealing::Offered,
            ciphers: vec![Cipher::Aes128Gcm, Cipher::Aes128Ccm, Cipher::Aes256Gcm, Cipher::Aes256Ccm],
            signing: vec![Signing::AesGmac, Signing::AesCmac, Signing::HmacSha256],
            max_read_size: 1 << 20,
            max_transact_size: 1 << 20,
            credits_max: 512,
            share: "data".into(),
            tree: Tree::new(),
            now: crate::tree::DEFAULT_TIME,
            seed: [0x5A; 32],
            leases: false,
            lies: Vec::new(),
        }
    }
}
