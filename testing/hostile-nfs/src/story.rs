//! A whole conversation as a caller has it: what is asked, and what came of it.

use crate::lent::Lent;
use pagewire::{
    Attributes, Close, Connect, Error, File, List, Open, Pages, Protocol, Read, Space, Stat, Statfs, Stream,
};
use pagewire_line::{Link, Session};

/// A byte that no page has before it is asked for.
const FRESH: u8 = 0xAA;

/// What is asked: connect, open, a stream, a read, close, list, stat twice, statfs.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The file to read.
    pub path: &'static str,
    /// Bytes of pages of the stream, a multiple of the page size.
    pub ring: usize,
    /// Where the read begins: four pages of 512 bytes.
    pub tail: u64,
    /// The directory to list.
    pub directory: &'static str,
    /// The file to look at.
    pub looks_at: &'static str,
    /// The directory to look at, to which NFSv3 needs no LOOKUP.
    pub top: &'static str,
}

/// What came of it, as far as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Story {
    /// What the file was when it was opened.
    pub opened: Option<Attributes>,
    /// What the stream lent.
    pub file: Lent,
    /// What the read brought, and whether the file ends with it.
    pub tail: Option<(Vec<u8>, bool)>,
    /// What the listing lent.
    pub entries: Vec<(String, Attributes)>,
    /// What the file looked at is.
    pub attributes: Option<Attributes>,
    /// What the directory looked at is.
    pub top: Option<Attributes>,
    /// What space there is.
    pub space: Option<Space>,
}

impl Program {
    /// Runs it with pages of `SIZE` bytes up to the first error.
    pub fn run<const SIZE: usize>(
        &self,
        session: &mut Session<'_, impl Protocol, impl Link>,
        story: &mut Story,
    ) -> Result<(), Error> {
        session.run(&mut Connect::new())?;
        self.run_connected::<SIZE>(session, story)
    }

    /// The same without connecting, which was done.
    pub fn run_connected<const SIZE: usize>(
        &self,
        session: &mut Session<'_, impl Protocol, impl Link>,
        story: &mut Story,
    ) -> Result<(), Error> {
        let file = session.run(&mut Open::new(self.path))?;
        story.opened = Some(file.attributes);

        stream::<SIZE, _>(session, &file, self.ring, &mut story.file)?;
        read(session, &file, self.tail, story)?;
        session.run(&mut Close::new(&file))?;

        let mut list = List::new(self.directory);
        session
            .run_each(&mut list, |entry| story.entries.push((entry.name.to_string(), entry.attributes)))?;
        story.attributes = Some(session.run(&mut Stat::new(self.looks_at))?);
        story.top = Some(session.run(&mut Stat::new(self.top))?);
        story.space = Some(session.run(&mut Statfs::new(self.directory))?);
        Ok(())
    }
}

fn stream<const SIZE: usize, P: Protocol>(
    session: &mut Session<'_, P, impl Link>,
    file: &File<P::Handle>,
    ring: usize,
    lent: &mut Lent,
) -> Result<(), Error> {
    let mut pages = vec![[FRESH; SIZE]; ring / SIZE];
    let before = session.client.counters().file_bytes;
    let outcome =
        session.run_each(&mut Stream::new(file, 0, &mut Pages(&mut pages)), |content| lent.take(content));
    match outcome {
        Ok(end) => assert_eq!(end, lent.len(), "a stream ends where its bytes do"),
        Err(_) => keeps_nothing_else(session, before, pages.as_flattened()),
    }
    outcome.map(|_| ())
}

fn read<P: Protocol>(
    session: &mut Session<'_, P, impl Link>,
    file: &File<P::Handle>,
    offset: u64,
    story: &mut Story,
) -> Result<(), Error> {
    // A page before and one behind, which nobody asked for.
    let mut pages = [[FRESH; 512]; 6];
    let before = session.client.counters().file_bytes;
    let outcome = session.run(&mut Read::new(file, offset, &mut Pages(&mut pages[1..5])));
    let [front, asked @ .., back] = &pages;
    assert_eq!((front, back), (&[FRESH; 512], &[FRESH; 512]), "a byte at a place that was not asked for");
    match outcome {
        Ok(filled) => {
            let (brought, rest) = asked.as_flattened().split_at(filled.len);
            assert!(rest.iter().all(|byte| *byte == 0), "what the file does not fill is zero");
            story.tail = Some((brought.to_vec(), filled.eof));
        }
        Err(_) => keeps_nothing_else(session, before, asked.as_flattened()),
    }
    outcome.map(|_| ())
}

/// Once a read has failed its pages hold only what replies that were whole have brought.
fn keeps_nothing_else<P: Protocol>(session: &Session<'_, P, impl Link>, before: u64, pages: &[u8]) {
    let came = session.client.counters().file_bytes - before;
    let kept = pages.iter().filter(|byte| ![0, FRESH].contains(byte)).count();
    assert!(kept as u64 <= came, "{kept} bytes are in the pages, and {came} came");
}
