//! The server's half of NTLMv2 (MS-NLMP).

use hmac::{Hmac, KeyInit, Mac};
use md4::{Digest, Md4};
use md5::Md5;
use rc4::{Rc4, StreamCipher};

use crate::Status;
use crate::wire::{Put, Reader, from_utf16, utf16};

const SIGNATURE: &[u8] = b"NTLMSSP\0";

const UNICODE: u32 = 0x1;
const REQUEST_TARGET: u32 = 0x4;
const SIGN: u32 = 0x10;
const SEAL: u32 = 0x20;
const NTLM: u32 = 0x200;
const ANONYMOUS: u32 = 0x800;
const ALWAYS_SIGN: u32 = 0x8000;
const TARGET_TYPE_SERVER: u32 = 0x2_0000;
const EXTENDED_SESSION_SECURITY: u32 = 0x8_0000;
const TARGET_INFO: u32 = 0x80_0000;
const VERSION: u32 = 0x200_0000;
const KEY_128: u32 = 0x2000_0000;
pub(crate) const KEY_EXCH: u32 = 0x4000_0000;
const KEY_56: u32 = 0x8000_0000;

const AV_EOL: u16 = 0;
const AV_NB_COMPUTER_NAME: u16 = 1;
const AV_NB_DOMAIN_NAME: u16 = 2;
const AV_DNS_COMPUTER_NAME: u16 = 3;
const AV_DNS_DOMAIN_NAME: u16 = 4;
const AV_FLAGS: u16 = 6;
const AV_TIMESTAMP: u16 = 7;
/// In MsvAvFlags: the message carries a MIC.
const HAS_MIC: u32 = 0x2;

/// Where NTLMv2's AV pairs start in the response: after the proof and the fixed part.
const CLIENT_AV_PAIRS: usize = 16 + 28;
const MIC: std::ops::Range<usize> = 72..88;
/// Where CHALLENGE says where its AV pairs are.
pub(crate) const TARGET_INFO_OFFSET: std::ops::Range<usize> = 44..48;

/// An authentication that waits for AUTHENTICATE.
pub(crate) struct Exchange {
    negotiate: Vec<u8>,
    server_challenge: [u8; 8],
    /// CHALLENGE as sent.
    pub(crate) challenge: Vec<u8>,
}

/// Who turned out to be at the other end.
#[derive(Debug)]
pub(crate) enum Identity {
    /// The account, with what its knowledge of the password yields.
    User {
        key: [u8; 16],
        flags: u32,
        mic: bool,
    },
    /// A name that has no account.
    Stranger,
    Anonymous,
}

/// Whether a token is NTLM's.
pub(crate) fn is_ntlm(token: &[u8]) -> bool {
    token.starts_with(SIGNATURE)
}

/// AV pairs of the challenge, MsvAvEOL included.
pub(crate) fn target_info(name: &str, now: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let mut pair = |id: u16, value: &[u8]| {
        out.u16(id);
        out.u16(value.len() as u16);
        out.put(value);
    };
    pair(AV_NB_DOMAIN_NAME, &utf16(name));
    pair(AV_NB_COMPUTER_NAME, &utf16(name));
    pair(AV_DNS_DOMAIN_NAME, &utf16(""));
    pair(AV_DNS_COMPUTER_NAME, &utf16(&name.to_lowercase()));
    pair(AV_TIMESTAMP, &now.to_le_bytes());
    pair(AV_EOL, &[]);
    out
}

impl Exchange {
    /// Answers NEGOTIATE with a CHALLENGE; `exchange` is `KEY_EXCH` or nothing.
    pub(crate) fn begin(
        negotiate: &[u8],
        server_challenge: [u8; 8],
        name: &str,
        info: &[u8],
        exchange: u32,
    ) -> Result<Exchange, Status> {
        let mut reader = Reader::new(negotiate);
        if reader.bytes(8)? != SIGNATURE || reader.u32()? != 1 {
            return Err(Status::INVALID_PARAMETER);
        }
        let asked = reader.u32()?;
        let echoed = asked & (SIGN | SEAL | KEY_128 | exchange | KEY_56 | ALWAYS_SIGN | REQUEST_TARGET);
        let own = UNICODE | NTLM | TARGET_TYPE_SERVER | EXTENDED_SESSION_SECURITY | TARGET_INFO | VERSION;
        let name = utf16(name);
        let mut out = SIGNATURE.to_vec();
        out.u32(2);
        field(&mut out, name.len(), 56);
        out.u32(echoed | own);
        out.put(&server_challenge);
        out.zeros(8);
        field(&mut out, info.len(), 56 + name.len());
        out.put(&[6, 1, 0, 0, 0, 0, 0, 15]);
        out.put(&name);
        out.put(info);
        Ok(Exchange { negotiate: negotiate.to_vec(), server_challenge, challenge: out })
    }

    /// Checks AUTHENTICATE; a wrong proof or MIC is LOGON_FAILURE.
    pub(crate) fn finish(&self, message: &[u8], user: &str, password: &str) -> Result<Identity, Status> {
        let authenticate = Authenticate::decode(message)?;
        if authenticate.flags & ANONYMOUS != 0
            || authenticate.user.is_empty() && authenticate.response.is_empty()
        {
            return Ok(Identity::Anonymous);
        }
        if authenticate.user.to_uppercase() != user.to_uppercase() {
            return Ok(Identity::Stranger);
        }
        let hash = ntlmv2_hash(&authenticate.user, &authenticate.domain, password);
        let (proof, client) = authenticate.response.split_at_checked(16).ok_or(Status::LOGON_FAILURE)?;
        if hmac_md5(&hash, &[&self.server_challenge, client]) != proof {
            return Err(Status::LOGON_FAILURE);
        }
        let base = hmac_md5(&hash, &[proof]);
        let key = authenticate.session_key(base)?;
        let mic = client_flags(authenticate.response)? & HAS_MIC != 0;
        if mic && !self.mic_is_right(&key, message) {
            return Err(Status::LOGON_FAILURE);
        }
        Ok(Identity::User { key, flags: authenticate.flags, mic })
    }

    fn mic_is_right(&self, key: &[u8; 16], message: &[u8]) -> bool {
        let mut zeroed = message.to_vec();
        let Some(mic) = zeroed.get_mut(MIC) else { return false };
        mic.fill(0);
        hmac_md5(key, &[&self.negotiate, &self.challenge, &zeroed]) == message[MIC]
    }
}

struct Authenticate<'a> {
    response: &'a [u8],
    domain: String,
    user: String,
    encrypted_key: &'a [u8],
    flags: u32,
}

impl<'a> Authenticate<'a> {
    fn decode(message: &'a [u8]) -> Result<Self, Status> {
        let mut reader = Reader::new(message);
        if reader.bytes(8)? != SIGNATURE || reader.u32()? != 3 {
            return Err(Status::INVALID_PARAMETER);
        }
        let mut payload = || {
            let len = reader.u16()?;
            reader.skip(2)?;
            let offset = reader.u32()?;
            reader.slice(offset as usize, len.into())
        };
        let (_lm, response, domain, user) = (payload()?, payload()?, payload()?, payload()?);
        let (_workstation, encrypted_key) = (payload()?, payload()?);
        let flags = reader.u32()?;
        Ok(Authenticate {
            response,
            domain: from_utf16(domain)?,
            user: from_utf16(user)?,
            encrypted_key,
            flags,
        })
    }

    fn session_key(&self, base: [u8; 16]) -> Result<[u8; 16], Status> {
        if self.flags & KEY_EXCH == 0 {
            return Ok(base);
        }
        let mut key: [u8; 16] = self.encrypted_key.try_into().map_err(|_| Status::INVALID_PARAMETER)?;
        rc4(&base, &mut key);
        Ok(key)
    }
}

/// MsvAvFlags of the client's pairs, 0 if absent.
fn client_flags(response: &[u8]) -> Result<u32, Status> {
    let mut reader = Reader::new(response);
    reader.skip(CLIENT_AV_PAIRS)?;
    loop {
        let (id, len) = (reader.u16()?, reader.u16()?);
        let value = reader.bytes(len.into())?;
        match id {
            AV_EOL => return Ok(0),
            AV_FLAGS => return Reader::new(value).u32(),
            _ => {}
        }
    }
}

/// The signature over SPNEGO's list of mechanisms: GSS_GetMIC with sequence number 0 (MS-NLMP 3.4.4.2).
pub(crate) fn mech_list_mic(key: &[u8; 16], flags: u32, from_server: bool, mech_types: &[u8]) -> [u8; 16] {
    let direction = if from_server { "server-to-client" } else { "client-to-server" };
    let derive = |key: &[u8], what| {
        md5(&[key, format!("session key to {direction} {what} key magic constant\0").as_bytes()])
    };
    let mut checksum: [u8; 8] =
        hmac_md5(&derive(key, "signing"), &[&[0; 4], mech_types])[..8].try_into().expect("half of 16");
    if flags & KEY_EXCH != 0 {
        let strength = match flags {
            _ if flags & KEY_128 != 0 => 16,
            _ if flags & KEY_56 != 0 => 7,
            _ => 5,
        };
        rc4(&derive(&key[..strength], "sealing"), &mut checksum);
    }
    let mut mic = [0; 16];
    mic[0] = 1;
    mic[4..12].copy_from_slice(&checksum);
    mic
}

/// Whether both sides agreed to sign, so that a MIC can be expected.
pub(crate) fn signs(flags: u32) -> bool {
    flags & SIGN != 0
}

fn field(out: &mut Vec<u8>, len: usize, offset: usize) {
    out.u16(len as u16);
    out.u16(len as u16);
    out.u32(offset as u32);
}

fn ntlmv2_hash(user: &str, domain: &str, password: &str) -> [u8; 16] {
    let hash: [u8; 16] = Md4::digest(utf16(password)).into();
    hmac_md5(&hash, &[&utf16(&user.to_uppercase()), &utf16(domain)])
}

fn hmac_md5(key: &[u8], parts: &[&[u8]]) -> [u8; 16] {
    let mut mac = <Hmac<Md5> as KeyInit>::new_from_slice(key).expect("any length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

fn md5(parts: &[&[u8]]) -> [u8; 16] {
    Md5::digest(parts.concat()).into()
}

fn rc4(key: &[u8; 16], data: &mut [u8]) {
    <Rc4 as rc4::KeyInit>::new_from_slice(key).expect("16 bytes are fine").apply_keystream(data);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn bytes(value: u128) -> [u8; 16] {
        value.to_be_bytes()
    }

    /// The client's part of the response of MS-NLMP 4.2.4.1.3, without the proof.
    fn temp() -> Vec<u8> {
        let mut out = vec![1, 1, 0, 0, 0, 0, 0, 0];
        out.zeros(8);
        out.put(&[0xAA; 8]);
        out.zeros(4);
        for (id, name) in [(AV_NB_DOMAIN_NAME, "Domain"), (AV_NB_COMPUTER_NAME, "Server")] {
            out.u16(id);
            out.u16(12);
            out.put(&utf16(name));
        }
        out.zeros(8);
        out
    }

    /// A client's NEGOTIATE that asks for signatures and a key exchange.
    pub(crate) fn negotiate() -> Vec<u8> {
        let mut out = SIGNATURE.to_vec();
        out.u32(1);
        out.u32(UNICODE | NTLM | SIGN | KEY_128 | KEY_EXCH);
        out
    }

    /// A client's AUTHENTICATE with a MIC, and the key it exchanges.
    pub(crate) fn respond(challenge: &[u8], user: &str, password: &str) -> (Vec<u8>, [u8; 16]) {
        let mut client = vec![1, 1, 0, 0, 0, 0, 0, 0];
        client.zeros(8 + 8 + 4);
        client.u16(AV_FLAGS);
        client.u16(4);
        client.u32(HAS_MIC);
        client.zeros(8);
        let hash = ntlmv2_hash(user, "", password);
        let proof = hmac_md5(&hash, &[&challenge[24..32], &client]);
        let key = [0x77; 16];
        let mut encrypted = key;
        rc4(&hmac_md5(&hash, &[&proof]), &mut encrypted);
        let response = [&proof[..], &client].concat();
        let mut message = authenticate("", user, &response, &encrypted, KEY_EXCH | SIGN | KEY_128);
        let mic = hmac_md5(&key, &[&negotiate(), challenge, &message]);
        message[MIC].copy_from_slice(&mic);
        (message, key)
    }

    #[test]
    fn hash_proof_and_keys_agree_with_ms_nlmp_4_2_4() {
        let hash = ntlmv2_hash("User", "Domain", "Password");
        assert_eq!(hash, bytes(0x0c868a403bfd7a93a3001ef22ef02e3f));
        let challenge = 0x0123456789abcdef_u64.to_be_bytes();
        let proof = hmac_md5(&hash, &[&challenge, &temp()]);
        assert_eq!(proof, bytes(0x68cd0ab851e51c96aabc927bebef6a1c));
        let base = hmac_md5(&hash, &[&proof]);
        assert_eq!(base, bytes(0x8de40ccadbc14a82f15cb0ad0de95ca3));
        let mut exchanged = [0x55; 16];
        rc4(&base, &mut exchanged);
        assert_eq!(exchanged, bytes(0xc5dad2544fc9799094ce1ce90bc9d03e));
    }

    fn authenticate(domain: &str, user: &str, response: &[u8], key: &[u8], flags: u32) -> Vec<u8> {
        let (domain, user) = (utf16(domain), utf16(user));
        let mut out = SIGNATURE.to_vec();
        out.u32(3);
        let mut at = 88;
        for part in [&[], response, &domain, &user, &[], key] {
            field(&mut out, part.len(), at);
            at += part.len();
        }
        out.u32(flags);
        out.zeros(24);
        [out, response.to_vec(), domain, user, key.to_vec()].concat()
    }

    fn exchange() -> Exchange {
        Exchange::begin(&negotiate(), 0x0123456789abcdef_u64.to_be_bytes(), "S", &[], KEY_EXCH).unwrap()
    }

    #[test]
    fn the_published_response_lets_its_user_in_and_no_other_password() {
        let response = [&bytes(0x68cd0ab851e51c96aabc927bebef6a1c)[..], &temp()].concat();
        let key = bytes(0xc5dad2544fc9799094ce1ce90bc9d03e);
        let message = authenticate("Domain", "User", &response, &key, KEY_EXCH);
        let Ok(Identity::User { key, mic, .. }) = exchange().finish(&message, "user", "Password") else {
            panic!("refused");
        };
        assert_eq!((key, mic), ([0x55; 16], false));
        let refused = exchange().finish(&message, "User", "password").unwrap_err();
        assert_eq!(refused, Status::LOGON_FAILURE);
        let stranger = exchange().finish(&message, "Other", "Password").unwrap();
        assert!(matches!(stranger, Identity::Stranger));
    }

    #[test]
    fn every_truncation_of_authenticate_is_refused() {
        let response = [&bytes(0x68cd0ab851e51c96aabc927bebef6a1c)[..], &temp()].concat();
        let message = authenticate("Domain", "User", &response, &[], 0);
        for len in 0..message.len() {
            assert!(exchange().finish(&message[..len], "User", "Password").is_err(), "{len}");
        }
    }
}
