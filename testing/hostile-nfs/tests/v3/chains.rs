//! What is asked first connects, and what does not depend on each other is asked together.

use crate::delays::{JUKEBOX, refuses};
use pagewire::nfs::Nfs3;
use pagewire::{Error, List, Reason, Stat, StatBoth, Statfs, StorageArray};
use pagewire_hostile_nfs::v3::{Scene, Session, at};
use pagewire_hostile_nfs::{Came, Kind, Place, fetch};

const MNT: Place = (at::MOUNT, 1);
pub const GETATTR: Place = (at::NFS, 1);
const LOOKUP: Place = (at::NFS, 3);
const READLINK: Place = (at::NFS, 5);
pub const READ: Place = (at::NFS, 6);
const READDIRPLUS: Place = (at::NFS, 17);
pub const FSSTAT: Place = (at::NFS, 18);
const FSINFO: Place = (at::NFS, 19);

/// What `first` asks of a server whose ports are known, of which `path` is to be mounted: the calls, and the round trips.
pub fn asked(scene: Scene, path: &'static str, first: impl FnOnce(&mut Session<'_>)) -> (Vec<Place>, u32) {
    let scene = scene.with(|scene| {
        (scene.client.mount_port, scene.client.nfs_port) = (Some(20_048), Some(12_049));
        scene.client.path = path;
    });
    let mut storage = StorageArray::<1024, 4096, 8>::new();
    let nfs = Nfs3::new(scene.client.clone());
    let mut session = Session::new(storage.lend(), nfs, scene.line()).unwrap();
    first(&mut session);
    (session.link.end.rpc.calls.clone(), session.client.counters().round_trips)
}

/// What is lent of each path, and why nothing if so.
fn fetched(session: &mut Session<'_>, paths: &[&str]) -> Vec<Result<Vec<u8>, Reason>> {
    let of = |came: Came| match came.end {
        Ok(_) => Ok(came.content.bytes()),
        Err(Error::Refused(refusal)) => Err(refusal.reason),
        Err(error) => panic!("{error}"),
    };
    fetch(session, paths).into_iter().map(of).collect()
}

#[test]
fn what_is_asked_first_takes_one_round_trip_more_than_the_mount() {
    let file = "/export/d/entry-07";
    let stat = asked(Scene::new(), file, |session| assert!(session.run(&mut Stat::new(file)).is_ok()));
    assert_eq!(stat, (vec![MNT, MNT, GETATTR], 2));
    let space = asked(Scene::new(), file, |session| assert!(session.run(&mut Statfs::new(file)).is_ok()));
    assert_eq!(space, (vec![MNT, MNT, FSSTAT], 2));
    let both = asked(Scene::new(), file, |session| {
        let (attributes, space) = session.run(&mut StatBoth::new(file)).unwrap();
        assert_eq!((attributes.len, space.unit), (7, 1));
    });
    assert_eq!(both, (vec![MNT, MNT, GETATTR, FSSTAT], 2));
    let list = asked(Scene::new(), "/export/d", |session| {
        assert!(session.run(&mut List::new("/export/d")).is_ok());
    });
    assert_eq!(list.0[..3], [MNT, MNT, READDIRPLUS]);
    let content = Scene::new().config.tree.get(file).map(|node| match &node.kind {
        Kind::File(layout) => layout.bytes(),
        _ => panic!("{file} is a file"),
    });
    let read =
        asked(Scene::new(), file, |session| assert_eq!(fetched(session, &[file]), [Ok(content.unwrap())]));
    assert_eq!(read, (vec![MNT, MNT, FSINFO, GETATTR, READ], 2));
}

#[test]
fn a_file_that_is_not_mounted_itself_costs_its_walk_and_the_refusal_comes_once() {
    let scene = Scene::new().with(|scene| scene.config.unmountable.push(("/export/d/entry-07", 13)));
    let (calls, trips) = asked(scene, "/export/d/entry-07", |session| {
        fetched(session, &["/export/d/entry-07"]);
        fetched(session, &["/export/d/entry-08"]);
    });
    let read = [LOOKUP, READ];
    assert_eq!(calls, [&[MNT, MNT, FSINFO][..], &read, &read].concat());
    assert_eq!(trips, 1 + 2 + 2);
}

#[test]
fn the_longer_of_two_paths_is_mounted_whichever_is_answered_first() {
    let file = "/export/d/entry-07";
    for (reversed, nfs_port) in [(false, 12_049), (true, 12_049), (false, 20_048), (true, 20_048)] {
        let scene = Scene::new().with(|scene| {
            (scene.config.rpc.reversed, scene.config.nfs_port) = (reversed, nfs_port);
        });
        for (refused, mounted) in [(None, file), (Some(file), "/export/d"), (Some("/export/d"), file)] {
            let scene = scene.clone().with(|scene| {
                scene.config.unmountable = refused.map(|path| (path, 13)).into_iter().collect();
                (scene.client.mount_port, scene.client.nfs_port) = (Some(20_048), Some(nfs_port));
                scene.client.path = file;
            });
            let mut storage = StorageArray::<1024, 4096, 8>::new();
            let mut session =
                Session::new(storage.lend(), Nfs3::new(scene.client.clone()), scene.line()).unwrap();
            assert_eq!(session.run(&mut Stat::new(file)).unwrap().len, 7);
            assert_eq!(session.client.protocol().mounted(), Some(mounted), "{reversed} {nfs_port}");
            assert_eq!(session.link.end.mounts, [file, "/export/d"]);
            let walked = session.link.end.rpc.calls.contains(&LOOKUP);
            assert_eq!(walked, mounted != file, "what is mounted is what is asked from");
        }
    }
}

#[test]
fn what_is_no_file_is_told_and_what_cannot_be_read_yet_is_read_later() {
    let scene = Scene::new().with(|scene| {
        scene.config.tree = scene.config.tree.clone().with("/export/l", Kind::Link("d"));
    });
    let (calls, _) = asked(scene.clone(), "/export", |session| {
        let reasons = [Err(Reason::IsDirectory), Err(Reason::Symlink), Err(Reason::NotFound)];
        assert_eq!(fetched(session, &["/export/d", "/export/l", "/export/none"]), reasons);
    });
    assert!(calls.contains(&READLINK) && !calls.contains(&READ));
    // What was mounted is not known to be a directory.
    asked(scene.clone(), "/export", |session| {
        assert_eq!(fetched(session, &["/export"]), [Err(Reason::IsDirectory)]);
    });
    let (calls, _) = asked(scene.told_once(READ, 0, refuses(JUKEBOX)), "/export", |session| {
        assert_eq!(fetched(session, &["/export/d/entry-07"])[0].as_ref().map(Vec::len), Ok(7));
    });
    assert_eq!(calls.iter().filter(|call| **call == READ).count(), 2);
}

#[test]
fn who_is_dropped_on_the_way_leaves_the_next_one_able_to_go_on() {
    for steps in 0..24 {
        let mut storage = StorageArray::<1024, 4096, 8>::new();
        // By way of the port mapper, and of a path that is not mounted.
        let scene = Scene::new().with(|scene| {
            scene.config.unmountable.push(("/export/d", 2));
            scene.client.path = "/export/d";
        });
        let nfs = Nfs3::new(scene.client.clone());
        let mut session = Session::new(storage.lend(), nfs, scene.line()).unwrap();
        session.abandon(Stat::new("/export/d"), steps);
        assert!(session.run(&mut Stat::new("/export/d")).is_ok(), "{steps}");
        let calls = session.link.end.rpc.calls.len();
        assert!(calls <= 8, "{steps}: {calls}");
    }
}

#[test]
fn limits_come_beside_and_bound_every_read_but_the_first() {
    let scene = Scene::new().with(|scene| {
        scene.config.tree = scene.config.tree.clone().pattern("/export/big", 9000);
        scene.config.rtmax = 700;
    });
    let (calls, _) = asked(scene, "/export", |session| {
        assert_eq!(fetched(session, &["/export/big"])[0].as_ref().map(Vec::len), Ok(9000));
        assert_eq!(session.client.failed(), None);
    });
    assert_eq!(calls.iter().filter(|call| **call == FSINFO).count(), 1);
}
