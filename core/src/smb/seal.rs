//! Sealing: the TRANSFORM_HEADER (MS-SMB2 2.2.41) and its encryption (3.1.4.3, 3.2.5.1.1.1).
//!
//! A sealed reply is opened where it lies, in any pieces and in one pass: bytes of a READ land in the page and are
//! decrypted there. Nothing that was decrypted may be used before [`Opening::finish`] has said that it is authentic.

use core::fmt;

use aes::cipher::{
    Array, BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, InnerIvInit,
    KeyInit, StreamCipherCore, consts::U16,
};
use aes::{Aes128Enc, Aes256Enc, Block};
use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use crate::error::Error;
use crate::wire::Reader;

/// The size of CCM's length field, which leaves the nonce 15 - 4 = 11 bytes (SP800-38C A.1).
const CCM_LENGTH_SIZE: u8 = 4;

/// CipherId (MS-SMB2 2.2.3.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Cipher {
    /// What 3.0 and 3.0.2 use.
    Aes128Ccm = 1,
    /// 3.1.1, and the fastest.
    Aes128Gcm = 2,
    /// 3.1.1.
    Aes256Ccm = 3,
    /// 3.1.1.
    Aes256Gcm = 4,
}

impl Cipher {
    /// From the number on the wire; `None` for one that we do not know.
    pub const fn from_wire(id: u16) -> Option<Self> {
        match id {
            1 => Some(Cipher::Aes128Ccm),
            2 => Some(Cipher::Aes128Gcm),
            3 => Some(Cipher::Aes256Ccm),
            4 => Some(Cipher::Aes256Gcm),
            _ => None,
        }
    }

    /// The length of its key in bytes: 16 or 32.
    pub const fn key_len(self) -> usize {
        match self {
            Cipher::Aes128Ccm | Cipher::Aes128Gcm => 16,
            Cipher::Aes256Ccm | Cipher::Aes256Gcm => 32,
        }
    }
}

/// SMB2 TRANSFORM_HEADER (MS-SMB2 2.2.41).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransformHeader {
    /// The tag of the cipher.
    pub signature: [u8; 16],
    /// The first 11 bytes are CCM's, the first 12 GCM's.
    pub nonce: [u8; 16],
    /// The length of what follows: the same sealed as in clear.
    pub original_message_size: u32,
    /// The session whose keys sealed it.
    pub session_id: u64,
}

impl TransformHeader {
    /// Its length on the wire.
    pub const SIZE: usize = 52;
    /// ProtocolId: 0xFD, 'S', 'M', 'B'.
    pub const PROTOCOL_ID: [u8; 4] = *b"\xFDSMB";
    /// Flags of 3.1.1 (Encrypted) and EncryptionAlgorithm of 3.0 (AES-128-CCM): the same number.
    const ENCRYPTED: u16 = 1;
    /// Where what the tag covers begins: at Nonce.
    const COVERED: usize = 20;

    /// To the wire.
    pub fn encode(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..4].copy_from_slice(&Self::PROTOCOL_ID);
        bytes[4..20].copy_from_slice(&self.signature);
        bytes[20..36].copy_from_slice(&self.nonce);
        bytes[36..40].copy_from_slice(&self.original_message_size.to_le_bytes());
        bytes[42..44].copy_from_slice(&Self::ENCRYPTED.to_le_bytes());
        bytes[44..].copy_from_slice(&self.session_id.to_le_bytes());
        bytes
    }

    /// From the wire. `Malformed` if it is another header, `Misbehaved` if it does not say that it is encrypted.
    pub fn decode(bytes: &[u8; Self::SIZE]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        if reader.array("TransformHeader.ProtocolId")? != Self::PROTOCOL_ID {
            return Err(Error::Malformed("TransformHeader.ProtocolId"));
        }
        let signature = reader.array("TransformHeader.Signature")?;
        let nonce = reader.array("TransformHeader.Nonce")?;
        let original_message_size = reader.le32("TransformHeader.OriginalMessageSize")?;
        reader.skip(2, "TransformHeader.Reserved")?;
        if reader.le16("TransformHeader.Flags")? != Self::ENCRYPTED {
            return Err(Error::Misbehaved("a transform header that is not of an encrypted message"));
        }
        let session_id = reader.le64("TransformHeader.SessionId")?;
        Ok(TransformHeader { signature, nonce, original_message_size, session_id })
    }
}

/// Session.EncryptionKey or Session.DecryptionKey, expanded for its cipher. Zeroized on drop, never printed.
pub struct Sealer {
    aes: Aes,
    auth: Auth,
}

impl Sealer {
    /// Expands `key`. `Invalid` if it has not [`Cipher::key_len`] bytes.
    pub fn new(cipher: Cipher, key: &[u8]) -> Result<Self, Error> {
        let aes = match cipher.key_len() {
            16 => Aes128Enc::new_from_slice(key).map(Aes::Short),
            _ => Aes256Enc::new_from_slice(key).map(Aes::Long),
        }
        .map_err(|_| Error::Invalid("a cipher key has the wrong length"))?;
        let auth = match cipher {
            Cipher::Aes128Ccm | Cipher::Aes256Ccm => Auth::Ccm([0; 16]),
            Cipher::Aes128Gcm | Cipher::Aes256Gcm => {
                let hash_key = Zeroizing::new(aes.encrypt([0; 16]));
                Auth::Gcm(GHash::new((&*hash_key).into()))
            }
        };
        Ok(Sealer { aes, auth })
    }

    /// Seals a message in place: `message` is [`TransformHeader::SIZE`] bytes of room, then the plaintext.
    ///
    /// `nonce` must never be given twice to sealers of the same key: a counter. `Invalid` if there is no room
    /// for the header or if the plaintext is 4 GiB or longer; nothing is changed then. No plaintext is sealed too.
    pub fn seal(&self, message: &mut [u8], session_id: u64, nonce: u64) -> Result<(), Error> {
        let (room, plaintext) = message
            .split_first_chunk_mut::<{ TransformHeader::SIZE }>()
            .ok_or(Error::Invalid("no room for the transform header"))?;
        let original_message_size =
            u32::try_from(plaintext.len()).map_err(|_| Error::Invalid("a message to seal is too long"))?;
        let mut header =
            TransformHeader { signature: [0; 16], nonce: [0; 16], original_message_size, session_id };
        header.nonce[..8].copy_from_slice(&nonce.to_le_bytes());
        let mut pass = self.pass(&header, Direction::Seal);
        pass.update(plaintext);
        header.signature = pass.tag();
        *room = header.encode();
        Ok(())
    }

    /// The tag covers the header from Nonce on.
    fn pass(&self, header: &TransformHeader, direction: Direction) -> Pass {
        let covered = &header.encode()[TransformHeader::COVERED..];
        Pass::new(self, &header.nonce, covered, header.original_message_size, direction)
    }

    /// Begins to open the message that follows `header`. Errors as [`TransformHeader::decode`].
    pub fn open(&self, header: &[u8; TransformHeader::SIZE]) -> Result<Opening, Error> {
        let header = TransformHeader::decode(header)?;
        Ok(Opening {
            pass: self.pass(&header, Direction::Open),
            remaining: header.original_message_size,
            overrun: false,
            signature: header.signature,
        })
    }
}

/// A message being opened. Zeroized on drop, never printed.
///
/// Owns all that it needs, so it may be kept while the rest of the message is awaited.
pub struct Opening {
    pass: Pass,
    remaining: u32,
    overrun: bool,
    signature: [u8; 16],
}

impl Opening {
    /// How many bytes of OriginalMessageSize did not come yet.
    pub const fn remaining(&self) -> u32 {
        self.remaining
    }

    /// Decrypts what comes next, in place, in any pieces. An empty one changes nothing.
    ///
    /// Bytes beyond OriginalMessageSize are left as they are, and [`finish`](Self::finish) will fail.
    pub fn update(&mut self, bytes: &mut [u8]) {
        let len = bytes.len().min(usize::try_from(self.remaining).unwrap_or(usize::MAX));
        self.overrun |= len < bytes.len();
        self.remaining -= len as u32;
        if let Some(bytes) = bytes.get_mut(..len) {
            self.pass.update(bytes);
        }
    }

    /// `Unauthentic` unless exactly OriginalMessageSize bytes came and the tag is theirs.
    ///
    /// What [`update`](Self::update) has decrypted is worth nothing before this has returned `Ok`.
    pub fn finish(mut self) -> Result<(), Error> {
        let whole = self.remaining == 0 && !self.overrun;
        if bool::from(self.pass.tag().ct_eq(&self.signature)) && whole {
            Ok(())
        } else {
            Err(Error::Unauthentic("the tag of a sealed message"))
        }
    }
}

/// AES with either length of key.
// There is no heap to put the large one on.
#[allow(clippy::large_enum_variant)]
#[derive(Clone)]
enum Aes {
    Short(Aes128Enc),
    Long(Aes256Enc),
}

impl Aes {
    fn encrypt(&self, mut block: [u8; 16]) -> [u8; 16] {
        match self {
            Aes::Short(aes) => aes.encrypt_block((&mut block).into()),
            Aes::Long(aes) => aes.encrypt_block((&mut block).into()),
        }
        block
    }
}

/// What authenticates.
#[derive(Clone)]
enum Auth {
    /// GHASH of the ciphertext (SP800-38D 6.4).
    Gcm(GHash),
    /// CBC-MAC of the plaintext (SP800-38C 6.1): the last block that was encrypted.
    Ccm([u8; 16]),
}

impl Auth {
    /// Takes in one block.
    fn absorb(&mut self, aes: &Aes, block: [u8; 16]) {
        match self {
            Auth::Gcm(ghash) => hash(ghash, &[block.into()]),
            Auth::Ccm(chain) => {
                xor(chain, &block);
                *chain = aes.encrypt(*chain);
            }
        }
    }
}

impl Drop for Auth {
    fn drop(&mut self) {
        if let Auth::Ccm(chain) = self {
            chain.zeroize();
        }
    }
}

fn xor(to: &mut [u8; 16], from: &[u8; 16]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to ^= from);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Seal,
    Open,
}

/// One pass over one message: counter mode and authentication together, from any byte on.
struct Pass {
    aes: Aes,
    auth: Auth,
    direction: Direction,
    /// The next counter block, big-endian. No message is so long that its last 32 bits, which count, overflow.
    counter: u128,
    /// The counter block of the block that is not complete, encrypted.
    keystream: [u8; 16],
    /// That block as far as it is known and as it will be authenticated, then zeros.
    partial: [u8; 16],
    /// What turns the authenticator's result into the tag.
    mask: [u8; 16],
    /// How many bytes of additional data there are.
    covered_len: u64,
    /// How many bytes of the message went through.
    len: u64,
}

impl Pass {
    /// Before the first byte of a message of `size` bytes. `covered` is the additional data.
    fn new(sealer: &Sealer, nonce: &[u8; 16], covered: &[u8], size: u32, direction: Direction) -> Self {
        let mut first = [0; 16];
        match sealer.auth {
            Auth::Gcm(_) => {
                first[..12].copy_from_slice(&nonce[..12]);
                first[15] = 1;
            }
            Auth::Ccm(_) => {
                first[0] = CCM_LENGTH_SIZE - 1;
                first[1..12].copy_from_slice(&nonce[..11]);
            }
        }
        let mut pass = Pass {
            aes: sealer.aes.clone(),
            auth: sealer.auth.clone(),
            direction,
            counter: u128::from_be_bytes(first) + 1,
            keystream: [0; 16],
            partial: [0; 16],
            mask: sealer.aes.encrypt(first),
            covered_len: covered.len() as u64,
            len: 0,
        };
        if let Auth::Ccm(_) = pass.auth {
            pass.begin_ccm(nonce, covered.len() as u16, size);
        }
        pass.cover(covered);
        pass
    }

    /// B0 (SP800-38C A.2.1), then what announces the additional data (A.2.2).
    fn begin_ccm(&mut self, nonce: &[u8; 16], covered_len: u16, size: u32) {
        const ADDITIONAL_DATA: u8 = 0x40;
        const TAG_OF_16: u8 = ((16 - 2) / 2) << 3;
        let mut first = [ADDITIONAL_DATA | TAG_OF_16 | (CCM_LENGTH_SIZE - 1); 16];
        first[1..12].copy_from_slice(&nonce[..11]);
        first[12..].copy_from_slice(&size.to_be_bytes());
        self.auth.absorb(&self.aes, first);
        self.partial[..2].copy_from_slice(&covered_len.to_be_bytes());
        self.len = 2;
    }

    /// Takes in the additional data, then zeros to the end of its last block.
    fn cover(&mut self, covered: &[u8]) {
        let at = self.position();
        let (head, rest) = covered.split_at(covered.len().min(16 - at));
        self.partial.iter_mut().skip(at).zip(head).for_each(|(to, from)| *to = *from);
        if at + head.len() > 0 {
            self.flush();
        }
        for block in rest.chunks(16) {
            self.partial.iter_mut().zip(block).for_each(|(to, from)| *to = *from);
            self.flush();
        }
        self.len = 0;
    }

    /// Encrypts or decrypts what comes next and authenticates it.
    fn update(&mut self, bytes: &mut [u8]) {
        let open = (16 - self.position()) % 16;
        let (head, rest) = bytes.split_at_mut(open.min(bytes.len()));
        self.within_block(head);
        let (blocks, rest) = Array::slice_as_chunks_mut(rest);
        self.len += blocks.len() as u64 * 16;
        match &self.aes {
            Aes::Short(aes) => whole_blocks(aes, &mut self.auth, &mut self.counter, self.direction, blocks),
            Aes::Long(aes) => whole_blocks(aes, &mut self.auth, &mut self.counter, self.direction, blocks),
        }
        self.within_block(rest);
    }

    /// Where in its block the next byte lies.
    const fn position(&self) -> usize {
        (self.len % 16) as usize
    }

    /// `bytes` are fewer than a block and do not cross into the next one.
    fn within_block(&mut self, bytes: &mut [u8]) {
        if bytes.is_empty() {
            return;
        }
        let at = self.position();
        if at == 0 {
            self.keystream = self.aes.encrypt(self.counter.to_be_bytes());
            self.counter += 1;
        }
        let ciphertext_in = self.direction == Direction::Open;
        let covers_in = ciphertext_in == matches!(self.auth, Auth::Gcm(_));
        let known = self.keystream.iter().zip(&mut self.partial).skip(at);
        for ((key, covered), byte) in known.zip(bytes.iter_mut()) {
            let before = *byte;
            *byte ^= key;
            *covered = if covers_in { before } else { *byte };
        }
        self.len += bytes.len() as u64;
        if self.position() == 0 {
            self.flush();
        }
    }

    /// Takes in the partial block.
    fn flush(&mut self) {
        self.auth.absorb(&self.aes, self.partial);
        self.partial = [0; 16];
    }

    /// The tag over all that went through.
    fn tag(&mut self) -> [u8; 16] {
        if self.position() > 0 {
            self.flush();
        }
        let mut tag = match &mut self.auth {
            Auth::Ccm(chain) => *chain,
            Auth::Gcm(ghash) => {
                let lengths = (u128::from(self.covered_len * 8) << 64) | u128::from(self.len * 8);
                hash(ghash, &[lengths.to_be_bytes().into()]);
                ghash.clone().finalize().into()
            }
        };
        xor(&mut tag, &self.mask);
        tag
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.keystream.zeroize();
        self.partial.zeroize();
        self.mask.zeroize();
    }
}

/// Encrypts or decrypts whole blocks and authenticates them, in pieces that stay in the nearest cache.
fn whole_blocks<C: BlockCipherEncrypt<BlockSize = U16>>(
    aes: &C,
    auth: &mut Auth,
    counter: &mut u128,
    direction: Direction,
    blocks: &mut [Block],
) {
    if blocks.is_empty() {
        return;
    }
    let mut ctr =
        ctr::CtrCore::<&C, ctr::flavors::Ctr32BE>::inner_iv_init(aes, &counter.to_be_bytes().into());
    *counter += blocks.len() as u128;
    for piece in blocks.chunks_mut(PIECE) {
        match (&mut *auth, direction) {
            (Auth::Gcm(ghash), Direction::Open) => {
                hash(ghash, piece);
                ctr.apply_keystream_blocks(piece);
            }
            (Auth::Gcm(ghash), Direction::Seal) => {
                ctr.apply_keystream_blocks(piece);
                hash(ghash, piece);
            }
            (Auth::Ccm(chain), Direction::Open) => {
                ctr.apply_keystream_blocks(piece);
                aes.encrypt_with_backend(Chain { chain, blocks: piece });
            }
            (Auth::Ccm(chain), Direction::Seal) => {
                aes.encrypt_with_backend(Chain { chain, blocks: piece });
                ctr.apply_keystream_blocks(piece);
            }
        }
    }
}

/// GHASH of whole blocks.
///
/// One copy of this loop for all callers: inlined into a larger function it was measured at half of its speed.
#[inline(never)]
pub(super) fn hash(ghash: &mut GHash, blocks: &[Block]) {
    ghash.update(blocks);
}

/// How many blocks pass through authentication before they pass through counter mode, or the other way round: 4 KiB,
/// which any first-level cache holds twice. From 1 to 16 KiB the speed is the same.
const PIECE: usize = 256;

/// CBC-MAC over a run of blocks: `chain` is the last block that was encrypted.
pub(super) struct Chain<'a> {
    pub(super) chain: &'a mut [u8; 16],
    pub(super) blocks: &'a [Block],
}

impl BlockSizeUser for Chain<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Chain<'_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        let mut chain = *self.chain;
        for block in self.blocks {
            xor(&mut chain, &block.0);
            backend.encrypt_block(<&mut Block>::from(&mut chain).into());
        }
        *self.chain = chain;
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").finish_non_exhaustive()
    }
}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
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
            Cipher::Aes128Ccm => {
                run::<ccm::Ccm<aes::Aes128, TagSize, U11>>(key, &nonce[..11], covered, message)
            }
            Cipher::Aes256Ccm => {
                run::<ccm::Ccm<aes::Aes256, TagSize, U11>>(key, &nonce[..11], covered, message)
            }
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
}
