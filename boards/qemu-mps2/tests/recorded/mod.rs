//! Conversations with Samba that `testing/hostile` has recorded, as far as the end of their first file: what the engine says on this
//! processor is what it said on another, byte for byte.

use pagewire::operation::{Item, Operation};
use pagewire::smb::negotiate::{AES_128_GCM, AES_GMAC};
use pagewire::smb::{Config, Dialect, Dialects, Entropy, Identity, Policy, Smb};
use pagewire::{Client, Connect, Open, Pages, Step, StorageArray, Stream};

const SAID_SIGNED: &[u8] = include_bytes!("../../../../testing/hostile/conversations/3.1.1-signed-gmac.conv");
const SAID_SEALED: &[u8] =
    include_bytes!("../../../../testing/hostile/conversations/3.1.1-sealed-gcm-128.conv");

/// What the client was told each time. It stands in `testing/hostile/src/setup.rs` too.
fn config() -> Config<'static> {
    let lab = Identity::Named { domain: "", user: "lab", password: "lab-password" };
    // Fixed "entropy" is right in a test and nowhere else.
    let entropy = Entropy::from_bytes([0x17; Entropy::LEN]);
    Config {
        dialects: Dialects::only(Dialect::Smb311),
        filetime: 133_486_382_450_000_000,
        ..Config::new("127.0.0.1", "data", lab, entropy)
    }
}

pub fn replay_signed() {
    replay(SAID_SIGNED, Config { signing_algorithms: &[AES_GMAC], sign: Policy::Always, ..config() });
}

pub fn replay_sealed() {
    replay(SAID_SEALED, Config { ciphers: &[AES_128_GCM], seal: Policy::Always, ..config() });
}

/// `size-65537`, read from here to its end.
const OFFSET: u64 = 45_000;
const LEN: usize = 65_537 - OFFSET as usize;

/// What is still to be said, by both sides.
struct Tape {
    rest: &'static [u8],
    /// Of the run that is being said.
    side: u8,
    run: &'static [u8],
}

impl Tape {
    fn new(said: &'static [u8]) -> Self {
        let rest = said.strip_prefix(b"pagewire conversation 1\n").unwrap();
        Tape { rest, side: b'C', run: &[] }
    }

    /// The next bytes, at most `len`, which this side has to say now.
    fn next(&mut self, side: u8, len: usize) -> &'static [u8] {
        if self.run.is_empty() {
            let (head, rest) = self.rest.split_first_chunk::<5>().expect("there is more to say");
            let [by, length @ ..] = *head;
            self.side = by;
            (self.run, self.rest) = rest.split_at(u32::from_le_bytes(length) as usize);
        }
        assert_eq!(self.side, side, "it is the other side's turn");
        let (now, run) = self.run.split_at(len.min(self.run.len()));
        self.run = run;
        now
    }
}

fn run<O: Operation<Smb<'static>>>(
    client: &mut Client<'_, Smb<'static>>,
    tape: &mut Tape,
    op: &mut O,
    mut each: impl FnMut(Item<'_, Smb<'static>, O>),
) -> O::Output {
    loop {
        match client.step(op) {
            Step::Transmit(bytes) => {
                let said = tape.next(b'C', bytes.len());
                assert!(bytes.starts_with(said), "the engine says something else");
                client.transmitted(said.len());
            }
            Step::Receive(window) => {
                let said = tape.next(b'S', window.len());
                window[..said.len()].copy_from_slice(said);
                client.received(op, said.len());
            }
            Step::Connect(port) => panic!("SMB has no use for port {port}"),
            Step::Wait(_) => panic!("SMB asks for no pause"),
            Step::Item(item) => each(item),
            Step::Done(outcome) => return outcome.unwrap(),
        }
    }
}

/// Has the conversation again as far as the end of the file.
fn replay(said: &'static [u8], config: Config<'static>) {
    let mut tape = Tape::new(said);
    let mut storage = StorageArray::<4096, 4096, 16>::new();
    let mut client = Client::new(storage.lend(), Smb::new(config)).unwrap();
    run(&mut client, &mut tape, &mut Connect::new(), |()| {});
    let file = run(&mut client, &mut tape, &mut Open::new("size-65537"), |()| {});
    let mut memory = [[0; 512]; 128];
    let mut pages = Pages(&mut memory);
    let mut at = OFFSET;
    let end = run(&mut client, &mut tape, &mut Stream::new(&file, OFFSET, &mut pages), |content| {
        content.data().iter().for_each(|byte| {
            assert_eq!(*byte, pattern(at));
            at += 1;
        });
    });
    assert_eq!((end, at), (65_537, OFFSET + LEN as u64));
}

/// A byte of the file: records "TTTT OOOOOOOOOO\n", where O is the record's offset and T the first four digits of the
/// SHA-256 of the file's name (see `testing/servers/files`).
fn pattern(at: u64) -> u8 {
    const TAG: &[u8; 4] = b"fdc2";
    match at % 16 {
        digit @ 0..4 => TAG[digit as usize],
        4 => b' ',
        15 => b'\n',
        digit => b"0123456789abcdef"[((at & !15) >> (4 * (14 - digit)) & 15) as usize],
    }
}
