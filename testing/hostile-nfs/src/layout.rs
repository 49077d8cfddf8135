//! What of a file is data and what is a hole, and its bytes: made when they are asked for, so that a file of many GiB
//! takes no memory.

/// One run of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// How many bytes.
    pub len: u64,
    /// Whether they are a hole.
    pub hole: bool,
}

/// A piece of a file at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its first byte.
    pub offset: u64,
    /// How many bytes.
    pub len: u64,
    /// Whether they are a hole.
    pub hole: bool,
}

impl Segment {
    /// Where it ends.
    pub const fn end(&self) -> u64 {
        self.offset.saturating_add(self.len)
    }
}

/// A file: runs that are repeated up to its length. Each 8 bytes of data tell where they stand, so no two are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// At least one, none of them empty.
    runs: Vec<Run>,
    len: u64,
}

impl Layout {
    /// These runs, again and again.
    pub fn repeated(runs: &[Run], len: u64) -> Layout {
        assert!(!runs.is_empty() && runs.iter().all(|run| run.len > 0), "every run has bytes");
        Layout { runs: runs.to_vec(), len }
    }

    /// These runs once, by their lengths: first data, then a hole, and so on in turn. The first may be empty.
    pub fn of(lens: &[u64]) -> Layout {
        let runs = lens.iter().enumerate().map(|(at, len)| Run { len: *len, hole: at % 2 == 1 });
        let runs: Vec<_> = runs.filter(|run| run.len > 0).collect();
        Layout::repeated(&runs, lens.iter().sum())
    }

    /// Nothing but data.
    pub fn data(len: u64) -> Layout {
        Layout::repeated(&[Run { len: len.max(1), hole: false }], len)
    }

    /// Nothing but a hole.
    pub fn hole(len: u64) -> Layout {
        Layout::repeated(&[Run { len: len.max(1), hole: true }], len)
    }

    /// So many bytes of data and as many of a hole in turn, beginning with data or with a hole.
    pub fn alternating(run: u64, hole_first: bool, len: u64) -> Layout {
        let runs = [hole_first, !hole_first].map(|hole| Run { len: run, hole });
        Layout::repeated(&runs, len)
    }

    /// The files of the founding table, each with the name that it has there: all data, all hole, and so many pages of
    /// each in turn, from 1 to 16, that begin with data (`1d`) or with a hole (`1h`).
    pub fn table(page: u64, len: u64) -> Vec<(String, Layout)> {
        let mut all = vec![("data".into(), Layout::data(len)), ("hole".into(), Layout::hole(len))];
        for (kind, hole_first) in [("d", false), ("h", true)] {
            for pages in [1, 2, 4, 8, 16] {
                let layout = Layout::alternating(pages * page, hole_first, len);
                all.push((format!("{pages}{kind}"), layout));
            }
        }
        all
    }

    /// The same, cut off.
    #[must_use]
    pub fn truncated(&self, len: u64) -> Layout {
        Layout { len: self.len.min(len), ..self.clone() }
    }

    /// Bytes in all.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of data.
    pub fn used(&self) -> u64 {
        let data = |runs: &[Run], len: u64| {
            let mut left = len;
            let parts = runs.iter().map(|run| {
                let part = run.len.min(left);
                left -= part;
                if run.hole { 0 } else { part }
            });
            parts.sum::<u64>()
        };
        let (times, rest) = (self.len / self.period(), self.len % self.period());
        times * data(&self.runs, u64::MAX) + data(&self.runs, rest)
    }

    fn period(&self) -> u64 {
        self.runs.iter().map(|run| run.len).sum()
    }

    /// What is at an offset, and where the run ends. `None` at the end and behind it.
    fn run_at(&self, offset: u64) -> Option<(bool, u64)> {
        if offset >= self.len {
            return None;
        }
        let mut end = offset - offset % self.period();
        self.runs.iter().find_map(|run| {
            end += run.len;
            (offset < end).then_some((run.hole, end.min(self.len)))
        })
    }

    /// The segments from an offset on, up to `end` or the end of the file. No two of a kind follow each other.
    pub fn segments(&self, offset: u64, end: u64) -> impl Iterator<Item = Segment> {
        let (mut at, end) = (offset, end.min(self.len));
        std::iter::from_fn(move || {
            let (hole, mut until) = self.run_at(at).filter(|_| at < end)?;
            while let Some((_, further)) = self.run_at(until).filter(|next| next.0 == hole && until < end) {
                until = further;
            }
            let segment = Segment { offset: at, len: until.min(end) - at, hole };
            at = segment.end();
            Some(segment)
        })
    }

    /// Where the next data or hole is, at an offset or behind it. At the end of the file there is a hole always.
    pub fn seek(&self, offset: u64, hole: bool) -> Option<u64> {
        let found = self.segments(offset, self.len).take(2).find(|segment| segment.hole == hole);
        found.map(|segment| segment.offset).or(hole.then_some(self.len))
    }

    /// Its bytes from an offset on, `len` at most.
    pub fn read(&self, offset: u64, len: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        for segment in self.segments(offset, offset.saturating_add(len)) {
            match segment.hole {
                true => bytes.resize(bytes.len() + segment.len as usize, 0),
                false => pattern(segment.offset, segment.len, &mut bytes),
            }
        }
        bytes
    }

    /// All its bytes.
    pub fn bytes(&self) -> Vec<u8> {
        self.read(0, self.len)
    }
}

/// Appends what data is at a place: no run of it is at two places.
fn pattern(offset: u64, len: u64, to: &mut Vec<u8>) {
    let end = offset + len;
    let mut at = offset;
    while at < end {
        let record = (((at / 8) << 20) | 0x000A_5A5A).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
        let from = (at % 8) as usize;
        let until = (8 - from).min((end - at) as usize) + from;
        to.extend(&record[from..until]);
        at += (until - from) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file byte by byte: what it is at each place.
    fn naive(runs: &[Run], len: u64) -> Vec<bool> {
        let once: Vec<_> = runs.iter().flat_map(|run| vec![run.hole; run.len as usize]).collect();
        once.into_iter().cycle().take(len as usize).collect()
    }

    #[test]
    fn small_files_agree_with_their_bytes() {
        let run = |len, hole| Run { len, hole };
        for runs in [
            &[run(3, false)][..],
            &[run(3, true), run(2, false)],
            &[run(1, false), run(9, true)],
            &[run(2, false), run(3, false), run(1, true), run(4, false)],
        ] {
            for len in 0..30 {
                let (layout, kinds) = (Layout::repeated(runs, len), naive(runs, len));
                assert_eq!(layout.used(), kinds.iter().filter(|hole| !**hole).count() as u64);
                for (from, until) in (0..=len).flat_map(|from| (from..=len).map(move |until| (from, until))) {
                    let all: Vec<_> = layout.segments(from, until).collect();
                    let flat = all.iter().flat_map(|segment| vec![segment.hole; segment.len as usize]);
                    assert!(flat.eq(kinds[from as usize..until as usize].iter().copied()));
                    assert!(all.windows(2).all(|pair| pair[0].end() == pair[1].offset));
                    assert!(all.windows(2).all(|pair| pair[0].hole != pair[1].hole), "{all:?}");
                    let whole = layout.bytes();
                    assert_eq!(layout.read(from, until - from), whole[from as usize..until as usize]);
                }
                for from in 0..=len {
                    let next = |hole| (from..len).find(|at| kinds[*at as usize] == hole);
                    assert_eq!(layout.seek(from, false), next(false));
                    assert_eq!(layout.seek(from, true), next(true).or(Some(len)));
                }
            }
        }
    }

    #[test]
    fn the_table_has_twelve_files_and_half_of_most_is_a_hole() {
        const LEN: u64 = 2 << 30;
        for page in [4096, 16_384, 65_536] {
            let table = Layout::table(page, LEN);
            let names: Vec<_> = table.iter().map(|(name, _)| name.as_str()).collect();
            let expected = ["data", "hole", "1d", "2d", "4d", "8d", "16d", "1h", "2h", "4h", "8h", "16h"];
            assert_eq!(names, expected);
            let used: Vec<_> = table.iter().map(|(_, layout)| layout.used()).collect();
            assert_eq!(used[..2], [LEN, 0]);
            assert!(used[2..].iter().all(|used| *used == LEN / 2));
            let (_, fourth) = &table[4];
            assert_eq!(
                (fourth.seek(LEN / 2, true), fourth.seek(1, false)),
                (Some(LEN / 2 + 4 * page), Some(1))
            );
            assert_eq!(fourth.read(LEN - 4 * page - 1, 2)[1], 0);
        }
    }
}
