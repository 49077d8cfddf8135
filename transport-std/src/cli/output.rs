//! Writing what a stream lends, as it is lent: there is no buffer in between.

use super::args::Sparse;
use pagewire::Content;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// What `--sparse=always` looks at: a file system stores no less.
const BLOCK_LEN: usize = 4096;

/// Zeros to be written where holes cannot be kept.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// The place that is written to, from its start.
pub struct Output<'f> {
    file: &'f File,
    sparse: Sparse,
    /// Bytes up to here.
    at: u64,
    /// The last of them are a hole that nothing was written behind.
    ends_in_hole: bool,
}

impl<'f> Output<'f> {
    /// Writes to `file`. Only in a `new` one, which is empty, can holes be kept: it reads as zeros where nothing was written.
    pub fn new(file: &'f File, new: bool, sparse: Sparse) -> Output<'f> {
        let sparse = if new { sparse } else { Sparse::Never };
        Output { file, sparse, at: 0, ends_in_hole: false }
    }

    pub fn write(&mut self, content: Content<'_>) -> io::Result<()> {
        match (content, self.sparse) {
            (Content::Data(bytes), Sparse::Always) => self.write_blocks(bytes),
            (Content::Data(bytes), _) => self.write_data(bytes),
            (Content::Hole(len), Sparse::Never) => self.write_zeros(len),
            (Content::Hole(len), _) => self.leave_out(len),
        }
    }

    /// Where the file ends.
    pub fn end(&mut self) -> io::Result<()> {
        if self.ends_in_hole { self.file.set_len(self.at) } else { Ok(()) }
    }

    fn write_data(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        (self.at, self.ends_in_hole) = (self.at + bytes.len() as u64, false);
        Ok(())
    }

    /// Leaves out the blocks that are all zeros.
    fn write_blocks(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let to_border = BLOCK_LEN - (self.at % BLOCK_LEN as u64) as usize;
            let (block, rest) = bytes.split_at(to_border.min(bytes.len()));
            match block.iter().all(|byte| *byte == 0) {
                true => self.leave_out(block.len() as u64)?,
                false => self.write_data(block)?,
            }
            bytes = rest;
        }
        Ok(())
    }

    fn write_zeros(&mut self, mut len: u64) -> io::Result<()> {
        while len > 0 {
            let zeros = &ZEROS[..len.min(ZEROS.len() as u64) as usize];
            self.write_data(zeros)?;
            len -= zeros.len() as u64;
        }
        Ok(())
    }

    fn leave_out(&mut self, len: u64) -> io::Result<()> {
        (self.at, self.ends_in_hole) = (self.at + len, true);
        self.file.seek(SeekFrom::Start(self.at)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// What the file is after `contents` were written, and where something was stored.
    fn written(new: bool, sparse: Sparse, contents: &[Content<'_>]) -> (Vec<u8>, u64) {
        let mut file = tempfile::tempfile().unwrap();
        let mut output = Output::new(&file, new, sparse);
        for content in contents {
            output.write(*content).unwrap();
        }
        output.end().unwrap();
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        #[cfg(unix)]
        let stored = 512 * std::os::unix::fs::MetadataExt::blocks(&file.metadata().unwrap());
        #[cfg(not(unix))]
        let stored = bytes.len() as u64;
        (bytes, stored)
    }

    #[test]
    fn every_way_writes_the_same_bytes_and_keeps_the_holes_it_says() {
        const MIB: usize = 1 << 20;
        let (data, zeros) = (vec![7; 5000], vec![0; MIB]);
        let contents = [
            Content::Hole(MIB as u64),
            Content::Data(&data),
            Content::Data(&zeros),
            Content::Data(&data),
            Content::Hole(MIB as u64),
        ];
        let whole: Vec<u8> = [&zeros[..], &data, &zeros, &data, &zeros].concat();
        for (new, sparse, stored_max) in [
            (true, Sparse::Never, u64::MAX),
            (true, Sparse::Auto, MIB as u64 + 65_536),
            (true, Sparse::Always, 65_536),
            (false, Sparse::Always, u64::MAX),
        ] {
            let (bytes, stored) = written(new, sparse, &contents);
            assert!(bytes == whole, "{sparse:?} {new}");
            assert!(stored <= stored_max, "{sparse:?} {new}: {stored}");
            let least = if sparse == Sparse::Never || !new { 3 * MIB as u64 } else { 1 };
            assert!(stored >= least, "{sparse:?} {new}: {stored}");
        }
        assert!(written(true, Sparse::Auto, &[]).0.is_empty());
    }
}
