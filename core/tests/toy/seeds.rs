//! Worlds out of a seed: every habit of a server, every budget and every cut, mixed.

use super::peer::Peer;
use super::world::{Memory, World, assert_same};
use pagewire::{List, PageList, Pages, Read, Stat, Stream};

/// A small generator: SplitMix64.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % most
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    pub fn peer(&mut self) -> Peer {
        let at_open = self.below(9000);
        let shrinks = self.below(4) == 0;
        let mut ends: Vec<_> = (0..self.below(4) * 2).map(|_| self.below(at_open + 1)).collect();
        ends.sort_unstable();
        ends.dedup();
        let names = (0..self.below(90)).map(|i| format!("{i:0width$}", width = 1 + i as usize % 40));
        Peer {
            names: names.map(String::into_bytes).collect(),
            file_len: if shrinks { self.below(at_open + 1) } else { at_open },
            file_len_at_open: at_open,
            holes: ends.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
            plus: self.below(2) == 0,
            read_len_max: self.one_of(&[5, 100, 333, 512, 4096, 65536]),
            sealed: self.below(2) == 0,
            unit: self.one_of(&[100, 512, 65536]),
            credits: self.one_of(&[1, 2, 5, 200]),
            gap: self.one_of(&[0, 1, 100]),
            pad: self.one_of(&[0, 1, 100]),
            short: self.one_of(&[1000, 1000, 77, u32::MAX]),
            reversed: self.below(2) == 0,
            chain: self.below(2) == 0,
            batch: self.one_of(&[1, 2, 99]),
            pending: self.below(3) as u32,
            ..Peer::default()
        }
    }
}

/// What is to come of `len` bytes from `offset` on: zeros behind the end.
fn right(peer: &Peer, offset: u64, len: usize) -> Vec<u8> {
    let mut bytes = peer.bytes(offset, offset + len as u64);
    bytes.resize(len, 0);
    bytes
}

/// One operation, sometimes dropped half-way; what comes of it must be the file.
fn operate(world: &mut World<'_>, file: &pagewire::File<u32>, dice: &mut Dice, seed: u64) {
    let (len, dropped) = (world.peer.file_len, dice.below(3) == 0);
    let steps = if dropped { dice.below(60) as usize } else { usize::MAX };
    let offset = dice.below(len + 10);
    let mut pages = vec![[0xEE; 512]; 1 + dice.below(12) as usize];
    let all = pages.len() * 512;
    let mut order: Vec<_> = pages.iter_mut().collect();
    match dice.below(4) {
        0 => {
            let ended = world.run_steps(&mut Read::new(file, offset, &mut PageList(&mut order)), steps);
            if ended {
                assert_same(pages.as_flattened(), &right(&world.peer, offset, all), &seed);
            }
        }
        1 if dropped => {
            world.run_steps(&mut Stream::new(file, offset, &mut PageList(&mut order)), steps);
        }
        1 => {
            let (mut came, mut sink) = (Vec::new(), Pages(&mut pages));
            let mut stream = Stream::new(file, offset, &mut sink);
            let end = world.run_each(&mut stream, |_, item| came.extend(item.data())).unwrap();
            // A file that shrank may end before the offset.
            assert_eq!(end, len.max(offset), "seed {seed}");
            assert_same(&came, &right(&world.peer, offset, len.saturating_sub(offset) as usize), &seed);
        }
        2 => {
            let (mut entries, names) = (0, world.peer.names.len());
            if !dropped {
                world.list(|_, _| entries += 1).unwrap();
                assert_eq!(entries, names, "seed {seed}");
            }
            world.run_steps(&mut List::new("dir"), steps.min(50));
        }
        _ => assert_eq!(world.run(&mut Stat::new("file")).unwrap().len, len, "seed {seed}"),
    }
}

#[test]
fn no_mix_of_habits_budgets_and_cuts_gives_a_wrong_byte() {
    for seed in 0..500 {
        let mut dice = Dice(seed);
        let slots = 1 + dice.below(8) as usize;
        let mut memory = Memory::new(64 + dice.below(300) as usize, 256 + dice.below(2000) as usize, slots);
        let mut world = World::connected(&mut memory, dice.peer());
        world.read_max = dice.one_of(&[30, 100, 999, usize::MAX]);
        world.write_max = dice.one_of(&[10, 31, usize::MAX]);
        let file = world.open();
        for _ in 0..6 {
            operate(&mut world, &file, &mut dice, seed);
        }
        assert_eq!(world.client.failed(), None, "seed {seed}");
        assert!(world.client.counters().max_in_flight <= slots);
    }
}
