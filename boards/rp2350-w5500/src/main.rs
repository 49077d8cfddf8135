#![no_std]
#![no_main]
//! Reads a file from an NFS server, and streams it to flash if it is to. `config.rs` says which.

mod board;
mod config;

use board::{BoardFlash, Device};
use core::pin::pin;
use core::task::{Context, Waker};
use cortex_m_rt::entry;
use defmt::{error, info};
use defmt_rtt as _; // the logger
use embassy_futures::block_on;
use firmware::{At, Digits, Failure};
use pagewire::nfs::{Config, Nfs3};
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
    let (mut board, ethernet) = block_on(board::start(config::MAC));
    // What moves frames between the W5500 and memory goes on whenever the station polls.
    let mut ethernet = pin!(ethernet.run());
    let clock = || {
        let _ = ethernet.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        Instant::from_micros(embassy_time::Instant::now().as_micros() as i64)
    };
    let mut interface = Interface::new(EthernetAddress(config::MAC).into());
    interface.random_seed = board.rng.blocking_next_u64();
    let mut net = Station::new(board.device, interface, clock, SOCKETS.take(), BUFFERS.take());

    match read(&mut net, board.rng.blocking_next_u32(), board.flash) {
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
    xid: u32,
    flash: BoardFlash,
) -> Result<(u64, Digits), Failure<embassy_rp::flash::Error>> {
    firmware::start(net, config::ADDRESS, config::SERVER).map_err(Failure::Engine)?;
    let nfs = Config { credential: config::CREDENTIAL, ..Config::new(config::PATH, xid) };
    let file = At { port: Nfs3::first_port(&nfs), path: config::PATH };
    let mut client = Client::new(STORAGE.take().lend(), Nfs3::new(nfs)).map_err(Failure::Engine)?;
    let mut slots = Slots::new(flash, config::SLOTS_START, config::SLOT_LEN).map_err(Failure::Slot)?;
    firmware::fetch(net, &mut client, file, &mut Pages(PAGES.take()), &mut slots, config::STORE)
}
