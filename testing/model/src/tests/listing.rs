use super::{config, lying};
use crate::client::{Client, create_body, directory_body};
use crate::wire::from_utf16;
use crate::{Command, Config, Dialect, Lie, Status, Tree};

const NAMES: u8 = 12;
const RESTART: u8 = 1;
const SINGLE: u8 = 2;
const REOPEN: u8 = 0x10;

fn listing(config: Config) -> (Client, [u8; 16]) {
    let mut client = Client::connected(config, Dialect::V311);
    let file = client.ask(Command::Create, create_body("", 1)).file_id();
    (client, file)
}

/// Names of a page of class 12.
fn names(page: &[u8]) -> Vec<String> {
    let u32_at = |at: usize| u32::from_le_bytes(page[at..at + 4].try_into().unwrap()) as usize;
    let (mut at, mut names) = (0, Vec::new());
    loop {
        names.push(from_utf16(&page[at + 12..][..u32_at(at + 8)]).unwrap());
        match u32_at(at) {
            0 => return names,
            next => at += next,
        }
    }
}

fn ask(
    client: &mut Client,
    file: [u8; 16],
    flags: u8,
    pattern: &str,
    max: u32,
) -> Result<Vec<String>, Status> {
    let reply = client.ask(Command::QueryDirectory, directory_body(file, NAMES, flags, pattern, max));
    match reply.status() {
        Status::SUCCESS => Ok(names(&reply.body[8..])),
        status => Err(status),
    }
}

#[test]
fn a_listing_goes_on_over_calls_until_there_are_no_more_files() {
    let tree = (0..50).fold(Tree::new(), |tree, i| tree.file(&format!("file-{i:02}"), ""));
    let (mut client, file) = listing(Config { tree, ..config() });
    let mut all = Vec::new();
    let mut calls = 0;
    while let Ok(page) = ask(&mut client, file, 0, "*", 200) {
        all.extend(page);
        calls += 1;
    }
    assert_eq!((all.len(), calls > 5), (52, true));
    assert_eq!(all[..3], [".", "..", "file-00"]);
    assert!(all[2..].is_sorted());
    assert_eq!(ask(&mut client, file, 0, "*", 200), Err(Status::NO_MORE_FILES));
}

#[test]
fn flags_restart_reopen_and_return_one() {
    let (mut client, file) = listing(config());
    assert_eq!(ask(&mut client, file, SINGLE, "*", 500).unwrap(), ["."]);
    assert_eq!(ask(&mut client, file, SINGLE, "*", 500).unwrap(), [".."]);
    assert_eq!(ask(&mut client, file, SINGLE | RESTART, "*", 500).unwrap(), ["."]);
    assert_eq!(ask(&mut client, file, REOPEN, "f", 500).unwrap(), ["f"]);
    assert_eq!(ask(&mut client, file, REOPEN, "nothing", 500), Err(Status::NO_SUCH_FILE));
    assert_eq!(ask(&mut client, file, RESTART, "ignored", 4), Err(Status::INFO_LENGTH_MISMATCH));
}

#[test]
fn a_listing_lies_on_request() {
    let names = [
        (Lie::NameWithSlash, "a/b"),
        (Lie::NameWithBackslash, "a\\b"),
        (Lie::NameWithNul, "a\0b"),
        (Lie::NameDotDot, ".."),
    ];
    for (lie, name) in names {
        let (mut client, file) = listing(lying(lie));
        let page = ask(&mut client, file, 0, "*", 5000).unwrap();
        assert_eq!((page.len(), page.last().unwrap().as_str()), (7, name));
    }
    let (mut client, file) = listing(lying(Lie::EmptyPages));
    let reply = client.ask(Command::QueryDirectory, directory_body(file, NAMES, 0, "*", 500));
    assert_eq!((reply.status(), reply.body.len()), (Status::SUCCESS, 8));
    let (mut client, file) = listing(lying(Lie::NameLengthBeyond));
    let reply = client.ask(Command::QueryDirectory, directory_body(file, NAMES, 0, "*", 500));
    assert_eq!(usize::from(reply.body[16]), reply.body.len());
    let (mut client, file) = listing(lying(Lie::ListingNeverEnds));
    let first = ask(&mut client, file, 0, "*", 5000).unwrap();
    assert_eq!(ask(&mut client, file, 0, "*", 5000).unwrap(), first);
}

#[test]
fn the_offset_of_the_next_entry_lies_on_request() {
    for (lie, moves) in [(Lie::EntryOffsetTooSmall, false), (Lie::EntryOffsetBeyond, true)] {
        let (mut client, file) = listing(lying(lie));
        let reply = client.ask(Command::QueryDirectory, directory_body(file, NAMES, 0, "*", 5000));
        let next = u32::from_le_bytes(reply.body[8..12].try_into().unwrap()) as usize;
        assert_eq!(if moves { reply.body.len() } else { 8 }, next);
    }
}
