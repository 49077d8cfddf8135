//! What the first operation of a connection costs, and that nothing stays open.

use pagewire::smb::{Dialect, Dialects, Policy};
use pagewire::{Fetch, Fetched, Lane, List, Open, Pages, Stat, StatBoth, Statfs};
use pagewire_interop::{Error, GUEST, Lab, Options, SmbSession, hex, with_new_session, with_session};
use sha2::{Digest, Sha256};
use std::process::Command;

/// As whom and how, and the round trips up to the first byte.
fn ways(lab: &Lab) -> Vec<(String, Options, u32)> {
    let mut ways = Vec::new();
    for dialect in Dialect::ALL {
        let base = Options { dialects: Dialects::only(dialect), ..Options::new(&lab.samba) };
        // At 3.0 and 3.0.2 nothing is believed before the proof that nobody changed NEGOTIATE.
        let proves = [Dialect::Smb300, Dialect::Smb302].contains(&dialect);
        let trips = if proves { 6 } else { 4 };
        let mut way = |what: &str, options: Options, trips| {
            ways.push((format!("{} {what}", dialect.name()), options, trips));
        };
        way("plain", base.clone(), trips);
        way("signed", Options { sign: Policy::Always, ..base.clone() }, trips);
        // A guest has no keys and so no proof.
        way("guest", Options { share: "guest", identity: GUEST, ..base.clone() }, 4);
        if dialect >= Dialect::Smb300 {
            way("sealed", Options { seal: Policy::Always, ..base.clone() }, trips);
            // What went in the clear with TREE_CONNECT is asked again.
            let again = if proves { trips } else { trips + 1 };
            way("share that wants encryption", Options { share: "enc", ..base }, again);
        }
    }
    ways
}

/// The lengths and digests of files that are fetched side by side, with heads of 4096 bytes.
fn fetch(session: &mut SmbSession<'_>, paths: &[String], lanes: usize) -> Vec<Result<(u64, String), String>> {
    let mut lanes: Vec<_> = (0..lanes).map(|_| Lane::new()).collect();
    let (mut heads, mut pages) = (vec![[0; 4096]; lanes.len()], vec![[0; 4096]; 256]);
    let (mut heads, mut pages) = (Pages(&mut heads), Pages(&mut pages));
    let mut paths = paths.iter().map(String::as_str);
    let mut fetch = Fetch::new(&mut paths, &mut lanes, &mut heads, &mut pages);
    let (mut files, mut sha) = (Vec::new(), Sha256::new());
    session
        .run_each(&mut fetch, |part| match part {
            Fetched::Opened { .. } => sha = Sha256::new(),
            Fetched::Content(content) => {
                assert_eq!(content.data().len() as u64, content.len(), "no holes are told of");
                sha.update(content.data());
            }
            Fetched::Ended(len) => files.push(Ok((len, hex(&sha.finalize_reset())))),
            Fetched::Failed(error) => files.push(Err(error.to_string())),
        })
        .unwrap();
    files
}

fn fetches_rightly(session: &mut SmbSession<'_>, lab: &Lab, names: &[&str], lanes: usize) {
    let sums = lab.sums();
    let paths: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    for (name, file) in names.iter().zip(fetch(session, &paths, lanes)) {
        let (_, sum) = sums.iter().find(|(known, _)| known == name).expect("the file has a sum");
        assert_eq!(&file.as_ref().map(|(_, digest)| digest), &Ok(sum), "{name}");
    }
}

/// The round trips of a first operation.
fn trips(options: &Options, first: impl FnOnce(&mut SmbSession<'_>)) -> Result<u32, Error> {
    with_new_session::<70_000, 16, _>(options, |session| {
        first(session);
        session.client.counters().round_trips
    })
}

#[test]
fn the_first_operation_takes_one_round_trip_more_than_the_session() {
    let Some(lab) = Lab::find() else { return };
    for (what, options, floor) in ways(&lab) {
        let trips = [
            trips(&options, |session| fetches_rightly(session, &lab, &["small.txt"], 1)).unwrap(),
            trips(&options, |session| assert!(session.run(&mut Stat::new("small.txt")).is_ok())).unwrap(),
            trips(&options, |session| assert!(session.run(&mut Statfs::new("")).is_ok())).unwrap(),
            trips(&options, |session| assert!(session.run(&mut StatBoth::new("small.txt")).is_ok())).unwrap(),
            trips(&options, |session| assert!(session.run(&mut Open::new("small.txt")).is_ok())).unwrap(),
        ];
        assert_eq!(trips, [floor; 5], "{what}");
    }
}

#[test]
fn a_thousand_names_take_a_round_trip_for_each_reply_and_one_for_the_end() {
    let Some(lab) = Lab::find() else { return };
    for (what, options, floor) in ways(&lab) {
        let mut names = 0;
        let trips = with_new_session::<280_000, 16, _>(&options, |session| {
            session.run_each(&mut List::new("wide"), |_| names += 1).unwrap();
            session.client.counters().round_trips
        });
        // Replies of 64 KiB at 2.0.2, and else of all that `rx` holds.
        let replies = if what.starts_with("2.0.2") { 2 } else { 1 };
        assert_eq!((names, trips.unwrap()), (1000, floor + replies), "{what}");
    }
}

/// How many files the server has open.
fn open_files(lab: &Lab) -> usize {
    let conf = format!("--configfile={}", lab.samba_conf.display());
    let output = Command::new("smbstatus").args(["--locks", &conf]).output().expect("smbstatus is there");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter(|line| line.contains("RDONLY")).count()
}

/// How many files the server has open, once it has had time to hear of it.
fn open_files_at_last(lab: &Lab, want: usize) -> usize {
    let mut open = open_files(lab);
    for _ in 0..50 {
        if open == want {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        open = open_files(lab);
    }
    open
}

/// Files of many lengths, one that is missing, one that may not be read, and a directory.
const MIXED: [&str; 10] = [
    "small.txt",
    "size-0",
    "missing",
    "size-1048577",
    "secret.txt",
    "wide",
    "size-1",
    "missing/x",
    "size-65537",
    "many/file-07",
];

#[test]
fn whatever_comes_of_a_chain_the_server_has_nothing_open_after_it() {
    let Some(lab) = Lab::find() else { return };
    let paths = MIXED.map(String::from);
    for (what, options, _) in ways(&lab).into_iter().filter(|(_, options, _)| options.share != "enc") {
        for lanes in [1, 3, 10] {
            with_new_session::<70_000, 64, _>(&options, |session| {
                let files = fetch(session, &paths, lanes);
                let went_well: Vec<bool> = files.iter().map(Result::is_ok).collect();
                let expected =
                    MIXED.map(|name| !["missing", "secret.txt", "wide", "missing/x"].contains(&name));
                assert_eq!(went_well, expected, "{what}: {files:?}");
                let open = session.run(&mut Open::new("small.txt")).unwrap();
                assert_eq!(
                    open_files_at_last(&lab, 1),
                    1,
                    "{what}, {lanes} lanes: the one that is counted by"
                );
                session.run(&mut pagewire::Close::new(&open)).unwrap();
                session.run(&mut Stat::new("missing")).unwrap_err();
                assert_eq!(open_files_at_last(&lab, 0), 0, "{what}");
            })
            .unwrap();
        }
    }
}

#[test]
fn a_hundred_files_take_as_few_round_trips_as_there_are_slots_for() {
    let Some(lab) = Lab::find() else { return };
    let options = Options::new(&lab.samba);
    let names: Vec<String> = (0..100).map(|n| format!("many/file-{n:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let first = with_new_session::<70_000, 64, _>(&options, |session| {
        fetches_rightly(session, &lab, &names, 32);
        session.client.counters().round_trips
    });
    let second = with_new_session::<70_000, 192, _>(&options, |session| {
        fetches_rightly(session, &lab, &names, 64);
        session.client.counters().round_trips
    });
    println!("100 files of 4 KiB: {first:?} round trips with 64 slots, {second:?} with 192");
    assert_eq!(second.unwrap(), 6);
}

#[test]
fn a_small_window_of_credits_is_enough_for_many_files_at_once() {
    let Some(lab) = Lab::find() else { return };
    with_new_session::<70_000, 64, _>(&Options::new(&lab.tight), |session| {
        fetches_rightly(session, &lab, &["many/file-00", "size-65537", "many/file-01", "size-67108864"], 4);
    })
    .unwrap();
}

#[test]
fn attributes_and_space_are_the_same_together_and_alone() {
    let Some(lab) = Lab::find() else { return };
    with_session(&Options::new(&lab.samba), |session| {
        let (attributes, space) = session.run(&mut StatBoth::new("size-65537")).unwrap();
        assert_eq!(session.run(&mut Stat::new("size-65537")).unwrap(), attributes);
        assert_eq!(session.run(&mut Statfs::new("size-65537")).unwrap().total, space.total);
    })
    .unwrap();
}

#[test]
fn ksmbd_is_asked_for_the_share_alone_and_then_for_the_rest_in_one_chain() {
    let Some(lab) = Lab::find() else { return };
    let Some(address) = lab.ksmbd.clone() else {
        return println!("skipped: ksmbd was not started; testing/servers/run --kernel does");
    };
    for dialect in Dialect::ALL.into_iter().filter(|dialect| *dialect >= Dialect::Smb210) {
        let proves = [Dialect::Smb300, Dialect::Smb302].contains(&dialect);
        let options = Options { dialects: Dialects::only(dialect), ..Options::new(&address) };
        let trips = [
            trips(&options, |session| fetches_rightly(session, &lab, &["small.txt"], 1)).unwrap(),
            trips(&options, |session| assert!(session.run(&mut StatBoth::new("small.txt")).is_ok())).unwrap(),
            trips(&options, |session| assert_eq!(session.names("wide").unwrap().len(), 1000)).unwrap(),
        ];
        let floor = if proves { 6 } else { 5 };
        println!("ksmbd {}: file, both, list in {trips:?} round trips", dialect.name());
        assert_eq!(trips[1], floor);
        // One more where READ has to be asked for once more.
        assert!([floor, floor + 1].contains(&trips[0]));
    }
}
