//! Directories: long ones, odd names, deep paths, attributes, space.

use pagewire::{Kind, Stat, Statfs};
use pagewire_interop::{Lab, Options, with_session};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;

fn local(lab: &Lab, path: &str) -> BTreeSet<String> {
    let names = std::fs::read_dir(lab.files.join(path)).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn directories_of_any_length_list_every_name_once_in_constant_memory() {
    let Some(lab) = Lab::find() else { return };
    with_session(&Options::new(&lab.samba), |session| {
        for (path, len) in [("wide", 1000), ("huge", 20_000), ("empty", 0)] {
            let names = session.names(path).unwrap();
            assert_eq!(names.len(), len);
            assert_eq!(names.into_iter().collect::<BTreeSet<_>>(), local(&lab, path));
        }
    })
    .unwrap();
}

#[test]
fn odd_names_come_as_they_are_and_open_by_what_they_are_called() {
    let Some(lab) = Lab::find() else { return };
    with_session(&Options::new(&lab.samba), |session| {
        let names = session.names("names").unwrap();
        assert_eq!(names.iter().cloned().collect::<BTreeSet<_>>(), local(&lab, "names"));
        for name in names {
            let path = format!("names/{name}");
            let (bytes, _) = session.read::<4096>(&path, 0, 1).unwrap();
            assert_eq!(bytes, std::fs::read(lab.files.join(&path)).unwrap(), "{name}");
        }
    })
    .unwrap();
}

#[test]
fn deep_paths_and_slashes_in_any_number_are_the_same_file() {
    let Some(lab) = Lab::find() else { return };
    let deep: String = (1..=40).map(|level| format!("level-{level:02}/")).collect();
    let expected = std::fs::read(lab.files.join("deep").join(&deep).join("leaf.txt")).unwrap();
    with_session(&Options::new(&lab.samba), |session| {
        for path in [format!("deep/{deep}leaf.txt"), format!("//deep//{deep}/leaf.txt/")] {
            assert_eq!(session.read::<4096>(&path, 0, 1).unwrap().0, expected);
        }
    })
    .unwrap();
}

#[test]
fn stat_says_what_the_file_system_says() {
    let Some(lab) = Lab::find() else { return };
    with_session(&Options::new(&lab.samba), |session| {
        for (path, kind) in [
            ("size-65537", Kind::File),
            ("wide", Kind::Directory),
            ("", Kind::Directory),
            ("size-4g+1", Kind::File),
        ] {
            let said = session.run(&mut Stat::new(path)).unwrap();
            let local = std::fs::metadata(lab.files.join(path)).unwrap();
            assert_eq!(said.kind, kind, "{path}");
            if kind == Kind::File {
                assert_eq!(said.len, local.len(), "{path}");
            }
            let modified = said.modified.unwrap();
            assert_eq!(modified.seconds, local.mtime(), "{path}");
            assert_eq!(i64::from(modified.nanoseconds) / 100, local.mtime_nsec() / 100, "{path}");
        }
    })
    .unwrap();
}

#[test]
fn statfs_says_a_space_that_can_be() {
    let Some(lab) = Lab::find() else { return };
    with_session(&Options::new(&lab.samba), |session| {
        let space = session.run(&mut Statfs::new("wide")).unwrap();
        assert!(
            space.total > 0 && space.available <= space.total && space.unit.is_power_of_two(),
            "{space:?}"
        );
    })
    .unwrap();
}

#[test]
fn metadata_takes_one_round_trip_each() {
    let Some(lab) = Lab::find() else { return };
    with_session(&Options::new(&lab.samba), |session| {
        let trips = |session: &pagewire_interop::SmbSession<'_>| session.client.counters().round_trips;
        let connected = trips(session);
        session.run(&mut Stat::new("size-1")).unwrap();
        assert_eq!(trips(session), connected + 1);
        session.run(&mut Statfs::new("size-1")).unwrap();
        assert_eq!(trips(session), connected + 2);
        session.open("size-1").unwrap();
        assert_eq!(trips(session), connected + 3);
        assert_eq!(connected, 4, "NEGOTIATE, SESSION_SETUP twice, TREE_CONNECT");
    })
    .unwrap();
}
