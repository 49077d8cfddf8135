//! `demo`: servers in this process, and what is read from them. Nothing need be installed, and nothing leaves loopback.

use super::budget::{self, IN_FLIGHT, Memory, READ_LEN};
use super::failure::{Cause, Failure};
use super::options::{Target, Who};
use super::platform;
use super::session::Session;
use super::url::Url;
use pagewire::smb::{Dialect, Dialects};
use sha2::{Digest, Sha256};
use smb_server::{Access, LocalFsBackend, Share, SmbServer};
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

const USER: &str = "demo";
const PASSWORD: &str = "a password that everybody knows";
const SHARE: &str = "demo";

/// The files: around the borders of pages and requests, and one that is long.
const LENGTHS: [usize; 8] = [0, 1, 4095, 65_536, 65_537, 1_048_576, 1_048_577, 32 << 20];
const PAGES: [usize; 3] = [4096, 16_384, 65_536];
/// More than one batch of a listing.
const ENTRIES: usize = 1500;

/// How to connect, and how that is called in the table.
struct Way {
    name: &'static str,
    dialect: Dialect,
    sign: bool,
    seal: bool,
}

const WAYS: [Way; 6] = [
    Way { name: "plain", dialect: Dialect::Smb202, sign: false, seal: false },
    Way { name: "plain", dialect: Dialect::Smb210, sign: false, seal: false },
    Way { name: "sealed", dialect: Dialect::Smb300, sign: false, seal: true },
    Way { name: "plain", dialect: Dialect::Smb311, sign: false, seal: false },
    Way { name: "signed", dialect: Dialect::Smb311, sign: true, seal: false },
    Way { name: "sealed", dialect: Dialect::Smb311, sign: false, seal: true },
];

/// What was read in one row of the table.
#[derive(Default)]
struct Row {
    bytes: u64,
    seconds: f64,
    names: usize,
    requests: u64,
    round_trips: u64,
    wrong: Vec<String>,
}

impl Row {
    fn print(&self, out: &mut File, way: &Way, page_len: usize) -> std::io::Result<()> {
        let rate = self.bytes as f64 / f64::from(1 << 20) / self.seconds;
        let verdict = if self.wrong.is_empty() { "same" } else { "DIFFERENT" };
        writeln!(
            out,
            "{:7} {:7} {:>4}K {rate:>9.0} {:>6} {:>6} {:>6}  {verdict}",
            way.dialect.name(),
            way.name,
            page_len / 1024,
            self.requests,
            self.round_trips,
            self.names,
        )
    }
}

/// Starts the servers, reads from them, and prints what came of it. `Other` if a byte was wrong.
pub fn run() -> Result<(), Failure> {
    let trouble = |error: Box<dyn Error>| Failure::new("starting the demo", Cause::Local(io_error(error)));
    let tree = tempfile::tempdir().map_err(|error| trouble(error.into()))?;
    let sums = make_tree(tree.path()).map_err(|error| trouble(error.into()))?;
    let address = serve(tree.path()).map_err(trouble)?;
    let mut out = platform::stdout().map_err(Failure::unwritten)?;
    head(&mut out, address, sums.len()).map_err(Failure::unwritten)?;
    let mut wrong = Vec::new();
    for way in &WAYS {
        for page_len in PAGES {
            let row = read_back(way, page_len, address, &sums)?;
            row.print(&mut out, way, page_len).map_err(Failure::unwritten)?;
            wrong.extend(row.wrong);
        }
    }
    if wrong.is_empty() {
        let verdict = writeln!(out, "\nEvery file is the same at every dialect and page size.");
        return verdict.map_err(Failure::unwritten);
    }
    let what = format!("these came back wrong: {}", wrong.join(", "));
    Err(Failure::new("reading what the demo had written", Cause::Local(io_error(what.into()))))
}

fn head(out: &mut File, address: SocketAddr, files: usize) -> std::io::Result<()> {
    writeln!(out, "An SMB server on {address} in this process, and {files} files read back:\n")?;
    writeln!(
        out,
        "{:7} {:7} {:>5} {:>9} {:>6} {:>6} {:>6}  SHA-256",
        "dialect", "", "page", "MiB/s", "reads", "trips", "names"
    )
}

fn io_error(error: Box<dyn Error>) -> std::io::Error {
    std::io::Error::other(error.to_string())
}

/// Writes the files and returns their names and digests.
fn make_tree(root: &Path) -> std::io::Result<Vec<(String, [u8; 32])>> {
    std::fs::create_dir(root.join("many"))?;
    for entry in 0..ENTRIES {
        std::fs::write(root.join(format!("many/entry-{entry:04}")), b"")?;
    }
    let file = |len: usize| {
        // Every run of eight bytes tells its own offset, so a wrong place shows.
        let bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(|at| at.to_le_bytes()).take(len).collect();
        let name = format!("{len}-bytes");
        std::fs::write(root.join(&name), &bytes)?;
        Ok((name, Sha256::digest(&bytes).into()))
    };
    LENGTHS.into_iter().map(file).collect()
}

/// Serves `root` until the process ends.
fn serve(root: &Path) -> Result<SocketAddr, Box<dyn Error>> {
    let share = Share::new(SHARE, LocalFsBackend::new(root)?.read_only()).user(USER, Access::Read);
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = SmbServer::builder().listen(any_port).user(USER, PASSWORD).share(share).build()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let address = runtime.block_on(server.bind())?;
    std::thread::spawn(move || runtime.block_on(server.serve()));
    Ok(address)
}

/// Reads every file and one listing.
fn read_back(
    way: &Way,
    page_len: usize,
    address: SocketAddr,
    sums: &[(String, [u8; 32])],
) -> Result<Row, Failure> {
    let target = Target {
        host: address.ip().to_string(),
        port: address.port(),
        share: SHARE.into(),
        who: Who::Named { domain: None, user: USER.into() },
        dialects: Dialects::only(way.dialect),
        sign: way.sign,
        seal: way.seal,
        timeout: Duration::from_secs(30),
    };
    let mut memory = Memory::new(IN_FLIGHT)?;
    let mut session = Session::dial(&mut memory, &target, PASSWORD, Duration::from_secs(5))?;
    session.log_in()?;
    let begin = Instant::now();
    let mut row = Row::default();
    for (name, sum) in sums {
        let mut sha = Sha256::new();
        row.bytes += read_file(&mut session, &url(&target, name), page_len, &mut sha)?;
        if sha.finalize()[..] != sum[..] {
            row.wrong.push(format!("{name} at {} {}, {page_len}", way.dialect.name(), way.name));
        }
    }
    row.seconds = begin.elapsed().as_secs_f64();
    session.list(&url(&target, "many"), |_| {
        row.names += 1;
        Ok(())
    })?;
    if row.names != ENTRIES {
        row.wrong.push(format!("a listing of {} names instead of {ENTRIES}", row.names));
    }
    let mut stats = super::stats::Stats::new("demo");
    session.account(&mut stats);
    (row.requests, row.round_trips) = (stats.requests, stats.round_trips);
    Ok(row)
}

/// Names of ours have nothing in them that a URL would encode.
fn url(target: &Target, path: &str) -> Url {
    Url::parse(&format!("{target}/{path}")).expect("a target and a path are a URL")
}

fn read_file(
    session: &mut Session<'_>,
    url: &Url,
    page_len: usize,
    sha: &mut Sha256,
) -> Result<u64, Failure> {
    let file = session.open(url)?;
    let mut bytes = budget::ring(page_len, READ_LEN, IN_FLIGHT)?;
    let mut ring = budget::pages(page_len, &mut bytes).expect("the sizes above are page sizes");
    let len = session.stream(url, &file, &mut *ring, |run| {
        sha.update(run);
        Ok(())
    })?;
    session.close(&file);
    Ok(len)
}
