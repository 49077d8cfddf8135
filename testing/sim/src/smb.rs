//! SMB: as whom, how protected, and what the server is like.

use crate::dice::Dice;
use crate::side::{Segment, Side, Truth};
use pagewire::smb::negotiate::{
    AES_128_CCM, AES_128_GCM, AES_256_CCM, AES_256_GCM, AES_CMAC, AES_GMAC, HMAC_SHA256,
};
use pagewire::smb::{Dialect, Smb};
use pagewire_hostile::{Server, Setup};
use pagewire_model::{Cipher, Config, Content, Kind, Lie, Model, Sealing, Signing, Status, Tree};

/// A client that keeps files, where the server grants leases.
pub type Keeping = Smb<'static, 2>;

/// A client and a server that speak SMB.
#[derive(Debug)]
pub struct SmbSide {
    /// The client.
    pub setup: Setup,
    /// The server without its lies; what is odd and legal it always does.
    pub config: Config,
    /// What it lies about in the safety phase.
    pub lies: Vec<Lie>,
}

const DIALECTS: [Dialect; 5] =
    [Dialect::Smb202, Dialect::Smb210, Dialect::Smb300, Dialect::Smb302, Dialect::Smb311];

impl SmbSide {
    /// Any.
    pub fn draw(dice: &mut Dice, len: u64) -> SmbSide {
        let setup = match dice.below(5) {
            0 => Setup::guest(dice.one_of(&DIALECTS)),
            1 => Setup::user(),
            2 | 3 => signed(dice),
            _ => sealed(dice),
        };
        let content = content(dice, len);
        let lies = lies(dice, &content);
        SmbSide { setup, config: config(dice, setup, content), lies }
    }
}

fn signed(dice: &mut Dice) -> Setup {
    let algorithms: [&'static [u16]; 3] = [&[HMAC_SHA256], &[AES_CMAC], &[AES_GMAC]];
    Setup::signed(dice.one_of(&DIALECTS), dice.one_of(&algorithms))
}

fn sealed(dice: &mut Dice) -> Setup {
    let ciphers: [&'static [u16]; 4] = [&[AES_128_CCM], &[AES_128_GCM], &[AES_256_CCM], &[AES_256_GCM]];
    let dialect = dice.one_of(&DIALECTS[2..]);
    // Before 3.1.1 there is one, and it is not negotiated.
    let ciphers = if dialect == Dialect::Smb311 { dice.one_of(&ciphers) } else { ciphers[0] };
    Setup::sealed(dialect, ciphers)
}

/// A file of `len` bytes of data at most, with holes between them or without. Some are long enough to be left out, if the file is long.
fn content(dice: &mut Dice, len: u64) -> Content {
    let seed = dice.any();
    if dice.once_in(2) {
        return Content::Pattern { len, seed };
    }
    let (mut runs, mut end, mut left, mut long) = (Vec::new(), 0, len, 3);
    for _ in 0..dice.scaled(7) {
        let data = left.min(1 + dice.scaled(15) as u64);
        end += hole(dice, len, &mut long);
        if data == 0 {
            break;
        }
        runs.push(end..end + data);
        (end, left) = (end + data, left - data);
    }
    let len = end + hole(dice, len, &mut long);
    Content::Sparse { len, seed, runs }
}

fn hole(dice: &mut Dice, len: u64, long: &mut u64) -> u64 {
    if len < 5000 || *long == 0 || !dice.once_in(4) {
        return len.min(dice.scaled(13) as u64);
    }
    *long -= 1;
    65_530 + dice.any() % 40_000
}

fn config(dice: &mut Dice, setup: Setup, content: Content) -> Config {
    let tree = Tree::new().file("f", content).directory("d/sub");
    let count = dice.scaled(6);
    let tree = (0..count).fold(tree, |tree, n| {
        let name = format!("d/{n:02}{}", "n".repeat(dice.below(80)));
        tree.pattern(&name, dice.scaled(20) as u64)
    });
    // A guest can neither sign nor seal.
    let may_seal = !setup.is_guest() && DIALECTS[2..].iter().any(|dialect| setup.dialects.contains(*dialect));
    let sealing = match dice.below(4) {
        0 if may_seal => Sealing::Session,
        1 if may_seal => Sealing::Share,
        _ => Sealing::Offered,
    };
    let mut ciphers = vec![Cipher::Aes128Gcm, Cipher::Aes128Ccm, Cipher::Aes256Gcm, Cipher::Aes256Ccm];
    let mut signing = vec![Signing::AesGmac, Signing::AesCmac, Signing::HmacSha256];
    ciphers.rotate_left(dice.below(4));
    signing.rotate_left(dice.below(3));
    Config {
        tree,
        guest: setup.is_guest(),
        signing_required: !setup.is_guest() && dice.once_in(2),
        sealing,
        ciphers,
        signing,
        max_read_size: dice.one_of(&[512, 4096, 10_000, 65_536, 1 << 20]),
        credits_max: dice.one_of(&[1, 2, 3, 8, 512]),
        seed: [dice.any() as u8; 32],
        leases: dice.once_in(2),
        lies: habits(dice, sealing),
        ..Config::default()
    }
}

/// What is odd and legal.
fn habits(dice: &mut Dice, sealing: Sealing) -> Vec<Lie> {
    let mut habits = Vec::new();
    let short = 64 + dice.below(5000) as u32;
    // Not both: a reply would come before the word that it is still to come.
    habits.push(dice.one_of(&[Lie::ReverseReads, Lie::PendingOnce, Lie::PendingTimes(3), Lie::KeepAlives]));
    habits.push(dice.one_of(&[Lie::KeepAlives, Lie::NameDotDot, Lie::ZeroGuid]));
    habits.push(dice.one_of(&[Lie::DataGap, Lie::ShortReads(short)]));
    habits.push(Lie::OplockBreak { nth: 1 + dice.below(4) });
    habits.push(Lie::LeaseBreak { nth: 1 + dice.below(4) });
    habits.push(dice.one_of(&[Lie::LeaseUnasked, Lie::LeaseBreakUnknown, Lie::NoLinks, Lie::DeletePending]));
    habits.push(dice.one_of(&[
        Lie::RangesRefused(Status::NOT_SUPPORTED),
        Lie::RangesRefused(Status::INVALID_DEVICE_REQUEST),
        Lie::RangeGranule(4096),
        Lie::RangeGranule(65_536),
    ]));
    habits.push(dice.one_of(&[Lie::ShortRanges(1), Lie::ShortRanges(3), Lie::RangesCut, Lie::RangesTooMany]));
    habits.push(dice.one_of(&[Lie::RangesUnclipped, Lie::OutputGap]));
    habits.push(dice.one_of(&[
        Lie::RefuseTreeConnectChain,
        Lie::RefuseBehindTreeConnect,
        Lie::RefuseRelatedHandle,
        Lie::SealTreeConnectChain,
    ]));
    habits.retain(|_| dice.once_in(4));
    // A READ in the clear, behind TREE_CONNECT, is refused at once there.
    let at_once = |habit: &Lie| !matches!(habit, Lie::PendingOnce | Lie::PendingTimes(_));
    habits.retain(|habit| sealing != Sealing::Share || at_once(habit));
    habits
}

/// What is not, two times in three; of a file with holes one about its map, one time in two.
fn lies(dice: &mut Dice, content: &Content) -> Vec<Lie> {
    let mut lies = match dice.below(3) {
        0 => vec![lie(dice)],
        1 => vec![lie(dice), lie(dice)],
        _ => Vec::new(),
    };
    // Byte by byte a long hole takes for ever.
    lies.retain(|lie| content.len() < 50_000 || *lie != Lie::MaxReadSize(1));
    if matches!(content, Content::Sparse { .. }) && dice.once_in(2) {
        // Two in one reply may be a lie about what is in the file.
        lies.push(map_lie(dice));
    }
    lies
}

fn map_lie(dice: &mut Dice) -> Lie {
    const LAST: u64 = i64::MAX as u64;
    let offset = dice.one_of(&[LAST - 1, LAST, LAST + 1, u64::MAX]);
    let len = dice.one_of(&[0, 1, LAST, LAST + 1, u64::MAX]);
    let nth = 2 + dice.scaled(3);
    dice.one_of(&[
        Lie::RangesOutOfOrder,
        Lie::RangesOverlap,
        Lie::RangeMore { offset, len },
        Lie::RangesTorn,
        Lie::OutputOffsetOutside,
        Lie::OutputOffsetBeforeBody,
        Lie::OutputCountBeyond,
        Lie::OverflowEmpty,
        Lie::OverflowStays,
        Lie::OverflowForEver(1000),
        Lie::TooSmallForEver,
        Lie::RangesChange { nth },
    ])
}

fn lie(dice: &mut Dice) -> Lie {
    let nth = 1 + dice.scaled(5);
    let at = dice.scaled(15) as u64;
    dice.one_of(&[
        Lie::GrantNothing,
        Lie::GrantNothingForReads,
        Lie::DuplicateReads,
        Lie::UnknownMessageId,
        Lie::WrongCommand,
        Lie::PendingTimes(17),
        Lie::PendingForEver,
        Lie::LeaseOtherKey,
        Lie::LeaseOfMore,
        Lie::LeaseBreaksForEver,
        Lie::SignatureWrong { nth },
        Lie::Unsigned { nth },
        Lie::SealTagWrong { nth },
        Lie::CiphertextWrong { nth },
        Lie::PlaintextOnSealed { nth },
        Lie::TransformSessionId { nth },
        Lie::TransformNested { nth },
        Lie::OriginalMessageSize { nth },
        Lie::Compressed,
        Lie::NotAResponse,
        Lie::ReadStructureSize,
        Lie::DataLengthBeyondFrame,
        Lie::DataLengthBeyondAsked,
        Lie::DataOffsetOutside,
        Lie::DataOffsetBeforeBody,
        Lie::EmptyReads,
        Lie::EndOfFileAt(at),
        Lie::TruncatedAfterOpen(at),
        Lie::SessionExpired { nth },
        Lie::ChainShort,
        Lie::ChainReversed,
        Lie::NextCommandBeyond,
        Lie::NextCommandUnaligned,
        Lie::NextCommandTooSmall,
        Lie::FrameTooLong,
        Lie::TruncateAt(at),
        Lie::MaxReadSize([0, 1, 4095, u32::MAX][nth % 4]),
        Lie::DialectRevision([0x0202, 0x0210, 0x0300, 0x0311, 0x02FF, 0x0400][nth % 6]),
        Lie::CipherId(nth as u16),
        Lie::SigningId(nth as u16),
        Lie::NegotiateWithoutPreauth,
        Lie::ValidateDowngrade,
        Lie::GuestFlag,
        Lie::NullFlag,
        Lie::AvPairsBeyond,
        Lie::AvPairsNeverEnd,
        Lie::ListingNeverEnds,
        Lie::NameWithSlash,
        Lie::NameWithBackslash,
        Lie::NameWithNul,
        Lie::NameLengthBeyond,
        Lie::EmptyPages,
        Lie::EntryOffsetBeyond,
        Lie::EntryOffsetTooSmall,
    ])
}

impl Side for SmbSide {
    type Protocol = Keeping;
    type End = Server;
    const FRAGMENTS: bool = false;

    fn name(&self) -> String {
        let protection = match self.setup {
            setup if setup.seal == pagewire::smb::Policy::Always => "sealed",
            setup if setup.is_protected() => "signed",
            setup if setup.is_guest() => "guest",
            _ => "any",
        };
        format!("smb {protection}")
    }

    fn protocol(&self, _: usize) -> Keeping {
        Smb::keeping(self.setup.config())
    }

    fn server(&self) -> Server {
        let lies = [&self.config.lies[..], &self.lies].concat();
        Server(Model::new(Config { lies, ..self.config.clone() }))
    }

    fn healed(&self, _: Server) -> Server {
        Server(Model::new(self.config.clone()))
    }

    fn lies(&self) -> bool {
        !self.lies.is_empty()
    }

    fn protects(&self) -> bool {
        self.setup.is_protected()
    }

    fn truth(&self) -> Truth {
        let Some(Kind::File(content)) = self.config.tree.get("f").map(|node| &node.kind) else {
            unreachable!("it is a file")
        };
        let mut entries: Vec<_> =
            self.config.tree.children("d").map(|node| (node.name.clone(), node.len())).collect();
        entries.sort();
        let map = Some(map(content, &self.config.lies));
        Truth { file: "f", content: content.read(0, usize::MAX >> 1), map, directory: "d", entries }
    }
}

/// The segments of a file as a server of these habits tells them.
fn map(content: &Content, habits: &[Lie]) -> Vec<Segment> {
    let granule = habits.iter().find_map(|habit| match habit {
        Lie::RangeGranule(len) => Some(*len as usize),
        _ => None,
    });
    let refused = habits.iter().any(|habit| matches!(habit, Lie::RangesRefused(_)));
    let mut data = vec![refused; content.len() as usize];
    content.runs().iter().for_each(|run| data[run.start as usize..run.end as usize].fill(true));
    for granule in data.chunks_mut(granule.unwrap_or(1)) {
        let any = granule.contains(&true);
        granule.fill(any);
    }
    let mut end = 0;
    let segment = |run: &[bool]| {
        let start = end;
        end += run.len() as u64;
        (start, end, !run[0])
    };
    data.chunk_by(|one, next| one == next).map(segment).collect()
}
