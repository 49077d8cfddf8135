//! The holes of a file are where the file system has them, whoever is asked.

use pagewire::MapSegment;
use pagewire::protocol::Protocol;
use pagewire_interop::{
    Lab, Options, Session, extents, with_lent_session, with_nfs3, with_nfs4, with_session,
};
use std::collections::BTreeMap;

/// What the file system itself says of every file of `directory`, by name.
fn local(lab: &Lab, directory: &str) -> BTreeMap<String, (u64, Vec<MapSegment>)> {
    let files = std::fs::read_dir(lab.files.join(directory)).unwrap().map(|entry| {
        let entry = entry.unwrap();
        let map = extents(&std::fs::File::open(entry.path()).unwrap()).unwrap();
        (entry.file_name().into_string().unwrap(), (entry.metadata().unwrap().len(), map))
    });
    let files: BTreeMap<_, _> = files.collect();
    assert!(files.len() > 14 && files.values().any(|(_, map)| map.len() > 200), "{files:?}");
    files
}

/// What of `map` lies behind `from`.
fn after(map: &[MapSegment], from: u64) -> Vec<MapSegment> {
    let cut = |segment: &MapSegment| {
        let offset = segment.offset.max(from);
        let len = segment.end().checked_sub(offset).filter(|len| *len > 0)?;
        Some(MapSegment { offset, len, hole: segment.hole })
    };
    map.iter().filter_map(cut).collect()
}

/// Compares the maps of all files, from their starts and from the midst of a segment.
fn all_maps<P: Protocol>(session: &mut Session<'_, P>, lab: &Lab, at: &str, local_dir: &str, who: &str) {
    for (name, (len, expected)) in local(lab, local_dir) {
        let file = session.open(&format!("{at}{name}")).unwrap();
        for from in [0, 1, 65_536 * 3 + 5, len - 1, len, len + 1] {
            let map = session.map(&file, from).unwrap_or_else(|error| panic!("{who} {name}: {error}"));
            assert_eq!(map, after(&expected, from), "{who}, {name} from {from}");
        }
        session.run(&mut pagewire::Close::new(&file)).unwrap();
    }
}

/// The SMB servers that were started, by name.
fn smb_servers(lab: &Lab) -> Vec<(&'static str, Options)> {
    let mut servers = vec![("Samba", lab.samba.clone())];
    match lab.ksmbd.clone() {
        Some(address) => servers.push(("ksmbd", address)),
        None => println!("skipped: ksmbd was not started; testing/servers/run --kernel does"),
    }
    let sparse = |address: String| Options { share: "sparse", ..Options::new(&address) };
    servers.into_iter().map(|(name, address)| (name, sparse(address))).collect()
}

#[test]
fn smb_maps_are_those_of_the_file_system() {
    let Some(lab) = Lab::find() else { return };
    for (who, options) in smb_servers(&lab) {
        with_session(&options, |session| all_maps(session, &lab, "", "sparse-attribute", who))
            .unwrap_or_else(|error| panic!("{who}: {error}"));
    }
}

#[test]
fn smb_maps_are_the_same_where_a_reply_holds_a_part_of_the_ranges() {
    let Some(lab) = Lab::find() else { return };
    for (who, options) in smb_servers(&lab) {
        with_lent_session::<1024, _>(&options, |session| {
            let file = session.open("1d").unwrap();
            let trips = session.client.counters().round_trips;
            assert_eq!(session.map(&file, 0).unwrap().len(), 256, "{who}");
            assert!(session.client.counters().round_trips - trips > 2, "{who}");
            all_maps(session, &lab, "", "sparse-attribute", who);
        })
        .unwrap_or_else(|error| panic!("{who}: {error}"));
    }
}

#[test]
fn nfs_4_2_maps_are_those_of_the_file_system() {
    let Some(lab) = Lab::find() else { return };
    for (who, address) in [("Ganesha", &lab.ganesha), ("nfsd", &lab.nfsd)] {
        let Some(address) = address else {
            println!("skipped: {who} was not started; testing/servers/run --nfs --kernel does");
            continue;
        };
        with_nfs4(address, Some(2), |session| all_maps(session, &lab, "/export/sparse/", "sparse", who))
            .unwrap_or_else(|error| panic!("{who}: {error}"));
    }
}

#[test]
fn what_cannot_say_where_its_holes_are_has_one_segment_of_data_and_asks_nothing() {
    fn whole<P: Protocol>(session: &mut Session<'_, P>, path: &str) {
        let file = session.open(path).unwrap();
        let requests = session.client.counters().requests;
        let len = file.attributes.len - 5;
        assert_eq!(session.map(&file, 5).unwrap(), [MapSegment { offset: 5, len, hole: false }], "{path}");
        assert_eq!(session.map(&file, len + 5).unwrap(), [], "{path}");
        assert_eq!(session.client.counters().requests, requests, "{path}");
    }
    let Some(lab) = Lab::find() else { return };
    with_session(&Options::new(&lab.samba), |session| whole(session, "sparse/1d")).unwrap();
    for address in [&lab.ganesha, &lab.nfsd].into_iter().flatten() {
        with_nfs3(address, "/export", |session| whole(session, "/export/sparse/1d")).unwrap();
        for minor in [0, 1] {
            with_nfs4(address, Some(minor), |session| whole(session, "/export/sparse/1d")).unwrap();
        }
    }
}
