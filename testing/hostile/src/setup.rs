//! As whom and how protected a client connects.

use pagewire::smb::negotiate::{
    AES_128_CCM, AES_128_GCM, AES_256_CCM, AES_256_GCM, AES_CMAC, AES_GMAC, HMAC_SHA256,
};
use pagewire::smb::{Config, Dialect, Dialects, Entropy, Identity, Policy};

/// The account of the model and of the private servers.
const USER: Identity<'static> = Identity::Named { domain: "", user: "lab", password: "lab-password" };

/// How to connect, all of it fixed: the same setup sends the same bytes.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The dialects that are offered.
    pub dialects: Dialects,
    /// As whom.
    pub identity: Identity<'static>,
    /// The share.
    pub share: &'static str,
    /// The ciphers that are offered at 3.1.1.
    pub ciphers: &'static [u16],
    /// The signing algorithms that are offered at 3.1.1.
    pub signing_algorithms: &'static [u16],
    /// Signed always.
    pub sign: Policy,
    /// Sealed always.
    pub seal: Policy,
}

impl Setup {
    /// Neither signed nor sealed.
    pub const PLAIN: [Setup; 2] = [Setup::guest(Dialect::Smb202), Setup::guest(Dialect::Smb311)];

    /// HMAC-SHA256, AES-CMAC and AES-GMAC.
    pub const SIGNED: [Setup; 3] = [
        Setup::signed(Dialect::Smb210, &[HMAC_SHA256]),
        Setup::signed(Dialect::Smb300, &[AES_CMAC]),
        Setup::signed(Dialect::Smb311, &[AES_GMAC]),
    ];

    /// Every cipher; AES-128-CCM as 3.0 has it.
    pub const SEALED: [Setup; 4] = [
        Setup::sealed(Dialect::Smb300, &[AES_128_CCM]),
        Setup::sealed(Dialect::Smb311, &[AES_128_GCM]),
        Setup::sealed(Dialect::Smb311, &[AES_256_GCM]),
        Setup::sealed(Dialect::Smb311, &[AES_256_CCM]),
    ];

    /// All of them.
    pub fn every() -> impl Iterator<Item = Setup> {
        Setup::PLAIN.into_iter().chain(Setup::SIGNED).chain(Setup::SEALED)
    }

    /// The user at any dialect, with everything offered and nothing demanded.
    pub const fn user() -> Setup {
        Setup {
            dialects: Dialects::ALL,
            identity: USER,
            share: "data",
            ciphers: &[AES_128_GCM, AES_256_GCM, AES_128_CCM, AES_256_CCM],
            signing_algorithms: &[AES_GMAC, AES_CMAC, HMAC_SHA256],
            sign: Policy::IfNeeded,
            seal: Policy::IfNeeded,
        }
    }

    /// A guest, who has no keys.
    pub const fn guest(dialect: Dialect) -> Setup {
        Setup { identity: Identity::Guest, dialects: Dialects::only(dialect), ..Setup::user() }
    }

    /// The user, with every message signed.
    pub const fn signed(dialect: Dialect, signing_algorithms: &'static [u16]) -> Setup {
        let dialects = Dialects::only(dialect);
        Setup { dialects, signing_algorithms, sign: Policy::Always, ..Setup::user() }
    }

    /// The user, with every message sealed.
    pub const fn sealed(dialect: Dialect, ciphers: &'static [u16]) -> Setup {
        Setup { dialects: Dialects::only(dialect), ciphers, seal: Policy::Always, ..Setup::user() }
    }

    /// Whether the user is nobody in particular.
    pub const fn is_guest(&self) -> bool {
        matches!(self.identity, Identity::Guest)
    }

    /// Whether what is not the server's is told apart from what is.
    pub const fn is_protected(&self) -> bool {
        matches!(self.sign, Policy::Always) || matches!(self.seal, Policy::Always)
    }

    /// What the engine is told.
    pub fn config(&self) -> Config<'static> {
        // Fixed "entropy" is right here and nowhere else.
        let entropy = [0x17; Entropy::LEN];
        Config {
            dialects: self.dialects,
            ciphers: self.ciphers,
            signing_algorithms: self.signing_algorithms,
            sign: self.sign,
            seal: self.seal,
            filetime: 133_486_382_450_000_000,
            ..Config::new("127.0.0.1", self.share, self.identity, Entropy::from_bytes(entropy))
        }
    }
}
