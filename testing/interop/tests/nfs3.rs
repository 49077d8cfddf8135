//! NFSv3: the same files, the same bytes, from NFS-Ganesha and from Linux nfsd.

use pagewire::blocking::Failure;
use pagewire::{Error, Kind, Reason, Refusal, Stat, Statfs};
use pagewire_interop::{Lab, Nfs3Session, with_nfs3};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;

const SIZES: [&str; 7] =
    ["size-0", "size-1", "size-65535", "size-65536", "size-65537", "size-1048577", "size-67108864"];

/// The servers that were started, by name.
fn servers() -> Vec<(&'static str, String, Lab)> {
    let Some(lab) = Lab::find() else { return Vec::new() };
    let mut servers = Vec::new();
    for (name, address) in [("Ganesha", lab.ganesha.clone()), ("nfsd", lab.nfsd.clone())] {
        match address {
            Some(address) => servers.push((name, address, lab.clone())),
            None => println!("skipped: {name} was not started; testing/servers/run --nfs --kernel does"),
        }
    }
    servers
}

fn read_all<const SIZE: usize>(session: &mut Nfs3Session<'_>, server: &str, lab: &Lab) {
    let sums = lab.sums();
    for name in SIZES {
        let (_, sum) = sums.iter().find(|(known, _)| known == name).unwrap();
        let (_, digest) = session.digest::<SIZE>(&format!("/export/{name}"), (1 << 20) / SIZE).unwrap();
        assert_eq!(digest, *sum, "{server}, pages of {SIZE}, {name}");
    }
}

#[test]
fn every_page_size_reads_the_same() {
    for (server, address, lab) in servers() {
        with_nfs3(&address, "/export", |session| {
            read_all::<4096>(session, server, &lab);
            read_all::<16_384>(session, server, &lab);
            read_all::<65_536>(session, server, &lab);
        })
        .unwrap();
    }
}

#[test]
fn the_path_of_a_file_alone_is_enough_to_read_it() {
    for (server, address, lab) in servers() {
        let expected = std::fs::read(lab.files.join("size-65537")).unwrap();
        let (bytes, mounted) = with_nfs3(&address, "/export/size-65537", |session| {
            let (bytes, eof) = session.read::<4096>("/export/size-65537", 0, 20).unwrap();
            assert!(eof);
            (bytes, session.client.protocol().mounted().map(str::to_owned))
        })
        .unwrap();
        assert_eq!(bytes, expected, "{server}");
        // Linux lets a file be mounted, Ganesha only its export.
        assert_eq!(mounted.as_deref(), Some(if server == "nfsd" { "/export/size-65537" } else { "/export" }));
    }
}

#[test]
fn listings_have_every_name_once_and_odd_names_open() {
    for (server, address, lab) in servers() {
        with_nfs3(&address, "/export", |session| {
            for path in ["wide", "huge", "empty", "names"] {
                let names = session.names(&format!("/export/{path}")).unwrap();
                let local: BTreeSet<String> = std::fs::read_dir(lab.files.join(path))
                    .unwrap()
                    .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                    .collect();
                assert_eq!(names.len(), local.len(), "{server} {path}");
                assert_eq!(names.iter().cloned().collect::<BTreeSet<_>>(), local, "{server} {path}");
                for name in names.iter().filter(|_| path == "names") {
                    let (bytes, _) = session.read::<4096>(&format!("/export/names/{name}"), 0, 1).unwrap();
                    assert_eq!(bytes, std::fs::read(lab.files.join("names").join(name)).unwrap(), "{name}");
                }
            }
        })
        .unwrap();
    }
}

#[test]
fn metadata_is_what_the_file_system_says() {
    for (server, address, lab) in servers() {
        with_nfs3(&address, "/export", |session| {
            for (path, kind) in [("size-65537", Kind::File), ("wide", Kind::Directory), ("", Kind::Directory)]
            {
                let said = session.run(&mut Stat::new(&format!("/export/{path}"))).unwrap();
                let local = std::fs::metadata(lab.files.join(path)).unwrap();
                assert_eq!(said.kind, kind, "{server} {path}");
                if kind == Kind::File {
                    assert_eq!(said.len, local.len(), "{server} {path}");
                }
                assert_eq!(said.modified.unwrap().seconds, local.mtime(), "{server} {path}");
            }
            let space = session.run(&mut Statfs::new("/export")).unwrap();
            assert!(space.total > 0 && space.available <= space.total, "{server} {space:?}");
        })
        .unwrap();
    }
}

#[track_caller]
fn refusal<T: std::fmt::Debug>(outcome: Result<T, pagewire_interop::Error>) -> (Reason, &'static str) {
    match outcome.unwrap_err() {
        Failure::Engine(Error::Refused(Refusal { reason, name, .. })) => (reason, name),
        other => panic!("a refusal was expected, not {other:?}"),
    }
}

#[test]
fn what_cannot_be_read_says_why_and_the_connection_goes_on() {
    for (server, address, _) in servers() {
        with_nfs3(&address, "/export", |session| {
            for (path, reason, name) in [
                ("/export/missing", Reason::NotFound, "NFS3ERR_NOENT"),
                ("/export/size-1/x", Reason::NotDirectory, "NFS3ERR_NOTDIR"),
                ("/export/wide", Reason::IsDirectory, "NFS3ERR_ISDIR"),
            ] {
                assert_eq!(refusal(session.open(path)), (reason, name), "{server} {path}");
            }
            assert_eq!(refusal(session.names("/export/size-1")).0, Reason::NotDirectory, "{server}");
            for path in ["/elsewhere/x", "/export/../etc/passwd", "/export/a\0b"] {
                let outcome = session.open(path);
                assert!(matches!(outcome, Err(Failure::Engine(Error::Invalid(_)))), "{path:?}: {outcome:?}");
            }
            assert_eq!(session.read::<4096>("/export/size-1", 0, 1).unwrap().0.len(), 1);
        })
        .unwrap();
        let outcome = with_nfs3(&address, "/no/such/export", |_| ());
        assert!(matches!(refusal(outcome).0, Reason::NotFound | Reason::Denied), "{server}");
    }
}

#[test]
fn a_symbolic_link_is_left_to_the_caller_and_said_where_it_points() {
    for (server, address, _) in servers() {
        with_nfs3(&address, "/export", |session| {
            for (path, end, target) in [
                ("/export/links/to-small", "/export/links/to-small", "../small.txt"),
                ("/export/links/to-many/file-07", "/export/links/to-many", "../many"),
            ] {
                assert_eq!(refusal(session.open(path)), (Reason::Symlink, "NF3LNK"), "{server} {path}");
                let link = session.client.link(path).unwrap();
                assert_eq!((link.end, link.target.to_string().as_str()), (end.len(), target), "{server}");
            }
            assert_eq!(session.read::<4096>("/export/size-1", 0, 1).unwrap().0.len(), 1);
        })
        .unwrap();
    }
}
