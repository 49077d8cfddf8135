//! One deadline: a slow server is no error, a silent one is. The caller has all the time it wants.

use super::peer::Peer;
use super::protocol::Toy;
use super::world::{Did, Memory, World};
use pagewire::operation::Operation;
use pagewire::{Close, Connect, Error, List, Millis, Pages, Read, Stat, Step, Stream, limits};

const HOUR: u64 = 3_600_000;
const TIMEOUT: u64 = limits::TIMEOUT_MS as u64;

/// Runs with `ms` of time before every step.
fn run_slowly<O: Operation<Toy>>(
    world: &mut World<'_>,
    op: &mut O,
    now: &mut u64,
    ms: u64,
) -> Result<O::Output, Error> {
    loop {
        *now += ms;
        world.client.tell(Millis(*now));
        if let Did::Ended(result) = world.step(op, &mut |_, _| {}) {
            return result;
        }
    }
}

#[test]
fn a_silent_server_is_timed_out_exactly_at_the_deadline() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    world.client.tell(Millis(1000));
    let mut stat = Stat::new("file");
    world.until_it_receives(&mut stat);
    assert_eq!(world.client.deadline(), Some(Millis(1000 + TIMEOUT)));
    world.client.tell(Millis(1000 + TIMEOUT - 1));
    assert!(matches!(world.client.step(&mut stat), Step::Receive(_)));
    world.client.tell(Millis(1000 + TIMEOUT));
    world.assert_fatal(&mut stat, Error::TimedOut);
}

#[test]
fn a_deadline_may_be_set_and_a_clock_that_goes_back_stands_still() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    world.client.tell(Millis(5000));
    let mut stat = Stat::new("file");
    world.until_it_receives(&mut stat);
    world.client.set_timeout_ms(700);
    world.client.tell(Millis(10));
    assert_eq!(world.client.deadline(), Some(Millis(5700)));
    world.client.tell(Millis(5700));
    world.assert_fatal(&mut stat, Error::TimedOut);
}

#[test]
fn a_byte_a_minute_is_timed_out_and_so_is_a_byte_a_second() {
    for ms in [60_000, 20_000, 1000] {
        let mut memory = Memory::slots(2);
        let mut world = World::connected(&mut memory, Peer::default());
        let file = world.open();
        let mut page = [[0; 512]; 4];
        let mut sink = Pages(&mut page);
        let mut read = Read::new(&file, 0, &mut sink);
        world.until_it_receives(&mut read);
        world.read_max = 1;
        let mut now = 0;
        assert_eq!(run_slowly(&mut world, &mut read, &mut now, ms), Err(Error::TimedOut));
        assert_eq!(now, TIMEOUT.next_multiple_of(ms), "a byte every {ms} ms");
    }
}

/// 100 bytes a second: far below what the deadline allows for a whole reply, far above a byte a minute.
fn steady<O: Operation<Toy>>(peer: Peer, make: impl FnOnce(&mut World<'_>) -> O) -> Option<Error> {
    let mut memory = Memory::new(512, 16_384, 2);
    let mut world = World::connected(&mut memory, peer);
    let mut op = make(&mut world);
    (world.read_max, world.write_max) = (100, 100);
    run_slowly(&mut world, &mut op, &mut 0, 1000).err()
}

#[test]
fn data_that_comes_slowly_but_steadily_is_no_error() {
    let pages = Box::leak(Box::new([[0; 4096]; 4]));
    let sink = Box::leak(Box::new(Pages(pages)));
    let peer = Peer { read_len_max: 16_384, ..Peer::with_file(16_384) };
    assert_eq!(steady(peer, |world| Read::new(&world.open(), 0, sink)), None);
}

#[test]
fn a_listing_that_comes_slowly_but_steadily_is_no_error() {
    let names = (0..500).map(|i| format!("a name of some length {i}").into_bytes()).collect();
    assert_eq!(steady(Peer { names, ..Peer::default() }, |_| List::new("dir")), None);
}

#[test]
fn padding_that_comes_slowly_but_steadily_is_no_error() {
    assert_eq!(steady(Peer { pad: 20_000, ..Peer::default() }, |_| Stat::new("file")), None);
}

#[test]
fn data_for_a_dropped_read_that_comes_slowly_but_steadily_is_no_error() {
    let peer = Peer { read_len_max: 16_384, ..Peer::with_file(16_384) };
    let stat = |world: &mut World<'_>| {
        let mut pages = [[0; 4096]; 4];
        let file = world.open();
        let mut sink = Pages(&mut pages);
        world.run_steps(&mut Read::new(&file, 0, &mut sink), 3);
        Stat::new("file")
    };
    assert_eq!(steady(peer, stat), None);
}

#[test]
fn every_reply_renews_the_deadline_and_an_interim_one_too() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer { pending: 10, ..Peer::default() });
    let mut now = 0;
    for _ in 0..5 {
        // A mark, a head and at most a body: less than a time-out for each reply.
        assert!(run_slowly(&mut world, &mut Stat::new("file"), &mut now, 9000).is_ok());
    }
    assert!(now > 5 * 10 * 2 * 9000);
}

#[test]
fn every_reply_to_requests_of_one_write_renews_the_deadline() {
    let mut memory = Memory::slots(8);
    let mut world = World::connected(&mut memory, Peer { read_len_max: 64, ..Peer::with_file(512) });
    let file = world.open();
    let mut page = [[0; 512]; 1];
    let mut sink = Pages(&mut page);
    // Eight replies, too short to be progress by their bytes: mark, head and data each.
    let (mut read, mut now) = (Read::new(&file, 0, &mut sink), 0);
    assert!(run_slowly(&mut world, &mut read, &mut now, 7000).is_ok());
    assert_eq!(now, 7000 * (1 + 8 * 3 + 1));
}

#[test]
fn a_frame_that_ended_before_the_deadline_has_renewed_it_when_the_next_step_comes() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    let mut stat = Stat::new("file");
    world.until_it_receives(&mut stat);
    // Mark, head and body come just in time, and the caller takes two milliseconds to its next step.
    world.client.tell(Millis(TIMEOUT - 1));
    assert!(!world.run_steps(&mut stat, 3));
    world.client.tell(Millis(TIMEOUT + 1));
    assert_eq!(world.run(&mut stat).map(|attributes| attributes.len), Ok(3000));
}

#[test]
fn a_transport_that_takes_a_byte_every_20_seconds_is_no_error() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    world.write_max = 1;
    let (mut stat, mut sent) = (Stat::new("file"), 0);
    while world.peer.queue.is_empty() {
        world.client.tell(Millis(sent * 20_000));
        assert!(matches!(world.step(&mut stat, &mut |_, _| {}), Did::Sent));
        sent += 1;
    }
    assert_eq!((sent, world.client.failed()), (4 + 27 + 4, None));
}

#[test]
fn the_caller_may_look_at_an_item_for_an_hour() {
    let names = (0..100).map(|i| format!("name {i}").into_bytes()).collect();
    let mut memory = Memory::slots(3);
    let mut world =
        World::connected(&mut memory, Peer { names, batch: 1, read_len_max: 512, ..Peer::default() });
    let file = world.open();
    let mut ring = [[0; 512]; 4];
    let mut sink = Pages(&mut ring);
    let mut stream = Stream::new(&file, 0, &mut sink);
    let (mut now, mut items) = (0, 0);
    loop {
        match world.step(&mut stream, &mut |_, _| {}) {
            Did::Lent => (items, now) = (items + 1, now + HOUR),
            Did::Ended(result) => break assert_eq!(result, Ok(3000)),
            _ => {}
        }
        world.client.tell(Millis(now));
    }
    let mut list = List::new("dir");
    loop {
        match world.step(&mut list, &mut |_, _| {}) {
            Did::Lent => (items, now) = (items + 1, now + HOUR),
            Did::Ended(result) => break assert_eq!(result, Ok(())),
            _ => {}
        }
        world.client.tell(Millis(now));
    }
    assert!(items > 104);
}

#[test]
fn after_an_item_a_silent_server_has_the_whole_time_and_no_more() {
    let mut memory = Memory::slots(3);
    let mut world = World::connected(&mut memory, Peer { batch: 1, read_len_max: 512, ..Peer::default() });
    let file = world.open();
    let mut ring = [[0; 512]; 4];
    let mut sink = Pages(&mut ring);
    let mut stream = Stream::new(&file, 0, &mut sink);
    while !matches!(world.step(&mut stream, &mut |_, _| {}), Did::Lent) {}
    world.client.tell(Millis(HOUR));
    while !matches!(world.client.step(&mut stream), Step::Receive(_)) {
        world.run_steps(&mut stream, 1);
    }
    assert_eq!(world.client.deadline(), Some(Millis(HOUR + TIMEOUT)));
    world.client.tell(Millis(HOUR + TIMEOUT));
    world.assert_fatal(&mut stream, Error::TimedOut);
}

#[test]
fn an_idle_hour_between_operations_is_no_error() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    for hour in 1..5 {
        world.client.tell(Millis(hour * HOUR));
        assert!(world.run(&mut Stat::new("file")).is_ok());
        assert_eq!(world.client.deadline(), None);
    }
}

#[test]
fn an_idle_hour_after_a_close_is_no_error() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    let file = world.open();
    world.run(&mut Close::new(&file)).unwrap();
    // Nobody was there to take the reply: that is not the server's silence.
    world.client.tell(Millis(HOUR));
    assert_eq!(world.run(&mut Stat::new("file")).map(|attributes| attributes.len), Ok(3000));
}

#[test]
fn an_idle_hour_after_an_operation_was_dropped_is_no_error() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    world.run_steps(&mut Stat::new("file"), 1);
    world.client.tell(Millis(HOUR));
    assert_eq!(world.run(&mut Stat::new("file")).map(|attributes| attributes.len), Ok(3000));
}

#[test]
fn a_transport_that_takes_nothing_at_once_has_the_whole_time_too() {
    for start in [0, HOUR] {
        let mut memory = Memory::slots(2);
        let mut world = World::new(&mut memory, Peer::default());
        let mut connect = Connect::new();
        world.client.tell(Millis(start));
        assert!(matches!(world.client.step(&mut connect), Step::Transmit(_)));
        world.client.transmitted(0);
        world.client.tell(Millis(start + 10));
        assert_eq!(world.client.failed(), None, "from {start}");
        world.client.tell(Millis(start + TIMEOUT + 10));
        assert!(matches!(world.client.step(&mut connect), Step::Done(Err(Error::TimedOut))));
    }
}

/// Runs it with a server each of whose frames takes so long.
fn run_by_frames<O: Operation<Toy>>(world: &mut World<'_>, op: &mut O, ms: u64) -> Result<O::Output, Error> {
    let mut now = 0;
    for _ in 0..100 {
        let frames = world.peer.frames;
        if let Did::Ended(result) = world.step(op, &mut |_, _| {}) {
            return result;
        }
        if world.peer.frames != frames {
            now += ms;
            world.client.tell(Millis(now));
        }
    }
    panic!("it does not end");
}

#[test]
fn a_server_that_answers_what_was_dropped_slowly_is_waited_for() {
    let mut memory = Memory::slots(8);
    let mut world = World::connected(&mut memory, Peer { batch: 1, ..Peer::default() });
    for _ in 0..4 {
        world.run_steps(&mut Stat::new("file"), 1);
    }
    assert!(run_by_frames(&mut world, &mut Stat::new("file"), 10_000).is_ok());
}

#[test]
fn a_server_that_answers_slowly_what_nobody_waits_for_is_waited_for_where_slots_depend_on_it() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer { batch: 1, ..Peer::default() });
    let files = [world.open(), world.open()];
    files.iter().for_each(|file| world.run(&mut Close::new(file)).unwrap());
    assert!(run_by_frames(&mut world, &mut Stat::new("file"), 20_000).is_ok());
}
