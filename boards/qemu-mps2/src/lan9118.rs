//! The Ethernet controller LAN9118 (SMSC's data sheet of that name): polled, as a device of smoltcp, or by its interrupt, as one
//! of embassy-net.
//!
//! Frames go word by word through two FIFOs of the controller. No DMA.

mod awaited;
mod polled;

pub use awaited::{Awaited, INTERRUPT, interrupted};

use crate::lan9118_base;
use cortex_m::peripheral::CPUID;

/// Registers, by their offsets from the controller's base.
mod register {
    pub const RX_DATA_FIFO: usize = 0x00;
    pub const TX_DATA_FIFO: usize = 0x20;
    pub const RX_STATUS_FIFO: usize = 0x40;
    pub const TX_STATUS_FIFO: usize = 0x48;
    pub const ID_REV: usize = 0x50;
    pub const IRQ_CFG: usize = 0x54;
    pub const INT_STS: usize = 0x58;
    pub const INT_EN: usize = 0x5C;
    pub const BYTE_TEST: usize = 0x64;
    pub const RX_CFG: usize = 0x6C;
    pub const TX_CFG: usize = 0x70;
    pub const HW_CFG: usize = 0x74;
    pub const RX_DP_CTL: usize = 0x78;
    pub const RX_FIFO_INF: usize = 0x7C;
    pub const TX_FIFO_INF: usize = 0x80;
    pub const PMT_CTRL: usize = 0x84;
    pub const MAC_CSR_CMD: usize = 0xA4;
    pub const MAC_CSR_DATA: usize = 0xA8;
}
use register::*;

/// Registers of the MAC, which are reached through MAC_CSR_CMD.
mod mac {
    pub const MAC_CR: u32 = 1;
    pub const ADDRH: u32 = 2;
    pub const ADDRL: u32 = 3;
}

const BYTE_TEST_VALUE: u32 = 0x8765_4321;
const HW_CFG_SRST: u32 = 1;
const HW_CFG_MBO: u32 = 1 << 20; // "must be one"
const HW_CFG_TX_FIFO_5_KIB: u32 = 5 << 16;
const PMT_CTRL_READY: u32 = 1;
const TX_CFG_ON: u32 = 1 << 1;
const MAC_CSR_BUSY: u32 = 1 << 31;
const MAC_CSR_READ: u32 = 1 << 30;
const MAC_CR_FULL_DUPLEX: u32 = 1 << 20;
const MAC_CR_TX_ON: u32 = 1 << 3;
const MAC_CR_RX_ON: u32 = 1 << 2;
const RX_STATUS_ERROR: u32 = 1 << 15;
const RX_DP_FAST_FORWARD: u32 = 1 << 31;
const TX_A_FIRST_SEGMENT: u32 = 1 << 13;
const TX_A_LAST_SEGMENT: u32 = 1 << 12;

const IRQ_CFG_ON: u32 = 1 << 8;
const IRQ_CFG_ACTIVE_HIGH: u32 = 1 << 4;
const IRQ_CFG_PUSH_PULL: u32 = 1;
const INT_RX_STATUS: u32 = 1 << 3; // a frame came

/// The longest frame: a header, 1500 bytes, and the check sequence at its end.
const FRAME_LEN: usize = 14 + 1500 + FCS_LEN;
const FCS_LEN: usize = 4;
/// The shortest that smoltcp is shown has a header.
const FRAME_LEN_MIN: usize = 14 + FCS_LEN;
/// The RX data FIFO beside a TX FIFO of 5 KiB has 10,560 bytes: so many of the longest frames. smoltcp offers no window beyond
/// that, so a socket's receive buffer need not be longer.
pub const BURST: usize = 10_560 / FRAME_LEN;

/// How often a register is read until it says that something is done. All waits are for microseconds.
const POLLS_MAX: u32 = 1_000_000;

/// Why the controller cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, defmt::Format)]
pub enum Error {
    /// BYTE_TEST reads as this: no LAN9118 is there, or the bus has its bytes in another order.
    ByteTest(u32),
    /// It does not become ready.
    Timeout,
}

/// The register block.
#[derive(Clone, Copy, Debug)]
struct Registers(*mut u32);

impl Registers {
    fn read(self, offset: usize) -> u32 {
        // SAFETY: `Lan9118::new` was told that the block is there; `offset` is one of `register`, all inside it.
        unsafe { self.0.byte_add(offset).read_volatile() }
    }

    fn write(self, offset: usize, value: u32) {
        // SAFETY: as for `read`. The controller has no DMA, so no register has an effect on memory.
        unsafe { self.0.byte_add(offset).write_volatile(value) }
    }

    fn wait(self, offset: usize, mask: u32, value: u32) -> Result<(), Error> {
        let done = (0..POLLS_MAX).any(|_| self.read(offset) & mask == value);
        done.then_some(()).ok_or(Error::Timeout)
    }

    fn read_mac(self, index: u32) -> Result<u32, Error> {
        self.write(MAC_CSR_CMD, MAC_CSR_BUSY | MAC_CSR_READ | index);
        self.wait(MAC_CSR_CMD, MAC_CSR_BUSY, 0)?;
        Ok(self.read(MAC_CSR_DATA))
    }

    fn write_mac(self, index: u32, value: u32) -> Result<(), Error> {
        self.write(MAC_CSR_DATA, value);
        self.write(MAC_CSR_CMD, MAC_CSR_BUSY | index);
        self.wait(MAC_CSR_CMD, MAC_CSR_BUSY, 0)
    }

    /// Whether a frame of any length can be sent. What was sent before is of no interest, but its status takes room.
    fn can_send(self) -> bool {
        let info = self.read(TX_FIFO_INF);
        for _ in 0..info >> 16 & 0xFF {
            self.read(TX_STATUS_FIFO);
        }
        const COMMANDS: usize = 8;
        (info & 0xFFFF) as usize >= FRAME_LEN.next_multiple_of(4) + COMMANDS
    }

    /// Throws away a frame of `words` words at the head of the FIFO: "fast forward", for frames of four words and more.
    fn skip(self, words: usize) {
        if words >= 4 {
            self.write(RX_DP_CTL, RX_DP_FAST_FORWARD);
            // If that never ends, what is taken for the next frame will be no good and thrown away as well.
            let _ = self.wait(RX_DP_CTL, RX_DP_FAST_FORWARD, 0);
        } else {
            for _ in 0..words {
                self.read(RX_DATA_FIFO);
            }
        }
    }
}

/// The controller, and memory for one frame each way.
#[derive(Debug)]
pub struct Lan9118 {
    registers: Registers,
    mac: [u8; 6],
    rx: [u8; FRAME_LEN],
    tx: [u8; FRAME_LEN],
    dropped: u32,
}

impl Lan9118 {
    /// Resets the controller and switches it on.
    ///
    /// # Safety
    /// At `base` is the register block of a LAN9118 and nothing else, or nothing that reading could harm; and nobody else uses it.
    pub unsafe fn new(base: usize) -> Result<Self, Error> {
        let registers = Registers(base as *mut u32);
        let test = registers.read(BYTE_TEST);
        if test != BYTE_TEST_VALUE {
            return Err(Error::ByteTest(test));
        }
        registers.write(HW_CFG, HW_CFG_SRST);
        registers.wait(HW_CFG, HW_CFG_SRST, 0)?;
        registers.wait(PMT_CTRL, PMT_CTRL_READY, PMT_CTRL_READY)?;
        registers.write(HW_CFG, HW_CFG_TX_FIFO_5_KIB | HW_CFG_MBO);
        registers.write(INT_EN, 0);
        registers.write(INT_STS, u32::MAX);
        registers.write(RX_CFG, 0);
        registers.write(TX_CFG, TX_CFG_ON);
        let [low, high] =
            [registers.read_mac(mac::ADDRL)?, registers.read_mac(mac::ADDRH)?].map(u32::to_le_bytes);
        registers.write_mac(mac::MAC_CR, MAC_CR_FULL_DUPLEX | MAC_CR_TX_ON | MAC_CR_RX_ON)?;
        let mac = [low[0], low[1], low[2], low[3], high[0], high[1]];
        Ok(Lan9118 { registers, mac, rx: [0; FRAME_LEN], tx: [0; FRAME_LEN], dropped: 0 })
    }

    /// The controller wherever this machine has it: that with a Cortex-M7 (an500) has it in another place. To be called once.
    pub fn of_this_machine() -> Result<Self, Error> {
        // SAFETY: CPUID has an effect on nothing, whoever else reads it.
        let cpuid = unsafe { (*CPUID::PTR).base.read() };
        // SAFETY: that is where this machine has it, and this is called once.
        let device = unsafe { Lan9118::new(lan9118_base(cpuid)) }?;
        defmt::info!("CPUID {:08x}, LAN9118 {:08x}", cpuid, device.id());
        Ok(device)
    }

    /// ID_REV: the chip in the upper half, its revision in the lower.
    pub fn id(&self) -> u32 {
        self.registers.read(ID_REV)
    }

    /// The address that it found in its EEPROM.
    pub fn mac(&self) -> [u8; 6] {
        self.mac
    }

    /// Frames that came and were of no use.
    pub fn dropped(&self) -> u32 {
        self.dropped
    }

    /// Takes the next good frame out of the FIFO into `rx`; its length without the check sequence.
    fn take(&mut self) -> Option<usize> {
        while self.registers.read(RX_FIFO_INF) >> 16 & 0xFF != 0 {
            let status = self.registers.read(RX_STATUS_FIFO);
            let len = (status >> 16 & 0x3FFF) as usize;
            if status & RX_STATUS_ERROR != 0 || !(FRAME_LEN_MIN..=FRAME_LEN).contains(&len) {
                self.registers.skip(len.div_ceil(4));
                self.dropped += 1;
                continue;
            }
            for bytes in self.rx[..len].chunks_mut(4) {
                let word = self.registers.read(RX_DATA_FIFO).to_le_bytes();
                bytes.copy_from_slice(&word[..bytes.len()]);
            }
            return Some(len - FCS_LEN);
        }
        None
    }

    /// The next frame that came, and room for an answer, which smoltcp wants with it.
    fn receive(&mut self) -> Option<(RxToken<'_>, TxToken<'_>)> {
        if !self.registers.can_send() {
            return None;
        }
        let len = self.take()?;
        Some((RxToken(&mut self.rx[..len]), TxToken { registers: self.registers, frame: &mut self.tx }))
    }

    fn transmit(&mut self) -> Option<TxToken<'_>> {
        self.registers.can_send().then_some(TxToken { registers: self.registers, frame: &mut self.tx })
    }
}

/// A frame that came.
#[derive(Debug)]
pub struct RxToken<'d>(&'d mut [u8]);

/// Room for a frame.
#[derive(Debug)]
pub struct TxToken<'d> {
    registers: Registers,
    frame: &'d mut [u8; FRAME_LEN],
}

impl TxToken<'_> {
    fn send<R>(self, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> R {
        let frame = &mut self.frame[..len];
        let result = f(frame);
        // TX commands A and B: one buffer that is the whole frame.
        self.registers.write(TX_DATA_FIFO, TX_A_FIRST_SEGMENT | TX_A_LAST_SEGMENT | len as u32);
        self.registers.write(TX_DATA_FIFO, (len as u32) << 16 | len as u32);
        for bytes in frame.chunks(4) {
            let mut word = [0; 4];
            word[..bytes.len()].copy_from_slice(bytes);
            self.registers.write(TX_DATA_FIFO, u32::from_le_bytes(word));
        }
        result
    }
}
