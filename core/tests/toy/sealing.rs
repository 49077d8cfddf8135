//! Nothing of a frame is believed, lent or kept before the whole of it has verified.

use super::peer::{Peer, Reply};
use super::protocol::{READ, STAT};
use super::world::{Memory, World, assert_same, contents};
use pagewire::{Error, PageList, Pages, Read, Stat, Stream};

const FORGED: Error = Error::Unauthentic("checksum");

fn peer() -> Peer {
    Peer { sealed: true, read_len_max: 200, gap: 1, pad: 2, ..Peer::with_file(800) }
}

/// Flips bits of the byte `at` of the `nth` frame from now on.
fn smudge(world: &mut World<'_>, nth: u32, at: usize, bits: u8) {
    let first = world.peer.frames;
    let mut now = first;
    world.peer.smudge = Some(Box::new(move |frame| {
        if now == first + nth {
            if let Some(byte) = frame.get_mut(4 + at) {
                *byte ^= bits;
            }
        }
        now += 1;
    }));
}

#[test]
fn whatever_bit_of_a_sealed_frame_is_changed_it_is_unauthentic_and_the_pages_are_wiped() {
    // Envelope 6, head 20, gap 1, data 200, pad 2.
    for at in 0..229 {
        for bits in [1, 2, 0x10, 0x80, 0xFF] {
            for read_max in [9999, 7] {
                let mut memory = Memory::slots(4);
                let mut world = World::connected(&mut memory, peer());
                world.read_max = read_max;
                let file = world.open();
                smudge(&mut world, 0, at, bits);
                let mut pages = [[0xEE; 512]; 2];
                let mut sink = Pages(&mut pages);
                let mut read = Read::new(&file, 0, &mut sink);
                let outcome = world.run(&mut read);
                assert_eq!(outcome, Err(FORGED), "byte {at} bits {bits:#x} by {read_max}");
                world.assert_fatal(&mut read, FORGED);
                let dirty = pages.as_flattened()[..800].iter().position(|byte| *byte != 0);
                assert_eq!(dirty, None, "byte {at} bits {bits:#x}");
            }
        }
    }
}

#[test]
fn in_a_chain_the_data_of_every_member_is_wiped() {
    for at in [0, 6, 30, 300, 500, 800, 897] {
        let mut memory = Memory::slots(4);
        let mut world = World::connected(&mut memory, Peer { chain: true, reversed: true, ..peer() });
        let file = world.open();
        smudge(&mut world, 0, at, 4);
        let (mut first, mut second) = ([0xEE; 512], [0xEE; 512]);
        let mut list = [&mut second, &mut first];
        world.assert_fatal(&mut Read::new(&file, 0, &mut PageList(&mut list)), FORGED);
        assert!(second == [0; 512] && first[..288] == [0; 288], "byte {at}");
    }
}

#[test]
fn a_stream_lends_what_verified_before_and_nothing_of_the_frame_that_did_not() {
    for nth in 0..8 {
        let mut memory = Memory::slots(3);
        let peer = Peer { sealed: true, read_len_max: 512, batch: 1, ..Peer::with_file(8 * 512) };
        let mut world = World::connected(&mut memory, peer);
        let file = world.open();
        smudge(&mut world, nth, 100, 1);
        let (mut ring, mut came) = ([[0xEE; 512]; 3], Vec::new());
        let mut sink = Pages(&mut ring);
        let outcome =
            world.run_each(&mut Stream::new(&file, 0, &mut sink), |_, item| came.extend(item.data()));
        assert_eq!(outcome, Err(FORGED));
        assert_same(&came, &contents(0, 512 * nth as usize, 8 * 512), &nth);
        assert_eq!(ring[nth as usize % 3], [0; 512], "the ring where frame {nth} landed");
    }
}

#[test]
fn what_lies_across_the_end_of_the_ring_is_wiped_on_both_sides_of_it() {
    let mut memory = Memory::slots(1);
    let peer = Peer { sealed: true, read_len_max: 1024, ..Peer::with_file(8 * 512) };
    let mut world = World::connected(&mut memory, peer);
    let file = world.open();
    // Two pages each: the third lies in the last page and the first.
    smudge(&mut world, 2, 900, 1);
    let mut ring = [[0xEE; 512]; 5];
    let outcome = world.run(&mut Stream::new(&file, 0, &mut Pages(&mut ring)));
    assert_eq!(outcome, Err(FORGED));
    assert!(ring[4] == [0; 512] && ring[0] == [0; 512]);
    assert_same(ring[1..4].as_flattened(), &contents(512, 3 * 512, 8 * 512), &"the rest is as it was");
}

#[test]
fn nothing_is_lent_while_a_frame_has_not_ended() {
    for (chain, read_max) in [(true, 1), (true, 9999), (false, 1)] {
        let mut memory = Memory::slots(3);
        let names = (0..100).map(|i| format!("{i}").into_bytes()).collect();
        let peer = Peer { names, chain, sealed: true, read_len_max: 512, pad: 9, ..Peer::with_file(9000) };
        let mut world = World::connected(&mut memory, peer);
        let file = world.open();
        world.read_max = read_max;
        let mut ring = [[0xEE; 512]; 6];
        let (mut sink, mut items) = (Pages(&mut ring), 0);
        let mut check = |peer: &Peer| {
            items += 1;
            assert!(!peer.within_frame());
        };
        world.run_each(&mut Stream::new(&file, 0, &mut sink), |peer, _| check(peer)).unwrap();
        world.list(|peer, _| check(peer)).unwrap();
        assert!(items > 105);
    }
}

/// A stat whose frame is malformed in the way of `lie`, and forged too if `forged`.
fn stat(forged: bool, lie: impl Fn(&mut Vec<Reply>) + 'static) -> Option<Error> {
    let mut memory = Memory::new(512, 8192, 2);
    let mut world = World::connected(&mut memory, Peer { sealed: true, ..Peer::default() });
    world.peer.chain = true;
    world.peer.lie = Some(Box::new(move |request, replies| {
        assert_eq!(request.kind, STAT);
        lie(replies)
    }));
    if forged {
        // The announced sum, so that all else is as it would be.
        smudge(&mut world, 0, 5, 1);
    }
    let frames = world.client.protocol().frames_ended;
    let error = world.run(&mut Stat::new("file")).err();
    assert_eq!(world.client.protocol().frames_ended, frames + 1, "a frame ends once ({error:?})");
    error
}

/// A malformed frame gives `error`; one that is forged as well does not get so far.
#[track_caller]
fn assert_poison(lie: impl Fn(&mut Vec<Reply>) + Clone + 'static, error: Error) {
    assert_eq!(stat(false, lie.clone()), Some(error));
    assert_eq!(stat(true, lie), Some(FORGED));
}

#[test]
fn a_malformed_head_in_a_forged_frame_is_unauthentic_and_not_malformed() {
    assert_poison(|replies| replies[0].status = 77, Error::Malformed("status"));
    assert_poison(|replies| replies[0].id = 5, Error::Misbehaved("a reply that no request awaits"));
}

#[test]
fn bytes_behind_the_last_message_are_told_at_the_end_of_the_frame() {
    let tail = |replies: &mut Vec<Reply>| replies[0].body.extend([0; 7]);
    assert_poison(tail, Error::Malformed("a message ends before its head does"));
}

#[test]
fn a_head_longer_than_rx_is_told_at_the_end_of_the_frame() {
    let long = |replies: &mut Vec<Reply>| {
        replies[0].body.resize(9000, 0);
        replies[0].len = 9000;
    };
    assert_poison(long, Error::Budget { what: "rx", need: 20 + 9000 + 64, have: 8192 });
}

#[test]
fn a_forged_frame_without_other_fault_ends_once() {
    assert_eq!(stat(true, |_| {}), Some(FORGED));
    assert_eq!(stat(true, |replies| replies[0].pad = 5), Some(FORGED));
    assert_eq!(stat(false, |_| {}), None);
}

#[test]
fn the_end_of_each_part_is_told_once_and_of_none_from_a_fault_on() {
    for (fault, pad, ended) in [(9, 0, 3), (9, 5, 3), (0, 5, 0), (1, 0, 1), (1, 5, 1), (2, 0, 2)] {
        let mut memory = Memory::slots(3);
        let peer = Peer { chain: true, read_len_max: 512, pad, ..Peer::with_file(1536) };
        let mut world = World::connected(&mut memory, peer);
        let file = world.open();
        world.peer.lie = Some(Box::new(move |request, replies| {
            if request.offset == fault * 512 {
                replies[0].status = 77;
            }
        }));
        let before = world.client.protocol().parts_ended;
        let mut pages = [[0; 512]; 3];
        let outcome = world.run(&mut Read::new(&file, 0, &mut Pages(&mut pages)));
        assert_eq!(outcome.is_ok(), fault == 9);
        assert_eq!(world.client.protocol().parts_ended - before, ended, "{fault} {pad}");
    }
}

#[test]
fn the_bytes_of_dropped_operations_are_verified_like_all_others() {
    for drop_at in 1..40 {
        let mut memory = Memory::slots(4);
        let mut world = World::connected(&mut memory, peer());
        let file = world.open();
        smudge(&mut world, 1, 100, 1);
        world.read_max = 50;
        let mut pages = [[0xEE; 512]; 2];
        let mut sink = Pages(&mut pages);
        let ended = world.run_steps(&mut Read::new(&file, 0, &mut sink), drop_at);
        if ended || world.client.failed().is_some() {
            break;
        }
        world.assert_fatal(&mut Stat::new("file"), FORGED);
    }
}

#[test]
fn a_reply_in_a_forged_frame_has_no_consequence() {
    let mut memory = Memory::slots(4);
    let mut world = World::connected(&mut memory, Peer { chain: true, ..peer() });
    let file = world.open();
    let before = (world.client.protocol().credits, *world.client.counters());
    smudge(&mut world, 0, 5, 1);
    let mut page = [[0; 512]; 2];
    world.assert_fatal(&mut Read::new(&file, 0, &mut Pages(&mut page)), FORGED);
    let toy = world.client.protocol();
    let reads = world.peer.log.iter().filter(|request| request.kind == READ).count() as u32;
    assert_eq!((toy.credits, toy.charged), (before.0 - reads, reads), "no credit was taken from it");
    assert_eq!(world.client.counters().responses, before.1.responses);
    assert_eq!(world.client.counters().file_bytes, before.1.file_bytes);
}
