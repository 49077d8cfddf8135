//! NULL while nothing else is asked.

use pagewire::nfs::{Exports, Nfs3};
use pagewire::{Connect, Error, Keepalive, Stat, StorageArray};
use pagewire_hostile_nfs::Place;
use pagewire_hostile_nfs::v3::{Scene, Session, at};

const NULL: Place = (at::NFS, 0);

fn with(scene: &Scene, then: impl FnOnce(&mut Session<'_>)) {
    let mut storage = StorageArray::<1024, 4096, 8>::new();
    let nfs = Nfs3::new(scene.client.clone());
    then(&mut Session::new(storage.lend(), nfs, scene.line()).unwrap());
}

#[test]
fn each_is_one_call_and_none_where_nothing_is_mounted() {
    with(&Scene::small(), |session| {
        assert_eq!(session.run(&mut Keepalive::new()), Ok(()));
        session.run(&mut Exports::new()).unwrap();
        assert_eq!(session.run(&mut Keepalive::new()), Ok(()), "this is no connection to NFS");
        assert!(!session.link.end.rpc.calls.contains(&NULL));
        session.run(&mut Connect::new()).unwrap();
        for _ in 0..100 {
            let before = *session.client.counters();
            assert_eq!(session.run(&mut Keepalive::new()), Ok(()));
            let after = session.client.counters();
            assert_eq!((after.requests, after.responses), (before.requests + 1, before.responses + 1));
        }
        assert_eq!(session.link.end.rpc.calls.iter().filter(|place| **place == NULL).count(), 100);
    });
}

#[test]
fn while_a_server_is_mounted_there_is_no_connection_to_keep() {
    let (mut steps, mut at_work) = (0, true);
    while at_work {
        with(&Scene::small(), |session| {
            at_work = session.abandon(Stat::new("/export/f"), steps);
            assert_eq!(session.run(&mut Keepalive::new()), Ok(()), "{steps}");
            session.run(&mut Stat::new("/export/f")).unwrap();
        });
        steps += 1;
    }
    assert!(steps > 8, "{steps} steps");
}

#[test]
fn one_that_is_dropped_anywhere_leaves_the_next_operation_right() {
    for steps in 0..6 {
        with(&Scene::small(), |session| {
            session.run(&mut Connect::new()).unwrap();
            session.abandon(Keepalive::new(), steps);
            session.run(&mut Stat::new("/export/f")).unwrap();
        });
    }
}

#[test]
fn an_answer_to_another_call_is_none() {
    let scene = Scene::small().told(NULL, |told| told.message[3] ^= 1);
    with(&scene, |session| {
        session.run(&mut Connect::new()).unwrap();
        let error = Error::Misbehaved("a reply to a call that is not in flight");
        assert_eq!(session.run(&mut Keepalive::new()), Err(error));
    });
}
