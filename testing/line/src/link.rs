//! What lies between the engine and the other end: pieces, a cut, a bit that changes.

/// The other end.
pub trait Link {
    /// Takes some of these bytes and says how many.
    fn send(&mut self, bytes: &[u8]) -> usize;

    /// Puts bytes into the window, if there are any.
    fn receive(&mut self, window: &mut [u8]) -> Heard;

    /// Whether anybody listens at another port. There is one only, unless this says otherwise.
    fn connect(&mut self, port: u16) -> bool {
        panic!("there is one port, and no use for {port}")
    }
}

/// What came of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// So many bytes, not none.
    Bytes(usize),
    /// Nothing, for as long as anybody cares to wait.
    Silence,
    /// Nothing for so many milliseconds. Then it is worth while to ask again.
    Later(u32),
    /// The end of the connection.
    Closed,
}

/// In what pieces bytes are given and taken.
#[derive(Clone, Copy, Debug)]
pub enum Chunks {
    /// As large as they can be.
    Whole,
    /// So many bytes at a time.
    Of(usize),
    /// Anything from 1 to `max`, by a seed that is not zero.
    Random {
        /// Where it starts.
        seed: u64,
        /// The largest piece.
        max: usize,
    },
}

impl Chunks {
    fn next(&mut self) -> usize {
        match self {
            Chunks::Whole => usize::MAX,
            Chunks::Of(len) => *len,
            Chunks::Random { seed, max } => {
                // xorshift64
                *seed ^= *seed << 13;
                *seed ^= *seed >> 7;
                *seed ^= *seed << 17;
                1 + (*seed % *max as u64) as usize
            }
        }
    }
}

/// A link over another.
#[derive(Clone, Debug)]
pub struct Line<L> {
    /// Its other end.
    pub end: L,
    /// In what pieces.
    pub chunks: Chunks,
    /// After how many bytes of the other end, on all connections together, it breaks.
    pub cut: Option<usize>,
    /// Which of these bytes is changed, and which bit of it.
    pub flip: Option<(usize, u32)>,
    /// How many of them were given.
    pub given: usize,
}

impl<L> Line<L> {
    /// One that does nothing.
    pub const fn new(end: L) -> Line<L> {
        Line { end, chunks: Chunks::Whole, cut: None, flip: None, given: 0 }
    }
}

impl<L: Link> Link for Line<L> {
    fn send(&mut self, bytes: &[u8]) -> usize {
        let len = bytes.len().min(self.chunks.next());
        self.end.send(&bytes[..len])
    }

    fn receive(&mut self, window: &mut [u8]) -> Heard {
        let left = self.cut.map_or(usize::MAX, |cut| cut - self.given);
        let most = window.len().min(left).min(self.chunks.next());
        if left == 0 {
            return Heard::Closed;
        }
        let heard = self.end.receive(&mut window[..most]);
        if let Heard::Bytes(len) = heard {
            if let Some((at, bit)) = self.flip.filter(|(at, _)| (self.given..self.given + len).contains(at)) {
                window[at - self.given] ^= 1 << bit;
            }
            self.given += len;
        }
        heard
    }

    fn connect(&mut self, port: u16) -> bool {
        self.end.connect(port)
    }
}
