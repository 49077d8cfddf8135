//! A stream lends the bytes of a file in order, and keeps its window full.

use super::peer::Peer;
use super::protocol::{READ, REFUSED};
use super::world::{Memory, World, assert_same, contents};
use pagewire::{Error, PageList, Pages, Reason, Sink, Stream};
use std::collections::BTreeMap;

/// Streams a whole file; the items' lengths, after a check of their bytes.
fn stream(world: &mut World<'_>, sink: &mut dyn Sink) -> Vec<usize> {
    let file = world.open();
    let file_len = world.peer.file_len;
    let (mut came, mut lens) = (Vec::new(), Vec::new());
    let end = world.run_each(&mut Stream::new(&file, 0, sink), |_, item| {
        came.extend(item.data());
        lens.push(item.data().len());
    });
    assert_eq!(end, Ok(file_len));
    assert_same(&came, &contents(0, file_len as usize, file_len), &"stream");
    lens
}

/// How many reads of each length were asked.
fn histogram(world: &World<'_>) -> BTreeMap<u32, u32> {
    let mut histogram = BTreeMap::new();
    for request in world.peer.log.iter().filter(|request| request.kind == READ) {
        *histogram.entry(request.len).or_default() += 1;
    }
    histogram
}

#[test]
fn items_are_whole_pages_but_the_last() {
    for (read_len_max, short, pages) in
        [(4096, 9999, 3), (333, 9999, 3), (4096, 100, 4), (700, 699, 1), (1, 9, 2)]
    {
        let mut memory = Memory::slots(3);
        let peer = Peer { read_len_max, short, ..Peer::with_file(3 * 512 + 100) };
        let mut world = World::connected(&mut memory, peer);
        let mut ring = vec![[0; 512]; pages];
        let lens = stream(&mut world, &mut Pages(&mut ring));
        let (last, whole) = lens.split_last().unwrap();
        assert!(whole.iter().all(|len| *len > 0 && len % 512 == 0), "{lens:?}");
        assert_eq!((last % 512, lens.iter().sum()), (100, 1636usize));
    }
}

#[test]
fn request_sizes_do_not_decay_when_items_are_consumed_one_page_at_a_time() {
    let mut memory = Memory::slots(4);
    let peer = Peer { read_len_max: 16_384, batch: 1, ..Peer::with_file(1 << 20) };
    let mut world = World::connected(&mut memory, peer);
    let mut ring = vec![[0; 4096]; 16];
    let mut list: Vec<_> = ring.iter_mut().rev().collect();
    let lens = stream(&mut world, &mut PageList(&mut list));
    assert!(lens.iter().all(|len| *len == 4096), "a list of pages lends them one by one");
    assert_eq!(histogram(&world), BTreeMap::from([(16_384, 64)]));
    assert_eq!(world.client.counters().max_in_flight, 4);
}

#[test]
fn a_ring_need_not_be_a_multiple_of_the_request() {
    for pages in 1..=23 {
        let mut memory = Memory::slots(8);
        let peer = Peer { read_len_max: 3 * 512, batch: 1, ..Peer::with_file(100_000) };
        let mut world = World::connected(&mut memory, peer);
        let mut ring = vec![[0; 512]; pages];
        stream(&mut world, &mut Pages(&mut ring));
        let histogram = histogram(&world);
        let usual = (pages as u32 * 256).min(3 * 512);
        let usual = if usual >= 512 { usual / 512 * 512 } else { usual };
        let others: u32 = histogram.iter().filter(|(len, _)| **len != usual).map(|(_, count)| count).sum();
        assert!(others <= 1, "{pages} pages: all but the last are {usual} long: {histogram:?}");
    }
}

#[test]
fn the_window_never_drains_while_there_is_more_to_ask() {
    for (pages, slots, in_order) in [(16, 4, true), (16, 8, true), (7, 4, true), (2, 2, true), (16, 4, false)]
    {
        let mut memory = Memory::slots(slots);
        let (batch, reversed) = if in_order { (1, false) } else { (2, true) };
        let peer = Peer { read_len_max: 4096, batch, reversed, ..Peer::with_file(400_000) };
        let mut world = World::connected(&mut memory, peer);
        let file = world.open();
        let mut ring = vec![[0; 4096]; pages];
        let mut list: Vec<_> = ring.iter_mut().collect();
        let mut sink = PageList(&mut list);
        world
            .run_each(&mut Stream::new(&file, 0, &mut sink), |peer, _| {
                let asked = peer.log.iter().map(|request| request.offset + u64::from(request.len)).max();
                let all = asked == Some(400_000);
                let least = slots.min(pages) - batch;
                assert!(all || peer.queue.len() >= least, "{pages} {slots}: {} wait", peer.queue.len());
            })
            .unwrap();
        assert_eq!(world.client.counters().max_in_flight, slots.min(pages));
    }
}

#[test]
fn a_request_is_sent_before_an_item_is_lent_if_it_does_not_need_its_memory() {
    let mut memory = Memory::slots(2);
    let peer = Peer { read_len_max: 512, batch: 1, ..Peer::with_file(20 * 512) };
    let mut world = World::connected(&mut memory, peer);
    let file = world.open();
    let mut ring = [[0; 512]; 4];
    let mut sink = Pages(&mut ring);
    let mut waiting = Vec::new();
    world.run_each(&mut Stream::new(&file, 0, &mut sink), |peer, _| waiting.push(peer.queue.len())).unwrap();
    // Two in flight in a ring of four: with each item two more are on their way, up to the end of the file.
    assert_eq!(waiting, [vec![2; 18], vec![1, 0]].concat());
}

#[test]
fn a_file_that_has_become_shorter_ends_where_the_server_says() {
    for file_len in (0..2100).step_by(13) {
        for (batch, reversed) in [(1, false), (9, false), (9, true)] {
            let mut memory = Memory::slots(3);
            let peer = Peer {
                file_len,
                file_len_at_open: 50_000,
                read_len_max: 300,
                batch,
                reversed,
                ..Peer::default()
            };
            let mut world = World::connected(&mut memory, peer);
            let mut ring = [[0; 512]; 3];
            let lens = stream(&mut world, &mut Pages(&mut ring));
            let whole = lens.len().saturating_sub(1);
            assert!(lens[..whole].iter().all(|len| len % 512 == 0), "{file_len}: {lens:?}");
        }
    }
}

#[test]
fn nothing_is_lent_of_what_a_refused_read_did_not_bring() {
    for (refused, reversed, short) in [0, 1, 2, 5, 9]
        .into_iter()
        .flat_map(|n| [(n, false, 512), (n, true, 512), (n, false, 200), (n, true, 200)])
    {
        let mut memory = Memory::slots(3);
        let peer = Peer { read_len_max: 512, reversed, short, batch: 2, ..Peer::with_file(20 * 512) };
        let mut world = World::connected(&mut memory, peer);
        let file = world.open();
        world.peer.lie = Some(Box::new(move |request, replies| {
            if (request.offset..request.offset + u64::from(request.len)).contains(&(512 * refused)) {
                (replies[0].status, replies[0].len) = (REFUSED, 7);
                replies[0].body.clear();
            }
        }));
        let (mut came, mut ring) = (Vec::new(), [[0; 512]; 6]);
        let mut ring = Pages(&mut ring);
        let outcome =
            world.run_each(&mut Stream::new(&file, 0, &mut ring), |_, item| came.extend(item.data()));
        let Err(Error::Refused(refusal)) = outcome else { panic!("{outcome:?}") };
        assert_eq!((refusal.code, refusal.reason), (7, Reason::Other));
        let until = (512 * refused as usize).min(came.len());
        assert_eq!(came.len(), until, "beyond the refused byte ({refused} {reversed} {short})");
        assert_same(&came, &contents(0, until, 20 * 512), &(refused, reversed, short));
        assert_eq!(world.client.failed(), None, "a refusal is the file's, not the connection's");
    }
}

#[test]
fn a_window_of_credits_bounds_what_is_in_flight_and_nothing_is_lost_with_few() {
    for credits in 1..=9 {
        let mut memory = Memory::slots(8);
        let peer = Peer { read_len_max: 2048, unit: 512, credits, batch: 1, ..Peer::with_file(30_000) };
        let mut world = World::connected(&mut memory, peer);
        let mut ring = [[0; 512]; 32];
        stream(&mut world, &mut Pages(&mut ring));
        let toy = world.client.protocol();
        assert_eq!((toy.credits, toy.charged), (u32::from(credits), 0));
    }
}
