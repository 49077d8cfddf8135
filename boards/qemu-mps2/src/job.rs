//! What the firmware is told by its command line, and what it says and ends with.

use crate::{lan9118, stack};
use defmt::{error, info};
use firmware::{At, Digits};
use pagewire::nfs::{self, Nfs3};
use pagewire::smb::{self, Dialect, Dialects, Entropy, Identity, Policy, Smb};
use pagewire::{Client, Protocol};
use semihosting::experimental::{env, random::fill_bytes};
use semihosting::process;

/// The host, as QEMU's network of the user shows it.
pub const SERVER: &str = "10.0.2.2";

/// The command line is no longer than this.
const COMMAND_LINE_LEN: usize = 512;

const RAM: usize = 0x2000_0000;

/// Why a file was not read, or not as promised.
#[derive(defmt::Format)]
pub enum Failure {
    Usage,
    Semihosting,
    Lan9118(lan9118::Error),
    Engine(pagewire::Error),
    Budget,
}

/// The words of the command line.
pub type Arguments = env::Args<COMMAND_LINE_LEN>;

pub fn arguments() -> Result<Arguments, Failure> {
    env::args().map_err(|_| Failure::Semihosting)
}

/// How to speak to the server, and which file is wanted.
pub enum Job<'l> {
    Smb(smb::Config<'l>, At<'l>),
    Nfs3(nfs::Config<'l>, At<'l>),
}

impl<'l> Job<'l> {
    /// See `run` for what there may be.
    pub fn parse(arguments: &'l Arguments) -> Result<Job<'l>, Failure> {
        let mut words = [""; 7];
        // The first is the program.
        for (word, argument) in words.iter_mut().zip(arguments.skip(1)) {
            *word = argument.map_err(|_| Failure::Usage)?;
        }
        let port = |word: &str| word.parse().map_err(|_| Failure::Usage);
        match words {
            [kind @ ("smb-signed" | "smb-sealed"), smb, share, user, password, path, ""] => {
                let identity = Identity::Named { domain: "", user, password };
                let config = smb::Config {
                    dialects: Dialects::only(Dialect::Smb311),
                    sign: Policy::Always,
                    seal: if kind == "smb-sealed" { Policy::Always } else { Policy::IfNeeded },
                    ..smb::Config::new(SERVER, share, identity, Entropy::from_bytes(random()?))
                };
                Ok(Job::Smb(config, At { port: port(smb)?, path }))
            }
            ["nfs3", nfs, mount, path, "", "", ""] => {
                let xid = u32::from_le_bytes(random()?);
                let (nfs_port, mount_port) = (Some(port(nfs)?), Some(port(mount)?));
                let config = nfs::Config { nfs_port, mount_port, ..nfs::Config::new(path, xid) };
                let at = At { port: Nfs3::first_port(&config), path };
                Ok(Job::Nfs3(config, at))
            }
            _ => Err(Failure::Usage),
        }
    }
}

/// Random bytes of the host: the machine has none.
pub fn random<const LEN: usize>() -> Result<[u8; LEN], Failure> {
    let mut bytes = [0; LEN];
    fill_bytes(&mut bytes).map_err(|_| Failure::Semihosting)?;
    Ok(bytes)
}

/// A protocol that can say what was negotiated.
pub trait Spoken: Protocol {
    fn log(&self);
}

impl Spoken for Smb<'_> {
    fn log(&self) {
        info!("SMB {}, signed: {}, sealed: {}", self.dialect(), self.signing(), self.sealing());
    }
}

impl Spoken for Nfs3<'_> {
    fn log(&self) {
        info!("NFSv3, mounted: {}", self.mounted());
    }
}

/// Logs what was read, and what that took.
pub fn report<P: Spoken>(client: &Client<'_, P>, len: u64, sha256: Digits, millis: u64) {
    info!("sha256 {}", sha256);
    info!("{} bytes in {} ms, {} KiB/s", len, millis, len * 1000 / 1024 / millis.max(1));
    info!("{}", client.counters());
    client.protocol().log();
    info!("client {} bytes", size_of_val(client));
}

/// Logs what RAM was used: statics and the deepest stack. An error if that is more than `budget`.
pub fn keeps(budget: usize) -> Result<(), Failure> {
    let (statics, stack) = (stack::statics_len(RAM), stack::high_water());
    info!("RAM: statics {} + stack {} = {} of {}", statics, stack, statics + stack, budget);
    if statics + stack <= budget { Ok(()) } else { Err(Failure::Budget) }
}

/// Ends with an exit code: 0 read; 1 not read; 2 the command line makes no sense; 3 more memory was used than is stated.
pub fn exit(outcome: Result<(), Failure>) -> ! {
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
