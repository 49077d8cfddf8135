//! The command with many URLs: small files come side by side, and nothing else that it promises is different.

use pagewire_interop::command::pagewire;
use pagewire_interop::cut::{cut_after, cut_and_stay_away};
use pagewire_interop::{Lab, nfs_address};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

fn run(args: &[&str], paths: &[&str], url: impl Fn(&str) -> String) -> Output {
    let urls = paths.iter().map(|path| url(path));
    pagewire().args(args).args(urls).stdin(Stdio::null()).output().unwrap()
}

fn smb(lab: &Lab) -> impl Fn(&str) -> String {
    let server = lab.samba.clone();
    move |path| format!("smb://lab@{server}/data/{path}")
}

fn round_trips(output: &Output) -> u32 {
    counted(output, "round_trips")
}

/// A number of `--stats json`.
fn counted(output: &Output, what: &str) -> u32 {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let (_, rest) = stderr.split_once(&format!(r#""{what}":"#)).unwrap_or_else(|| panic!("{stderr}"));
    rest.split(',').next().unwrap().parse().unwrap()
}

/// An empty directory of its own.
fn scratch(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("pagewire-together-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir(&dir).unwrap();
    dir
}

fn hundred() -> Vec<String> {
    (0..100).map(|number| format!("many/file-{number:02}")).collect()
}

fn content(lab: &Lab, paths: &[&str]) -> Vec<u8> {
    paths.iter().flat_map(|path| fs::read(lab.files.join(path)).unwrap_or_default()).collect()
}

/// The files of `paths` that are there, and nothing else, are in `dir`.
fn holds(dir: &Path, lab: &Lab, paths: &[&str]) {
    let mut expected = 0;
    for path in paths.iter().filter(|path| lab.files.join(path).is_file()) {
        let name = path.rsplit('/').next().unwrap();
        assert!(fs::read(dir.join(name)).unwrap() == content(lab, &[path]), "{path}");
        expected += 1;
    }
    assert_eq!(fs::read_dir(dir).unwrap().count(), expected);
}

#[test]
fn a_hundred_files_take_a_handful_of_round_trips() {
    let Some(lab) = Lab::find() else { return };
    let names = hundred();
    let mut paths: Vec<&str> = names.iter().map(String::as_str).collect();
    let args = ["cat", "--stats", "json", "--in-flight", "64"];
    let all = run(&args, &paths, smb(&lab));
    assert!(
        all.status.success() && all.stdout == content(&lab, &paths),
        "{}",
        String::from_utf8_lossy(&all.stderr)
    );
    let default = run(&args[..3], &paths, smb(&lab));
    assert!(default.status.success() && default.stdout == all.stdout);
    paths.insert(50, "missing");
    let partial = run(&args, &paths, smb(&lab));
    assert_eq!(partial.status.code(), Some(9));
    assert!(partial.stdout == all.stdout);
    assert!(String::from_utf8_lossy(&partial.stderr).contains("opening smb://lab@"), "{partial:?}");
    let trips = [&all, &partial, &default].map(round_trips);
    println!("100 files of 4 KiB: {trips:?} round trips: 64 in flight, one of 101 missing, 4 in flight");
    assert!(trips[0] < 12 && trips[1] < 12 && trips[2] < 60, "{trips:?}");
}

#[test]
fn a_password_that_is_refused_is_tried_once_and_told_once_however_many_files_are_wanted() {
    let Some(lab) = Lab::find() else { return };
    let url = smb(&lab);
    for count in [1, 4, 100] {
        let urls = hundred().into_iter().take(count).map(|path| url(&path));
        let mut command = pagewire();
        command.env("PAGEWIRE_PASSWORD", "wrong").args(["cat", "--stats", "json"]).args(urls);
        let refused = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!(refused.status.code(), Some(6), "{count}: {refused:?}");
        // NEGOTIATE, and SESSION_SETUP twice.
        assert_eq!(counted(&refused, "requests"), 3, "{count}: {refused:?}");
        let told = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(told.matches("pagewire: ").count(), 1, "{told}");
    }
}

/// Files of many lengths, some of which cannot be had.
const MIXED: [&str; 14] = [
    "small.txt",
    "size-0",
    "many/file-01",
    "missing",
    "size-65537",
    "many/file-02",
    "secret.txt",
    "wide",
    "many/file-03",
    "size-1048577",
    "size-1",
    "many/file-04",
    "many/file-05",
    "many/file-06",
];

#[test]
fn files_of_all_kinds_come_in_their_order_and_each_failure_is_told_once() {
    let Some(lab) = Lab::find() else { return };
    let there: Vec<&str> =
        MIXED.into_iter().filter(|path| !["missing", "secret.txt", "wide"].contains(path)).collect();
    for in_flight in ["3", "8", "64"] {
        let cat = run(&["cat", "--in-flight", in_flight], &MIXED, smb(&lab));
        let stderr = String::from_utf8_lossy(&cat.stderr);
        assert_eq!(cat.status.code(), Some(9), "{stderr}");
        assert!(cat.stdout == content(&lab, &there), "{in_flight} in flight");
        for says in ["data/missing: ", "data/secret.txt: ", "data/wide: "] {
            assert_eq!(stderr.matches(says).count(), 1, "{stderr}");
        }
        let dir = scratch(&format!("mixed-{in_flight}"));
        let get = run(&["get", "--in-flight", in_flight, "-O", dir.to_str().unwrap()], &MIXED, smb(&lab));
        assert_eq!((get.status.code(), get.stderr), (Some(9), cat.stderr));
        holds(&dir, &lab, &there);
        fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn what_is_there_already_is_not_asked_for() {
    let Some(lab) = Lab::find() else { return };
    let dir = scratch("clobber");
    let names = hundred();
    let paths: Vec<&str> = names.iter().map(String::as_str).collect();
    fs::write(dir.join("file-40"), "mine").unwrap();
    let args = ["get", "--no-clobber", "--stats", "json", "-O", dir.to_str().unwrap()];
    let output = run(&args, &paths, smb(&lab));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(9), "{stderr}");
    assert!(stderr.contains("file-40 exists") && stderr.contains(r#""file_bytes":405504"#), "{stderr}");
    assert_eq!(fs::read(dir.join("file-40")).unwrap(), b"mine");
    fs::remove_file(dir.join("file-40")).unwrap();
    holds(&dir, &lab, &[&paths[..40], &paths[41..]].concat());
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn links_between_the_files_of_an_nfs_server_are_followed() {
    let Some(lab) = Lab::find() else { return };
    let Some(ganesha) = &lab.ganesha else {
        println!("skipped: NFS-Ganesha was not started; testing/servers/run --nfs does");
        return;
    };
    let (host, nfs, mount) = nfs_address(ganesha);
    let paths = ["many/file-01", "many/file-02", "links/to-small", "size-65537", "many/file-03", "size-1"];
    let meant = ["many/file-01", "many/file-02", "small.txt", "size-65537", "many/file-03", "size-1"];
    for version in ["3", "4.0", "4.1", "4.2"] {
        let url = |path: &str| {
            let mount = if version == "3" { format!("&mountport={mount}") } else { String::new() };
            format!("nfs://{host}:{nfs}/export/{path}?version={version}{mount}")
        };
        let output = run(&["cat"], &paths, url);
        assert!(output.status.success(), "{version}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout == content(&lab, &meant), "{version}");
    }
}

#[test]
fn a_connection_that_is_lost_takes_nothing_with_it_or_one_file_if_it_is_not_to_be_made_anew() {
    let Some(lab) = Lab::find() else { return };
    let names = hundred();
    let paths: Vec<&str> = names.iter().map(String::as_str).collect();
    for len in [10_000, 100_000, 200_000] {
        let dir = scratch(&format!("lost-{len}"));
        let server = cut_after(lab.samba.clone(), len);
        let args = ["get", "--in-flight", "64", "--stats", "json", "-O", dir.to_str().unwrap()];
        let output = run(&args, &paths, |path| format!("smb://lab@{server}/data/{path}"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert!(stderr.contains(r#""connections":2,"#), "{stderr}");
        holds(&dir, &lab, &paths);
        fs::remove_dir_all(&dir).unwrap();

        let dir = scratch(&format!("lost-{len}"));
        let server = cut_after(lab.samba.clone(), len);
        let args = ["get", "--retries", "0", "--stats", "json", "-O", dir.to_str().unwrap()];
        let output = run(&args, &paths, |path| format!("smb://lab@{server}/data/{path}"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(9), "{stderr}");
        assert_eq!(stderr.matches("pagewire: ").count(), 1, "{stderr}");
        assert!(stderr.contains(r#""connections":2,"#), "{stderr}");
        let lost = paths.iter().position(|path| !dir.join(&path[5..]).exists()).unwrap();
        holds(&dir, &lab, &[&paths[..lost], &paths[lost + 1..]].concat());
        fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn a_server_that_comes_back_only_after_a_while_has_the_rest_of_the_files_too() {
    let Some(lab) = Lab::find() else { return };
    let names = hundred();
    let paths: Vec<&str> = names.iter().map(String::as_str).collect();
    for (retries, code) in [("6", 0), ("1", 9)] {
        let dir = scratch(&format!("away-{retries}"));
        let server = cut_and_stay_away(lab.samba.clone(), 200_000, 3);
        let args = ["get", "--retries", retries, "--stats", "json", "-O", dir.to_str().unwrap()];
        let output = run(&args, &paths, |path| format!("smb://lab@{server}/data/{path}"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        let there = paths.iter().take_while(|path| dir.join(&path[5..]).exists()).count();
        holds(&dir, &lab, &paths[..there]);
        assert_eq!(there == paths.len(), code == 0, "{there}: {stderr}");
        fs::remove_dir_all(dir).unwrap();
    }
}
