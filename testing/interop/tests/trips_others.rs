//! What the clients of others cost on the wire, beside the command: round trips, requests and bytes of a whole session.

use pagewire_interop::command::{libnfs, pagewire, smbclient};
use pagewire_interop::tap::{Protocol, Tally, Tap};
use pagewire_interop::{Lab, nfs_address};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

/// A busy machine only ever adds to the round trips that can be seen.
const RUNS: usize = 3;
const FILE: &str = "many/file-00";

/// The least of several runs through a tap before servers.
fn least(protocol: Protocol, servers: &[SocketAddr], command: impl Fn(&Tap) -> Command) -> Tally {
    let run = || {
        let tap = Tap::new(protocol, servers).unwrap();
        let mut command = command(&tap);
        let status =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert!(status.success(), "{command:?}: {status}");
        Tally::sum(&tap.finish())
    };
    (0..RUNS).map(|_| run()).min_by_key(|tally| tally.round_trips).unwrap()
}

fn compare(job: &str, ours: &Tally, theirs: &Tally) {
    for (who, tally) in [("pagewire", ours), ("the other", theirs)] {
        let Tally { connections, round_trips, requests, bytes_sent, bytes_received, names, .. } = tally;
        println!(
            "{job:26} {who:9} {connections} {round_trips:3} {requests:3} {bytes_sent:6} {bytes_received:6} {names:?}"
        );
    }
    assert!(ours.round_trips <= theirs.round_trips, "{job}: {ours:?} {theirs:?}");
}

#[test]
fn smbclient_needs_no_fewer_round_trips() {
    let Some(lab) = Lab::find() else { return };
    for (job, ours, path, theirs) in [
        ("first file", "cat", FILE, "get many/file-00 /dev/null"),
        ("list 1000 names", "ls", "wide", "ls wide/*"),
    ] {
        let least = |command: &dyn Fn(&str) -> Command| {
            let server = lab.samba.parse().unwrap();
            least(Protocol::Smb, &[server], |tap| command(&tap.address(0).to_string()))
        };
        let ours = least(&|server| {
            let mut command = pagewire();
            command.args([ours, &format!("smb://lab@{server}/data/{path}"), "--vers", "3.1.1"]);
            command
        });
        compare(&format!("3.1.1 {job}"), &ours, &least(&|server| smbclient(server, theirs)));
    }
}

#[test]
fn libnfs_needs_no_fewer_round_trips() {
    let Some(lab) = Lab::find() else { return };
    let Some(ganesha) = &lab.ganesha else {
        println!("skipped: NFS-Ganesha was not started; testing/servers/run --nfs does");
        return;
    };
    let (host, nfs, mount) = nfs_address(ganesha);
    let servers = [nfs, mount].map(|port| SocketAddr::new(host.parse().unwrap(), port));
    for (version, theirs_version) in [("3", "3"), ("4.0", "4")] {
        for (job, ours, path, program) in
            [("first file", "cat", FILE, "nfs-cat"), ("list 1000 names", "ls", "wide", "nfs-ls")]
        {
            let ours = least(Protocol::Rpc, &servers, |tap| {
                let mount = if version == "3" {
                    format!("&mountport={}", tap.address(1).port())
                } else {
                    String::new()
                };
                let mut command = pagewire();
                let url = format!("nfs://{}/export/{path}?version={version}{mount}", tap.address(0));
                command.args([ours, &url]);
                command
            });
            let theirs = least(Protocol::Rpc, &servers, |tap| {
                let server = format!("{}:{}", tap.address(0), tap.address(1).port());
                libnfs(program, &server, theirs_version, path)
            });
            compare(&format!("NFS {version} {job}"), &ours, &theirs);
        }
    }
}
