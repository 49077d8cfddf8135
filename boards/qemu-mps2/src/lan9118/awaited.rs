//! The controller as a device of embassy-net, which is woken by its interrupt.

use super::register::{INT_EN, INT_STS, IRQ_CFG};
use super::{BURST, FCS_LEN, FRAME_LEN, INT_RX_STATUS, IRQ_CFG_ACTIVE_HIGH, IRQ_CFG_ON, IRQ_CFG_PUSH_PULL};
use super::{Lan9118, RxToken, TxToken};
use core::task::Context;
use cortex_m::interrupt::InterruptNumber;
use cortex_m::peripheral::NVIC;
use embassy_net_driver::{self as driver, Capabilities, Driver, HardwareAddress, LinkState};
use embassy_sync::waitqueue::AtomicWaker;

/// The controller's interrupt, on all three machines.
pub const INTERRUPT: i16 = 13;

#[derive(Clone, Copy)]
struct Ethernet;

// SAFETY: the processor has that interrupt, and the number does not change.
unsafe impl InterruptNumber for Ethernet {
    fn number(self) -> u16 {
        INTERRUPT as u16
    }
}

/// Who waits for a frame.
static WAKER: AtomicWaker = AtomicWaker::new();

/// To be called by the handler of [`INTERRUPT`]. It stays off until there is no frame left.
pub fn interrupted() {
    NVIC::mask(Ethernet);
    WAKER.wake();
}

/// A controller whose interrupt is on.
pub struct Awaited<'d>(&'d mut Lan9118);

impl Lan9118 {
    /// Has it interrupt when a frame comes. Whoever calls this has [`interrupted`] called.
    pub fn awaited(&mut self) -> Awaited<'_> {
        self.registers.write(IRQ_CFG, IRQ_CFG_ON | IRQ_CFG_ACTIVE_HIGH | IRQ_CFG_PUSH_PULL);
        self.registers.write(INT_EN, INT_RX_STATUS);
        Awaited(self)
    }
}

impl driver::RxToken for RxToken<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

impl driver::TxToken for TxToken<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        self.send(len, f)
    }
}

impl Driver for Awaited<'_> {
    type RxToken<'d>
        = RxToken<'d>
    where
        Self: 'd;
    type TxToken<'d>
        = TxToken<'d>
    where
        Self: 'd;

    fn receive(&mut self, context: &mut Context<'_>) -> Option<(RxToken<'_>, TxToken<'_>)> {
        WAKER.register(context.waker());
        // Before the FIFO is looked at: a frame that comes after that sets it again.
        self.0.registers.write(INT_STS, INT_RX_STATUS);
        // SAFETY: no critical section is made of masked interrupts, and its handler only wakes.
        unsafe { NVIC::unmask(Ethernet) }
        self.0.receive()
    }

    fn transmit(&mut self, context: &mut Context<'_>) -> Option<TxToken<'_>> {
        let token = self.0.transmit();
        if token.is_none() {
            // What is in the FIFO has left in a moment.
            context.waker().wake_by_ref();
        }
        token
    }

    /// A cable that is out is found by TCP.
    fn link_state(&mut self, _: &mut Context<'_>) -> LinkState {
        LinkState::Up
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::default();
        capabilities.max_transmission_unit = FRAME_LEN - FCS_LEN;
        capabilities.max_burst_size = Some(BURST);
        capabilities
    }

    fn hardware_address(&self) -> HardwareAddress {
        HardwareAddress::Ethernet(self.0.mac)
    }
}
