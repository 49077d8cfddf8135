//! What the commands must know of a protocol beyond the engine's operations.

use super::failure::Cause;
use super::links;
use super::stats::Stats;
use super::target::{Place, Target, Who};
use super::url::Wire;
use pagewire::nfs::{Nfs3, Nfs4, nfs4};
use pagewire::protocol::Protocol;
use pagewire::smb::seal::Cipher;
use pagewire::smb::sign::SigningAlgorithm;
use pagewire::smb::{Dialect, Smb};
use pagewire::{Counters, Error, Refusal};

/// A protocol that the commands speak.
pub trait Spoken: Protocol {
    const WIRE: Wire;

    /// Whether symbolic links are left to the client.
    const LINKS: bool;

    /// Whether files can be asked for.
    fn connected(&self) -> bool;

    /// Whether the server has let this client in, as far as it can: where nobody is asked for a password, it has said anything.
    fn admitted(&self, counters: &Counters) -> bool {
        counters.bytes_received > 0
    }

    /// Whether `path` can be asked for over this connection, once that is there.
    fn covers(&self, path: &str) -> bool;

    /// What was mounted, where there is such a thing.
    fn mounted(&self) -> &str;

    /// Whether the server has said what only a server of this protocol says.
    fn negotiated(&self) -> bool;

    /// Whether the server was asked as nobody in particular.
    fn as_nobody(&self, _: &Target) -> bool {
        false
    }

    /// What a user of the target calls it.
    fn explain(cause: Cause, _: &Target) -> Cause {
        cause
    }

    /// Where the server says that something is which it does not have, if the last `frame` says so.
    fn moved(_frame: &[u8]) -> Option<String> {
        None
    }

    /// What was negotiated, in words.
    fn describe(&self) -> String;

    /// What was negotiated, for programs.
    fn account(&self, stats: &mut Stats);
}

/// What the engine calls it when a named user would be a guest.
const NAMED_AS_GUEST: &str = "SMB2_SESSION_FLAG_IS_GUEST";

impl Spoken for Smb<'_> {
    const WIRE: Wire = Wire::Smb;
    const LINKS: bool = false;

    fn connected(&self) -> bool {
        self.is_connected()
    }

    fn admitted(&self, _: &Counters) -> bool {
        self.is_admitted()
    }

    fn covers(&self, _: &str) -> bool {
        true
    }

    fn mounted(&self) -> &str {
        ""
    }

    fn negotiated(&self) -> bool {
        self.dialect().is_some()
    }

    fn as_nobody(&self, target: &Target) -> bool {
        named(target).is_none() || self.is_guest()
    }

    fn explain(cause: Cause, target: &Target) -> Cause {
        match (cause, named(target)) {
            (Cause::Engine(Error::Refused(Refusal { name: NAMED_AS_GUEST, .. })), Some(user)) => {
                Cause::OnlyAsGuest(user.to_owned())
            }
            (cause, _) => cause,
        }
    }

    fn describe(&self) -> String {
        let dialect = self.dialect().map_or("", Dialect::name);
        let guest = if self.is_guest() { ", as a guest" } else { "" };
        let protection = match (self.sealing(), self.signing()) {
            (Some(cipher), _) => format!("sealed with {}", cipher_name(cipher)),
            (None, Some(signing)) => format!("signed with {}", signing_name(signing)),
            (None, None) => "neither signed nor sealed".to_owned(),
        };
        format!("SMB {dialect}, {protection}{guest}")
    }

    fn account(&self, stats: &mut Stats) {
        stats.protocol = Some("smb");
        stats.dialect = self.dialect().map(Dialect::name);
        stats.signing = self.signing().map(signing_name);
        stats.cipher = self.sealing().map(cipher_name);
        stats.guest = self.is_guest();
    }
}

impl Spoken for Nfs3<'_> {
    const WIRE: Wire = Wire::Nfs;
    const LINKS: bool = true;

    fn connected(&self) -> bool {
        self.negotiated()
    }

    fn covers(&self, path: &str) -> bool {
        Nfs3::mounted(self).is_none_or(|mounted| links::is_below(path, mounted))
    }

    fn mounted(&self) -> &str {
        Nfs3::mounted(self).filter(|mounted| !mounted.is_empty()).unwrap_or("/")
    }

    fn negotiated(&self) -> bool {
        Nfs3::mounted(self).is_some()
    }

    fn describe(&self) -> String {
        format!("NFS 3, mounted {}", super::safe::text(Spoken::mounted(self)))
    }

    fn account(&self, stats: &mut Stats) {
        stats.protocol = Some("nfs");
        stats.dialect = self.negotiated().then_some("3");
        (stats.signing, stats.cipher, stats.guest) = (None, None, false);
    }
}

impl Spoken for Nfs4<'_> {
    const WIRE: Wire = Wire::Nfs;
    const LINKS: bool = true;

    fn connected(&self) -> bool {
        self.negotiated()
    }

    /// Nothing is mounted: every path starts at the server's root.
    fn covers(&self, _: &str) -> bool {
        true
    }

    fn mounted(&self) -> &str {
        "/"
    }

    fn negotiated(&self) -> bool {
        self.minor().is_some()
    }

    fn describe(&self) -> String {
        format!("NFS {}", self.minor().map_or("4", nfs4_name))
    }

    fn moved(frame: &[u8]) -> Option<String> {
        let place = nfs4::locations(frame)?.locations().next()?;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let names: Vec<String> = place.rootpath.iter().map(text).collect();
        Some(format!("{}:/{}", place.server.iter().next().map(text)?, names.join("/")))
    }

    fn account(&self, stats: &mut Stats) {
        stats.protocol = Some("nfs");
        stats.dialect = self.minor().map(nfs4_name);
        (stats.signing, stats.cipher, stats.guest) = (None, None, false);
    }
}

fn nfs4_name(minor: u32) -> &'static str {
    match minor {
        0 => "4.0",
        1 => "4.1",
        _ => "4.2",
    }
}

/// The user that was named.
fn named(target: &Target) -> Option<&str> {
    match &target.place {
        Place::Smb(share) => match &share.who {
            Who::Named { user, .. } => Some(user),
            Who::Guest | Who::Anonymous => None,
        },
        Place::Nfs(_) => None,
    }
}

fn signing_name(algorithm: SigningAlgorithm) -> &'static str {
    match algorithm {
        SigningAlgorithm::HmacSha256 => "HMAC-SHA256",
        SigningAlgorithm::AesCmac => "AES-128-CMAC",
        SigningAlgorithm::AesGmac => "AES-128-GMAC",
    }
}

fn cipher_name(cipher: Cipher) -> &'static str {
    match cipher {
        Cipher::Aes128Ccm => "AES-128-CCM",
        Cipher::Aes128Gcm => "AES-128-GCM",
        Cipher::Aes256Ccm => "AES-256-CCM",
        Cipher::Aes256Gcm => "AES-256-GCM",
    }
}
