//! Published values, captured values, and what must be refused.

use super::*;
use std::vec::Vec;

const USER: Identity<'_> = Identity::Named { domain: "Domain", user: "User", password: "Password" };
/// MS-NLMP 4.2.1: RandomSessionKey 55.., ClientChallenge aa..
const ENTROPY: [u8; ENTROPY_LEN] = {
    let mut entropy = [0x55; ENTROPY_LEN];
    let mut i = 0;
    while i < 8 {
        entropy[i] = 0xAA;
        i += 1;
    }
    entropy
};
/// MS-NLMP 4.2.4.3: CHALLENGE_MESSAGE, without its MsvAvEOL for AV pairs to be added.
const CHALLENGE: &str = "4e544c4d53535000020000000c000c003800000033828ae20123456789abcdef\
                         00000000000000002400240044000000060070170000000f\
                         530065007200760065007200\
                         02000c0044006f006d00610069006e0001000c00530065007200760065007200";

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// The challenge with these AV pairs appended.
fn challenge(pairs: &str) -> Vec<u8> {
    let mut message = hex(&[CHALLENGE, pairs].concat());
    let len = (message.len() - 0x44) as u16;
    message[40..42].copy_from_slice(&len.to_le_bytes());
    message[42..44].copy_from_slice(&len.to_le_bytes());
    message
}

fn answer(challenge: &[u8], identity: &Identity<'_>, host: Option<&str>) -> (Vec<u8>, [u8; 16]) {
    let mut buf = [0; 600];
    let mut w = Writer::new(&mut buf);
    w.put(b"before");
    let challenge = Challenge::decode(challenge).unwrap();
    let key = authenticate(&mut w, &challenge, identity, host, &ENTROPY, 0).unwrap();
    let len = w.finish().unwrap();
    (buf[6..len].to_vec(), *key.bytes())
}

fn payload(message: &[u8], field: usize) -> &[u8] {
    let mut reader = Reader::new(&message[field..]);
    let len = reader.le16("").unwrap();
    assert_eq!(reader.le16("").unwrap(), len);
    slice(message, reader.le32("").unwrap() as usize, len as usize, "").unwrap()
}

fn flags_of(message: &[u8]) -> u32 {
    u32::from_le_bytes(message[60..64].try_into().unwrap())
}

#[test]
fn the_first_message_says_what_we_want() {
    assert_eq!(NEGOTIATE[..8], SIGNATURE);
    assert_eq!(NEGOTIATE[12..16], flags::WANTED.to_le_bytes());
    assert_eq!(NEGOTIATE[32..], VERSION);
}

/// MS-NLMP 4.2.4.
#[test]
fn the_published_ntlmv2_values_hold() {
    assert_eq!(response_key(&USER)[..], hex("0c868a403bfd7a93a3001ef22ef02e3f"));
    let challenge = challenge("00000000");
    let (message, key) = answer(&challenge, &USER, Some("ignored without a time"));
    let response = payload(&message, 20);
    assert_eq!(response[..16], hex("68cd0ab851e51c96aabc927bebef6a1c"));
    let temp = "01010000000000000000000000000000aaaaaaaaaaaaaaaa00000000\
                02000c0044006f006d00610069006e0001000c00530065007200760065007200\
                0000000000000000";
    assert_eq!(response[16..], hex(temp));
    assert_eq!(payload(&message, 52), hex("c5dad2544fc9799094ce1ce90bc9d03e"));
    assert_eq!(key, [0x55; 16]);
    let proof = hex("68cd0ab851e51c96aabc927bebef6a1c");
    assert_eq!(hmac_md5(&response_key(&USER), &[&proof])[..], hex("8de40ccadbc14a82f15cb0ad0de95ca3"));
    assert_eq!(message[72..88], [0; 16], "no MIC without a time");
}

/// MS-NLMP 4.2.4.4: the keys of the client, with the exported session key of 4.2.1.
#[test]
fn the_published_signing_and_sealing_keys_hold() {
    let key = SessionKey::test(true);
    assert_eq!(key.derived(16, b"signing")[..], hex("4788dc861b4782f35d43fd98fe1a2d39"));
    assert_eq!(key.derived(16, b"sealing")[..], hex("59f600973cc4960a25480a7c196e4c58"));
}

/// MS-NLMP 4.2.4.4 again. Its message is sealed first, so its checksum comes after 18 bytes of the stream.
#[test]
fn the_published_signature_holds() {
    let key = SessionKey { key: [0x55; 16], flags: flags::WANTED & !flags::KEY_EXCH, mic: true };
    let message = hex("50006c00610069006e007400650078007400");
    let mut stream = [0; 26];
    Rc4::new_from_slice(&*key.derived(16, b"sealing")).unwrap().apply_keystream(&mut stream);
    let mut signature = key.sign(&message).unwrap();
    signature[4..12].iter_mut().zip(&stream[18..]).for_each(|(to, key)| *to ^= key);
    assert_eq!(signature[..], hex("010000007fb38ec5c55d497600000000"));
}

#[test]
fn a_message_without_a_mic_has_none_in_its_envelope() {
    let key = SessionKey::test(false);
    assert_eq!(key.sign(b"list"), None);
}

#[test]
fn the_message_names_what_it_carries() {
    let (message, _) = answer(&challenge("00000000"), &USER, None);
    assert_eq!(message[..12], *b"NTLMSSP\0\x03\0\0\0");
    assert_eq!(payload(&message, 12), [0; 24]);
    assert_eq!(payload(&message, 28), hex("44006f006d00610069006e00"));
    assert_eq!(payload(&message, 36), hex("5500730065007200"));
    assert_eq!(payload(&message, 44), []);
    assert_eq!(flags_of(&message), 0xE28A_8233 & flags::WANTED);
}

#[test]
fn a_server_that_tells_its_time_gets_a_mic_over_all_three_messages() {
    let challenge = challenge("0a001000ffffffffffffffffffffffffffffffff07000800010203040506070800000000");
    let (mut message, key) = answer(&challenge, &USER, Some("h"));
    let mic: Vec<u8> = message[72..88].to_vec();
    message[72..88].fill(0);
    assert_eq!(mic, hmac_md5(&key, &[&NEGOTIATE, &challenge, &message]));
    let response = payload(&message, 20);
    let info = "02000c0044006f006d00610069006e0001000c00530065007200760065007200\
                070008000102030405060708\
                0600040002000000\
                0a00100000000000000000000000000000000000\
                09000c00630069006600730\
                02f006800\
                00000000";
    assert_eq!(response[24..32], [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(response[44..response.len() - 4], hex(info));
}

#[test]
fn without_key_exchange_the_base_key_is_the_session_key() {
    for cleared in [flags::KEY_EXCH, flags::SIGN] {
        let mut challenge = challenge("00000000");
        let flags = 0xE28A_8233 & !cleared;
        challenge[20..24].copy_from_slice(&flags.to_le_bytes());
        let (message, key) = answer(&challenge, &USER, None);
        assert_eq!(key[..], hex("8de40ccadbc14a82f15cb0ad0de95ca3"));
        assert_eq!(payload(&message, 52), []);
        assert_eq!(flags_of(&message) & flags::KEY_EXCH, 0);
    }
}

#[test]
fn anonymous_says_nothing_but_a_zero_byte() {
    let challenge = challenge("07000800010203040506070800000000");
    let (message, key) = answer(&challenge, &Identity::Anonymous, Some("h"));
    let fields: Vec<_> = (12..60).step_by(8).map(|field| payload(&message, field)).collect();
    assert_eq!(fields, [&[0][..], &[], &[], &[], &[], &[]]);
    assert_eq!(flags_of(&message) & (flags::ANONYMOUS | flags::KEY_EXCH), flags::ANONYMOUS);
    assert_eq!((key, &message[72..88]), ([0; 16], &[0; 16][..]));
}

#[test]
fn guest_is_an_account_with_an_empty_password() {
    let named = Identity::Named { domain: "", user: "guest", password: "" };
    let challenge = challenge("07000800010203040506070800000000");
    assert_eq!(answer(&challenge, &Identity::Guest, None), answer(&challenge, &named, None));
}

#[test]
fn every_truncated_challenge_is_malformed() {
    let whole = challenge("07000800010203040506070800000000");
    assert_eq!(Challenge::decode(&whole).unwrap().timestamp, Some(0x0807_0605_0403_0201));
    for len in 0..whole.len() {
        assert!(matches!(Challenge::decode(&whole[..len]), Err(Error::Malformed(_))), "{len}");
    }
}

#[test]
fn av_pairs_that_do_not_end_or_do_not_fit_are_malformed() {
    for pairs in ["", "0000", "000001", "07000400010203040000", "07000900010203040506070800000000"] {
        assert!(matches!(Challenge::decode(&challenge(pairs)), Err(Error::Malformed(_))), "{pairs}");
    }
    let many = "03000000".repeat(AV_PAIRS_MAX - 3);
    assert!(Challenge::decode(&challenge(&[&many, "00000000"].concat())).is_ok());
    let more = [&many, "0300000000000000"].concat();
    assert!(matches!(Challenge::decode(&challenge(&more)), Err(Error::Malformed(_))));
}

#[test]
fn what_follows_the_last_av_pair_is_not_sent_back() {
    let challenge = challenge("0000000041414141");
    assert_eq!(Challenge::decode(&challenge).unwrap().target_info.len(), 36);
}

#[test]
fn a_server_without_ntlmv2_is_incompatible() {
    for missing in [flags::UNICODE, flags::EXTENDED_SESSIONSECURITY, flags::TARGET_INFO] {
        let mut challenge = challenge("00000000");
        challenge[20..24].copy_from_slice(&(0xE28A_8233 & !missing).to_le_bytes());
        assert!(matches!(Challenge::decode(&challenge), Err(Error::Incompatible(_))));
    }
}

#[test]
fn every_flipped_byte_of_a_challenge_is_survived() {
    let whole = challenge("07000800010203040506070800000000");
    for (at, value) in (0..whole.len()).flat_map(|at| [0, 1, 0x7F, 0xFF].map(|value| (at, value))) {
        let mut message = whole.clone();
        message[at] = value;
        if let Ok(challenge) = Challenge::decode(&message) {
            let _ = authenticate(&mut Writer::new(&mut [0; 600]), &challenge, &USER, None, &ENTROPY, 0);
        }
    }
}

#[test]
fn a_buffer_that_is_too_short_is_told_at_the_end() {
    let message = challenge("07000800010203040506070800000000");
    let challenge = Challenge::decode(&message).unwrap();
    let need = answer(&message, &USER, None).0.len();
    for have in 0..need {
        let mut buf = std::vec![0; have];
        let mut w = Writer::new(&mut buf);
        authenticate(&mut w, &challenge, &USER, None, &ENTROPY, 0).unwrap();
        assert_eq!(w.finish(), Err(Error::Budget { what: "tx", need, have }));
    }
}

#[test]
fn a_name_that_is_too_long_is_invalid() {
    let long = "x".repeat(0x8000);
    let user = Identity::Named { domain: "", user: &long, password: "" };
    let message = challenge("07000800010203040506070800000000");
    let challenge = Challenge::decode(&message).unwrap();
    let refuse = |identity: &Identity<'_>, host: Option<&str>| {
        let key = authenticate(&mut Writer::new(&mut []), &challenge, identity, host, &ENTROPY, 0);
        assert!(matches!(key, Err(Error::Invalid(_))));
    };
    refuse(&user, None);
    refuse(&USER, Some(&long));
}

#[test]
fn names_are_made_upper_case_as_windows_does() {
    let upper = |text: &str| text.chars().map(uppercase).collect::<std::string::String>();
    assert_eq!(
        upper("user-1éßÿж\u{131}\u{17F}\u{B5}\u{149}\u{10428}"),
        "USER-1ÉßŸЖ\u{131}\u{17F}\u{B5}\u{149}\u{10428}"
    );
}

#[test]
fn secrets_are_never_printed() {
    assert_eq!(
        std::format!("{USER:?} {:?}", SessionKey { key: [1; 16], flags: 0, mic: true }),
        "Named { .. } SessionKey { .. }"
    );
}

/// RFC 1320 A.5.
#[test]
fn the_published_md4_values_hold() {
    assert_eq!(Md4::digest(b"")[..], hex("31d6cfe0d16ae931b73c59d7e0c089c0"));
    assert_eq!(Md4::digest(b"abc")[..], hex("a448017aaf21d8525fc10ae87aa6729d"));
    assert_eq!(Md4::digest(b"message digest")[..], hex("d9130a8164549fe818874806e1c7014b"));
}

/// RFC 6229 section 2, 128 bits.
#[test]
fn the_published_rc4_values_hold() {
    let mut stream = [0; 16];
    let key: [u8; 16] = core::array::from_fn(|i| i as u8 + 1);
    Rc4::new_from_slice(&key).unwrap().apply_keystream(&mut stream);
    assert_eq!(stream[..], hex("9ac7cc9a609d1ef7b2932899cde41b97"));
}

/// RFC 2202 section 2, test case 1.
#[test]
fn the_published_hmac_md5_value_holds() {
    assert_eq!(hmac_md5(&[0x0B; 16], &[b"Hi ", b"There"])[..], hex("9294727a3638bb1c13f48ef8158bfc9d"));
}
