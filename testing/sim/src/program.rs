//! What is asked of the engine, and what has to come of it.

use crate::dice::Dice;
use crate::noise::Noisy;
use crate::side::{Segment, Truth};
use pagewire::operation::Operation;
use pagewire::{
    Buffer, Close, Connect, Disconnect, Error, Fetch, Fetched, File, Keepalive, Kind, Lane, List, Map, Open,
    PageList, Pages, Protocol, Read, Reason, Refusal, Stat, StatBoth, Statfs, Stream,
};
use pagewire_line::{Line, Link};

/// A byte that no page has before it is asked for.
const FRESH: u8 = 0xAA;

/// A thing to ask.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Connect.
    Connect,
    /// The attributes of the file, its space, or both.
    Stat,
    /// The space.
    Statfs,
    /// Both.
    StatBoth,
    /// The directory.
    List,
    /// The segments of the file.
    Map,
    /// So many pages of the file from an offset on, in order or not.
    Read(u64, usize, bool),
    /// The file from an offset on through so many pages, around holes or not.
    Stream(u64, usize, bool),
    /// The file and one that is not there, so many side by side.
    Fetch(usize),
    /// So many steps of a stream, and then it is dropped.
    Abandon(usize),
    /// Keepalive.
    Keepalive,
    /// Disconnect.
    Disconnect,
}

impl Act {
    /// Something to ask of a file of `len` bytes, whose pages have `page` bytes.
    pub fn draw(dice: &mut Dice, len: u64, page: usize) -> Act {
        let offset = if dice.once_in(2) { 0 } else { dice.any() % (len + 10) };
        // Pages for 64 KiB at most, and one at least.
        let pages = 1 + dice.below((65_536 / page).min(20));
        match dice.below(18) {
            0 => Act::Connect,
            1 => Act::Stat,
            2 => Act::Statfs,
            3 => Act::StatBoth,
            4 | 5 => Act::List,
            6 | 7 => Act::Map,
            8..11 => Act::Read(offset, pages, dice.once_in(2)),
            11..14 => Act::Stream(offset, pages, dice.once_in(4)),
            14 => Act::Fetch(1 + dice.below(3)),
            15 => Act::Abandon(dice.scaled(7)),
            16 => Act::Keepalive,
            _ => Act::Disconnect,
        }
    }
}

/// An engine that is asked, its link, and what is true.
pub struct Session<'t, 's, P: Protocol, L> {
    /// The engine and its link.
    pub line: pagewire_line::Session<'s, P, Line<Noisy<L>>>,
    /// What is true.
    pub truth: &'t Truth,
    /// Whether what is wrong with bytes on their way must be told.
    pub protects: bool,
    /// Whether the server lies; no lie of a world is about what is in a file.
    pub lies: bool,
}

/// What came of something.
type Came<T = ()> = Result<T, Error>;

impl<P: Protocol, L: Link> Session<'_, '_, P, L> {
    /// Asks, and holds what comes against the truth. With pages of `SIZE` bytes. A file that is to be opened again, as the engine
    /// says and does not do behind the caller's back, is opened again once.
    pub fn act<const SIZE: usize>(&mut self, act: Act) -> Came {
        match (self.ask::<SIZE>(act), act) {
            (Err(Error::Refused(Refusal { reason: Reason::Expired, .. })), Act::Fetch(_)) => {
                self.ask::<SIZE>(Act::Fetch(1))
            }
            (Err(Error::Refused(Refusal { reason: Reason::Expired, .. })), _) => self.ask::<SIZE>(act),
            (came, _) => came,
        }
    }

    fn ask<const SIZE: usize>(&mut self, act: Act) -> Came {
        match act {
            Act::Connect => self.run(&mut Connect::new()),
            Act::Keepalive => self.run(&mut Keepalive::new()),
            Act::Disconnect => self.run(&mut Disconnect::new()),
            Act::Statfs => self.run(&mut Statfs::new(self.truth.file)).map(|_| ()),
            Act::Stat => {
                let attributes = self.run(&mut Stat::new(self.truth.file))?;
                self.is_the_file(attributes.kind, attributes.len);
                Ok(())
            }
            Act::StatBoth => {
                let (attributes, _) = self.run(&mut StatBoth::new(self.truth.file))?;
                self.is_the_file(attributes.kind, attributes.len);
                Ok(())
            }
            Act::List => self.list(),
            Act::Fetch(lanes) => self.fetch::<SIZE>(lanes),
            Act::Abandon(steps) => {
                let file = self.open()?;
                let mut pages = vec![[FRESH; SIZE]; 2];
                self.line.abandon(Stream::new(&file, 0, &mut Pages(&mut pages)), steps);
                self.run(&mut Close::new(&file))
            }
            Act::Map | Act::Read(..) | Act::Stream(..) => {
                let file = self.open()?;
                let came = match act {
                    Act::Read(offset, pages, listed) => self.read::<SIZE>(&file, offset, pages, listed),
                    Act::Stream(offset, pages, whole) => self.stream::<SIZE>(&file, offset, pages, whole),
                    _ => self.map(&file),
                };
                let closed = self.run(&mut Close::new(&file));
                came.and(closed)
            }
        }
    }

    fn run<O: Operation<P>>(&mut self, op: &mut O) -> Came<O::Output>
    where
        O::Output: std::fmt::Debug,
    {
        self.line.run(op)
    }

    /// Whether bytes of a file that are lent must be right.
    fn judges(&self) -> bool {
        self.protects || !self.line.link.end.has_garbled()
    }

    /// Whether all else must be, too.
    fn judges_all(&self) -> bool {
        self.judges() && !self.lies
    }

    fn is_the_file(&self, kind: Kind, len: u64) {
        if self.judges_all() {
            assert_eq!(
                (kind, len),
                (Kind::File, self.truth.content.len() as u64),
                "wrong attributes were lent"
            );
        }
    }

    /// What was lent from an offset on is the beginning of what is there; all of it, unless somebody lied.
    fn is_right(&self, offset: u64, lent: &[u8], ended: bool) {
        if !self.judges() {
            return;
        }
        let right = &self.truth.content[self.truth.content.len().min(offset as usize)..];
        assert!(right.starts_with(lent), "wrong bytes were lent");
        assert!(!ended || self.lies || lent.len() == right.len(), "bytes are missing");
    }

    fn open(&mut self) -> Came<File<P::Handle>> {
        let file = self.run(&mut Open::new(self.truth.file))?;
        self.is_the_file(file.attributes.kind, file.attributes.len);
        Ok(file)
    }

    fn list(&mut self) -> Came {
        let mut entries = Vec::new();
        let mut list = List::new(self.truth.directory);
        let came = self
            .line
            .run_each(&mut list, |entry| entries.push((entry.name.to_string(), entry.attributes.len)));
        if self.judges_all() {
            // The length of a directory is the server's own affair, and not all listings bring lengths.
            let names =
                |entries: &[(String, u64)]| entries.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
            entries.sort();
            let (lent, right) = (names(&entries), names(&self.truth.entries));
            assert!(lent.iter().all(|name| right.contains(name)), "wrong names were lent: {lent:?}");
            assert!(lent.windows(2).all(|pair| pair[0] != pair[1]), "a name was lent twice: {lent:?}");
            assert!(came.is_err() || lent == right, "names are missing: {lent:?}");
        }
        came
    }

    fn map(&mut self, file: &File<P::Handle>) -> Came {
        let mut map: Vec<Segment> = Vec::new();
        let came = self.line.run_each(&mut Map::new(file, 0), |segment| {
            map.push((segment.offset, segment.end(), segment.hole))
        });
        let mut at = 0;
        for (start, end, _) in &map {
            assert!(*start == at && end > start, "segments do not follow each other: {map:?}");
            at = *end;
        }
        let (content, len) = (&self.truth.content, self.truth.content.len() as u64);
        if self.judges() {
            let bytes = |start: u64, end: u64| &content[start.min(len) as usize..end.min(len) as usize];
            let wrong =
                |(start, end, hole): &Segment| *hole && bytes(*start, *end).iter().any(|byte| *byte != 0);
            assert!(!map.iter().any(wrong), "what is data was lent as a hole");
        }
        if self.judges_all() && came.is_ok() {
            assert_eq!(at, len, "the map does not end with the file");
            let right = self.truth.map.as_ref();
            assert!(right.is_none_or(|right| map == *right), "a wrong map was lent: {map:?}");
        }
        came
    }

    fn read<const SIZE: usize>(
        &mut self,
        file: &File<P::Handle>,
        offset: u64,
        count: usize,
        listed: bool,
    ) -> Came {
        // A page before and one behind, which nobody asked for.
        let mut pages = vec![[FRESH; SIZE]; count + 2];
        let asked = &mut pages[1..=count];
        let came = match listed {
            true => {
                let mut order: Vec<_> = asked.iter_mut().collect();
                self.line.run(&mut Read::new(file, offset, &mut PageList(&mut order)))
            }
            false => self.line.run(&mut Read::new(file, offset, &mut Pages(asked))),
        };
        let [front, asked @ .., back] = &pages[..] else { unreachable!("there are two more") };
        assert_eq!((front, back), (&[FRESH; SIZE], &[FRESH; SIZE]), "a byte where nobody asked for it");
        let asked = asked.as_flattened();
        match came {
            Ok(filled) => {
                let (lent, rest) = asked.split_at(filled.len);
                assert!(rest.iter().all(|byte| *byte == 0), "what the file does not fill is not zero");
                self.is_right(offset, lent, filled.eof);
                assert!(filled.eof || rest.is_empty(), "pages are not filled, and the file goes on");
            }
            Err(_) => self.keeps_nothing_wrong(offset, asked),
        }
        came.map(|_| ())
    }

    /// Once a read has failed its pages hold nothing but what is right, zeros, and what was there before.
    fn keeps_nothing_wrong(&self, offset: u64, pages: &[u8]) {
        if self.judges() {
            let right = self.truth.content.iter().skip(offset as usize).chain(std::iter::repeat(&0));
            let mut both = pages.iter().zip(right);
            assert!(both.all(|(byte, right)| [0, FRESH, *right].contains(byte)), "a page keeps wrong bytes");
        }
    }

    fn stream<const SIZE: usize>(
        &mut self,
        file: &File<P::Handle>,
        offset: u64,
        count: usize,
        whole: bool,
    ) -> Came {
        let mut pages = vec![[FRESH; SIZE]; count];
        let mut sink = Pages(&mut pages);
        let mut stream = match whole {
            true => Stream::whole(file, offset, &mut sink),
            false => Stream::new(file, offset, &mut sink),
        };
        let (mut lent, most) = (Vec::new(), self.truth.content.len());
        let came = self.line.run_each(&mut stream, |content| match content.data() {
            // Who lies about the length of a file may do so about that of a hole.
            [] => lent.resize((lent.len() as u64 + content.len()).min(2 * most as u64) as usize, 0),
            data => lent.extend(data),
        });
        self.is_right(offset, &lent, came.is_ok());
        came.map(|_| ())
    }

    fn fetch<const SIZE: usize>(&mut self, lanes: usize) -> Came {
        let nowhere = format!("{}/nowhere", self.truth.directory);
        let mut paths = [self.truth.file, &nowhere, self.truth.file].into_iter();
        let mut lanes: Vec<_> = (0..lanes).map(|_| Lane::new()).collect();
        let (mut heads, mut pages) = (vec![FRESH; 1000 * lanes.len()], vec![[FRESH; SIZE]; 2]);
        let (mut heads, mut pages) = (Buffer(&mut heads), Pages(&mut pages));
        let mut fetch = Fetch::new(&mut paths, &mut lanes, &mut heads, &mut pages);
        let mut files = vec![];
        let came = self.line.run_each(&mut fetch, |fetched| match fetched {
            Fetched::Opened { .. } => files.push((vec![], None)),
            Fetched::Content(content) => {
                let (lent, _) = files.last_mut().expect("one is open");
                match content.data() {
                    [] => lent.resize(lent.len() + content.len().min(1 << 24) as usize, 0),
                    data => lent.extend(data),
                }
            }
            Fetched::Ended(_) => files.last_mut().expect("one is open").1 = Some(Ok(())),
            Fetched::Failed(error) => match files.last_mut().filter(|(_, ended)| ended.is_none()) {
                Some((_, ended)) => *ended = Some(Err(error)),
                None => files.push((vec![], Some(Err(error)))),
            },
        });
        files.iter().for_each(|(lent, ended)| self.is_right(0, lent, *ended == Some(Ok(()))));
        if came.is_ok() && self.judges_all() {
            assert!(
                files.len() == 3 && files[1].1.is_some_and(|ended| ended.is_err()),
                "{} files",
                files.len()
            );
        }
        came.and(files.iter().step_by(2).filter_map(|(_, ended)| *ended).collect())
    }
}
