//! The board: clocks, Ethernet, random numbers.

use embassy_stm32::peripherals::{ETH, ETH_SMA, FLASH, RNG};
use embassy_stm32::rcc::{
    AHBPrescaler, APBPrescaler, HSIPrescaler, Pll, PllDiv, PllMul, PllPreDiv, PllSource, Sysclk, VoltageScale,
};
use embassy_stm32::rng::{self, Rng};
use embassy_stm32::{Config, Peri, bind_interrupts, eth};
use pagewire_smoltcp::driver::Polled;
use static_cell::StaticCell;

bind_interrupts!(struct Interrupts {
    ETH => eth::InterruptHandler;
    RNG => rng::InterruptHandler<RNG>;
});

/// The Ethernet controller with the LAN8742A of the board.
pub type Device = Polled<eth::Ethernet<'static, ETH, eth::GenericPhy<eth::Sma<'static, ETH_SMA>>>>;

/// Frames on their way to the controller and from it. The driver says that bursts are no longer than the first number, so
/// TCP's window is that many segments.
type Queue = eth::PacketQueue<8, 8>;

/// What the firmware uses.
pub struct Board {
    pub device: &'static mut Device,
    pub rng: Rng<'static, RNG>,
    pub flash: Peri<'static, FLASH>,
}

/// 400 MHz from the internal oscillator, and 48 MHz for random numbers.
fn clocks() -> Config {
    let mut config = Config::default();
    let rcc = &mut config.rcc;
    rcc.hsi = Some(HSIPrescaler::DIV1);
    rcc.hsi48 = Some(Default::default());
    rcc.pll1 = Some(Pll {
        source: PllSource::HSI,
        prediv: PllPreDiv::DIV4,
        mul: PllMul::MUL50,
        fracn: None,
        divp: Some(PllDiv::DIV2),
        divq: None,
        divr: None,
    });
    rcc.sys = Sysclk::PLL1_P;
    rcc.ahb_pre = AHBPrescaler::DIV2;
    rcc.apb1_pre = APBPrescaler::DIV2;
    rcc.apb2_pre = APBPrescaler::DIV2;
    rcc.apb3_pre = APBPrescaler::DIV2;
    rcc.apb4_pre = APBPrescaler::DIV2;
    rcc.voltage_scale = VoltageScale::Scale1;
    config
}

/// Switches everything on. Once.
pub fn start(mac: [u8; 6]) -> Board {
    static QUEUE: StaticCell<Queue> = StaticCell::new();
    static DEVICE: StaticCell<Device> = StaticCell::new();
    let p = embassy_stm32::init(clocks());
    // RMII as the board has it wired (UM2407).
    let ethernet = eth::Ethernet::new(
        QUEUE.init_with(Queue::new),
        p.ETH,
        Interrupts,
        p.PA1,
        p.PA7,
        p.PC4,
        p.PC5,
        p.PG13,
        p.PB13,
        p.PG11,
        mac,
        p.ETH_SMA,
        p.PA2,
        p.PC1,
    );
    Board { device: DEVICE.init(Polled(ethernet)), rng: Rng::new(p.RNG, Interrupts), flash: p.FLASH }
}
