//! One job over one way to speak to a server, through a tap.

use pagewire::protocol::Protocol as Spoken;
use pagewire::smb::{Dialect, Dialects, Policy};
use pagewire::{Counters, Disconnect, StatBoth};
use pagewire_interop::command::pagewire;
use pagewire_interop::tap::{Protocol, Tally, Tap};
use pagewire_interop::{
    Error, GUEST, Options, Session, nfs_address, with_new_nfs3, with_new_nfs4, with_new_session,
};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;

/// A file of 4 KiB.
const FILE: &str = "many/file-00";

/// How to speak to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    /// As a guest, who has no keys; or signed, or sealed.
    Smb(Dialect, &'static str),
    Nfs3,
    Nfs4(u32),
}
use Speech::{Nfs3, Nfs4, Smb};

impl Speech {
    pub fn name(self) -> String {
        match self {
            Smb(dialect, protection) => format!("{} {protection}", dialect.name()),
            Nfs3 => "3".to_owned(),
            Nfs4(minor) => format!("4.{minor}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    FirstFile,
    Stat,
    Statfs,
    /// Of one file.
    Both,
    List,
    ManyFiles,
    /// The same files as what is in a directory.
    Tree,
    BigFile,
}

pub const JOBS: [Job; 8] =
    [Job::FirstFile, Job::Stat, Job::Statfs, Job::Both, Job::List, Job::ManyFiles, Job::Tree, Job::BigFile];

impl Job {
    pub fn name(self) -> &'static str {
        match self {
            Job::FirstFile => "first file, 4 KiB",
            Job::Stat => "stat",
            Job::Statfs => "statfs",
            Job::Both => "stat and statfs",
            Job::List => "list 1000 names",
            Job::ManyFiles => "100 files, 4 KiB each",
            Job::Tree => "a tree of 100 files",
            Job::BigFile => "one file, 16 MiB",
        }
    }

    /// Whether no window slides: see [`super::table`].
    pub fn is_exact(self) -> bool {
        !matches!(self, Job::ManyFiles | Job::Tree | Job::BigFile)
    }

    /// The command's arguments, where there is a command for it.
    fn arguments(self, url: impl Fn(&str) -> String) -> Option<Vec<String>> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        Some(match self {
            Job::FirstFile => words(&["cat", &url(FILE)]),
            Job::Stat => words(&["stat", &url(FILE)]),
            Job::Statfs => words(&["df", &url(FILE)]),
            Job::Both => return None,
            Job::List => words(&["ls", &url("wide")]),
            Job::ManyFiles => {
                let files = (0..100).map(|n| url(&format!("many/file-{n:02}")));
                words(&["cat", "--in-flight", "64"]).into_iter().chain(files).collect()
            }
            Job::Tree => words(&["get", "--in-flight", "64", "-O", scratch().to_str()?, "-r", &url("many")]),
            Job::BigFile => words(&["cat", &url("sparse/all-data")]),
        })
    }
}

/// Where a tree is put.
fn scratch() -> PathBuf {
    std::env::temp_dir().join(format!("pagewire-trips-{}", std::process::id()))
}

/// A server through a tap.
pub struct Scene {
    speech: Speech,
    tap: Tap,
}

impl Scene {
    /// `server` is as `testing/servers/run` says it.
    pub fn new(speech: Speech, server: &str) -> Scene {
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

    /// The user's numbers are given so that no groups of this process are told.
    fn url(&self, path: &str) -> String {
        let address = self.tap.address(0);
        match self.speech {
            Smb(_, "guest") => format!("smb://{address}/guest/{path}"),
            Smb(..) => format!("smb://lab@{address}/data/{path}"),
            Nfs3 => {
                let mount = self.tap.address(1).port();
                format!("nfs://{address}/export/{path}?version=3&mountport={mount}&uid=1000&gid=1000")
            }
            Nfs4(minor) => format!("nfs://{address}/export/{path}?version=4.{minor}&uid=1000&gid=1000"),
        }
    }

    /// What the wire said, and what the engine did.
    pub fn play(self, job: Job) -> (Tally, Counters) {
        let counters = match job.arguments(|path| self.url(path)) {
            Some(arguments) => self.command(&arguments),
            None => self.both().unwrap(),
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
        command.args(&arguments[1..]).args(["--stats", "json"]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{arguments:?}: {said}");
        // What a tree has left.
        let _ = std::fs::remove_dir_all(scratch());
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

    /// There is no command for it.
    fn both(&self) -> Result<Counters, Error> {
        let address = self.tap.address(0).to_string();
        let with_mount = || format!("{address}:{}", self.tap.address(1).port());
        let path = format!("/export/{FILE}");
        match self.speech {
            Smb(dialect, protection) => {
                let policy = |wanted| if protection == wanted { Policy::Always } else { Policy::IfNeeded };
                let (sign, seal) = (policy("signed"), policy("sealed"));
                let mut options =
                    Options { dialects: Dialects::only(dialect), sign, seal, ..Options::new(&address) };
                if protection == "guest" {
                    (options.share, options.identity) = ("guest", GUEST);
                }
                with_new_session::<70_000, 16, _>(&options, |session| stat_and_statfs(session, FILE))
            }
            Nfs3 => with_new_nfs3::<70_000, 16, _>(&with_mount(), &path, |session| {
                stat_and_statfs(session, &path)
            }),
            Nfs4(minor) => with_new_nfs4::<70_000, 16, _>(&with_mount(), Some(minor), |session| {
                stat_and_statfs(session, &path)
            }),
        }
    }
}

fn stat_and_statfs<P: Spoken>(session: &mut Session<'_, P>, path: &str) -> Counters {
    session.run(&mut StatBoth::new(path)).unwrap();
    session.run(&mut Disconnect::new()).unwrap();
    *session.client.counters()
}
