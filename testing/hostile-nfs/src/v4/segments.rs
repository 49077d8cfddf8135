//! The segments of a READ_PLUS, and what may be wrong with them.

use super::quirk::Shape;
use crate::layout::{Layout, Segment};
use crate::xdr::Xdr;

/// `read_plus_res4`, before it is written.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    eof: bool,
    segments: Vec<Segment>,
    /// How many segments are said to follow, more than do.
    surplus: i64,
    /// What every segment is, in place of data or a hole.
    content: Option<u32>,
}

impl Reply {
    pub fn new(eof: bool, segments: Vec<Segment>) -> Reply {
        Reply { eof, segments, surplus: 0, content: None }
    }

    /// Makes it wrong, where so many bytes were `asked` for.
    pub fn shape(&mut self, shape: Shape, asked: Segment) {
        let all = &mut self.segments;
        match shape {
            Shape::HoleBefore(len) => before(all, len, true),
            Shape::DataBefore(len) => before(all, len, false),
            Shape::HoleLonger(len) => longer(all, len, true),
            Shape::DataLonger(len) => longer(all, len, false),
            Shape::BothEnds(len) => {
                for hole in [true, false] {
                    before(all, len, hole);
                    longer(all, len, hole);
                }
            }
            Shape::Split(len) => *all = all.iter().flat_map(|segment| split(*segment, len)).collect(),
            Shape::NoSegments => (self.eof, *all) = (false, Vec::new()),
            Shape::EmptyAtZero => {
                (self.eof, *all) = (false, vec![Segment { offset: 0, len: 0, hole: false }])
            }
            Shape::EmptyBetween => {
                let empty = |at: &Segment| Segment { len: 0, hole: false, ..*at };
                *all = all.iter().flat_map(|segment| [empty(segment), *segment]).collect();
            }
            Shape::CutOff(len) => *all = cut_off(all, asked.offset.saturating_add(len)),
            Shape::EofAlways => self.eof = true,
            Shape::Outside(len) => {
                let offset = asked.offset.saturating_sub(len);
                all.insert(0, Segment { offset, len: len.min(asked.offset), hole: true });
            }
            Shape::Elsewhere(len) => all.iter_mut().for_each(|segment| segment.offset += len),
            Shape::Overlap(len) => all.iter_mut().skip(1).for_each(|segment| {
                (segment.offset, segment.len) = (segment.offset - len, segment.len + len);
            }),
            Shape::Gap(len) => all.iter_mut().skip(1).for_each(|segment| {
                let len = len.min(segment.len);
                (segment.offset, segment.len) = (segment.offset + len, segment.len - len);
            }),
            Shape::Reversed => all.reverse(),
            Shape::CountMore(count) => self.surplus = count.into(),
            Shape::CountFewer(count) => self.surplus = -i64::from(count),
            Shape::HugeHoles => all.iter_mut().filter(|segment| segment.hole).for_each(|hole| {
                hole.len = u64::MAX - hole.offset;
            }),
            Shape::OtherContent(content) => self.content = Some(content),
        }
    }

    /// Behind the end of the file data is zeros.
    pub fn encode(&self, file: &Layout, x: &mut Xdr) {
        let count = (self.segments.len() as i64 + self.surplus) as u32;
        x.word(self.eof.into()).word(count);
        for segment in &self.segments {
            x.word(self.content.unwrap_or(segment.hole.into())).hyper(segment.offset);
            if segment.hole {
                x.hyper(segment.len);
            } else {
                let mut data = file.read(segment.offset, segment.len);
                data.resize(segment.len as usize, 0);
                x.file_data(&data, data.len());
            }
        }
    }
}

fn before(segments: &mut [Segment], len: u64, hole: bool) {
    if let Some(first) = segments.first_mut().filter(|first| first.hole == hole) {
        let len = len.min(first.offset);
        (first.offset, first.len) = (first.offset - len, first.len + len);
    }
}

fn longer(segments: &mut [Segment], len: u64, hole: bool) {
    if let Some(last) = segments.last_mut().filter(|last| last.hole == hole) {
        last.len += len;
    }
}

fn split(segment: Segment, len: u64) -> impl Iterator<Item = Segment> {
    let piece = move |at: u64| {
        let (offset, len) = (segment.offset + at * len, len.min(segment.len - at * len));
        Segment { offset, len, ..segment }
    };
    (0..segment.len.div_ceil(len)).map(piece)
}

fn cut_off(segments: &[Segment], end: u64) -> Vec<Segment> {
    let cut = |segment: &Segment| {
        (segment.offset < end).then(|| Segment { len: segment.len.min(end - segment.offset), ..*segment })
    };
    segments.iter().filter_map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 100;

    /// What becomes of three pages, data first, asked for from the second on, in short; the count that is said, and eof.
    fn shaped(shape: Shape) -> (String, u32, bool) {
        let file = Layout::alternating(PAGE, false, 10 * PAGE);
        let asked = Segment { offset: 2 * PAGE, len: 3 * PAGE, hole: false };
        let mut reply = Reply::new(false, file.segments(asked.offset, asked.end()).collect());
        reply.shape(shape, asked);
        let short = |segment: &Segment| {
            format!("{}{}+{}", if segment.hole { 'h' } else { 'd' }, segment.offset, segment.len)
        };
        let all: Vec<_> = reply.segments.iter().map(short).collect();
        let mut x = Xdr::default();
        reply.encode(&file, &mut x);
        let mut args = crate::Args(&x.bytes);
        let (eof, count) = (args.word() == 1, args.word());
        (all.join(" "), count, eof)
    }

    #[test]
    fn each_shape_is_what_it_says() {
        for (shape, is, count) in [
            (Shape::HoleBefore(7), "d200+100 h300+100 d400+100", 3),
            (Shape::DataBefore(7), "d193+107 h300+100 d400+100", 3),
            (Shape::HoleLonger(7), "d200+100 h300+100 d400+100", 3),
            (Shape::DataLonger(7), "d200+100 h300+100 d400+107", 3),
            (Shape::BothEnds(7), "d193+107 h300+100 d400+107", 3),
            (Shape::Split(60), "d200+60 d260+40 h300+60 h360+40 d400+60 d460+40", 6),
            (Shape::NoSegments, "", 0),
            (Shape::EmptyAtZero, "d0+0", 1),
            (Shape::EmptyBetween, "d200+0 d200+100 d300+0 h300+100 d400+0 d400+100", 6),
            (Shape::CutOff(150), "d200+100 h300+50", 2),
            (Shape::Outside(50), "h150+50 d200+100 h300+100 d400+100", 4),
            (Shape::Elsewhere(300), "d500+100 h600+100 d700+100", 3),
            (Shape::Overlap(7), "d200+100 h293+107 d393+107", 3),
            (Shape::Gap(7), "d200+100 h307+93 d407+93", 3),
            (Shape::Reversed, "d400+100 h300+100 d200+100", 3),
            (Shape::CountMore(2), "d200+100 h300+100 d400+100", 5),
            (Shape::CountFewer(2), "d200+100 h300+100 d400+100", 1),
            (Shape::HugeHoles, "d200+100 h300+18446744073709551315 d400+100", 3),
        ] {
            assert_eq!(shaped(shape), (is.to_owned(), count, false), "{shape:?}");
        }
        assert!(shaped(Shape::EofAlways).2);
    }
}
