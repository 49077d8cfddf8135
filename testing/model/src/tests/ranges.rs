//! QUERY_ALLOCATED_RANGES, and every way in which its reply can be wrong.

use crate::client::{Client, Received, create_body, info_body, ranges_body};
use crate::{Command, Config, Dialect, Lie, Status, Tree};

const LEN: u64 = 100_000;

/// A file of three runs, open.
fn opened(lies: &[Lie]) -> (Client, Received) {
    let tree = Tree::new().sparse("f", LEN, &[1000..2000, 9000..9500, 70_000..LEN]).pattern("dense", LEN);
    let config = Config { tree, lies: lies.to_vec(), ..Config::default() };
    let mut client = Client::connected(config, Dialect::V311);
    let file = client.ask(Command::Create, create_body("f", 0));
    (client, file)
}

/// The status, and the ranges by their start and length.
fn asked(lies: &[Lie], from: u64, len: u64, max: u32) -> (Status, Vec<(u64, u64)>) {
    let (mut client, file) = opened(lies);
    ranges(&client.ask(Command::Ioctl, ranges_body(file.file_id(), from, len, max)))
}

fn ranges(reply: &Received) -> (Status, Vec<(u64, u64)>) {
    assert!(reply.verified);
    if reply.status().is_error() {
        return (reply.status(), Vec::new());
    }
    let numbers: Vec<_> =
        reply.body[48..].as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    (reply.status(), numbers.as_chunks().0.iter().map(|[offset, len]| (*offset, *len)).collect())
}

const ALL: [(u64, u64); 3] = [(1000, 1000), (9000, 500), (70_000, 30_000)];

#[test]
fn a_sparse_file_says_so_and_how_much_of_it_is_stored() {
    let (mut client, file) = opened(&[]);
    assert_eq!(
        file.body[40..60],
        [&[0, 0x80, 0, 0, 0, 0, 0, 0], &LEN.to_le_bytes()[..], &[0, 2, 0, 0]].concat()
    );
    let all = client.ask(Command::QueryInfo, info_body(file.file_id(), 1, 18, 1000));
    assert_eq!((&all.body[8 + 32..][..4], &all.body[8 + 40..][..3]), (&[0, 2, 0, 0][..], &[0, 0x80, 0][..]));
}

#[test]
fn ranges_are_the_runs_of_data_within_what_is_asked_about() {
    assert_eq!(asked(&[], 0, LEN, 1000), (Status::SUCCESS, ALL.to_vec()));
    assert_eq!(asked(&[], 1500, 7600, 1000), (Status::SUCCESS, vec![(1500, 500), (9000, 100)]));
    assert_eq!(asked(&[], 2000, 7000, 0), (Status::SUCCESS, vec![]));
    assert_eq!(asked(&[], LEN, 9, 1000), (Status::SUCCESS, vec![]));
    let (mut client, _) = opened(&[]);
    let dense = client.ask(Command::Create, create_body("dense", 0)).file_id();
    let reply = client.ask(Command::Ioctl, ranges_body(dense, 5, LEN, 1000));
    assert_eq!(ranges(&reply), (Status::SUCCESS, vec![(5, LEN - 5)]));
}

#[test]
fn what_has_no_room_is_left_out_and_the_status_says_so() {
    for (max, count) in [(16, 1), (31, 1), (47, 2)] {
        assert_eq!(asked(&[], 0, LEN, max), (Status::BUFFER_OVERFLOW, ALL[..count].to_vec()), "{max}");
        assert_eq!(asked(&[Lie::RangesCut], 0, LEN, max), (Status::SUCCESS, ALL[..count].to_vec()));
        assert_eq!(asked(&[Lie::RangesTooMany], 0, LEN, max), (Status::BUFFER_TOO_SMALL, vec![]));
    }
    assert_eq!(asked(&[], 0, LEN, 15), (Status::BUFFER_TOO_SMALL, vec![]));
    assert_eq!(asked(&[], 0, LEN, 48), (Status::SUCCESS, ALL.to_vec()));
    assert_eq!(asked(&[Lie::ShortRanges(2)], 0, LEN, 1000), (Status::BUFFER_OVERFLOW, ALL[..2].to_vec()));
}

#[test]
fn numbers_that_are_negative_or_end_behind_the_last_and_what_is_no_file_are_refused() {
    for (from, len) in [(1 << 63, 1), (0, 1 << 63), ((1 << 63) - 1, 1), (u64::MAX, u64::MAX)] {
        assert_eq!(asked(&[], from, len, 1000).0, Status::INVALID_PARAMETER, "{from:#x} {len:#x}");
    }
    assert_eq!(asked(&[], 0, (1 << 63) - 1, 1000).0, Status::SUCCESS);
    let (mut client, _) = opened(&[]);
    let root = client.ask(Command::Create, create_body("", 1)).file_id();
    let reply = client.ask(Command::Ioctl, ranges_body(root, 0, 1, 1000));
    assert_eq!(reply.status(), Status::INVALID_PARAMETER);
    let (mut client, _) = opened(&[]);
    assert_eq!(client.ask(Command::Ioctl, ranges_body([7; 16], 0, 1, 1000)).status(), Status::FILE_CLOSED);
}

#[test]
fn habits_are_legal() {
    let refused = Lie::RangesRefused(Status::NOT_SUPPORTED);
    assert_eq!(asked(&[refused], 0, LEN, 1000), (Status::NOT_SUPPORTED, vec![]));
    let granules = asked(&[Lie::RangeGranule(4096)], 0, LEN, 1000);
    assert_eq!(granules, (Status::SUCCESS, vec![(0, 4096), (8192, 4096), (69_632, LEN - 69_632)]));
    let (_, one) = asked(&[Lie::RangeGranule(65_536)], 0, LEN, 1000);
    assert_eq!(one, [(0, LEN)], "granules that follow each other are one");
    assert_eq!(asked(&[Lie::RangesUnclipped], 1500, 7600, 1000).1, ALL[..2]);
    let (mut client, file) = opened(&[Lie::OutputGap]);
    let reply = client.ask(Command::Ioctl, ranges_body(file.file_id(), 0, LEN, 1000));
    assert_eq!((reply.body[32], reply.body[36], reply.body.len()), (0x80, 48, 48 + 16 + 48));
    assert_eq!(reply.body[64..72], 1000u64.to_le_bytes());
}

#[test]
fn ranges_are_not_what_they_ought_to_be() {
    let lied = |lie| asked(&[lie], 0, LEN, 1000).1;
    assert_eq!(lied(Lie::RangesOutOfOrder), [ALL[1], ALL[2], ALL[0]]);
    assert_eq!(lied(Lie::RangesOverlap)[2..], [ALL[2], (85_000, 30_000)]);
    assert_eq!(lied(Lie::RangeMore { offset: 1 << 63, len: 0 })[2..], [ALL[2], (1 << 63, 0)]);
    assert_eq!(lied(Lie::RangesTorn), ALL);
    let (status, none) = asked(&[Lie::OverflowEmpty], 0, LEN, 1000);
    assert_eq!((status, none), (Status::BUFFER_OVERFLOW, vec![]));
    let stays = |from| asked(&[Lie::OverflowStays], from, 10, 1000);
    assert_eq!(stays(0), (Status::BUFFER_OVERFLOW, vec![]));
    assert_eq!(stays(5), (Status::BUFFER_OVERFLOW, vec![(0, 5)]));
    let drips = |from| asked(&[Lie::OverflowForEver(1)], from, LEN - from, 1000);
    assert_eq!(drips(1001), (Status::BUFFER_OVERFLOW, vec![(1001, 1)]));
    assert_eq!(drips(LEN), (Status::SUCCESS, vec![]));
    assert_eq!(asked(&[Lie::TooSmallForEver], 0, 1, 1000), (Status::BUFFER_TOO_SMALL, vec![]));
}

#[test]
fn from_the_nth_reply_on_all_is_data() {
    let (mut client, file) = opened(&[Lie::RangesChange { nth: 2 }]);
    let mut ask = || ranges(&client.ask(Command::Ioctl, ranges_body(file.file_id(), 0, LEN, 1000))).1;
    assert_eq!([ask(), ask(), ask()], [ALL.to_vec(), vec![(0, LEN)], vec![(0, LEN)]]);
}

#[test]
fn the_output_is_not_where_or_what_the_head_says() {
    let head = |lie| {
        let (mut client, file) = opened(&[lie]);
        let reply = client.ask(Command::Ioctl, ranges_body(file.file_id(), 0, LEN, 1000));
        let word = |at: usize| u32::from_le_bytes(reply.body[at..at + 4].try_into().unwrap());
        (word(32), word(36), reply.body.len() - 48)
    };
    assert_eq!(head(Lie::KeepAlives), (0x70, 48, 48));
    assert_eq!(head(Lie::RangesTorn), (0x70, 49, 49));
    assert_eq!(head(Lie::OutputOffsetOutside), (0x10_0000, 48, 48));
    assert_eq!(head(Lie::OutputOffsetBeforeBody), (0x20, 48, 48));
    assert_eq!(head(Lie::OutputCountBeyond), (0x70, 64, 48));
}
