//! Sessions and what was negotiated before them.

use std::collections::BTreeSet;

use sha2::{Digest, Sha512};

use crate::kdf::Keys;
use crate::ntlm::Exchange;
use crate::seal::Sealer;
use crate::sign::Signer;
use crate::{Cipher, Dialect, Signing};

/// The pre-authentication integrity hash (MS-SMB2 3.1.4.4.1).
#[derive(Clone, Debug)]
pub(crate) struct Preauth(pub(crate) [u8; 64]);

impl Preauth {
    pub(crate) fn new() -> Self {
        Preauth([0; 64])
    }

    pub(crate) fn update(&mut self, message: &[u8]) {
        self.0 = Sha512::new().chain_update(self.0).chain_update(message).finalize().into();
    }
}

/// What client and server agreed on.
pub(crate) struct Negotiated {
    pub(crate) dialect: Dialect,
    pub(crate) cipher: Option<Cipher>,
    pub(crate) signing: Signing,
    pub(crate) preauth: Preauth,
    /// Capabilities of the server.
    pub(crate) capabilities: u32,
    /// What the client sent, as VALIDATE_NEGOTIATE_INFO repeats it: Capabilities, Guid, SecurityMode, dialects.
    pub(crate) client: Vec<u8>,
}

/// An authentication under way.
pub(crate) struct Authentication {
    pub(crate) exchange: Exchange,
    pub(crate) preauth: Preauth,
    /// SPNEGO's list of mechanisms; empty when the tokens are bare NTLM.
    pub(crate) mech_types: Vec<u8>,
}

#[derive(Default)]
pub(crate) struct Session {
    /// Authenticated at least once.
    pub(crate) valid: bool,
    /// Must authenticate again.
    pub(crate) expired: bool,
    pub(crate) signing_required: bool,
    /// Absent for guest and anonymous.
    pub(crate) keys: Option<Keys>,
    pub(crate) authentication: Option<Authentication>,
    pub(crate) trees: BTreeSet<u32>,
}

impl Session {
    pub(crate) fn signer(&self, negotiated: &Negotiated) -> Option<Signer> {
        let keys = self.keys.as_ref()?;
        Some(Signer { algorithm: negotiated.signing, key: keys.signing })
    }

    /// What opens the client's messages.
    pub(crate) fn c2s(&self, id: u64, negotiated: &Negotiated) -> Option<Sealer> {
        let key = self.keys.as_ref()?.c2s.clone();
        Some(Sealer { cipher: negotiated.cipher?, key, session_id: id })
    }

    /// What seals the server's.
    pub(crate) fn s2c(&self, id: u64, negotiated: &Negotiated) -> Option<Sealer> {
        let key = self.keys.as_ref()?.s2c.clone();
        Some(Sealer { cipher: negotiated.cipher?, key, session_id: id })
    }
}
