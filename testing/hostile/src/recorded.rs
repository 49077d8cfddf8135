//! The conversations with a real server in `conversations/`: with what setup each was recorded.

use crate::{Conversation, Program, Setup};
use pagewire::smb::Dialect;
use pagewire::smb::negotiate::{AES_128_CCM, AES_128_GCM, AES_256_GCM, AES_GMAC, HMAC_SHA256};

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    /// Its file, without `.conv`.
    pub name: &'static str,
    /// How it was connected.
    pub setup: Setup,
}

/// All of them.
pub const RECORDED: [Recorded; 6] = [
    Recorded { name: "2.0.2-guest", setup: Setup { share: "guest", ..Setup::guest(Dialect::Smb202) } },
    Recorded { name: "2.1-signed", setup: Setup::signed(Dialect::Smb210, &[HMAC_SHA256]) },
    Recorded { name: "3.0-sealed-ccm", setup: Setup::sealed(Dialect::Smb300, &[AES_128_CCM]) },
    Recorded { name: "3.1.1-signed-gmac", setup: Setup::signed(Dialect::Smb311, &[AES_GMAC]) },
    Recorded { name: "3.1.1-sealed-gcm-128", setup: Setup::sealed(Dialect::Smb311, &[AES_128_GCM]) },
    Recorded { name: "3.1.1-sealed-gcm-256", setup: Setup::sealed(Dialect::Smb311, &[AES_256_GCM]) },
];

impl Recorded {
    /// What was asked. Every page size asks the same: the server was told to allow reads of 8192 bytes and no more, which
    /// is a multiple or a part of every page and never more than half of a ring.
    pub const PROGRAM: Program = Program {
        path: "size-65537",
        offset: 45_000,
        ring: 65_536,
        tail: 60_000,
        directory: "names",
        looks_at: "names/caf\u{e9}.txt",
    };

    /// Where its file is.
    pub fn path(&self) -> std::path::PathBuf {
        std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("conversations")
            .join(self.name)
            .with_added_extension("conv")
    }

    /// What was said.
    pub fn conversation(&self) -> Conversation {
        let path = self.path();
        let file = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Conversation::decode(&file).unwrap_or_else(|| panic!("{} is no conversation", path.display()))
    }
}
