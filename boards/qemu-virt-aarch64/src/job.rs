//! What the board is told: one line, which QEMU's `-append` gives and semihosting reads.
//!
//! ```text
//! smb://USER:PASSWORD@HOST:PORT/SHARE?version=3.1.1&sign FILE...
//! nfs://HOST:PORT/EXPORT?version=3&mountport=PORT FILE...
//! nfs://HOST:PORT?version=4.2 FILE...
//! ```
//!
//! It is what the command `pagewire` takes, but for the password, and for the files, whose paths start at the share's or the
//! NFS server's root. Nothing in it is encoded. `timeout=SECONDS` is for all.

use pagewire::limits;
use pagewire::smb::{Dialect, Policy};

/// What to read from: everything before the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job<'a> {
    /// The server: its address or its name.
    pub host: &'a str,
    /// Its port. With NFS 3, that of NFS.
    pub port: u16,
    /// How long it may be silent.
    pub timeout_ms: u32,
    /// How it is spoken to.
    pub wire: Wire<'a>,
}

/// A protocol, and what only that needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire<'a> {
    /// SMB.
    Smb {
        /// As whom.
        user: &'a str,
        /// His password.
        password: &'a str,
        /// The share.
        share: &'a str,
        /// The one that is offered.
        dialect: Dialect,
        /// Signed always.
        sign: Policy,
        /// Sealed always.
        seal: Policy,
    },
    /// NFS 3.
    Nfs3 {
        /// What is to be mounted.
        path: &'a str,
        /// Where MOUNT is; `None` asks the port mapper.
        mount_port: Option<u16>,
    },
    /// NFS 4.
    Nfs4 {
        /// The minor version.
        minor: u32,
    },
}

const NO_PORT: &str = "the server is not HOST:PORT, as in 10.0.2.2:445";

impl<'a> Job<'a> {
    /// From a URL. What is wrong with it otherwise.
    pub fn parse(url: &'a str) -> Result<Job<'a>, &'static str> {
        let (scheme, rest) = url.split_once("://").ok_or("a URL begins with smb:// or nfs://")?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = place.split_at(place.find('/').unwrap_or(place.len()));
        let (login, address) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (host, port) = address.rsplit_once(':').ok_or(NO_PORT)?;
        let port = port.parse().map_err(|_| NO_PORT)?;
        let timeout_ms = match option(query, "timeout") {
            Some(seconds) => 1000 * u32::from(seconds.parse::<u16>().map_err(|_| "timeout is no number")?),
            None => limits::TIMEOUT_MS,
        };
        let wire = match scheme {
            "smb" => smb(login, path.trim_start_matches('/'), query)?,
            "nfs" => nfs(path, query)?,
            _ => return Err("a URL begins with smb:// or nfs://"),
        };
        Ok(Job { host, port, timeout_ms, wire })
    }
}

fn smb<'a>(login: &'a str, share: &'a str, query: &str) -> Result<Wire<'a>, &'static str> {
    let (user, password) = login.split_once(':').ok_or("the login is not USER:PASSWORD")?;
    let policy = |name| if option(query, name).is_some() { Policy::Always } else { Policy::IfNeeded };
    let version = option(query, "version").unwrap_or("3.1.1");
    let mut dialects = Dialect::ALL.into_iter();
    let dialect = dialects.find(|dialect| dialect.name() == version).ok_or("no such version of SMB")?;
    Ok(Wire::Smb { user, password, share, dialect, sign: policy("sign"), seal: policy("seal") })
}

fn nfs<'a>(path: &'a str, query: &str) -> Result<Wire<'a>, &'static str> {
    let mount_port = option(query, "mountport").map(|port| port.parse().map_err(|_| "mountport is no port"));
    match option(query, "version").unwrap_or("3") {
        "3" => Ok(Wire::Nfs3 { path, mount_port: mount_port.transpose()? }),
        "4.0" => Ok(Wire::Nfs4 { minor: 0 }),
        "4.1" => Ok(Wire::Nfs4 { minor: 1 }),
        "4.2" => Ok(Wire::Nfs4 { minor: 2 }),
        _ => Err("no such version of NFS"),
    }
}

/// The value of an option of a query; "" if it has none.
fn option<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    let mut pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}
