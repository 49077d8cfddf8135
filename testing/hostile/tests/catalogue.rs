//! The catalogue says what there is, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

const CATALOGUE: &str = include_str!("../catalogue.md");

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The Rust sources below a directory of the workspace, in one.
fn sources(dir: &str) -> String {
    fn gather(dir: &Path, all: &mut String) {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            match path.extension() {
                _ if path.is_dir() => gather(&path, all),
                Some(extension) if extension == "rs" => *all += &fs::read_to_string(&path).expect("UTF-8"),
                _ => {}
            }
        }
    }
    let mut all = String::new();
    gather(&workspace().join(dir), &mut all);
    all
}

/// The variants of an enum of a file.
fn variants(file: &str, name: &str) -> Vec<String> {
    let source = fs::read_to_string(workspace().join(file)).expect("a source");
    let (_, body) = source.split_once(&format!("pub enum {name} {{\n")).expect("the enum");
    let (body, _) = body.split_once("\n}\n").expect("its end");
    let starts = body.lines().filter_map(|line| line.strip_prefix("    "));
    let named = starts.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    named.map(|line| line.split([' ', '(', ',']).next().unwrap_or(line).to_owned()).collect()
}

/// The cells of the tables' lines: what is told, what comes of it, and the tests.
fn lines() -> impl Iterator<Item = [&'static str; 3]> {
    let cells = CATALOGUE.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let lines = cells.map(|line| {
        let mut cells = line.split(" | ");
        let line = std::array::from_fn(|_| cells.next().expect("three cells"));
        assert_eq!(cells.next(), None, "three cells: {line:?}");
        line
    });
    lines.filter(|line| line[0] != "what is told")
}

/// Every second piece: what stands between two marks.
fn between(cell: &str, mark: char) -> impl Iterator<Item = &str> {
    cell.split(mark).skip(1).step_by(2)
}

#[test]
fn every_lie_is_in_the_catalogue_and_no_other() {
    const NFS4: &str = "testing/hostile-nfs/src/v4/quirk.rs";
    let all = [("testing/model/src/lie.rs", "Lie"), (NFS4, "Quirk"), (NFS4, "Shape")]
        .map(|(file, name)| variants(file, name))
        .concat();
    assert!(all.len() > 100, "{} lies", all.len());
    let told: Vec<_> =
        lines().flat_map(|[told, ..]| between(told, '`')).filter(|word| *word != "/").collect();
    let missing: Vec<_> = all.iter().filter(|lie| !told.contains(&lie.as_str())).collect();
    assert!(missing.is_empty(), "not in the catalogue: {missing:?}");
    let unknown: Vec<_> = told.iter().filter(|word| !all.iter().any(|lie| lie == *word)).collect();
    assert!(unknown.is_empty(), "no such lies: {unknown:?}");
}

#[test]
fn every_test_of_the_catalogue_exists_and_every_lie_is_told_by_one() {
    let tests = sources("testing/hostile/tests") + &sources("testing/hostile-nfs/tests");
    for [told, _, named] in lines() {
        assert!(between(named, '`').next().is_some(), "{told}: no test");
        for test in between(named, '`') {
            assert!(tests.contains(&format!("#[test]\nfn {test}() {{")), "{told}: there is no test {test}");
        }
    }
    for lie in variants("testing/model/src/lie.rs", "Lie") {
        assert!(tests.contains(&format!("Lie::{lie}")), "nobody tells {lie}");
    }
}

#[test]
fn every_error_of_the_catalogue_is_one_of_the_engines() {
    let engine = sources("core/src");
    for [told, comes, _] in lines() {
        for error in between(comes, '"') {
            assert!(engine.contains(&format!("\"{error}\"")), "{told}: the engine never says {error:?}");
        }
    }
}
