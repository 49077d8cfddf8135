//! Recorded conversations with a real server, cut into pieces in every way: the same is said, and the same comes of it.

use pagewire::smb::Smb;
use pagewire::{Kind, StorageArray, Time};
use pagewire_hostile::{Chunks, Line, RECORDED, Recorded, Session, Side, Story, Tape};

/// Plays a conversation back with pages of `SIZE` bytes; what the client says must be what it said then.
fn play<const SIZE: usize>(recorded: &Recorded, tape: &Tape, said: &[u8], chunks: Chunks) -> Story {
    let mut storage = StorageArray::<4096, 4096, 16>::new();
    let smb = Smb::new(recorded.setup.config());
    let mut session = Session::new(storage.lend(), smb, Line { chunks, ..Line::new(tape.clone()) }).unwrap();
    let mut story = Story::default();
    let outcome = Recorded::PROGRAM.run::<SIZE, _>(&mut session, &mut story);
    assert_eq!(outcome, Ok(()), "{} in {chunks:?}, pages of {SIZE}", recorded.name);
    assert!(session.client.counters().max_in_flight >= 3, "{}: reads in a row say little", recorded.name);
    assert!(session.link.end.heard == said, "{} in {chunks:?}, pages of {SIZE}: other bytes", recorded.name);
    story
}

/// Pages of `SIZE` bytes and any of `chunks` give the same story.
fn agrees<const SIZE: usize>(all: impl Iterator<Item = Chunks> + Clone) {
    for recorded in RECORDED {
        let conversation = recorded.conversation();
        let (tape, said) = (Tape::new(&conversation), conversation.all(Side::Client));
        let story = play::<SIZE>(&recorded, &tape, &said, Chunks::Whole);
        is_what_the_server_has(&story);
        for chunks in all.clone() {
            assert_eq!(play::<SIZE>(&recorded, &tape, &said, chunks), story, "{}", recorded.name);
        }
    }
}

/// The bytes of `size-65537` from `offset` on: records of 16 bytes that say where they stand.
fn file(offset: usize) -> Vec<u8> {
    let record = |at: usize| format!("fdc2 {:010x}\n", at * 16).into_bytes();
    let records = (offset / 16..65_537_usize.div_ceil(16)).flat_map(record);
    records.skip(offset % 16).take(65_537 - offset).collect()
}

fn is_what_the_server_has(story: &Story) {
    let program = Recorded::PROGRAM;
    assert!(story.file == file(program.offset as usize) && story.tail == file(program.tail as usize));
    let modified = Some(Time { seconds: 1_614_834_367, nanoseconds: 890_123_400 });
    let [opened, looked_at] = [story.opened.unwrap(), story.attributes.unwrap()];
    assert_eq!((opened.len, opened.modified), (65_537, modified));
    assert_eq!((looked_at.kind, looked_at.len, looked_at.modified), (Kind::File, 100, modified));
    assert_eq!(story.entries.len(), 12);
    assert!(story.entries.iter().all(|(_, entry)| (entry.len, entry.modified) == (100, modified)));
    let units = |name: &str| name.encode_utf16().count();
    let has = |name: &str| story.entries.iter().filter(|(entry, _)| entry == name).count();
    assert_eq!(has("caf\u{e9}.txt") + has("\u{1F600}.txt") + has("with space & #hash %41.txt"), 3);
    assert_eq!(story.entries.iter().map(|(name, _)| units(name)).max(), Some(255));
}

fn of(sizes: impl Iterator<Item = usize> + Clone) -> impl Iterator<Item = Chunks> + Clone {
    sizes.map(Chunks::Of)
}

fn random(seeds: std::ops::Range<u64>) -> impl Iterator<Item = Chunks> + Clone {
    // From pieces that are all small to pieces that are a frame and more.
    seeds.map(|seed| Chunks::Random { seed: seed + 1, max: 1 << (1 + seed % 14) })
}

#[test]
fn every_chunking_gives_the_same_pages_of_512_bytes() {
    agrees::<512>(of((1..=100).chain([128, 511, 512, 513, 1460, 4096, 8192, 8276, 9000])));
    agrees::<512>(random(0..42));
}

#[test]
fn every_chunking_gives_the_same_pages_of_4_kib() {
    agrees::<4096>(of([1, 3, 17, 1448, 4096].into_iter()).chain(random(100..107)));
}

#[test]
fn every_chunking_gives_the_same_pages_of_16_kib() {
    agrees::<16_384>(of([1, 3, 17, 1448, 4096].into_iter()).chain(random(200..207)));
}

#[test]
fn every_chunking_gives_the_same_pages_of_64_kib() {
    agrees::<65_536>(of([1, 3, 17, 1448, 4096].into_iter()).chain(random(300..307)));
}

#[test]
fn what_was_recorded_was_protected_as_it_says() {
    for recorded in RECORDED {
        let conversation = recorded.conversation();
        let [client, server] = [Side::Client, Side::Server].map(|side| conversation.all(side));
        let starts = |bytes: &[u8], with: &[u8]| bytes.windows(4).filter(|at| *at == with).count();
        let sealed = recorded.name.contains("sealed");
        assert_eq!(starts(&client, b"\xFDSMB") > 10, sealed, "{}", recorded.name);
        assert_eq!(starts(&server, b"\xFDSMB") > 10, sealed, "{}", recorded.name);
        assert!(server.len() > 30_000, "{}", recorded.name);
    }
}
