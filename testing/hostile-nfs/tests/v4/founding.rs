//! The founding table: what of a file with holes passes over the wire, for every page size and every way to tell a hole.

use crate::honest::{connected, sparse};
use pagewire::{Buffer, Counters, Error, Open, Pages, Read, Stream};
use pagewire_hostile_nfs::v4::{Quirk, ReadPlus, Scene, When, op, status};
use pagewire_hostile_nfs::{Counts, Layout, Lent};
use std::fmt::Write;

const LEN: u64 = 4 << 20;
const RING: usize = 512 << 10;

/// Minor version, how READ_PLUS tells holes, whether SEEK does.
type Server = (u32, ReadPlus, bool);

const READ: Server = (1, ReadPlus::Single, false);
const SINGLE: Server = (2, ReadPlus::Single, false);
const EXACT: Server = (2, ReadPlus::Exact, false);
const SINGLE_SEEK: Server = (2, ReadPlus::Single, true);
const EXACT_SEEK: Server = (2, ReadPlus::Exact, true);

fn scene(layout: &Layout, (minor, read_plus, seeks): Server) -> Scene {
    let scene = sparse(minor, layout).with(|scene| {
        (scene.config.maxread, scene.config.read_plus) = (1 << 20, read_plus);
    });
    match seeks {
        true => scene,
        false => scene.quirk(When::Always, Quirk::Refuses(op::SEEK, status::NOTSUPP)),
    }
}

/// What came of a stream.
#[derive(Debug)]
pub struct Streamed {
    pub outcome: Result<u64, Error>,
    pub lent: Lent,
    /// What the server has heard and said meanwhile.
    pub counts: Counts,
    /// What the client counted of it.
    pub file_bytes: u64,
    pub hole_bytes: u64,
}

/// Streams `/export/sparse` through a ring of `ring` bytes in pages of `PAGE`.
pub fn streamed<const PAGE: usize>(scene: &Scene, ring: usize) -> Streamed {
    let mut streamed = None;
    connected(scene, |session| {
        let file = session.run(&mut Open::new("/export/sparse")).unwrap();
        let before = (session.link.end.rpc.counts, *session.client.counters());
        let (mut lent, mut pages) = (Lent::default(), vec![[0xAA; PAGE]; ring / PAGE]);
        let mut pages = Pages(&mut pages);
        let outcome = session.run_each(&mut Stream::new(&file, 0, &mut pages), |content| lent.take(content));
        let now = *session.client.counters();
        streamed = Some(Streamed {
            outcome,
            lent,
            counts: since(before.0, session.link.end.rpc.counts),
            file_bytes: now.file_bytes - before.1.file_bytes,
            hole_bytes: now.hole_bytes - before.1.hole_bytes,
        });
    });
    streamed.expect("it was connected")
}

fn since(before: Counts, now: Counts) -> Counts {
    Counts {
        requests: now.requests - before.requests,
        bytes_in: now.bytes_in - before.bytes_in,
        bytes_out: now.bytes_out - before.bytes_out,
        file_bytes: now.file_bytes - before.file_bytes,
    }
}

/// Bytes that the server sends for the whole file, which is right.
fn moved<const PAGE: usize>(layout: &Layout, bytes: &[u8], server: Server) -> u64 {
    let streamed = streamed::<PAGE>(&scene(layout, server), RING);
    assert_eq!(streamed.outcome, Ok(layout.len()));
    assert!(streamed.lent.bytes() == bytes, "{server:?}: {:?}", streamed.lent.holes());
    assert_eq!(streamed.file_bytes + streamed.hole_bytes, LEN, "{server:?}: every byte is counted once");
    assert_eq!(streamed.file_bytes, streamed.counts.file_bytes, "{server:?}: both sides count the same");
    streamed.counts.bytes_out
}

/// More than the data: an answer to each request, and the heads of the segments.
fn overhead(layout: &Layout) -> u64 {
    let (requests, segments) = (LEN / (64 << 10) + 20, layout.segments(0, LEN).count() as u64);
    160 * requests + 20 * (segments + requests)
}

/// The rows of one page size.
fn rows<const PAGE: usize>(table: &mut String) {
    for (name, layout) in Layout::table(PAGE as u64, LEN) {
        let bytes = layout.bytes();
        let servers = [READ, SINGLE, EXACT, SINGLE_SEEK, EXACT_SEEK];
        let all = servers.map(|server| moved::<PAGE>(&layout, &bytes, server));
        let [read, single, exact, single_seek, exact_seek] = all;
        assert!(single.abs_diff(read) * 50 <= read, "{name} of {PAGE}: {single} is as much as {read}");
        for exact in [exact, exact_seek] {
            assert!(
                exact <= layout.used() + overhead(&layout),
                "{name} of {PAGE}: {exact} is more than data"
            );
        }
        assert!(single_seek <= single + single / 50, "{name} of {PAGE}: {single_seek} for the map");
        let page = PAGE >> 10;
        write!(table, "| {page} KiB | {name} | {} |", layout.used() >> 10).unwrap();
        all.iter().for_each(|moved| write!(table, " {} |", moved.div_ceil(1 << 10)).unwrap());
        table.push('\n');
    }
}

#[test]
fn the_founding_table_is_as_it_was_published() {
    let mut table = String::from(
        "# The founding table\n\n\
         KiB that a server sends for a file of 4096 KiB: all data, all hole, and so many pages of data (`1d`) or of a hole \
         (`1h`) first,\nthen as many of the other, in turn. `READ` is minor version 1; the others are 2, whose READ_PLUS \
         tells holes as data (`Single`, as\nLinux does) or as they are (`Exact`), without SEEK and with it. The test \
         `the_founding_table_is_as_it_was_published` checks every number.\n\n\
         | page | layout | data | READ | Single | Exact | Single, SEEK | Exact, SEEK |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    rows::<4096>(&mut table);
    rows::<16_384>(&mut table);
    rows::<65_536>(&mut table);
    let published = include_str!("../../founding-table.md");
    assert!(published == table, "founding-table.md is to be:\n{table}");
}

#[test]
fn the_map_that_a_stream_lends_is_the_same_whoever_tells_it() {
    const MIN: u64 = pagewire::limits::HOLE_LEN_MIN;
    for (name, layout) in Layout::table(MIN, 16 * MIN).into_iter().chain(Layout::table(4 * MIN, LEN)) {
        let holes: Vec<_> = layout.segments(0, LEN).filter(|segment| segment.hole).collect();
        let holes: Vec<_> = holes.iter().map(|hole| (hole.offset, hole.end())).collect();
        for server in [EXACT, SINGLE_SEEK, EXACT_SEEK] {
            for lent in [
                streamed::<4096>(&scene(&layout, server), RING).lent,
                streamed::<16_384>(&scene(&layout, server), RING).lent,
                streamed::<65_536>(&scene(&layout, server), RING).lent,
            ] {
                assert_eq!(lent.holes(), holes, "{name} {server:?}");
                assert!(lent.bytes() == layout.bytes(), "{name} {server:?}");
            }
        }
        assert_eq!(streamed::<4096>(&scene(&layout, SINGLE), RING).lent.holes(), [], "{name}");
    }
}

#[test]
fn pages_are_filled_the_same_whoever_tells_the_holes() {
    for (name, layout) in Layout::table(5000, 300_007) {
        for (offset, server) in
            [0, 1, 4999, 123_456, 299_000].into_iter().flat_map(|at| [READ, SINGLE, EXACT].map(|s| (at, s)))
        {
            connected(&scene(&layout, server), |session| {
                let file = session.run(&mut Open::new("/export/sparse")).unwrap();
                let mut memory = vec![0xAA; 70_000];
                let filled = session.run(&mut Read::new(&file, offset, &mut Buffer(&mut memory))).unwrap();
                let mut expected = layout.read(offset, 70_000);
                assert_eq!(filled.len, expected.len(), "{name} {offset} {server:?}");
                expected.resize(70_000, 0);
                assert!(memory == expected, "{name} {offset} {server:?}");
                let Counters { file_bytes, hole_bytes, .. } = *session.client.counters();
                assert_eq!(file_bytes + hole_bytes, filled.len as u64, "{name} {offset} {server:?}");
                let told = layout.segments(offset, offset + 70_000).filter(|segment| segment.hole);
                let holes = told.map(|segment| segment.len).sum();
                assert_eq!(hole_bytes, if server == EXACT { holes } else { 0 });
            });
        }
    }
}
