//! Servers that are wrong, each with the exact error that it must give.

use crate::honest::sparse;
use pagewire::nfs::Nfs4;
use pagewire::{Connect, Error, Map, MapSegment, Open, Reason, Stat, StorageArray, limits};
use pagewire_hostile_nfs::v4::{Played, Quirk, Scene, Session, When, op, status};
use pagewire_hostile_nfs::{Layout, Place, Told};

const OTHER: Error = Error::Misbehaved("a COMPOUND result is of another operation");

/// How many COMPOUNDs with this operation an honest play has.
fn compounds(scene: &Scene, op: u32) -> usize {
    let played = scene.clone().play();
    played.is_right();
    played.line.end.compounds.iter().filter(|ops| ops.contains(&op)).count()
}

/// With the quirk in each reply in turn.
#[track_caller]
fn in_each(minor: u32, quirk: Quirk, judge: impl Fn(usize, &Played)) {
    let scene = Scene::small().minor(minor);
    let replies = scene.clone().play().line.end.compounds.len();
    assert!(replies > 6);
    for nth in 0..replies {
        judge(nth, &scene.clone().quirk(When::Nth(nth), quirk).play());
    }
}

#[track_caller]
fn fails(minor: u32, when: When, quirk: Quirk, error: Error) {
    Scene::new().minor(minor).quirk(when, quirk).play().fails(error);
}

#[test]
fn a_reply_to_nothing_is_none() {
    for minor in 0..3 {
        in_each(minor, Quirk::OtherXid, |_, played| {
            played.fails(Error::Misbehaved("a reply to a call that is not in flight"));
        });
    }
}

#[test]
fn there_are_as_many_results_as_operations() {
    for minor in 0..3 {
        in_each(minor, Quirk::ResultMore, |nth, played| {
            let reads = played.line.end.compounds[nth].contains(&op::READ);
            // Behind data nothing is looked for, and so it is not told what it is.
            let more = Error::Misbehaved("COMPOUND has more results than operations");
            played.fails(if reads { OTHER } else { more });
        });
        in_each(minor, Quirk::ResultMissing, |_, played| {
            played.fails(Error::Misbehaved("COMPOUND has fewer results than operations"));
        });
    }
}

#[test]
fn every_result_is_that_of_its_operation() {
    for minor in 0..3 {
        let scene = Scene::small().minor(minor);
        let honest = scene.clone().play().line.end.compounds;
        for at in 0..honest.iter().map(Vec::len).max().unwrap() {
            for nth in 0..honest.iter().filter(|ops| ops.len() > at).count() {
                scene.clone().quirk(When::Nth(nth), Quirk::OtherOperation(at)).play().fails(OTHER);
            }
        }
    }
}

#[test]
fn sequence_answers_the_request_that_it_was_in() {
    for quirk in [Quirk::OtherSession, Quirk::OtherSlot, Quirk::OtherSequence] {
        for minor in [1, 2] {
            for nth in 0..compounds(&Scene::new().minor(minor), op::SEQUENCE) {
                let error = Error::Misbehaved("SEQUENCE answers another request");
                fails(minor, When::Nth(nth), quirk, error);
            }
        }
    }
}

#[test]
fn a_listing_moves_on() {
    for minor in 0..3 {
        let listings = compounds(&Scene::new().minor(minor), op::READDIR);
        assert!(listings > 2);
        for nth in 0..listings {
            let error = Error::Misbehaved("READDIR does not move on");
            fails(minor, When::Nth(nth), Quirk::CookieStays, error);
            let error = Error::Misbehaved("READDIR brings no entry, and more are to come");
            fails(minor, When::Nth(nth), Quirk::ListsNothing, error);
        }
    }
}

/// Each cookie is new to the one in front of it: only that it comes again tells that there is no end.
#[test]
fn a_listing_that_goes_round_is_found() {
    for minor in 0..3 {
        // Rounds of two replies, of three, and of many.
        for entries in [90, 150, 1000] {
            let scene = Scene::new().minor(minor).quirk(When::Always, Quirk::ListsAgain).with(|scene| {
                let name = |n| format!("/export/d/more-{n:03}");
                let tree = scene.config.tree.clone();
                scene.config.tree = (0..entries).fold(tree, |tree, n| tree.pattern(&name(n), n));
                scene.judges = false;
            });
            let played = scene.play();
            played.fails(Error::Misbehaved("READDIR goes round"));
            assert!(played.story.entries.len() > 60 + entries, "all were lent before any came again");
        }
    }
}

#[test]
fn a_read_brings_what_was_asked_and_not_nothing() {
    for minor in 0..3 {
        for nth in [0, 1, 4] {
            let more = Error::Misbehaved("READ brought more than was asked");
            for surplus in [1, 4, 100_000] {
                fails(minor, When::Nth(nth), Quirk::ReadMore(surplus), more);
            }
            let nothing = Error::Misbehaved("a read brought no data and no end of file");
            fails(minor, When::Nth(nth), Quirk::ReadNothing, nothing);
        }
    }
}

/// Replies of READ whose lengths do not fit.
#[test]
fn the_length_of_the_data_is_that_of_the_record() {
    const READ: Place = (100_003, op::READ);
    let len_at = |told: &Told| told.data[0].start - 4 - told.results;
    for minor in 0..3 {
        for nth in [0, 3] {
            let scene = || Scene::new().minor(minor);
            let longer = scene().told_once(READ, nth, move |told| told.word(len_at(told), 4096 + 1));
            longer.play().fails(Error::Misbehaved("READ brought more than was asked"));
            let shorter = scene().told_once(READ, nth, move |told| told.word(len_at(told), 8));
            assert!(matches!(shorter.play().outcome, Err(Error::Malformed(_))));
            let eof = scene().told_once(READ, nth, move |told| told.word(len_at(told) - 4, 2));
            eof.play().fails(Error::Malformed("READ.eof"));
        }
    }
}

#[test]
fn a_minor_version_is_refused_with_the_status_for_it() {
    let scene = Scene::new().with(|scene| scene.config.minors = 0..=1);
    scene.clone().quirk(When::Always, Quirk::MismatchSaid(status::INVAL)).play().is_refused(
        Reason::Other,
        status::INVAL,
        "NFS4ERR_INVAL",
        "EXCHANGE_ID",
    );
    let mismatch = scene.with(|scene| (scene.client.minor, scene.config.minors) = (Some(2), 0..=1));
    let (name, code) = ("NFS4ERR_MINOR_VERS_MISMATCH", status::MINOR_VERS_MISMATCH);
    mismatch.play().is_refused(Reason::Unsupported, code, name, "EXCHANGE_ID");
}

#[test]
fn every_status_is_told_as_it_is() {
    for minor in 0..3 {
        for (operation, during) in [
            (op::PUTROOTFH, "PUTROOTFH"),
            (op::LOOKUP, "LOOKUP"),
            (op::GETFH, "GETFH"),
            (op::GETATTR, "GETATTR"),
            (op::READ, "READ"),
            (op::READDIR, "READDIR"),
        ] {
            for (status, reason, name) in [
                (2, Reason::NotFound, "NFS4ERR_NOENT"),
                (13, Reason::Denied, "NFS4ERR_ACCESS"),
                (70, Reason::Expired, "NFS4ERR_STALE"),
                (5, Reason::Other, "NFS4ERR_IO"),
                (0x4141_4141, Reason::Other, ""),
            ] {
                let scene = Scene::small().minor(minor);
                let played = scene.quirk(When::Nth(0), Quirk::Refuses(operation, status)).play();
                played.is_refused(reason, status, name, during);
            }
        }
    }
}

/// How a map of three runs ends, and how many segments it lends.
fn mapped(when: When, quirk: Quirk) -> (Result<(), Error>, usize) {
    let (outcome, segments, _) = mapped_of(&Layout::of(&[10_000, 20_000, 30_000, 1000]), when, quirk);
    (outcome, segments)
}

/// The same of any file, and how many requests were made for it.
fn mapped_of(layout: &Layout, when: When, quirk: Quirk) -> (Result<(), Error>, usize, usize) {
    let scene = sparse(2, layout).quirk(when, quirk);
    let mut storage = StorageArray::<1024, 4096, 8>::new();
    let nfs = Nfs4::new(scene.client.clone());
    let mut session = Session::new(storage.lend(), nfs, scene.line()).unwrap();
    session.steps_max = 50_000;
    session.run(&mut Connect::new()).unwrap();
    let file = session.run(&mut Open::new("/export/sparse")).unwrap();
    let mut segments = 0;
    let outcome = session.run_each(&mut Map::new(&file, 0), |_: MapSegment| segments += 1);
    if outcome.is_ok() {
        assert!(session.run(&mut Stat::new("")).is_ok());
    }
    (outcome, segments, session.link.end.compounds.len())
}

#[test]
fn a_map_goes_on_or_the_rest_of_it_is_data() {
    // The searches, for a hole and for data: from 0, from 10,000, from 30,000, from 60,000.
    let back = Error::Misbehaved("SEEK goes back");
    for nth in 2..8 {
        assert_eq!(mapped(When::Nth(nth), Quirk::SeekBack(1)).0, Err(back));
    }
    // What is data and a hole at one time is neither, and from there on all is data.
    for (when, segments) in [(When::Always, 1), (When::Nth(0), 1), (When::From(2), 1), (When::Nth(4), 3)] {
        assert_eq!(mapped(when, Quirk::SeekStays), (Ok(()), segments), "{when:?}");
    }
    let refuses = Quirk::Refuses(op::SEEK, status::NOTSUPP);
    for (when, segments) in [
        (When::Always, 1),
        (When::From(2), 1),
        (When::From(3), 1),
        (When::From(4), 3),
        (When::From(5), 3),
        (When::From(6), 3),
        (When::From(7), 3),
    ] {
        assert_eq!(mapped(when, refuses), (Ok(()), segments), "{when:?}");
    }
}

/// Byte for byte it moves on, and nothing of it can be lent before it is known where the data ends: the caller cannot end it.
#[test]
fn a_map_of_one_byte_of_data_after_another_ends() {
    for layout in [Layout::data(1 << 61), Layout::of(&[1 << 40, 1 << 61])] {
        let (outcome, segments, requests) = mapped_of(&layout, When::Always, Quirk::SeekOn(1));
        assert_eq!(outcome, Err(Error::Misbehaved("reply after reply of a map and no segment")));
        assert!(segments == 0 && requests < limits::IDLE_MAPS_MAX as usize + 10, "{segments} {requests}");
    }
}
