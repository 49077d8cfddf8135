//! The command against a real server: what it writes, says and exits with.

use pagewire_interop::Lab;
use pagewire_interop::command::pagewire;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn run(args: &[&str]) -> Output {
    pagewire().args(args).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// An empty directory of its own.
fn scratch(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("pagewire-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir(&dir).unwrap();
    dir
}

fn names(dir: &Path) -> Vec<String> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn url(lab: &Lab, path: &str) -> String {
    format!("smb://lab@{}/data/{path}", lab.samba)
}

#[test]
fn get_writes_the_file_and_cat_writes_the_same_to_standard_output() {
    let Some(lab) = Lab::find() else { return };
    let dir = scratch("get");
    let expected = fs::read(lab.files.join("size-1048577")).unwrap();
    let target = dir.join("copy");
    let url = url(&lab, "size-1048577");
    let output = run(&["get", &url, "-o", target.to_str().unwrap()]);
    assert!(output.status.success() && output.stdout.is_empty(), "{}", text(&output.stderr));
    assert_eq!(output.stderr, b"", "no progress where standard error is no terminal");
    assert_eq!(fs::read(&target).unwrap(), expected);
    assert_eq!(names(&dir), ["copy"]);
    assert_eq!(run(&["cat", &url]).stdout, expected);
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn every_kind_of_failure_has_its_exit_code_and_leaves_no_file() {
    let Some(lab) = Lab::find() else { return };
    let dir = scratch("fail");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let cases = [
        (url(&lab, "missing"), 5, "STATUS_OBJECT_NAME_NOT_FOUND"),
        (format!("smb://lab@{}/missing/x", lab.samba), 5, "STATUS_BAD_NETWORK_NAME"),
        (url(&lab, "secret.txt"), 8, "STATUS_ACCESS_DENIED"),
        (format!("smb://lab@{}/denied/x", lab.samba), 8, "STATUS_ACCESS_DENIED"),
        (url(&lab, "wide"), 8, "directory"),
        (format!("smb://lab@{closed}/data/x"), 4, "refused"),
        (format!("smb://lab:secret@{}/data/x", lab.samba), 2, "password"),
        ("http://host/x".to_owned(), 2, "smb://"),
    ];
    for (url, code, says) in cases {
        let output = run(&["get", &url, "-o", dir.join("out").to_str().unwrap()]);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{url}: {stderr}");
        assert!(stderr.contains(says), "{url}: {stderr}");
        assert!(!stderr.contains("secret@"), "a password is not repeated: {stderr}");
        assert_eq!(names(&dir), [""; 0], "{url} left a file");
    }
    let wrong =
        pagewire().env("PAGEWIRE_PASSWORD", "wrong").args(["stat", &url(&lab, "size-1")]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(6), "{}", text(&wrong.stderr));
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn some_of_many_is_partial_and_the_others_arrive() {
    let Some(lab) = Lab::find() else { return };
    let dir = scratch("many");
    let urls = [url(&lab, "size-1"), url(&lab, "missing"), url(&lab, "size-65537")];
    let mut args = vec!["get", "-O", dir.to_str().unwrap()];
    args.extend(urls.iter().map(String::as_str));
    assert_eq!(run(&args).status.code(), Some(9));
    let mut names = names(&dir);
    names.sort();
    assert_eq!(names, ["size-1", "size-65537"]);
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn the_directory_of_a_file_is_made_by_output_dir_and_not_by_output() {
    let Some(lab) = Lab::find() else { return };
    let dir = scratch("made");
    let url = url(&lab, "size-65537");
    let expected = fs::read(lab.files.join("size-65537")).unwrap();
    for args in [&[][..], &["-r"]] {
        let made = dir.join("made");
        let into = made.join("too");
        let output = run(&[&["get", &url, "-O", into.to_str().unwrap()], args].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(fs::read(into.join("size-65537")).unwrap() == expected);
        fs::remove_dir_all(made).unwrap();
    }
    let output = run(&["get", &url, "-o", dir.join("none/file").to_str().unwrap()]);
    assert_eq!((output.status.code(), names(&dir)), (Some(3), vec![]), "{}", text(&output.stderr));
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn pipes_and_devices_that_are_named_are_written_to() {
    let Some(lab) = Lab::find() else { return };
    let dir = scratch("pipe");
    let pipe = dir.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // No longer than what a pipe holds: nobody reads what the reader of the other one writes until the command has ended.
    let url = url(&lab, "many/file-07");
    let expected = fs::read(lab.files.join("many/file-07")).unwrap();
    let reader = Command::new("cat").arg(&pipe).stdout(Stdio::piped()).spawn().unwrap();
    let output = run(&["get", &url, "-o", pipe.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(reader.wait_with_output().unwrap().stdout == expected);
    assert!(run(&["get", &url, "-o", "/dev/stdout"]).stdout == expected);
    assert!(run(&["get", &url, "-o", "/dev/null"]).status.success());
    assert_eq!(names(&dir), ["pipe"]);
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn stats_are_one_json_object_with_what_was_counted() {
    let Some(lab) = Lab::find() else { return };
    let url = url(&lab, "size-1048577");
    let output = run(&["cat", "--vers", "2.0.2", "--page", "64K", "--stats", "json", &url]);
    let stderr = text(&output.stderr);
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    // Reads of 64 KiB: NEGOTIATE, SESSION_SETUP twice, TREE_CONNECT, CREATE, 17 READ, CLOSE, and a second look.
    for field in [
        r#""dialect":"2.0.2""#,
        r#""file_bytes":1048577"#,
        r#""page_size":65536"#,
        r#""read_size":65536"#,
        r#""requests":26"#,
        r#""signing":null"#,
        r#""cipher":null"#,
        r#""exit_code":0"#,
        r#""lent_memory":"#,
        r#""round_trips":"#,
        r#""bytes_sent":"#,
        r#""bytes_received":"#,
        r#""responses":"#,
        r#""max_in_flight":16"#,
    ] {
        assert!(stderr.contains(field), "{field} is missing: {stderr}");
    }
}

#[test]
fn the_number_of_requests_does_not_depend_on_the_page_size() {
    let Some(lab) = Lab::find() else { return };
    let url = url(&lab, "size-67108864");
    let requests = |dialect: &str, page: &str| {
        let stderr = text(&run(&["cat", "--vers", dialect, "--page", page, "--stats", "json", &url]).stderr);
        let (_, rest) = stderr.split_once(r#""requests":"#).unwrap_or_else(|| panic!("{stderr}"));
        rest.split(',').next().unwrap().parse::<u32>().unwrap()
    };
    // The first 64 KiB are read together with opening the file.
    for (dialect, reads) in [("2.0.2", 1024), ("3.1.1", 257)] {
        for page in ["512", "4K", "16K", "64K"] {
            assert_eq!(requests(dialect, page), reads + 9, "{dialect}, page {page}");
        }
    }
}

#[test]
fn ls_lists_every_name_and_df_and_stat_answer() {
    let Some(lab) = Lab::find() else { return };
    let listing = text(&run(&["ls", &url(&lab, "wide")]).stdout);
    assert_eq!(listing.lines().count(), 1000);
    let stat = text(&run(&["stat", "--json", &url(&lab, "size-65537")]).stdout);
    assert!(stat.contains("65537"), "{stat}");
    assert!(run(&["df", &url(&lab, "")]).status.success());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let Some(lab) = Lab::find() else { return };
    let mut cat = pagewire();
    cat.args(["cat", &url(&lab, "size-67108864")]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut cat = cat.spawn().unwrap();
    let head = Command::new("head").args(["-c", "10"]).stdin(cat.stdout.take().unwrap()).output().unwrap();
    assert_eq!(head.stdout.len(), 10);
    let output = cat.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn the_first_operation_of_a_command_connects() {
    let Some(lab) = Lab::find() else { return };
    let trips = |args: &[&str], path: &str| {
        let url = url(&lab, path);
        let stderr = text(&run(&[args, &["--stats", "json", &url]].concat()).stderr);
        let (_, rest) = stderr.split_once(r#""round_trips":"#).unwrap_or_else(|| panic!("{stderr}"));
        rest.split(',').next().unwrap().parse::<u32>().unwrap()
    };
    assert_eq!(trips(&["stat"], "small.txt"), 4);
    assert_eq!(trips(&["df"], ""), 4);
    assert_eq!(trips(&["cat"], "small.txt"), 4);
    assert_eq!(trips(&["cat"], "size-65537"), 6, "the rest, and a second look");
    assert_eq!(trips(&["ls"], "many"), 5);
}
