//! Pages are the same however the bytes are cut and asked for.

use super::peer::Peer;
use super::world::{Memory, World, assert_same, contents};
use pagewire::{
    Buffer, Close, Connect, Counters, Error, Filled, Map, MapSegment, Open, PageList, Pages, Read,
};
use pagewire::{Sink, Stat, Stream};

/// Everything a client can do, in one conversation: what came of it, and what it cost.
fn conversation(peer: Peer, read_max: usize, write_max: usize) -> (Vec<u8>, Counters) {
    let mut memory = Memory::slots(3);
    let mut world = World::new(&mut memory, peer);
    (world.read_max, world.write_max) = (read_max, write_max);
    world.run(&mut Connect::new()).unwrap();
    let file = world.open();
    let mut pages = [[0xEE; 512]; 3];
    let filled = world.run(&mut Read::new(&file, 700, &mut Pages(&mut pages))).unwrap();
    assert_eq!(filled, Filled { len: 1300, eof: true });
    let mut came = pages.as_flattened().to_vec();
    let mut sink = Pages(&mut pages);
    let mut stream = Stream::new(&file, 0, &mut sink);
    let end = world.run_each(&mut stream, |_, item| came.extend(item.data())).unwrap();
    world.list(|_, entry| came.extend(entry.name.raw())).unwrap();
    assert_eq!((end, world.run(&mut Stat::new("file")).unwrap().len), (2000, 2000));
    world.run(&mut Close::new(&file)).unwrap();
    assert!(matches!(world.run(&mut Open::new("nowhere")), Err(Error::Refused(_))));
    assert!(world.peer.handles.is_empty());
    (came, *world.client.counters())
}

fn wanted() -> Vec<u8> {
    let mut want = contents(700, 1536, 2000);
    want.extend(contents(0, 2000, 2000));
    want.extend(names().concat());
    want
}

fn names() -> Vec<Vec<u8>> {
    (0..40).map(|i| format!("name {i}").into_bytes()).collect()
}

fn peers() -> impl Iterator<Item = Peer> {
    [(false, false, false), (true, false, true), (true, true, false), (true, true, true)].into_iter().map(
        |(sealed, chain, reversed)| Peer {
            names: names(),
            read_len_max: 333,
            gap: 3,
            pad: 5,
            pending: 1,
            sealed,
            chain,
            reversed,
            ..Peer::with_file(2000)
        },
    )
}

#[test]
fn every_chunking_of_a_conversation_gives_the_same_pages_at_the_same_cost() {
    for index in 0..4 {
        let peer = || peers().nth(index).unwrap();
        let (_, cost) = conversation(peer(), usize::MAX, usize::MAX);
        let cuts = (1..70).map(|n| (n, n)).chain((1..70).map(|n| (n, 1))).chain((1..70).map(|n| (1, n)));
        for (read_max, write_max) in cuts.chain((70..1200).step_by(37).map(|n| (n, n))) {
            let (came, counters) = conversation(peer(), read_max, write_max);
            assert_same(&came, &wanted(), &(index, read_max, write_max));
            assert_eq!(counters, cost, "{index} {read_max} {write_max}");
        }
    }
}

#[test]
fn frames_in_fragments_cut_anywhere_give_the_same_pages() {
    for index in 0..4 {
        for fragment in (1..60).chain([333, 400, 1000, 100_000]) {
            for chunk in [1, 7, usize::MAX] {
                let peer = Peer { fragment, ..peers().nth(index).unwrap() };
                let (came, _) = conversation(peer, chunk, usize::MAX);
                assert_same(&came, &wanted(), &(index, fragment, chunk));
            }
        }
    }
}

/// Reads into contiguous pages, then into the same number of pages in an odd order.
fn read_both_ways<const SIZE: usize>(read_len_max: u32, slots: usize) {
    let file_len = (2 * SIZE as u64 + 77).min(300 * u64::from(read_len_max));
    let mut memory = Memory::slots(slots);
    let peer = Peer { read_len_max, gap: 1, pad: 2, reversed: slots % 2 == 0, ..Peer::with_file(file_len) };
    let mut world = World::connected(&mut memory, peer);
    let file = world.open();
    let want = contents(0, 3 * SIZE, file_len);
    let mut contiguous = vec![[0xEE; SIZE]; 3];
    let filled = world.run(&mut Read::new(&file, 0, &mut Pages(&mut contiguous))).unwrap();
    assert_eq!(filled, Filled { len: file_len as usize, eof: true });
    assert_same(contiguous.as_flattened(), &want, &(SIZE, read_len_max, slots));

    let mut scattered = [[0xEE; SIZE]; 3];
    let [first, second, third] = &mut scattered;
    world.run(&mut Read::new(&file, 0, &mut PageList(&mut [third, first, second]))).unwrap();
    scattered.rotate_right(1);
    assert_same(scattered.as_flattened(), &want, &(SIZE, read_len_max, slots));

    let mut streamed = Vec::new();
    let mut pages = Pages(&mut contiguous);
    world.run_each(&mut Stream::new(&file, 0, &mut pages), |_, item| streamed.extend(item.data())).unwrap();
    assert_same(&streamed, &want[..file_len as usize], &(SIZE, read_len_max, slots));
    let longest = world.peer.log.iter().map(|request| request.len).max().unwrap();
    assert!(longest <= read_len_max);
}

#[test]
fn every_request_length_and_window_fills_every_page_size() {
    for slots in 1..=8 {
        for read_len_max in [1, 7, 333, 4096, 65536] {
            read_both_ways::<512>(read_len_max, slots);
            read_both_ways::<4096>(read_len_max, slots);
        }
    }
    for (read_len_max, slots) in [(1, 8), (7, 1), (333, 3), (4096, 8), (65536, 2)] {
        read_both_ways::<65536>(read_len_max, slots);
    }
}

#[test]
fn short_replies_of_every_size_are_asked_on_until_all_is_there() {
    for short in 1..=336 {
        for reversed in [false, true] {
            let mut memory = Memory::slots(3);
            let peer = Peer { read_len_max: 333, short, reversed, ..Peer::with_file(1400) };
            let mut world = World::connected(&mut memory, peer);
            let file = world.open();
            let mut pages = [[0xEE; 512]; 3];
            let filled = world.run(&mut Read::new(&file, 0, &mut Pages(&mut pages))).unwrap();
            assert_eq!(filled, Filled { len: 1400, eof: true });
            assert_same(pages.as_flattened(), &contents(0, 1536, 1400), &short);
            let mut came = Vec::new();
            let mut pages = Pages(&mut pages);
            world
                .run_each(&mut Stream::new(&file, 0, &mut pages), |_, item| came.extend(item.data()))
                .unwrap();
            assert_same(&came, &contents(0, 1400, 1400), &short);
        }
    }
}

#[test]
fn a_file_may_end_anywhere_before_at_and_after_the_end_of_the_pages() {
    for (offset, file_len) in
        [0u64, 1, 511, 512, 700].into_iter().flat_map(|o| (0..1300).map(move |l| (o, l)))
    {
        let mut memory = Memory::slots(2);
        let mut world =
            World::connected(&mut memory, Peer { read_len_max: 333, ..Peer::with_file(file_len) });
        let file = world.open();
        let mut pages = [[0xEE; 512]; 2];
        let filled = world.run(&mut Read::new(&file, offset, &mut Pages(&mut pages))).unwrap();
        assert_eq!(filled.len as u64, file_len.saturating_sub(offset).min(1024), "{offset} {file_len}");
        if offset + 1024 != file_len {
            assert_eq!(filled.eof, offset + 1024 > file_len, "{offset} {file_len}");
        }
        assert_same(pages.as_flattened(), &contents(offset, 1024, file_len), &(offset, file_len));
    }
}

#[test]
fn a_read_whose_pages_end_where_the_file_ends_says_that_it_ends() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::with_file(1024));
    let file = world.open();
    let mut pages = [[0xEE; 512]; 2];
    let filled = world.run(&mut Read::new(&file, 0, &mut Pages(&mut pages))).unwrap();
    assert_eq!(filled, Filled { len: 1024, eof: true }, "`eof`: whether the file ends with them");
}

#[test]
fn a_file_that_has_become_shorter_ends_where_the_server_says() {
    for (file_len, short) in (0..1100).step_by(7).flat_map(|len| [(len, 100), (len, u32::MAX)]) {
        let mut memory = Memory::slots(3);
        let peer = Peer { read_len_max: 256, file_len, file_len_at_open: 5000, short, ..Peer::default() };
        let mut world = World::connected(&mut memory, peer);
        let file = world.open();
        let mut pages = [[0xEE; 512]; 4];
        let filled = world.run(&mut Read::new(&file, 0, &mut Pages(&mut pages))).unwrap();
        assert_eq!(filled, Filled { len: file_len as usize, eof: true });
        assert_same(pages.as_flattened(), &contents(0, 2048, file_len), &(file_len, short));
    }
}

#[test]
fn offsets_beyond_4_gib_are_no_different() {
    let file_len = (5 << 32) + 12_345;
    for offset in [(1 << 31) - 99, (1 << 32) - 4097, (1 << 32) - 1, 1 << 32, (5 << 32) - 1, 5 << 32] {
        let mut memory = Memory::slots(4);
        let mut world = World::connected(&mut memory, Peer { pad: 1, ..Peer::with_file(file_len) });
        let file = world.open();
        let mut pages = vec![[0xEE; 4096]; 5];
        world.run(&mut Read::new(&file, offset, &mut Pages(&mut pages))).unwrap();
        assert_same(pages.as_flattened(), &contents(offset, 20_480, file_len), &offset);
    }
    let mut memory = Memory::slots(4);
    let mut world = World::connected(&mut memory, Peer::with_file(file_len));
    let file = world.open();
    let (mut pages, mut came) = (vec![[0xEE; 512]; 9], Vec::new());
    let mut pages = Pages(&mut pages);
    let mut stream = Stream::new(&file, (5 << 32) - 5000, &mut pages);
    assert_eq!(world.run_each(&mut stream, |_, item| came.extend(item.data())), Ok(file_len));
    assert_same(&came, &contents((5 << 32) - 5000, 17_345, file_len), &"tail");
}

#[test]
fn where_nothing_is_to_be_read_nothing_is_asked() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::with_file(1000));
    let file = world.open();
    let asked = world.peer.log.len();
    let mut page = [[0xEE; 512]];
    for offset in [1000, 1001, 1 << 40, u64::MAX] {
        let filled = world.run(&mut Read::new(&file, offset, &mut Pages(&mut page)));
        assert_eq!((filled, page[0]), (Ok(Filled { len: 0, eof: true }), [0; 512]));
        assert_eq!(world.run(&mut Stream::new(&file, offset, &mut Pages(&mut page))), Ok(offset));
        page[0].fill(0xEE);
    }
    let filled = world.run(&mut Read::new(&file, 0, &mut Pages::<512>(&mut []))).unwrap();
    assert_eq!(filled.len, 0);
    assert_eq!(world.peer.log.len(), asked);
    let outcome = world.run(&mut Stream::new(&file, 0, &mut Pages::<512>(&mut [])));
    assert_eq!(outcome, Err(Error::Invalid("there is no page to read into")));
}

#[test]
fn a_buffer_of_any_length_will_do() {
    for len in 1..700 {
        let mut memory = Memory::slots(2);
        let mut world = World::connected(&mut memory, Peer { read_len_max: 100, ..Peer::with_file(500) });
        let file = world.open();
        let mut bytes = vec![0xEE; len];
        let mut buffer = Buffer(&mut bytes);
        assert_eq!(buffer.page_len(), len);
        world.run(&mut Read::new(&file, 3, &mut buffer)).unwrap();
        assert_same(&bytes, &contents(3, len, 500), &len);
        let mut came = Vec::new();
        let mut buffer = Buffer(&mut bytes);
        world.run_each(&mut Stream::new(&file, 3, &mut buffer), |_, item| came.extend(item.data())).unwrap();
        assert_same(&came, &contents(3, 497, 500), &len);
    }
}

#[test]
fn a_file_of_a_protocol_that_cannot_say_is_one_segment_of_data_without_a_request() {
    let mut memory = Memory::slots(3);
    let mut world = World::connected(&mut memory, Peer::with_file(2000));
    let file = world.open();
    let requests = world.client.counters().requests;
    for (from, want) in [
        (0, Some(MapSegment { offset: 0, len: 2000, hole: false })),
        (1999, Some(MapSegment { offset: 1999, len: 1, hole: false })),
        (2000, None),
        (u64::MAX, None),
    ] {
        let mut segments = Vec::new();
        let mut map = Map::new(&file, from);
        world.run_each(&mut map, |_, segment| segments.push(segment)).unwrap();
        assert_eq!((segments, map.was_told()), (Vec::from_iter(want), want.is_none()));
    }
    assert_eq!(world.client.counters().requests, requests);
}
