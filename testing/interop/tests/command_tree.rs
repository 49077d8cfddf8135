//! `get -r`: what is in a directory arrives as it is there, or it is told why not.

use pagewire_interop::command::pagewire;
use pagewire_interop::cut::cut_after;
use pagewire_interop::{Lab, nfs_address};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

/// An empty directory of its own.
fn scratch(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("pagewire-tree-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir(&dir).unwrap();
    dir
}

fn get(url: &str, into: &Path, args: &[&str]) -> (Output, String) {
    let mut command = pagewire();
    command.args(["get", "-r", url, "-O"]).arg(into).args(args).stdin(Stdio::null());
    let output = command.output().unwrap();
    let told = String::from_utf8(output.stderr.clone()).unwrap();
    (output, told)
}

fn round_trips(told: &str) -> u32 {
    let (_, rest) = told.split_once(r#""round_trips":"#).unwrap_or_else(|| panic!("{told}"));
    rest.split(',').next().unwrap().parse().unwrap()
}

/// What can be asked for: who is asked, and the URL of what is at a path of the tree of the lab.
type Way = (&'static str, Box<dyn Fn(&str) -> String>);

fn smb(lab: &Lab) -> Way {
    let server = lab.samba.clone();
    ("smb", Box::new(move |path| format!("smb://lab@{server}/data/{path}")))
}

fn nfs(lab: &Lab, export: &'static str) -> Vec<Way> {
    let Some(ganesha) = &lab.ganesha else {
        println!("skipped: NFS-Ganesha was not started; testing/servers/run --nfs does");
        return Vec::new();
    };
    let (host, nfs, mount) = nfs_address(ganesha);
    let ways = ["3", "4.0", "4.1", "4.2"].map(|version| {
        let mount = if version == "3" { format!("&mountport={mount}") } else { String::new() };
        let (host, query) = (host.to_owned(), format!("version={version}{mount}&uid=1000&gid=1000"));
        let url = move |path: &str| format!("nfs://{host}:{nfs}/{export}/{path}?{query}");
        (version, Box::new(url) as Box<dyn Fn(&str) -> String>)
    });
    ways.into()
}

fn everywhere(lab: &Lab) -> Vec<Way> {
    [smb(lab)].into_iter().chain(nfs(lab, "export")).collect()
}

/// What is in a directory: the contents of files, and `None` for directories. What links lead to counts if `links`.
fn tree(dir: &Path, links: bool) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    let mut directories = vec![PathBuf::new()];
    while let Some(below) = directories.pop() {
        for entry in fs::read_dir(dir.join(&below)).unwrap() {
            let (entry, path) = entry.map(|entry| (entry.path(), below.join(entry.file_name()))).unwrap();
            if entry.is_symlink() && !links {
                continue;
            }
            if entry.is_dir() {
                directories.push(path.clone());
                all.insert(path, None);
            } else {
                all.insert(path, Some(fs::read(entry).unwrap()));
            }
        }
    }
    all
}

#[test]
fn a_tree_arrives_but_for_what_is_closed_and_links_are_left_to_the_server() {
    let Some(lab) = Lab::find() else { return };
    for (name, url) in everywhere(&lab) {
        let dir = scratch(name);
        let (output, told) = get(&url("tree"), &dir.join("made/too"), &[]);
        assert_eq!(output.status.code(), Some(9), "{told}");
        let mut expected = tree(&lab.files.join("tree"), name == "smb");
        for closed in ["denied", "closed"] {
            assert!(expected.remove(Path::new(closed)).is_some());
            assert_eq!(
                told.matches(&format!("{}: the server refused", url(&format!("tree/{closed}")))).count(),
                1,
                "{told}"
            );
        }
        assert_eq!(told.matches("pagewire: note: ").count(), if name == "smb" { 0 } else { 3 }, "{told}");
        assert!(tree(&dir.join("made/too/tree"), false) == expected, "{name}: {told}");
        fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn a_tree_of_a_hundred_files_takes_a_handful_of_round_trips() {
    let Some(lab) = Lab::find() else { return };
    for (name, url) in everywhere(&lab) {
        let dir = scratch(&format!("many-{name}"));
        let (output, told) = get(&url("many"), &dir, &["--in-flight", "64", "--stats", "json"]);
        assert!(output.status.success(), "{told}");
        assert!(tree(&dir.join("many"), false) == tree(&lab.files.join("many"), false), "{name}");
        let trips = round_trips(&told);
        println!("{name}: {trips} round trips");
        // The session, the listing (two for SMB, whose end is another), and one or two for all the files.
        assert!(trips <= if name == "4.0" { 3 } else { 7 }, "{name}: {trips}");
        fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn empty_directories_deep_ones_and_names_of_all_scripts_are_kept() {
    let Some(lab) = Lab::find() else { return };
    for (name, url) in everywhere(&lab) {
        let dir = scratch(&format!("kept-{name}"));
        for path in ["empty", "deep", "names"] {
            let (output, told) = get(&url(path), &dir, &[]);
            assert!(output.status.success(), "{told}");
            assert!(tree(&dir.join(path), false) == tree(&lab.files.join(path), false), "{name}: {path}");
        }
        fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn names_and_kinds_that_cannot_be_kept_are_told_and_the_rest_arrives() {
    let Some(lab) = Lab::find() else { return };
    for (name, url) in nfs(&lab, "export") {
        let dir = scratch(&format!("odd-{name}"));
        let (output, told) = get(&url("odd"), &dir, &[]);
        assert_eq!(output.status.code(), Some(9), "{told}");
        for (path, says) in [
            ("odd/not-\u{fffd}-utf-8", ": its name is not UTF-8\n"),
            ("odd/back\\slash", ": no file gets such a name here"),
            ("odd/pipe", " is neither a file nor a directory, and left out\n"),
        ] {
            assert!(told.contains(&format!("{}{says}", url(path))), "{told}");
        }
        let good = fs::read(lab.files.join("odd/good")).unwrap();
        assert!(tree(&dir, false) == BTreeMap::from([("odd".into(), None), ("odd/good".into(), Some(good))]));
        fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn more_files_than_are_handed_on_at_once_arrive() {
    let Some(lab) = Lab::find() else { return };
    for (name, url) in nfs(&lab, "export").into_iter().filter(|(name, _)| *name == "4.0") {
        let dir = scratch(&format!("huge-{name}"));
        let (output, told) = get(&url("huge"), &dir, &[]);
        assert!(output.status.success(), "{told}");
        assert_eq!(fs::read_dir(dir.join("huge")).unwrap().count(), 20_000);
        fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn directories_too_deep_are_told_and_what_lies_above_arrives() {
    let Some(lab) = Lab::find() else { return };
    let Ok(exported) = std::env::var("PAGEWIRE_GANESHA_SCRATCH") else {
        println!("skipped: NFS-Ganesha was not started; testing/servers/run --nfs does");
        return;
    };
    let top = Path::new(&exported).join("tree");
    let deep: PathBuf = std::iter::repeat_n("d", 130).collect();
    fs::create_dir_all(top.join(&deep)).unwrap();
    fs::write(top.join("f"), "f").unwrap();
    for (name, url) in nfs(&lab, "scratch") {
        let dir = scratch(&format!("too-deep-{name}"));
        let (output, told) = get(&url("tree"), &dir, &[]);
        assert_eq!((output.status.code(), told.lines().count()), (Some(9), 1), "{told}");
        assert!(told.contains(": it lies more than 128 directories deep"), "{told}");
        let depth = deep.ancestors().position(|path| dir.join("tree").join(path).is_dir()).unwrap();
        assert_eq!((depth, dir.join("tree/f").is_file()), (130 - 127, true));
        fs::remove_dir_all(dir).unwrap();
    }
    fs::remove_dir_all(top).unwrap();
}

#[test]
fn what_is_in_the_way_stays_and_costs_nothing_else() {
    let Some(lab) = Lab::find() else { return };
    let (_, url) = smb(&lab);
    let dir = scratch("way");
    fs::create_dir_all(dir.join("tree/inner/third")).unwrap();
    fs::write(dir.join("tree/first.txt"), "mine").unwrap();
    fs::write(dir.join("tree/to-inner"), "mine").unwrap();
    let (output, told) = get(&url("tree"), &dir, &["--no-clobber"]);
    assert_eq!(output.status.code(), Some(9), "{told}");
    for says in ["tree/first.txt exists", "writing DIR/tree/inner/third: ", "writing DIR/tree/to-inner: "] {
        assert!(told.contains(&says.replace("DIR", dir.to_str().unwrap())), "{says}: {told}");
    }
    let is = tree(&dir.join("tree"), false);
    for (path, content) in [("first.txt", "mine"), ("to-inner", "mine")] {
        assert_eq!(is[Path::new(path)].as_deref(), Some(content.as_bytes()));
    }
    assert!(is.contains_key(Path::new("inner/deeper/fourth")) && is[Path::new("inner/third")].is_none());
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn links_that_lie_there_are_not_followed_and_the_directory_itself_may_be_one() {
    let Some(lab) = Lab::find() else { return };
    let (_, url) = smb(&lab);
    let dir = scratch("links");
    fs::create_dir_all(dir.join("real/tree")).unwrap();
    fs::create_dir(dir.join("outside")).unwrap();
    fs::write(dir.join("outside/file"), "mine").unwrap();
    symlink("real", dir.join("into")).unwrap();
    symlink("../../outside", dir.join("real/tree/inner")).unwrap();
    symlink("../../outside/file", dir.join("real/tree/first.txt")).unwrap();
    let (output, told) = get(&url("tree"), &dir.join("into"), &[]);
    assert_eq!(output.status.code(), Some(9), "{told}");
    for link in ["inner", "first.txt"] {
        let path = dir.join("into/tree").join(link);
        let says = format!("writing {}: a symbolic link lies there", path.display());
        assert!(told.matches(&says).count() == 1 && path.is_symlink(), "{link}: {told}");
    }
    let mine = BTreeMap::from([("file".into(), Some(b"mine".to_vec()))]);
    assert!(tree(&dir.join("outside"), true) == mine);
    assert!(dir.join("real/tree/to-inner/third").is_file(), "the rest arrives");
    fs::remove_file(dir.join("real/tree/inner")).unwrap();
    fs::rename(dir.join("real/tree"), dir.join("outside/tree")).unwrap();
    symlink("../outside/tree", dir.join("real/tree")).unwrap();
    let (output, told) = get(&url("tree"), &dir.join("real"), &[]);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(!dir.join("outside/tree/inner").exists());
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_root_that_cannot_be_made_is_a_local_error_and_no_partial_success() {
    let Some(lab) = Lab::find() else { return };
    let (_, url) = smb(&lab);
    let dir = scratch("root");
    fs::write(dir.join("tree"), "mine").unwrap();
    let (output, told) = get(&url("tree"), &dir, &[]);
    assert_eq!((output.status.code(), told.matches("pagewire: ").count()), (Some(3), 1), "{told}");
    assert!(told.contains("no directory\n  hint: it was there before"), "{told}");
    assert_eq!(fs::read(dir.join("tree")).unwrap(), b"mine");
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_root_that_is_a_link_is_resolved_once() {
    let Some(lab) = Lab::find() else { return };
    for (name, url) in everywhere(&lab) {
        let dir = scratch(&format!("to-many-{name}"));
        let args = ["--in-flight", "64", "--stats", "json"];
        let (output, told) = get(&url("links/to-many"), &dir, &args);
        assert_eq!((output.status.code(), told.lines().count()), (Some(0), 1), "{told}");
        assert!(tree(&dir.join("to-many"), false) == tree(&lab.files.join("many"), false), "{name}");
        let trips = round_trips(&told);
        println!("{name}: {trips} round trips");
        // Ganesha mounts no link, and first what is too little to follow it.
        assert!(trips <= if name == "3" { 20 } else { 10 }, "{name}: {trips}");
        fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn files_are_got_as_without_it_and_no_one_file_takes_a_tree() {
    let Some(lab) = Lab::find() else { return };
    for (name, url) in everywhere(&lab) {
        let dir = scratch(&format!("file-{name}"));
        let (output, told) = get(&url("small.txt"), &dir, &[]);
        assert!(output.status.success(), "{told}");
        assert_eq!(fs::read(dir.join("small.txt")).unwrap(), fs::read(lab.files.join("small.txt")).unwrap());
        let (output, told) = get(&url("missing"), &dir, &[]);
        assert_eq!((output.status.code(), fs::read_dir(&dir).unwrap().count()), (Some(5), 1), "{told}");
        fs::remove_dir_all(dir).unwrap();
    }
    let refused = pagewire().args(["get", "-r", "-o", "x", "//h/s/d"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}

/// The URLs of a directory of 1000 names by ways on which the first connection is cut in the middle of its listing.
fn cut_in_listing(lab: &Lab) -> Vec<String> {
    // The first reply must be whole: else nobody was let in yet.
    const LEN: u64 = 80_000;
    let mut urls = vec![format!("smb://lab@{}/data/wide", cut_after(lab.samba.clone(), LEN))];
    let Some((host, nfs, mount)) = lab.ganesha.as_deref().map(nfs_address) else {
        println!("skipped: NFS-Ganesha was not started; testing/servers/run --nfs does");
        return urls;
    };
    for query in [format!("version=3&mountport={mount}"), "version=4.0".into(), "version=4.2".into()] {
        let server = cut_after(format!("{host}:{nfs}"), LEN);
        urls.push(format!("nfs://{server}/export/wide?{query}&uid=1000&gid=1000"));
    }
    urls
}

#[test]
fn a_listing_whose_connection_is_lost_is_asked_for_again() {
    let Some(lab) = Lab::find() else { return };
    for url in cut_in_listing(&lab) {
        let dir = scratch("lost-listing");
        let (output, told) = get(&url, &dir, &["--retries", "0"]);
        assert!(matches!(output.status.code(), Some(4 | 9)), "{url}: {told}");
        assert!(told.contains("pagewire: listing "), "{url}: {told}");
        fs::remove_dir_all(dir).unwrap();
    }
    for url in cut_in_listing(&lab) {
        let dir = scratch("lost-listing");
        let (output, told) = get(&url, &dir, &["--in-flight", "64", "--stats", "json"]);
        assert_eq!((output.status.code(), told.lines().count()), (Some(0), 1), "{url}: {told}");
        assert!(told.contains(r#""connections":2,"#), "{url}: {told}");
        assert!(tree(&dir.join("wide"), false) == tree(&lab.files.join("wide"), false), "{url}");
        fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn a_connection_that_is_lost_takes_nothing_with_it() {
    let Some(lab) = Lab::find() else { return };
    for len in [30_000, 100_000, 200_000] {
        let dir = scratch(&format!("lost-{len}"));
        let server = cut_after(lab.samba.clone(), len);
        let url = format!("smb://lab@{server}/data/many");
        let (output, told) = get(&url, &dir, &["--in-flight", "64", "--stats", "json"]);
        assert_eq!(output.status.code(), Some(0), "{told}");
        assert_eq!(told.matches("pagewire: ").count(), 0, "{told}");
        assert!(told.contains(r#""connections":2,"#), "{told}");
        assert!(tree(&dir.join("many"), false) == tree(&lab.files.join("many"), false));
        fs::remove_dir_all(dir).unwrap();
    }
}
