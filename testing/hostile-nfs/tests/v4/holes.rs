//! READ_PLUS and SEEK of the server, by raw bytes.

use crate::asker::{Asker, BYPASS, lookup, op, read, root};
use pagewire_hostile_nfs::v4::{Config, Quirk, ReadPlus, Shape, When, op, status};
use pagewire_hostile_nfs::{Args, Kind, Layout, Segment};

const PAGE: u64 = 4096;

fn config(layout: &Layout) -> Config {
    let mut config = Config::default();
    config.tree = config.tree.with("/export/f", Kind::File(layout.clone()));
    config
}

/// A READ_PLUS: its eof, its count, and the segments that are there, with their bytes.
type Plus = (bool, u32, Vec<(Segment, Vec<u8>)>);

fn plus(asker: &mut Asker, offset: u64, count: u32) -> Result<Plus, u32> {
    let read = read(op::READ_PLUS, BYPASS, offset, count);
    let told = asker.within(vec![root(), lookup("export"), lookup("f"), read]);
    if told.status != status::OK {
        return Err(told.status);
    }
    let mut args = Args(&told.last);
    let (eof, said, mut all) = (args.word() == 1, args.word(), Vec::new());
    while !args.0.is_empty() {
        let (content, offset) = (args.word(), args.hyper());
        let hole = content == 1;
        let data = if hole { Vec::new() } else { args.opaque().to_vec() };
        let len = if hole { args.hyper() } else { data.len() as u64 };
        all.push((Segment { offset, len, hole }, data));
    }
    Ok((eof, said, all))
}

fn asker(config: Config) -> Asker {
    let mut asker = Asker::connected(config, 2);
    // Of what the session takes for a reply there is enough here.
    asker.model.config.maxread = 4096;
    asker
}

#[test]
fn holes_are_told_as_they_are_or_as_data() {
    for (name, layout) in Layout::table(1000, 40_123) {
        let bytes = layout.bytes();
        let mut asker = asker(config(&layout));
        for (offset, count) in [(0, 4096), (500, 1), (999, 3002), (40_000, 4096), (40_123, 9), (50_000, 9)] {
            asker.model.config.read_plus = ReadPlus::Exact;
            let (eof, said, all) = plus(&mut asker, offset, count).unwrap();
            let end = (offset + u64::from(count)).min(layout.len());
            assert_eq!((eof, said as usize), (end == layout.len(), all.len()), "{name}");
            assert!(all.iter().map(|(segment, _)| *segment).eq(layout.segments(offset, end)), "{name}");
            for (segment, data) in all.iter().filter(|(segment, _)| !segment.hole) {
                assert_eq!(data[..], bytes[segment.offset as usize..segment.end() as usize], "{name}");
            }
            asker.model.config.read_plus = ReadPlus::Single;
            let (eof, said, all) = plus(&mut asker, offset, count).unwrap();
            assert_eq!((eof, said as usize), (end == layout.len(), usize::from(offset < layout.len())));
            assert!(all.iter().all(|(segment, data)| {
                (segment.offset, segment.hole) == (offset, false)
                    && data[..] == bytes[offset as usize..end as usize]
            }));
        }
    }
}

#[test]
fn a_large_file_of_holes_costs_nothing() {
    let layout = Layout::alternating(1 << 40, true, 1 << 43);
    let mut asker = asker(config(&layout));
    let (eof, _, all) = plus(&mut asker, (1 << 42) + 5, 4000).unwrap();
    assert_eq!((eof, all[0].0), (false, Segment { offset: (1 << 42) + 5, len: 4000, hole: true }));
    assert_eq!(asker.model.rpc.counts.file_bytes, 0);
    plus(&mut asker, (1 << 43) - 100, 4000).unwrap();
    assert_eq!(asker.model.rpc.counts.file_bytes, 100);
}

#[test]
fn shapes_are_put_together_and_show_when_they_are_to() {
    let layout = Layout::alternating(PAGE, false, 8 * PAGE);
    let mut config = config(&layout);
    let shape = |shape| Quirk::Segments(shape);
    config.quirks =
        vec![(When::Nth(1), shape(Shape::Split(3000))), (When::From(1), shape(Shape::CountMore(5)))];
    let mut asker = asker(config);
    let counts = [(); 3].map(|_| plus(&mut asker, 0, 4096).unwrap()).map(|(_, said, all)| (said, all.len()));
    assert_eq!(counts, [(1, 1), (7, 2), (6, 1)]);
}

#[test]
fn read_plus_may_end_in_the_middle_of_a_conversation() {
    let mut config = config(&Layout::data(PAGE));
    config.quirks = vec![(When::From(2), Quirk::Refuses(op::READ_PLUS, status::NOTSUPP))];
    let mut asker = asker(config);
    let outcomes = [(); 4].map(|_| plus(&mut asker, 0, 10).map(|(_, said, _)| said));
    assert_eq!(outcomes, [Ok(1), Ok(1), Err(status::NOTSUPP), Err(status::NOTSUPP)]);
}

#[test]
fn padding_need_not_be_zero() {
    let mut config = config(&Layout::data(PAGE));
    config.rpc.padding = 0xDE;
    let mut asker = asker(config);
    let read = read(op::READ_PLUS, BYPASS, 0, 5);
    let told = asker.within(vec![root(), lookup("export"), lookup("f"), read]);
    assert_eq!(told.last[told.last.len() - 3..], [0xDE; 3]);
}

/// What SEEK says: a status, whether the file ends, and where.
fn seek(asker: &mut Asker, offset: u64, hole: bool) -> (u32, u32, u64) {
    let path = || vec![root(), lookup("export"), lookup("f")];
    let mut asked = path();
    asked.push(op(op::OPEN, |x| x.words(&[0, 1, 0]).hyper(0).opaque(b"o").words(&[0, 4])));
    let opened = asker.within(asked);
    let mut asked = path();
    asked.push(read(op::SEEK, &opened.last[..16], offset, hole.into()));
    let told = asker.within(asked);
    let words = told.words();
    match told.status {
        status::OK => (status::OK, words[0], u64::from(words[1]) << 32 | u64::from(words[2])),
        status => (status, 0, 0),
    }
}

#[test]
fn a_search_finds_data_holes_and_the_end() {
    let mut asker = Asker::connected(config(&Layout::of(&[100, 200, 50, 150])), 2);
    let (ok, none) = (status::OK, (status::NXIO, 0, 0));
    for (offset, hole, told) in [
        (0, false, (ok, 0, 0)),
        (0, true, (ok, 0, 100)),
        (150, false, (ok, 0, 300)),
        (150, true, (ok, 0, 150)),
        (300, true, (ok, 0, 350)),
        (400, true, (ok, 0, 400)),
        (400, false, none),
        (500, false, none),
        (500, true, none),
    ] {
        assert_eq!(seek(&mut asker, offset, hole), told, "{offset} {hole}");
    }
    let mut asker = Asker::connected(config(&Layout::data(500)), 2);
    assert_eq!(seek(&mut asker, 7, true), (ok, 1, 500));
}

#[test]
fn a_search_may_go_wrong_in_each_way() {
    let ok = status::OK;
    for (quirk, told) in [
        (Quirk::SeekBack(30), (ok, 0, 370)),
        (Quirk::SeekOn(30), (ok, 0, 430)),
        (Quirk::SeekStays, (ok, 0, 400)),
        (Quirk::SeekEndsThere, (ok, 1, 400)),
        (Quirk::Refuses(op::SEEK, status::NOTSUPP), (status::NOTSUPP, 0, 0)),
    ] {
        let config = Config { quirks: vec![(When::Always, quirk)], ..config(&Layout::of(&[100, 400])) };
        assert_eq!(seek(&mut Asker::connected(config, 2), 400, false), told, "{quirk:?}");
    }
}

#[test]
fn a_file_may_change_between_two_looks() {
    for (quirk, differ) in [(None, false), (Some((When::Always, Quirk::Changes)), true)] {
        let config = Config { quirks: quirk.into_iter().collect(), ..config(&Layout::data(5)) };
        let mut asker = Asker::connected(config, 2);
        let mut look = || {
            let getattr = op(op::GETATTR, |x| x.words(&[1, 1 << 3]));
            asker.within(vec![root(), lookup("export"), lookup("f"), getattr]).last
        };
        let (first, second) = (look(), look());
        // Exactly what was asked for.
        assert_eq!(first[..12], [0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 8]);
        assert_eq!(first != second, differ);
    }
}
