//! What a stream has lent: the bytes of its data, and where its holes are, which may be longer than any memory.

use pagewire::Content;

/// The content of a file from its start on, as it was lent. Two are the same if their bytes are, holes or not.
#[derive(Clone, Debug, Default)]
pub struct Lent {
    data: Vec<u8>,
    /// Start and end, in order; no two meet.
    holes: Vec<(u64, u64)>,
    len: u64,
}

impl Lent {
    /// All of it is data.
    pub fn data(data: Vec<u8>) -> Lent {
        Lent { len: data.len() as u64, holes: Vec::new(), data }
    }

    /// What was lent next.
    pub fn take(&mut self, content: Content<'_>) {
        assert!(!content.is_empty(), "nothing was lent");
        let (start, end) = (self.len, self.len + content.len());
        self.len = end;
        match content {
            Content::Data(bytes) => self.data.extend(bytes),
            Content::Hole(_) => match self.holes.last_mut().filter(|hole| hole.1 == start) {
                Some(last) => last.1 = end,
                None => self.holes.push((start, end)),
            },
        }
    }

    /// How many bytes, those of the holes too.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing was lent.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where its holes start and end.
    pub fn holes(&self) -> &[(u64, u64)] {
        &self.holes
    }

    /// Whether `whole` begins with it.
    pub fn begins(&self, whole: &Lent) -> bool {
        self.len <= whole.len && whole.bytes().starts_with(&self.bytes())
    }

    /// All its bytes, those of the holes too.
    pub fn bytes(&self) -> Vec<u8> {
        let (mut bytes, mut data) = (Vec::new(), &self.data[..]);
        for (start, end) in &self.holes {
            let (before, rest) = data.split_at(*start as usize - bytes.len());
            bytes.extend(before);
            bytes.resize(*end as usize, 0);
            data = rest;
        }
        bytes.extend(data);
        bytes
    }
}

impl PartialEq for Lent {
    fn eq(&self, other: &Lent) -> bool {
        self.len == other.len && self.bytes() == other.bytes()
    }
}

impl Eq for Lent {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_holes_are_what_they_were_lent_as() {
        let mut lent = Lent::default();
        for content in [Content::Hole(1), Content::Data(&[7]), Content::Hole(1), Content::Hole(1)] {
            lent.take(content);
        }
        lent.take(Content::Data(&[0, 9]));
        assert_eq!((lent.holes(), lent.len()), (&[(0, 1), (2, 4)][..], 6));
        let whole = Lent::data(vec![0, 7, 0, 0, 0, 9]);
        assert!(lent == whole && lent.begins(&whole));
        assert!(lent.begins(&Lent::data(vec![0, 7, 0, 0, 0, 9, 1])));
        assert!(!lent.begins(&Lent::data(vec![0, 7, 0, 0, 0])));
        lent.take(Content::Hole(1 << 61));
        assert!(lent != whole && !lent.begins(&whole));
    }
}
