//! Servers that are slow on purpose: the deadline is one of progress, not of signs of life.

use pagewire::smb::Smb;
use pagewire::{Connect, Error, Millis, Open, Pages, Read, StorageArray, limits};
use pagewire_hostile::{Heard, Link, Scene, Server, Session, Setup};
use pagewire_model::{Lie, Model};

/// A link that gives one byte at a time, or what there is room for, and the next so many milliseconds later.
struct Drip {
    server: Server,
    every_ms: u32,
    /// It is not slow yet.
    flows: bool,
    /// It gives whole windows, not bytes.
    whole: bool,
    waits: bool,
}

impl Link for Drip {
    fn send(&mut self, bytes: &[u8]) -> usize {
        self.server.send(bytes)
    }

    fn receive(&mut self, window: &mut [u8]) -> Heard {
        if self.flows {
            return self.server.receive(window);
        }
        self.waits = !self.waits;
        match self.waits {
            true => Heard::Later(self.every_ms),
            false if self.whole => self.server.receive(window),
            false => self.server.receive(&mut window[..1]),
        }
    }
}

fn with(scene: &Scene, every_ms: u32, body: impl FnOnce(&mut Session<'_, Drip>)) {
    let mut storage = StorageArray::<4096, 4096, 16>::new();
    let server = Server(Model::new(scene.config.clone()));
    let link = Drip { server, every_ms, flows: false, whole: false, waits: false };
    body(&mut Session::new(storage.lend(), Smb::new(scene.setup.config()), link).unwrap());
}

#[test]
fn a_byte_a_minute_or_a_second_is_no_answer_in_time() {
    for setup in Setup::every() {
        for every_ms in [1000, 29_999, 60_000] {
            with(&Scene::new(setup), every_ms, |session| {
                assert_eq!(session.run(&mut Connect::new()), Err(Error::TimedOut));
                assert_eq!(session.now, Millis(u64::from(limits::TIMEOUT_MS)), "{setup:?}, {every_ms}");
            });
            with(&Scene::new(setup), every_ms, |session| {
                session.client.set_timeout_ms(60_001);
                assert_eq!(session.run(&mut Connect::new()), Err(Error::TimedOut));
                assert_eq!(session.now, Millis(60_001), "a longer time-out is one, and no more");
            });
        }
    }
}

#[test]
fn data_that_drips_in_is_none_and_stays_in_no_page() {
    for setup in Setup::every() {
        with(&Scene::new(setup), 60_000, |session| {
            session.link.flows = true;
            let file = session.run(&mut Open::new("f")).unwrap();
            session.link.flows = false;
            let mut memory = [[0xAA; 512]; 4];
            let before = session.now;
            let outcome = session.run(&mut Read::new(&file, 0, &mut Pages(&mut memory)));
            assert_eq!(outcome.err(), Some(Error::TimedOut));
            assert_eq!(session.now, before.after(limits::TIMEOUT_MS));
            assert!(memory.as_flattened().iter().all(|byte| [0, 0xAA].contains(byte)), "{setup:?}");
        });
    }
}

#[test]
fn a_promise_that_is_repeated_for_ever_is_broken_within_so_many_time_outs() {
    let error = Error::Misbehaved("the server says for ever that a reply is still to come");
    for setup in Setup::every() {
        with(&Scene::new(setup).told(Lie::PendingTimes(1000)), 20_000, |session| {
            session.link.flows = true;
            let file = session.run(&mut Open::new("f")).unwrap();
            let mut memory = [[0xAA; 512]; 4];
            let outcome = session.run(&mut Read::new(&file, 0, &mut Pages(&mut memory)));
            assert_eq!(outcome.err(), Some(error), "{setup:?}");
            let most = u32::from(limits::INTERIM_MAX) * limits::TIMEOUT_MS;
            assert!(session.now <= Millis(0).after(most));
        });
    }
}

#[test]
fn oplocks_that_break_now_and_then_do_not_keep_a_client_waiting() {
    for setup in Setup::every() {
        with(&Scene::new(setup).told(Lie::OplockBreaksForEver), 4_000, |session| {
            session.link.flows = true;
            let file = session.run(&mut Open::new("f")).unwrap();
            session.link.flows = false;
            session.link.whole = true;
            let mut memory = [[0xAA; 512]; 4];
            let before = session.now;
            let outcome = session.run(&mut Read::new(&file, 0, &mut Pages(&mut memory)));
            assert_eq!(outcome.err(), Some(Error::TimedOut), "{setup:?}");
            assert_eq!(session.now, before.after(limits::TIMEOUT_MS));
        });
    }
}
