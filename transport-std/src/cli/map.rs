//! `map`: which parts of a file are data and which are holes.

use super::args::Show;
use super::coming::must_be_unchanged;
use super::failure::{Cause, Failure};
use super::json::{self, MapJson};
use super::quantity::human;
use super::session::Session;
use super::show::with_output;
use super::stats::Report;
use super::url::{Url, Wire};
use pagewire::{Kind, MapSegment};
use std::io::{self, Write};

pub fn map(args: &Show, report: &mut Report) -> Result<(), Failure> {
    with_output(&args.url, &args.common, report, |session, url, out| {
        let (size, map) = survey(session, url)?;
        let written = if args.json {
            json::line(out, &MapJson::new(&url.path, size, &map))
        } else {
            table(out, size, &map)
        };
        written.map_err(Failure::unwritten)
    })
}

/// The size of a file and its segments.
fn survey(session: &mut dyn Session, url: &Url) -> Result<(u64, Vec<MapSegment>), Failure> {
    let opened = session.open(url)?;
    let mut map = Vec::new();
    let told = match opened.kind {
        Kind::File => session.map(url, &mut |segment| {
            map.push(segment);
            Ok(())
        }),
        kind => Err(Failure::new(format!("mapping {url}"), Cause::NoFile(kind))),
    };
    session.close();
    let told = told?;
    must_be_unchanged(session, url, &opened, opened.len)?;
    if !told {
        let why = match url.wire {
            Wire::Smb => "the file has no sparse attribute, or the server does not say where its holes are",
            Wire::Nfs => "with this version of NFS the server cannot say where holes are (version=4.2 may)",
        };
        tell!("pagewire: note: {why}: all of {url} counts as data");
    }
    Ok((opened.len, map))
}

pub fn segment_kind(hole: bool) -> &'static str {
    if hole { "hole" } else { "data" }
}

/// How many segments of a kind there are, and their bytes.
pub fn total(map: &[MapSegment], hole: bool) -> (usize, u64) {
    let all = map.iter().filter(|segment| segment.hole == hole);
    (all.clone().count(), all.map(|segment| segment.len).sum())
}

fn table(out: &mut impl Write, size: u64, map: &[MapSegment]) -> io::Result<()> {
    let width = size.to_string().len().max("Offset".len());
    writeln!(out, "{:>width$} {:>width$} {:>width$} Kind", "Offset", "Length", "End")?;
    for segment in map {
        let (offset, len, end) = (segment.offset, segment.len, segment.end());
        writeln!(out, "{offset:>width$} {len:>width$} {end:>width$} {}", segment_kind(segment.hole))?;
    }
    for hole in [false, true] {
        let (count, bytes) = total(map, hole);
        let plural = if count == 1 { "" } else { "s" };
        let kind = segment_kind(hole);
        writeln!(out, "{kind}: {bytes} ({}) in {count} segment{plural}", human(bytes))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: [MapSegment; 3] = [
        MapSegment { offset: 0, len: 65_536, hole: false },
        MapSegment { offset: 65_536, len: 10_000_000, hole: true },
        MapSegment { offset: 10_065_536, len: 5, hole: false },
    ];

    fn shown(size: u64, map: &[MapSegment]) -> String {
        let mut out = Vec::new();
        table(&mut out, size, map).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_aligned_and_there_are_totals() {
        let expected = "
  Offset   Length      End Kind
       0    65536    65536 data
   65536 10000000 10065536 hole
10065536        5 10065541 data
data: 65541 (65K) in 2 segments
hole: 10000000 (9.6M) in 1 segment
";
        assert_eq!(shown(10_065_541, &MAP), &expected[1..]);
    }

    #[test]
    fn an_empty_file_has_no_segments() {
        let expected = "Offset Length    End Kind\ndata: 0 (0) in 0 segments\nhole: 0 (0) in 0 segments\n";
        assert_eq!(shown(0, &[]), expected);
    }

    #[test]
    fn json_has_the_segments_in_order() {
        let mut out = Vec::new();
        json::line(&mut out, &MapJson::new("a/b", 10_065_541, &MAP)).unwrap();
        let expected = concat!(
            r#"{"version":1,"path":"a/b","size":10065541,"data":65541,"holes":10000000,"segments":["#,
            r#"{"offset":0,"length":65536,"kind":"data"},{"offset":65536,"length":10000000,"kind":"hole"},"#,
            r#"{"offset":10065536,"length":5,"kind":"data"}]}"#,
            "\n"
        );
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
