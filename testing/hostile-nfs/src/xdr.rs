//! XDR by hand, apart from the engine's, so that both do not make the same mistake.

use std::ops::Range;

/// Bytes that are being written.
#[derive(Clone, Debug, Default)]
pub struct Xdr {
    /// So far.
    pub bytes: Vec<u8>,
    /// What padding is made of. Zero is right, and others are seen.
    pub padding: u8,
    /// Where file data lies in it.
    pub data: Vec<Range<usize>>,
}

impl Xdr {
    /// Nothing yet; what is padded is padded with this.
    pub fn padded(padding: u8) -> Xdr {
        Xdr { padding, ..Xdr::default() }
    }

    /// An `unsigned int`.
    pub fn word(&mut self, value: u32) -> &mut Self {
        self.bytes.extend(value.to_be_bytes());
        self
    }

    /// Some of them.
    pub fn words(&mut self, values: &[u32]) -> &mut Self {
        values.iter().fold(self, |x, value| x.word(*value))
    }

    /// An `unsigned hyper`.
    pub fn hyper(&mut self, value: u64) -> &mut Self {
        self.bytes.extend(value.to_be_bytes());
        self
    }

    /// An `opaque<>` or a `string<>`.
    pub fn opaque(&mut self, bytes: &[u8]) -> &mut Self {
        self.word(bytes.len() as u32).bytes.extend(bytes);
        let padded = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(padded, self.padding);
        self
    }

    /// An `opaque<>` whose first `count` bytes are a file's.
    pub fn file_data(&mut self, bytes: &[u8], count: usize) -> &mut Self {
        let at = self.bytes.len() + 4;
        self.data.push(at..at + count);
        self.opaque(bytes)
    }

    /// Bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend(bytes);
        self
    }

    /// What was written apart.
    pub fn append(&mut self, other: Xdr) -> &mut Self {
        let at = self.bytes.len();
        self.data.extend(other.data.into_iter().map(|data| data.start + at..data.end + at));
        self.bytes.extend(other.bytes);
        self
    }
}

/// Bytes that are being read. Those of the engine: what is wrong with them is a panic.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a>(pub &'a [u8]);

impl<'a> Args<'a> {
    /// `len` bytes.
    pub fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len);
        self.0 = rest;
        taken
    }

    /// An `opaque[]`.
    pub fn array<const LEN: usize>(&mut self) -> [u8; LEN] {
        self.take(LEN).try_into().expect("as many as were taken")
    }

    /// An `unsigned int`.
    pub fn word(&mut self) -> u32 {
        u32::from_be_bytes(self.array())
    }

    /// An `unsigned hyper`.
    pub fn hyper(&mut self) -> u64 {
        u64::from_be_bytes(self.array())
    }

    /// An `opaque<>` or a `string<>`. The engine pads with zeros.
    pub fn opaque(&mut self) -> &'a [u8] {
        let len = self.word() as usize;
        let padded = self.take(len.next_multiple_of(4));
        assert!(padded[len..].iter().all(|byte| *byte == 0), "padding is zero");
        &padded[..len]
    }
}
