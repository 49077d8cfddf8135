//! NFS: which version, and what the server is like.

mod wrong;

pub use wrong::Wrong;

use crate::dice::Dice;
use crate::side::{Side, Truth};
use pagewire::nfs::{self, nfs4};
use pagewire_hostile_nfs::scene::Version;
use pagewire_hostile_nfs::v3::{self, V3};
use pagewire_hostile_nfs::v4::{self, Channel, Quirk, ReadPlus, Shape, V4, When, op, status};
use pagewire_hostile_nfs::{Fragments, Kind, Layout, Manner, Place, Run, Tree};
use pagewire_line::Link;
use wrong::{lies, wrong};

/// A client and a server that speak a version of NFS.
#[derive(Debug)]
pub struct NfsSide<V: Version> {
    /// The client of the first phase.
    pub client: V::Client,
    /// The server without its lies; what is odd and legal it always does.
    pub config: V::Config,
    /// The server in the safety phase, if it is another one.
    pub lying: Option<V::Config>,
    /// What of its replies is not true then.
    pub wrong: Vec<(Place, Option<usize>, Wrong)>,
}

fn manner(dice: &mut Dice) -> Manner {
    let lengths: [&'static [usize]; 4] = [&[], &[], &[7, 64, 3], &[1000, 1]];
    Manner {
        verifier_len: dice.one_of(&[0, 0, 5, 400]),
        padding: dice.any() as u8,
        fragments: Fragments { lengths: dice.one_of(&lengths), empty_last: dice.once_in(4) },
        reversed: dice.once_in(2),
        ..Manner::default()
    }
}

/// A file of `len` bytes of data and some holes, a long one among them if the file is long and that costs nothing; and a
/// directory.
fn tree(dice: &mut Dice, len: u64, sparse: bool) -> Tree {
    let holes = dice.once_in(2);
    let mut runs = Vec::new();
    let mut left = len.max(1);
    while left > 0 && runs.len() < 12 {
        let data = left.min(1 + dice.scaled(15) as u64);
        left -= data;
        runs.push(Run { len: data, hole: false });
        if holes {
            let most = if sparse && len > 5000 && runs.len() == 1 { 300_000 } else { 4096 };
            runs.push(Run { len: 1 + dice.any() % most, hole: true });
        }
    }
    let first = dice.below(runs.len().min(2));
    runs.rotate_left(first);
    let whole = runs.iter().map(|run| run.len).sum::<u64>().min(len.saturating_mul(1 << 20));
    let tree = Tree::default().with("/export", Kind::Directory).with("/export/d", Kind::Directory);
    let tree = tree.with("/export/f", Kind::File(Layout::repeated(&runs, whole)));
    (0..dice.scaled(6)).fold(tree, |tree, n| {
        let name = format!("/export/d/{n:02}{}", "n".repeat(dice.below(80)));
        tree.pattern(&name, dice.scaled(20))
    })
}

fn truth(tree: &Tree) -> Truth {
    let Some(Kind::File(file)) = tree.get("/export/f").map(|node| &node.kind) else {
        unreachable!("it is a file")
    };
    let mut entries: Vec<_> =
        tree.children("/export/d").map(|node| (node.name().to_owned(), node.len())).collect();
    entries.sort();
    Truth { file: "/export/f", content: file.bytes(), map: None, directory: "/export/d", entries }
}

/// How many bytes READ brings: the longest that may be asked, and the most that come.
fn reads(dice: &mut Dice) -> (u32, usize) {
    let longest = dice.one_of(&[512, 4096, 10_000, 65_536, 1 << 20]);
    (longest, if dice.once_in(3) { 64 + dice.below(5000) } else { usize::MAX })
}

impl NfsSide<V3> {
    /// Any.
    pub fn draw(dice: &mut Dice, len: u64) -> Self {
        const CALLS: [Place; 8] = [
            (100_000, 3),
            (100_005, 1),
            (100_003, 1),
            (100_003, 3),
            (100_003, 6),
            (100_003, 17),
            (100_003, 18),
            (100_003, 19),
        ];
        let (rtmax, brings) = reads(dice);
        let config = v3::Config {
            rpc: manner(dice),
            tree: tree(dice, len, false),
            unmountable: if dice.once_in(2) {
                vec![("/export/f", 20), ("/export/d", 13)]
            } else {
                Vec::new()
            },
            attributes: !dice.once_in(4),
            plain_listings: dice.once_in(4),
            handle_len: 20 + 4 * dice.below(12),
            rtmax,
            brings,
            surplus: dice.one_of(&[0, 0, 6]),
            ..v3::Config::default()
        };
        let wrong = wrong(dice, &CALLS, true);
        // A lie about how many bytes count would make bytes of the file of those behind them.
        let mut lying = v3::Config { surplus: 0, ..config.clone() };
        lying.rpc.lies = lies(&wrong);
        let lying = Some(lying).filter(|_| !wrong.is_empty());
        let client = nfs::Config { xid: dice.any() as u32, ..V3::usual().0 };
        NfsSide { client, config, lying, wrong }
    }
}

impl NfsSide<V4> {
    /// Any.
    pub fn draw(dice: &mut Dice, len: u64) -> Self {
        const PROGRAM: u32 = 100_003;
        const LAST: [u32; 8] = [
            op::GETATTR,
            op::READ,
            op::READ_PLUS,
            op::READDIR,
            op::SEQUENCE,
            op::EXCHANGE_ID,
            op::SEEK,
            op::OPEN,
        ];
        let minor = dice.below(3) as u32;
        let (maxread, brings) = reads(dice);
        let most = Channel { request_len_max: 65_536, response_len_max: 4 << 20, operations: 32, slots: 16 };
        let config = v4::Config {
            rpc: manner(dice),
            tree: tree(dice, len, minor == 2),
            minors: minor..=minor,
            channel: Channel { slots: dice.one_of(&[1, 2, 16]), ..most },
            maxread,
            brings,
            handle_len: 20 + 4 * dice.below(27),
            takes_bypass: !dice.once_in(4),
            takes_anonymous: !dice.once_in(4),
            read_plus: dice.one_of(&[ReadPlus::Single, ReadPlus::Exact]),
            quirks: habits(dice, brings == usize::MAX),
        };
        let wrong = wrong(dice, &LAST.map(|op| (PROGRAM, op)), false);
        let mut lying = config.clone();
        lying.rpc.lies = lies(&wrong);
        for _ in 0..dice.below(4).saturating_sub(1) {
            let when =
                dice.one_of(&[When::Always, When::Nth(0), When::Nth(2), When::First(3), When::From(4)]);
            let quirk = quirk(dice, brings == usize::MAX);
            // Each shape alone is told from the truth, or is none of it. Two together may be a lie about what is in the file.
            let shape = |quirk: &Quirk| matches!(quirk, Quirk::Segments(_));
            lying.quirks.retain(|(_, known)| !shape(&quirk) || !shape(known));
            lying.quirks.push((when, quirk));
        }
        let lies = !wrong.is_empty() || lying.quirks.len() > config.quirks.len();
        // Whoever is not told the longest READ asks for more than comes, and what lies behind that is then said to be what it is not.
        let untold = wrong.iter().any(|(place, ..)| *place == (PROGRAM, op::GETATTR))
            || lying.quirks.iter().any(|(_, quirk)| matches!(quirk, Quirk::Refuses(op::GETATTR, _)));
        lying.quirks.retain(|(_, quirk)| !untold || !is_longer(quirk));
        let lying = Some(lying).filter(|_| lies);
        let client = nfs4::Config { minor: Some(minor), xid: dice.any() as u32, ..V4::usual().0 };
        NfsSide { client, config, lying, wrong }
    }
}

/// Whether it says something of what lies behind all that was asked for.
const fn is_longer(quirk: &Quirk) -> bool {
    matches!(quirk, Quirk::Segments(Shape::HoleLonger(_) | Shape::DataLonger(_) | Shape::BothEnds(_)))
}

/// What is odd and legal. `whole` says that replies bring all that was asked for.
fn habits(dice: &mut Dice, whole: bool) -> Vec<(When, Quirk)> {
    let shapes = [Shape::HoleBefore(900), Shape::DataBefore(17), Shape::Split(200), Shape::BothEnds(2000)];
    let shape = dice.one_of(if whole { &shapes } else { &shapes[..3] });
    let mut habits = vec![
        Quirk::SeekEndsThere,
        Quirk::Refuses(op::SEEK, status::NOTSUPP),
        Quirk::Refuses(op::READ_PLUS, status::NOTSUPP),
        Quirk::Segments(shape),
    ];
    habits.retain(|_| dice.once_in(6));
    habits.into_iter().map(|habit| (When::Always, habit)).collect()
}

fn quirk(dice: &mut Dice, whole: bool) -> Quirk {
    const OPS: [u32; 14] = [
        op::ACCESS,
        op::CLOSE,
        op::GETATTR,
        op::GETFH,
        op::LOOKUP,
        op::OPEN,
        op::PUTFH,
        op::PUTROOTFH,
        op::READ,
        op::READDIR,
        op::READ_PLUS,
        op::SEEK,
        op::SEQUENCE,
        op::CREATE_SESSION,
    ];
    const STATUSES: [u32; 14] = [
        status::NOENT,
        status::INVAL,
        status::STALE,
        status::NOTSUPP,
        status::DELAY,
        status::GRACE,
        status::EXPIRED,
        status::STALE_CLIENTID,
        status::STALE_STATEID,
        status::BAD_STATEID,
        status::BADSESSION,
        status::SEQ_MISORDERED,
        status::OP_ILLEGAL,
        status::REP_TOO_BIG,
    ];
    let (len, flags) = (1 + dice.scaled(13) as u64, dice.any() as u32);
    match dice.below(20) {
        0..8 => Quirk::Refuses(dice.one_of(&OPS), dice.one_of(&STATUSES)),
        8 | 9 => Quirk::Restarts,
        10..15 => Quirk::Segments(shape(dice, len, whole)),
        _ => dice.one_of(&[
            Quirk::OtherXid,
            Quirk::OtherOperation(len as usize % 4),
            Quirk::ResultMissing,
            Quirk::ResultMore,
            Quirk::MismatchSaid(status::INVAL),
            Quirk::OtherSession,
            Quirk::OtherSlot,
            Quirk::OtherSequence,
            Quirk::StatusFlags(flags),
            Quirk::TargetSlot(0),
            Quirk::Changes,
            Quirk::CookieStays,
            Quirk::ListsNothing,
            // Less than was asked for already comes, and so this would be a lie about the file.
            if whole { Quirk::ReadMore(len as u32) } else { Quirk::ReadNothing },
            Quirk::ReadNothing,
            Quirk::SeekBack(len),
            Quirk::SeekStays,
        ]),
    }
}

fn shape(dice: &mut Dice, len: u64, whole: bool) -> Shape {
    let shapes = [
        Shape::HoleBefore(len),
        Shape::DataBefore(len),
        Shape::Split(64 + len),
        Shape::NoSegments,
        Shape::EmptyAtZero,
        Shape::EmptyBetween,
        Shape::CutOff(64 + len),
        Shape::EofAlways,
        Shape::Outside(len),
        Shape::Elsewhere(len),
        Shape::Overlap(len),
        Shape::Gap(len),
        Shape::Reversed,
        Shape::CountMore(1),
        Shape::CountFewer(1),
        Shape::OtherContent(2),
        // Where a reply is short they say what is not so.
        Shape::HoleLonger(len),
        Shape::DataLonger(len),
        Shape::BothEnds(len),
    ];
    dice.one_of(if whole { &shapes } else { &shapes[..16] })
}

/// A version of NFS, in a world.
pub trait Heal: Version {
    /// The server as `config` has it now, with what it remembers, for a new connection of a new client.
    fn healed(model: Self::Model, client: &Self::Client, config: &Self::Config) -> Self::Model;

    /// The client of a later phase: another xid, as a caller draws one for each connection.
    fn next(client: &Self::Client, phase: usize) -> Self::Client;

    /// What it is called.
    fn name(config: &Self::Config) -> String;
}

/// The xids of a phase are far from those of all others.
fn xid(first: u32, phase: usize) -> u32 {
    first.wrapping_add(phase as u32 * 0x0100_0000)
}

impl Heal for V3 {
    /// It remembers nothing.
    fn healed(_: v3::Model, client: &Self::Client, config: &v3::Config) -> v3::Model {
        V3::model(client, config)
    }

    fn next(client: &Self::Client, phase: usize) -> Self::Client {
        nfs::Config { xid: xid(client.xid, phase), ..client.clone() }
    }

    fn name(_: &v3::Config) -> String {
        "nfs 3".into()
    }
}

impl Heal for V4 {
    fn healed(mut model: v4::Model, _: &Self::Client, config: &v4::Config) -> v4::Model {
        model.config = config.clone();
        model.rpc.manner = config.rpc.clone();
        assert!(model.connect(v4::PORT), "it listens there");
        model
    }

    /// By its verifier it has started again, or is another connection of the same client.
    fn next(client: &Self::Client, phase: usize) -> Self::Client {
        let verifier = if client.xid % 2 == 0 { [phase as u8; 8] } else { client.verifier };
        nfs4::Config { xid: xid(client.xid, phase), verifier, ..client.clone() }
    }

    fn name(config: &v4::Config) -> String {
        format!("nfs 4.{}", config.minors.end())
    }
}

impl<V: Heal> Side for NfsSide<V>
where
    V: std::fmt::Debug,
{
    type Protocol = V::Nfs;
    type End = V::Model;
    const FRAGMENTS: bool = true;

    fn name(&self) -> String {
        V::name(&self.config)
    }

    fn protocol(&self, phase: usize) -> V::Nfs {
        V::nfs(&V::next(&self.client, phase))
    }

    fn server(&self) -> V::Model {
        V::model(&self.client, self.lying.as_ref().unwrap_or(&self.config))
    }

    fn healed(&self, end: V::Model) -> V::Model {
        V::healed(end, &self.client, &self.config)
    }

    fn lies(&self) -> bool {
        self.lying.is_some()
    }

    /// Nothing does, over AUTH_SYS and AUTH_NONE.
    fn protects(&self) -> bool {
        false
    }

    fn truth(&self) -> Truth {
        truth(V::tree(&mut self.config.clone()))
    }
}
