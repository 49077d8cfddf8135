//! One world: everything in it comes out of its seed.

use crate::dice::Dice;
use crate::nfs::NfsSide;
use crate::noise::{Digest, Fault, Noisy, Strike};
use crate::program::{Act, Session};
use crate::side::{Side, Truth};
use crate::smb::SmbSide;
use pagewire::inflight::Slot;
use pagewire::{Error, Protocol, Storage};
use pagewire_hostile_nfs::v3::V3;
use pagewire_hostile_nfs::v4::V4;
use pagewire_line::{Chunks, Line, Link};
use std::fmt::Debug;

/// More steps than a phase of a world takes: its files have some 40 KB, its listings 60 entries, and all may come byte by
/// byte; or a byte with each reply, if the server says that it brings no more.
pub const STEPS_MAX: usize = 4_000_000;

/// Time that a phase of faults takes at most, with all its time-outs and pauses: an hour.
pub const MS_MAX: u64 = 3_600_000;

/// How often a world may be told that more is to be lent: by each kind of act, for each budget.
const BUDGETS_MAX: usize = 12;

/// What is decided for a world, besides its [`Side`].
#[derive(Clone, Debug)]
pub struct World {
    /// Bytes of a page.
    pub page: usize,
    /// What is lent besides the least: bytes to send from, bytes to receive into, requests in flight.
    pub more: [usize; 3],
    /// What is asked.
    pub acts: Vec<Act>,
    /// In what pieces bytes come and go.
    pub chunks: Chunks,
    /// What the link does in the safety phase.
    pub strikes: Vec<Strike>,
}

/// What came of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What was spoken.
    pub name: String,
    /// The first error of the safety phase, if any.
    pub safety: Result<(), Error>,
    /// The faults that struck.
    pub struck: Vec<Fault>,
    /// Whether the server lied.
    pub lied: bool,
    /// Steps of the two phases.
    pub steps: [usize; 2],
    /// Steps of the link in the safety phase.
    pub link_steps: usize,
    /// Milliseconds of the safety phase. The other takes none.
    pub ms: u64,
    /// Of everything that was said.
    pub digest: Digest,
}

/// How a world is to differ from what its seed says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Twist {
    /// No faults and no lies.
    pub calm: bool,
    /// The link breaks at this step.
    pub cut: Option<usize>,
}

/// Makes the world of a seed, lets it happen, and says what came of it. What must never come of it is a panic. `change` is
/// shown the world before anything happens, and may change what is decided for it.
pub fn run(seed: u64, twist: Twist, change: impl FnOnce(&mut World, &dyn Debug)) -> Outcome {
    // Neighbours shall not have much in common.
    let mut dice = Dice(Dice(seed).any());
    let len = dice.one_of(&[2, 700, 5000, 20_003, 40_000]) - dice.below(3) as u64;
    let world = World::draw(&mut dice, len);
    match dice.below(3) {
        0 => world.begins(SmbSide::draw(&mut dice, len), twist, change),
        1 => world.begins(NfsSide::<V3>::draw(&mut dice, len), twist, change),
        _ => world.begins(NfsSide::<V4>::draw(&mut dice, len), twist, change),
    }
}

impl World {
    /// Any, around a file of `len` bytes.
    pub fn draw(dice: &mut Dice, len: u64) -> World {
        let page = dice.one_of(&[512, 4096, 16_384, 65_536]);
        // Byte by byte only where it does not take for ever.
        let least = if len > 700 { 64 } else { 1 };
        let any = Chunks::Random { seed: dice.any() | 1, max: least + dice.scaled(12) };
        let strikes = (0..dice.below(4)).map(|_| {
            let fault = Fault::draw(dice);
            Strike { frame: dice.scaled(6), fault }
        });
        World {
            page,
            strikes: strikes.collect(),
            more: [dice.scaled(12), if dice.once_in(4) { 0 } else { 2048 } + dice.scaled(12), dice.scaled(3)],
            acts: (0..1 + dice.below(5)).map(|_| Act::draw(dice, len, page)).collect(),
            chunks: dice.one_of(&[Chunks::Whole, any, Chunks::Of(1460)]),
        }
    }

    fn begins<S: Side>(
        mut self,
        side: S,
        twist: Twist,
        change: impl FnOnce(&mut World, &dyn Debug),
    ) -> Outcome {
        change(&mut self, &side);
        self.happens(&side, twist)
    }

    /// With faults and lies first, and then without. Panics if anything comes of it that must not.
    pub fn happens<S: Side>(&self, side: &S, twist: Twist) -> Outcome {
        let truth = side.truth();
        let end = if twist.calm { side.healed(side.server()) } else { side.server() };
        let strikes = if twist.calm { Vec::new() } else { self.strikes.clone() };
        let lied = side.lies() && !twist.calm;
        let noisy = Noisy::new(end, S::FRAGMENTS, strikes, twist.cut);
        let safety = self.phase(side, &truth, self.more, 0, lied, noisy);
        if !lied && safety.link.struck.is_empty() && twist.cut.is_none() {
            assert!(
                matches!(safety.came, Ok(()) | Err(Error::Budget { .. })),
                "nothing was wrong: {:?}",
                safety.came
            );
        }
        assert!(safety.ms <= MS_MAX, "{} ms of faults", safety.ms);

        let Noisy { end, struck, steps: link_steps, digest, .. } = safety.link;
        let liveness = self.lives(side, &truth, end, digest);
        Outcome {
            name: side.name(),
            safety: safety.came,
            struck,
            lied,
            steps: [safety.steps, liveness.steps],
            link_steps,
            ms: safety.ms,
            digest: liveness.link.digest,
        }
    }

    /// Without faults and lies, everything comes. Whoever lent too little is told how much is enough, and lends that.
    fn lives<S: Side>(&self, side: &S, truth: &Truth, mut end: S::End, digest: Digest) -> Phase<S::End> {
        let mut more = self.more;
        for nth in 1..=BUDGETS_MAX {
            let mut calm = Noisy::new(side.healed(end), S::FRAGMENTS, Vec::new(), None);
            calm.digest = digest;
            let phase = self.phase(side, truth, more, nth, false, calm);
            let Err(Error::Budget { what, need, have }) = phase.came else {
                assert_eq!(phase.came, Ok(()), "nothing was wrong any more");
                assert_eq!(phase.ms, 0, "nothing was waited for");
                return phase;
            };
            assert!(need > have, "{need} {what} are wanted, and {have} were lent");
            let budget = ["tx", "rx", "slots"].iter().position(|budget| *budget == what);
            more[budget.expect("a budget that can be lent")] += need - have;
            end = phase.link.end;
        }
        panic!("what is said to be enough is not")
    }

    /// One connection and all that is asked over it, up to what ends it.
    fn phase<S: Side>(
        &self,
        side: &S,
        truth: &Truth,
        more: [usize; 3],
        nth: usize,
        lies: bool,
        noisy: Noisy<S::End>,
    ) -> Phase<S::End> {
        let protocol = side.protocol(nth);
        let need = protocol.need();
        let [tx, rx, slots] = more;
        let (mut tx, mut rx) = (vec![0; need.tx + tx], vec![0; need.reply + rx]);
        let mut slots = vec![Slot::FREE; need.slots + slots];
        let lent = slots.len();
        let storage = Storage { tx: &mut tx, rx: &mut rx, slots: &mut slots };
        let link = Line { chunks: self.chunks, ..Line::new(noisy) };
        let line = pagewire_line::Session::new(storage, protocol, link).expect("more than the least is lent");
        let mut session = Session { line, truth, protects: side.protects(), lies };
        session.line.steps_max = STEPS_MAX;
        let came = match self.page {
            512 => self.acts::<512, _, _>(&mut session),
            4096 => self.acts::<4096, _, _>(&mut session),
            16_384 => self.acts::<16_384, _, _>(&mut session),
            _ => self.acts::<65_536, _, _>(&mut session),
        };
        let line = session.line;
        assert!(line.client.counters().max_in_flight <= lent, "more is in flight than was lent");
        Phase { came, steps: line.steps, ms: line.now.0, link: line.link.end }
    }

    /// The first error.
    fn acts<const SIZE: usize, P: Protocol, L: Link>(
        &self,
        session: &mut Session<'_, '_, P, L>,
    ) -> Result<(), Error> {
        let mut first = Ok(());
        for act in &self.acts {
            first = first.and(session.act::<SIZE>(*act));
            if session.line.client.failed().is_some() {
                break;
            }
        }
        first
    }
}

/// What came of a phase.
struct Phase<L> {
    came: Result<(), Error>,
    steps: usize,
    ms: u64,
    link: Noisy<L>,
}
