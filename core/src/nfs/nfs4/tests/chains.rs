//! What is asked together: the connection and what is asked first, a file and its start, attributes and space.

use super::*;
use crate::{Buffer, Fetch, Fetched, Lane, StatBoth};

/// A client that has sent nothing.
fn stranger(storage: &mut StorageArray<4096, 8192, 4>, minor: Option<u32>) -> Client<'_, Nfs4<'static>> {
    Client::new(storage.lend(), Nfs4::new(Config { minor, ..config() })).unwrap()
}

/// What a fetch of `paths` lends in words, with room for `head_len` bytes of the start of each.
fn fetch(
    client: &mut Client<'_, Nfs4<'static>>,
    server: &mut Server,
    paths: &[&str],
    head_len: usize,
) -> Vec<String> {
    let mut paths = paths.iter().copied();
    let mut lanes: Vec<_> = (0..2).map(|_| Lane::new()).collect();
    let (mut heads, mut pages) = (std::vec![0_u8; 2 * head_len], std::vec![[0_u8; 4096]; 32]);
    let (mut heads, mut pages) = (Buffer(&mut heads), Pages(&mut pages));
    let mut op = Fetch::new(&mut paths, &mut lanes, &mut heads, &mut pages);
    let (mut said, mut len) = (Vec::new(), 0);
    loop {
        match client.step(&mut op) {
            Step::Transmit(bytes) => {
                server.takes(bytes);
                let len = bytes.len();
                client.transmitted(len);
            }
            Step::Receive(window) => {
                let len = window.len().min(server.output.len()).min(server.chunk_len);
                window.iter_mut().zip(server.output.drain(..len)).for_each(|(to, from)| *to = from);
                client.received(&mut op, len);
            }
            Step::Item(Fetched::Content(content)) => {
                assert!(content.data().iter().all(|byte| *byte == 0xA5));
                len += content.len();
            }
            Step::Item(Fetched::Opened { .. }) => len = 0,
            Step::Item(Fetched::Ended(end)) => {
                assert_eq!(len, end);
                said.push(end.to_string());
            }
            Step::Item(Fetched::Failed(error)) => said.push(refusal::<()>(Err(error)).name.to_string()),
            Step::Done(result) => {
                assert_eq!(result, Ok(()));
                return said;
            }
            Step::Connect(_) | Step::Wait(_) => panic!("there is one port, and no pause"),
        }
    }
}

/// What was sent, without what every COMPOUND of a minor version begins with.
fn said(server: &mut Server) -> String {
    let log = server.log.join(", ").replace("SEQUENCE ", "").replace("PUTROOTFH ", "").replace("PUTFH ", "");
    server.log.clear();
    log
}

const SESSION: &str = "EXCHANGE_ID, CREATE_SESSION, RECLAIM_COMPLETE, ";

#[test]
fn what_is_asked_first_connects_in_the_fewest_round_trips() {
    for (minor, trips, before) in [(0, 1, ""), (1, 3, SESSION), (2, 3, SESSION)] {
        let (mut server, mut storage) = (Server::new(MINORS[2]), StorageArray::new());
        let mut client = stranger(&mut storage, Some(minor));
        assert_eq!(fetch(&mut client, &mut server, &["d/fs"], 4096), ["100"]);
        assert_eq!(said(&mut server), before.to_string() + "LOOKUP LOOKUP GETFH GETATTR READ");
        let counters = client.counters();
        assert_eq!((counters.round_trips, counters.file_bytes), (trips, 100));
        // Nobody has waited for the reply to RECLAIM_COMPLETE, and nothing goes wrong with it.
        assert!(run(&mut client, &mut server, Stat::new("d")).is_ok());
        assert_eq!(client.counters().round_trips, trips + 1);
    }
}

#[test]
fn a_server_of_an_older_minor_version_is_found_by_what_is_asked_first() {
    let (mut server, mut storage) = (Server::new(MINORS[0]), StorageArray::new());
    let mut client = stranger(&mut storage, None);
    assert!(run(&mut client, &mut server, Stat::new("d")).is_ok());
    assert_eq!(said(&mut server), "MINOR 2, MINOR 1, LOOKUP GETFH GETATTR");
    assert_eq!(client.protocol().minor(), Some(0));
}

#[test]
fn who_is_dropped_on_the_way_leaves_the_next_one_able_to_go_on() {
    // Dropped after so many steps: at each request, and at each reply.
    for steps in 0..9 {
        let (mut server, mut storage) = (Server::new(MINORS[2]), StorageArray::new());
        let mut client = stranger(&mut storage, None);
        let mut op = Stat::new("d");
        for _ in 0..steps {
            match client.step(&mut op) {
                Step::Transmit(bytes) => {
                    server.takes(bytes);
                    let len = bytes.len();
                    client.transmitted(len);
                }
                Step::Receive(window) => {
                    let len = window.len().min(server.output.len());
                    window.iter_mut().zip(server.output.drain(..len)).for_each(|(to, from)| *to = from);
                    client.received(&mut op, len);
                }
                _ => {}
            }
        }
        assert!(run(&mut client, &mut server, Stat::new("d/e")).is_ok());
        let log = said(&mut server);
        assert!(log.starts_with(SESSION) && log.ends_with("LOOKUP LOOKUP GETFH GETATTR"), "{steps}: {log}");
    }
}

#[test]
fn files_and_their_starts_take_one_round_trip_and_what_is_no_file_is_told() {
    for minor in 0..3 {
        let (mut server, mut storage) = (Server::new(MINORS[2]), StorageArray::new());
        let mut client = stranger(&mut storage, Some(minor));
        assert_eq!(
            fetch(&mut client, &mut server, &["fs", "fs2", "d", "n", "l"], 512),
            ["100", "100", "NFS4ERR_ISDIR", "NFS4ERR_NOENT", "NFS4ERR_SYMLINK"]
        );
        // The rest of a long file comes as ever, and no byte of the start comes again.
        server.log.clear();
        assert_eq!(fetch(&mut client, &mut server, &["f"], 4096), ["300000"]);
        assert!(said(&mut server).starts_with("LOOKUP GETFH GETATTR READ, READ"));
        assert_eq!(client.counters().file_bytes, 200 + CONTENT.len() as u64);
    }
}

#[test]
fn a_start_that_is_refused_is_read_alone() {
    for (takes_bypass, log) in
        [(false, "LOOKUP GETFH GETATTR READ, READ"), (true, "LOOKUP GETFH GETATTR READ")]
    {
        let (mut server, mut storage) =
            (Server { takes_bypass, ..Server::new(MINORS[0]) }, StorageArray::new());
        let mut client = stranger(&mut storage, Some(0));
        assert_eq!(fetch(&mut client, &mut server, &["fs"], 4096), ["100"]);
        assert_eq!(said(&mut server), log);
        // By then it is known which stateid is taken.
        assert_eq!(fetch(&mut client, &mut server, &["fs"], 4096), ["100"]);
        assert_eq!(said(&mut server), "LOOKUP GETFH GETATTR READ");
    }
}

#[test]
fn a_start_is_no_longer_than_the_session_and_the_server_have_room_for() {
    for (response_max, maxread, room) in [(2048, 65536, 2048), (1 << 20, 1000, 1000)] {
        let mut server = Server { response_max, maxread, chunk_len: 7, ..Server::new(MINORS[2]) };
        let mut storage = StorageArray::new();
        let mut client = stranger(&mut storage, None);
        assert_eq!(fetch(&mut client, &mut server, &["f"], 16384), ["300000"]);
        assert!(client.protocol().limits().read_len_max <= room);
        assert_eq!(client.counters().file_bytes, CONTENT.len() as u64);
    }
}

#[test]
fn attributes_and_space_come_together() {
    for minors in MINORS {
        let (mut server, mut storage) = (Server::new(minors), StorageArray::new());
        let mut client = connected(&mut storage, &mut server);
        server.log.clear();
        let (attributes, space) = run(&mut client, &mut server, StatBoth::new("d/f")).unwrap();
        assert_eq!((attributes.len, space.total), (CONTENT.len() as u64, 3));
        assert_eq!(said(&mut server), "LOOKUP LOOKUP GETFH GETATTR");
        assert_eq!(refusal(run(&mut client, &mut server, StatBoth::new("l"))).reason, Reason::Symlink);
    }
}
