//! Memory that the caller lends. The lengths of the slices are the budgets.

use crate::compound::Cost;
use crate::inflight::Slot;

/// Lent memory. What each part buys:
#[derive(Debug)]
pub struct Storage<'s> {
    /// Requests that are not sent yet. It must hold the largest chain (see the protocol's `need`); with more, several
    /// requests go out in one write.
    pub tx: &'s mut [u8],
    /// Heads of replies: everything but file data. It must hold the largest reply the protocol needs to connect; with more, a listing asks
    /// for more entries at a time.
    pub rx: &'s mut [u8],
    /// Requests in flight. One reads in lock-step; eight keep a fast network busy.
    pub slots: &'s mut [Slot],
}

impl Storage<'_> {
    /// The lent memory in bytes, slots included.
    pub fn len(&self) -> usize {
        self.tx.len().saturating_add(self.rx.len()).saturating_add(core::mem::size_of_val(&*self.slots))
    }

    /// Whether nothing was lent.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What was lent, as budgets. The allowance is the server's and is not lent.
    pub fn budget(&self) -> Cost {
        Cost { tx: self.tx.len(), slots: self.slots.len(), reply: self.rx.len(), allowance: 0 }
    }
}

/// The three parts as one value of a size fixed at compile time, for a `static` or the stack.
#[derive(Debug)]
pub struct StorageArray<const TX: usize, const RX: usize, const SLOTS: usize> {
    tx: [u8; TX],
    rx: [u8; RX],
    slots: [Slot; SLOTS],
}

impl<const TX: usize, const RX: usize, const SLOTS: usize> StorageArray<TX, RX, SLOTS> {
    /// Zeroed memory.
    pub const fn new() -> Self {
        StorageArray { tx: [0; TX], rx: [0; RX], slots: [Slot::FREE; SLOTS] }
    }

    /// Lends it to a client.
    pub const fn lend(&mut self) -> Storage<'_> {
        Storage { tx: &mut self.tx, rx: &mut self.rx, slots: &mut self.slots }
    }
}

impl<const TX: usize, const RX: usize, const SLOTS: usize> Default for StorageArray<TX, RX, SLOTS> {
    fn default() -> Self {
        Self::new()
    }
}
