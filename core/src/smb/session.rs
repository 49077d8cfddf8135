//! What a connection knows: dialect, limits, credits, keys.

use super::kdf::SessionKeys;
use super::negotiate::{self, Dialect};
use super::preauth::Preauth;
use super::seal::{Cipher, Sealer};
use super::sign::{Signer, SigningAlgorithm};
use crate::error::Error;
use crate::plan::Limits;

/// MS-SMB2 3.1.5.2: one credit pays for 64 KiB in either direction.
pub(super) const CREDIT_LEN: u32 = 65_536;

/// How many credits we ask to have in all: 32 MiB in flight, more than anybody lends pages for here.
const CREDITS_WANTED: u32 = 512;

/// How far a connection has come. It stands here and not in an operation, so that one that is dropped on the way leaves
/// the next one able to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing is sent.
    New,
    /// NEGOTIATE is sent.
    Asked,
    /// NTLM's NEGOTIATE_MESSAGE is sent.
    Greeted,
    /// NTLM's AUTHENTICATE_MESSAGE is sent.
    Authenticated,
    /// There is a session, and no share yet.
    Admitted,
    /// TREE_CONNECT is sent, and maybe what an operation wants behind it.
    Entering,
    /// VALIDATE_NEGOTIATE_INFO is sent.
    Proving,
    /// Files can be asked for.
    Ready,
    /// It will come no further.
    Refused(Error),
}

/// The state of a connection, its session and its tree.
#[derive(Debug)]
pub(super) struct Session {
    pub dialect: Option<Dialect>,
    pub server_guid: [u8; 16],
    pub security_mode: u16,
    pub capabilities: u32,
    pub read_len_max: u32,
    pub transact_len_max: u32,
    /// The next message id, and what may be spent.
    pub message_id: u64,
    pub credits: u32,
    /// Charged for requests whose replies have not come.
    pub charged: u32,
    pub session_id: u64,
    pub tree_id: u32,
    pub preauth: Preauth,
    pub standing: Standing,
    /// The server is known to take no TREE_CONNECT with other requests behind it.
    pub enters_alone: bool,
    /// The server is known to take no request that uses the handle of a CREATE in front of it.
    pub opens_alone: bool,
    pub guest: bool,
    pub signing_algorithm: SigningAlgorithm,
    pub signer: Option<Signer>,
    /// Every message is signed.
    pub signs: bool,
    pub cipher: Option<Cipher>,
    pub sealer: Option<Sealer>,
    pub opener: Option<Sealer>,
    /// Every message is sealed.
    pub seals: bool,
    pub nonce: u64,
}

impl Default for Session {
    fn default() -> Self {
        Session {
            dialect: None,
            server_guid: [0; 16],
            security_mode: 0,
            capabilities: 0,
            read_len_max: 0,
            transact_len_max: 0,
            message_id: 0,
            // MS-SMB2 3.2.4.1.6: a connection starts with one.
            credits: 1,
            charged: 0,
            session_id: 0,
            tree_id: 0,
            preauth: Preauth::new(),
            standing: Standing::New,
            enters_alone: false,
            opens_alone: false,
            guest: false,
            signing_algorithm: SigningAlgorithm::HmacSha256,
            signer: None,
            signs: false,
            cipher: None,
            sealer: None,
            opener: None,
            seals: false,
            nonce: 0,
        }
    }
}

impl Session {
    /// Whether a message may cost more than one credit (MS-SMB2 3.2.4.1.5).
    pub fn large_mtu(&self) -> bool {
        self.dialect > Some(Dialect::Smb202) && self.capabilities & negotiate::CAP_LARGE_MTU != 0
    }

    /// What a message with `len` bytes of payload, in the direction that has more, costs.
    pub fn charge(&self, len: u32) -> u16 {
        let charge = len.div_ceil(CREDIT_LEN).max(1);
        u16::try_from(charge).unwrap_or(u16::MAX)
    }

    /// Whether there is a session: from here on every reply is one of it.
    pub fn is_admitted(&self) -> bool {
        matches!(self.standing, Standing::Admitted | Standing::Entering | Standing::Proving | Standing::Ready)
    }

    /// Linux ksmbd is a server whose GUID is all zero.
    pub fn is_ksmbd(&self) -> bool {
        self.server_guid == [0; 16]
    }

    /// How many credits to ask for in a request that costs `charge`: as many as it takes, and what is missing.
    pub fn credits_to_ask(&self, charge: u16) -> u16 {
        let missing = CREDITS_WANTED.saturating_sub(self.credits.saturating_add(self.charged));
        u16::try_from(missing).unwrap_or(u16::MAX).max(charge)
    }

    /// A request that costs `charge` is sent.
    pub fn spend(&mut self, charge: u32) {
        self.credits = self.credits.saturating_sub(charge);
        self.charged = self.charged.saturating_add(charge);
        self.message_id = self.message_id.saturating_add(u64::from(charge));
    }

    pub fn limits(&self) -> Limits {
        let bytes = |credits: u32| u64::from(credits).saturating_mul(CREDIT_LEN.into());
        let read_len_max =
            if self.large_mtu() { self.read_len_max } else { self.read_len_max.min(CREDIT_LEN) };
        Limits {
            read_len_max,
            allowance: bytes(self.credits),
            allowance_total: bytes(self.credits.saturating_add(self.charged)),
        }
    }

    /// Derives the keys once the session key is known; the dialect says how.
    pub fn derive(&mut self, session_key: &[u8; 16]) {
        let keys = match self.dialect {
            Some(Dialect::Smb311) => SessionKeys::smb311(session_key, self.preauth.value(), self.cipher),
            Some(Dialect::Smb300 | Dialect::Smb302) => SessionKeys::smb30(session_key),
            _ => SessionKeys::smb2(session_key),
        };
        self.signer = Some(Signer::new(self.signing_algorithm, keys.signing()));
        if let Some(cipher) = self.cipher {
            self.sealer = Sealer::new(cipher, keys.encryption()).ok();
            self.opener = Sealer::new(cipher, keys.decryption()).ok();
        }
    }

    /// A guest or nobody has no keys (MS-SMB2 3.2.5.3.1).
    pub fn forget_keys(&mut self) {
        self.signer = None;
        self.sealer = None;
        self.opener = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credit_pays_for_64_kib_and_every_message_costs_one() {
        let session = Session::default();
        for (len, charge) in [(0, 1), (1, 1), (65_536, 1), (65_537, 2), (8 << 20, 128)] {
            assert_eq!(session.charge(len), charge);
        }
    }

    #[test]
    fn credits_are_asked_for_until_there_are_enough() {
        let mut session = Session::default();
        assert_eq!(session.credits_to_ask(1), 511);
        session.credits = 512;
        assert_eq!(session.credits_to_ask(16), 16);
        session.spend(16);
        assert_eq!((session.credits, session.charged, session.message_id), (496, 16, 16));
        assert_eq!(session.credits_to_ask(1), 1);
    }

    #[test]
    fn reads_are_no_longer_than_a_credit_where_the_server_has_no_large_mtu() {
        let session = Session {
            dialect: Some(Dialect::Smb210),
            read_len_max: 1 << 20,
            credits: 3,
            charged: 2,
            ..Session::default()
        };
        let limits = session.limits();
        assert_eq!(
            (limits.read_len_max, limits.allowance, limits.allowance_total),
            (65_536, 196_608, 327_680)
        );
    }
}
