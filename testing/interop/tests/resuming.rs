//! A server that is killed and started again in the middle of a file.

use pagewire_interop::command::pagewire;
use pagewire_interop::cut::cut_after;
use pagewire_interop::{Lab, nfs_address};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

/// Where the server is stopped: far from the end, with more in flight.
const CUT_AT: usize = 100 << 20;

/// A server of its own for one test, taken down with it.
struct Server {
    script: PathBuf,
    environment: Vec<(&'static str, String)>,
    port: u16,
}

impl Server {
    /// `name` is one of the scripts; `big` is the directory that it shows as `big`, if not the usual one.
    fn start(lab: &Lab, name: &str, port: &'static str, big: Option<&Path>) -> Server {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../servers").join(name);
        let run = lab.samba_conf.ancestors().nth(2).expect("it is in a directory of the run");
        let mut environment = vec![("PAGEWIRE_LAB_DIR", run.to_str().unwrap().to_owned())];
        environment.extend(big.map(|big| ("PAGEWIRE_BIG", big.to_str().unwrap().to_owned())));
        // A connection that is not closed by the client keeps the port for a while, but not from a server.
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        environment.push((port, free.to_string()));
        let server = Server { script, environment, port: free };
        server.run("up");
        server
    }

    fn run(&self, what: &str) {
        let mut command = Command::new(&self.script);
        let output = command.arg(what).envs(self.environment.iter().cloned()).output().unwrap();
        assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Samba takes another password from now on.
    fn change_password(&self) {
        let state = Path::new(&self.environment[0].1).join(format!("samba-{}", self.port));
        let users = fs::read_to_string(state.join("users")).unwrap();
        let account = users.split(' ').next().unwrap();
        let mut command = Command::new("pdbedit");
        command.arg("-s").arg(state.join("smb.conf")).args(["-t", "-a", account]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("pdbedit is there");
        child.stdin.take().unwrap().write_all(b"another\nanother\n").unwrap();
        assert!(child.wait().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.run("down");
    }
}

/// A command whose output is read here. What is not read yet holds it up, once a pipe and the engine's pages are full.
fn begin(url: &str, options: &[&str]) -> Child {
    let mut command = pagewire();
    command.args(["cat", "--stats", "json"]).args(options).arg(url);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Reads so much of the output, which must be what is in `file`.
#[track_caller]
fn compare(child: &mut Child, file: &mut File, len: usize) {
    let (mut came, mut want) = (vec![0; 1 << 20], vec![0; 1 << 20]);
    for at in 0..len >> 20 {
        child.stdout.as_mut().unwrap().read_exact(&mut came).unwrap();
        file.read_exact(&mut want).unwrap();
        assert!(came == want, "the {at}th MiB differs");
    }
}

fn end(child: Child) -> (Option<i32>, String) {
    let Output { status, stderr, stdout } = child.wait_with_output().unwrap();
    assert_eq!(stdout.len(), 0, "more than the file");
    (status.code(), String::from_utf8(stderr).unwrap())
}

/// The file of 1 GiB.
fn big() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../servers/files");
    let output = Command::new(script).arg("big").output().unwrap();
    assert!(output.status.success());
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

fn goes_on(server: &Server, url: &str, options: &[&str]) {
    let mut file = File::open(big()).unwrap();
    let mut child = begin(url, options);
    compare(&mut child, &mut file, CUT_AT);
    server.run("down");
    server.run("up");
    compare(&mut child, &mut file, (1 << 30) - CUT_AT);
    let (code, stats) = end(child);
    assert_eq!(code, Some(0), "{url}: {stats}");
    assert!(stats.contains(r#""connections":2"#), "{url}: {stats}");
}

#[test]
fn a_read_goes_on_when_samba_was_killed_and_started_again() {
    let Some(lab) = Lab::find() else { return };
    let server = Server::start(&lab, "samba", "PAGEWIRE_SMB_PORT", None);
    let url = format!("smb://lab@127.0.0.1:{}/big/big-1024", server.port);
    for options in [&["--vers", "2.0.2"][..], &["--sign"], &["--seal"]] {
        goes_on(&server, &url, options);
    }
}

#[test]
fn a_read_goes_on_when_ganesha_was_killed_and_started_again() {
    let Some(lab) = Lab::find() else { return };
    if lab.ganesha.is_none() {
        return println!("skipped: NFS-Ganesha was not started; testing/servers/run --nfs does");
    }
    let server = Server::start(&lab, "ganesha", "PAGEWIRE_NFS_PORT", None);
    for version in ["3", "4.0", "4.2"] {
        let (nfs, mount) = (server.port, server.port + 1);
        let mount = if version == "3" { format!("&mountport={mount}") } else { String::new() };
        let url = format!("nfs://127.0.0.1:{nfs}/big/big-1024?version={version}{mount}");
        goes_on(&server, &url, &[]);
    }
}

#[test]
fn a_file_that_changed_while_the_server_was_away_is_an_error() {
    let Some(lab) = Lab::find() else { return };
    let beside = big().ancestors().nth(2).expect("it is in a directory of big files").to_owned();
    let dir = beside.join(format!("changing-{}", std::process::id()));
    fs::create_dir(&dir).unwrap();
    let path = dir.join("file");
    let content: Vec<u8> = (0..256_u32 << 18).flat_map(u32::to_le_bytes).collect();
    fs::write(&path, &content).unwrap();
    let server = Server::start(&lab, "samba", "PAGEWIRE_SMB_PORT", Some(&dir));
    let url = format!("smb://lab@127.0.0.1:{}/big/file", server.port);

    let mut child = begin(&url, &[]);
    compare(&mut child, &mut File::open(&path).unwrap(), CUT_AT);
    server.run("down");
    fs::write(&path, &content).unwrap();
    server.run("up");
    let mut rest = Vec::new();
    child.stdout.as_mut().unwrap().read_to_end(&mut rest).unwrap();
    let (code, message) = end(child);
    assert_eq!(code, Some(10), "{message}");
    assert!(message.contains("changed while it was read"), "{message}");
    assert!(content[CUT_AT..].starts_with(&rest), "what came before is right");
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_connection_that_is_cut_early_in_a_file_takes_nothing_with_it() {
    let Some(lab) = Lab::find() else { return };
    let Some((host, nfs, mount)) = lab.ganesha.as_deref().map(nfs_address) else {
        return println!("skipped: NFS-Ganesha was not started; testing/servers/run --nfs does");
    };
    let content = fs::read(lab.files.join("size-1048577")).unwrap();
    for len in [5_000, 100_000, 500_000] {
        let nfs = || cut_after(format!("{host}:{nfs}"), len);
        // With the least of them nothing of the file has come, and nobody could be told that it is there.
        for url in [
            format!("nfs://{}/export/size-1048577?version=3&mountport={mount}", nfs()),
            format!("nfs://{}/export/size-1048577?version=4.0", nfs()),
            format!("nfs://{}/export/size-1048577?version=4.2", nfs()),
            format!("smb://lab@{}/data/size-1048577", cut_after(lab.samba.clone(), len)),
        ] {
            let Output { status, stdout, stderr } = begin(&url, &[]).wait_with_output().unwrap();
            let stats = String::from_utf8_lossy(&stderr);
            assert_eq!(status.code(), Some(0), "{url} after {len}: {stats}");
            assert!(stdout == content, "{url} after {len}");
            assert!(stats.contains(r#""connections":2"#), "{url} after {len}: {stats}");
        }
    }
}

/// Samba forgets the tree connects of the share `data`, and whatever is open in them.
fn forget(lab: &Lab) {
    let conf = format!("--configfile={}", lab.samba_conf.display());
    let status = Command::new("smbcontrol").args([&conf, "smbd", "close-share", "data"]).status();
    assert!(status.expect("smbcontrol is there").success());
    thread::sleep(Duration::from_millis(500));
}

#[test]
fn what_a_server_has_forgotten_between_two_files_is_made_anew() {
    let Some(lab) = Lab::find() else { return };
    // Where the first is longer than a head, it is told of it that it did not change after its end.
    for size in [65_536, 1_048_577] {
        let paths = [format!("size-{size}"), "small.txt".into()];
        let mut command = pagewire();
        command.args(["cat", "--stats", "json"]);
        command.args(paths.iter().map(|path| format!("smb://lab@{}/data/{path}", lab.samba)));
        // The first does not fit into the pipe, which holds it up when all of it is there.
        let (mut came, mut pipe) = io::pipe().unwrap();
        pipe.write_all(b"full").unwrap();
        let child = command.stdin(Stdio::null()).stdout(pipe).stderr(Stdio::piped()).spawn().unwrap();
        drop(command);
        thread::sleep(Duration::from_millis(500));
        forget(&lab);
        let mut content = Vec::new();
        came.read_to_end(&mut content).unwrap();
        let (code, stats) = end(child);
        assert_eq!(code, Some(0), "{paths:?}: {stats}");
        let files = paths.iter().map(|path| fs::read(lab.files.join(path)).unwrap());
        assert!(content[4..] == files.collect::<Vec<_>>().concat(), "{paths:?}");
        assert!(stats.contains(r#""connections":2"#), "{paths:?}: {stats}");
    }
}

#[test]
fn a_password_that_is_not_right_any_more_is_tried_once_on_another_connection_whatever_is_left() {
    let Some(lab) = Lab::find() else { return };
    let server = Server::start(&lab, "samba", "PAGEWIRE_SMB_PORT", None);
    let relay = cut_after(format!("127.0.0.1:{}", server.port), 200 << 20);
    let mut command = pagewire();
    command.args(["cat", "--stats", "json"]);
    command.args(
        ["big/big-1024", "big/big-1024", "big/big-1024"].map(|path| format!("smb://lab@{relay}/{path}")),
    );
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    compare(&mut child, &mut File::open(big()).unwrap(), CUT_AT);
    server.change_password();
    child.stdout.as_mut().unwrap().read_to_end(&mut Vec::new()).unwrap();
    let (code, told) = end(child);
    assert_eq!(code, Some(6), "{told}");
    assert!(told.contains("STATUS_LOGON_FAILURE") && told.contains(r#""connections":2"#), "{told}");
    // Of the file that was being read, and of what is left.
    assert_eq!(told.matches("pagewire: ").count(), 2, "{told}");
    assert_eq!(told.matches(", to go on with smb://").count(), 1, "{told}");
}

#[test]
fn a_server_that_stays_away_is_an_error_after_the_retries() {
    let Some(lab) = Lab::find() else { return };
    let server = Server::start(&lab, "samba", "PAGEWIRE_SMB_PORT", None);
    let url = format!("smb://lab@127.0.0.1:{}/big/big-1024", server.port);
    let mut child = begin(&url, &["--retries", "2"]);
    compare(&mut child, &mut File::open(big()).unwrap(), CUT_AT);
    server.run("down");
    child.stdout.as_mut().unwrap().read_to_end(&mut Vec::new()).unwrap();
    let (code, message) = end(child);
    assert_eq!(code, Some(4), "{message}");
}
