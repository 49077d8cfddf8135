//! Servers that ask to be asked later (NFS3ERR_JUKEBOX), for a while or for ever; and those without READDIRPLUS.

use crate::chains::{FSSTAT, GETATTR, READ, asked};
use pagewire::nfs::{Exports, Nfs3};
use pagewire::{Connect, Disconnect, Reason, Stat, StatBoth, StorageArray, limits};
use pagewire_hostile_nfs::v3::{Played, Scene, Session, at};
use pagewire_hostile_nfs::{Place, Told, fetch, refused};
use std::ops::RangeInclusive;

pub const JUKEBOX: u32 = 10_008;
const CALLS: [(Place, &str); 6] = [
    ((at::NFS, 1), "GETATTR"),
    ((at::NFS, 3), "LOOKUP"),
    ((at::NFS, 6), "READ"),
    ((at::NFS, 17), "READDIRPLUS"),
    ((at::NFS, 18), "FSSTAT"),
    ((at::NFS, 19), "FSINFO"),
];

fn calls(played: &Played, place: Place) -> usize {
    played.line.end.rpc.calls.iter().filter(|called| **called == place).count()
}

pub fn refuses(status: u32) -> impl Fn(&mut Told) + Clone {
    move |told| {
        told.word(0, status);
        // The attributes that come with it are not there.
        let len = told.message.len().min(told.results + 4);
        told.message.truncate(len);
        told.message.extend([0; 4]);
        told.data.clear();
    }
}

#[test]
fn what_is_refused_for_a_while_is_asked_again_and_nothing_is_asked_in_vain() {
    let scene = Scene::small().with(|scene| scene.program.path = "/export/d/b.txt");
    let honest = scene.clone().play();
    honest.is_right();
    for (place, name) in CALLS {
        let count = calls(&honest, place);
        assert!(count > 0, "{name}");
        for nth in 0..count {
            let played = scene.clone().told_once(place, nth, refuses(JUKEBOX)).play();
            played.is_right();
            assert_eq!(played.counters.requests, honest.counters.requests + 1, "{name} {nth}");
        }
    }
}

#[test]
fn what_is_refused_for_ever_is_refused_after_so_many_pauses() {
    for (place, name) in CALLS {
        let played = Scene::small().told(place, refuses(JUKEBOX)).play();
        played.is_refused(Reason::Busy, JUKEBOX, "NFS3ERR_JUKEBOX", name);
        let each = if name == "READ" { 3 } else { 1 };
        assert_eq!(calls(&played, place), each * (1 + limits::PAUSES_MAX as usize), "{name}");
    }
}

/// What is asked together is asked one by one once it was refused: that the other one is answered is progress only once.
#[test]
fn what_is_refused_for_ever_beside_what_is_not_is_refused_after_so_many_pauses() {
    const STEPS_MAX: usize = 20_000;
    const PAUSES: RangeInclusive<usize> = limits::PAUSES_MAX as usize..=1 + limits::PAUSES_MAX as usize;
    let file = "/export/d/entry-07";
    let refusing = |places: &[Place]| {
        places.iter().fold(Scene::new(), |scene, place| scene.told(*place, refuses(JUKEBOX)))
    };
    let busy = |during| Some(refused(Reason::Busy, JUKEBOX, "NFS3ERR_JUKEBOX", during));
    for (places, during) in [(&[GETATTR][..], "GETATTR"), (&[READ], "READ"), (&[GETATTR, READ], "GETATTR")] {
        asked(refusing(places), file, |session| {
            session.steps_max = STEPS_MAX;
            assert_eq!(fetch(session, &[file])[0].end.err(), busy(during));
            assert!(PAUSES.contains(&session.pauses), "{during}: {}", session.pauses);
        });
    }
    for (places, during) in
        [(&[GETATTR][..], "GETATTR"), (&[FSSTAT], "FSSTAT"), (&[GETATTR, FSSTAT], "GETATTR")]
    {
        asked(refusing(places), file, |session| {
            session.steps_max = STEPS_MAX;
            assert_eq!(session.run(&mut StatBoth::new(file)).err(), busy(during));
            assert!(PAUSES.contains(&session.pauses), "{during}: {}", session.pauses);
        });
    }
}

#[test]
fn a_symbolic_link_is_read_after_a_while() {
    let scene = Scene::new().told_once((at::NFS, 5), 0, refuses(JUKEBOX));
    let mut storage = StorageArray::<1024, 1536, 4>::new();
    let mut session = Session::new(storage.lend(), Nfs3::new(scene.client.clone()), scene.line()).unwrap();
    session.run(&mut Connect::new()).unwrap();
    assert!(session.run(&mut Stat::new("/export/link")).is_err());
    assert_eq!(session.client.link("/export/link").unwrap().target.to_string(), "d/../f");
    // There is nothing to forget.
    assert_eq!((session.run(&mut Disconnect::new()), session.pauses), (Ok(()), 1));
}

#[test]
fn a_server_without_readdirplus_is_listed_without_attributes() {
    const READDIRPLUS: Place = (at::NFS, 17);
    let scene = Scene::new().with(|scene| scene.config.plain_listings = true);
    let played = scene.clone().told(READDIRPLUS, refuses(10_004)).play();
    played.is_right();
    assert_eq!(calls(&played, READDIRPLUS), 1, "it is remembered");
    assert!(calls(&played, (at::NFS, 16)) > 1, "it took several replies");
    let other = scene.clone().told(READDIRPLUS, refuses(10_006)).play();
    other.is_refused(Reason::Other, 10_006, "NFS3ERR_SERVERFAULT", "READDIRPLUS");
    let neither = scene.told(READDIRPLUS, refuses(10_004)).told((at::NFS, 16), refuses(10_004));
    neither.play().is_refused(Reason::Unsupported, 10_004, "NFS3ERR_NOTSUPP", "READDIR");
}

#[test]
fn a_listing_that_has_begun_does_not_go_on_in_another_way() {
    let played = Scene::new().told_once((at::NFS, 17), 1, refuses(10_004)).play();
    played.is_refused(Reason::Unsupported, 10_004, "NFS3ERR_NOTSUPP", "READDIRPLUS");
}

/// A reply to what was dropped comes behind the one that lets go to another port: it is awaited where it was asked.
#[test]
fn no_port_is_left_before_what_was_asked_there_is_answered() {
    let scene = Scene::new().with(|scene| {
        (scene.client.mount_port, scene.client.nfs_port) = (Some(20_048), Some(12_049));
        scene.config.rpc.reversed = true;
    });
    let mut storage = StorageArray::<1024, 1536, 4>::new();
    let mut session = Session::new(storage.lend(), Nfs3::new(scene.client.clone()), scene.line()).unwrap();
    assert!(session.abandon(Exports::new(), 1), "EXPORT is sent");
    session.run(&mut Connect::new()).unwrap();
    assert!(session.run(&mut Stat::new("/export/f")).is_ok());
}
