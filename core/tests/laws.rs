//! What no compiler holds the engine to, read off its sources.

use std::fs;
use std::path::Path;

/// The sources without their tests, by their paths.
fn sources() -> Vec<(String, String)> {
    fn gather(dir: &Path, all: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.display().to_string();
            if path.is_dir() {
                gather(&path, all);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                let source = fs::read_to_string(&path).unwrap();
                let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
                all.push((name, code.to_owned()));
            }
        }
    }
    let mut all = Vec::new();
    gather(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut all);
    all
}

/// The functions of a source: the name, what stands in the brackets, and the body.
fn functions(source: &str) -> Vec<(&str, &str, &str)> {
    let starts = source.match_indices("fn ").filter(|(at, _)| source[..*at].ends_with([' ', '\n', '(']));
    let function = |(at, _): (usize, &str)| {
        let rest = &source[at + 3..];
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        let (head, _) = rest.split_once('{')?;
        let arguments = head.split_once('(')?.1;
        let mut depth = 0;
        let end = rest.char_indices().skip(head.len()).find(|(_, c)| {
            depth += i32::from(*c == '{') - i32::from(*c == '}');
            depth == 0
        });
        Some((name, arguments, &rest[head.chars().map(char::len_utf8).sum()..end?.0]))
    };
    starts
        .filter_map(function)
        .filter(|(name, arguments, _)| !name.is_empty() && !arguments.contains(';'))
        .collect()
}

#[test]
fn nothing_calls_itself() {
    let mut count = 0;
    for (path, source) in sources() {
        for (name, arguments, body) in functions(&source) {
            count += 1;
            let calls =
                match arguments.trim_start_matches(['&', 'm', 'u', 't', ' ', '\n']).starts_with("self") {
                    true => [format!("self.{name}("), format!("Self::{name}(")],
                    false => [format!(" {name}("), format!("({name}(")],
                };
            let itself = calls.iter().find(|call| body.contains(call.as_str()));
            assert_eq!(itself, None, "{path}: {name}");
        }
    }
    assert!(count > 800, "{count} functions");
}

#[test]
fn what_could_panic_or_is_unsafe_is_an_error() {
    let (_, lib) = sources().into_iter().find(|(path, _)| path.ends_with("src/lib.rs")).unwrap();
    assert!(lib.contains("#![forbid(unsafe_code)]"));
    let (_, lints) = lib.split_once("deny(").unwrap();
    for lint in [
        "indexing_slicing",
        "string_slice",
        "arithmetic_side_effects",
        "unwrap_used",
        "expect_used",
        "panic",
        "panic_in_result_fn",
        "unreachable",
        "todo",
        "unimplemented",
        "allow_attributes_without_reason",
    ] {
        assert!(lints.contains(&format!("clippy::{lint}")), "{lint}");
    }
    // An exception counts for one function, or for the file of an algorithm whose numbers are its own.
    const FILES: [&str; 4] = ["seal.rs", "sign.rs", "spnego.rs", "uppercase.rs"];
    for (path, source) in sources() {
        let is_whole = source
            .lines()
            .any(|line| line.starts_with("#![expect(clippy") || line.starts_with("#![allow(clippy"));
        assert!(!is_whole || FILES.iter().any(|file| path.ends_with(file)), "{path}");
    }
}
