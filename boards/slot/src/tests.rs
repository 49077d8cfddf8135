use super::*;
use embedded_storage::nor_flash::{ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash};
use std::vec;
use std::vec::Vec;

const PIECE: usize = 256;
const UNIT: usize = 32;
const SLOT: usize = 4 * PIECE;
const START: usize = PIECE;

/// The power fails, or the caller broke a rule of the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Power,
    NotErased,
    Misplaced,
}

impl NorFlashError for Fault {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

/// A flash that can be written once after it was erased, in units. When its power runs out, half of what was being
/// done is done.
struct Memory {
    bytes: Vec<u8>,
    /// How many units can be written and pieces be erased.
    power: usize,
    /// The unit that stays erased, though writing to it succeeds.
    dead: Option<usize>,
}

impl Memory {
    /// Full of what somebody left there.
    fn new() -> Self {
        Memory { bytes: vec![0x5A; START + 2 * SLOT + PIECE], power: usize::MAX, dead: None }
    }

    fn change(&mut self, at: usize, new: &[u8]) -> Result<(), Fault> {
        let done = if self.power == 0 { new.len() / 2 } else { new.len() };
        self.bytes[at..at + done].copy_from_slice(&new[..done]);
        self.power = self.power.checked_sub(1).ok_or(Fault::Power)?;
        Ok(())
    }
}

impl ErrorType for &mut Memory {
    type Error = Fault;
}

impl ReadNorFlash for &mut Memory {
    const READ_SIZE: usize = 16;
    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Fault> {
        if !(offset as usize).is_multiple_of(Self::READ_SIZE) || !bytes.len().is_multiple_of(Self::READ_SIZE)
        {
            return Err(Fault::Misplaced);
        }
        bytes.copy_from_slice(&self.bytes[offset as usize..][..bytes.len()]);
        Ok(())
    }
    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl NorFlash for &mut Memory {
    const WRITE_SIZE: usize = UNIT;
    const ERASE_SIZE: usize = PIECE;
    fn erase(&mut self, from: u32, to: u32) -> Result<(), Fault> {
        if !(from as usize).is_multiple_of(PIECE) || !(to as usize).is_multiple_of(PIECE) {
            return Err(Fault::Misplaced);
        }
        (from..to).step_by(PIECE).try_for_each(|at| self.change(at as usize, &[0xFF; PIECE]))
    }
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Fault> {
        let at = offset as usize;
        if !at.is_multiple_of(UNIT) || !bytes.len().is_multiple_of(UNIT) {
            return Err(Fault::Misplaced);
        }
        if self.bytes[at..at + bytes.len()].iter().any(|byte| *byte != 0xFF) {
            return Err(Fault::NotErased);
        }
        let mut units = (at..).step_by(UNIT).zip(bytes.chunks(UNIT));
        units.try_for_each(|(at, bytes)| match self.dead {
            Some(dead) if dead == at => Ok(()),
            _ => self.change(at, bytes),
        })
    }
}

fn slots(memory: &mut Memory) -> Slots<&mut Memory> {
    Slots::new(memory, START as u32, SLOT as u32).unwrap()
}

fn file(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|at| (at as u8).wrapping_mul(seed)).collect()
}

/// Stores a file in runs of `run` bytes.
fn store(memory: &mut Memory, file: &[u8], run: usize) -> Result<Image, Error<Fault>> {
    let mut slots = slots(memory);
    let mut update = slots.update()?;
    file.chunks(run).try_for_each(|run| update.write(run))?;
    update.commit()
}

/// The newest file, checked against what its record says.
fn newest(memory: &mut Memory) -> Option<Vec<u8>> {
    let image = slots(memory).newest().unwrap()?;
    let bytes = memory.bytes[image.start as usize..][..image.len as usize].to_vec();
    assert_eq!(image.sha256, <[u8; 32]>::from(Sha256::digest(&bytes)));
    Some(bytes)
}

#[test]
fn files_of_every_length_are_stored_one_after_another_and_the_newest_is_found() {
    let mut memory = Memory::new();
    assert_eq!(newest(&mut memory), None);
    for len in 0..=SLOT - Record::LEN {
        let file = file(len, len as u8 | 1);
        let image = store(&mut memory, &file, 2 * UNIT).unwrap();
        assert_eq!((image.sequence, image.len), (len as u32, len as u32));
        assert_eq!(newest(&mut memory), Some(file));
    }
    let outside = |at: &usize| *at < START || *at >= START + 2 * SLOT;
    assert!((0..memory.bytes.len()).filter(outside).all(|at| memory.bytes[at] == 0x5A));
}

#[test]
fn wherever_power_fails_the_old_file_is_whole_until_the_new_one_is() {
    let (old, new) = (file(SLOT - Record::LEN, 3), file(SLOT - Record::LEN - 5, 7));
    let mut cuts = 0;
    loop {
        let mut memory = Memory::new();
        store(&mut memory, &file(40, 5), UNIT).unwrap();
        store(&mut memory, &old, UNIT).unwrap();
        memory.power = cuts;
        let outcome = store(&mut memory, &new, UNIT);
        memory.power = usize::MAX;
        if outcome.is_ok() {
            assert_eq!(newest(&mut memory), Some(new));
            break;
        }
        assert_eq!(outcome, Err(Error::Flash(Fault::Power)));
        assert_eq!(newest(&mut memory).as_ref(), Some(&old), "after {cuts} changes");
        // And what was left half-way does not stand in the way.
        store(&mut memory, &new, UNIT).unwrap();
        assert_eq!(newest(&mut memory).as_ref(), Some(&new));
        cuts += 1;
    }
    // Every piece of a slot erased, and every unit of it written: no cut was left out.
    assert_eq!(cuts, SLOT / PIECE + SLOT / UNIT);
}

#[test]
fn what_the_flash_did_not_keep_never_becomes_the_newest() {
    let (old, new) = (file(SLOT - Record::LEN, 3), file(SLOT - Record::LEN - 5, 7));
    // The third file goes where the first one was.
    for dead in (START..START + SLOT).step_by(UNIT) {
        let mut memory = Memory::new();
        store(&mut memory, &file(40, 5), UNIT).unwrap();
        store(&mut memory, &old, UNIT).unwrap();
        memory.dead = Some(dead);
        assert_eq!(store(&mut memory, &new, 4 * UNIT), Err(Error::NotKept), "unit at {dead}");
        // Of a file that was not kept there is no record either.
        if dead < START + SLOT - Record::LEN {
            assert!(
                memory.bytes[START + SLOT - Record::LEN..][..Record::LEN].iter().all(|byte| *byte == 0xFF)
            );
        }
        assert_eq!(newest(&mut memory).as_ref(), Some(&old), "unit at {dead}");
        // And where the flash keeps it after all, it is.
        memory.dead = None;
        store(&mut memory, &new, UNIT).unwrap();
        assert_eq!(newest(&mut memory).as_ref(), Some(&new));
    }
}

#[test]
fn an_update_that_is_dropped_leaves_the_old_file() {
    let mut memory = Memory::new();
    store(&mut memory, b"old", 3).unwrap();
    let mut slots = slots(&mut memory);
    slots.update().unwrap().write(b"new").unwrap();
    assert_eq!(newest(&mut memory), Some(b"old".to_vec()));
}

#[test]
fn a_file_that_is_too_long_and_runs_without_order_are_refused() {
    let mut memory = Memory::new();
    assert_eq!(store(&mut memory, &file(SLOT - Record::LEN + 1, 3), UNIT), Err(Error::Full));
    assert_eq!(store(&mut memory, &[1; 2 * UNIT], UNIT - 1), Err(Error::Unaligned));
    assert_eq!(newest(&mut memory), None);
}

#[test]
fn a_record_with_any_bit_changed_is_none() {
    let record = Record { sequence: 1, len: 2, sha256: [3; 32] };
    let bytes = record.encode();
    assert_eq!(Record::decode(&bytes), Some(record));
    for bit in 0..8 * Record::LEN {
        let mut torn = bytes;
        torn[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Record::decode(&torn), None, "bit {bit}");
    }
}

#[test]
fn slots_lie_inside_the_flash_and_on_its_borders() {
    let mut memory = Memory::new();
    for (start, len) in [(1, PIECE), (0, PIECE + 1), (0, 0), (0, 6 * PIECE), (PIECE * 9, PIECE)] {
        let outcome = Slots::new(&mut memory, start as u32, len as u32).map(|_| ());
        assert_eq!(outcome, Err(Error::Geometry), "{start} {len}");
    }
}

/// A flash that erases in pieces of `ERASE` bytes, and is not asked to.
struct Erasing<const ERASE: usize>;

impl<const ERASE: usize> ErrorType for Erasing<ERASE> {
    type Error = Fault;
}

impl<const ERASE: usize> ReadNorFlash for Erasing<ERASE> {
    const READ_SIZE: usize = 1;
    fn read(&mut self, _: u32, _: &mut [u8]) -> Result<(), Fault> {
        unreachable!()
    }
    fn capacity(&self) -> usize {
        4096
    }
}

impl<const ERASE: usize> NorFlash for Erasing<ERASE> {
    const WRITE_SIZE: usize = 1;
    const ERASE_SIZE: usize = ERASE;
    fn erase(&mut self, _: u32, _: u32) -> Result<(), Fault> {
        unreachable!()
    }
    fn write(&mut self, _: u32, _: &[u8]) -> Result<(), Fault> {
        unreachable!()
    }
}

#[test]
fn a_record_lies_whole_in_one_piece_that_can_be_erased() {
    fn outcome<const ERASE: usize>(len: u32) -> Result<(), Error<Fault>> {
        Slots::new(Erasing::<ERASE>, 0, len).map(|_| ())
    }
    assert_eq!(outcome::<64>(64), Ok(()));
    assert_eq!(outcome::<128>(1280), Ok(()));
    assert_eq!(outcome::<32>(32), Err(Error::Geometry));
    assert_eq!(outcome::<32>(1024), Err(Error::Geometry));
    assert_eq!(outcome::<96>(960), Err(Error::Geometry));
}
