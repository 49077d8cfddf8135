//! Sealing: the TRANSFORM_HEADER (MS-SMB2 2.2.41) and its encryption (3.1.4.3, 3.2.5.1.1.1).
//!
//! A sealed reply is opened where it lies, in any pieces and in one pass: bytes of a READ land in the page and are
//! decrypted there. Nothing that was decrypted may be used before [`Opening::finish`] has said that it is authentic.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "it counts bytes and blocks of one message, whose length has 24 bits"
)]

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
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
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
        self.remaining = self.remaining.saturating_sub(len as u32);
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
#[allow(clippy::large_enum_variant, reason = "there is no heap to put the large one on")]
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
mod tests;
