//! What EXPORT may bring, and what it must not; and where it is asked.

use pagewire::nfs::{Exports, Nfs3};
use pagewire::{Connect, Error, Reason, Stat, StorageArray};
use pagewire_hostile_nfs::v3::{Scene, Session};
use pagewire_hostile_nfs::{Fragments, Place, Told, Xdr, refused};

const GETPORT: Place = (100_000, 3);
const MNT: Place = (100_005, 1);
const EXPORT: Place = (100_005, 5);
const FSINFO: Place = (100_003, 19);

type Listed = Vec<(Vec<u8>, Vec<Vec<u8>>)>;

fn session<T>(scene: &Scene, play: impl FnOnce(&mut Session<'_>) -> T) -> T {
    let mut storage = StorageArray::<1024, 1536, 8>::new();
    let nfs = Nfs3::new(scene.client.clone());
    play(&mut Session::new(storage.lend(), nfs, scene.line()).unwrap())
}

fn list(session: &mut Session<'_>) -> (Listed, Result<(), Error>) {
    let mut listed = Vec::new();
    let outcome = session.run_each(&mut Exports::new(), |export| {
        listed.push((export.path.to_vec(), export.groups.map(<[u8]>::to_vec).collect()));
    });
    (listed, outcome)
}

/// What is lent by a server that is wrong.
fn fails(scene: &Scene, error: Error) {
    assert_eq!(session(scene, list), (Vec::new(), Err(error)));
}

const PATHS: [(&str, &[&str]); 3] =
    [("/export", &["192.0.2.0/24", "@trusted"]), ("/", &[]), ("/caf\u{e9} \u{1b}[2J\n", &["*"])];

fn scene() -> Scene {
    Scene::new().with(|scene| scene.config.exports = PATHS.to_vec())
}

fn truth(scene: &Scene) -> Listed {
    let bytes = |text: &&str| text.as_bytes().to_vec();
    let export = |(path, groups): &(&str, &[&str])| (bytes(path), groups.iter().map(bytes).collect());
    scene.config.exports.iter().map(export).collect()
}

#[test]
fn exports_are_lent_in_order_with_their_groups_and_nothing_is_mounted() {
    for (mount_port, calls) in [(None, &[GETPORT, EXPORT][..]), (Some(20_048), &[EXPORT])] {
        let scene = scene().with(|scene| scene.client.mount_port = mount_port);
        session(&scene, |session| {
            assert_eq!(list(session), (truth(&scene), Ok(())));
            assert_eq!(session.link.end.rpc.calls, calls);
        });
    }
    let none = Scene::new();
    assert_eq!(session(&none, list), (Vec::new(), Ok(())));
}

#[test]
fn every_cut_of_the_record_gives_the_same() {
    for lengths in [&[1][..], &[4], &[24, 3], &[0, 7, 100]] {
        let scene = scene().with(|scene| {
            scene.config.rpc.fragments = Fragments { lengths, empty_last: true };
            (scene.config.rpc.verifier_len, scene.config.rpc.padding) = (5, 0xDE);
        });
        assert_eq!(session(&scene, list), (truth(&scene), Ok(())));
    }
}

#[test]
fn they_are_listed_again_and_connecting_follows() {
    for mount_port in [None, Some(20_048)] {
        let scene = scene().with(|scene| {
            scene.client.mount_port = mount_port;
            scene.client.nfs_port = mount_port.map(|_| scene.config.nfs_port);
        });
        session(&scene, |session| {
            for _ in 0..2 {
                assert_eq!(list(session), (truth(&scene), Ok(())));
            }
            session.run(&mut Connect::new()).unwrap();
            session.run(&mut Stat::new("/export/f")).unwrap();
            let late = Error::Invalid("exports are asked for before something is mounted");
            assert_eq!(list(session), (Vec::new(), Err(late)));
            session.run(&mut Stat::new("/export/f")).unwrap();
        });
    }
}

#[test]
fn what_a_server_exports_can_be_asked_when_it_mounts_nothing_or_nothing_of_use() {
    let unmountable = vec![("/export", 13), ("/", 13)];
    let denied = refused(Reason::Denied, 13, "MNT3ERR_ACCES", "MNT");
    let scene = scene().with(|scene| scene.config.unmountable = unmountable);
    session(&scene, |session| {
        assert_eq!(session.run(&mut Connect::new()), Err(denied));
        assert_eq!(list(session), (truth(&scene), Ok(())));
        assert_eq!(session.run(&mut Connect::new()), Err(denied));
    });
    let refused = scene.with(|scene| scene.config.unmountable.clear()).told(FSINFO, |told| told.word(0, 13));
    session(&refused, |session| {
        assert!(session.run(&mut Connect::new()).is_err());
        assert!(matches!(list(session), (_, Err(Error::Invalid(_)))));
    });
}

#[test]
fn a_list_that_is_malformed_anywhere_is_not_lent() {
    let scene = scene();
    // That there is an export, its path, that there is a group, its name, and the last end.
    for (at, value, field) in [
        (0, 2, "exports"),
        (4, 1025, "exportnode.ex_dir"),
        (4, u32::MAX, "exportnode.ex_dir"),
        (16, 2, "exportnode.ex_groups"),
        (20, 1 << 20, "groupnode.gr_name"),
    ] {
        fails(&scene.clone().told(EXPORT, move |told| told.word(at, value)), Error::Malformed(field));
    }
    let ends_wrong = |told: &mut Told| *told.message.last_mut().unwrap() = 2;
    fails(&scene.clone().told(EXPORT, ends_wrong), Error::Malformed("exports"));
    let cut = |told: &mut Told| told.message.truncate(told.message.len() - 4);
    fails(&scene.clone().told(EXPORT, cut), Error::Malformed("exports"));
    fails(&scene.told(EXPORT, |told| told.message.truncate(told.results)), Error::Malformed("exports"));
}

#[test]
fn more_than_there_is_room_for_is_a_matter_of_memory() {
    let many = |told: &mut Told| {
        let mut body = Xdr::default();
        for _ in 0..100 {
            body.word(1).opaque(b"/export").word(0);
        }
        body.word(0);
        told.body(&body);
    };
    // RPC's header, the list, and the scratch end of `rx`.
    let need = 24 + 100 * 20 + 4 + 64;
    fails(&scene().told(EXPORT, many), Error::Budget { what: "rx", need, have: 1536 });
    // In fragments of which none tells how many there are.
    let endless = |told: &mut Told| {
        let more = [0, 0, 0, 1].into_iter().cycle().take(1 << 20);
        told.message.truncate(told.results);
        told.message.extend(more);
    };
    let cut_up = scene().with(|scene| {
        scene.config.rpc.fragments = Fragments { lengths: &[64], empty_last: false };
    });
    let outcome = session(&cut_up.told(EXPORT, endless), list);
    assert!(matches!(outcome, (_, Err(Error::Budget { what: "rx", have: 1536, .. }))), "{outcome:?}");
}

#[test]
fn no_mount_or_no_export_is_told_as_it_is() {
    let nowhere = Error::Incompatible("the server's port mapper knows no MOUNT or NFS of version 3 over TCP");
    fails(&scene().told(GETPORT, |told| told.word(0, 0)), nowhere);
    let unknown = refused(Reason::Unsupported, 3, "PROC_UNAVAIL", "EXPORT");
    fails(&scene().told(EXPORT, |told| told.words(&[1, 0, 0, 0, 3])), unknown);
    let weak = refused(Reason::Authentication, 5, "AUTH_TOOWEAK", "EXPORT");
    fails(&scene().told(EXPORT, |told| told.words(&[1, 1, 1, 5])), weak);
    fails(&scene().told(EXPORT, |told| told.times = 0), Error::TimedOut);
    fails(&scene().told(EXPORT, |told| (told.times, told.last) = (0, true)), Error::Closed);
    let another = Error::Misbehaved("a reply to a call that is not in flight");
    fails(&scene().told(EXPORT, |told| told.message[0] ^= 0x40), another);
}

#[test]
fn calls_are_of_mount_and_its_port() {
    session(&scene(), |session| {
        list(session).1.unwrap();
        assert!(!session.link.end.rpc.calls.contains(&MNT));
        assert_eq!(session.link.end.port, 20_048);
    });
}
