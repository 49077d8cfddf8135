//! The caller's mistakes are told and do no harm.

use super::peer::Peer;
use super::protocol::Toy;
use super::world::{Did, Memory, World, assert_same, contents};
use pagewire::{Client, Connect, Error, Pages, Read, Stat, Statfs, Step, Storage};

const SUPERSEDED: Error = Error::Invalid("another operation was begun since");
const TOO_MUCH: Error = Error::Invalid("more was received than the last step gave a window for");

#[test]
fn to_step_an_older_operation_is_invalid_and_the_newer_one_goes_on() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    let (mut older, mut newer) = (Stat::new("file"), Stat::new("file"));
    world.run_steps(&mut older, 1);
    world.run_steps(&mut newer, 1);
    for _ in 0..3 {
        assert_eq!(world.run(&mut older).err(), Some(SUPERSEDED));
    }
    assert_eq!(world.run(&mut newer).unwrap().len, 3000);
    assert_eq!(world.run(&mut older).err(), Some(SUPERSEDED));
    assert_eq!(world.client.failed(), None);
}

#[test]
fn what_an_operation_gave_it_gives_again_when_stepped_again() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    let file = world.open();
    let mut pages = [[0xEE; 512]; 2];
    let mut sink = Pages(&mut pages);
    let mut read = Read::new(&file, 0, &mut sink);
    let (first, asked) = (world.run(&mut read), world.peer.log.len());
    assert_eq!((world.run(&mut read), world.run(&mut read)), (first, first));
    let mut refused = Stat::new("nowhere");
    let error = world.run(&mut refused).err();
    assert!(matches!(error, Some(Error::Refused(_))) && world.run(&mut refused).err() == error);
    assert_eq!(world.peer.log.len(), asked + 1);
    assert_same(pages.as_flattened(), &contents(0, 1024, 3000), &"pages");
}

#[test]
fn more_received_than_the_window_is_invalid_and_no_panic() {
    for len in [5, 21, 1 << 20, usize::MAX] {
        for steps in 0..30 {
            let mut memory = Memory::slots(2);
            let mut world = World::connected(&mut memory, Peer::default());
            let file = world.open();
            world.read_max = 3;
            let mut pages = [[0xEE; 512]; 1];
            let mut sink = Pages(&mut pages);
            let mut read = Read::new(&file, 0, &mut sink);
            world.run_steps(&mut read, 1 + steps);
            let Step::Receive(window) = world.client.step(&mut read) else { panic!("it receives") };
            if len > window.len() {
                world.client.received(&mut read, len);
                world.assert_fatal(&mut read, TOO_MUCH);
            }
        }
    }
}

#[test]
fn received_with_another_operation_is_invalid_and_leaves_its_pages_alone() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    let file = world.open();
    let (mut done, mut going) = ([[0xEE; 512]; 2], [[0xEE; 512]; 2]);
    let (mut done_sink, mut going_sink) = (Pages(&mut done), Pages(&mut going));
    let mut older = Read::new(&file, 0, &mut done_sink);
    let mut newer = Read::new(&file, 0, &mut going_sink);
    world.run(&mut older).unwrap();
    world.run_steps(&mut newer, 2);
    assert!(matches!(world.client.step(&mut newer), Step::Receive(_)));
    world.client.received(&mut older, 4);
    assert!(matches!(world.client.failed(), Some(Error::Invalid(_))));
    let error = world.client.failed().unwrap();
    world.assert_fatal(&mut newer, error);
    assert_same(done.as_flattened(), &contents(0, 1024, 3000), &"what was read before is the caller's");
}

#[test]
fn received_before_any_step_and_after_the_end_is_no_panic() {
    let mut memory = Memory::slots(2);
    let mut world = World::new(&mut memory, Peer::default());
    let mut connect = Connect::new();
    world.client.received(&mut connect, 100);
    assert_eq!(world.client.failed(), Some(TOO_MUCH));
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    let mut stat = Stat::new("file");
    world.run(&mut stat).unwrap();
    world.client.received(&mut stat, 0);
    world.assert_fatal(&mut stat, Error::Closed);
}

#[test]
fn transmitted_more_than_there_was_counts_what_there_was() {
    let mut memory = Memory::slots(2);
    let mut world = World::new(&mut memory, Peer::default());
    let mut connect = Connect::new();
    let Step::Transmit(bytes) = world.client.step(&mut connect) else { panic!("it sends first") };
    world.peer.hear(bytes);
    world.client.transmitted(usize::MAX);
    world.client.transmitted(1);
    assert_eq!(world.client.counters().bytes_sent, world.peer.bytes_heard);
    assert_eq!(world.run(&mut connect), Ok(()));
}

#[test]
fn steps_without_bytes_change_nothing() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    let mut stat = Stat::new("file");
    loop {
        let windows = [(); 3].map(|()| match world.client.step(&mut stat) {
            Step::Transmit(bytes) => (1, bytes.len()),
            Step::Receive(window) => (2, window.len()),
            Step::Connect(port) => (5, port.into()),
            Step::Wait(until) => (6, until.0 as usize),
            Step::Item(()) => (3, 0),
            Step::Done(result) => (4, result.unwrap().len as usize),
        });
        assert!(windows.iter().all(|window| *window == windows[0]), "{windows:?}");
        world.client.transmitted(0);
        world.read_max = 5;
        if let Did::Ended(_) = world.step(&mut stat, &mut |_, _| {}) {
            break;
        }
    }
}

#[test]
fn too_little_memory_is_named_when_the_client_is_made() {
    for (tx, rx, slots, what, need, have) in
        [(63, 256, 1, "tx", 64, 63), (64, 255, 1, "rx", 256, 255), (64, 256, 0, "slots", 1, 0)]
    {
        let mut memory = Memory::new(tx, rx, slots);
        let error = Client::new(memory.lend(), Toy::new(false, 1)).err();
        assert_eq!(error, Some(Error::Budget { what, need, have }));
    }
    let storage = Storage { tx: &mut [], rx: &mut [], slots: &mut [] };
    assert!(storage.is_empty() && Client::new(storage, Toy::new(false, 1)).is_err());
}

#[test]
fn a_path_too_long_for_tx_is_a_budget_and_the_next_operation_is_right() {
    let mut memory = Memory::new(64, 256, 1);
    let mut world = World::connected(&mut memory, Peer::default());
    let long = "x".repeat(34);
    let error = Error::Budget { what: "tx", need: 4 + 27 + 34, have: 64 };
    assert_eq!(world.run(&mut Stat::new(&long)).err(), Some(error));
    assert_eq!(world.client.failed(), None);
    assert_eq!(world.run(&mut Stat::new("file")).unwrap().len, 3000);
}

#[test]
fn what_a_protocol_has_not_is_told_by_it_and_is_not_fatal() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    let error = Error::Incompatible("the toy has no statfs");
    assert_eq!(world.run(&mut Statfs::new("")), Err(error));
    assert!(world.run(&mut Stat::new("file")).is_ok());
}
