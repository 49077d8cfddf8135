//! Replies that are not what they should be: of RPC, of connecting, of looking up.

use pagewire::nfs::Nfs3;
use pagewire::{Connect, Error, Open, Protocol, Reason, StorageArray};
use pagewire_hostile_nfs::v3::{Played, Scene, Session};
use pagewire_hostile_nfs::{Place, Story, Told, refused};

const GETPORT: Place = (100_000, 3);
const MNT: Place = (100_005, 1);
const GETATTR: Place = (100_003, 1);
const LOOKUP: Place = (100_003, 3);
const READ: Place = (100_003, 6);
const READDIRPLUS: Place = (100_003, 17);
const FSSTAT: Place = (100_003, 18);
const FSINFO: Place = (100_003, 19);

const CALLS: [(Place, &str); 8] = [
    (GETPORT, "GETPORT"),
    (MNT, "MNT"),
    (FSINFO, "FSINFO"),
    (LOOKUP, "LOOKUP"),
    (GETATTR, "GETATTR"),
    (READ, "READ"),
    (READDIRPLUS, "READDIRPLUS"),
    (FSSTAT, "FSSTAT"),
];

/// Tells a lie in the first reply to each kind of call in turn.
#[track_caller]
fn in_each(tell: impl Fn(&mut Told) + Copy + 'static, check: impl Fn(&Played, &'static str)) {
    for (place, name) in CALLS {
        check(&Scene::new().told_once(place, 0, tell).play(), name);
    }
}

#[track_caller]
fn fails_in_each(tell: impl Fn(&mut Told) + Copy + 'static, error: Error) {
    in_each(tell, |played, _| played.fails(error));
}

const NOT_IN_FLIGHT: Error = Error::Misbehaved("a reply to a call that is not in flight");

fn xid(told: &Told) -> u32 {
    u32::from_be_bytes(*told.message.first_chunk().unwrap())
}

fn set_xid(told: &mut Told, xid: u32) {
    told.message[..4].copy_from_slice(&xid.to_be_bytes());
}

#[test]
fn a_reply_to_an_unknown_call_is_not_taken() {
    fails_in_each(|told| set_xid(told, xid(told) ^ 0x4000_0000), NOT_IN_FLIGHT);
}

#[test]
fn a_reply_to_a_call_that_was_answered_is_not_taken() {
    // Eight can be in flight: the eighth before this one was answered.
    let scene = Scene::new().told_once(READ, 4, |told| set_xid(told, xid(told).wrapping_sub(8)));
    scene.play().fails(NOT_IN_FLIGHT);
}

#[test]
fn a_reply_that_comes_twice_is_taken_once() {
    in_each(
        |told| told.times = 2,
        |played, name| match name {
            // Nobody looks at the second: the connection is given up for another one, or nothing else is asked.
            "MNT" | "FSSTAT" => played.is_right(),
            _ => played.fails(NOT_IN_FLIGHT),
        },
    );
}

#[test]
fn a_call_is_no_reply() {
    fails_in_each(|told| told.message[7] = 0, Error::Misbehaved("rpc_msg.mtype"));
    fails_in_each(|told| told.message[7] = 2, Error::Malformed("rpc_msg.mtype"));
    fails_in_each(|told| told.message[11] = 2, Error::Malformed("reply_body.stat"));
}

#[test]
fn a_verifier_is_of_a_flavour_that_was_asked_for() {
    for flavor in [1, 3, 6, 255] {
        fails_in_each(move |told| told.message[15] = flavor, Error::Misbehaved("accepted_reply.verf.flavor"));
    }
    fails_in_each(
        |told| {
            told.message[18..20].copy_from_slice(&401_u16.to_be_bytes());
            told.message.splice(20..20, [0; 404]);
        },
        Error::Malformed("accepted_reply.verf.body"),
    );
}

#[test]
fn a_call_that_is_denied_says_why() {
    for (words, reason, code, name) in [
        (&[1, 1, 1, 1][..], Reason::Authentication, 1, "AUTH_BADCRED"),
        (&[1, 1, 1, 5], Reason::Authentication, 5, "AUTH_TOOWEAK"),
        (&[1, 1, 1, 99], Reason::Authentication, 99, "AUTH_ERROR"),
        (&[1, 1, 0, 3, 4], Reason::Unsupported, 0, "RPC_MISMATCH"),
        (&[1, 0, 0, 0, 1], Reason::Unsupported, 1, "PROG_UNAVAIL"),
        (&[1, 0, 0, 0, 2, 2, 2], Reason::Unsupported, 2, "PROG_MISMATCH"),
        (&[1, 0, 0, 0, 3], Reason::Unsupported, 3, "PROC_UNAVAIL"),
        (&[1, 0, 0, 0, 4], Reason::Other, 4, "GARBAGE_ARGS"),
        (&[1, 0, 0, 0, 5], Reason::Busy, 5, "SYSTEM_ERR"),
    ] {
        in_each(
            move |told| told.words(words),
            |played, during| played.is_refused(reason, code, name, during),
        );
    }
    fails_in_each(|told| told.words(&[1, 0, 0, 0, 6]), Error::Malformed("accepted_reply.stat"));
    fails_in_each(|told| told.words(&[1, 1, 2, 0]), Error::Malformed("rejected_reply.stat"));
}

#[test]
fn after_a_refusal_the_connection_goes_on() {
    let scene = Scene::new();
    let scene = scene.told_once(READ, 1, |told| told.words(&[1, 0, 0, 0, 5]));
    let mut storage = StorageArray::<1024, 1536, 8>::new();
    let nfs = Nfs3::new(scene.client.clone());
    let mut session = Session::new(storage.lend(), nfs, scene.line()).unwrap();
    let (mut first, mut second) = (Story::default(), Story::default());
    let busy = refused(Reason::Busy, 5, "SYSTEM_ERR", "READ");
    assert_eq!(scene.program.run::<512>(&mut session, &mut first), Err(busy));
    assert_eq!(scene.program.run_connected::<512>(&mut session, &mut second), Ok(()));
    assert!(second == scene.truth());
}

#[test]
fn a_record_has_a_bound() {
    let too_long = |told: &mut Told| told.mark = Some(0x8100_0000);
    fails_in_each(too_long, Error::Malformed("length of a frame"));
    fails_in_each(|told| told.mark = Some(0xFFFF_FFFF), Error::Malformed("length of a frame"));
    // So long that it would still pass, and then nothing comes.
    let waits = |told: &mut Told| told.mark = Some(0x80FF_FFFF);
    fails_in_each(waits, Error::TimedOut);
    fails_in_each(
        |told| told.mark = Some(0x8000_0007),
        Error::Malformed("a message ends before its head does"),
    );
}

#[test]
fn empty_records_and_fragments_are_bounded() {
    let empties = |times, mark: u32| {
        move |told: &mut Told| {
            told.message.clear();
            told.data.clear();
            (told.times, told.mark) = (times, Some(mark));
        }
    };
    for (place, _) in CALLS {
        let fragments = Scene::new().told_once(place, 0, empties(65, 0));
        fragments.play().fails(Error::Misbehaved("fragment after fragment and nothing in them"));
        let records = Scene::new().told_once(place, 0, empties(1100, 0x8000_0000));
        records.play().fails(Error::Misbehaved("frame after frame and no reply"));
    }
}

#[test]
fn a_server_that_says_nothing_or_hangs_up_is_left() {
    fails_in_each(|told| told.times = 0, Error::TimedOut);
    fails_in_each(|told| (told.times, told.last) = (0, true), Error::Closed);
}

#[test]
fn bytes_behind_a_reply_are_not_another_one() {
    in_each(
        |told| told.message.extend([0; 4]),
        |played, name| match name {
            "READ" => played.fails(Error::Malformed("a message ends before its head does")),
            // What is behind the results of other procedures is nobody's.
            _ => played.is_right(),
        },
    );
}

#[test]
fn results_that_end_early_are_malformed() {
    in_each(
        |told| {
            let len = told.message.len() - 4;
            told.message.truncate(len);
        },
        |played, name| {
            assert!(matches!(played.outcome, Err(Error::Malformed(_))), "{name}: {:?}", played.outcome)
        },
    );
}

#[test]
fn a_port_that_is_none_is_not_connected_to() {
    let nowhere = Error::Incompatible("the server's port mapper knows no MOUNT or NFS of version 3 over TCP");
    for nth in [0, 1] {
        let played = Scene::new().told_once(GETPORT, nth, |told| told.word(0, 0)).play();
        played.fails(nowhere);
        assert_eq!(played.line.end.rpc.calls, [GETPORT; 2], "nothing is asked of a server that is not there");
        let played = Scene::new().told_once(GETPORT, nth, |told| told.word(0, 0x0001_0801)).play();
        played.fails(Error::Malformed("GETPORT.port"));
    }
}

#[test]
fn limits_that_are_refused_are_of_interest_to_connect_alone() {
    let scene = Scene::new().told(FSINFO, |told| told.word(0, 13));
    scene.clone().play().is_refused(Reason::Denied, 13, "NFS3ERR_ACCES", "FSINFO");
    let mut storage = StorageArray::<1024, 1536, 8>::new();
    let nfs = Nfs3::new(scene.client.clone());
    let mut session = Session::new(storage.lend(), nfs, scene.line()).unwrap();
    assert!(session.run(&mut Connect::new()).is_err());
    assert!(session.run(&mut Open::new("/export/f")).is_ok());
    assert_eq!(session.client.protocol().limits().read_len_max, 65536);
}

/// Nobody waits for FSINFO beside the first LOOKUP, and so its refusals must not keep up one who waits for LOOKUP.
#[test]
fn limits_that_are_refused_are_asked_for_once_by_each_who_opens() {
    let scene = Scene::new().told(FSINFO, |told| told.word(0, 13)).told(LOOKUP, |told| told.times = 0);
    let mut storage = StorageArray::<1024, 1536, 8>::new();
    let nfs = Nfs3::new(scene.client.clone());
    let mut session = Session::new(storage.lend(), nfs, scene.line()).unwrap();
    session.steps_max = 1000;
    assert_eq!(session.run(&mut Open::new("/export/f")).map(|_| ()), Err(Error::TimedOut));
    let asked = session.link.end.rpc.calls.iter().filter(|place| **place == FSINFO).count();
    assert_eq!(asked, 1);
}

#[test]
fn a_handle_has_1_to_64_bytes() {
    for (place, _) in [CALLS[1], CALLS[3]] {
        let handle = |len: usize| {
            move |told: &mut Told| {
                let at = told.results + 4;
                let mut bytes = (len as u32).to_be_bytes().to_vec();
                bytes.resize(4 + len.next_multiple_of(4), 7);
                told.message.splice(at..at + 24, bytes);
            }
        };
        for len in [0, 65, 128] {
            Scene::new().told(place, handle(len)).play().fails(Error::Malformed("nfs_fh3"));
        }
        for len in [1, 64] {
            let played = Scene::new().told(place, handle(len)).play();
            // Another's handle: the server does not know it.
            let during = if place == MNT { "FSINFO" } else { "READ" };
            played.is_refused(Reason::Expired, 10_001, "NFS3ERR_BADHANDLE", during);
        }
    }
    Scene::new().told(MNT, |told| told.word(4, u32::MAX)).play().fails(Error::Malformed("nfs_fh3"));
}

#[test]
fn a_file_is_of_a_type_that_there_is() {
    for file_type in [0, 8, 99, u32::MAX] {
        for (place, at) in [(GETATTR, 4), (LOOKUP, 32), (FSINFO, 8), (READ, 8), (READDIRPLUS, 8), (FSSTAT, 8)]
        {
            let scene = Scene::new().told(place, move |told| told.word(at, file_type));
            scene.play().fails(Error::Malformed("fattr3.type"));
        }
    }
}

#[test]
fn flavours_are_bounded() {
    let scene = Scene::new().told(MNT, |told| told.word(28, 33));
    scene.play().fails(Error::Malformed("mountres3_ok.auth_flavors"));
    let scene = Scene::new().told(MNT, |told| told.word(28, u32::MAX));
    scene.play().fails(Error::Malformed("mountres3_ok.auth_flavors"));
}

#[test]
fn every_status_of_every_call_is_told_as_it_is() {
    for (place, during) in CALLS.into_iter().skip(2) {
        for (status, reason, name) in [
            (2, Reason::NotFound, "NFS3ERR_NOENT"),
            (13, Reason::Denied, "NFS3ERR_ACCES"),
            (70, Reason::Expired, "NFS3ERR_STALE"),
            (0x4141_4141, Reason::Other, ""),
        ] {
            let played = Scene::new().told_once(place, 0, move |told| {
                told.word(0, status);
                told.message.truncate(told.results + 8);
            });
            played.play().is_refused(reason, status, name, during);
        }
    }
}
