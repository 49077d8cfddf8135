//! Published values, captured values, and what must be refused.

use super::*;
use aes_gcm::aead::AeadInOut;
use ccm::consts::{U11, U16 as TagSize};
use std::vec::Vec;

const CIPHERS: [Cipher; 4] = [Cipher::Aes128Ccm, Cipher::Aes128Gcm, Cipher::Aes256Ccm, Cipher::Aes256Gcm];

fn bytes(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|i| (i as u8).wrapping_mul(31).wrapping_add(seed)).collect()
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// What the AEAD crates make of the same message.
fn oracle(cipher: Cipher, key: &[u8], header: &[u8], message: &mut [u8]) -> [u8; 16] {
    fn run<A: AeadInOut + KeyInit>(key: &[u8], nonce: &[u8], ad: &[u8], message: &mut [u8]) -> [u8; 16] {
        let aead = A::new_from_slice(key).unwrap();
        let tag = aead.encrypt_inout_detached(nonce.try_into().unwrap(), ad, message.into());
        tag.unwrap().as_slice().try_into().unwrap()
    }
    let (nonce, covered) = (&header[20..36], &header[20..]);
    match cipher {
        Cipher::Aes128Ccm => run::<ccm::Ccm<aes::Aes128, TagSize, U11>>(key, &nonce[..11], covered, message),
        Cipher::Aes256Ccm => run::<ccm::Ccm<aes::Aes256, TagSize, U11>>(key, &nonce[..11], covered, message),
        Cipher::Aes128Gcm => run::<aes_gcm::Aes128Gcm>(key, &nonce[..12], covered, message),
        Cipher::Aes256Gcm => run::<aes_gcm::Aes256Gcm>(key, &nonce[..12], covered, message),
    }
}

/// A sealer, and header and ciphertext by the oracle with all nonce bytes in use.
fn sealed(cipher: Cipher, plaintext: &[u8]) -> (Sealer, [u8; 52], Vec<u8>) {
    let key = bytes(cipher.key_len(), 3);
    let mut header = TransformHeader {
        signature: [0; 16],
        nonce: bytes(16, 99).try_into().unwrap(),
        original_message_size: plaintext.len() as u32,
        session_id: 0x1122_3344_5566_7788,
    };
    let mut message = plaintext.to_vec();
    header.signature = oracle(cipher, &key, &header.encode(), &mut message);
    (Sealer::new(cipher, &key).unwrap(), header.encode(), message)
}

#[test]
fn every_chunking_opens_what_the_aead_crates_seal() {
    for cipher in CIPHERS {
        for len in [0, 1, 15, 16, 17, 31, 64, 129, 300] {
            let plaintext = bytes(len, 5);
            let (sealer, header, ciphertext) = sealed(cipher, &plaintext);
            for chunk in 1..=len.max(1) {
                let mut message = ciphertext.clone();
                let mut opening = sealer.open(&header).unwrap();
                message.chunks_mut(chunk).for_each(|bytes| opening.update(bytes));
                assert_eq!(opening.remaining(), 0);
                assert_eq!(opening.finish(), Ok(()), "{cipher:?} of {len} in {chunk}s");
                assert_eq!(message, plaintext);
            }
        }
    }
}

#[test]
fn every_cut_into_three_opens_what_the_aead_crates_seal() {
    for cipher in CIPHERS {
        let plaintext = bytes(70, 5);
        let (sealer, header, ciphertext) = sealed(cipher, &plaintext);
        for (first, second) in (0..=70).flat_map(|a| (a..=70).map(move |b| (a, b))) {
            let mut message = ciphertext.clone();
            let mut opening = sealer.open(&header).unwrap();
            opening.update(&mut message[..first]);
            opening.update(&mut message[first..second]);
            opening.update(&mut message[second..]);
            assert_eq!(opening.finish(), Ok(()));
            assert_eq!(message, plaintext);
        }
    }
}

#[test]
fn long_messages_open_across_pieces_that_do_not_divide_them() {
    for cipher in CIPHERS {
        let plaintext = bytes(70_001, 7);
        let (sealer, header, mut message) = sealed(cipher, &plaintext);
        let mut opening = sealer.open(&header).unwrap();
        message.chunks_mut(1448).for_each(|bytes| opening.update(bytes));
        assert_eq!(opening.finish(), Ok(()));
        assert!(message == plaintext);
    }
}

#[test]
fn sealing_is_what_the_aead_crates_do() {
    for cipher in CIPHERS {
        for len in [0, 1, 16, 64, 129, 5000] {
            let key = bytes(cipher.key_len(), 3);
            let mut message = bytes(52 + len, 8);
            let mut expected = message[52..].to_vec();
            Sealer::new(cipher, &key).unwrap().seal(&mut message, 77, 0x0102_0304).unwrap();
            let header = TransformHeader::decode(message.first_chunk().unwrap()).unwrap();
            assert_eq!(header.nonce, [4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            assert_eq!((header.session_id, header.original_message_size), (77, len as u32));
            let tag = oracle(cipher, &key, &message[..52], &mut expected);
            assert_eq!((header.signature, &message[52..]), (tag, &expected[..]));
        }
    }
}

#[test]
fn every_flipped_bit_is_unauthentic() {
    for cipher in CIPHERS {
        let (sealer, header, ciphertext) = sealed(cipher, &bytes(40, 1));
        for at in 4..52 + 40usize {
            // Another size or flag is another error; nonce bytes that the cipher does not use are covered too.
            if (36..44).contains(&at) {
                continue;
            }
            let (mut header, mut message) = (header, ciphertext.clone());
            match at.checked_sub(52) {
                Some(at) => message[at] ^= 0x10,
                None => header[at] ^= 0x10,
            }
            let mut opening = sealer.open(&header).unwrap();
            opening.update(&mut message);
            assert!(matches!(opening.finish(), Err(Error::Unauthentic(_))), "{cipher:?} at {at}");
        }
    }
}

#[test]
fn a_message_that_is_longer_or_shorter_than_it_says_is_unauthentic() {
    for cipher in CIPHERS {
        let (sealer, header, mut ciphertext) = sealed(cipher, &bytes(40, 1));
        let mut opening = sealer.open(&header).unwrap();
        opening.update(&mut ciphertext.clone()[..39]);
        assert_eq!(opening.remaining(), 1);
        assert!(matches!(opening.finish(), Err(Error::Unauthentic(_))));
        ciphertext.extend([0xAA; 20]);
        let mut opening = sealer.open(&header).unwrap();
        opening.update(&mut ciphertext);
        assert_eq!(ciphertext[40..], [0xAA; 20]);
        assert!(matches!(opening.finish(), Err(Error::Unauthentic(_))));
    }
}

#[test]
fn a_header_of_something_else_is_refused() {
    let good =
        TransformHeader { signature: [1; 16], nonce: [2; 16], original_message_size: 3, session_id: 4 };
    assert_eq!(TransformHeader::decode(&good.encode()), Ok(good));
    let mut bytes = good.encode();
    bytes[0] = 0xFE;
    assert_eq!(TransformHeader::decode(&bytes), Err(Error::Malformed("TransformHeader.ProtocolId")));
    for flags in [0, 2, 0x0101] {
        let mut bytes = good.encode();
        bytes[42..44].copy_from_slice(&u16::to_le_bytes(flags));
        assert!(matches!(TransformHeader::decode(&bytes), Err(Error::Misbehaved(_))));
    }
}

#[test]
fn keys_of_another_length_and_messages_without_room_are_refused() {
    for cipher in CIPHERS {
        for len in [0, 15, 17, 24, 48 - cipher.key_len()] {
            assert!(matches!(Sealer::new(cipher, &bytes(len, 0)), Err(Error::Invalid(_))));
        }
        let sealer = Sealer::new(cipher, &bytes(cipher.key_len(), 0)).unwrap();
        assert!(matches!(sealer.seal(&mut [0; 51], 0, 0), Err(Error::Invalid(_))));
    }
}

/// A vector that is not SMB's: any additional data.
fn vector(cipher: Cipher, key: &str, nonce: &str, covered: &str, plaintext: &str, sealed: &str) {
    let (covered, plaintext, sealed) = (hex(covered), hex(plaintext), hex(sealed));
    let sealer = Sealer::new(cipher, &hex(key)).unwrap();
    let mut padded = [0; 16];
    padded[..nonce.len() / 2].copy_from_slice(&hex(nonce));
    let mut message = plaintext.clone();
    let pass = |direction| Pass::new(&sealer, &padded, &covered, plaintext.len() as u32, direction);
    let mut seal = pass(Direction::Seal);
    message.chunks_mut(7).for_each(|bytes| seal.update(bytes));
    assert_eq!([&message[..], &seal.tag()].concat(), sealed);
    let mut open = pass(Direction::Open);
    message.chunks_mut(33).for_each(|bytes| open.update(bytes));
    assert_eq!(([&message[..], &open.tag()].concat()), [&plaintext, &sealed[plaintext.len()..]].concat());
}

/// Test cases 4 and 16 of McGrew and Viega, as validated by NIST.
#[test]
fn the_published_gcm_vectors_hold() {
    let key = "feffe9928665731c6d6a8f9467308308";
    let nonce = "cafebabefacedbaddecaf888";
    let covered = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
    let plaintext = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
                     1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
    let short = "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e\
                 21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091\
                 5bc94fbc3221a5db94fae95ae7121a47";
    let long = "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa\
                8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662\
                76fc6ece0f4e1768cddf8853bb2d551b";
    vector(Cipher::Aes128Gcm, key, nonce, covered, plaintext, short);
    vector(Cipher::Aes256Gcm, &[key, key].concat(), nonce, covered, plaintext, long);
}

/// CAVP CCM-VNT, Alen 32, Plen 24, Tlen 16, Nlen 11: exactly the shape that SMB uses.
#[test]
fn the_published_ccm_vectors_hold() {
    vector(
        Cipher::Aes128Ccm,
        "e6ab9e70a4fb51b01c2e262233e64c0d",
        "74e689eb5af9441dd690a6",
        "42f6518ee0fbe42f28e13b4bb2eb60517b37c9744394d9143393a879c3e107c7",
        "ba15916733550d7aa82b2f6b117cd3f54c83ddc16cd0288a",
        "dcc151443288f35d39ed8fae6f0ce1d1eb656f4f7fd65c0b16f322ce85d7c54e71ac560fd4da9651",
    );
    vector(
        Cipher::Aes256Ccm,
        "97bc7482a87ba005475dfa3448f59d4b3f9c4c969d08b39b1b21ef965c0f5125",
        "0bcf78103ec52d6df28887",
        "049c10f0cb37ae08eae2d0766563b7c5a8454f841c2061a4f71a0a2158ae6ce5",
        "b99bf4dc781795fc4d3a8467b06e1665d4e543657f23129f",
        "0d3891fa0caac1f7ebe41b480920ffd34d4155064c24f3b17a483163dd8f228d1f20cd4f86cf38fd",
    );
}
