//! ECHO while nothing else is asked.

use pagewire::smb::Smb;
use pagewire::{Connect, Error, Keepalive, Open, Pages, Read, Reason, Refusal, Stat, StorageArray};
use pagewire_hostile::{Scene, Server, Session, Setup};
use pagewire_model::{Command, Lie, Model};

fn with(scene: &Scene, body: impl FnOnce(&mut Session<'_, Server>)) {
    let mut storage = StorageArray::<4096, 4096, 16>::new();
    let smb = Smb::new(scene.setup.config());
    let link = Server(Model::new(scene.config.clone()));
    body(&mut Session::new(storage.lend(), smb, link).expect("the storage is enough"));
}

/// Requests, replies and round trips.
fn costs(session: &Session<'_, Server>) -> [u64; 3] {
    let counters = session.client.counters();
    [counters.requests, counters.responses, counters.round_trips.into()]
}

#[test]
fn each_echo_is_one_request_that_is_protected_as_all_others_and_costs_no_credit_for_good() {
    for setup in Setup::every() {
        for credits in [1, 2, 64] {
            let mut scene = Scene::small(setup);
            scene.config.credits_max = credits;
            with(&scene, |session| {
                session.run(&mut Connect::new()).unwrap();
                for nth in 1..1000 {
                    let before = costs(session);
                    assert_eq!(session.run(&mut Keepalive::new()), Ok(()), "{setup:?}");
                    assert_eq!(costs(session), before.map(|count| count + 1));
                    assert_eq!(session.link.requests(Command::Echo), nth);
                }
                let protection = |command| {
                    let record = session.link.log().iter().rfind(|record| record.command == command);
                    record.map(|record| (record.signed, record.sealed)).unwrap()
                };
                let echo = protection(Command::Echo);
                session.run(&mut Stat::new("f")).unwrap();
                let record = session.link.log().last().unwrap();
                assert_eq!(echo, (record.signed, record.sealed), "{setup:?}");
                assert!(!session.link.is_closed(), "the server has no complaint");
            });
        }
    }
}

/// What ksmbd says to ECHO is neither signed nor sealed, and nothing else is believed.
#[test]
fn a_server_whose_echo_is_not_protected_is_asked_for_none_where_everything_has_to_be() {
    for setup in Setup::every() {
        with(&Scene::small(setup).told(Lie::ZeroGuid), |session| {
            session.run(&mut Connect::new()).unwrap();
            assert_eq!(session.run(&mut Keepalive::new()), Ok(()));
            assert_eq!(session.link.requests(Command::Echo), usize::from(!setup.is_protected()));
        });
    }
}

#[test]
fn nothing_is_sent_before_there_is_a_session_and_connecting_goes_on_as_if_nobody_had_asked() {
    for setup in Setup::every() {
        let scene = Scene::small(setup);
        with(&scene, |session| {
            assert_eq!(session.run(&mut Keepalive::new()), Ok(()));
            assert_eq!(costs(session), [0; 3], "it does not connect");
        });
        let mut steps = 0;
        let mut at_work = true;
        while at_work {
            with(&scene, |session| {
                at_work = session.abandon(Connect::new(), steps);
                let is_admitted = session.link.requests(Command::SessionSetup) == 2;
                assert_eq!(session.run(&mut Keepalive::new()), Ok(()), "{setup:?}, {steps}");
                assert!(is_admitted || session.link.requests(Command::Echo) == 0);
                session.run(&mut Stat::new("f")).unwrap();
                assert_eq!(session.link.requests(Command::SessionSetup), 2);
                assert!(!session.link.is_closed(), "the server has no complaint");
            });
            steps += 1;
        }
        assert!(steps > 6, "{setup:?}: {steps} steps");
    }
}

#[test]
fn an_echo_that_is_dropped_anywhere_leaves_the_next_operation_right() {
    for setup in Setup::every() {
        for steps in 0..6 {
            with(&Scene::small(setup), |session| {
                session.run(&mut Connect::new()).unwrap();
                session.abandon(Keepalive::new(), steps);
                session.run(&mut Stat::new("f")).unwrap();
                session.run(&mut Keepalive::new()).unwrap();
                let counters = session.client.counters();
                assert_eq!(counters.requests, counters.responses, "{setup:?}, {steps}");
            });
        }
    }
}

#[test]
fn that_the_server_has_forgotten_the_session_is_told() {
    let expired = Error::Refused(Refusal {
        reason: Reason::Expired,
        code: 0xC000_035C,
        name: "STATUS_NETWORK_SESSION_EXPIRED",
        during: "ECHO",
    });
    for setup in Setup::every() {
        with(&Scene::small(setup).told(Lie::SessionExpired { nth: 1 }), |session| {
            let file = session.run(&mut Open::new("f")).unwrap();
            let mut pages = [[0; 512]; 2];
            assert!(session.run(&mut Read::new(&file, 0, &mut Pages(&mut pages))).is_err());
            assert_eq!(session.run(&mut Keepalive::new()), Err(expired), "{setup:?}");
        });
    }
}
