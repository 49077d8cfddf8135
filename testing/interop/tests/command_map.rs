//! `pagewire map` against real servers: what the file system has is what is shown.

use pagewire::MapSegment;
use pagewire_interop::command::pagewire;
use pagewire_interop::{Lab, extents, nfs_address};
use std::fs::File;
use std::process::{Output, Stdio};

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
