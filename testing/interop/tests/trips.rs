//! What every job costs on the wire: round trips, requests and bytes of a whole session, as counted between client and
//! server, against the table in `trips.txt`. The command's own figures must agree.
//!
//! `PAGEWIRE_TRIPS=write` writes the table anew.

use pagewire::protocol::Protocol as Spoken;
use pagewire::smb::{Dialect, Dialects, Policy};
use pagewire::{Counters, Stat, Statfs};
use pagewire_interop::command::pagewire;
use pagewire_interop::tap::{Protocol, Tally, Tap};
use pagewire_interop::{Lab, Options, Session, nfs_address, with_nfs3, with_nfs4, with_session};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

/// A busy machine only ever adds to the round trips that can be seen.
const RUNS_MAX: usize = 5;
/// Names of machines and owners stand in requests, and their lengths differ.
const BYTES_TOLERANCE: f64 = 0.05;
/// Files side by side are asked for as replies make room, which come as they come.
const WINDOW_TOLERANCE: u32 = 8;
const FILE: &str = "many/file-00";
const HEADING: [&str; 8] =
    ["server", "session", "job", "trips", "requests", "sent", "received", "what was asked for"];

/// How to speak to a server.
#[derive(Clone, Copy)]
enum Speech {
    Smb(Dialect, &'static str),
    Nfs3,
    Nfs4(u32),
}
use Speech::{Nfs3, Nfs4, Smb};

const SAMBA: [Speech; 5] = [
    Smb(Dialect::Smb202, "plain"),
    Smb(Dialect::Smb202, "signed"),
    Smb(Dialect::Smb311, "plain"),
    Smb(Dialect::Smb311, "signed"),
    Smb(Dialect::Smb311, "sealed"),
];
/// Which has no 2.0.2.
const KSMBD: &[Speech] = SAMBA.split_at(2).1;
const NFS: [Speech; 4] = [Nfs3, Nfs4(0), Nfs4(1), Nfs4(2)];

impl Speech {
    fn name(self) -> String {
        match self {
            Smb(dialect, protection) => format!("{} {protection}", dialect.name()),
            Nfs3 => "3".to_owned(),
            Nfs4(minor) => format!("4.{minor}"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Job {
    FirstFile,
    Stat,
    Statfs,
    /// Of one file.
    Both,
    List,
    ManyFiles,
}

const MANY_FILES: &str = "100 files, 4 KiB each";
const JOBS: [(Job, &str); 6] = [
    (Job::FirstFile, "first file, 4 KiB"),
    (Job::Stat, "stat"),
    (Job::Statfs, "statfs"),
    (Job::Both, "stat and statfs"),
    (Job::List, "list 1000 names"),
    (Job::ManyFiles, MANY_FILES),
];

impl Job {
    /// The command's arguments, where there is a command for it.
    fn arguments(self, url: impl Fn(&str) -> String, dir: &Path) -> Option<Vec<String>> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        Some(match self {
            Job::FirstFile => words(&["get", &url(FILE), "-o", "/dev/null"]),
            Job::Stat => words(&["stat", &url(FILE)]),
            Job::Statfs => words(&["df", &url("")]),
            Job::Both => return None,
            Job::List => words(&["ls", &url("wide")]),
            Job::ManyFiles => {
                let files = (0..100).map(|n| url(&format!("many/file-{n:02}")));
                words(&["get", "-O", dir.to_str().unwrap()]).into_iter().chain(files).collect()
            }
        })
    }
}

/// A server through a tap.
struct Scene {
    speech: Speech,
    tap: Tap,
}

impl Scene {
    /// `server` is as `testing/servers/run` says it.
    fn new(speech: Speech, server: &str) -> Scene {
        let tap = match speech {
            Smb(..) => Tap::new(Protocol::Smb, &[server.parse().unwrap()]),
            Nfs3 | Nfs4(_) => {
                let (host, nfs, mount) = nfs_address(server);
                let at = |port| SocketAddr::new(host.parse().unwrap(), port);
                Tap::new(Protocol::Rpc, &[at(nfs), at(mount)])
            }
        };
        Scene { speech, tap: tap.unwrap() }
    }

    fn url(&self, path: &str) -> String {
        let address = self.tap.address(0);
        match self.speech {
            Smb(..) => format!("smb://lab@{address}/data/{path}"),
            Nfs3 => {
                let mount = self.tap.address(1).port();
                format!("nfs://{address}/export/{path}?version=3&mountport={mount}&uid=1000&gid=1000")
            }
            Nfs4(minor) => format!("nfs://{address}/export/{path}?version=4.{minor}&uid=1000&gid=1000"),
        }
    }

    /// What the wire said, and what the engine did.
    fn play(self, job: Job, dir: &Path) -> (Tally, Counters) {
        let counters = match job.arguments(|path| self.url(path), dir) {
            Some(arguments) => self.command(&arguments),
            None => self.both(),
        };
        (Tally::sum(&self.tap.finish()), counters)
    }

    fn command(&self, arguments: &[String]) -> Counters {
        let mut command = pagewire();
        command.arg(&arguments[0]);
        if let Smb(dialect, protection) = self.speech {
            command.args(["--vers", dialect.name()]).args(match protection {
                "signed" => Some("--sign"),
                "sealed" => Some("--seal"),
                _ => None,
            });
        }
        let output =
            command.args(&arguments[1..]).args(["--stats", "json"]).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{arguments:?}: {said}");
        let stats = said.lines().rfind(|line| line.starts_with('{')).expect("a line of stats");
        let stats: serde_json::Value = serde_json::from_str(stats).unwrap();
        let number = |name: &str| stats[name].as_u64().unwrap_or_else(|| panic!("{name}: {stats}"));
        Counters {
            requests: number("requests"),
            round_trips: number("round_trips") as u32,
            bytes_sent: number("bytes_sent"),
            bytes_received: number("bytes_received"),
            ..Counters::default()
        }
    }

    fn both(&self) -> Counters {
        let address = self.tap.address(0).to_string();
        let with_mount = || format!("{address}:{}", self.tap.address(1).port());
        let path = format!("/export/{FILE}");
        match self.speech {
            Smb(dialect, protection) => {
                let policy = |wanted| if protection == wanted { Policy::Always } else { Policy::IfNeeded };
                let (sign, seal) = (policy("signed"), policy("sealed"));
                let dialects = Dialects::only(dialect);
                let options = Options { dialects, sign, seal, ..Options::new(&address) };
                with_session(&options, |session| stat_and_statfs(session, FILE))
            }
            Nfs3 => with_nfs3(&with_mount(), &path, |session| stat_and_statfs(session, &path)),
            Nfs4(minor) => with_nfs4(&with_mount(), Some(minor), |session| stat_and_statfs(session, &path)),
        }
        .unwrap()
    }
}

fn stat_and_statfs<P: Spoken>(session: &mut Session<'_, P>, path: &str) -> Counters {
    session.run(&mut Stat::new(path)).unwrap();
    session.run(&mut Statfs::new(path)).unwrap();
    *session.client.counters()
}

/// A line of the table.
#[derive(Clone, Debug)]
struct Row {
    key: [String; 3],
    trips: u32,
    requests: String,
    bytes: [u64; 2],
    what: String,
}

impl Row {
    fn new(key: [String; 3], tally: &Tally) -> Row {
        let what: Vec<_> = tally.names.iter().map(|(name, count)| format!("{name} {count}")).collect();
        Row {
            key,
            trips: tally.round_trips,
            requests: tally.requests.to_string(),
            bytes: [tally.bytes_sent, tally.bytes_received],
            what: what.join(", "),
        }
    }

    /// The line of the file. `None` for the heading and the rules.
    fn parse(line: &str) -> Option<Row> {
        let cells: Vec<String> = line.split('|').map(|cell| cell.trim().to_owned()).collect();
        let [server, session, job, trips, requests, sent, received, what] = cells.try_into().ok()?;
        let bytes = [sent.parse().ok()?, received.parse().ok()?];
        Some(Row { key: [server, session, job], trips: trips.parse().ok()?, requests, bytes, what })
    }

    fn line(&self) -> String {
        let ([server, session, job], [sent, received]) = (&self.key, self.bytes);
        let Row { trips, requests, what, .. } = self;
        line([
            server,
            session,
            job,
            &trips.to_string(),
            requests,
            &sent.to_string(),
            &received.to_string(),
            what,
        ])
    }

    /// Whether this run cost what the table says.
    fn agrees(&self, table: &Row) -> bool {
        let near = |(is, was): (&u64, &u64)| is.abs_diff(*was) as f64 <= *was as f64 * BYTES_TOLERANCE;
        let may_differ = if self.key[2] == MANY_FILES { WINDOW_TOLERANCE } else { 0 };
        self.trips.abs_diff(table.trips) <= may_differ
            && (&self.requests, &self.what) == (&table.requests, &table.what)
            && self.bytes.iter().zip(&table.bytes).all(near)
    }
}

fn line([server, session, job, trips, requests, sent, received, what]: [&str; 8]) -> String {
    format!(
        "{server:7} | {session:12} | {job:21} | {trips:>5} | {requests:>8} | {sent:>7} | {received:>8} | {what}"
    )
}

/// The least of several runs, or the first that agrees with the table.
fn measure(speech: Speech, server: &str, job: Job, key: &[String; 3], table: Option<&Row>) -> Row {
    let dir = tempfile::tempdir().unwrap();
    let mut least: Option<(Tally, Counters)> = None;
    for _ in 0..RUNS_MAX {
        let (mut tally, counters) = Scene::new(speech, server).play(job, dir.path());
        agree(&tally, &counters, key);
        if key[2] == MANY_FILES {
            // A reply that the client has not got yet was seen already, so what is asked before seems to follow it.
            tally.round_trips = counters.round_trips;
        }
        let enough = table.is_some_and(|table| Row::new(key.clone(), &tally).agrees(table));
        if enough || least.as_ref().is_none_or(|(least, _)| tally.round_trips < least.round_trips) {
            least = Some((tally, counters));
        }
        if enough {
            break;
        }
    }
    let (tally, counters) = least.unwrap();
    assert_eq!(tally.round_trips, counters.round_trips, "round trips that were seen and told: {key:?}");
    Row::new(key.clone(), &tally)
}

/// What the engine counts is what was seen.
fn agree(tally: &Tally, counters: &Counters, key: &[String; 3]) {
    let received = if tally.unread == 0 { tally.bytes_received } else { counters.bytes_received };
    let seen = (tally.bytes_sent, received);
    assert_eq!(seen, (counters.bytes_sent, counters.bytes_received), "{key:?}");
    assert!(tally.round_trips >= counters.round_trips, "{key:?}: {tally:?} {counters:?}");
    if tally.sealed == 0 {
        assert_eq!(tally.requests, counters.requests, "{key:?}: {tally:?}");
    }
}

#[test]
fn every_job_takes_the_round_trips_requests_and_bytes_of_the_table() {
    let Some(lab) = Lab::find() else { return };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("trips.txt");
    let write = std::env::var("PAGEWIRE_TRIPS").is_ok_and(|value| value == "write");
    let table = if write { String::new() } else { std::fs::read_to_string(&file).unwrap() };
    let table: BTreeMap<_, _> =
        table.lines().filter_map(Row::parse).map(|row| (row.key.clone(), row)).collect();
    let (mut lines, mut differ) = (vec![line(HEADING)], Vec::new());
    let servers = [
        ("Samba", Some(&lab.samba), &SAMBA[..]),
        ("ksmbd", lab.ksmbd.as_ref(), KSMBD),
        ("Ganesha", lab.ganesha.as_ref(), &NFS),
        ("nfsd", lab.nfsd.as_ref(), &NFS),
    ];
    for (name, address, speeches) in servers {
        let Some(address) = address else {
            assert!(!write, "{name} was not started, and the whole table is to be written");
            println!("skipped: {name} was not started; testing/servers/run --nfs --kernel does");
            continue;
        };
        for (speech, (job, title)) in speeches.iter().flat_map(|speech| JOBS.map(|job| (speech, job))) {
            let key = [name.to_owned(), speech.name(), title.to_owned()];
            let was = table.get(&key);
            let is = measure(*speech, address, job, &key, was);
            lines.push(is.line());
            if !was.is_some_and(|was| is.agrees(was)) {
                differ.push(format!("is  {}\nwas {}\n", is.line(), was.map(Row::line).unwrap_or_default()));
            }
        }
    }
    println!("{}", lines.join("\n"));
    if write {
        std::fs::write(file, lines.join("\n") + "\n").unwrap();
    } else {
        assert!(differ.is_empty(), "PAGEWIRE_TRIPS=write writes the table anew\n{}", differ.concat());
    }
}
