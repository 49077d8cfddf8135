//! Files that Samba keeps open for us under a lease: what that saves, and that what others do to them is seen.

use pagewire::smb::{Dialect, Dialects, Policy};
use pagewire::{Close, Connect, Fetch, Fetched, Keepalive, Lane, Pages};
use pagewire_interop::tap::{Protocol, Tally, Tap};
use pagewire_interop::{Lab, Options, SmbSession, with_keeping_session};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// So many files are kept.
const KEPT: usize = 3;

/// The share that may be changed, by each dialect that has leases.
fn ways(address: &str) -> Vec<Options> {
    let dialects = Dialect::ALL.into_iter().filter(|dialect| *dialect >= Dialect::Smb210);
    let base = Options { share: "scratch", ..Options::new(address) };
    let plain = dialects.map(|dialect| Options { dialects: Dialects::only(dialect), ..base.clone() });
    plain.chain([Options { sign: Policy::Always, ..base.clone() }]).collect()
}

/// The directory of that share.
fn scratch(lab: &Lab) -> PathBuf {
    lab.samba_conf.with_file_name("scratch")
}

/// Another client says this. Whether the server was content.
fn other(lab: &Lab, command: &str) -> Result<(), String> {
    let (host, port) = lab.samba.split_once(':').expect("HOST:PORT");
    let share = format!("//{host}/scratch");
    let arguments = ["10", "smbclient", &share, "-p", port, "-U", "lab%lab-password", "-c", command];
    let output = Command::new("timeout").args(arguments).output().expect("smbclient is there");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(said.into_owned()) }
}

/// How many files the server has open.
fn open_files(lab: &Lab) -> usize {
    let conf = format!("--configfile={}", lab.samba_conf.display());
    let output = Command::new("smbstatus").args(["--locks", &conf]).output().expect("smbstatus is there");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.contains("RDONLY")).count()
}

/// What is in a file that is opened, read and closed.
fn fetch<const KEPT: usize>(session: &mut SmbSession<'_, KEPT>, path: &str) -> Result<String, String> {
    let (mut lanes, mut heads, mut pages) = ([Lane::new()], [[0; 4096]], [[0; 4096]; 2]);
    let (mut heads, mut pages) = (Pages(&mut heads), Pages(&mut pages));
    let mut paths = [path].into_iter();
    let (mut content, mut outcome) = (Vec::new(), Ok(()));
    let mut fetch = Fetch::new(&mut paths, &mut lanes, &mut heads, &mut pages);
    let run = session.run_each(&mut fetch, |part| match part {
        Fetched::Content(part) => content.extend(part.data()),
        Fetched::Failed(error) => outcome = Err(error.to_string()),
        Fetched::Opened { .. } => {}
        Fetched::Ended(len) => assert_eq!(len, content.len() as u64),
    });
    run.unwrap();
    outcome.map(|()| String::from_utf8(content).unwrap())
}

/// What ten fetches of one file are on the wire, with so many files kept.
fn ten_fetches<const KEPT: usize>(lab: &Lab, options: &Options) -> Tally {
    let tap = Tap::new(Protocol::Smb, &[lab.samba.parse().unwrap()]).unwrap();
    let options = Options { address: tap.address(0).to_string(), ..options.clone() };
    with_keeping_session::<KEPT, 70_000, 16, _>(&options, |session| {
        session.run(&mut Connect::new()).unwrap();
        (0..10).for_each(|_| assert_eq!(fetch(session, "a").as_deref(), Ok("what is in a")));
        // So that all is counted that nobody waits for.
        session.run(&mut Keepalive::new()).unwrap();
    })
    .unwrap();
    Tally::sum(&tap.finish())
}

#[test]
fn a_file_that_is_opened_again_costs_two_requests_and_not_three_in_as_many_round_trips() {
    let Some(lab) = Lab::find() else { return };
    fs::write(scratch(&lab).join("a"), "what is in a").unwrap();
    for options in ways(&lab.samba) {
        let (kept, closed) = (ten_fetches::<KEPT>(&lab, &options), ten_fetches::<0>(&lab, &options));
        let count = |tally: &Tally| {
            ["CREATE", "QUERY_INFO", "READ", "CLOSE"].map(|name| {
                tally.names.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count)
            })
        };
        println!(
            "{:?}: kept {} requests in {} round trips and {} bytes sent, closed {} in {} and {}",
            options.dialects,
            kept.requests,
            kept.round_trips,
            kept.bytes_sent,
            closed.requests,
            closed.round_trips,
            closed.bytes_sent
        );
        assert_eq!(count(&kept), [1, 9, 10, 0], "{options:?}");
        assert_eq!(count(&closed), [10, 0, 10, 10], "{options:?}");
        assert_eq!(kept.round_trips, closed.round_trips, "{options:?}");
    }
}

#[test]
fn what_others_do_to_a_kept_file_is_seen_when_it_is_opened_again() {
    let Some(lab) = Lab::find() else { return };
    let dir = scratch(&lab);
    let put = |from: &str, to: &str| other(&lab, &format!("put {} {to}", dir.join(from).display()));
    for options in ways(&lab.samba) {
        fs::write(dir.join("new"), "another and longer content").unwrap();
        fs::create_dir_all(dir.join("d")).unwrap();
        let _ = fs::remove_dir_all(dir.join("e"));
        for name in ["a", "b", "d/f"] {
            fs::write(dir.join(name), format!("what is in {name}")).unwrap();
        }
        with_keeping_session::<KEPT, 70_000, 16, _>(&options, |session| {
            session.run(&mut Connect::new()).unwrap();
            let mut is = |path: &str, content: Result<&str, &str>| match (fetch(session, path), content) {
                (Ok(came), Ok(content)) => assert_eq!(came, content, "{path}, {options:?}"),
                (Err(error), Err(part)) if error.contains(part) => {}
                (came, _) => panic!("{path}: {came:?} and not {content:?}, {options:?}"),
            };
            is("a", Ok("what is in a"));
            put("new", "a").unwrap();
            is("a", Ok("another and longer content"));
            fs::write(dir.join("a"), "shorter").unwrap();
            is("a", Ok("shorter"));
            other(&lab, "rename a x").unwrap();
            is("a", Err("NOT_FOUND"));
            is("x", Ok("shorter"));
            other(&lab, "rename x a").unwrap();
            is("a", Ok("shorter"));
            fs::rename(dir.join("new"), dir.join("a")).unwrap();
            is("a", Ok("another and longer content"));
            is("b", Ok("what is in b"));
            other(&lab, "del b").unwrap();
            is("b", Err("NOT_FOUND"));
            put("a", "b").unwrap();
            is("b", Ok("another and longer content"));
            // Samba lets a directory be renamed in which files are open, and says nothing of it.
            is("d/f", Ok("what is in d/f"));
            other(&lab, "rename d e; mkdir d").unwrap();
            put("a", "d/f").unwrap();
            is("d/f", Ok("another and longer content"));
            is("e/f", Ok("what is in d/f"));
        })
        .unwrap();
    }
}

#[test]
fn the_server_has_no_more_files_open_than_are_kept_and_none_after_two_keepalives() {
    let Some(lab) = Lab::find() else { return };
    let dir = scratch(&lab);
    let names: Vec<String> = (0..10).map(|n| format!("kept-{n}")).collect();
    names.iter().for_each(|name| fs::write(dir.join(name), name).unwrap());
    for options in ways(&lab.samba) {
        with_keeping_session::<KEPT, 70_000, 16, _>(&options, |session| {
            session.run(&mut Connect::new()).unwrap();
            for (nth, name) in names.iter().enumerate() {
                assert_eq!(fetch(session, name).as_ref(), Ok(name));
                session.run(&mut pagewire::Stat::new("")).unwrap();
                assert_eq!(open_files(&lab), KEPT.min(nth + 1), "{options:?}");
            }
            other(&lab, &format!("del {}", names[9])).unwrap();
            let put = format!("put {} {}", dir.join("kept-0").display(), names[9]);
            assert!(other(&lab, &put).unwrap_err().contains("DELETE_PENDING"), "it is open");
            for _ in 0..3 {
                session.run(&mut Keepalive::new()).unwrap();
            }
            assert_eq!(open_files(&lab), 0, "{options:?}");
            other(&lab, &put).unwrap();
            assert_eq!(fetch(session, &names[9]).as_deref(), Ok("kept-0"));
            fs::write(dir.join(&names[9]), &names[9]).unwrap();
        })
        .unwrap();
    }
}

#[test]
fn a_lease_that_is_broken_is_given_back_with_the_next_request() {
    let Some(lab) = Lab::find() else { return };
    let dir = scratch(&lab);
    fs::write(dir.join("a"), "what is in a").unwrap();
    fs::write(dir.join("new"), "another content").unwrap();
    for options in ways(&lab.samba) {
        with_keeping_session::<KEPT, 70_000, 16, _>(&options, |session| {
            session.run(&mut Connect::new()).unwrap();
            fetch(session, "a").unwrap();
            let file = session.open("new").unwrap();
            assert_eq!(open_files(&lab), 2);
            // Over both, the one that nobody uses and the one in use.
            let put = |name| other(&lab, &format!("put {} {name}", dir.join("SOURCE").display()));
            fs::write(dir.join("SOURCE"), "from the other").unwrap();
            put("a").unwrap();
            put("new").unwrap();
            session.run(&mut Keepalive::new()).unwrap();
            session.run(&mut pagewire::Stat::new("")).unwrap();
            assert_eq!(open_files(&lab), 1, "{options:?}");
            session.run(&mut Close::new(&file)).unwrap();
            session.run(&mut pagewire::Stat::new("")).unwrap();
            assert_eq!(open_files(&lab), 0, "{options:?}");
            assert_eq!(fetch(session, "a").as_deref(), Ok("from the other"));
        })
        .unwrap();
    }
}

#[test]
fn nothing_is_kept_where_everything_is_sealed_or_no_lease_is_granted() {
    let Some(lab) = Lab::find() else { return };
    let scratch = Options { share: "scratch", ..Options::new(&lab.samba) };
    fs::write(self::scratch(&lab).join("a"), "what is in a").unwrap();
    let mut ways = vec![
        (Options { dialects: Dialects::only(Dialect::Smb202), ..scratch.clone() }, "a"),
        (Options { seal: Policy::Always, ..scratch }, "a"),
        (Options { share: "enc", ..Options::new(&lab.samba) }, "small.txt"),
    ];
    match &lab.ksmbd {
        Some(ksmbd) => ways.push((Options::new(ksmbd), "small.txt")),
        None => println!("skipped: ksmbd was not started; testing/servers/run --kernel does"),
    }
    for (options, path) in ways {
        with_keeping_session::<KEPT, 70_000, 16, _>(&options, |session| {
            session.run(&mut Connect::new()).unwrap();
            let before = session.client.counters().requests;
            (0..5).for_each(|_| assert!(fetch(session, path).is_ok()));
            let requests = session.client.counters().requests - before;
            assert!(requests >= 15, "{requests} requests of {options:?}");
        })
        .unwrap();
    }
}
