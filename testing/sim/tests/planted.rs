//! Bugs that are planted are found.

use pagewire::inflight::Inflight;
use pagewire::plan::Limits;
use pagewire::protocol::{Answer, Ask, EntryAt, Head, Left, Link as Symlink, Mark, Progress, Reply};
use pagewire::smb::{Dialect, Smb};
use pagewire::{Error, Outbox, Protocol, compound::Cost};
use pagewire_hostile::{Server, Setup};
use pagewire_line::{Chunks, Heard, Link};
use pagewire_model::Config;
use pagewire_sim::dice::Dice;
use pagewire_sim::noise::{Fault, Strike};
use pagewire_sim::program::Act;
use pagewire_sim::smb::SmbSide;
use pagewire_sim::{Side, Truth, Twist, World};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a world says of a side, if it fails.
fn complaint(side: &impl Side, strikes: &[Strike]) -> Option<String> {
    let world = World {
        page: 512,
        more: [4096, 4096, 5],
        acts: vec![Act::Read(0, 4, false), Act::Stream(0, 8, true)],
        chunks: Chunks::Whole,
        strikes: strikes.to_vec(),
    };
    let panic = catch_unwind(AssertUnwindSafe(|| world.happens(side, Twist::default()))).err()?;
    let text = panic.downcast_ref::<String>().cloned();
    text.or(panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
}

/// Signed, or as a guest, with a file of 5000 bytes.
fn smb(setup: Setup) -> SmbSide {
    let mut side = SmbSide::draw(&mut Dice(1), 5000);
    let tree = side.config.tree;
    let config = Config { tree, guest: setup.is_guest(), max_read_size: 1024, ..Config::default() };
    (side.setup, side.config, side.lies) = (setup, config, Vec::new());
    side
}

/// Flips of a bit, late in each of the first frames.
fn flips() -> impl Iterator<Item = Strike> {
    (0..20).map(|frame| Strike { frame, fault: Fault::Flipped { byte: 600, bit: 3 } })
}

#[test]
fn what_is_as_it_should_be_is_not_complained_of() {
    for setup in [Setup::guest(Dialect::Smb311), Setup::SIGNED[0], Setup::SIGNED[2], Setup::SEALED[1]] {
        for strike in flips() {
            assert_eq!(complaint(&smb(setup), &[strike]), None, "{setup:?} {strike:?}");
        }
    }
}

/// SMB that believes every frame.
#[derive(Debug)]
struct Gullible(Smb<'static>);

impl Protocol for Gullible {
    type Handle = <Smb<'static> as Protocol>::Handle;
    type Stage = <Smb<'static> as Protocol>::Stage;
    type Holes = <Smb<'static> as Protocol>::Holes;

    fn frame_end(&mut self) -> Result<(), Error> {
        let _ = self.0.frame_end();
        Ok(())
    }
    fn part_end(&mut self) -> Result<(), Error> {
        let _ = self.0.part_end();
        Ok(())
    }

    fn need(&self) -> Cost {
        self.0.need()
    }
    fn mark(&self, mark: [u8; 4]) -> Result<Mark, Error> {
        self.0.mark(mark)
    }
    fn head_len(&self, left: Left) -> usize {
        self.0.head_len(left)
    }
    fn absorb(&mut self, bytes: &mut [u8]) {
        self.0.absorb(bytes);
    }
    fn head(&mut self, head: &[u8], left: Left, inflight: &Inflight<'_>) -> Result<Head, Error> {
        self.0.head(head, left, inflight)
    }
    fn ask(
        &mut self,
        ask: Ask<'_, Self::Handle>,
        stage: &mut Self::Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        self.0.ask(ask, stage, out)
    }
    fn answer(
        &mut self,
        reply: Reply<'_>,
        stage: Option<&mut Self::Stage>,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Answer<Self::Handle>, Error> {
        self.0.answer(reply, stage, out)
    }
    fn notice(&mut self, message: &[u8], out: &mut Outbox<'_, '_>) -> Result<(), Error> {
        self.0.notice(message, out)
    }
    fn entry(&self, entries: &[u8], at: usize) -> Result<EntryAt, Error> {
        self.0.entry(entries, at)
    }
    fn link<'f>(&self, frame: &'f [u8], path: &str) -> Result<Symlink<'f>, Error> {
        self.0.link(frame, path)
    }
    fn limits(&self) -> Limits {
        self.0.limits()
    }
}

/// An engine that does not look at signatures.
#[derive(Debug)]
struct Unverified(SmbSide);

impl Side for Unverified {
    type Protocol = Gullible;
    type End = Server;
    const FRAGMENTS: bool = false;

    fn name(&self) -> String {
        self.0.name()
    }
    fn protocol(&self, phase: usize) -> Gullible {
        Gullible(self.0.protocol(phase))
    }
    fn server(&self) -> Server {
        self.0.server()
    }
    fn healed(&self, end: Server) -> Server {
        self.0.healed(end)
    }
    fn lies(&self) -> bool {
        false
    }
    fn protects(&self) -> bool {
        self.0.protects()
    }
    fn truth(&self) -> Truth {
        self.0.truth()
    }
}

#[test]
fn an_engine_that_lends_what_was_not_verified_is_found() {
    let side = Unverified(smb(Setup::SIGNED[0]));
    let found: Vec<_> = flips().filter_map(|strike| complaint(&side, &[strike])).collect();
    assert!(found.iter().any(|complaint| complaint == "wrong bytes were lent"), "{found:?}");
}

/// A server in which a bit of the file is another, now and then.
struct Decaying(Server, usize);

impl Link for Decaying {
    fn send(&mut self, bytes: &[u8]) -> usize {
        self.0.send(bytes)
    }

    fn receive(&mut self, window: &mut [u8]) -> Heard {
        let heard = self.0.receive(window);
        if let Heard::Bytes(len @ 1000..) = heard {
            self.1 += 1;
            window[len - 1] ^= u8::from(self.1 == 2);
        }
        heard
    }
}

#[derive(Debug)]
struct Decay(SmbSide);

impl Side for Decay {
    type Protocol = Smb<'static>;
    type End = Decaying;
    const FRAGMENTS: bool = false;

    fn name(&self) -> String {
        self.0.name()
    }
    fn protocol(&self, phase: usize) -> Smb<'static> {
        self.0.protocol(phase)
    }
    fn server(&self) -> Decaying {
        Decaying(self.0.server(), 0)
    }
    fn healed(&self, end: Decaying) -> Decaying {
        Decaying(self.0.healed(end.0), 0)
    }
    fn lies(&self) -> bool {
        false
    }
    fn protects(&self) -> bool {
        self.0.protects()
    }
    fn truth(&self) -> Truth {
        self.0.truth()
    }
}

#[test]
fn a_server_whose_file_is_another_is_found() {
    let side = Decay(smb(Setup::guest(Dialect::Smb311)));
    assert_eq!(complaint(&side, &[]).as_deref(), Some("wrong bytes were lent"));
    // Where it is signed, what the server did not sign is told.
    let side = Decay(smb(Setup::SIGNED[0]));
    let complaint = complaint(&side, &[]).expect("nothing was wrong, as far as the world knows");
    assert!(complaint.contains("nothing was wrong: Err(Unauthentic("), "{complaint}");
}
