//! The objects of `--json`, one a line. Fields are added, never renamed, while `version` is 1.

use super::date::rfc3339;
use super::map::{segment_kind, total};
use super::safe;
use super::show::kind;
use pagewire::attributes::Encoding;
use pagewire::{Attributes, Entry, MapSegment, Space};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, Write};

const VERSION: u32 = 1;

/// An entry of a listing.
#[derive(Serialize)]
pub struct EntryJson {
    version: u32,
    /// With U+FFFD for what is no character.
    name: String,
    /// The bytes of the wire in hex.
    raw_name: String,
    raw_encoding: &'static str,
    #[serde(flatten)]
    attributes: AttributesJson,
}

/// The answer of `stat`.
#[derive(Serialize)]
pub struct StatJson<'p> {
    version: u32,
    path: &'p str,
    #[serde(flatten)]
    attributes: AttributesJson,
}

/// The answer of `df`, in bytes.
#[derive(Serialize)]
pub struct SpaceJson<'s> {
    version: u32,
    share: &'s str,
    total: u64,
    free: u64,
    available: u64,
    unit: u64,
}

/// The answer of `map`, in bytes.
#[derive(Serialize)]
pub struct MapJson<'p> {
    version: u32,
    path: &'p str,
    size: u64,
    data: u64,
    holes: u64,
    segments: Vec<SegmentJson>,
}

/// A part of a file. They are in order and without gaps, and no two of the same kind follow each other.
#[derive(Serialize)]
struct SegmentJson {
    offset: u64,
    length: u64,
    kind: &'static str,
}

/// An export of a server.
#[derive(Serialize)]
pub struct ExportJson {
    version: u32,
    /// With U+FFFD for what is no character.
    pub path: String,
    /// The bytes of the wire in hex.
    raw_path: String,
    /// To whom it is exported, in the server's words: nobody named is everybody. `null` is what the server did not say.
    pub groups: Option<Vec<String>>,
}

/// What is known of a file. `null` is what the server did not say.
#[derive(Serialize)]
struct AttributesJson {
    r#type: &'static str,
    size: u64,
    allocated: Option<u64>,
    modified: Option<String>,
    accessed: Option<String>,
    changed: Option<String>,
    created: Option<String>,
    id: Option<u64>,
    links: Option<u32>,
    hidden: bool,
    read_only: bool,
    sparse: bool,
}

impl EntryJson {
    pub fn new(entry: &Entry<'_>) -> EntryJson {
        let raw_name = hex(entry.name.raw());
        let raw_encoding = match entry.name.encoding() {
            Encoding::Utf16 => "utf-16le",
            Encoding::Bytes => "bytes",
        };
        let attributes = AttributesJson::new(&entry.attributes);
        EntryJson { version: VERSION, name: entry.name.to_string(), raw_name, raw_encoding, attributes }
    }
}

impl<'p> StatJson<'p> {
    pub fn new(path: &'p str, attributes: &Attributes) -> StatJson<'p> {
        StatJson { version: VERSION, path, attributes: AttributesJson::new(attributes) }
    }
}

impl<'s> SpaceJson<'s> {
    pub fn new(share: &'s str, space: &Space) -> SpaceJson<'s> {
        let Space { total, free, available, unit } = *space;
        SpaceJson { version: VERSION, share, total, free, available, unit }
    }
}

impl<'p> MapJson<'p> {
    pub fn new(path: &'p str, size: u64, map: &[MapSegment]) -> MapJson<'p> {
        let segment = |segment: &MapSegment| SegmentJson {
            offset: segment.offset,
            length: segment.len,
            kind: segment_kind(segment.hole),
        };
        let segments = map.iter().map(segment).collect();
        let (data, holes) = (total(map, false).1, total(map, true).1);
        MapJson { version: VERSION, path, size, data, holes, segments }
    }
}

impl ExportJson {
    pub fn new(path: &[u8], groups: Option<Vec<String>>) -> ExportJson {
        let lossy = String::from_utf8_lossy(path).into_owned();
        ExportJson { version: VERSION, path: lossy, raw_path: hex(path), groups }
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // A `String` takes whatever is written to it.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

impl AttributesJson {
    fn new(attributes: &Attributes) -> AttributesJson {
        AttributesJson {
            r#type: kind(attributes.kind).1,
            size: attributes.len,
            allocated: attributes.allocated,
            modified: attributes.modified.map(rfc3339),
            accessed: attributes.accessed.map(rfc3339),
            changed: attributes.changed.map(rfc3339),
            created: attributes.created.map(rfc3339),
            id: attributes.id,
            links: attributes.links,
            hidden: attributes.hidden,
            read_only: attributes.read_only,
            sparse: attributes.sparse,
        }
    }
}

/// Writes `value` as a line that is safe on a terminal too.
pub fn line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string(value)?;
    // Outside of strings there is only ASCII that needs no escape.
    for c in text.chars() {
        if safe::must_be_escaped(c, safe::Reader::Terminal) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
        } else {
            out.write_all(c.encode_utf8(&mut [0; 4]).as_bytes())?;
        }
    }
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_json_and_safe() {
        let mut out = Vec::new();
        let path = "a\n\"\u{1b}\u{7f}\u{9b}\u{202e}\u{e0041}é😀";
        line(&mut out, &StatJson::new(path, &Attributes::default())).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.ends_with("}\n") && text.contains("\\u202e") && text.contains("é😀"));
        assert!(text.trim_end().chars().all(|c| !safe::must_be_escaped(c, safe::Reader::Terminal)), "{text}");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&value["path"], &value["version"], &value["type"]),
            (&path.into(), &1.into(), &"file".into())
        );
    }
}
