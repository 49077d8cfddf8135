//! The board: the W5500 on SPI, random numbers, flash.

use crate::config::FLASH_LEN;
use embassy_net_wiznet as wiznet;
use embassy_net_wiznet::chip::W5500;
use embassy_rp::flash::{self, Flash};
use embassy_rp::gpio::{Input, Level, Output, Pull};
use embassy_rp::peripherals::{DMA_CH0, DMA_CH1, FLASH, SPI0, TRNG};
use embassy_rp::spi::{self, Spi};
use embassy_rp::trng::{self, Trng};
use embassy_rp::{bind_interrupts, dma};
use embassy_time::Delay;
use embedded_hal_bus::spi::ExclusiveDevice;
use pagewire_smoltcp::driver::Polled;
use static_cell::StaticCell;

bind_interrupts!(struct Interrupts {
    DMA_IRQ_0 => dma::InterruptHandler<DMA_CH0>, dma::InterruptHandler<DMA_CH1>;
    TRNG_IRQ => trng::InterruptHandler<TRNG>;
});

/// What frames come and go through.
pub type Device = Polled<wiznet::Device<'static>>;
type Bus = ExclusiveDevice<Spi<'static, SPI0, spi::Async>, Output<'static>, Delay>;
/// Moves frames between the W5500 and memory.
pub type Ethernet = wiznet::Runner<'static, W5500, Bus, Input<'static>, Output<'static>>;

/// The flash that the firmware itself runs from.
pub type BoardFlash = Flash<'static, FLASH, flash::Blocking, FLASH_LEN>;

/// What the firmware uses.
pub struct Board {
    pub device: &'static mut Device,
    pub rng: Trng<'static, TRNG>,
    pub flash: BoardFlash,
}

/// Switches everything on. Once; it panics if no W5500 answers.
pub async fn start(mac: [u8; 6]) -> (Board, Ethernet) {
    static STATE: StaticCell<wiznet::State<8, 4>> = StaticCell::new();
    static DEVICE: StaticCell<Device> = StaticCell::new();
    let p = embassy_rp::init(Default::default());
    let mut config = spi::Config::default();
    config.frequency = 50_000_000;
    // As the board has it wired: MISO 16, CS 17, SCK 18, MOSI 19, RST 20, INT 21.
    let spi = Spi::new(p.SPI0, p.PIN_18, p.PIN_19, p.PIN_16, p.DMA_CH0, p.DMA_CH1, Interrupts, config);
    let bus = ExclusiveDevice::new(spi, Output::new(p.PIN_17, Level::High), Delay).expect("a pin can be set");
    let interrupt = Input::new(p.PIN_21, Pull::Up);
    let reset = Output::new(p.PIN_20, Level::High);
    let state = STATE.init_with(wiznet::State::new);
    let (device, ethernet) = wiznet::new(mac, state, bus, interrupt, reset).await.expect("a W5500 answers");
    let board = Board {
        device: DEVICE.init(Polled(device)),
        rng: Trng::new(p.TRNG, Interrupts, trng::Config::default()),
        flash: Flash::new_blocking(p.FLASH),
    };
    (board, ethernet)
}
