//! Bugs that are planted are found.

use pagewire::inflight::Inflight;
use pagewire::plan::Limits;
use pagewire::protocol::{Answer, Ask, EntryAt, Head, Left, Link as Symlink, Mark, Progress, RangeAt, Reply};
use pagewire::smb::Dialect;
use pagewire::{Error, Outbox, Protocol, compound::Cost};
use pagewire_hostile::{Server, Setup};
use pagewire_line::{Chunks, Heard, Link};
use pagewire_model::{Config, Lie, Tree};
use pagewire_sim::noise::{Fault, Strike};
use pagewire_sim::program::Act;
use pagewire_sim::smb::{Keeping, SmbSide};
use pagewire_sim::{Side, Truth, Twist, World};
use std::panic::{AssertUnwindSafe, catch_unwind};

const READS: [Act; 2] = [Act::Read(0, 4, false), Act::Stream(0, 8, true)];

/// What a world says of a side, if it fails.
fn complaint(side: &impl Side, acts: &[Act], strikes: &[Strike]) -> Option<String> {
    let world = World {
        page: 512,
        more: [4096, 4096, 5],
        acts: acts.to_vec(),
        chunks: Chunks::Whole,
        strikes: strikes.to_vec(),
    };
    let panic = catch_unwind(AssertUnwindSafe(|| world.happens(side, Twist::default()))).err()?;
    let text = panic.downcast_ref::<String>().cloned();
    text.or(panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
}

/// Signed, or as a guest, with a file of 5000 bytes.
fn smb(setup: Setup) -> SmbSide {
    let tree = Tree::new().pattern("f", 5000).directory("d");
    let config = Config { tree, guest: setup.is_guest(), max_read_size: 1024, ..Config::default() };
    SmbSide { setup, config, lies: Vec::new() }
}

/// Flips of a bit, late in each of the first frames.
fn flips() -> impl Iterator<Item = Strike> {
    (0..20).map(|frame| Strike { frame, fault: Fault::Flipped { byte: 600, bit: 3 } })
}

#[test]
fn what_is_as_it_should_be_is_not_complained_of() {
    for setup in [Setup::guest(Dialect::Smb311), Setup::SIGNED[0], Setup::SIGNED[2], Setup::SEALED[1]] {
        for strike in flips() {
            assert_eq!(complaint(&smb(setup), &READS, &[strike]), None, "{setup:?} {strike:?}");
        }
    }
}

/// What is wrong with an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    /// It believes every frame.
    Gullible,
    /// It takes a map that is cut for the whole one: what is not told is a hole.
    Incurious,
}

/// SMB with a bug.
#[derive(Debug)]
struct Buggy(Keeping, Bug);

impl Buggy {
    fn believes(&self, verified: Result<(), Error>) -> Result<(), Error> {
        if self.1 == Bug::Gullible { Ok(()) } else { verified }
    }
}

impl Protocol for Buggy {
    type Handle = <Keeping as Protocol>::Handle;
    type Stage = <Keeping as Protocol>::Stage;
    type Holes = <Keeping as Protocol>::Holes;

    fn frame_end(&mut self) -> Result<(), Error> {
        let verified = self.0.frame_end();
        self.believes(verified)
    }
    fn part_end(&mut self) -> Result<(), Error> {
        let verified = self.0.part_end();
        self.believes(verified)
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
        match self.0.answer(reply, stage, out)? {
            Answer::Ranges { start, len, .. } if self.1 == Bug::Incurious => {
                Ok(Answer::Ranges { start, len, known: u64::MAX })
            }
            answer => Ok(answer),
        }
    }
    fn notice(&mut self, message: &[u8], out: &mut Outbox<'_, '_>) -> Result<(), Error> {
        self.0.notice(message, out)
    }
    fn entry(&self, entries: &[u8], at: usize) -> Result<EntryAt, Error> {
        self.0.entry(entries, at)
    }
    fn range(&self, ranges: &[u8], at: usize) -> Result<RangeAt, Error> {
        self.0.range(ranges, at)
    }
    fn link<'f>(&self, frame: &'f [u8], path: &str) -> Result<Symlink<'f>, Error> {
        self.0.link(frame, path)
    }
    fn limits(&self) -> Limits {
        self.0.limits()
    }
}

/// An engine with a bug.
#[derive(Debug)]
struct Planted(SmbSide, Bug);

impl Side for Planted {
    type Protocol = Buggy;
    type End = Server;
    const FRAGMENTS: bool = false;

    fn name(&self) -> String {
        self.0.name()
    }
    fn protocol(&self, phase: usize) -> Buggy {
        Buggy(self.0.protocol(phase), self.1)
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
    let side = Planted(smb(Setup::SIGNED[0]), Bug::Gullible);
    let found: Vec<_> = flips().filter_map(|strike| complaint(&side, &READS, &[strike])).collect();
    assert!(found.iter().any(|complaint| complaint == "wrong bytes were lent"), "{found:?}");
}

#[test]
fn an_engine_that_takes_a_cut_map_for_the_whole_one_is_found() {
    for setup in [Setup::guest(Dialect::Smb311), Setup::SIGNED[1], Setup::SEALED[0]] {
        let mut side = smb(setup);
        side.config.tree = Tree::new().sparse("f", 200_000, &[5000..6000, 80_000..81_000]).directory("d");
        side.config.lies = vec![Lie::ShortRanges(1)];
        let acts = [Act::Map, Act::Stream(0, 8, false)];
        assert_eq!(complaint(&side, &acts, &[]), None, "{setup:?}");
        let side = Planted(side, Bug::Incurious);
        let [map, stream] = acts.map(|act| complaint(&side, &[act], &[]));
        assert_eq!(map.as_deref(), Some("what is data was lent as a hole"), "{setup:?}");
        assert_eq!(stream.as_deref(), Some("wrong bytes were lent"), "{setup:?}");
        // Who reads everything has no use for a map.
        assert_eq!(complaint(&side, &READS, &[]), None, "{setup:?}");
    }
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
    type Protocol = Keeping;
    type End = Decaying;
    const FRAGMENTS: bool = false;

    fn name(&self) -> String {
        self.0.name()
    }
    fn protocol(&self, phase: usize) -> Keeping {
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
    assert_eq!(complaint(&side, &READS, &[]).as_deref(), Some("wrong bytes were lent"));
    // Where it is signed, what the server did not sign is told.
    let side = Decay(smb(Setup::SIGNED[0]));
    let complaint = complaint(&side, &READS, &[]).expect("nothing was wrong, as far as the world knows");
    assert!(complaint.contains("nothing was wrong: Err(Unauthentic("), "{complaint}");
}
