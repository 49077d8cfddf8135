//! Whole operations against a small server in memory, with encoders of its own.

mod chains;

use super::*;
use crate::error::{Reason, Refusal};
use crate::operation::Operation;
use crate::storage::{Storage, StorageArray};
use crate::{Client, Connect, List, Map, Open, Pages, Read, Stat, Statfs, Step, Stream};
use std::collections::VecDeque;
use std::string::{String, ToString};
use std::vec::Vec;
use v4::{Op, Status};

const CONTENT: &[u8] = &[0xA5; 300_000];

fn content(name: &str) -> &'static [u8] {
    if name.starts_with("fs") { &CONTENT[..100] } else { CONTENT }
}

/// Names that begin with `f` are files of [`CONTENT`] (with `fs`, of its start), with `l` links, with `m` moved, with `n` nothing, all else
/// directories. Handles are paths.
struct Server {
    minors: &'static [u32],
    slots: u32,
    ops_max: u32,
    response_max: u32,
    maxread: u64,
    status_flags: u32,
    takes_bypass: bool,
    /// No stateid is good enough.
    refuses_reads: bool,
    /// `accept_stat`: why nothing is even looked at.
    accept_stat: u32,
    fragment_len: usize,
    /// How many bytes come at a time.
    chunk_len: usize,
    /// What one SEEK after another is told: a status, whether the file ends, and where.
    seeks: VecDeque<(Status, u32, u64)>,
    numbers: [u32; 64],
    /// What every COMPOUND was, in short.
    log: Vec<String>,
    highest: Vec<u32>,
    input: Vec<u8>,
    output: VecDeque<u8>,
}

impl Server {
    fn new(minors: &'static [u32]) -> Server {
        Server {
            minors,
            slots: 8,
            ops_max: 64,
            response_max: 1 << 20,
            maxread: 65536,
            status_flags: 0,
            takes_bypass: true,
            refuses_reads: false,
            accept_stat: 0,
            chunk_len: usize::MAX,
            fragment_len: usize::MAX,
            seeks: VecDeque::new(),
            numbers: [0; 64],
            log: Vec::new(),
            highest: Vec::new(),
            input: Vec::new(),
            output: VecDeque::new(),
        }
    }

    fn takes(&mut self, bytes: &[u8]) {
        self.input.extend(bytes);
        while let Some(mark) = self.input.first_chunk::<4>() {
            let len = RecordMark::decode(*mark).len as usize;
            if self.input.len() < 4 + len {
                break;
            }
            let call: Vec<u8> = self.input.drain(..4 + len).skip(4).collect();
            let reply = self.reply(&call);
            let mut fragments = reply.chunks(self.fragment_len).peekable();
            while let Some(fragment) = fragments.next() {
                let mark = RecordMark { last: fragments.peek().is_none(), len: fragment.len() as u32 };
                self.output.extend(mark.encode());
                self.output.extend(fragment);
            }
        }
    }

    fn reply(&mut self, call: &[u8]) -> Vec<u8> {
        let mut r = Args(call);
        let xid = r.word();
        r.bytes(4 * 9); // up to the end of two empty authentications
        r.opaque();
        let (minor, count) = (r.word(), r.word());
        let mut reply = words(&[xid, 1, 0, 0, 0, self.accept_stat]);
        if self.accept_stat != 0 {
            return reply;
        }
        let mut results = Vec::new();
        let (mut status, mut done, mut at, mut names) = (0, 0, None, String::new());
        if !self.minors.contains(&minor) {
            self.log.push("MINOR ".to_string() + &minor.to_string());
            reply.extend(words(&[10021, 0, 0]));
            return reply;
        }
        for _ in 0..count {
            let op = Op(r.word());
            names = names + op.name() + " ";
            let mut result = Vec::new();
            status = self.operation(op, &mut r, &mut at, &mut result).0;
            results.extend(words(&[op.0, status]));
            done += 1;
            if status != 0 {
                break;
            }
            results.extend(result);
        }
        assert!(count <= self.ops_max && (status != 0 || r.0.is_empty()));
        self.log.push(names.trim_end().to_string());
        reply.extend(words(&[status, 0, done]));
        reply.extend(results);
        reply
    }

    fn operation(&mut self, op: Op, r: &mut Args<'_>, at: &mut Option<String>, out: &mut Vec<u8>) -> Status {
        let path = at.clone().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or("").to_string();
        match op {
            Op::EXCHANGE_ID => {
                r.bytes(8);
                r.opaque();
                r.bytes(12);
                out.extend(words(&[0, 5, 1, 0, 0, 0, 0, 0, 0, 0]));
            }
            Op::CREATE_SESSION => {
                r.bytes(r.0.len());
                self.numbers = [0; 64];
                out.extend([7; 16]);
                let max = [0, 8192, self.response_max, 2048, self.ops_max, self.slots, 0];
                out.extend(words(&[1, 0]));
                out.extend(words(&max));
                out.extend(words(&max));
            }
            Op::SEQUENCE => {
                assert_eq!(r.bytes(16), [7; 16]);
                let (number, slotid, highest) = (r.word(), r.word(), r.word());
                r.word();
                self.highest.push(highest);
                assert!(slotid < self.slots && slotid <= highest);
                let seen = &mut self.numbers[slotid as usize];
                assert_eq!(number, *seen + 1, "slot {slotid}");
                *seen = number;
                out.extend([7; 16]);
                out.extend(words(&[number, slotid, self.slots - 1, self.slots - 1, self.status_flags]));
            }
            Op::RECLAIM_COMPLETE => {
                r.word();
                return Status::COMPLETE_ALREADY;
            }
            Op::PUTROOTFH => *at = Some(String::new()),
            Op::PUTFH => *at = Some(String::from_utf8(r.opaque()[1..].to_vec()).unwrap()),
            Op::LOOKUP => {
                let wanted = String::from_utf8(r.opaque()).unwrap();
                match name.as_bytes().first() {
                    Some(b'f') => return Status::NOTDIR,
                    Some(b'l') => return Status::SYMLINK,
                    _ if wanted.starts_with('n') => return Status::NOENT,
                    _ => *at = Some(path + "/" + &wanted),
                }
            }
            Op::GETFH if name.starts_with('m') => return Status::MOVED,
            Op::GETFH => out.extend(opaque(&[b"h", path.as_bytes()].concat())),
            Op::GETATTR => out.extend(self.attributes(&name, r)),
            Op::READ if !name.starts_with('f') => {
                r.bytes(28);
                return if name.starts_with('l') { Status::INVAL } else { Status::ISDIR };
            }
            Op::READ => return self.read(content(&name), r, out),
            Op::OPEN => {
                r.bytes(20);
                r.opaque();
                assert_eq!((r.word(), r.word()), (0, 4));
                out.extend(words(&[1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0]));
            }
            Op::SEEK => {
                assert_eq!(r.bytes(16), words(&[0, 2, 3, 4]));
                r.bytes(12);
                let (status, eof, offset) = self.seeks.pop_front().unwrap();
                out.extend(words(&[eof]));
                out.extend(offset.to_be_bytes());
                return status;
            }
            Op::CLOSE => {
                assert_eq!(r.bytes(20), words(&[0, 0, 2, 3, 4]));
                out.extend([0; 16]);
            }
            Op::READLINK => out.extend(opaque(b"elsewhere")),
            Op::READDIR => {
                let cookie = r.word64();
                r.bytes(16);
                bitmap(r);
                if name.starts_with('f') {
                    return Status::NOTDIR;
                }
                out.extend([0; 8]);
                for entry in cookie + 1..(cookie + 3).min(6) {
                    out.extend(words(&[1, 0, entry as u32]));
                    out.extend(opaque(std::format!("entry-{entry}").as_bytes()));
                    out.extend(words(&[1, 2, 4, 1]));
                }
                out.extend(words(&[0, u32::from(cookie + 3 > 5)]));
            }
            _ => panic!("{op:?}"),
        }
        Status::OK
    }

    fn attributes(&self, name: &str, r: &mut Args<'_>) -> Vec<u8> {
        let asked = bitmap(r);
        let kind = match name.as_bytes().first() {
            Some(b'f') => 1,
            Some(b'l') => 5,
            _ => 2,
        };
        let known = [
            (1, words(&[kind])),
            (3, words(&[0, 7])),
            (4, words(&[0, content(name).len() as u32])),
            (10, words(&[90])),
            (30, self.maxread.to_be_bytes().to_vec()),
            (42, words(&[0, 1])),
            (43, words(&[0, 2])),
            (44, words(&[0, 3])),
        ];
        let (mut mask, mut values) = ([0_u32; 2], Vec::new());
        for (number, value) in known {
            if asked.get(number / 32).is_some_and(|word| word & 1 << (number % 32) != 0) {
                mask[number / 32] |= 1 << (number % 32);
                values.extend(value);
            }
        }
        [words(&[2, mask[0], mask[1]]), opaque(&values)].concat()
    }

    fn read(&self, content: &[u8], r: &mut Args<'_>, out: &mut Vec<u8>) -> Status {
        let bypass = r.bytes(16) == [0xFF; 16];
        let (offset, count) = (r.word64() as usize, r.word() as usize);
        if self.refuses_reads || (bypass && !self.takes_bypass) {
            return Status::BAD_STATEID;
        }
        let rest = &content[offset.min(content.len())..];
        let data = &rest[..count.min(rest.len()).min(self.maxread as usize)];
        out.extend(words(&[u32::from(data.len() == rest.len())]));
        out.extend(opaque(data));
        Status::OK
    }
}

struct Args<'a>(&'a [u8]);

impl<'a> Args<'a> {
    fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }

    fn word(&mut self) -> u32 {
        u32::from_be_bytes(self.bytes(4).try_into().unwrap())
    }

    fn word64(&mut self) -> u64 {
        u64::from(self.word()) << 32 | u64::from(self.word())
    }

    fn opaque(&mut self) -> Vec<u8> {
        let len = self.word() as usize;
        self.bytes(len.next_multiple_of(4))[..len].to_vec()
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn bitmap(r: &mut Args<'_>) -> Vec<u32> {
    (0..r.word()).map(|_| r.word()).collect()
}

fn opaque(bytes: &[u8]) -> Vec<u8> {
    let mut all = words(&[bytes.len() as u32]);
    all.extend(bytes);
    // Padding means nothing.
    all.resize(all.len().next_multiple_of(4), 0xEE);
    all
}

/// Runs an operation; returns its output and how many items it lent. It is dropped after `items_max` of them.
fn run_some<'s, O: Operation<Nfs4<'s>>>(
    client: &mut Client<'_, Nfs4<'s>>,
    server: &mut Server,
    mut op: O,
    items_max: usize,
) -> (Option<Result<O::Output, Error>>, usize) {
    let mut items = 0;
    for _ in 0..1_000_000 {
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
            Step::Connect(_) | Step::Wait(_) => panic!("there is one port, and no pause"),
            Step::Item(_) => items += 1,
            Step::Done(result) => return (Some(result), items),
        }
        if items >= items_max {
            return (None, items);
        }
    }
    panic!("it does not end")
}

fn run<'s, O: Operation<Nfs4<'s>>>(
    client: &mut Client<'_, Nfs4<'s>>,
    server: &mut Server,
    op: O,
) -> Result<O::Output, Error> {
    run_some(client, server, op, usize::MAX).0.unwrap()
}

fn config() -> Config<'static> {
    Config::new(b"me", [1; 8], u32::MAX)
}

fn connected<'a>(
    storage: &'a mut StorageArray<4096, 8192, 4>,
    server: &mut Server,
) -> Client<'a, Nfs4<'static>> {
    let mut client = Client::new(storage.lend(), Nfs4::new(config())).unwrap();
    run(&mut client, server, Connect::new()).unwrap();
    client
}

fn refusal<T: core::fmt::Debug>(result: Result<T, Error>) -> Refusal {
    match result {
        Err(Error::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

const MINORS: [&[u32]; 3] = [&[0], &[0, 1], &[0, 1, 2]];

#[test]
fn the_highest_minor_version_of_the_server_is_spoken() {
    for (minors, minor) in MINORS.into_iter().zip(0..) {
        let (mut server, mut storage) = (Server::new(minors), StorageArray::new());
        let client = connected(&mut storage, &mut server);
        assert_eq!(client.protocol().minor(), Some(minor));
        assert_eq!(client.protocol().session_slots(), (minor > 0).then_some(4));
        assert_eq!(client.protocol().lease_seconds(), Some(90));
        let last = if minor == 0 { "PUTROOTFH GETATTR" } else { "SEQUENCE PUTROOTFH GETATTR" };
        assert_eq!(server.log.last().unwrap(), last);
        assert_eq!(server.log.len(), [3, 5, 4][minor as usize]);
    }
}

#[test]
fn a_chosen_minor_version_is_spoken_or_nothing() {
    let mut server = Server::new(&[2]);
    for minor in [0, 1, 3] {
        let mut storage = StorageArray::<4096, 8192, 4>::new();
        let protocol = Nfs4::new(Config { minor: Some(minor), ..config() });
        let mut client = Client::new(storage.lend(), protocol).unwrap();
        let result = run(&mut client, &mut server, Connect::new());
        match minor {
            3 => assert!(matches!(result, Err(Error::Invalid(_)))),
            _ => assert_eq!(refusal(result).name, "NFS4ERR_MINOR_VERS_MISMATCH"),
        }
        // It is tried anew, since it may have been for the moment.
        assert_eq!(run(&mut client, &mut server, Stat::new("a")).map(drop), result);
    }
}

#[test]
fn each_operation_takes_one_compound() {
    for (minors, sequence) in MINORS.into_iter().zip(["", "SEQUENCE ", "SEQUENCE "]) {
        let (mut server, mut storage) = (Server::new(minors), StorageArray::new());
        let mut client = connected(&mut storage, &mut server);
        server.log.clear();
        let file = run(&mut client, &mut server, Open::new("/a/file")).unwrap();
        assert_eq!(file.attributes.len, CONTENT.len() as u64);
        run(&mut client, &mut server, Stat::new("a")).unwrap();
        let space = run(&mut client, &mut server, Statfs::new("")).unwrap();
        assert_eq!((space.total, space.free, space.available), (3, 2, 1));
        let mut pages = [[0; 4096]; 2];
        run(&mut client, &mut server, Read::new(&file, 1, &mut Pages(&mut pages))).unwrap();
        assert_eq!(pages, [[0xA5; 4096]; 2]);
        let asked = [
            "PUTROOTFH LOOKUP LOOKUP GETFH GETATTR",
            "PUTROOTFH LOOKUP GETFH GETATTR",
            "PUTROOTFH GETFH GETATTR",
            "PUTFH READ",
        ];
        assert_eq!(server.log, asked.map(|ops| sequence.to_string() + ops));
    }
}

#[test]
fn a_listing_goes_on_behind_its_last_entry() {
    for minors in MINORS {
        let (mut server, mut storage) = (Server::new(minors), StorageArray::new());
        let mut client = connected(&mut storage, &mut server);
        let (result, items) = run_some(&mut client, &mut server, List::new("a"), usize::MAX);
        assert_eq!((result, items), (Some(Ok(())), 5));
        assert!(server.log.last().unwrap().ends_with("PUTFH READDIR"));
        let result = run(&mut client, &mut server, List::new("file"));
        assert_eq!(refusal(result).reason, Reason::NotDirectory);
    }
}

#[test]
fn a_stream_keeps_the_session_full_and_every_slot_in_step() {
    for (minors, slots, fragment_len) in
        [(MINORS[0], 8, usize::MAX), (MINORS[1], 2, 7), (MINORS[2], 1, 99), (MINORS[2], 8, 60_000)]
    {
        let chunk_len = if fragment_len < 100 { 5 } else { usize::MAX };
        let mut server = Server { slots, fragment_len, chunk_len, ..Server::new(minors) };
        let mut storage = StorageArray::new();
        let mut client = connected(&mut storage, &mut server);
        let file = run(&mut client, &mut server, Open::new("file")).unwrap();
        let mut pages = std::vec![[0_u8; 4096]; 32];
        let mut pages = Pages(&mut pages);
        let end = run(&mut client, &mut server, Stream::new(&file, 0, &mut pages));
        assert_eq!(end, Ok(CONTENT.len() as u64));
        if !server.highest.is_empty() {
            // The ring has room for two requests.
            assert_eq!(server.highest.iter().max(), Some(&(slots.min(2) - 1)));
        }
    }
}

/// A map of the 300,000 bytes of `file`, where one SEEK after another is told `seeks`: how it ends, what segments it has,
/// and what was sent.
fn mapped(seeks: &[(Status, u32, u64)]) -> (Result<(), Error>, usize, String) {
    let (mut server, mut storage) = (Server::new(MINORS[2]), StorageArray::new());
    let mut client = connected(&mut storage, &mut server);
    let file = run(&mut client, &mut server, Open::new("file")).unwrap();
    server.log.clear();
    server.seeks = seeks.iter().copied().collect();
    let (result, segments) = run_some(&mut client, &mut server, Map::new(&file, 0), usize::MAX);
    assert!(server.seeks.is_empty());
    (result.unwrap(), segments, server.log.join(", ").replace("SEQUENCE PUTFH ", ""))
}

#[test]
fn a_map_looks_for_holes_and_data_and_closes_what_it_opened_and_looks_whether_the_file_is_the_same() {
    let ok = Status::OK;
    for (seeks, segments) in [
        (&[(ok, 1, 300_000), (ok, 0, 0)][..], 1),
        (&[(ok, 0, 0), (ok, 0, 4096), (ok, 0, 9000), (ok, 0, 4096), (ok, 0, 9000), (Status::NXIO, 0, 0)], 3),
        (&[(ok, 0, 4096), (ok, 0, 0), (ok, 0, 4096), (ok, 1, 4096)], 2),
        (&[(ok, 0, 0), (ok, 0, 400_000)], 1),
        (&[(ok, 0, 400_000), (ok, 0, 0)], 1),
    ] {
        let pairs = ", SEEK SEEK".repeat(seeks.len() / 2);
        let looks = if seeks[1].1 == 0 && seeks[0].2 >= 300_000 { "" } else { ", GETATTR" };
        let sent = std::format!("OPEN{pairs}, CLOSE{looks}");
        assert_eq!(mapped(seeks), (Ok(()), segments, sent), "{seeks:?}");
    }
    let shorter = mapped(&[(Status::NXIO, 0, 0)]);
    assert_eq!(shorter, (Ok(()), 1, String::from("OPEN, SEEK, CLOSE, GETATTR")));
}

#[test]
fn a_map_of_a_server_that_has_none_or_one_without_sense_is_all_data() {
    let ok = Status::OK;
    for (seeks, sent) in [
        (&[(Status::NOTSUPP, 0, 0)][..], "OPEN, SEEK, CLOSE"),
        (&[(ok, 0, 0), (ok, 0, 0)], "OPEN, SEEK SEEK, CLOSE"),
    ] {
        assert_eq!(mapped(seeks), (Ok(()), 1, sent.into()), "{seeks:?}");
    }
}

#[test]
fn a_map_that_goes_back_is_refused() {
    let ok = Status::OK;
    for seeks in [
        &[(ok, 0, 4096), (ok, 0, 0), (ok, 0, 4095), (ok, 0, 0)][..],
        &[(ok, 0, 0), (ok, 0, 4096), (ok, 0, 4096), (ok, 0, 4095)],
    ] {
        assert!(matches!(mapped(seeks).0, Err(Error::Misbehaved(_))), "{seeks:?}");
    }
    let (result, segments, sent) = mapped(&[(Status::IO, 0, 0)]);
    assert_eq!((refusal(result).during, segments), ("SEEK", 0));
    assert_eq!(sent, "OPEN, SEEK, CLOSE");
}

#[test]
fn a_dropped_operation_gives_its_slots_back() {
    let (mut server, mut storage) = (Server { slots: 2, ..Server::new(MINORS[2]) }, StorageArray::new());
    let mut client = connected(&mut storage, &mut server);
    let file = run(&mut client, &mut server, Open::new("file")).unwrap();
    for _ in 0..20 {
        let mut pages = std::vec![[0_u8; 4096]; 32];
        let mut pages = Pages(&mut pages);
        let (dropped, _) = run_some(&mut client, &mut server, Stream::new(&file, 0, &mut pages), 1);
        assert!(dropped.is_none());
    }
    assert_eq!(run(&mut client, &mut server, Stat::new("file")).unwrap().len, CONTENT.len() as u64);
    let mut pages = std::vec![[0_u8; 4096]; 32];
    let mut pages = Pages(&mut pages);
    run_some(&mut client, &mut server, Stream::new(&file, 0, &mut pages), 1);
    // The session goes on: there is nothing to connect.
    assert_eq!(run(&mut client, &mut server, Connect::new()), Ok(()));
    assert!(run(&mut client, &mut server, Stat::new("file")).is_ok());
}

#[test]
fn a_server_that_refuses_the_bypass_stateid_is_read_with_the_anonymous_one() {
    for minors in MINORS {
        // With fewer slots than requests in the ring: what is asked again keeps its own.
        let mut server = Server { takes_bypass: false, slots: 2, ..Server::new(minors) };
        let mut storage = StorageArray::new();
        let mut client = connected(&mut storage, &mut server);
        let file = run(&mut client, &mut server, Open::new("file")).unwrap();
        for _ in 0..2 {
            server.log.clear();
            let mut pages = std::vec![[0_u8; 4096]; 64];
            let mut pages = Pages(&mut pages);
            let end = run(&mut client, &mut server, Stream::new(&file, 0, &mut pages));
            assert_eq!(end, Ok(CONTENT.len() as u64));
        }
        // It is remembered.
        assert_eq!(server.log.len(), 5);
    }
}

#[test]
fn a_read_that_is_refused_with_every_stateid_is_refused() {
    for minors in MINORS {
        let mut server = Server { refuses_reads: true, slots: 1, ..Server::new(minors) };
        let mut storage = StorageArray::new();
        let mut client = connected(&mut storage, &mut server);
        let file = run(&mut client, &mut server, Open::new("file")).unwrap();
        server.log.clear();
        // The special ones, and where a file handle can be opened nine opens; else it is to be opened again.
        let (first, then) = if client.protocol().minor() == Some(0) { (2, 0) } else { (2 + 18, 18) };
        for asked in [first, first + then] {
            let mut pages = [[0; 4096]; 2];
            let result = run(&mut client, &mut server, Read::new(&file, 0, &mut Pages(&mut pages)));
            assert_eq!(refusal(result).name, "NFS4ERR_BAD_STATEID");
            assert_eq!(server.log.len(), asked);
        }
        assert!(run(&mut client, &mut server, Stat::new("a")).is_ok());
    }
}

#[test]
fn a_call_that_the_server_does_not_look_at_uses_up_no_number_and_no_slot() {
    for minors in MINORS {
        let (mut server, mut storage) = (Server { slots: 1, ..Server::new(minors) }, StorageArray::new());
        let mut client = connected(&mut storage, &mut server);
        server.accept_stat = 5;
        for _ in 0..3 {
            let result = run(&mut client, &mut server, Stat::new("a"));
            assert_eq!((refusal(result).name, refusal(result).reason), ("SYSTEM_ERR", Reason::Busy));
        }
        server.accept_stat = 0;
        assert!(run(&mut client, &mut server, Stat::new("a")).is_ok());
    }
}

#[test]
fn a_path_that_is_too_long_for_one_compound_goes_into_several() {
    let path = "d/".repeat(30) + "file";
    for (minors, ops_max, compounds) in [(MINORS[0], 16, 3), (MINORS[2], 6, 31), (MINORS[2], 64, 1)] {
        let mut server = Server { ops_max, ..Server::new(minors) };
        let mut storage = StorageArray::new();
        let mut client = connected(&mut storage, &mut server);
        server.log.clear();
        assert_eq!(run(&mut client, &mut server, Stat::new(&path)).unwrap().len, CONTENT.len() as u64);
        assert_eq!(server.log.len(), compounds, "{ops_max}");
    }
}

#[test]
fn the_least_memory_is_enough() {
    for minor in 0..3 {
        let protocol = Nfs4::new(Config { minor: Some(minor), ..config() });
        let need = protocol.need();
        let (mut tx, mut rx) = (std::vec![0; need.tx], std::vec![0; need.reply]);
        let mut slots = std::vec![Slot::FREE; need.slots];
        let storage = Storage { tx: &mut tx, rx: &mut rx, slots: &mut slots };
        let mut client = Client::new(storage, protocol).unwrap();
        let mut server = Server::new(MINORS[2]);
        run(&mut client, &mut server, Connect::new()).unwrap();
        let path = ("d".repeat(255) + "/").repeat(2) + "file";
        // A name of 256 bytes can still be asked for.
        assert!(run(&mut client, &mut server, Stat::new("d/file")).is_ok());
        assert!(run(&mut client, &mut server, Stat::new(&("n".to_string() + &path))).is_err());
        let file = run(&mut client, &mut server, Open::new("file")).unwrap();
        let mut pages = std::vec![[0_u8; 4096]; 4];
        let mut pages = Pages(&mut pages);
        assert_eq!(run(&mut client, &mut server, Stream::new(&file, 0, &mut pages)), Ok(300_000));
        let listed = run(&mut client, &mut server, List::new("d"));
        assert!(matches!(listed, Err(Error::Budget { what: "rx", .. })), "{listed:?}");
        assert_eq!(client.failed(), None);
    }
}

#[test]
fn a_symbolic_link_anywhere_is_told_with_its_place_and_its_target() {
    for minors in MINORS {
        let (mut server, mut storage) = (Server::new(minors), StorageArray::new());
        let mut client = connected(&mut storage, &mut server);
        for (path, end) in [("/a//link/b/c", 8), ("link", 4), ("a/link/", 6), ("link/x", 4)] {
            let result = run(&mut client, &mut server, Open::new(path));
            assert_eq!(refusal(result).reason, Reason::Symlink, "{path}");
            let link = client.link(path).unwrap();
            assert_eq!((link.end, link.target.raw), (end, &b"elsewhere"[..]), "{path}");
            assert_eq!(refusal(run(&mut client, &mut server, Stat::new(path))).reason, Reason::Symlink);
            assert_eq!(refusal(run(&mut client, &mut server, Statfs::new(path))).reason, Reason::Symlink);
            assert_eq!(refusal(run(&mut client, &mut server, List::new(path))).reason, Reason::Symlink);
        }
        let deep = "d/".repeat(40) + "link/b";
        assert_eq!(refusal(run(&mut client, &mut server, Stat::new(&deep))).reason, Reason::Symlink);
        assert_eq!(client.link(&deep).unwrap().end, 84);
        run(&mut client, &mut server, Stat::new("a")).unwrap();
        assert_eq!(client.link("a"), None);
    }
}

#[test]
fn what_cannot_be_opened_is_refused_and_the_connection_goes_on() {
    for minors in MINORS {
        let (mut server, mut storage) = (Server::new(minors), StorageArray::new());
        let mut client = connected(&mut storage, &mut server);
        for (path, reason) in [
            ("a/nothing", Reason::NotFound),
            ("file/b", Reason::NotDirectory),
            ("a", Reason::IsDirectory),
            ("", Reason::IsDirectory),
            ("moved", Reason::Unsupported),
        ] {
            assert_eq!(refusal(run(&mut client, &mut server, Open::new(path))).reason, reason, "{path}");
        }
        for path in ["a/../b", ".", "a\0"] {
            assert!(matches!(run(&mut client, &mut server, Open::new(path)), Err(Error::Invalid(_))));
        }
        assert!(run(&mut client, &mut server, Open::new("file")).is_ok());
    }
}

#[test]
fn that_the_server_has_lost_state_is_nothing_to_what_has_none() {
    let status_flags = sequence::RESTART_RECLAIM_NEEDED;
    let (mut server, mut storage) = (Server { status_flags, ..Server::new(MINORS[2]) }, StorageArray::new());
    let mut client = connected(&mut storage, &mut server);
    assert!(run(&mut client, &mut server, Stat::new("a")).is_ok());
}

#[test]
fn reads_are_as_long_as_the_file_system_and_the_session_allow() {
    let mut server = Server { maxread: 1 << 30, response_max: 70_000, ..Server::new(MINORS[2]) };
    let mut storage = StorageArray::new();
    let mut client = connected(&mut storage, &mut server);
    assert_eq!(client.protocol().limits().read_len_max, 69_632);
    server.maxread = 5000;
    run(&mut client, &mut server, Open::new("file")).unwrap();
    assert_eq!(client.protocol().limits().read_len_max, 5000);
    server.maxread = 0;
    assert!(matches!(run(&mut client, &mut server, Open::new("file")), Err(Error::Incompatible(_))));
}
