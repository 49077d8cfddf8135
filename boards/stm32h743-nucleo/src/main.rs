#![no_std]
#![no_main]
//! Reads a file from an SMB server, and streams it to flash if it is to. `config.rs` says which.

mod board;
mod config;

use board::Device;
use cortex_m_rt::entry;
use defmt::{error, info};
use defmt_rtt as _; // the logger
use embassy_stm32::flash::Flash;
use firmware::{Digits, Failure};
use pagewire::smb::{Config, Entropy, Identity, Policy, Smb};
use pagewire::{Client, Pages, StorageArray};
use pagewire_smoltcp::{Buffers, SEGMENT_LEN, Sockets, Station};
use panic_probe as _; // the panic handler
use slot::Slots;
use smoltcp::iface::Config as Interface;
use smoltcp::time::Instant;
use smoltcp::wire::EthernetAddress;
use static_cell::ConstStaticCell;

// What the engine and smoltcp are lent. `StorageArray` and `Buffers` say what each part buys.
static STORAGE: ConstStaticCell<StorageArray<1024, 2048, 8>> = ConstStaticCell::new(StorageArray::new());
static PAGES: ConstStaticCell<[[u8; 4096]; 16]> = ConstStaticCell::new([[0; 4096]; 16]);
static BUFFERS: ConstStaticCell<Buffers<{ 8 * SEGMENT_LEN }, 2048>> = ConstStaticCell::new(Buffers::new());
static SOCKETS: ConstStaticCell<Sockets<'static>> = ConstStaticCell::new(Sockets::new());

#[entry]
fn main() -> ! {
    let mut board = board::start(config::MAC);
    let mut random = [0; Entropy::LEN];
    board.rng.fill_bytes(&mut random);
    let mut interface = Interface::new(EthernetAddress(config::MAC).into());
    interface.random_seed = board.rng.next_u64();
    let mut net = Station::new(board.device, interface, now, SOCKETS.take(), BUFFERS.take());

    let entropy = Entropy::from_bytes(random);
    match read(&mut net, entropy, Flash::new_blocking(board.flash)) {
        Ok((len, sha256)) => info!("{} bytes, sha256 {}", len, sha256),
        Err(failure) => error!("{}", failure),
    }
    loop {
        cortex_m::asm::wfi();
    }
}

/// Reads the file; its length and its SHA-256.
fn read(
    net: &mut Station<'static, Device, impl FnMut() -> Instant>,
    entropy: Entropy,
    flash: Flash<'static, embassy_stm32::flash::Blocking>,
) -> Result<(u64, Digits), Failure<embassy_stm32::flash::Error>> {
    firmware::start(net, config::ADDRESS, config::SERVER).map_err(Failure::Engine)?;
    let identity = Identity::Named { domain: config::DOMAIN, user: config::USER, password: config::PASSWORD };
    let smb = Smb::new(Config {
        sign: Policy::Always,
        ..Config::new(config::SERVER, config::SHARE, identity, entropy)
    });
    let mut client = Client::new(STORAGE.take().lend(), smb).map_err(Failure::Engine)?;
    let mut slots = Slots::new(flash, config::SLOTS_START, config::SLOT_LEN).map_err(Failure::Slot)?;
    firmware::fetch(net, &mut client, config::FILE, &mut Pages(PAGES.take()), &mut slots, config::STORE)
}

fn now() -> Instant {
    Instant::from_micros(embassy_time::Instant::now().as_micros() as i64)
}
