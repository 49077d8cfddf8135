//! Holes and the command, against real servers: `map` shows what the file system has, and `get` keeps it.

use pagewire::MapSegment;
use pagewire_interop::command::pagewire;
use pagewire_interop::{Lab, extents, nfs_address};
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn run(args: &[&str]) -> Output {
    pagewire().args(args).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A place that has the sparse files: its name, what stands before a file's name and behind it in a URL, the path
/// before the name, and where the files really are.
struct Place {
    name: String,
    before: String,
    behind: String,
    path: &'static str,
    local: &'static str,
}

fn smb(name: &str, address: &str, share: &str, path: &'static str, local: &'static str) -> Place {
    let before = format!("smb://lab@{address}/{share}/{path}");
    Place { name: format!("{name} {share}"), before, behind: String::new(), path, local }
}

fn nfs(name: &str, address: &str, version: &str) -> Place {
    let (host, nfs, mount) = nfs_address(address);
    let mount = if version == "3" { format!("&mountport={mount}") } else { String::new() };
    Place {
        name: format!("{name} {version}"),
        before: format!("nfs://{host}:{nfs}/export/sparse/"),
        behind: format!("?version={version}&uid=1000&gid=1000{mount}"),
        path: "/export/sparse/",
        local: "sparse",
    }
}

/// Those that say where holes are, and those that cannot.
fn places(lab: &Lab) -> (Vec<Place>, Vec<Place>) {
    let mut tell = vec![smb("Samba", &lab.samba, "sparse", "", "sparse-attribute")];
    let mut tell_not = vec![smb("Samba", &lab.samba, "data", "sparse/", "sparse")];
    match &lab.ksmbd {
        Some(address) => tell.push(smb("ksmbd", address, "sparse", "", "sparse-attribute")),
        None => println!("skipped: ksmbd was not started; testing/servers/run --kernel does"),
    }
    for (name, address) in [("Ganesha", &lab.ganesha), ("nfsd", &lab.nfsd)] {
        let Some(address) = address else {
            println!("skipped: {name} was not started; testing/servers/run --nfs --kernel does");
            continue;
        };
        tell.push(nfs(name, address, "4.2"));
        tell_not.extend(["3", "4.0", "4.1"].map(|version| nfs(name, address, version)));
    }
    (tell, tell_not)
}

fn kind(segment: &MapSegment) -> &'static str {
    if segment.hole { "hole" } else { "data" }
}

fn json(path: &str, map: &[MapSegment]) -> String {
    let bytes =
        |hole| map.iter().filter(|segment| segment.hole == hole).map(|segment| segment.len).sum::<u64>();
    let (data, holes) = (bytes(false), bytes(true));
    let segment = |segment: &MapSegment| {
        format!(r#"{{"offset":{},"length":{},"kind":"{}"}}"#, segment.offset, segment.len, kind(segment))
    };
    let segments: Vec<_> = map.iter().map(segment).collect();
    let (size, segments) = (data + holes, segments.join(","));
    format!(
        r#"{{"version":1,"path":"{path}","size":{size},"data":{data},"holes":{holes},"segments":[{segments}]}}"#
    ) + "\n"
}

/// What the rows of a table say.
fn rows(table: &str) -> Vec<MapSegment> {
    let row = |row: &str| {
        let [offset, len, end, kind] = row.split_whitespace().collect::<Vec<_>>()[..] else { return None };
        let (offset, len) = (offset.parse().ok()?, len.parse().ok()?);
        assert_eq!(end.parse(), Ok(offset + len), "{row}");
        Some(MapSegment { offset, len, hole: kind == "hole" })
    };
    table.lines().filter_map(row).collect()
}

#[test]
fn maps_are_those_of_the_file_system_for_people_and_for_programs() {
    let Some(lab) = Lab::find() else { return };
    for place in places(&lab).0 {
        for file in ["1d", "16h-4k", "all-data", "all-hole", "end-hole", "hole-end"] {
            let url = format!("{}{file}{}", place.before, place.behind);
            let map = extents(&File::open(lab.files.join(place.local).join(file)).unwrap()).unwrap();
            let what = format!("{} {file}", place.name);
            let output = run(&["map", "--json", &url]);
            let expected = json(&format!("{}{file}", place.path), &map);
            assert_eq!((text(&output.stderr), text(&output.stdout)), (String::new(), expected), "{what}");
            let output = run(&["map", &url]);
            let table = text(&output.stdout);
            assert_eq!((text(&output.stderr), rows(&table)), (String::new(), map), "{what}");
            assert!(table.trim_start().starts_with("Offset"), "{what}: {table}");
            assert!(table.contains("\ndata: ") && table.contains("\nhole: "), "{what}: {table}");
        }
    }
}

#[test]
fn where_the_server_cannot_say_it_is_all_data_and_a_note_on_standard_error() {
    let Some(lab) = Lab::find() else { return };
    for place in places(&lab).1 {
        let url = format!("{}1d{}", place.before, place.behind);
        let len = std::fs::metadata(lab.files.join(place.local).join("1d")).unwrap().len();
        let all = [MapSegment { offset: 0, len, hole: false }];
        let output = run(&["map", "--json", &url]);
        assert_eq!(text(&output.stdout), json(&format!("{}1d", place.path), &all), "{}", place.name);
        let told = text(&output.stderr);
        assert!(told.contains("note: ") && told.contains("counts as data"), "{}: {told}", place.name);
        assert_eq!(rows(&text(&run(&["map", &url]).stdout)), all, "{}", place.name);
    }
}

#[test]
fn what_is_no_file_has_no_map() {
    let Some(lab) = Lab::find() else { return };
    let (tell, tell_not) = places(&lab);
    for place in tell.iter().chain(&tell_not) {
        for (file, code) in [("missing", 5), ("", 8)] {
            let output = run(&["map", &format!("{}{file}{}", place.before, place.behind)]);
            let told = text(&output.stderr);
            assert_eq!(
                (output.status.code(), output.stdout.len()),
                (Some(code), 0),
                "{}: {told}",
                place.name
            );
        }
    }
}

/// Gets a file into a new one in `directory`. Returns that and the object on standard error.
fn get(place: &Place, file: &str, directory: &Path, options: &[&str]) -> (PathBuf, Value) {
    let url = format!("{}{file}{}", place.before, place.behind);
    let output = directory.join("got");
    let got = pagewire()
        .args(["get", "-q", "--stats", "json", "-o"])
        .arg(&output)
        .args(options)
        .arg(&url)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = text(&got.stderr);
    assert_eq!(got.status.code(), Some(0), "{url}: {told}");
    let stats = told.lines().find_map(|line| serde_json::from_str(line).ok());
    (output, stats.unwrap_or_else(|| panic!("no statistics: {told}")))
}

fn is_same(one: &Path, other: &Path) -> bool {
    Command::new("cmp").arg("-s").args([one, other]).status().unwrap().success()
}

fn stored(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().blocks() * 512
}

#[test]
fn get_keeps_holes_and_moves_only_data() {
    let Some(lab) = Lab::find() else { return };
    let directory = tempfile::tempdir().unwrap();
    for place in places(&lab).0 {
        for page in ["4K", "16K", "64K"] {
            let (got, stats) = get(&place, "sparse-1g", directory.path(), &["--page", page]);
            let source = lab.files.join(place.local).join("sparse-1g");
            let map = |path: &Path| extents(&File::open(path).unwrap()).unwrap();
            assert_eq!(map(&got), map(&source), "{} {page}", place.name);
            let number = |name: &str| stats[name].as_u64().unwrap();
            // The start of a file comes together with opening it, before it is known to have holes.
            let ahead = 64 << 10;
            let counted = (number("file_bytes"), number("hole_bytes"));
            assert_eq!(counted, ((1 << 20) + ahead, (1 << 30) - (1 << 20)), "{} {page}", place.name);
            let moved = number("bytes_sent") + number("bytes_received");
            println!("{}, pages of {page}: {moved} bytes moved, {} stored", place.name, stored(&got));
            assert!(moved < (11 << 20) / 10 + 65_536, "{} {page}: {moved} bytes", place.name);
            if page == "4K" {
                assert!(is_same(&got, &source), "{}", place.name);
            }
        }
    }
}

#[test]
fn zeros_become_holes_when_it_is_asked_for_and_holes_zeros() {
    let Some(lab) = Lab::find() else { return };
    let directory = tempfile::tempdir().unwrap();
    let (tell, tell_not) = places(&lab);
    for place in tell.iter().chain(&tell_not) {
        let source = lab.files.join(place.local).join("4h");
        let len = std::fs::metadata(&source).unwrap().len();
        for (sparse, stored_max, stored_min) in [("always", len * 6 / 10, 0), ("never", u64::MAX, len)] {
            let (got, _) = get(place, "4h", directory.path(), &["--sparse", sparse]);
            assert!(is_same(&got, &source), "{} {sparse}", place.name);
            let stored = stored(&got);
            assert!(stored <= stored_max && stored >= stored_min, "{} {sparse}: {stored}", place.name);
        }
    }
}
