//! Servers far away, beside Samba's own client and those of libnfs in one run. `testing/servers/far` makes the way long.
//!
//! Times are reported. What is asserted is only that no job takes much longer than with the others, and that a big read fills the
//! link.

use pagewire_interop::command::{libnfs, pagewire, smbclient};
use pagewire_interop::usage::measure;
use pagewire_interop::{Lab, nfs_address};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How much longer than the others a job may take.
const WALL_RATIO_MAX: f64 = 1.2;
/// Bytes a second on the link, all headers included.
const LINK_RATE: f64 = 125e6;
const BEGIN: Duration = Duration::from_secs(3);
const WINDOW: Duration = Duration::from_millis(500);
/// 10 MiB in flight: more than the link holds, 7.5 MB.
const IN_FLIGHT: [&str; 2] = ["--in-flight", "40"];
/// So much of the link is used over a [`WINDOW`] within the first seconds of a big read, at the latest try.
const FILLS_PERCENT: f64 = 90.0;
const TRIES: usize = 3;
const FILE: &str = "many/file-00";

/// What is done, by whom.
struct Job {
    name: String,
    ours: Command,
    /// If they have it.
    theirs: Option<Command>,
}

fn job(name: String, ours: Command, theirs: Option<Command>) -> Job {
    Job { name, ours, theirs }
}

impl Job {
    /// Reports how long it took and returns what is wrong with that. Both at once: they wait most of the time.
    fn run(&mut self) -> Option<String> {
        let (ours, theirs) = thread::scope(|scope| {
            let theirs = self.theirs.as_mut().map(|theirs| scope.spawn(|| seconds(theirs)));
            (seconds(&mut self.ours), theirs.map(|theirs| theirs.join().unwrap()))
        });
        let shown = theirs.map_or("     -".to_owned(), |theirs| format!("{theirs:6.2}"));
        println!("{:25} {ours:6.2} {shown}", self.name);
        let late = theirs.is_some_and(|theirs| ours > theirs * WALL_RATIO_MAX);
        late.then(|| format!("{}: {ours:.2} s, and{shown} s with the other", self.name))
    }
}

fn seconds(command: &mut Command) -> f64 {
    let usage = measure(command).unwrap();
    assert!(usage.status.success(), "{command:?}: {}", usage.status);
    usage.wall.as_secs_f64()
}

// One test, because others beside it would disturb the times.
#[test]
fn no_job_takes_longer_than_with_others_over_a_long_way() {
    let Ok(ms) = std::env::var("PAGEWIRE_FAR_MS") else {
        println!("skipped: PAGEWIRE_FAR_MS is not set; testing/servers/far makes the way long");
        return;
    };
    let Some(lab) = Lab::find() else { return };
    let ganesha = lab.ganesha.as_ref().expect("testing/servers/far starts NFS-Ganesha");
    println!("over {ms} ms, wall time, s      ours theirs");
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("theirs")).unwrap();
    let (mut short, many) = smb(&lab.samba, dir.path());
    let mut long = vec![many];
    for version in ["3", "4.0", "4.2"] {
        let (jobs, many) = nfs(ganesha, version, dir.path());
        short.extend(jobs);
        long.push(many);
    }
    let mut late: Vec<String> = short.iter_mut().filter_map(Job::run).collect();
    thread::scope(|scope| {
        let running: Vec<_> = long.iter_mut().map(|job| scope.spawn(|| job.run())).collect();
        late.extend(running.into_iter().filter_map(|job| job.join().unwrap()));
    });
    late.extend(big_reads(&lab.samba, ganesha));
    assert!(late.is_empty(), "{}", late.join("\n"));
}

fn ours(version: &str, arguments: &[&str]) -> Command {
    let mut command = pagewire();
    command.args(arguments).args(["--vers", version]);
    command
}

/// Many files into a directory.
fn many(version: &str, url: impl Fn(&str) -> String, dir: &Path) -> Command {
    let mut command = ours(version, &["get", "-q", "-O", dir.to_str().unwrap()]);
    command.args((0..100).map(|n| url(&format!("many/file-{n:02}"))));
    command
}

/// Short jobs, and one that takes long.
fn smb(server: &str, dir: &Path) -> (Vec<Job>, Job) {
    const VERSION: &str = "3.1.1";
    let url = |path: &str| format!("smb://lab@{server}/data/{path}");
    let theirs = |commands: &str| Some(smbclient(server, commands));
    let name = |what: &str| format!("SMB {VERSION} {what}");
    let short = vec![
        job(
            name("first file"),
            ours(VERSION, &["get", "-q", "-o", "/dev/null", &url(FILE)]),
            theirs(&format!("get {FILE} /dev/null")),
        ),
        job(name("stat"), ours(VERSION, &["stat", &url(FILE)]), theirs(&format!("allinfo {FILE}"))),
        job(name("statfs"), ours(VERSION, &["df", &url("")]), theirs("volume")),
        job(name("list 1000 names"), ours(VERSION, &["ls", &url("wide")]), theirs("ls wide/*")),
    ];
    let mget = theirs(&format!("prompt; lcd {}; cd many; mget file-*", dir.join("theirs").to_str().unwrap()));
    (short, job(name("100 files"), many(VERSION, url, dir), mget))
}

/// The same, with the clients of libnfs where they have the job. They know 3 and 4.0.
fn nfs(server: &str, version: &str, dir: &Path) -> (Vec<Job>, Job) {
    let (host, nfs, mount) = nfs_address(server);
    let mount = if version == "3" { format!("&mountport={mount}") } else { String::new() };
    let theirs = |program, path| Some(libnfs(program, server, &version[..1], path));
    let url = |path: &str| format!("nfs://{host}:{nfs}/export/{path}?uid=1000{mount}");
    let name = |what: &str| format!("NFS {version} {what}");
    let short = vec![
        job(name("first file"), ours(version, &["cat", "-q", &url(FILE)]), theirs("nfs-cat", FILE)),
        job(name("stat"), ours(version, &["stat", &url(FILE)]), None),
        job(name("statfs"), ours(version, &["df", &url("")]), None),
        job(name("list 1000 names"), ours(version, &["ls", &url("wide")]), theirs("nfs-ls", "wide")),
    ];
    (short, job(name("100 files"), many(version, url, dir), None))
}

/// Returns what does not fill the link within the first seconds.
fn big_reads(samba: &str, ganesha: &str) -> Vec<String> {
    let mut slow = Vec::new();
    println!("first 3 s of a big read, {IN_FLIGHT:?}: best half second, all");
    let (host, nfs, mount) = nfs_address(ganesha);
    let smb = format!("smb://lab@{samba}/big/big-1024");
    let nfs4 = format!("nfs://{host}:{nfs}/big/big-1024?uid=1000");
    let nfs3 = format!("{nfs4}&mountport={mount}");
    let dialects = ["2.0.2", "2.1", "3.0", "3.0.2", "3.1.1"].map(|dialect| (&smb, dialect));
    let versions = ["4.0", "4.1", "4.2"].map(|version| (&nfs4, version));
    for (url, version) in dialects.into_iter().chain([(&nfs3, "3")]).chain(versions) {
        for page in ["4K", "16K", "64K"] {
            let mut command = ours(version, &["cat", "-q", "--page", page, url]);
            command.args(IN_FLIGHT);
            // A busy machine gets another try.
            let fills = (0..TRIES).any(|_| {
                let arrived = arrivals(&mut command);
                let percent = |rate: f64| 100.0 * rate / LINK_RATE;
                let mean = arrived.last().map_or(0, |last| last.1) as f64 / BEGIN.as_secs_f64();
                let best = percent(best_rate(&arrived));
                println!("{version:5} page {page:3}  {best:3.0} % {:3.0} % of the link", percent(mean));
                best >= FILLS_PERCENT
            });
            if !fills {
                slow.push(format!("{version}, pages of {page}: less than {FILLS_PERCENT} % of the link"));
            }
        }
    }
    slow
}

/// When how many bytes in all had come, in the first seconds of a command.
fn arrivals(command: &mut Command) -> Vec<(Duration, u64)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    let mut output = child.stdout.take().unwrap();
    let (mut buffer, mut arrived, mut total) = (vec![0; 1 << 16], Vec::new(), 0);
    while begin.elapsed() < BEGIN {
        let len = output.read(&mut buffer).unwrap();
        assert_ne!(len, 0, "{command:?} ended early");
        total += len as u64;
        arrived.push((begin.elapsed(), total));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    arrived
}

/// The most bytes a second over a window.
fn best_rate(arrived: &[(Duration, u64)]) -> f64 {
    let mut from = 0;
    let mut best = 0.0_f64;
    for (at, total) in arrived {
        while *at - arrived[from].0 > WINDOW {
            from += 1;
        }
        best = best.max((total - arrived[from].1) as f64 / WINDOW.as_secs_f64());
    }
    best
}
