//! `demo`: servers in this process, and what is read from them. Nothing need be installed, and nothing leaves loopback.

use super::budget::{self, IN_FLIGHT, Memory, READ_LEN, RX_LEN};
use super::dial::Call;
use super::failure::{Cause, Failure};
use super::options::NfsVersion;
use super::platform;
use super::session::Session;
use super::target::{Exports, Place, Share, Target, Who};
use super::url::Url;
use nfs3_server::memfs::{MemFs, MemFsConfig};
use nfs3_server::tcp::{NFSTcp, NFSTcpListener};
use pagewire::smb::{Dialect, Dialects};
use pagewire::{Fetched, Pages};
use sha2::{Digest, Sha256};
use smb_server::{Access, LocalFsBackend, SmbServer};
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
    speaks: Speaks,
}

enum Speaks {
    Smb { dialect: Dialect, sign: bool, seal: bool },
    Nfs3,
}

const fn smb(name: &'static str, dialect: Dialect, sign: bool, seal: bool) -> Way {
    Way { name, speaks: Speaks::Smb { dialect, sign, seal } }
}

const WAYS: [Way; 7] = [
    smb("plain", Dialect::Smb202, false, false),
    smb("plain", Dialect::Smb210, false, false),
    smb("sealed", Dialect::Smb300, false, true),
    smb("plain", Dialect::Smb311, false, false),
    smb("signed", Dialect::Smb311, true, false),
    smb("sealed", Dialect::Smb311, false, true),
    Way { name: "plain", speaks: Speaks::Nfs3 },
];

/// Where the servers are.
struct Servers {
    smb: SocketAddr,
    nfs: SocketAddr,
}

impl Way {
    fn dialect(&self) -> &'static str {
        match self.speaks {
            Speaks::Smb { dialect, .. } => dialect.name(),
            Speaks::Nfs3 => "NFSv3",
        }
    }

    fn target(&self, servers: &Servers) -> Target {
        let (address, place) = match self.speaks {
            Speaks::Smb { dialect, sign, seal } => {
                let share = Share {
                    port: servers.smb.port(),
                    name: SHARE.into(),
                    who: Who::Named { domain: None, user: USER.into() },
                    dialects: Dialects::only(dialect),
                    sign,
                    seal,
                };
                (servers.smb, Place::Smb(share))
            }
            Speaks::Nfs3 => {
                let exports = Exports {
                    version: NfsVersion::V3,
                    nfs_port: Some(servers.nfs.port()),
                    mount_port: Some(servers.nfs.port()),
                    machine_name: "demo".into(),
                    uid: 0,
                    gid: 0,
                    gids: Vec::new(),
                    privileged: false,
                };
                (servers.nfs, Place::Nfs(exports))
            }
        };
        Target { host: address.ip().to_string(), timeout: Duration::from_secs(30), pauses_max: None, place }
    }
}

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
            way.dialect(),
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
    let smb = serve(tree.path()).map_err(trouble)?;
    let nfs = serve_nfs(tree.path()).map_err(trouble)?;
    let servers = Servers { smb, nfs };
    let mut out = platform::stdout().map_err(Failure::unwritten)?;
    head(&mut out, &servers, sums.len()).map_err(Failure::unwritten)?;
    let mut wrong = Vec::new();
    for way in &WAYS {
        for page_len in PAGES {
            let row = read_back(way, page_len, &servers, &sums)?;
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

fn head(out: &mut File, servers: &Servers, files: usize) -> std::io::Result<()> {
    let Servers { smb, nfs } = servers;
    writeln!(
        out,
        "An SMB server on {smb} and an NFS server on {nfs} in this process, and {files} files read back:\n"
    )?;
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
    let share =
        smb_server::Share::new(SHARE, LocalFsBackend::new(root)?.read_only()).user(USER, Access::Read);
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = SmbServer::builder().listen(any_port).user(USER, PASSWORD).share(share).build()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let address = runtime.block_on(server.bind())?;
    std::thread::spawn(move || runtime.block_on(server.serve()));
    Ok(address)
}

/// The same by NFSv3, from memory.
fn serve_nfs(root: &Path) -> Result<SocketAddr, Box<dyn Error>> {
    let mut tree = MemFsConfig::default();
    tree.add_dir("/many");
    for directory in ["", "/many"] {
        for entry in std::fs::read_dir(root.join(directory.trim_start_matches('/')))? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                let path = format!("{directory}/{}", entry.file_name().display());
                tree.add_file(&path, std::fs::read(entry.path())?);
            }
        }
    }
    let tree = MemFs::new(tree).map_err(|status| format!("the tree in memory: {status:?}"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let server = runtime.block_on(NFSTcpListener::bind("127.0.0.1:0", tree))?;
    let address = SocketAddr::new(server.get_listen_ip(), server.get_listen_port());
    std::thread::spawn(move || runtime.block_on(server.handle_forever()));
    Ok(address)
}

/// Reads every file and one listing.
fn read_back(
    way: &Way,
    page_len: usize,
    servers: &Servers,
    sums: &[(String, [u8; 32])],
) -> Result<Row, Failure> {
    let target = way.target(servers);
    let mut memory = Memory::new(IN_FLIGHT, RX_LEN)?;
    let call = Call { memory: &mut memory, target: &target, timeout: Duration::from_secs(5) };
    let mut session: Box<dyn Session> = match &target.place {
        Place::Smb(share) => Box::new(call.smb(share, PASSWORD)?),
        Place::Nfs(exports) => Box::new(call.nfs3(exports, "/")?),
    };
    session.log_in()?;
    let begin = Instant::now();
    let mut row = Row::default();
    for (name, sum) in sums {
        let mut sha = Sha256::new();
        row.bytes += read_file(session.as_mut(), &url(&target, name), page_len, &mut sha)?;
        if sha.finalize()[..] != sum[..] {
            row.wrong.push(format!("{name} at {} {}, {page_len}", way.dialect(), way.name));
        }
    }
    row.seconds = begin.elapsed().as_secs_f64();
    session.list(&url(&target, "many"), &mut |_| {
        row.names += 1;
        Ok(())
    })?;
    if row.names != ENTRIES {
        row.wrong.push(format!("a listing of {} names instead of {ENTRIES}", row.names));
    }
    let mut stats = super::stats::Stats::new("demo");
    session.account(&mut stats);
    session.leave();
    (row.requests, row.round_trips) = (stats.requests, stats.round_trips);
    Ok(row)
}

/// Names of ours have nothing in them that a URL would encode.
fn url(target: &Target, path: &str) -> Url {
    Url::parse(&format!("{target}/{path}")).expect("a target and a path are a URL")
}

fn read_file(
    session: &mut dyn Session,
    url: &Url,
    page_len: usize,
    sha: &mut Sha256,
) -> Result<u64, Failure> {
    let (mut head, mut ring) = (budget::heads(READ_LEN, 1)?, budget::ring(page_len, READ_LEN, IN_FLIGHT)?);
    let right = "the sizes above are page sizes";
    let mut ring = budget::pages(page_len, &mut ring).expect(right);
    let mut len = 0;
    session.fetch(url, &mut Pages(&mut head), &mut *ring, &mut |part| {
        match part {
            Fetched::Content(content) => sha.update(content.data()),
            Fetched::Ended(end) => len = end,
            Fetched::Opened { .. } | Fetched::Failed(_) => {}
        }
        Ok(())
    })?;
    Ok(len)
}
