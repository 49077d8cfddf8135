//! Reads files over one connection, and says what each took.

use crate::hal::{self, GRANULE, Net};
use crate::spoken::{Description, Spoken};
use core::fmt;
use pagewire::{Client, Connect, Counters, Error, Pages, StorageArray};
use pagewire_smoltcp::{Address, Buffers, Sockets, Station};
use semihosting::{eprintln, print, println};
use sha2::{Digest, Sha256};
use smoltcp::iface::Config;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr};
use static_cell::{ConstStaticCell, StaticCell};

/// Who we are in the network that QEMU makes; the host is 10.0.2.2 there.
const ADDRESS: Address = Address::Fixed {
    address: IpCidr::new(IpAddress::v4(10, 0, 2, 15), 24),
    router: Some(IpAddress::v4(10, 0, 2, 2)),
    resolver: Some(IpAddress::v4(10, 0, 2, 3)),
};

/// The same memory for file data whatever its pages: eight requests of 128 KiB, or of what the server allows.
const PAGES_LEN: usize = 1 << 20;
type PageMemory = [[u8; GRANULE]; PAGES_LEN / GRANULE];

/// As a page cache has them: each page begins where a page of the MMU does.
#[repr(C, align(65536))]
struct Aligned(PageMemory);

/// What is not sent yet, heads of replies, requests in flight.
type Storage = StorageArray<4096, 4096, 8>;

/// QEMU's network is fastest with a window of this size.
const WINDOW: usize = 256 << 10;

/// Requests are short.
const SEND_LEN: usize = 4096;

static PAGES: ConstStaticCell<Aligned> = ConstStaticCell::new(Aligned([[0; GRANULE]; PAGES_LEN / GRANULE]));
static STORAGE: ConstStaticCell<Storage> = ConstStaticCell::new(Storage::new());
static BUFFERS: ConstStaticCell<Buffers<WINDOW, SEND_LEN>> = ConstStaticCell::new(Buffers::new());
static SOCKETS: ConstStaticCell<Sockets<'static>> = ConstStaticCell::new(Sockets::new());
static DEVICE: StaticCell<Net> = StaticCell::new();

/// Why the board ends with an error.
#[derive(Debug)]
pub enum Trouble {
    /// It was told something that makes no sense.
    Told(&'static str),
    /// The machine lacks something.
    Board(&'static str),
    /// The engine says so.
    Engine(Error),
}

impl Trouble {
    /// Panics are 101.
    pub fn exit_code(&self) -> i32 {
        match self {
            Trouble::Engine(_) => 1,
            Trouble::Told(_) => 2,
            Trouble::Board(_) => 3,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Told(what) | Trouble::Board(what) => f.write_str(what),
            Trouble::Engine(error) => write!(f, "{error:?}"),
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::Engine(error)
    }
}

/// A network with one connection.
pub struct Reader(Station<'static, Net, fn() -> Instant>);

impl Reader {
    /// Finds the server, by its address or its name. To be called once. `random` chooses the first port on this side, and numbers
    /// of TCP.
    pub fn new(device: Net, host: &str, random: [u8; 8]) -> Result<Reader, Trouble> {
        let mut config = Config::new(EthernetAddress(device.address()).into());
        config.random_seed = u64::from_le_bytes(random);
        let mut station =
            Station::new(DEVICE.init(device), config, now as fn() -> Instant, SOCKETS.take(), BUFFERS.take());
        station.configure(ADDRESS)?;
        station.find(host)?;
        Ok(Reader(station))
    }

    /// Connects, reads all `files`, one after the other, ends the connection and says what memory that took. The server may be silent
    /// for `timeout_ms`. To be called once.
    pub fn read<'l, P: Spoken>(
        &mut self,
        protocol: P,
        port: u16,
        timeout_ms: u32,
        files: impl Iterator<Item = Result<&'l str, Trouble>>,
    ) -> Result<(), Trouble> {
        let mut client = Client::new(STORAGE.take().lend(), protocol)?;
        client.set_timeout_ms(timeout_ms);
        let pages = PAGES.take();
        self.0.connect(port)?;
        self.0.run(&mut client, &mut Connect::new(), |()| {})?;
        println!("connected: {}", Description(client.protocol()));
        for path in files {
            let path = path?;
            self.read_file(&mut client, &mut Pages(&mut pages.0), path)
                .inspect_err(|_| eprintln!("pagewire: reading {path}"))?;
        }
        self.0.close();
        report_memory(size_of_val(&client));
        Ok(())
    }

    /// Reads one file and prints, as `sha256sum` would, its digest and path, and what it took.
    fn read_file<P: Spoken>(
        &mut self,
        client: &mut Client<'_, P>,
        pages: &mut Pages<'_, GRANULE>,
        path: &str,
    ) -> Result<(), Trouble> {
        let (before, began) = (*client.counters(), hal::microseconds());
        let (mut sha256, mut digesting) = (Sha256::new(), 0);
        let len = self.0.read(client, path, 0, pages, |bytes| {
            let began = hal::microseconds();
            sha256.update(bytes);
            digesting += hal::microseconds() - began;
        })?;
        let took = hal::microseconds() - began;
        sha256.finalize().iter().for_each(|byte| print!("{byte:02x}"));
        println!("  {path}");
        println!("    {}", Cost { len, took, digesting, before, after: *client.counters() });
        Ok(())
    }
}

/// What a file took. Times are in microseconds.
struct Cost {
    len: u64,
    took: u64,
    digesting: u64,
    before: Counters,
    after: Counters,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cost { len, took, digesting, before, after } = self;
        write!(f, "{len} bytes in {} ms ({} ms of them for the digest)", took / 1000, digesting / 1000)?;
        let tenths = (len * 10_000_000 / took.max(&1)) >> 20;
        write!(f, ", {}.{} MiB/s", tenths / 10, tenths % 10)?;
        let round_trips = after.round_trips - before.round_trips;
        write!(f, ", {round_trips} round trips, {} requests", after.requests - before.requests)
    }
}

/// What memory there is, in bytes, and how much of the stack was used. The client lies on the stack.
fn report_memory(client_len: usize) {
    let [constant, initialised, zeros] = hal::image();
    println!("memory: stack {} of {}", hal::stack_high_water(), hal::stack_len());
    println!("    code and constants {constant}, variables {}, of which", initialised + zeros);
    println!("    pages {PAGES_LEN}, tx, rx and slots {}", size_of::<Storage>());
    println!("    sockets {}, network device {}", size_of::<Sockets<'_>>() + WINDOW + SEND_LEN, Net::LEN);
    println!("    and on the stack: client {client_len}");
}

fn now() -> Instant {
    Instant::from_micros(hal::microseconds() as i64)
}
