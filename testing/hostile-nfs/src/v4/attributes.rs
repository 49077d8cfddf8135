//! `fattr4`: what was asked for of what is known, and nothing else (RFC 7530 5, RFC 8881 5).

use super::model::Model;
use super::quirk::Quirk;
use crate::Node;
use crate::tree::WRITTEN;
use crate::xdr::{Args, Xdr};

/// Numbers of attributes, the lowest first.
#[derive(Clone, Debug)]
pub(super) struct Asked(Vec<u32>);

impl Asked {
    /// `bitmap4`.
    pub fn decode(args: &mut Args<'_>) -> Asked {
        let words: Vec<u32> = (0..args.word()).map(|_| args.word()).collect();
        let has = |number: &u32| words[*number as usize / 32] >> (number % 32) & 1 == 1;
        Asked((0..32 * words.len() as u32).filter(has).collect())
    }
}

fn bitmap(numbers: &[u32], x: &mut Xdr) {
    let count = numbers.last().map_or(0, |last| last / 32 + 1);
    let word = |at: u32| {
        numbers.iter().filter(|number| *number / 32 == at).fold(0, |word, number| word | 1 << (number % 32))
    };
    x.word(count).words(&(0..count).map(word).collect::<Vec<_>>());
}

impl Model {
    pub(super) fn fattr4(&mut self, asked: Asked, node: &Node, x: &mut Xdr) {
        let (mut told, mut values) = (Vec::new(), Xdr::padded(x.padding));
        for number in asked.0 {
            if self.attribute(number, node, &mut values) {
                told.push(number);
            }
        }
        bitmap(&told, x);
        x.opaque(&values.bytes);
    }

    /// Appends one, if it is known.
    fn attribute(&mut self, number: u32, node: &Node, x: &mut Xdr) -> bool {
        match number {
            1 => x.word(node.file_type()),
            3 => x.hyper(self.change()),
            4 => x.hyper(node.len()),
            8 => x.hyper(7).hyper(0), // fsid
            10 => x.word(90),         // lease_time
            11 => x.word(0),          // rdattr_error
            19 => x.opaque(&node.handle(self.config.handle_len)),
            20 => x.hyper(node.id),
            24 => {
                // fs_locations: the root here, and two places of one server or two each.
                x.words(&[1]).opaque(b"export").word(2);
                x.word(1).opaque(b"other").words(&[2]).opaque(b"there").opaque(b"f");
                x.word(2).opaque(b"a").opaque(b"b").word(0)
            }
            29 => x.word(255), // maxname
            30 => x.hyper(self.config.maxread.into()),
            33 => x.word(0o644),
            35 => x.word(1),        // numlinks
            42 => x.hyper(1 << 38), // space_avail
            43 => x.hyper(1 << 39), // space_free
            44 => x.hyper(1 << 40), // space_total
            45 => x.hyper(node.used()),
            47 => x.hyper(WRITTEN.into()).word(1), // time_access
            52 => x.hyper(WRITTEN.into()).word(3), // time_metadata
            53 => x.hyper(WRITTEN.into()).word(2), // time_modify
            _ => return false,
        };
        true
    }

    /// `change`: the same always, or another one each time.
    fn change(&mut self) -> u64 {
        match self.shows(Quirk::Changes) {
            true => self.new_id(),
            false => 1,
        }
    }
}
