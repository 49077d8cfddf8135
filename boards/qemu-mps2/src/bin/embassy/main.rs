#![no_std]
#![no_main]
//! The same by an executor: the engine's driver for `embedded_io_async` over a socket of embassy-net. Nothing polls here. The
//! processor waits for the controller's interrupt, or the clock's.

mod time;

use cortex_m_rt::exception;
use defmt::{Display2Format, error, info};
use defmt_semihosting as _; // the logger
use embassy_executor::Spawner;
use embassy_net::tcp::{self, TcpSocket};
use embassy_net::{IpAddress, Runner, Stack, StackResources};
use embedded_io_async::{ErrorType, Read, Write};
use firmware::{At, Digits};
use mps2::job::{self, Failure, Job, Spoken};
use mps2::lan9118::{self, Awaited, Lan9118};
use mps2::stack;
use pagewire::asynch::{self, FileReader, Link};
use pagewire::nfs::Nfs3;
use pagewire::smb::Smb;
use pagewire::{Client, Clock, Close, Open, Pages, StorageArray};
use semihosting::process;
use sha2::{Digest, Sha256};
use static_cell::{ConstStaticCell, StaticCell};
use time::EmbassyTime;

/// All RAM that the firmware may use: statics, in which the tasks lie, and the deepest stack.
const RAM_BUDGET: usize = 56 * 1024;

/// How long the server may be silent: the executor's timer is what ends that.
const TIMEOUT_MS: u32 = 10_000;

static STORAGE: ConstStaticCell<StorageArray<1024, 1024, 4>> = ConstStaticCell::new(StorageArray::new());
static PAGES: ConstStaticCell<[[u8; 4096]; 4]> = ConstStaticCell::new([[0; 4096]; 4]);
static SOCKET_RX: ConstStaticCell<[u8; 8760]> = ConstStaticCell::new([0; 8760]);
static SOCKET_TX: ConstStaticCell<[u8; 1024]> = ConstStaticCell::new([0; 1024]);
/// For DHCP and TCP.
static RESOURCES: StaticCell<StackResources<2>> = StaticCell::new();
static DEVICE: StaticCell<Lan9118> = StaticCell::new();

#[panic_handler]
fn panic(panic: &core::panic::PanicInfo<'_>) -> ! {
    error!("{}", Display2Format(panic));
    process::exit(101)
}

#[exception]
unsafe fn DefaultHandler(interrupt: i16) {
    assert_eq!(interrupt, lan9118::INTERRUPT, "nobody else has asked for interrupts");
    lan9118::interrupted();
}

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    stack::paint();
    time::start();
    job::exit(read_file(spawner).await.and_then(|()| job::keeps(RAM_BUDGET)))
}

async fn read_file(spawner: Spawner) -> Result<(), Failure> {
    let arguments = job::arguments()?;
    let job = Job::parse(&arguments)?;
    let mut connection = Connection::new(net(spawner).await?);
    match job {
        Job::Smb(config, at) => hash_file(&mut connection, Smb::new(config), at).await,
        Job::Nfs3(config, at) => hash_file(&mut connection, Nfs3::new(config), at).await,
    }
}

/// The network, with an address from DHCP.
async fn net(spawner: Spawner) -> Result<Stack<'static>, Failure> {
    let device = DEVICE.init(Lan9118::of_this_machine().map_err(Failure::Lan9118)?);
    let config = embassy_net::Config::dhcpv4(Default::default());
    let seed = u64::from_le_bytes(job::random()?);
    let resources = RESOURCES.init_with(StackResources::new);
    let (stack, runner) = embassy_net::new(device.awaited(), config, resources, seed);
    spawner.spawn(network(runner).expect("it is spawned once"));
    stack.wait_config_up().await;
    Ok(stack)
}

#[embassy_executor::task]
async fn network(mut runner: Runner<'static, Awaited<'static>>) -> ! {
    runner.run().await
}

async fn hash_file<P: Spoken>(io: &mut Connection, protocol: P, at: At<'_>) -> Result<(), Failure> {
    let mut client = Client::new(STORAGE.take().lend(), protocol).map_err(Failure::Engine)?;
    client.set_timeout_ms(TIMEOUT_MS);
    let begin = EmbassyTime.now();
    let (len, sha256) = hash(&mut client, io, at).await.map_err(|failure| match failure {
        asynch::Failure::Engine(error) => Failure::Engine(error),
        _ => Failure::Engine(pagewire::Error::Closed),
    })?;
    job::report(&client, len, sha256, EmbassyTime.now().0 - begin.0);
    Ok(())
}

/// Reads a file; its length and its SHA-256.
async fn hash<P: Spoken>(
    client: &mut Client<'_, P>,
    io: &mut Connection,
    at: At<'_>,
) -> Result<(u64, Digits), asynch::Failure<tcp::Error>> {
    io.connect(at.port).await.map_err(asynch::Failure::Transport)?;
    let file = asynch::run(client, io, &EmbassyTime, &mut Open::new(at.path)).await?;
    info!("connected");
    let mut pages = Pages(PAGES.take());
    let mut reader = FileReader::new(client, io, &EmbassyTime, &file, &mut pages);
    let (mut len, mut sha256, mut buf) = (0, Sha256::new(), [0; 512]);
    loop {
        let count = reader.read(&mut buf).await?;
        if count == 0 {
            break;
        }
        sha256.update(&buf[..count]);
        len += count as u64;
    }
    asynch::run(client, io, &EmbassyTime, &mut Close::new(&file)).await?;
    Ok((len, Digits(sha256.finalize().into())))
}

/// The connection to the server, which can be exchanged for one to another of its ports.
struct Connection {
    socket: TcpSocket<'static>,
    server: IpAddress,
}

impl Connection {
    fn new(stack: Stack<'static>) -> Self {
        let mut socket = TcpSocket::new(stack, SOCKET_RX.take(), SOCKET_TX.take());
        socket.set_timeout(Some(embassy_time::Duration::from_secs(30)));
        socket.set_nagle_enabled(false);
        Connection { socket, server: job::SERVER.parse().expect("it is an address") }
    }
}

impl ErrorType for Connection {
    type Error = tcp::Error;
}

impl Read for Connection {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, tcp::Error> {
        self.socket.read(buf).await
    }
}

impl Write for Connection {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, tcp::Error> {
        self.socket.write(buf).await
    }

    async fn flush(&mut self) -> Result<(), tcp::Error> {
        self.socket.flush().await
    }
}

impl Link for Connection {
    async fn connect(&mut self, port: u16) -> Result<bool, tcp::Error> {
        self.socket.abort();
        self.socket.flush().await?;
        let connected = self.socket.connect((self.server, port)).await;
        connected.map(|()| true).map_err(|_| tcp::Error::ConnectionReset)
    }
}
