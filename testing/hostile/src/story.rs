//! A whole conversation as a caller has it: what is asked, and what came of it.

use crate::{Link, Session};
use pagewire::smb::FileId;
use pagewire::{Attributes, Close, Connect, Error, File, List, Open, Pages, Stat, Stream};

/// A byte that no page has before it is asked for.
const FRESH: u8 = 0xAA;

/// What is asked: connect, open, two streams, close, list, stat.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The file to read.
    pub path: &'static str,
    /// Where its first stream begins.
    pub offset: u64,
    /// Bytes of pages of the first stream, a multiple of the page size.
    pub ring: usize,
    /// Where its second stream begins, through a ring of eight pages of 512 bytes.
    pub tail: u64,
    /// The directory to list.
    pub directory: &'static str,
    /// The file to look at.
    pub looks_at: &'static str,
}

/// What came of it, as far as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Story {
    /// What the file was when it was opened.
    pub opened: Option<Attributes>,
    /// What the first stream lent.
    pub file: Vec<u8>,
    /// What the second stream lent.
    pub tail: Vec<u8>,
    /// What the listing lent.
    pub entries: Vec<(String, Attributes)>,
    /// What the file looked at is.
    pub attributes: Option<Attributes>,
}

impl Program {
    /// Runs it with pages of `SIZE` bytes up to the first error.
    pub fn run<const SIZE: usize, L: Link>(
        &self,
        session: &mut Session<'_, L>,
        story: &mut Story,
    ) -> Result<(), Error> {
        session.run(&mut Connect::new())?;
        let file = session.run(&mut Open::new(self.path))?;
        story.opened = Some(file.attributes);

        stream::<SIZE, L>(session, &file, self.offset, self.ring, &mut story.file)?;
        stream::<512, L>(session, &file, self.tail, 8 * 512, &mut story.tail)?;
        session.run(&mut Close::new(&file))?;

        let mut list = List::new(self.directory);
        session
            .run_each(&mut list, |entry| story.entries.push((entry.name.to_string(), entry.attributes)))?;
        story.attributes = Some(session.run(&mut Stat::new(self.looks_at))?);
        Ok(())
    }
}

/// Streams through a ring of pages that keep no byte that was not verified.
fn stream<const SIZE: usize, L: Link>(
    session: &mut Session<'_, L>,
    file: &File<FileId>,
    offset: u64,
    ring: usize,
    lent: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut pages = vec![[FRESH; SIZE]; ring / SIZE];
    let verified_before = session.client.counters().file_bytes;
    let mut sink = Pages(&mut pages);
    let outcome = session.run_each(&mut Stream::new(file, offset, &mut sink), |run| match run.data() {
        [] => lent.resize(lent.len() + run.len() as usize, 0),
        data => lent.extend(data),
    });
    match outcome {
        Ok(end) => assert_eq!(end, offset + lent.len() as u64, "a stream ends where its bytes do"),
        Err(_) => {
            let verified = session.client.counters().file_bytes - verified_before;
            let kept = pages.as_flattened().iter().filter(|byte| ![0, FRESH].contains(byte)).count();
            assert!(kept as u64 <= verified, "{kept} bytes are in the pages, and {verified} were verified");
        }
    }
    outcome.map(|_| ())
}
