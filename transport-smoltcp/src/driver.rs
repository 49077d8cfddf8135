//! Devices with a driver for `embassy-net` as devices of smoltcp: STM32's Ethernet, the W5500, the ENC28J60, and others.
//!
//! `embassy-net` itself is not needed, and brings a smoltcp of its own.

use core::task::{Context, Waker};
use embassy_net_driver as driver;
use embassy_net_driver::Driver;
use smoltcp::phy;
use smoltcp::time::Instant;

/// A driver, polled: nobody is woken when a frame comes, so whoever owns the interface has to come again by itself.
/// Where a task moves the frames (the W5500's runner) it must be let run between two polls.
#[derive(Debug)]
pub struct Polled<D>(pub D);

/// A frame that came.
#[derive(Debug)]
pub struct RxToken<T>(T);

/// Room for a frame to send.
#[derive(Debug)]
pub struct TxToken<T>(T);

impl<T: driver::RxToken> phy::RxToken for RxToken<T> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        self.0.consume(|frame| f(frame))
    }
}

impl<T: driver::TxToken> phy::TxToken for TxToken<T> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        self.0.consume(len, f)
    }
}

impl<D: Driver> phy::Device for Polled<D> {
    type RxToken<'a>
        = RxToken<D::RxToken<'a>>
    where
        Self: 'a;
    type TxToken<'a>
        = TxToken<D::TxToken<'a>>
    where
        Self: 'a;

    fn receive(&mut self, _: Instant) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        let (rx, tx) = self.0.receive(&mut Context::from_waker(Waker::noop()))?;
        Some((RxToken(rx), TxToken(tx)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Self::TxToken<'_>> {
        self.0.transmit(&mut Context::from_waker(Waker::noop())).map(TxToken)
    }

    fn capabilities(&self) -> phy::DeviceCapabilities {
        let has = self.0.capabilities();
        let mut capabilities = phy::DeviceCapabilities::default();
        capabilities.medium = phy::Medium::Ethernet;
        capabilities.max_transmission_unit = has.max_transmission_unit;
        capabilities.max_burst_size = has.max_burst_size;
        capabilities.checksum.ipv4 = checksum(has.checksum.ipv4);
        capabilities.checksum.tcp = checksum(has.checksum.tcp);
        capabilities.checksum.udp = checksum(has.checksum.udp);
        capabilities
    }
}

/// Who computes a checksum, in smoltcp's words: the same ones.
fn checksum(by: driver::Checksum) -> phy::Checksum {
    match by {
        driver::Checksum::Both => phy::Checksum::Both,
        driver::Checksum::Rx => phy::Checksum::Rx,
        driver::Checksum::Tx => phy::Checksum::Tx,
        driver::Checksum::None => phy::Checksum::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smoltcp::phy::{Device, RxToken as _, TxToken as _};
    use std::collections::VecDeque;
    use std::vec;
    use std::vec::Vec;

    /// What was sent comes back.
    #[derive(Default)]
    struct Mirror(VecDeque<Vec<u8>>);

    struct Frame(Vec<u8>);
    struct Room<'a>(&'a mut VecDeque<Vec<u8>>);

    impl driver::RxToken for Frame {
        fn consume<R, F: FnOnce(&mut [u8]) -> R>(mut self, f: F) -> R {
            f(&mut self.0)
        }
    }

    impl driver::TxToken for Room<'_> {
        fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
            let mut frame = vec![0; len];
            let result = f(&mut frame);
            self.0.push_back(frame);
            result
        }
    }

    impl Driver for Mirror {
        type RxToken<'a> = Frame;
        type TxToken<'a> = Room<'a>;

        fn receive(&mut self, _: &mut Context<'_>) -> Option<(Frame, Room<'_>)> {
            Some((Frame(self.0.pop_front()?), Room(&mut self.0)))
        }
        fn transmit(&mut self, _: &mut Context<'_>) -> Option<Room<'_>> {
            self.0.is_empty().then_some(Room(&mut self.0))
        }
        fn link_state(&mut self, _: &mut Context<'_>) -> driver::LinkState {
            driver::LinkState::Up
        }
        fn capabilities(&self) -> driver::Capabilities {
            let mut capabilities = driver::Capabilities::default();
            capabilities.max_transmission_unit = 1514;
            capabilities.max_burst_size = Some(3);
            capabilities.checksum.tcp = driver::Checksum::Tx;
            capabilities
        }
        fn hardware_address(&self) -> driver::HardwareAddress {
            driver::HardwareAddress::Ethernet([2, 0, 0, 0, 0, 1])
        }
    }

    #[test]
    fn frames_pass_unchanged_and_only_when_the_driver_has_them_or_room_for_them() {
        let mut device = Polled(Mirror::default());
        assert!(device.receive(Instant::ZERO).is_none());
        device.transmit(Instant::ZERO).unwrap().consume(3, |frame| frame.copy_from_slice(b"out"));
        assert!(device.transmit(Instant::ZERO).is_none());
        let (rx, tx) = device.receive(Instant::ZERO).unwrap();
        rx.consume(|frame| assert_eq!(frame, b"out"));
        tx.consume(2, |frame| frame.copy_from_slice(b"in"));
        assert_eq!(device.0.0, [b"in"]);
    }

    #[test]
    fn what_the_driver_can_do_is_what_smoltcp_is_told() {
        let capabilities = Polled(Mirror::default()).capabilities();
        assert_eq!((capabilities.max_transmission_unit, capabilities.max_burst_size), (1514, Some(3)));
        assert!(matches!(capabilities.checksum.tcp, phy::Checksum::Tx));
        assert!(matches!(capabilities.checksum.ipv4, phy::Checksum::Both));
    }
}
