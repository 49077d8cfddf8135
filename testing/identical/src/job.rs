//! The job: what `pagewire_hostile::Program` asks, asked of any protocol over any driver.

use crate::Driver;
use pagewire::{Attributes, Close, Connect, Error, File, List, Open, Pages, Protocol, Stat, Stream};
use pagewire_hostile::Program;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Came {
    /// What the two streams lent.
    pub streams: [Vec<u8>; 2],
    /// What the listing lent.
    pub entries: Vec<(String, Attributes)>,
    /// What the file looked at is.
    pub attributes: Attributes,
}

/// Connects, opens, reads two streams, closes, lists and looks.
pub fn perform<P: Protocol>(program: &Program, driver: &mut impl Driver<P>) -> Result<Came, Error> {
    driver.run_each(&mut Connect::new(), |()| {})?;
    let file = driver.run_each(&mut Open::new(program.path), |()| {})?;
    let streams =
        [stream(driver, &file, program.offset, program.ring / 512)?, stream(driver, &file, program.tail, 8)?];
    driver.run_each(&mut Close::new(&file), |()| {})?;
    let mut entries = Vec::new();
    let mut list = List::new(program.directory);
    driver.run_each(&mut list, |entry| entries.push((entry.name.to_string(), entry.attributes)))?;
    let attributes = driver.run_each(&mut Stat::new(program.looks_at), |()| {})?;
    Ok(Came { streams, entries, attributes })
}

fn stream<P: Protocol>(
    driver: &mut impl Driver<P>,
    file: &File<P::Handle>,
    offset: u64,
    pages: usize,
) -> Result<Vec<u8>, Error> {
    let (mut lent, mut pages) = (Vec::new(), vec![[0; 512]; pages]);
    let mut sink = Pages(&mut pages);
    driver.run_each(&mut Stream::new(file, offset, &mut sink), |run| lent.extend(run.data()))?;
    Ok(lent)
}
