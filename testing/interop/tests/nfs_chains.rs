//! Round trips of whole NFS sessions, by the engine's own count: what is asked first connects.

use pagewire::nfs::{Nfs3, Nfs4};
use pagewire::{Buffer, Fetch, Fetched, Lane, List, Protocol, Stat, StatBoth, Statfs};
use pagewire_interop::{Lab, Session, with_new_nfs3, with_new_nfs4};

/// The servers that are there, and whether each mounts files.
fn servers(lab: &Lab) -> Vec<(&'static str, &str, bool)> {
    let servers = [("Ganesha", &lab.ganesha, false), ("nfsd", &lab.nfsd, true)];
    let there = servers.into_iter().filter_map(|(name, address, mounts_files)| match address {
        Some(address) => Some((name, address.as_str(), mounts_files)),
        None => {
            println!("skipped: {name} was not started; testing/servers/run --nfs --kernel does");
            None
        }
    });
    there.collect()
}

/// The lengths of files that are read with so many lanes of 4 KiB.
fn fetch<P: Protocol>(session: &mut Session<'_, P>, paths: &[String], lanes: usize) -> Vec<u64> {
    let mut lanes: Vec<_> = (0..lanes).map(|_| Lane::new()).collect();
    let (mut heads, mut pages) = (vec![0; lanes.len() * 4096], vec![0; 1 << 20]);
    let (mut heads, mut pages) = (Buffer(&mut heads), Buffer(&mut pages));
    let mut paths = paths.iter().map(String::as_str);
    let mut op = Fetch::new(&mut paths, &mut lanes, &mut heads, &mut pages);
    let (mut lens, mut len) = (Vec::new(), 0);
    let outcome = session.run_each(&mut op, |item| match item {
        Fetched::Opened { .. } => len = 0,
        Fetched::Content(content) => len += content.len(),
        Fetched::Ended(end) => {
            assert_eq!(len, end);
            lens.push(end);
        }
        Fetched::Failed(error) => panic!("{error}"),
    });
    outcome.unwrap();
    lens
}

/// A file of 4 KiB.
const FILE: &str = "/export/many/file-00";
/// A directory of 1000 names.
const WIDE: &str = "/export/wide";

fn hundred() -> Vec<String> {
    (0..100).map(|n| format!("/export/many/file-{n:02}")).collect()
}

fn names<P: Protocol>(session: &mut Session<'_, P>) -> usize {
    let mut names = 0;
    session.run_each(&mut List::new(WIDE), |_| names += 1).unwrap();
    names
}

#[test]
fn an_nfs4_session_takes_the_fewest_round_trips() {
    let Some(lab) = Lab::find() else { return };
    for (server, address, _) in servers(&lab) {
        for (minor, floor) in [(0, 1), (1, 3), (2, 3)] {
            let trips = |first: &dyn Fn(&mut Session<'_, Nfs4<'_>>)| {
                let trips = with_new_nfs4::<300_000, 64, _>(address, Some(minor), |session| {
                    first(session);
                    session.client.counters().round_trips
                });
                trips.unwrap()
            };
            let single = [
                trips(&|session| assert_eq!(fetch(session, &[FILE.into()], 1), [4096])),
                trips(&|session| assert_eq!(session.run(&mut Stat::new(FILE)).unwrap().len, 4096)),
                trips(&|session| assert!(session.run(&mut Statfs::new(FILE)).is_ok())),
                trips(&|session| assert!(session.run(&mut StatBoth::new(FILE)).is_ok())),
            ];
            let list = trips(&|session| assert_eq!(names(session), 1000));
            let many = trips(&|session| assert_eq!(fetch(session, &hundred(), 100), [4096; 100]));
            let slots = with_new_nfs4::<70_000, 64, _>(address, Some(minor), |session| {
                session.run(&mut Stat::new(FILE)).unwrap();
                session.client.protocol().session_slots()
            });
            println!(
                "{server} 4.{minor}: {single:?}, 1000 names {list}, 100 files {many} with {slots:?} slots"
            );
            assert_eq!(single, [floor; 4], "{server} 4.{minor}");
        }
    }
}

#[test]
fn an_nfs3_session_takes_the_fewest_round_trips() {
    let Some(lab) = Lab::find() else { return };
    for (server, address, mounts_files) in servers(&lab) {
        let trips = |path: &str, first: &dyn Fn(&mut Session<'_, Nfs3<'_>>)| {
            let trips = with_new_nfs3::<300_000, 64, _>(address, path, |session| {
                first(session);
                session.client.counters().round_trips
            });
            trips.unwrap()
        };
        let single = [
            trips(FILE, &|session| assert_eq!(fetch(session, &[FILE.into()], 1), [4096])),
            trips(FILE, &|session| assert_eq!(session.run(&mut Stat::new(FILE)).unwrap().len, 4096)),
            trips(FILE, &|session| assert!(session.run(&mut Statfs::new(FILE)).is_ok())),
            trips(FILE, &|session| assert!(session.run(&mut StatBoth::new(FILE)).is_ok())),
        ];
        let list = trips(WIDE, &|session| assert_eq!(names(session), 1000));
        let many = trips("/export/many", &|session| assert_eq!(fetch(session, &hundred(), 100), [4096; 100]));
        println!("{server} 3: {single:?}, 1000 names {list}, 100 files {many}");
        // MNT, LOOKUP, and what then takes a handle: metadata come with LOOKUP.
        assert_eq!(single, if mounts_files { [2; 4] } else { [3, 2, 3, 3] }, "{server}");
    }
}
