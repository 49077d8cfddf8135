//! A client and a peer with a link between them that cuts bytes into chunks.

use super::peer::{Peer, Told, byte_at};
use super::protocol::{DOOR, Toy};
use pagewire::inflight::Slot;
use pagewire::operation::{Item, Operation};
use pagewire::{Client, Connect, Entry, Error, File, List, Millis, Open, Stat, Step, Storage};

/// Memory to lend.
pub struct Memory {
    tx: Vec<u8>,
    rx: Vec<u8>,
    slots: Vec<Slot>,
}

impl Memory {
    pub fn new(tx: usize, rx: usize, slots: usize) -> Memory {
        Memory { tx: vec![0; tx], rx: vec![0; rx], slots: vec![Slot::FREE; slots] }
    }

    pub fn slots(slots: usize) -> Memory {
        Memory::new(512, 1024, slots)
    }

    pub fn lend(&mut self) -> Storage<'_> {
        Storage { tx: &mut self.tx, rx: &mut self.rx, slots: &mut self.slots }
    }
}

pub struct World<'m> {
    pub client: Client<'m, Toy>,
    pub peer: Peer,
    /// The most bytes of one read and of one write.
    pub read_max: usize,
    pub write_max: usize,
    pub steps: u64,
}

/// What one step did.
pub enum Did<O> {
    Sent,
    Received,
    Lent,
    /// Nothing, up to this time.
    Paused(Millis),
    Ended(Result<O, Error>),
}

impl<'m> World<'m> {
    pub fn new(memory: &'m mut Memory, peer: Peer) -> World<'m> {
        let mut toy = Toy::new(peer.sealed, peer.unit);
        toy.lists_twice = peer.lists_twice;
        (toy.door, toy.plus, toy.maps) = (peer.door, peer.plus, peer.map != Told::Not);
        let client = Client::new(memory.lend(), toy).unwrap();
        World { client, peer, read_max: usize::MAX, write_max: usize::MAX, steps: 0 }
    }

    pub fn connected(memory: &'m mut Memory, peer: Peer) -> World<'m> {
        let mut world = World::new(memory, peer);
        world.run(&mut Connect::new()).unwrap();
        world
    }

    pub fn open(&mut self) -> File<u32> {
        self.run(&mut Open::new("file")).unwrap()
    }

    /// One step and what it asks for. A peer that has nothing to say closes the connection.
    pub fn step<O: Operation<Toy>>(
        &mut self,
        op: &mut O,
        each: &mut impl FnMut(&Peer, Item<'_, Toy, O>),
    ) -> Did<O::Output> {
        self.steps += 1;
        assert!(self.steps < 3_000_000, "a conversation goes round");
        match self.client.step(op) {
            Step::Transmit(bytes) => {
                assert!(!bytes.is_empty(), "nothing to transmit");
                let len = bytes.len().min(self.write_max);
                self.peer.hear(&bytes[..len]);
                self.client.transmitted(len);
                Did::Sent
            }
            Step::Receive(window) => {
                assert!(!window.is_empty(), "a window is never empty");
                let len = window.len().min(self.read_max);
                let len = self.peer.give(&mut window[..len]);
                self.client.received(op, len);
                Did::Received
            }
            Step::Connect(port) => {
                assert_eq!(port, DOOR);
                self.client.connected();
                Did::Sent
            }
            Step::Wait(until) => Did::Paused(until),
            Step::Item(item) => {
                each(&self.peer, item);
                Did::Lent
            }
            Step::Done(result) => Did::Ended(result),
        }
    }

    pub fn run_each<O: Operation<Toy>>(
        &mut self,
        op: &mut O,
        mut each: impl FnMut(&Peer, Item<'_, Toy, O>),
    ) -> Result<O::Output, Error> {
        loop {
            match self.step(op, &mut each) {
                Did::Ended(result) => return result,
                Did::Paused(until) => self.client.tell(until),
                _ => {}
            }
        }
    }

    pub fn run<O: Operation<Toy>>(&mut self, op: &mut O) -> Result<O::Output, Error> {
        self.run_each(op, |_, _| {})
    }

    /// Lists `dir`, and shows each entry.
    pub fn list(&mut self, each: impl FnMut(&Peer, Entry<'_>)) -> Result<(), Error> {
        self.run_each(&mut List::new("dir"), each)
    }

    /// Takes at most `count` steps. Whether the operation ended with them.
    pub fn run_steps<O: Operation<Toy>>(&mut self, op: &mut O, count: usize) -> bool {
        (0..count).any(|_| matches!(self.step(op, &mut |_, _| {}), Did::Ended(_)))
    }

    /// Steps until the operation wants to receive.
    pub fn until_it_receives<O: Operation<Toy>>(&mut self, op: &mut O) {
        while !matches!(self.client.step(op), Step::Receive(_)) {
            assert!(!self.run_steps(op, 1), "it ended without receiving");
        }
    }

    /// The operation must fail with exactly this, and everything after it too, without another byte sent.
    #[track_caller]
    pub fn assert_fatal<O: Operation<Toy>>(&mut self, op: &mut O, error: Error) {
        assert_eq!(self.run(op).err(), Some(error));
        let heard = self.peer.bytes_heard;
        assert_eq!(self.run(op).err(), Some(error), "the same operation once more");
        assert_eq!(self.run(&mut Stat::new("file")).err(), Some(error), "another operation");
        assert_eq!(self.client.failed(), Some(error));
        assert_eq!((self.client.deadline(), self.peer.bytes_heard), (None, heard));
    }
}

/// `len` bytes of a file of `file_len` bytes from `offset` on, zeros behind its end.
pub fn contents(offset: u64, len: usize, file_len: u64) -> Vec<u8> {
    let byte = |at| if at < file_len { byte_at(at) } else { 0 };
    (offset..offset + len as u64).map(byte).collect()
}

/// Where two runs of bytes differ first: shorter to read than both.
#[track_caller]
pub fn assert_same(have: &[u8], want: &[u8], about: &dyn std::fmt::Debug) {
    let differs = have.iter().zip(want).position(|(have, want)| have != want);
    assert_eq!((have.len(), differs), (want.len(), None), "lengths or first difference: {about:?}");
}
