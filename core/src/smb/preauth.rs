//! Pre-authentication integrity (MS-SMB2 3.1.5.2 and 3.2.5.2): what 3.1.1 derives its keys from.

use sha2::{Digest, Sha512};

/// The running SHA-512 over NEGOTIATE and SESSION_SETUP messages.
///
/// Each message goes in whole, from its SMB2 header to its last byte, without the transport's length.
/// The connection's value after NEGOTIATE is where every session's own value starts: copy it.
/// The reply that ends SESSION_SETUP with success does not go in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preauth([u8; 64]);

impl Preauth {
    /// All zeros, as before the first NEGOTIATE.
    pub const fn new() -> Self {
        Preauth([0; 64])
    }

    /// Takes in one whole message: the value becomes SHA-512(value, message).
    pub fn update(&mut self, message: &[u8]) {
        self.0 = Sha512::new().chain_update(self.0).chain_update(message).finalize().into();
    }

    /// Connection.PreauthIntegrityHashValue or Session.PreauthIntegrityHashValue.
    pub const fn value(&self) -> &[u8; 64] {
        &self.0
    }
}

impl Default for Preauth {
    fn default() -> Self {
        Preauth::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_is_hashed_after_the_value_before_it() {
        let mut running = Preauth::new();
        running.update(b"negotiate");
        let first: [u8; 64] = Sha512::digest([&[0; 64], &b"negotiate"[..]].concat()).into();
        assert_eq!(running.value(), &first);
        running.update(b"reply");
        let second: [u8; 64] = Sha512::digest([&first, &b"reply"[..]].concat()).into();
        assert_eq!(running.value(), &second);
    }

    #[test]
    fn an_empty_message_still_changes_the_value() {
        let mut running = Preauth::new();
        running.update(&[]);
        assert_ne!(running, Preauth::new());
    }
}
