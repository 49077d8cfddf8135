#![no_std]
#![forbid(unsafe_code)]
//! What the firmware of all boards with Cortex-M does with a file: its SHA-256 is computed, or it is streamed to flash.

use core::fmt::Debug;
use defmt::{Debug2Format, Display2Format};
use embedded_storage::nor_flash::NorFlash;
use pagewire::{Client, Connect, Error, Protocol, Sink};
use pagewire_smoltcp::{Address, Station};
use sha2::{Digest, Sha256};
use slot::{Image, Slots};
use smoltcp::phy::Device;
use smoltcp::time::Instant;

/// Which file: where the client connects to at first, and the path that it opens.
#[derive(Clone, Copy, Debug)]
pub struct At<'s> {
    /// The port of the server.
    pub port: u16,
    /// With `/` between names.
    pub path: &'s str,
}

/// A SHA-256, logged in hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits(pub [u8; 32]);

impl defmt::Format for Digits {
    fn format(&self, f: defmt::Formatter<'_>) {
        self.0.iter().for_each(|byte| defmt::write!(f, "{=u8:02x}", byte));
    }
}

/// Why a file is not in flash.
#[derive(Debug)]
pub enum Failure<E> {
    /// It could not be read.
    Engine(Error),
    /// It could not be written.
    Slot(slot::Error<E>),
}

impl<E: Debug> defmt::Format for Failure<E> {
    fn format(&self, f: defmt::Formatter<'_>) {
        match self {
            Failure::Engine(error) => defmt::write!(f, "not read: {}", error),
            Failure::Slot(error) => defmt::write!(f, "not written: {}", Debug2Format(error)),
        }
    }
}

/// Gives the interface its address, for which it waits as long as it takes since a cable may be plugged in at any time, and
/// finds the server.
pub fn start<D: Device, C: FnMut() -> Instant>(
    station: &mut Station<'_, D, C>,
    address: Address,
    server: &str,
) -> Result<(), Error> {
    let address = loop {
        match station.configure(address) {
            Ok(address) => break address,
            Err(error) => defmt::warn!("no address yet: {}", error),
        }
    };
    let server = station.find(server)?;
    defmt::info!("address {}, server {}", Display2Format(&address), Display2Format(&server));
    Ok(())
}

/// Reads a file by [`store`] if `keep`, and else by [`hash`], and logs what was in flash before and what reading took; the file's length
/// and its SHA-256.
pub fn fetch<D: Device, C: FnMut() -> Instant, P: Protocol, F: NorFlash>(
    station: &mut Station<'_, D, C>,
    client: &mut Client<'_, P>,
    at: At<'_>,
    pages: &mut dyn Sink,
    slots: &mut Slots<F>,
    keep: bool,
) -> Result<(u64, Digits), Failure<F::Error>> {
    defmt::info!("in flash: {}", Debug2Format(&slots.newest().map_err(Failure::Slot)?));
    let outcome = if keep {
        let image = store(station, client, at, pages, slots)?;
        (image.len.into(), Digits(image.sha256))
    } else {
        hash(station, client, at, pages).map_err(Failure::Engine)?
    };
    defmt::info!("{}", client.counters());
    Ok(outcome)
}

/// Connects a client that never was and reads a file; its length and its SHA-256.
pub fn hash<D: Device, C: FnMut() -> Instant, P: Protocol>(
    station: &mut Station<'_, D, C>,
    client: &mut Client<'_, P>,
    at: At<'_>,
    pages: &mut dyn Sink,
) -> Result<(u64, Digits), Error> {
    let mut hash = Sha256::new();
    let len = read(station, client, at, pages, |bytes| hash.update(bytes))?;
    Ok((len, Digits(hash.finalize().into())))
}

/// Connects a client that never was and reads a file into the slot that does not have the newest one, each run of pages
/// when it was verified, and makes it the newest when all of it is there. The pages must be a multiple of
/// `F::WRITE_SIZE`, which is 512 at most.
pub fn store<D: Device, C: FnMut() -> Instant, P: Protocol, F: NorFlash>(
    station: &mut Station<'_, D, C>,
    client: &mut Client<'_, P>,
    at: At<'_>,
    pages: &mut dyn Sink,
    slots: &mut Slots<F>,
) -> Result<Image, Failure<F::Error>> {
    let mut update = slots.update().map_err(Failure::Slot)?;
    // After an error the rest is read in vain: an operation's items are not asked whether to go on.
    let mut written = Ok(());
    let each = |bytes: &[u8]| {
        if written.is_ok() {
            written = update.write(bytes);
        }
    };
    read(station, client, at, pages, each).map_err(Failure::Engine)?;
    written.and_then(|()| update.commit()).map_err(Failure::Slot)
}

fn read<D: Device, C: FnMut() -> Instant, P: Protocol>(
    station: &mut Station<'_, D, C>,
    client: &mut Client<'_, P>,
    at: At<'_>,
    pages: &mut dyn Sink,
    each: impl FnMut(&[u8]),
) -> Result<u64, Error> {
    station.connect(at.port)?;
    station.run(client, &mut Connect::new(), |()| {})?;
    defmt::info!("connected");
    let len = station.read(client, at.path, 0, pages, each)?;
    station.close();
    Ok(len)
}
