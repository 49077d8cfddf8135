//! NTLMv2 over three messages (MS-NLMP): what proves the password to the server and gives the session key.
//!
//! NTLMv1 and LM are not here. The integrity code (MIC) goes out whenever the server is new enough to check it.

use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use md4::{Digest, Md4};
use md5::Md5;
use rc4::{Rc4, StreamCipher};
use zeroize::{Zeroize, Zeroizing};

use super::uppercase::uppercase;
use crate::error::Error;
use crate::wire::{Mark, Reader, Writer, slice};

/// How many AV pairs a challenge may have. MS-NLMP 2.2.2.1 defines 11 kinds, each of use once.
pub const AV_PAIRS_MAX: usize = 32;
/// How many random bytes [`authenticate`] needs: 8 of client challenge, 16 of exported session key.
pub const ENTROPY_LEN: usize = 24;
/// What every NTLMSSP message begins with.
pub const SIGNATURE: [u8; 8] = *b"NTLMSSP\0";

/// NegotiateFlags (MS-NLMP 2.2.2.5).
mod flags {
    pub const UNICODE: u32 = 0x0000_0001;
    pub const REQUEST_TARGET: u32 = 0x0000_0004;
    pub const SIGN: u32 = 0x0000_0010;
    pub const NTLM: u32 = 0x0000_0200;
    pub const ANONYMOUS: u32 = 0x0000_0800;
    pub const ALWAYS_SIGN: u32 = 0x0000_8000;
    pub const EXTENDED_SESSIONSECURITY: u32 = 0x0008_0000;
    pub const TARGET_INFO: u32 = 0x0080_0000;
    pub const VERSION: u32 = 0x0200_0000;
    pub const KEY_128: u32 = 0x2000_0000;
    pub const KEY_EXCH: u32 = 0x4000_0000;
    pub const KEY_56: u32 = 0x8000_0000;

    /// What we ask for.
    pub const WANTED: u32 = UNICODE
        | REQUEST_TARGET
        | SIGN
        | NTLM
        | ALWAYS_SIGN
        | EXTENDED_SESSIONSECURITY
        | TARGET_INFO
        | VERSION
        | KEY_128
        | KEY_EXCH
        | KEY_56;
}

/// AvId (MS-NLMP 2.2.2.1), those that mean something to a client.
mod av {
    pub const EOL: u16 = 0;
    pub const FLAGS: u16 = 6;
    pub const TIMESTAMP: u16 = 7;
    pub const TARGET_NAME: u16 = 9;
    pub const CHANNEL_BINDINGS: u16 = 10;

    /// MsvAvFlags: the message has a MIC.
    pub const FLAG_MIC: u32 = 2;
}

/// VERSION (MS-NLMP 2.2.2.10): 6.1 with NTLMSSP_REVISION_W2K3, which is what Samba says too. For debugging only.
const VERSION: [u8; 8] = [6, 1, 0, 0, 0, 0, 0, 0x0F];
/// The length of what [`negotiate`] writes.
pub const NEGOTIATE_LEN: usize = 40;
/// NEGOTIATE_MESSAGE (MS-NLMP 2.2.1.1): the same every time, since it names neither domain nor workstation.
const NEGOTIATE: [u8; NEGOTIATE_LEN] =
    *b"NTLMSSP\0\x01\0\0\0\x15\x82\x88\xE2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x06\x01\0\0\0\0\0\x0F";

/// Who asks.
#[derive(Clone, Copy)]
pub enum Identity<'a> {
    /// An account. An empty domain leaves it to the server, which is what local accounts want.
    Named {
        /// The domain, or "".
        domain: &'a str,
        /// The name of the account, in any case.
        user: &'a str,
        /// Its password.
        password: &'a str,
    },
    /// The account `guest` with no password. The session has no key that could sign.
    Guest,
    /// Nobody (a null session). The session has no key that could sign.
    Anonymous,
}

impl<'a> Identity<'a> {
    const fn parts(&self) -> (&'a str, &'a str, &'a str) {
        match *self {
            Identity::Named { domain, user, password } => (domain, user, password),
            Identity::Guest => ("", "guest", ""),
            Identity::Anonymous => ("", "", ""),
        }
    }
}

impl fmt::Debug for Identity<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Identity::Named { .. } => f.debug_struct("Named").finish_non_exhaustive(),
            Identity::Guest => f.write_str("Guest"),
            Identity::Anonymous => f.write_str("Anonymous"),
        }
    }
}

/// ExportedSessionKey (MS-NLMP 3.1.5.1.2): Session.SessionKey of SMB. Zeroized on drop, never printed.
pub struct SessionKey {
    key: [u8; 16],
    /// NegotiateFlags as they went out.
    flags: u32,
    /// Whether the message has a MIC: then the envelope has one too.
    mic: bool,
}

impl SessionKey {
    /// Its bytes.
    pub const fn bytes(&self) -> &[u8; 16] {
        &self.key
    }

    /// A key to sign with in tests.
    #[cfg(test)]
    pub(super) const fn test(mic: bool) -> Self {
        SessionKey { key: [0x55; 16], flags: flags::WANTED, mic }
    }

    /// Where keys are exchanged, replaces the base key with a random one and gives EncryptedRandomSessionKey
    /// (MS-NLMP 3.1.5.1.2; with NTLMv2 the base key is the key exchange key, 3.4.5.1).
    fn exchange(&mut self, entropy: &[u8; ENTROPY_LEN]) -> Result<Option<[u8; 16]>, Error> {
        if self.flags & flags::KEY_EXCH == 0 {
            return Ok(None);
        }
        let mut stream = Rc4::new_from_slice(&self.key).map_err(|_| Error::Invalid("a key of RC4"))?;
        self.key.copy_from_slice(&entropy[8..]);
        let mut encrypted = self.key;
        stream.apply_keystream(&mut encrypted);
        Ok(Some(encrypted))
    }

    /// NTLMSSP_MESSAGE_SIGNATURE of the client's first message (MS-NLMP 3.4.4.2): the mechListMIC of SPNEGO.
    ///
    /// `None` where [`authenticate`] gave no MIC, since such a server asks for none here either.
    pub(super) fn sign(&self, message: &[u8]) -> Option<[u8; 16]> {
        if !self.mic {
            return None;
        }
        let mac = hmac_md5(&self.derived(16, b"signing"), &[&[0; 4], message]);
        let mut checksum = [0; 8];
        checksum.copy_from_slice(&mac[..8]);
        if self.flags & flags::KEY_EXCH != 0 {
            // SEALKEY (3.4.5.3).
            let strength = match self.flags {
                flags if flags & flags::KEY_128 != 0 => 16,
                flags if flags & flags::KEY_56 != 0 => 7,
                _ => 5,
            };
            Rc4::new_from_slice(&*self.derived(strength, b"sealing")).ok()?.apply_keystream(&mut checksum);
        }
        // Version, Checksum, SeqNum.
        let mut signature = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        signature[4..12].copy_from_slice(&checksum);
        Some(signature)
    }

    /// SIGNKEY and SEALKEY of the client (MS-NLMP 3.4.5.2, 3.4.5.3) from `strength` bytes of the key.
    fn derived(&self, strength: usize, purpose: &[u8; 7]) -> Zeroizing<[u8; 16]> {
        let hash = Md5::new()
            .chain_update(self.key.get(..strength).unwrap_or(&self.key))
            .chain_update(b"session key to client-to-server ")
            .chain_update(purpose)
            .chain_update(b" key magic constant\0");
        Zeroizing::new(hash.finalize().into())
    }
}

impl Drop for SessionKey {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionKey").finish_non_exhaustive()
    }
}

/// Writes the NEGOTIATE_MESSAGE (MS-NLMP 2.2.1.1).
pub fn negotiate(w: &mut Writer<'_>) {
    w.put(&NEGOTIATE);
}

/// CHALLENGE_MESSAGE (MS-NLMP 2.2.1.2).
#[derive(Clone, Copy, Debug)]
pub struct Challenge<'a> {
    /// The whole message, which the MIC covers.
    message: &'a [u8],
    /// NegotiateFlags: what the server agreed to.
    pub flags: u32,
    /// ServerChallenge.
    pub server_challenge: [u8; 8],
    /// TargetInfo: AV pairs up to the end of MsvAvEOL.
    pub target_info: &'a [u8],
    /// MsvAvTimestamp as FILETIME. A server that sends one checks the MIC.
    pub timestamp: Option<u64>,
}

impl<'a> Challenge<'a> {
    /// From the wire.
    ///
    /// `Malformed` if a field is missing or AV pairs do not end, `Incompatible` if the server does not do Unicode,
    /// NTLMv2 session security and target information.
    pub fn decode(message: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(message);
        if reader.array("CHALLENGE_MESSAGE.Signature")? != SIGNATURE {
            return Err(Error::Malformed("CHALLENGE_MESSAGE.Signature"));
        }
        if reader.le32("CHALLENGE_MESSAGE.MessageType")? != 2 {
            return Err(Error::Malformed("CHALLENGE_MESSAGE.MessageType"));
        }
        reader.skip(8, "CHALLENGE_MESSAGE.TargetNameFields")?;
        let flags = reader.le32("CHALLENGE_MESSAGE.NegotiateFlags")?;
        let server_challenge = reader.array("CHALLENGE_MESSAGE.ServerChallenge")?;
        const NEEDED: u32 = flags::UNICODE | flags::EXTENDED_SESSIONSECURITY | flags::TARGET_INFO;
        if flags & NEEDED != NEEDED {
            return Err(Error::Incompatible("the server does not do NTLMv2 with Unicode names"));
        }
        reader.skip(8, "CHALLENGE_MESSAGE.Reserved")?;
        let len = reader.le16("CHALLENGE_MESSAGE.TargetInfoLen")?;
        reader.skip(2, "CHALLENGE_MESSAGE.TargetInfoMaxLen")?;
        let offset = reader.le32("CHALLENGE_MESSAGE.TargetInfoBufferOffset")?;
        let field = "CHALLENGE_MESSAGE.TargetInfo";
        let offset = usize::try_from(offset).map_err(|_| Error::Malformed(field))?;
        let (target_info, timestamp) = target_info(slice(message, offset, len.into(), field)?)?;
        Ok(Challenge { message, flags, server_challenge, target_info, timestamp })
    }
}

/// The AV pairs up to and with MsvAvEOL, and the time among them.
fn target_info(bytes: &[u8]) -> Result<(&[u8], Option<u64>), Error> {
    let mut reader = Reader::new(bytes);
    let mut timestamp = None;
    for _ in 0..AV_PAIRS_MAX {
        let (id, value) = av_pair(&mut reader)?;
        match id {
            av::EOL => return Ok((slice(bytes, 0, reader.at(), "MsvAvEOL")?, timestamp)),
            av::TIMESTAMP => {
                let value = value.try_into().map_err(|_| Error::Malformed("MsvAvTimestamp"))?;
                timestamp = Some(u64::from_le_bytes(value));
            }
            _ => (),
        }
    }
    Err(Error::Malformed("more AV pairs than there are kinds"))
}

/// AV_PAIR (MS-NLMP 2.2.2.1).
fn av_pair<'a>(reader: &mut Reader<'a>) -> Result<(u16, &'a [u8]), Error> {
    let id = reader.le16("AV_PAIR.AvId")?;
    let len = reader.le16("AV_PAIR.AvLen")?;
    Ok((id, reader.take(len.into(), "AV_PAIR.Value")?))
}

/// Writes the AUTHENTICATE_MESSAGE (MS-NLMP 2.2.1.3, 3.1.5.1.2) and gives the session key.
///
/// - `host` becomes the target name `cifs/HOST`, by which a server may refuse what was meant for another.
/// - `entropy` is random and new for every call.
/// - `time` is FILETIME; the server's own time is used instead where it tells it.
///
/// The challenge must answer what [`negotiate`] wrote. `Invalid` if a name is too long for its 16-bit length.
/// If `w` overflows, its `finish` says so, and the key is not that of any message.
pub fn authenticate(
    w: &mut Writer<'_>,
    challenge: &Challenge<'_>,
    identity: &Identity<'_>,
    host: Option<&str>,
    entropy: &[u8; ENTROPY_LEN],
    time: u64,
) -> Result<SessionKey, Error> {
    let anonymous = matches!(identity, Identity::Anonymous);
    let (domain, user, _) = identity.parts();
    let mut flags = challenge.flags & flags::WANTED;
    // Without signing or sealing there is no key exchange (3.1.5.1.2), and nobody has a key to exchange.
    if anonymous || flags & flags::SIGN == 0 {
        flags &= !flags::KEY_EXCH;
    }
    if anonymous {
        flags |= flags::ANONYMOUS;
    }

    let start = w.mark();
    let fields = Fields::begin(w, flags);
    fields.put(w, fields.domain, |w| utf16(w, domain))?;
    fields.put(w, fields.user, |w| utf16(w, user))?;
    fields.put(w, fields.workstation, |_| ())?;
    // No LMv2: who takes NTLMv2 does not look at it, and 3.1.5.1.2 wants zeros where the server tells its time.
    fields.put(w, fields.lm_response, |w| w.zeros(if anonymous { 1 } else { 24 }))?;
    let base_key = Zeroizing::new(fields.put(w, fields.nt_response, |w| match identity {
        Identity::Anonymous => [0; 16],
        _ => nt_response(w, challenge, identity, host, entropy, time),
    })?);
    let mic = challenge.timestamp.is_some() && !anonymous;
    let mut key = SessionKey { key: *base_key, flags, mic };
    let encrypted = key.exchange(entropy)?;
    fields.put(w, fields.session_key, |w| w.put(encrypted.as_ref().map_or(&[], |key| key)))?;
    if mic {
        let mic = hmac_md5(&key.key, &[&NEGOTIATE, challenge.message, w.since(start)]);
        w.patch(fields.mic, &mic);
    }
    Ok(key)
}

/// The header of an AUTHENTICATE_MESSAGE: where its fields point at the payload that follows.
struct Fields {
    start: usize,
    lm_response: Mark,
    nt_response: Mark,
    domain: Mark,
    user: Mark,
    workstation: Mark,
    session_key: Mark,
    mic: Mark,
}

impl Fields {
    /// Writes the header with empty fields and an empty MIC.
    fn begin(w: &mut Writer<'_>, flags: u32) -> Self {
        fn field(w: &mut Writer<'_>) -> Mark {
            let mark = w.mark();
            w.zeros(8);
            mark
        }
        let start = w.at();
        w.put(&SIGNATURE);
        w.le32(3);
        let [lm_response, nt_response, domain, user, workstation, session_key] =
            core::array::from_fn(|_| field(w));
        w.le32(flags);
        w.put(&VERSION);
        let mic = w.mark();
        w.zeros(16);
        Fields { start, lm_response, nt_response, domain, user, workstation, session_key, mic }
    }

    /// Appends what `write` writes and points `field` at it: length, length, offset.
    fn put<T>(
        &self,
        w: &mut Writer<'_>,
        field: Mark,
        write: impl FnOnce(&mut Writer<'_>) -> T,
    ) -> Result<T, Error> {
        let at = w.at();
        let result = write(w);
        let len = u16::try_from(w.at().saturating_sub(at))
            .map_err(|_| Error::Invalid("a name is too long for NTLM"))?;
        let [a, b] = len.to_le_bytes();
        let [c, d, e, f] = (at.saturating_sub(self.start) as u32).to_le_bytes();
        w.patch(field, &[a, b, a, b, c, d, e, f]);
        Ok(result)
    }
}

/// Writes the NTLMv2_RESPONSE (MS-NLMP 2.2.2.8, 3.3.2) and gives SessionBaseKey.
fn nt_response(
    w: &mut Writer<'_>,
    challenge: &Challenge<'_>,
    identity: &Identity<'_>,
    host: Option<&str>,
    entropy: &[u8; ENTROPY_LEN],
    time: u64,
) -> [u8; 16] {
    let key = response_key(identity);
    let proof_mark = w.mark();
    w.zeros(16);
    let temp = w.mark();
    // RespType, HiRespType, Reserved1 and Reserved2, TimeStamp, ChallengeFromClient, Reserved3.
    w.put(&[1, 1, 0, 0, 0, 0, 0, 0]);
    w.le64(challenge.timestamp.unwrap_or(time));
    w.put(&entropy[..8]);
    w.zeros(4);
    put_target_info(w, challenge, host);
    w.zeros(4);
    let proof = hmac_md5(&key, &[&challenge.server_challenge, w.since(temp)]);
    w.patch(proof_mark, &proof);
    hmac_md5(&key, &[&proof])
}

/// Copies the server's AV pairs and, where a MIC protects them, adds ours (MS-NLMP 3.1.5.1.2).
fn put_target_info(w: &mut Writer<'_>, challenge: &Challenge<'_>, host: Option<&str>) {
    if challenge.timestamp.is_none() {
        w.put(challenge.target_info);
        return;
    }
    let mut reader = Reader::new(challenge.target_info);
    for _ in 0..AV_PAIRS_MAX {
        match av_pair(&mut reader) {
            Ok((av::EOL, _)) | Err(_) => break,
            Ok((av::FLAGS | av::TARGET_NAME | av::CHANNEL_BINDINGS, _)) => (),
            Ok((id, value)) => put_av_pair(w, id, |w| w.put(value)),
        }
    }
    put_av_pair(w, av::FLAGS, |w| w.le32(av::FLAG_MIC));
    put_av_pair(w, av::CHANNEL_BINDINGS, |w| w.zeros(16));
    if let Some(host) = host {
        put_av_pair(w, av::TARGET_NAME, |w| {
            utf16(w, "cifs/");
            utf16(w, host);
        });
    }
    put_av_pair(w, av::EOL, |_| ());
}

/// AV_PAIR. A value that is too long for its length makes the whole response too long, which `Fields::put` refuses.
fn put_av_pair(w: &mut Writer<'_>, id: u16, value: impl FnOnce(&mut Writer<'_>)) {
    w.le16(id);
    let len = w.mark();
    w.le16(0);
    let at = w.at();
    value(w);
    w.patch(len, &(w.at().saturating_sub(at) as u16).to_le_bytes());
}

fn utf16(w: &mut Writer<'_>, text: &str) {
    w.utf16(text);
}

/// ResponseKeyNT, that is NTOWFv2 (MS-NLMP 3.3.2).
fn response_key(identity: &Identity<'_>) -> Zeroizing<[u8; 16]> {
    let (domain, user, password) = identity.parts();
    let mut hash = Md4::new();
    password.encode_utf16().for_each(|unit| Digest::update(&mut hash, unit.to_le_bytes()));
    let hash = Zeroizing::new(<[u8; 16]>::from(hash.finalize()));
    let mut mac = keyed_hmac_md5(&hash);
    let name = user.chars().map(uppercase).chain(domain.chars());
    name.for_each(|c| c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| mac.update(&unit.to_le_bytes())));
    Zeroizing::new(mac.finalize().into_bytes().into())
}

/// HMAC-MD5 with `key`. A key that is zero-padded to the block is the same key (RFC 2104 section 2).
fn keyed_hmac_md5(key: &[u8; 16]) -> Hmac<Md5> {
    let mut block = Zeroizing::new([0u8; 64]);
    block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    Hmac::new((&*block).into())
}

fn hmac_md5(key: &[u8; 16], parts: &[&[u8]]) -> [u8; 16] {
    let mut mac = keyed_hmac_md5(key);
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests;
