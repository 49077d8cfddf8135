//! What a conversation costs is known to the byte.

use super::peer::Peer;
use super::world::{Memory, World};
use pagewire::{Close, Connect, Counters, Open, Pages, Read, Stat};

// A frame's mark and a request; a frame's mark and a reply's head.
const REQUEST: u64 = 4 + 27;
const REPLY: u64 = 4 + 20;

#[test]
fn the_counters_of_a_scripted_conversation_are_exact() {
    let mut memory = Memory::slots(4);
    let mut world =
        World::new(&mut memory, Peer { read_len_max: 256, gap: 1, pad: 2, ..Peer::with_file(1200) });
    assert_eq!(*world.client.counters(), Counters::default());
    world.run(&mut Connect::new()).unwrap();
    let mut want = Counters {
        requests: 1,
        responses: 1,
        round_trips: 1,
        bytes_sent: REQUEST,
        bytes_received: REPLY + 4 + 2,
        file_bytes: 0,
        hole_bytes: 0,
        max_in_flight: 1,
    };
    assert_eq!(*world.client.counters(), want);

    let file = world.open();
    want.bytes_sent += REQUEST + 4;
    want.bytes_received += REPLY + 12 + 2;
    (want.requests, want.responses, want.round_trips) = (2, 2, 2);
    assert_eq!(*world.client.counters(), want);

    // 1200 bytes in fives of 256: four at once, the fifth when the first has come.
    let mut pages = [[0; 512]; 3];
    world.run(&mut Read::new(&file, 0, &mut Pages(&mut pages))).unwrap();
    want.bytes_sent += 5 * REQUEST;
    want.bytes_received += 5 * (REPLY + 1 + 2) + 1200;
    (want.requests, want.responses, want.round_trips) = (7, 7, 4);
    (want.file_bytes, want.max_in_flight) = (1200, 4);
    assert_eq!(*world.client.counters(), want);

    // Nobody waits for the reply to a close; the next operation takes it on its way.
    world.run(&mut Close::new(&file)).unwrap();
    want.bytes_sent += REQUEST;
    want.requests += 1;
    assert_eq!(*world.client.counters(), want);
    world.run(&mut Stat::new("file")).unwrap();
    want.bytes_sent += REQUEST + 4;
    want.bytes_received += 2 * (REPLY + 2) + 9;
    (want.requests, want.responses, want.round_trips) = (9, 9, 5);
    assert_eq!(*world.client.counters(), want);
    assert_eq!(want.bytes_sent, world.peer.bytes_heard);
}

#[test]
fn a_refusal_an_end_of_file_and_a_short_reply_are_responses_and_an_interim_is_not() {
    let mut memory = Memory::slots(1);
    let peer = Peer { file_len: 300, file_len_at_open: 512, pending: 2, short: 200, ..Peer::default() };
    let mut world = World::connected(&mut memory, peer);
    let file = world.open();
    assert!(world.run(&mut Stat::new("nowhere")).is_err());
    let mut pages = [[0; 512]; 1];
    world.run(&mut Read::new(&file, 0, &mut Pages(&mut pages))).unwrap();
    let counters = world.client.counters();
    // Connect, open, stat; then 200 bytes, 100 bytes, the end.
    assert_eq!((counters.requests, counters.responses, counters.round_trips), (6, 6, 6));
    assert_eq!(counters.file_bytes, 300);
}

#[test]
fn an_idle_keepalive_counts_as_bytes_alone() {
    let mut memory = Memory::slots(1);
    let mut world = World::connected(&mut memory, Peer::default());
    let before = *world.client.counters();
    world.peer.say(&[0; 4]);
    world.run(&mut Stat::new("file")).unwrap();
    let after = *world.client.counters();
    assert_eq!(after.bytes_received - before.bytes_received, 4 + REPLY + 9);
    assert_eq!((after.responses, after.round_trips), (2, 2));
}

#[test]
fn only_bytes_that_arrived_in_pages_are_file_bytes() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::with_file(512));
    let file = world.open();
    let mut pages = [[0; 512]; 1];
    world.run_steps(&mut Read::new(&file, 0, &mut Pages(&mut pages)), 1);
    world.run(&mut Stat::new("file")).unwrap();
    assert_eq!(world.client.counters().file_bytes, 0, "the read was dropped before a byte of it came");
    assert_eq!(world.client.counters().responses, 4);
}

#[test]
fn the_close_of_an_orphan_waited_for_its_open() {
    let mut memory = Memory::slots(3);
    let mut world = World::connected(&mut memory, Peer::default());
    world.run_steps(&mut Open::new("file"), 1);
    world.run(&mut Stat::new("file")).unwrap();
    assert_eq!(world.client.counters().round_trips, 2, "open and stat went out together");
    // The orphan was closed when its open was answered; the next stat takes the reply on its way.
    let mut stat = Stat::new("file");
    while world.client.counters().responses < 4 {
        assert!(!world.run_steps(&mut stat, 1));
    }
    assert_eq!(world.client.counters().round_trips, 3, "one more than its open's");
}

#[test]
fn requests_of_one_write_are_one_round_trip_whatever_their_number() {
    for slots in 1..=8 {
        let mut memory = Memory::slots(slots);
        let mut world = World::connected(&mut memory, Peer { read_len_max: 64, ..Peer::with_file(512) });
        let file = world.open();
        let mut pages = [[0; 512]; 1];
        world.run(&mut Read::new(&file, 0, &mut Pages(&mut pages))).unwrap();
        let counters = world.client.counters();
        assert_eq!((counters.requests, counters.max_in_flight), (10, slots));
        if slots == 8 || slots == 1 {
            assert_eq!(counters.round_trips, 2 + 8 / slots as u32);
        }
    }
}
