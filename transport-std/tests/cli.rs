//! The command as its users meet it, without a server, or with one that is none.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// The command, with a password and none of what the environment may hold.
fn pagewire(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pagewire"));
    command.args(args).stdin(Stdio::null());
    for name in ["PASSWD_FD", "PASSWD_FILE"] {
        command.env_remove(name);
    }
    command.env("PAGEWIRE_PASSWORD", "s3cret");
    command
}

fn run(args: &[&str]) -> Output {
    pagewire(args).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The last line of standard error as the stats.
fn stats(output: &Output) -> serde_json::Value {
    serde_json::from_str(stderr(output).lines().last().unwrap()).unwrap()
}

fn names(directory: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// A server that lets `serve` have every connection. The port.
fn server(serve: impl Fn(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().for_each(|stream| serve(stream.unwrap())));
    port
}

fn read_something(stream: &mut TcpStream) {
    assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
}

/// Where nobody listens. (A port that was free a moment ago may be that of another test by now.)
const CLOSED_PORT: u16 = 1;

/// Gets a file into an empty directory; the directory must be empty afterwards too.
fn get_in_vain(port: u16) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("smb://me@127.0.0.1:{port}/share/file");
    let output = pagewire(&["get", &url, "--stats", "json", "--timeout", "5s"])
        .current_dir(&directory)
        .output()
        .unwrap();
    assert_eq!(names(&directory), [""; 0]);
    assert!(output.stdout.is_empty());
    output
}

#[test]
fn wrong_usage_is_2() {
    for args in [
        &[][..],
        &["get"],
        &["fetch", "smb://h/s/f"],
        &["ls", "smb://h/s", "--no-such-option"],
        &["ls", "smb://h"],
        &["cat", "/etc/passwd"],
        &["cat", "smb://h/s/f", "--page", "1000"],
        &["cat", "smb://h/s/f", "--in-flight", "0"],
        &["cat", "smb://h/s/f", "--vers", "1.0"],
        &["cat", "smb://h/s/f", "--opt", "nconnect=4"],
        &["cat", "smb://h/s/f?vers=4"],
        &["get", "smb://h/s/f", "-q", "-v"],
        &["ls", "smb://me@h/s", "--guest"],
        &["ls", "smb://h/s", "--sign"],
        &["ls", "smb://h/s", "--seal"],
        &["ls", "smb://h/s", "--uid", "0"],
        &["ls", "nfs://h/e", "--vers", "4.3"],
        &["ls", "nfs://h/e?mountport=1", "--vers", "4.2"],
        &["ls", "nfs://h/e", "--seal"],
        &["ls", "nfs://me@h/e"],
        &["exports", "smb://h/s"],
        &["exports", "nfs://h/e"],
        &["exports", "nfs://h", "--seal"],
        &["map", "smb://h"],
        &["map"],
    ] {
        let output = run(args);
        assert_eq!(code(&output), 2, "{args:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn one_bad_url_keeps_all_from_being_read() {
    let output = run(&["cat", &format!("smb://me@127.0.0.1:{}/s/f", CLOSED_PORT), "smb://h"]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
}

#[test]
fn help_is_on_standard_output() {
    let output = run(&["--help"]);
    let help = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(code(&output), 0);
    for word in ["get", "cat", "ls", "stat", "df", "map", "exports", "Exit codes", "PAGEWIRE_PASSWORD"] {
        assert!(help.contains(word), "{word}");
    }
}

#[test]
fn a_password_in_the_url_is_refused_and_not_shown() {
    for command in ["get", "cat", "ls", "stat", "df", "map", "exports"] {
        let output = run(&[command, "smb://me:t0psecret@127.0.0.1/share/file"]);
        let told = stderr(&output);
        assert_eq!(code(&output), 2);
        assert!(told.contains("PAGEWIRE_PASSWORD") && told.contains("lists of processes"), "{told}");
        assert!(!told.contains("t0psecret"), "{told}");
    }
}

#[test]
fn nobody_listens_is_4() {
    let output = get_in_vain(CLOSED_PORT);
    assert_eq!(code(&output), 4, "{}", stderr(&output));
    let stats = stats(&output);
    assert_eq!((&stats["command"], &stats["exit_code"]), (&"get".into(), &4.into()));
    assert_eq!((&stats["error"]["kind"], &stats["dialect"]), (&"network".into(), &serde_json::Value::Null));
    assert!(stats["lent_memory"].as_u64() > Some(0));
}

#[test]
fn a_host_that_does_not_exist_is_4() {
    let output = run(&["ls", "smb://me@no-such-host.invalid/share"]);
    assert_eq!(code(&output), 4, "{}", stderr(&output));
}

#[test]
fn a_server_that_hangs_up_is_4() {
    let output = get_in_vain(server(|mut stream| read_something(&mut stream)));
    assert_eq!(code(&output), 4, "{}", stderr(&output));
    assert_eq!(stats(&output)["error"]["kind"], "closed");
    assert_eq!(stats(&output)["requests"], 1);
}

#[test]
fn a_server_that_is_silent_is_4() {
    let port = server(|mut stream| while stream.read(&mut [0; 4096]).is_ok_and(|len| len > 0) {});
    let url = format!("smb://me@127.0.0.1:{port}/share/file");
    let output = run(&["cat", &url, "--timeout", "300ms", "--stats", "json"]);
    assert_eq!(code(&output), 4, "{}", stderr(&output));
    assert_eq!(stats(&output)["error"]["kind"], "timed_out");
}

#[test]
fn a_server_that_speaks_something_else_is_7() {
    let output = get_in_vain(server(|mut stream| {
        read_something(&mut stream);
        // An error in the other end is the client's business.
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    }));
    assert_eq!(code(&output), 7, "{}", stderr(&output));
    assert!(stderr(&output).contains("does not look like an SMB"), "{}", stderr(&output));
}

#[test]
fn nfs_asks_for_no_password_and_speaks_of_no_smb() {
    let port = server(|mut stream| read_something(&mut stream));
    for (port, kind) in [(CLOSED_PORT, "network"), (port, "closed")] {
        let url = format!("nfs://127.0.0.1:{port}/export/file?mountport={port}");
        let output = run(&["cat", &url, "--stats", "json"]);
        let told = stderr(&output);
        assert_eq!((code(&output), &stats(&output)["error"]["kind"]), (4, &kind.into()), "{told}");
        assert!(told.contains("mountport") && !told.contains("SMB"), "{told}");
    }
    let output = run(&["cat", "nfs://127.0.0.1/export/file", "--password-command", "exit 1"]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
}

/// A MOUNT server that answers every call with these words and strings, and what `exports` makes of it.
fn exports_of(results: impl Fn(&mut Vec<u8>) + Send + 'static, args: &[&str]) -> Output {
    let port = server(move |mut stream| {
        let mut call = [0; 4096];
        while stream.read(&mut call).is_ok_and(|len| len > 0) {
            let mut reply = [&call[4..8], &1u32.to_be_bytes(), &[0; 16]].concat();
            results(&mut reply);
            let mark = 0x8000_0000 | reply.len() as u32;
            let _ = stream.write_all(&[&mark.to_be_bytes()[..], &reply].concat());
        }
    });
    let url = format!("nfs://127.0.0.1?mountport={port}");
    run(&[&["exports", &url, "--timeout", "5s"], args].concat())
}

fn put_word(reply: &mut Vec<u8>, word: u32) {
    reply.extend(word.to_be_bytes());
}

fn put_string(reply: &mut Vec<u8>, bytes: &[u8]) {
    put_word(reply, bytes.len() as u32);
    reply.extend(bytes);
    reply.resize(reply.len().next_multiple_of(4), 0);
}

/// An export with one group.
fn put_export(reply: &mut Vec<u8>, path: &[u8], group: &[u8]) {
    for bytes in [path, group] {
        put_word(reply, 1);
        put_string(reply, bytes);
    }
    put_word(reply, 0);
}

#[test]
fn exports_command_no_terminal() {
    let evil = |reply: &mut Vec<u8>| {
        put_export(reply, b"/a\x1B[2J\n/b\xFF\xC2\x9B", b"\x1B]0;title\x07");
        put_word(reply, 0);
    };
    let output = exports_of(evil, &[]);
    let shown = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let expected = format!("{:<31} {}\n", "/a\\u{1b}[2J\\u{a}/b\u{fffd}\\u{9b}", "\\u{1b}]0;title\\u{7}");
    assert_eq!(shown, expected);
    let output = exports_of(evil, &["--json"]);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(!text.trim_end().contains(char::is_control), "{text:?}");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["path"], "/a\u{1b}[2J\n/b\u{fffd}\u{9b}");
    assert_eq!(
        (&json["raw_path"], &json["groups"][0]),
        (&"2f611b5b324a0a2f62ffc29b".into(), &"\u{1b}]0;title\u{7}".into())
    );
}

#[test]
fn exports_of_a_large_server_fit_and_what_does_not_or_makes_no_sense_is_an_error() {
    let many = |count: usize| {
        move |reply: &mut Vec<u8>| {
            (0..count).for_each(|n| put_export(reply, format!("/export/{n:08}").as_bytes(), b"@everybody"));
            put_word(reply, 0);
        }
    };
    let output = exports_of(many(50_000), &[]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(output.stdout.iter().filter(|byte| **byte == b'\n').count(), 50_000);
    let output = exports_of(many(200_000), &["--stats", "json"]);
    assert_eq!((code(&output), output.stdout.len()), (1, 0), "{}", stderr(&output));
    assert_eq!(stats(&output)["error"]["kind"], "budget");
    let malformed = |reply: &mut Vec<u8>| {
        put_export(reply, b"/export", b"*");
        put_word(reply, 7);
    };
    let output = exports_of(malformed, &[]);
    assert_eq!((code(&output), output.stdout.len()), (7, 0), "{}", stderr(&output));
}

#[test]
fn what_was_there_before_stays() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "old").unwrap();
    let url = format!("smb://me@127.0.0.1:{}/share/file", server(|mut stream| read_something(&mut stream)));
    let output = run(&["get", &url, "-o", file.to_str().unwrap()]);
    assert_eq!(code(&output), 4);
    assert_eq!((std::fs::read(&file).unwrap(), names(&directory).len()), (b"old".to_vec(), 1));
}

#[test]
fn a_server_that_is_not_there_is_tried_once_for_all_its_files() {
    let url = |name: &str| format!("smb://me@127.0.0.1:{CLOSED_PORT}/share/{name}");
    let output = run(&["cat", &url("a"), &url("b"), &url("c")]);
    assert_eq!(code(&output), 4);
    assert_eq!(stderr(&output).matches("pagewire:").count(), 1, "{}", stderr(&output));
}

#[test]
fn a_credentials_file_must_be_there_and_make_sense() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("credentials");
    let with = |path: &Path| run(&["ls", "//127.0.0.1/share", "--credentials", path.to_str().unwrap()]);
    let missing = with(&path);
    assert_eq!(code(&missing), 3);
    assert!(stderr(&missing).contains("hint: --credentials"), "{}", stderr(&missing));
    std::fs::write(&path, "t0psecret").unwrap();
    let output = with(&path);
    assert_eq!(code(&output), 2);
    assert!(!stderr(&output).contains("t0psecret"));
}

#[cfg(unix)]
#[test]
fn credentials_that_others_can_read_are_warned_of() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("credentials");
    std::fs::write(&path, "username=me\npassword=p\n").unwrap();
    let url = "//127.0.0.1/share";
    for (mode, warns) in [(0o600, false), (0o640, true), (0o604, true)] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let port = CLOSED_PORT.to_string();
        let output = run(&["ls", url, "--port", &port, "--credentials", path.to_str().unwrap()]);
        assert_eq!(stderr(&output).contains("chmod 600"), warns, "{mode:o}");
        assert_eq!(code(&output), 4);
    }
}

#[cfg(unix)]
#[test]
fn a_password_command_that_fails_is_6() {
    let url = format!("smb://me@127.0.0.1:{CLOSED_PORT}/share");
    for command in ["exit 1", "true"] {
        let output = run(&["ls", &url, "--password-command", command]);
        assert_eq!(code(&output), 6, "{}", stderr(&output));
    }
}

#[cfg(unix)]
#[test]
fn a_password_file_that_others_can_read_is_warned_of() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("password");
    std::fs::write(&path, "p\n").unwrap();
    for (mode, warns) in [(0o600, false), (0o644, true)] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let mut command = pagewire(&["ls", &format!("smb://me@127.0.0.1:{CLOSED_PORT}/share")]);
        let output = command.env_remove("PAGEWIRE_PASSWORD").env("PASSWD_FILE", &path).output().unwrap();
        assert_eq!(stderr(&output).contains("chmod 600"), warns, "{mode:o}");
    }
}

#[test]
fn a_password_in_a_user_name_is_refused_and_not_shown() {
    for args in [
        &["ls", "//h/s", "-u", "me%t0psecret"][..],
        &["ls", "smb://me%25t0psecret@h/s"],
        &["ls", "//h/s", "--opt", "username=me%t0psecret"],
    ] {
        let output = run(args);
        assert_eq!(code(&output), 2, "{args:?}");
        let told = stderr(&output);
        assert!(told.contains("PAGEWIRE_PASSWORD") && !told.contains("t0psecret"), "{told}");
    }
}

#[test]
fn two_urls_do_not_become_one_file() {
    let directory = tempfile::tempdir().unwrap();
    let url = |path: &str| format!("smb://me@127.0.0.1:{CLOSED_PORT}/share/{path}");
    let (a, b, c) = (url("a/same"), url("other"), url("c/same"));
    for args in [&["get", &a, &b, &c, "-O", "."][..], &["get", &a, &b, &c], &["get", &a, &a]] {
        let output = pagewire(args).current_dir(&directory).output().unwrap();
        let told = stderr(&output);
        assert_eq!(code(&output), 2, "{told}");
        assert!(told.contains(&a) && told.contains(args[args.len() - 1].trim_matches('.')), "{told}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_or_a_link_where_a_file_would_be_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    std::os::unix::fs::symlink("nowhere", at("link")).unwrap();
    let port = server(|mut stream| read_something(&mut stream));
    for (name, says) in [("pipe", "a pipe or a device lies there"), ("link", "a symbolic link lies there")] {
        let url = format!("smb://me@127.0.0.1:{port}/share/{name}");
        // A pipe that nobody reads cannot be opened to write.
        let mut command = Command::new("timeout");
        command.args(["10", env!("CARGO_BIN_EXE_pagewire"), "get", &url, "-O"]).arg(directory.path());
        let output = command.env("PAGEWIRE_PASSWORD", "s3cret").output().unwrap();
        let told = stderr(&output);
        let says = format!("writing {}: {says}", at(name).display());
        assert!(code(&output) == 3 && told.contains(&says) && told.contains("\n  hint: "), "{told}");
    }
    assert_eq!(names(&directory).len(), 2);
}

#[cfg(target_os = "linux")]
#[test]
fn memory_that_cannot_be_had_is_1() {
    let limited = format!(
        "ulimit -v 262144; exec '{}' cat smb://h/s/f --rsize 8M --in-flight 64",
        env!("CARGO_BIN_EXE_pagewire")
    );
    let output = Command::new("sh").args(["-c", &limited]).output().unwrap();
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("536870912 bytes of memory"), "{}", stderr(&output));
}

#[cfg(all(feature = "demo", target_os = "linux"))]
#[test]
fn the_demo_minds_its_output() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = pagewire(&["demo"]).stdout(full).output().unwrap();
    assert_eq!(code(&output), 3, "{}", stderr(&output));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = pagewire(&["demo"]).stdout(writer).output().unwrap();
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
}
