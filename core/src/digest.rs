//! A number that is another one, in all likelihood, when what it was made of is another: to see a repetition, not to
//! keep out a forger.

/// FNV-1a with 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest(u64);

impl Digest {
    /// Of nothing.
    pub const fn new() -> Self {
        Digest(0xCBF2_9CE4_8422_2325)
    }

    /// Of what came before and of `bytes`.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
        Digest(bytes.iter().fold(self.0, fold))
    }
}

impl Default for Digest {
    fn default() -> Self {
        Digest::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_that_of_the_published_vectors() {
        assert_eq!(Digest::new(), Digest(0xCBF2_9CE4_8422_2325));
        assert_eq!(Digest::new().with(b"a"), Digest(0xAF63_DC4C_8601_EC8C));
        assert_eq!(Digest::new().with(b"foo").with(b"bar"), Digest(0x8594_4171_F739_67E8));
    }
}
