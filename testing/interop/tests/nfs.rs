//! NFS 3, 4.0, 4.1 and 4.2: the same files, the same bytes, from NFS-Ganesha and from Linux nfsd.

use pagewire::blocking::Failure;
use pagewire::protocol::Protocol;
use pagewire::{Error, Kind, Reason, Refusal, Stat, Statfs};
use pagewire_interop::{Lab, Session, with_nfs3, with_nfs4};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;

const SIZES: [&str; 7] =
    ["size-0", "size-1", "size-65535", "size-65536", "size-65537", "size-1048577", "size-67108864"];

/// What is done in a session, whatever is spoken in it.
trait Scene {
    fn play<P: Protocol>(&self, session: &mut Session<'_, P>, lab: &Lab, who: &str);
}

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

/// Plays it with every version on every server.
fn everywhere(scene: impl Scene) {
    for (server, address, lab) in servers() {
        let v3 = with_nfs3(&address, "/export", |session| scene.play(session, &lab, &format!("{server} 3")));
        v3.unwrap_or_else(|error| panic!("{server} 3: {error}"));
        for minor in 0..=2 {
            let who = format!("{server} 4.{minor}");
            let v4 = with_nfs4(&address, Some(minor), |session| scene.play(session, &lab, &who));
            v4.unwrap_or_else(|error| panic!("{who}: {error}"));
        }
    }
}

struct Reads<const SIZE: usize>;

impl<const SIZE: usize> Scene for Reads<SIZE> {
    fn play<P: Protocol>(&self, session: &mut Session<'_, P>, lab: &Lab, who: &str) {
        let sums = lab.sums();
        for name in SIZES {
            let (_, sum) = sums.iter().find(|(known, _)| known == name).unwrap();
            let (_, digest) = session.digest::<SIZE>(&format!("/export/{name}"), (1 << 20) / SIZE).unwrap();
            assert_eq!(digest, *sum, "{who}, pages of {SIZE}, {name}");
        }
    }
}

#[test]
fn pages_of_4_kib_read_the_same() {
    everywhere(Reads::<4096>);
}

#[test]
fn pages_of_16_kib_read_the_same() {
    everywhere(Reads::<16_384>);
}

#[test]
fn pages_of_64_kib_read_the_same() {
    everywhere(Reads::<65_536>);
}

#[test]
fn the_highest_minor_version_is_spoken_if_none_is_asked_for() {
    for (server, address, _) in servers() {
        let minor = with_nfs4(&address, None, |session| session.client.protocol().minor()).unwrap();
        assert_eq!(minor, Some(2), "{server}");
    }
}

#[test]
fn the_path_of_a_file_alone_is_enough_to_read_it_with_nfs_3() {
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
        let file = "/export/size-65537";
        assert_eq!(mounted.as_deref(), Some(if server == "nfsd" { file } else { "/export" }));
    }
}

struct Lists;

impl Scene for Lists {
    fn play<P: Protocol>(&self, session: &mut Session<'_, P>, lab: &Lab, who: &str) {
        for path in ["wide", "huge", "empty", "names"] {
            let names = session.names(&format!("/export/{path}")).unwrap();
            let local: BTreeSet<String> = std::fs::read_dir(lab.files.join(path))
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            assert_eq!(names.len(), local.len(), "{who} {path}");
            assert_eq!(names.iter().cloned().collect::<BTreeSet<_>>(), local, "{who} {path}");
            for name in names.iter().filter(|_| path == "names") {
                let (bytes, _) = session.read::<4096>(&format!("/export/names/{name}"), 0, 1).unwrap();
                assert_eq!(bytes, std::fs::read(lab.files.join("names").join(name)).unwrap(), "{name}");
            }
        }
    }
}

#[test]
fn listings_have_every_name_once_and_odd_names_open() {
    everywhere(Lists);
}

struct Looks;

impl Scene for Looks {
    fn play<P: Protocol>(&self, session: &mut Session<'_, P>, lab: &Lab, who: &str) {
        for (path, kind) in [("size-65537", Kind::File), ("wide", Kind::Directory), ("", Kind::Directory)] {
            let said = session.run(&mut Stat::new(&format!("/export/{path}"))).unwrap();
            let local = std::fs::metadata(lab.files.join(path)).unwrap();
            assert_eq!(said.kind, kind, "{who} {path}");
            if kind == Kind::File {
                assert_eq!(said.len, local.len(), "{who} {path}");
            }
            assert_eq!(said.modified.unwrap().seconds, local.mtime(), "{who} {path}");
        }
        let space = session.run(&mut Statfs::new("/export")).unwrap();
        assert!(space.total > 0 && space.available <= space.total, "{who} {space:?}");
    }
}

#[test]
fn metadata_is_what_the_file_system_says() {
    everywhere(Looks);
}

#[track_caller]
fn refusal<T: std::fmt::Debug>(outcome: Result<T, pagewire_interop::Error>) -> Reason {
    match outcome.unwrap_err() {
        Failure::Engine(Error::Refused(Refusal { reason, name, during, .. })) => {
            assert!(!name.is_empty() && !during.is_empty());
            reason
        }
        other => panic!("a refusal was expected, not {other:?}"),
    }
}

struct Refuses;

impl Scene for Refuses {
    fn play<P: Protocol>(&self, session: &mut Session<'_, P>, _: &Lab, who: &str) {
        for (path, reason) in [
            ("/export/missing", Reason::NotFound),
            ("/export/size-1/x", Reason::NotDirectory),
            ("/export/wide", Reason::IsDirectory),
        ] {
            assert_eq!(refusal(session.open(path)), reason, "{who} {path}");
        }
        assert_eq!(refusal(session.names("/export/size-1")), Reason::NotDirectory, "{who}");
        for path in ["/export/../etc/passwd", "/export/a\0b"] {
            let outcome = session.open(path);
            let invalid = matches!(outcome, Err(Failure::Engine(Error::Invalid(_))));
            assert!(invalid, "{who} {path:?}: {outcome:?}");
        }
        assert_eq!(session.read::<4096>("/export/size-1", 0, 1).unwrap().0.len(), 1, "{who} goes on");
    }
}

#[test]
fn what_cannot_be_read_says_why_and_the_connection_goes_on() {
    everywhere(Refuses);
}

#[test]
fn an_export_that_is_not_there_is_said_to_be_so() {
    for (server, address, _) in servers() {
        let outcome = with_nfs3(&address, "/no/such/export", |_| ());
        assert!(matches!(refusal(outcome), Reason::NotFound | Reason::Denied), "{server}");
        let outcome = with_nfs4(&address, None, |session| session.open("/no/such/export")).unwrap();
        assert_eq!(refusal(outcome), Reason::NotFound, "{server}");
    }
}

struct Links;

impl Scene for Links {
    fn play<P: Protocol>(&self, session: &mut Session<'_, P>, _: &Lab, who: &str) {
        for (path, end, target) in [
            ("/export/links/to-small", "/export/links/to-small", "../small.txt"),
            ("/export/links/to-many/file-07", "/export/links/to-many", "../many"),
        ] {
            assert_eq!(refusal(session.open(path)), Reason::Symlink, "{who} {path}");
            let link = session.client.link(path).unwrap();
            assert_eq!((link.end, link.target.to_string().as_str()), (end.len(), target), "{who}");
        }
        assert_eq!(session.read::<4096>("/export/size-1", 0, 1).unwrap().0.len(), 1, "{who} goes on");
    }
}

#[test]
fn a_symbolic_link_is_left_to_the_caller_and_said_where_it_points() {
    everywhere(Links);
}
