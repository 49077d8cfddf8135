//! What READDIRPLUS may bring, and what it must not.

use pagewire::{Error, Reason};
use pagewire_hostile_nfs::v3::{Played, Scene};
use pagewire_hostile_nfs::{Place, Told, Xdr, refused};
use std::cell::Cell;
use std::iter;

const READDIRPLUS: Place = (100_003, 17);

/// More replies than any of these listings needs.
const REPLIES_MAX: usize = 5000;

const COOKIE: Error = Error::Misbehaved("entry3.cookie");
const NAME: Error = Error::Misbehaved("a listing has a name with a separator or a NUL, or an empty one");

/// A reply with these names and cookies.
fn listing<'n>(entries: impl IntoIterator<Item = (&'n [u8], u64)>, eof: u32) -> Xdr {
    let mut x = Xdr::default();
    x.word(0).word(0).hyper(0xC0FF_EE00_1234_5678);
    for (name, cookie) in entries {
        x.word(1).hyper(cookie).opaque(name).hyper(cookie).word(0).word(0);
    }
    x.word(0).word(eof);
    x
}

/// The first reply is this.
fn first(body: Xdr) -> Played {
    let scene = Scene::new().with(|scene| scene.judges = false);
    scene.told_once(READDIRPLUS, 0, move |told| told.body(&body)).play()
}

/// Every reply is what `next` makes of the number of the reply and the cookie that was asked with; but there are not
/// more than `REPLIES_MAX`.
fn all(next: impl Fn(usize, u64) -> Xdr + 'static) -> Played {
    let scene = Scene::new().with(|scene| scene.judges = false);
    let replies = Cell::new(0);
    let tell = move |told: &mut Told| {
        let (_, asked) = told.args.split_at(24);
        told.body(&next(replies.get(), u64::from_be_bytes(*asked.first_chunk().unwrap())));
        replies.set(replies.get() + 1);
        told.times = (replies.get() < REPLIES_MAX).into();
    };
    scene.told(READDIRPLUS, tell).play()
}

fn names(played: &Played) -> Vec<&str> {
    played.story.entries.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn a_cookie_moves() {
    first(listing([(&b"a"[..], 0)], 1)).fails(COOKIE);
    first(listing([(&b"a"[..], 7), (b"b", 7)], 1)).fails(COOKIE);
    first(listing([(&b"a"[..], 7), (b"b", 0)], 1)).fails(COOKIE);
    let played = all(|_, _| listing([(&b"a"[..], 7)], 0));
    played.fails(COOKIE);
    assert_eq!(names(&played), ["a"], "what was right in front of it was lent");
}

#[test]
fn a_listing_that_goes_round_is_found() {
    // `tail` replies, and then the same `round` of them for ever.
    for (tail, round) in [(0, 2), (0, 3), (1, 2), (5, 3), (2, 50), (300, 7)] {
        let played = all(move |_, asked| {
            let next = if asked == tail + round { tail + 1 } else { asked + 1 };
            listing([(&b"a"[..], next)], 0)
        });
        played.fails(COOKIE);
    }
}

#[test]
fn a_listing_goes_on_for_as_long_as_there_are_names() {
    let played = all(|reply, _| {
        let name = format!("name-{reply}");
        listing([(name.as_bytes(), u64::MAX - reply as u64)], (reply == 4000).into())
    });
    assert_eq!(played.outcome, Ok(()));
    let right = (0..=4000).map(|n| format!("name-{n}"));
    assert!(right.eq(names(&played)));
}

/// The caller, who sees no entry, cannot put an end to it.
#[test]
fn a_listing_of_nothing_but_dots_ends() {
    for name in [&b"."[..], b".."] {
        let played = all(move |reply, _| listing([(name, reply as u64 + 1)], 0));
        played.fails(Error::Misbehaved("reply after reply of a listing and no entry"));
    }
}

#[test]
fn nothing_and_no_end_is_no_progress() {
    first(listing([], 0)).fails(Error::Misbehaved("dirlist3.entries"));
    let played = all(|reply, _| listing([(&b"a"[..], 1)].into_iter().take(1 - reply), 0));
    played.fails(Error::Misbehaved("dirlist3.entries"));
    assert_eq!(names(&played), ["a"]);
    let played = first(listing([], 1));
    assert_eq!((played.outcome, names(&played)), (Ok(()), vec![]));
}

#[test]
fn a_name_that_leaves_its_directory_is_not_lent() {
    for bad in [&b"a/b"[..], b"/", b"../x", b"a\0", b"\0", b"", b"\xFF/\xFF"] {
        let played = first(listing([(&b"good"[..], 1), (bad, 2), (b"behind", 3)], 1));
        played.fails(NAME);
        assert_eq!(names(&played), ["good"]);
    }
}

#[test]
fn dots_anywhere_are_passed_over_and_odd_names_are_not() {
    let entries = [&b"a"[..], b"..", b"...", b".", b"b\\c", b"..", b" ", b"\xFF"];
    let played = first(listing(entries.into_iter().zip(1..), 1));
    assert_eq!(played.outcome, Ok(()));
    assert_eq!(names(&played), ["a", "...", "b\\c", " ", "\u{FFFD}"]);
}

#[test]
fn a_name_is_no_longer_than_the_reply() {
    let mut body = listing([(&b"good"[..], 1), (b"name", 2)], 1);
    for len in [3, 5, 25, 37, 1000, 1 << 20, u32::MAX] {
        // The second name's length: from behind, the end, what is not there, the cookie and the name.
        let at = body.bytes.len() - 8 - 8 - 8 - 4 - 4;
        body.bytes[at..at + 4].copy_from_slice(&len.to_be_bytes());
        let played = first(body.clone());
        match (len, played.outcome) {
            // What follows is still taken for something.
            (5..=25, Err(Error::Malformed(_))) => {}
            (3, outcome) => {
                assert_eq!((outcome, names(&played)), (Ok(()), vec!["good", "nam"]));
                continue;
            }
            _ => played.fails(Error::Malformed("entry3.name")),
        }
        assert_eq!(names(&played), [""; 0], "a reply is lent as a whole or not at all");
    }
    // Longer than any file system has it, and there.
    let long = "n".repeat(900);
    let played = first(listing([(long.as_bytes(), 1)], 1));
    assert_eq!((played.outcome, names(&played)), (Ok(()), vec![long.as_str()]));
}

#[test]
fn more_entries_than_there_is_room_for_are_a_matter_of_memory() {
    for count in [40, 2000] {
        let body = listing(iter::repeat_n(&b"name"[..], count).zip(1..), 1);
        // RPC's header and the scratch end of `rx`.
        let need = 24 + body.bytes.len() + 64;
        let played = first(body);
        played.fails(Error::Budget { what: "rx", need, have: 1536 });
        assert_eq!(names(&played), [""; 0]);
    }
}

#[test]
fn every_word_between_the_entries_is_a_word_of_the_standard() {
    let with = |from_end: usize, word: u32| {
        let mut body = listing([(&b"good"[..], 1), (b"name", 2)], 1);
        let at = body.bytes.len() - from_end;
        body.bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
        first(body)
    };
    with(4, 2).fails(Error::Malformed("dirlist3.eof"));
    with(8, 2).fails(Error::Malformed("entry3"));
    with(12, 2).fails(Error::Malformed("post_op_fh3.handle_follows"));
    with(16, 2).fails(Error::Malformed("post_op_attr.attributes_follow"));
    // An entry where the list ends.
    with(8, 1).fails(Error::Malformed("entry3.fileid"));
    // A handle of nothing.
    let mut body = listing([(&b"name"[..], 2)], 1);
    let at = body.bytes.len() - 12;
    body.bytes.splice(at..at + 4, [0, 0, 0, 1, 0, 0, 0, 0]);
    first(body).fails(Error::Malformed("nfs_fh3"));
}

#[test]
fn a_refusal_in_the_middle_keeps_what_was_lent() {
    for nth in 1..5 {
        let refuse = |told: &mut Told| {
            told.word(0, 10_003);
            told.message.truncate(told.results + 8);
        };
        let played = Scene::new().told_once(READDIRPLUS, nth, refuse).play();
        played.fails(refused(Reason::Expired, 10_003, "NFS3ERR_BAD_COOKIE", "READDIRPLUS"));
        assert!(!played.story.entries.is_empty());
    }
}
