//! SEQUENCE, RENEW, or nearly nothing, while nothing else is asked.

use pagewire::nfs::Nfs4;
use pagewire::{Connect, Error, Keepalive, Open, Reason, Stat, StorageArray};
use pagewire_hostile_nfs::refused;
use pagewire_hostile_nfs::v4::{Quirk, Scene, Session, When, op, status};

fn with(scene: &Scene, then: impl FnOnce(&mut Session<'_>)) {
    let mut storage = StorageArray::<1024, 4096, 8>::new();
    let nfs = Nfs4::new(scene.client.clone());
    then(&mut Session::new(storage.lend(), nfs, scene.line()).unwrap());
}

/// Minor version 0, where the server knows the client, because it wants files to be opened.
fn by_name() -> Scene {
    Scene::new().minor(0).with(|scene| {
        (scene.config.takes_bypass, scene.config.takes_anonymous) = (false, false);
    })
}

/// The first open finds out that one is needed, and the second makes the client known.
fn opens(session: &mut Session<'_>) {
    let mut page = [0; 9];
    for _ in 0..2 {
        let file = session.run(&mut Open::new("/export/f")).unwrap();
        let _ = session.run(&mut pagewire::Read::new(&file, 0, &mut pagewire::Buffer(&mut page)));
    }
}

#[track_caller]
fn costs_one_request(session: &mut Session<'_>, asked: u32) {
    for _ in 0..100 {
        let before = *session.client.counters();
        assert_eq!(session.run(&mut Keepalive::new()), Ok(()));
        let after = session.client.counters();
        assert_eq!((after.requests, after.responses), (before.requests + 1, before.responses + 1));
        assert_eq!(session.link.end.compounds.last(), Some(&vec![asked]));
    }
}

#[test]
fn it_is_one_operation_that_renews_what_the_server_knows_of_the_client() {
    for (minor, asked) in [(0, op::PUTROOTFH), (1, op::SEQUENCE), (2, op::SEQUENCE)] {
        with(&Scene::new().minor(minor), |session| {
            assert_eq!(session.run(&mut Keepalive::new()), Ok(()));
            assert_eq!(session.link.end.compounds.len(), 0, "it does not connect");
            session.run(&mut Stat::new("")).unwrap();
            costs_one_request(session, asked);
            session.run(&mut Connect::new()).unwrap();
        });
    }
    with(&by_name(), |session| {
        opens(session);
        costs_one_request(session, op::RENEW);
    });
}

#[test]
fn that_the_server_has_forgotten_is_told_and_the_next_operation_goes_on() {
    for minor in 1..3 {
        for status in [status::BADSESSION, 10078, status::STALE_CLIENTID, status::EXPIRED] {
            // Connecting takes the first two.
            let scene = Scene::new().minor(minor).quirk(When::Nth(3), Quirk::Refuses(op::SEQUENCE, status));
            with(&scene, |session| {
                session.run(&mut Connect::new()).unwrap();
                session.run(&mut Keepalive::new()).unwrap();
                let Err(Error::Refused(refusal)) = session.run(&mut Keepalive::new()) else { panic!() };
                assert_eq!(
                    (refusal.reason, refusal.code, refusal.during),
                    (Reason::Expired, status, "SEQUENCE")
                );
                let requests = session.link.end.compounds.len();
                assert_eq!(session.run(&mut Keepalive::new()), Ok(()), "there is nothing to be kept");
                assert_eq!(session.link.end.compounds.len(), requests);
                session.run(&mut Stat::new("/export/f")).unwrap();
                costs_one_request(session, op::SEQUENCE);
            });
        }
    }
    let scene = by_name().quirk(When::Nth(0), Quirk::Refuses(op::RENEW, status::STALE_CLIENTID));
    with(&scene, |session| {
        opens(session);
        let error = refused(Reason::Expired, status::STALE_CLIENTID, "NFS4ERR_STALE_CLIENTID", "RENEW");
        assert_eq!(session.run(&mut Keepalive::new()), Err(error));
        costs_one_request(session, op::PUTROOTFH);
        session.run(&mut Open::new("/export/f")).unwrap();
        costs_one_request(session, op::RENEW);
    });
}

#[test]
fn a_server_that_asks_to_be_asked_later_is_asked_later_and_one_that_cannot_call_back_has_renewed() {
    for minor in 1..3 {
        // DELAY of SEQUENCE uses up no number.
        let scene =
            Scene::new().minor(minor).quirk(When::Nth(2), Quirk::Refuses(op::SEQUENCE, status::DELAY));
        with(&scene, |session| {
            session.run(&mut Connect::new()).unwrap();
            assert_eq!((session.run(&mut Keepalive::new()), session.pauses), (Ok(()), 1));
        });
    }
    with(&by_name().quirk(When::Always, Quirk::Refuses(op::RENEW, 10_048)), |session| {
        opens(session);
        costs_one_request(session, op::RENEW);
    });
}

#[test]
fn one_that_is_dropped_anywhere_leaves_the_next_operation_right() {
    for minor in 0..3 {
        for steps in 0..6 {
            with(&Scene::new().minor(minor), |session| {
                session.run(&mut Connect::new()).unwrap();
                session.abandon(Keepalive::new(), steps);
                session.run(&mut Stat::new("/export/f")).unwrap();
                session.run(&mut Keepalive::new()).unwrap();
            });
        }
    }
}
