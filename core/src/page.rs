//! Pages: the memory that file data lands in, lent by the caller, in any size that is a power of two.
//!
//! The page size is a const generic here and nowhere else: behind [`Sink`] the engine is compiled once.

use crate::limits::PAGE_LEN_MIN;

/// Memory to be filled, seen as one run of bytes that need not be contiguous.
pub trait Sink {
    /// All of it, in bytes.
    fn len(&self) -> usize;

    /// Whether there is nothing to fill.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of one page.
    fn page_len(&self) -> usize;

    /// The longest contiguous run that starts at `at`. Empty at the end and beyond.
    fn run(&mut self, at: usize) -> &mut [u8];
}

/// Page sizes are powers of two from 512 bytes on. Fails to compile otherwise.
struct Checked<const SIZE: usize>;
impl<const SIZE: usize> Checked<SIZE> {
    const PAGE_LEN: usize = {
        assert!(
            SIZE.is_power_of_two() && SIZE >= PAGE_LEN_MIN,
            "a page is a power of two of at least 512 bytes"
        );
        SIZE
    };
}

/// Contiguous pages.
#[derive(Debug)]
pub struct Pages<'p, const SIZE: usize>(pub &'p mut [[u8; SIZE]]);

impl<const SIZE: usize> Sink for Pages<'_, SIZE> {
    fn len(&self) -> usize {
        self.0.as_flattened().len()
    }
    fn page_len(&self) -> usize {
        Checked::<SIZE>::PAGE_LEN
    }
    fn run(&mut self, at: usize) -> &mut [u8] {
        self.0.as_flattened_mut().get_mut(at..).unwrap_or(&mut [])
    }
}

/// Pages that lie anywhere, as a page cache has them.
#[derive(Debug)]
pub struct PageList<'p, 'q, const SIZE: usize>(pub &'p mut [&'q mut [u8; SIZE]]);

impl<const SIZE: usize> Sink for PageList<'_, '_, SIZE> {
    fn len(&self) -> usize {
        self.0.len().saturating_mul(SIZE)
    }
    fn page_len(&self) -> usize {
        Checked::<SIZE>::PAGE_LEN
    }
    #[expect(clippy::arithmetic_side_effects, reason = "a page is never empty")]
    fn run(&mut self, at: usize) -> &mut [u8] {
        let page = self.0.get_mut(at / Checked::<SIZE>::PAGE_LEN);
        page.and_then(|page| page.get_mut(at % SIZE..)).unwrap_or(&mut [])
    }
}

/// Any bytes, with a page as long as all of them: for callers that have a buffer and no pages.
#[derive(Debug)]
pub struct Buffer<'p>(pub &'p mut [u8]);

impl Sink for Buffer<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn page_len(&self) -> usize {
        self.0.len()
    }
    fn run(&mut self, at: usize) -> &mut [u8] {
        self.0.get_mut(at..).unwrap_or(&mut [])
    }
}

/// Zeroes `len` bytes from `at` on, or as many as there are.
pub(crate) fn zero(sink: &mut dyn Sink, mut at: usize, len: usize) {
    let end = at.saturating_add(len).min(sink.len());
    while at < end {
        let run = sink.run(at);
        let len = run.len().min(end.saturating_sub(at));
        // A sink that has no byte before its end breaks its word: leave rather than turn for ever.
        if len == 0 {
            return;
        }
        run.iter_mut().take(len).for_each(|byte| *byte = 0);
        at = at.saturating_add(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn fill(sink: &mut dyn Sink) {
        let mut at = 0;
        while at < sink.len() {
            sink.run(at)[0] = (at % 251) as u8;
            at += 1;
        }
    }

    #[test]
    fn scattered_pages_in_any_order_read_as_one_run() {
        let (mut first, mut second) = ([0u8; 512], [0u8; 512]);
        let mut list = [&mut second, &mut first];
        let mut pages = PageList(&mut list);
        fill(&mut pages);
        assert_eq!(pages.run(1024), &[0u8; 0]);
        assert_eq!(pages.run(500).len(), 12);
        let expected: Vec<u8> = (0..1024).map(|at| (at % 251) as u8).collect();
        assert_eq!([second, first].as_flattened(), expected);
    }

    #[test]
    fn contiguous_pages_give_runs_across_page_borders() {
        let mut memory = [[0u8; 512]; 3];
        let mut pages = Pages(&mut memory);
        assert_eq!((pages.len(), pages.page_len(), pages.run(600).len()), (1536, 512, 936));
        assert!(pages.run(1536).is_empty() && pages.run(usize::MAX).is_empty());
    }

    #[test]
    fn zeroing_stays_inside_its_range_and_inside_the_sink() {
        let (mut first, mut second) = ([1u8; 512], [1u8; 512]);
        let mut list = [&mut first, &mut second];
        zero(&mut PageList(&mut list), 510, 4);
        zero(&mut PageList(&mut list), 1023, 100);
        let zeros: Vec<usize> = [first, second]
            .as_flattened()
            .iter()
            .enumerate()
            .filter(|(_, b)| **b == 0)
            .map(|(i, _)| i)
            .collect();
        assert_eq!(zeros, [510, 511, 512, 513, 1023]);
    }
}
