#![no_std]
#![no_main]
//! Reads a file as its command line says, and logs its SHA-256 and what memory that took.
//!
//! Exit codes: 0 read; 1 not read; 2 the command line makes no sense; 3 more memory was used than is stated; 101 panic.

use cortex_m::peripheral::CPUID;
use cortex_m_rt::entry;
use defmt::{Display2Format, error, info};
use defmt_semihosting as _; // the logger
use firmware::At;
use mps2::{clock, lan9118, lan9118::Lan9118, lan9118_base, stack};
use pagewire::inflight::Slot;
use pagewire::nfs::{self, Nfs3};
use pagewire::smb::{self, Dialect, Dialects, Entropy, Identity, Policy, Smb};
use pagewire::{Client, Pages, Protocol, StorageArray};
use pagewire_smoltcp::{Address, Buffers, SEGMENT_LEN, Sockets, Station};
use semihosting::experimental::{env, random::fill_bytes};
use semihosting::process;
use smoltcp::iface::Config;
use smoltcp::time::Instant;
use smoltcp::wire::EthernetAddress;
use static_cell::{ConstStaticCell, StaticCell};

/// The host, as QEMU's network of the user shows it.
const SERVER: &str = "10.0.2.2";

const RAM: usize = 0x2000_0000;
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

/// The command line is no longer than this.
const COMMAND_LINE_LEN: usize = 512;

#[panic_handler]
fn panic(panic: &core::panic::PanicInfo<'_>) -> ! {
    error!("{}", Display2Format(panic));
    process::exit(101)
}

/// Why a file was not read, or not as promised.
#[derive(defmt::Format)]
enum Failure {
    Usage,
    Semihosting,
    Lan9118(lan9118::Error),
    Engine(pagewire::Error),
    Budget,
}

#[entry]
fn main() -> ! {
    stack::paint();
    clock::start();
    let outcome = read_file().and_then(|()| keeps_budget());
    if let Err(failure) = &outcome {
        error!("{}", failure);
    }
    process::exit(match outcome {
        Ok(()) => 0,
        Err(Failure::Usage) => 2,
        Err(Failure::Budget) => 3,
        Err(_) => 1,
    })
}

fn read_file() -> Result<(), Failure> {
    let arguments = env::args::<COMMAND_LINE_LEN>().map_err(|_| Failure::Semihosting)?;
    let mut words = [""; 7];
    // The first is the program.
    for (word, argument) in words.iter_mut().zip((&arguments).skip(1)) {
        *word = argument.map_err(|_| Failure::Usage)?;
    }
    let port = |word: &str| word.parse().map_err(|_| Failure::Usage);
    let mut net = net()?;
    match words {
        [kind @ ("smb-signed" | "smb-sealed"), smb, share, user, password, path, ""] => {
            let identity = Identity::Named { domain: "", user, password };
            let config = smb::Config {
                dialects: Dialects::only(Dialect::Smb311),
                sign: Policy::Always,
                seal: if kind == "smb-sealed" { Policy::Always } else { Policy::IfNeeded },
                ..smb::Config::new(SERVER, share, identity, Entropy::from_bytes(random()?))
            };
            read_smb(&mut net, config, At { port: port(smb)?, path })
        }
        ["nfs3", nfs, mount, path, "", "", ""] => {
            let xid = u32::from_le_bytes(random()?);
            let (nfs_port, mount_port) = (Some(port(nfs)?), Some(port(mount)?));
            read_nfs3(&mut net, nfs::Config { nfs_port, mount_port, ..nfs::Config::new(path, xid) })
        }
        _ => Err(Failure::Usage),
    }
}

fn read_smb(net: &mut Network, config: smb::Config<'_>, at: At<'_>) -> Result<(), Failure> {
    let mut client = Client::new(STORAGE.take().lend(), Smb::new(config)).map_err(Failure::Engine)?;
    hash_file(net, &mut client, at)?;
    let smb = client.protocol();
    info!("SMB {}, signed: {}, sealed: {}", smb.dialect(), smb.signing(), smb.sealing());
    Ok(())
}

fn read_nfs3(net: &mut Network, config: nfs::Config<'_>) -> Result<(), Failure> {
    let at = At { port: Nfs3::first_port(&config), path: config.path };
    let mut client = Client::new(STORAGE.take().lend(), Nfs3::new(config)).map_err(Failure::Engine)?;
    hash_file(net, &mut client, at)?;
    info!("NFSv3, mounted: {}", client.protocol().mounted());
    Ok(())
}

fn hash_file<P: Protocol>(net: &mut Network, client: &mut Client<'_, P>, at: At<'_>) -> Result<(), Failure> {
    let mut pages = Pages(PAGES.take());
    let begin = clock::now();
    let (len, sha256) = firmware::hash(net, client, at, &mut pages).map_err(Failure::Engine)?;
    let millis = (clock::now() - begin).total_millis().max(1);
    info!("sha256 {}", sha256);
    info!("{} bytes in {} ms, {} KiB/s", len, millis, len * 1000 / 1024 / millis);
    info!("{}", client.counters());
    info!("client {} bytes", size_of_val(client));
    Ok(())
}

/// The network, with an address. On its own, so that its frame is gone when the file is read.
#[inline(never)]
fn net() -> Result<Network, Failure> {
    let device = DEVICE.init(device()?);
    let mut config = Config::new(EthernetAddress(device.mac()).into());
    config.random_seed = u64::from_le_bytes(random()?);
    let mut net = Network::new(device, config, clock::now, SOCKETS.take(), BUFFERS.take());
    firmware::start(&mut net, Address::Dhcp, SERVER).map_err(Failure::Engine)?;
    Ok(net)
}

/// Random bytes of the host: the machine has none.
fn random<const LEN: usize>() -> Result<[u8; LEN], Failure> {
    let mut bytes = [0; LEN];
    fill_bytes(&mut bytes).map_err(|_| Failure::Semihosting)?;
    Ok(bytes)
}

fn device() -> Result<Lan9118, Failure> {
    // SAFETY: CPUID has an effect on nothing, whoever else reads it.
    let cpuid = unsafe { (*CPUID::PTR).base.read() };
    // SAFETY: that is where this machine has it, and this is called once.
    let device = unsafe { Lan9118::new(lan9118_base(cpuid)) }.map_err(Failure::Lan9118)?;
    info!("CPUID {:08x}, LAN9118 {:08x}", cpuid, device.id());
    Ok(device)
}

fn keeps_budget() -> Result<(), Failure> {
    let (statics, stack) = (stack::statics_len(RAM), stack::high_water());
    let slots = SLOTS * size_of::<Slot>();
    info!("engine: tx {} rx {} slots {} pages {}", TX_LEN, RX_LEN, slots, PAGES_LEN);
    info!("network: rx {} tx {} controller {}", SOCKET_RX_LEN, SOCKET_TX_LEN, size_of::<Lan9118>());
    info!("RAM: statics {} + stack {} = {} of {}", statics, stack, statics + stack, RAM_BUDGET);
    if statics + stack <= RAM_BUDGET { Ok(()) } else { Err(Failure::Budget) }
}
