//! The security rooms against sessions of other people's clients and servers (see `../shared/captures/README.md`).

use std::collections::HashMap;
use std::io::Read;
use std::path::PathBuf;

use pagewire::smb::kdf::SessionKeys;
use pagewire::smb::ntlm::Challenge;
use pagewire::smb::preauth::Preauth;
use pagewire::smb::seal::{Cipher, Sealer, TransformHeader};
use pagewire::smb::sign::{Signer, SigningAlgorithm};
use pagewire::smb::spnego::{self, NegState, Reply};

/// A capture and what is known of it.
struct Capture {
    file: &'static str,
    cipher: Cipher,
    signing: SigningAlgorithm,
    session_id: &'static str,
    session_key: &'static str,
    c2s: &'static str,
    s2c: &'static str,
}

const CAPTURES: [Capture; 3] = [
    Capture {
        file: "smb300-aes-128-ccm.pcap.gz",
        cipher: Cipher::Aes128Ccm,
        signing: SigningAlgorithm::AesCmac,
        session_id: "1900009c003c0000",
        session_key: "9a9ea16a0cdbeb6064772318073f172f",
        c2s: "bff985870e81784d533fdc09497b8eab",
        s2c: "8be6cc53d4beba29387e69aef035d497",
    },
    Capture {
        file: "smb311-aes-128-gcm.pcap.gz",
        cipher: Cipher::Aes128Gcm,
        signing: SigningAlgorithm::AesCmac,
        session_id: "3900000000400000",
        session_key: "e79161ded03bda1449b2c8e58f753953",
        c2s: "7201623a31754e6581864581209dd3d2",
        s2c: "b02f5de25e0562075c3dc329fa2aa396",
    },
    Capture {
        file: "smb311-aes-256-gcm.pcap.gz",
        cipher: Cipher::Aes256Gcm,
        signing: SigningAlgorithm::AesGmac,
        session_id: "56dc03ab00000000",
        session_key: "6a5004adfbdef1abd5879800675324e5",
        c2s: "46b64f320a0f856b63b3a0dc2c058a67267830a8cbdd44a088fbf1d0308a981f",
        s2c: "484c30bf3e17e322e0d217764d4584a325ec0495519c3f1547e0f996ab76c4c4",
    },
];

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// The bytes of a capture, or `None` (said once) where there are none.
fn read(file: &str) -> Option<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/captures");
    if !folder.exists() {
        println!("skipped: ../shared/captures is not here");
        return None;
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(folder.join(file)).unwrap();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    Some(bytes)
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The SMB messages of a little-endian Ethernet capture in the order in which they were complete.
fn messages(pcap: &[u8]) -> Vec<Vec<u8>> {
    assert_eq!((le32(pcap, 0), le32(pcap, 20)), (0xA1B2_C3D4, 1), "little-endian, Ethernet");
    let mut streams: HashMap<Vec<u8>, (u32, Vec<u8>)> = HashMap::new();
    let mut messages = Vec::new();
    let mut rest = &pcap[24..];
    while !rest.is_empty() {
        let (packet, next) = rest[16..].split_at(le32(rest, 8) as usize);
        rest = next;
        let ip = &packet[14..];
        let ip = &ip[..u16::from_be_bytes([ip[2], ip[3]]).into()];
        let tcp = &ip[usize::from(ip[0] & 0x0F) * 4..];
        let data = &tcp[usize::from(tcp[12] >> 4) * 4..];
        let sequence = be32(tcp, 4);
        let (expected, stream) =
            streams.entry([&ip[12..20], &tcp[..4]].concat()).or_insert((sequence, Vec::new()));
        if data.is_empty() || sequence != *expected {
            continue;
        }
        *expected = sequence.wrapping_add(data.len() as u32);
        stream.extend_from_slice(data);
        while stream.len() >= 4 && stream.len() - 4 >= be32(stream, 0) as usize {
            let end = 4 + be32(stream, 0) as usize;
            messages.push(stream[4..end].to_vec());
            stream.drain(..end);
        }
    }
    messages
}

/// Those in clear, and those that are sealed.
fn split(messages: Vec<Vec<u8>>) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let (clear, sealed): (Vec<_>, Vec<_>) = messages.into_iter().partition(|m| m.starts_with(b"\xFESMB"));
    assert!(sealed.iter().all(|m| m.starts_with(b"\xFDSMB")));
    assert_eq!((clear.len(), sealed.len()), (6, 2));
    (clear, sealed)
}

fn keys(capture: &Capture, clear: &[Vec<u8>]) -> SessionKeys {
    let session_key = hex(capture.session_key).try_into().unwrap();
    if capture.file.starts_with("smb300") {
        return SessionKeys::smb30(&session_key);
    }
    let mut preauth = Preauth::new();
    clear[..clear.len() - 1].iter().for_each(|message| preauth.update(message));
    SessionKeys::smb311(&session_key, preauth.value(), Some(capture.cipher))
}

#[test]
fn captured_sessions_give_the_keys_that_they_used() {
    for capture in &CAPTURES {
        let Some(pcap) = read(capture.file) else { return };
        let (clear, _) = split(messages(&pcap));
        let keys = keys(capture, &clear);
        assert_eq!(keys.encryption(), hex(capture.c2s), "{}", capture.file);
        assert_eq!(keys.decryption(), hex(capture.s2c), "{}", capture.file);
    }
}

#[test]
fn captured_final_replies_verify_and_a_changed_byte_does_not() {
    for capture in &CAPTURES {
        let Some(pcap) = read(capture.file) else { return };
        let (clear, _) = split(messages(&pcap));
        let signer = Signer::new(capture.signing, keys(capture, &clear).signing());
        let mut message = clear.last().unwrap().clone();
        let verifies = |message: &[u8]| {
            let (header, body) = message.split_first_chunk::<64>().unwrap();
            let mut mac = signer.begin(header);
            mac.update(body);
            mac.verify(&header[48..].try_into().unwrap())
        };
        assert!(verifies(&message), "{}", capture.file);
        *message.last_mut().unwrap() ^= 1;
        assert!(!verifies(&message), "{}", capture.file);
    }
}

#[test]
fn captured_sealed_messages_open_in_every_chunking() {
    for capture in &CAPTURES {
        let Some(pcap) = read(capture.file) else { return };
        let (clear, sealed) = split(messages(&pcap));
        let keys = keys(capture, &clear);
        // The client's TREE_CONNECT, then the server's reply.
        for (message, key) in sealed.iter().zip([keys.encryption(), keys.decryption()]) {
            let sealer = Sealer::new(capture.cipher, key).unwrap();
            let (header, ciphertext) = message.split_first_chunk::<52>().unwrap();
            let decoded = TransformHeader::decode(header).unwrap();
            assert_eq!(decoded.session_id.to_le_bytes()[..], hex(capture.session_id));
            assert_eq!(decoded.original_message_size as usize, ciphertext.len());
            for chunk in 1..=ciphertext.len() {
                let mut plaintext = ciphertext.to_vec();
                let mut opening = sealer.open(header).unwrap();
                plaintext.chunks_mut(chunk).for_each(|bytes| opening.update(bytes));
                assert_eq!(opening.finish(), Ok(()), "{}", capture.file);
                assert_eq!(plaintext[..4], *b"\xFESMB");
                assert_eq!(plaintext[12..14], [3, 0], "TREE_CONNECT");
            }
        }
    }
}

#[test]
fn captured_challenges_and_tokens_decode() {
    for capture in &CAPTURES {
        let Some(pcap) = read(capture.file) else { return };
        let (clear, _) = split(messages(&pcap));
        // SecurityBufferOffset and SecurityBufferLength of a SESSION_SETUP response.
        let token = |message: &[u8]| {
            let at = u16::from_le_bytes([message[68], message[69]]).into();
            message[at..][..u16::from_le_bytes([message[70], message[71]]).into()].to_vec()
        };
        let challenge = token(&clear[3]);
        let Ok(Reply::Response { state, token: Some(challenge) }) = spnego::decode(&challenge) else {
            panic!("{}", capture.file);
        };
        assert!(matches!(state, None | Some(NegState::AcceptIncomplete)));
        assert!(Challenge::decode(challenge).unwrap().timestamp.is_some());
        let last = token(&clear[5]);
        if !last.is_empty() {
            let state = Some(NegState::AcceptCompleted);
            assert_eq!(spnego::decode(&last), Ok(Reply::Response { state, token: None }));
        }
    }
}
