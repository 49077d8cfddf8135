//! The controller as a device of smoltcp.

use super::{BURST, FCS_LEN, FRAME_LEN, Lan9118, RxToken, TxToken};
use smoltcp::phy::{self, Device, DeviceCapabilities, Medium};
use smoltcp::time::Instant;

impl phy::RxToken for RxToken<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

impl phy::TxToken for TxToken<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        self.send(len, f)
    }
}

impl Device for Lan9118 {
    type RxToken<'d> = RxToken<'d>;
    type TxToken<'d> = TxToken<'d>;

    fn receive(&mut self, _: Instant) -> Option<(RxToken<'_>, TxToken<'_>)> {
        Lan9118::receive(self)
    }

    fn transmit(&mut self, _: Instant) -> Option<TxToken<'_>> {
        Lan9118::transmit(self)
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = FRAME_LEN - FCS_LEN;
        capabilities.max_burst_size = Some(BURST);
        capabilities
    }
}
