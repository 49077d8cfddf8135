//! Servers that ask to be asked later, for a while or for ever.

use pagewire::nfs::Nfs4;
use pagewire::{Buffer, Connect, Error, Map, MapSegment, Open, Read, Reason, StorageArray, limits};
use pagewire_hostile_nfs::v4::{Quirk, Scene, Session, When, op, status};
use pagewire_hostile_nfs::{Kind, Layout, refused};
use std::collections::BTreeMap;

const LATER: [(u32, &str); 2] = [(status::DELAY, "NFS4ERR_DELAY"), (status::GRACE, "NFS4ERR_GRACE")];

/// Every request of one that is refused for ever.
const ASKED: usize = 1 + limits::PAUSES_MAX as usize;

/// How often an honest play has each operation, and how many requests.
fn honest(scene: &Scene) -> (BTreeMap<u32, usize>, usize) {
    let played = scene.clone().play();
    played.is_right();
    let mut operations = BTreeMap::new();
    let compounds = &played.line.end.compounds;
    compounds.iter().flatten().for_each(|op| *operations.entry(*op).or_default() += 1);
    (operations, compounds.len())
}

#[test]
fn what_is_refused_for_a_while_is_asked_again_and_nothing_is_asked_in_vain() {
    for minor in 0..3 {
        let scene = Scene::small().minor(minor);
        let (operations, requests) = honest(&scene);
        for (operation, count) in operations {
            let times = (0..count).map(|nth| (When::Nth(nth), 1)).chain([(When::First(3), 3)]);
            for (when, more) in times {
                let quirk = Quirk::Refuses(operation, LATER[more % 2].0);
                let played = scene.clone().quirk(when, quirk).play();
                played.is_right();
                // Nobody waits for RECLAIM_COMPLETE, the first COMPOUND in a session.
                let again = match (operation, when) {
                    (op::RECLAIM_COMPLETE, _) => 0,
                    (op::SEQUENCE, When::Nth(0) | When::First(_)) => more - 1,
                    _ => more,
                };
                assert_eq!(played.line.end.compounds.len(), requests + again, "{operation} {when:?}");
            }
        }
    }
}

#[test]
fn what_is_refused_for_ever_is_refused_after_so_many_pauses() {
    for minor in 0..3 {
        let scene = Scene::small().minor(minor);
        let mut operations = honest(&scene).0;
        // Nobody waits for it.
        operations.remove(&op::RECLAIM_COMPLETE);
        for (operation, _) in operations {
            for (status, name) in LATER {
                let quirk = Quirk::Refuses(operation, status);
                let played = scene.clone().quirk(When::Always, quirk).play();
                let Err(Error::Refused(refusal)) = played.outcome else { panic!("{:?}", played.outcome) };
                assert_eq!((refusal.reason, refusal.code, refusal.name), (Reason::Busy, status, name));
                let asked = |ops: &&Vec<u32>| ops.last() == Some(&operation);
                let asked = played.line.end.compounds.iter().filter(asked).count();
                // Three READs are in flight, and asked again at the same time.
                let least = match operation {
                    op::READ | op::PUTFH => 3 * ASKED,
                    // That in front of RECLAIM_COMPLETE.
                    op::SEQUENCE => 1 + ASKED,
                    _ => ASKED,
                };
                assert_eq!(asked, least, "{minor} {operation}");
            }
        }
    }
}

/// A file of data and holes, open.
fn opened(
    quirks: &[(When, Quirk)],
    then: impl FnOnce(&mut Session<'_>, &pagewire::File<<Nfs4<'_> as pagewire::Protocol>::Handle>),
) {
    let mut scene = Scene::new().minor(2);
    let layout = Layout::of(&[10_000, 20_000, 30_000, 1000]);
    scene.config.tree = scene.config.tree.clone().with("/export/sparse", Kind::File(layout));
    scene.config.quirks.extend(quirks);
    let mut storage = StorageArray::<1024, 4096, 8>::new();
    let nfs = Nfs4::new(scene.client.clone());
    let mut session = Session::new(storage.lend(), nfs, scene.line()).unwrap();
    session.run(&mut Connect::new()).unwrap();
    let file = session.run(&mut Open::new("/export/sparse")).unwrap();
    then(&mut session, &file);
}

#[test]
fn a_map_goes_on_after_a_while() {
    // GETATTR was asked by Connect and by Open before.
    for (operation, before, count) in [(op::OPEN, 0, 1), (op::SEEK, 0, 7), (op::GETATTR, 2, 1)] {
        let refuses = Quirk::Refuses(operation, status::DELAY);
        for nth in before..before + count {
            opened(&[(When::Nth(nth), refuses)], |session, file| {
                let mut segments = Vec::new();
                let each = |segment: MapSegment| segments.push((segment.offset, segment.len, segment.hole));
                session.run_each(&mut Map::new(file, 0), each).unwrap();
                let layout = [(0, 10_000, false), (10_000, 20_000, true), (30_000, 30_000, false)];
                assert_eq!(segments, [&layout[..], &[(60_000, 1000, true)]].concat());
                assert_eq!(session.pauses, 1, "{operation} {nth}");
            });
        }
        opened(&[(When::From(before), refuses)], |session, file| {
            let name = [(op::OPEN, "OPEN"), (op::SEEK, "SEEK"), (op::GETATTR, "GETATTR")];
            let during = name.into_iter().find(|(op, _)| *op == operation).unwrap().1;
            let outcome = session.run(&mut Map::new(file, 0));
            assert_eq!(outcome, Err(refused(Reason::Busy, status::DELAY, "NFS4ERR_DELAY", during)));
        });
    }
}

#[test]
fn a_wait_says_nothing_of_read_plus() {
    opened(&[(When::First(2), Quirk::Refuses(op::READ_PLUS, status::DELAY))], |session, file| {
        let mut memory = vec![1; 61_000];
        let filled = session.run(&mut Read::new(file, 0, &mut Buffer(&mut memory))).unwrap();
        assert_eq!((filled.len, session.pauses), (61_000, 1));
        let reads = |op| session.link.end.compounds.iter().filter(|ops| ops.contains(&op)).count();
        assert_eq!(reads(op::READ), 0);
    });
}
