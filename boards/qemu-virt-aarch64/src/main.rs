#![no_std]
#![no_main]
//! Reads files from an SMB or NFS server and says what it read and what it took. See README.md.

#[allow(unsafe_code)]
mod hal;
mod job;
mod reader;
mod spoken;

use aarch64_rt::entry;
use hal::Net;
use job::{Job, Wire};
use pagewire::nfs::{Nfs3, Nfs4};
use pagewire::smb::{Config, Dialects, Entropy, Identity, Smb};
use reader::{Reader, Trouble};
use semihosting::experimental::env;
use semihosting::{eprintln, println, process};

/// The longest line that tells what to do.
const LINE_LEN: usize = 1024;

/// Stack, in pages of 4 KiB.
const STACK_PAGES: usize = 16;

entry!(main, STACK_PAGES);

fn main(_: u64, _: u64, _: u64, _: u64) -> ! {
    hal::paint_stack();
    let code = match run() {
        Ok(()) => 0,
        Err(trouble) => {
            eprintln!("pagewire: {trouble}");
            trouble.exit_code()
        }
    };
    process::exit(code)
}

fn run() -> Result<(), Trouble> {
    let granule = hal::granule_in_use().ok_or(Trouble::Board("the MMU or a cache is off"))?;
    println!("MMU and caches on, granule {} KiB, pages of {} bytes", granule >> 10, hal::GRANULE);
    let line = env::args::<LINE_LEN>().map_err(|_| Trouble::Told("the line is too long"))?;
    let mut words = (&line).into_iter().map(|word| word.map_err(|_| Trouble::Told("the line is not UTF-8")));
    // Before it stands the path of the image, which may have spaces in it.
    let is_url = |word: &Result<&str, Trouble>| word.as_ref().is_ok_and(|word| word.contains("://"));
    let url = words.find(is_url).ok_or(Trouble::Told("no URL"))??;
    let job = Job::parse(url).map_err(Trouble::Told)?;
    let device = Net::find().ok_or(Trouble::Board("no network device"))?;
    let mut reader = Reader::new(device, job.host, random()?)?;
    match job.wire {
        Wire::Smb { user, password, share, dialect, sign, seal } => {
            let me = Identity::Named { domain: "", user, password };
            let mut config = Config::new("server", share, me, Entropy::from_bytes(random()?));
            (config.dialects, config.sign, config.seal) = (Dialects::only(dialect), sign, seal);
            reader.read(Smb::new(config), job.port, job.timeout_ms, words)
        }
        Wire::Nfs3 { path, mount_port } => {
            let config = spoken::nfs3(path, job.port, mount_port, random()?);
            let first_port = Nfs3::first_port(&config);
            reader.read(Nfs3::new(config), first_port, job.timeout_ms, words)
        }
        Wire::Nfs4 { minor } => {
            let owner = random()?;
            let config = spoken::nfs4(&owner, minor, random()?);
            reader.read(Nfs4::new(config), job.port, job.timeout_ms, words)
        }
    }
}

fn random<const LEN: usize>() -> Result<[u8; LEN], Trouble> {
    hal::random().ok_or(Trouble::Board("the processor has no random numbers (FEAT_RNG)"))
}
