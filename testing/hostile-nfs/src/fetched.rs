//! Files that are read side by side.

use crate::Lent;
use pagewire::{Attributes, Buffer, Error, Fetch, Fetched, Lane, Protocol};
use pagewire_line::{Link, Session};

/// Files that are opened at the same time.
const LANES: usize = 3;
/// Memory for the start of each.
const HEAD_LEN: usize = 1024;

/// What came of one path.
#[derive(Debug)]
pub struct Came {
    /// What it was when it was opened, and whether all of it was said to be there and of that version.
    pub opened: Option<(Attributes, bool)>,
    /// What was lent of it.
    pub content: Lent,
    /// How it ended.
    pub end: Result<u64, Error>,
}

/// Reads the files at these paths, in this order.
pub fn fetch<P: Protocol>(session: &mut Session<'_, P, impl Link>, paths: &[&str]) -> Vec<Came> {
    let mut lanes: Vec<_> = (0..LANES).map(|_| Lane::new()).collect();
    let (mut heads, mut pages) = (vec![0xAA; LANES * HEAD_LEN], vec![0xAA; 4096]);
    let (mut heads, mut pages) = (Buffer(&mut heads), Buffer(&mut pages));
    let mut paths = paths.iter().copied();
    let mut op = Fetch::new(&mut paths, &mut lanes, &mut heads, &mut pages);
    let (mut all, mut opened, mut content) = (Vec::new(), None, Lent::default());
    let mut ends = |opened: &mut Option<_>, content: &mut Lent, end| {
        all.push(Came { opened: opened.take(), content: std::mem::take(content), end });
    };
    let outcome = session.run_each(&mut op, |item| match item {
        Fetched::Opened { file, whole } => assert_eq!(opened.replace((file, whole)), None),
        Fetched::Content(part) => content.take(part),
        Fetched::Ended(end) => {
            assert_eq!(end, content.len(), "a file ends where its bytes do");
            ends(&mut opened, &mut content, Ok(end));
        }
        Fetched::Failed(error) => ends(&mut opened, &mut content, Err(error)),
    });
    assert_eq!(outcome, Ok(()));
    all
}
