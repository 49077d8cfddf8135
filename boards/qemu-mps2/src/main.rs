#![no_std]
#![no_main]
//! Reads a file as its command line says, by polling, and logs its SHA-256 and what memory that took.
//!
//! Exit codes are those of [`mps2::job::exit`], and 101 for a panic.

use cortex_m_rt::entry;
use defmt::{Display2Format, error, info};
use defmt_semihosting as _; // the logger
use firmware::At;
use mps2::job::{self, Failure, Job, Spoken};
use mps2::lan9118::{self, Lan9118};
use mps2::{clock, stack};
use pagewire::inflight::Slot;
use pagewire::nfs::Nfs3;
use pagewire::smb::Smb;
use pagewire::{Client, Pages, StorageArray};
use pagewire_smoltcp::{Address, Buffers, SEGMENT_LEN, Sockets, Station};
use semihosting::process;
use smoltcp::iface::Config;
use smoltcp::time::Instant;
use smoltcp::wire::EthernetAddress;
use static_cell::{ConstStaticCell, StaticCell};

/// All RAM that the firmware may use: statics and the deepest stack.
const RAM_BUDGET: usize = 48 * 1024;

// What the engine and smoltcp are lent. `StorageArray` and `Buffers` say what each part buys.
const TX_LEN: usize = 1024;
const RX_LEN: usize = 1024;
const SLOTS: usize = 4;
const PAGE_LEN: usize = 4096;
const PAGES_LEN: usize = 4 * PAGE_LEN;
const SOCKET_RX_LEN: usize = lan9118::BURST * SEGMENT_LEN;
const SOCKET_TX_LEN: usize = TX_LEN;
static STORAGE: ConstStaticCell<StorageArray<TX_LEN, RX_LEN, SLOTS>> =
    ConstStaticCell::new(StorageArray::new());
static PAGES: ConstStaticCell<[[u8; PAGE_LEN]; PAGES_LEN / PAGE_LEN]> =
    ConstStaticCell::new([[0; PAGE_LEN]; PAGES_LEN / PAGE_LEN]);
static BUFFERS: ConstStaticCell<Buffers<SOCKET_RX_LEN, SOCKET_TX_LEN>> = ConstStaticCell::new(Buffers::new());
static SOCKETS: ConstStaticCell<Sockets<'static>> = ConstStaticCell::new(Sockets::new());
static DEVICE: StaticCell<Lan9118> = StaticCell::new();

type Network = Station<'static, Lan9118, fn() -> Instant>;

#[panic_handler]
fn panic(panic: &core::panic::PanicInfo<'_>) -> ! {
    error!("{}", Display2Format(panic));
    process::exit(101)
}

#[entry]
fn main() -> ! {
    stack::paint();
    clock::start();
    job::exit(read_file().and_then(|()| job::keeps(RAM_BUDGET)))
}

fn read_file() -> Result<(), Failure> {
    let arguments = job::arguments()?;
    let job = Job::parse(&arguments)?;
    let mut net = net()?;
    match job {
        Job::Smb(config, at) => hash_file(&mut net, || Smb::new(config), at)?,
        Job::Nfs3(config, at) => hash_file(&mut net, || Nfs3::new(config), at)?,
    }
    let slots = SLOTS * size_of::<Slot>();
    info!("engine: tx {} rx {} slots {} pages {}", TX_LEN, RX_LEN, slots, PAGES_LEN);
    info!("network: rx {} tx {} controller {}", SOCKET_RX_LEN, SOCKET_TX_LEN, size_of::<Lan9118>());
    Ok(())
}

/// On its own for each protocol, so that one's frame is not as large as the other's.
#[inline(never)]
fn hash_file<P: Spoken>(net: &mut Network, protocol: impl FnOnce() -> P, at: At<'_>) -> Result<(), Failure> {
    let mut client = Client::new(STORAGE.take().lend(), protocol()).map_err(Failure::Engine)?;
    let mut pages = Pages(PAGES.take());
    let begin = clock::now();
    let (len, sha256) = firmware::hash(net, &mut client, at, &mut pages).map_err(Failure::Engine)?;
    job::report(&client, len, sha256, (clock::now() - begin).total_millis());
    Ok(())
}

/// The network, with an address. On its own, so that its frame is gone when the file is read.
#[inline(never)]
fn net() -> Result<Network, Failure> {
    let device = DEVICE.init(Lan9118::of_this_machine().map_err(Failure::Lan9118)?);
    let mut config = Config::new(EthernetAddress(device.mac()).into());
    config.random_seed = u64::from_le_bytes(job::random()?);
    let mut net = Network::new(device, config, clock::now, SOCKETS.take(), BUFFERS.take());
    firmware::start(&mut net, Address::Dhcp, job::SERVER).map_err(Failure::Engine)?;
    Ok(net)
}
