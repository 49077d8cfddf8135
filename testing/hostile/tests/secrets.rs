//! What is secret is not printed, and not left behind in memory.

use pagewire::smb::kdf::SessionKeys;
use pagewire::smb::seal::{Cipher, Sealer};
use pagewire::smb::sign::{Signer, SigningAlgorithm};
use pagewire::smb::{Config, Dialect, Entropy, Identity, Smb};
use pagewire::{Open, StorageArray};
use pagewire_hostile::{Scene, Server, Session, Setup};
use pagewire_model::Model;
use std::fmt::Debug;
use std::mem::{MaybeUninit, size_of};

/// The bytes of a value before it is dropped, and what is left of them in memory afterwards.
fn before_and_after<T>(value: T) -> [Vec<u8>; 2] {
    let mut place = MaybeUninit::zeroed();
    place.write(value);
    let bytes = |place: &MaybeUninit<T>| {
        let start = place.as_ptr().cast::<u8>();
        // SAFETY: so many bytes are this function's, and were zero before there was a value.
        (0..size_of::<T>()).map(|at| unsafe { start.add(at).read_volatile() }).collect()
    };
    let before = bytes(&place);
    // SAFETY: the value is there, and dropped once.
    unsafe { place.assume_init_drop() };
    [before, bytes(&place)]
}

/// Both ways in which it is printed.
fn printed(value: &dyn Debug) -> String {
    format!("{value:?} {value:#?}")
}

/// No four bytes of a secret stand side by side in what was printed, in whatever notation.
#[track_caller]
fn says_nothing_of(printed: &str, secret: &[u8]) {
    let numbers: String = printed.split_whitespace().collect();
    for window in secret.windows(4) {
        let decimal = window.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
        let hex: String = window.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(!numbers.contains(&decimal) && !numbers.to_lowercase().contains(&hex), "{printed}");
    }
}

const KEY: [u8; 16] = *b"\xC0\xC1\xC2\xC3\xC4\xC5\xC6\xC7\xC8\xC9\xCA\xCB\xCC\xCD\xCE\xCF";

#[test]
fn credentials_and_entropy_are_not_printed() {
    let identity = Identity::Named { domain: "a-domain", user: "a-user", password: "a-password" };
    let bytes = std::array::from_fn(|at| at as u8 + 100);
    let config = Config::new("host", "share", identity, Entropy::from_bytes(bytes));
    for printed in
        [printed(&identity), printed(&config), printed(&config.entropy), printed(&Smb::new(config.clone()))]
    {
        assert!(!printed.contains("a-"), "{printed}");
        says_nothing_of(&printed, &bytes);
    }
}

#[test]
fn keys_are_not_printed() {
    for setup in Setup::SIGNED.into_iter().chain(Setup::SEALED) {
        let scene = Scene::small(setup);
        let mut storage = StorageArray::<4096, 4096, 16>::new();
        let link = Server(Model::new(scene.config.clone()));
        let mut session = Session::new(storage.lend(), Smb::new(setup.config()), link).unwrap();
        session.run(&mut Open::new("f")).unwrap();
        let printed = printed(session.client.protocol());
        assert!(!printed.contains("lab"), "{printed}");
        // The key that the client chose, which is its entropy, and what comes of it where nothing else is needed.
        let exported = [0x17; 16];
        says_nothing_of(&printed, &exported);
        if setup.dialects.contains(Dialect::Smb300) {
            let keys = SessionKeys::smb30(&exported);
            for key in [keys.signing(), keys.encryption(), keys.decryption()] {
                says_nothing_of(&printed, key);
            }
        }
    }
}

#[test]
fn keys_and_entropy_are_gone_when_they_are_dropped() {
    let [before, after] = before_and_after(Entropy::from_bytes([0xC5; Entropy::LEN]));
    assert_eq!((before, after), (vec![0xC5; Entropy::LEN], vec![0; Entropy::LEN]));
    is_gone(SessionKeys::smb2(&KEY), "SessionKeys");
    // The first of AES's round keys is the key itself.
    for algorithm in [SigningAlgorithm::HmacSha256, SigningAlgorithm::AesCmac, SigningAlgorithm::AesGmac] {
        is_gone(Signer::new(algorithm, &KEY), &format!("{algorithm:?}"));
    }
    for (cipher, len) in
        [(Cipher::Aes128Ccm, 16), (Cipher::Aes128Gcm, 16), (Cipher::Aes256Ccm, 32), (Cipher::Aes256Gcm, 32)]
    {
        let key = [KEY, KEY].concat();
        is_gone(Sealer::new(cipher, &key[..len]).unwrap(), &format!("{cipher:?}"));
    }
}

/// Where a value has a key there are zeros when it is dropped. (Behind it, in the places that only a larger variant of an enum writes,
/// lies what the stack had there.) Without instructions for AES the expanded keys look otherwise, and nothing is found.
#[track_caller]
fn is_gone<T>(value: T, what: &str) {
    let [before, after] = before_and_after(value);
    if let Some(at) = before.windows(KEY.len()).position(|bytes| bytes == KEY) {
        assert_eq!(after[at..][..KEY.len()], [0; KEY.len()], "{what}: the key is left");
    }
}
