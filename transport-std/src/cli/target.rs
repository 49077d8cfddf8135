//! Where a URL leads: the server, and as whom it is asked.

use super::options::{self, NfsVersion, Options, Sec};
use super::platform;
use super::safe;
use super::url::{Url, Wire};
use pagewire::limits::{PAUSE_MS_MAX, PAUSE_MS_MIN, PAUSES_MAX};
use pagewire::nfs::rpc::GIDS_MAX;
use pagewire::smb::Dialects;
use std::fmt;
use std::time::Duration;

/// Everything that makes two URLs use one connection, but for what NFS mounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub host: String,
    pub timeout: Duration,
    /// How often a server may ask to be asked later, if not as often as it likes.
    pub pauses_max: Option<u32>,
    pub place: Place,
}

/// What is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Smb(Share),
    Nfs(Exports),
}

/// A share of an SMB server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    pub port: u16,
    pub name: String,
    pub who: Who,
    pub dialects: Dialects,
    pub sign: bool,
    pub seal: bool,
}

/// The exports of an NFS server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exports {
    pub version: NfsVersion,
    pub nfs_port: Option<u16>,
    pub mount_port: Option<u16>,
    pub machine_name: String,
    pub uid: u32,
    pub gid: u32,
    /// Further groups.
    pub gids: Vec<u32>,
    /// From a port below 1024.
    pub privileged: bool,
}

/// As whom. A named user's password is found elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    Named { domain: Option<String>, user: String },
    Guest,
    Anonymous,
}

/// Direct TCP.
const PORT: u16 = 445;

/// How long the server may make no progress.
const TIMEOUT: Duration = Duration::from_millis(pagewire::limits::TIMEOUT_MS as u64);

/// The form of smbclient.
const PERCENT: &str = "a user name with `%` is refused: it looks like NAME%PASSWORD, which lists of processes \
                       would show; give the name alone, and the password by PAGEWIRE_PASSWORD, --credentials \
                       FILE (in a line password=) or --password-command, or wait to be asked";
const KEYS: &str = "guests and anonymous users have no keys to sign or seal with: name a user, \
                    smb://USER@host/... or --username";

/// The names of libsmb2 in the query of a URL.
const SMB_QUERY: [&str; 5] = ["vers", "sec", "seal", "sign", "timeout"];
/// Those of libnfs, and a time-out.
const NFS_QUERY: [&str; 6] = ["version", "nfsport", "mountport", "uid", "gid", "timeout"];

/// As it stands in messages.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.bracketed(&safe::text(&self.host));
        match &self.place {
            Place::Smb(share) => write!(f, "smb://{host}:{}/{}", share.port, safe::text(&share.name)),
            Place::Nfs(exports) => write!(f, "nfs://{host}{}", of_port(exports.nfs_port)),
        }
    }
}

fn of_port(port: Option<u16>) -> String {
    port.map_or_else(String::new, |port| format!(":{port}"))
}

impl Target {
    /// The share as `//host/share`, with the port where it is another than usual; the export as `host:/export`.
    pub fn share(&self, mounted: &str) -> String {
        let host = self.bracketed(&self.host);
        match &self.place {
            Place::Smb(share) => {
                let port = of_port(Some(share.port).filter(|port| *port != PORT));
                format!("//{host}{port}/{}", share.name)
            }
            Place::Nfs(_) => format!("{host}:{mounted}"),
        }
    }

    fn bracketed(&self, host: &str) -> String {
        if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
    }
}

impl Options {
    /// Where `url` leads with these options. They precede what the URL says, and that precedes `fallback`,
    /// the user and domain of a credentials file.
    pub fn target(&self, url: &Url, fallback: Options) -> Result<Target, String> {
        let all = self.clone().or(of_url(url)?).or(fallback);
        let place = match url.wire {
            Wire::Smb => Place::Smb(all.share(url)?),
            Wire::Nfs => Place::Nfs(all.exports()?),
        };
        Ok(Target {
            host: url.host.clone(),
            timeout: all.timeout.unwrap_or(TIMEOUT),
            pauses_max: all.timeout.map(pauses_within),
            place,
        })
    }

    fn share(&self, url: &Url) -> Result<Share, String> {
        if let Some(name) = self.of_nfs() {
            return Err(format!("{name} is an option of NFS, and this is an SMB URL"));
        }
        Ok(Share {
            port: self.port.unwrap_or(PORT),
            name: url.share.clone(),
            who: self.who()?,
            dialects: self.vers.as_deref().map_or(Ok(Dialects::ALL), options::dialects)?,
            sign: self.sign,
            seal: self.seal,
        })
    }

    fn exports(&self) -> Result<Exports, String> {
        if let Some(name) = self.of_smb() {
            return Err(format!("{name} is an option of SMB, and this is an NFS URL"));
        }
        let version = options::nfs_version(self.vers.as_deref(), self.minor_version)?;
        if version != NfsVersion::V3 && self.mount_port.is_some() {
            return Err("mountport is an option of NFS 3: nothing is mounted with NFS 4".into());
        }
        let (uid, gid, mut gids) = platform::identity();
        if self.uid.or(self.gid).is_some() {
            // Those of this process are not those of another user.
            gids.clear();
        }
        gids.truncate(GIDS_MAX);
        Ok(Exports {
            version,
            nfs_port: self.port,
            mount_port: self.mount_port,
            machine_name: platform::machine_name().unwrap_or_else(|| "pagewire".to_owned()),
            uid: self.uid.unwrap_or(uid),
            gid: self.gid.unwrap_or(gid),
            gids,
            privileged: self.privileged,
        })
    }

    /// Without any user it is a guest. What is wrong with a name is said without repeating it.
    fn who(&self) -> Result<Who, String> {
        if self.user.as_ref().is_some_and(|user| user.contains('%')) {
            return Err(PERCENT.into());
        }
        if self.guest && self.user.is_some() {
            return Err("--guest and a user exclude each other: leave one of them out".into());
        }
        let named = self.user.as_ref().filter(|_| self.sec != Some(Sec::None));
        let Some(user) = named else {
            if self.sign || self.seal {
                return Err(KEYS.into());
            }
            let anonymous = self.sec == Some(Sec::None) && !self.guest;
            return Ok(if anonymous { Who::Anonymous } else { Who::Guest });
        };
        if user.is_empty() {
            return Err("the user name is empty".into());
        }
        match user.split_once('\\') {
            Some((domain, user)) if self.domain.is_none() => {
                Ok(Who::Named { domain: Some(domain.to_owned()), user: user.to_owned() })
            }
            _ => Ok(Who::Named { domain: self.domain.clone(), user: user.clone() }),
        }
    }
}

/// What the URL itself says.
fn of_url(url: &Url) -> Result<Options, String> {
    let known: &[&str] = match url.wire {
        Wire::Smb => &SMB_QUERY,
        Wire::Nfs => &NFS_QUERY,
    };
    let mut options =
        Options { user: url.user.clone(), domain: url.domain.clone(), port: url.port, ..Options::default() };
    for (name, value) in &url.query {
        if !known.contains(&name.as_str()) {
            return Err(format!("unknown name in the query of a URL; known are {}", known.join(", ")));
        }
        options.set(name, value.as_deref())?;
    }
    Ok(options)
}

/// How many pauses, each longer than the one before, are over within `timeout`.
fn pauses_within(timeout: Duration) -> u32 {
    let longer = |pause: &u32| Some((2 * pause).min(PAUSE_MS_MAX));
    let pauses = std::iter::successors(Some(PAUSE_MS_MIN), longer).take(PAUSES_MAX as usize);
    let over = pauses.scan(0, |sum, pause| {
        *sum += u128::from(pause);
        Some(*sum)
    });
    over.take_while(|sum| *sum <= timeout.as_millis()).count() as u32
}

#[cfg(test)]
mod tests {
    use super::super::options::tests::list;
    use super::*;
    use pagewire::smb::Dialect;

    fn target(options: &Options, url: &str) -> Result<Target, String> {
        options.target(&Url::parse(url).unwrap(), Options::default())
    }

    fn share(target: Target) -> Share {
        match target.place {
            Place::Smb(share) => share,
            Place::Nfs(_) => panic!("an NFS target"),
        }
    }

    fn exports(options: &Options, url: &str) -> Result<Exports, String> {
        target(options, url).map(|target| match target.place {
            Place::Nfs(exports) => exports,
            Place::Smb(_) => panic!("an SMB target"),
        })
    }

    #[test]
    fn options_precede_the_url_and_the_url_precedes_the_file() {
        let fallback = Options { user: Some("file".into()), domain: Some("F".into()), ..Options::default() };
        let url = Url::parse("smb://url@h:1/s?vers=2.1&timeout=5").unwrap();
        let named = |domain: &str, user: &str| Who::Named { domain: Some(domain.into()), user: user.into() };
        let target = Options::default().target(&url, fallback.clone()).unwrap();
        assert_eq!(target.timeout, Duration::from_secs(5));
        let by_url = share(target);
        assert_eq!((by_url.who, by_url.port), (named("F", "url"), 1));
        assert_eq!(by_url.dialects, Dialects::only(Dialect::Smb210));
        let by_flag = share(list("user=flag,port=2,vers=3").target(&url, fallback).unwrap());
        assert_eq!((by_flag.who, by_flag.port), (named("F", "flag"), 2));
        assert!(!by_flag.dialects.contains(Dialect::Smb210) && by_flag.dialects.contains(Dialect::Smb302));
    }

    #[test]
    fn who_it_is() {
        let who = |options: &Options, url| share(target(options, url).unwrap()).who;
        assert_eq!(who(&Options::default(), "//h/s"), Who::Guest);
        assert_eq!(who(&list("sec=none"), "smb://me@h/s"), Who::Anonymous);
        assert_eq!(who(&list("guest"), "smb://h/s"), Who::Guest);
        assert!(target(&list("guest"), "smb://me@h/s").unwrap_err().contains("--guest"));
        for keys in ["sign", "seal", "guest,seal", "sec=none,sign"] {
            assert!(target(&list(keys), "//h/s").unwrap_err().contains("name a user"), "{keys}");
        }
        let in_user = who(&list("user=D\\me"), "//h/s");
        assert_eq!(in_user, Who::Named { domain: Some("D".into()), user: "me".into() });
        assert!(target(&list("user="), "//h/s").is_err());
    }

    #[test]
    fn a_password_in_a_name_is_refused_and_not_repeated() {
        let (none, url) = (Options::default(), Url::parse("//h/s").unwrap());
        let in_file = Options { user: Some("me%s3cret".into()), ..Options::default() };
        for refused in [
            target(&list("username=me%s3cret"), "//h/s"),
            target(&list("username=me%s3cret,guest"), "//h/s"),
            target(&none, "smb://me%s3cret@h/s"),
            target(&none, "smb://D;me%25s3cret@h/s"),
            none.target(&url, in_file),
        ] {
            let message = refused.unwrap_err();
            assert!(message.contains("PAGEWIRE_PASSWORD") && !message.contains("s3cret"), "{message}");
        }
    }

    #[test]
    fn a_share_keeps_its_port() {
        let share = |url| target(&Options::default(), url).unwrap().share("/e");
        assert_eq!(share("smb://h/s/p"), "//h/s");
        assert_eq!(share("smb://[::1]:1445/s/p"), "//[::1]:1445/s");
        assert_eq!(share("nfs://[::1]:2050/e/p"), "[::1]:/e");
    }

    #[test]
    fn a_query_has_the_names_of_libsmb2_and_no_others() {
        assert!(share(target(&Options::default(), "smb://me@h/s?seal&sign=1").unwrap()).seal);
        for query in ["credentials=/etc/shadow", "rsize=1M", "x", "uid=0", "version=3"] {
            assert!(target(&Options::default(), &format!("smb://h/s?{query}")).is_err(), "{query}");
        }
    }

    #[test]
    fn targets_of_one_server_and_share_are_equal() {
        let none = Options::default();
        assert_eq!(target(&none, "smb://me@h/s/a"), target(&none, "smb://me@h:445/s/b/c"));
        assert_ne!(target(&none, "smb://me@h/s/a"), target(&none, "smb://me@h/t/a"));
        assert_ne!(target(&none, "smb://me@h/s/a"), target(&none, "smb://you@h/s/a"));
    }

    #[test]
    fn an_nfs_url_has_the_names_of_libnfs() {
        let none = Options::default();
        let asked = exports(&none, "nfs://h/e/f?version=3&nfsport=2050&mountport=2051&uid=1&gid=2").unwrap();
        assert_eq!((asked.nfs_port, asked.mount_port, asked.uid, asked.gid), (Some(2050), Some(2051), 1, 2));
        assert!(!asked.machine_name.is_empty());
        assert_eq!(exports(&none, "nfs://h:2050/e").unwrap().nfs_port, Some(2050));
        assert_eq!(exports(&none, "h:/e").unwrap().nfs_port, None);
        let by_flag = exports(&list("uid=7,port=1,resvport"), "nfs://h:2/e?uid=8").unwrap();
        assert_eq!((by_flag.uid, by_flag.nfs_port, by_flag.privileged), (7, Some(1), true));
        assert_eq!(
            (asked.version, exports(&none, "h:/e").unwrap().version),
            (NfsVersion::V3, NfsVersion::V3)
        );
        assert_ne!(target(&none, "nfs://h/e?version=4"), target(&none, "nfs://h/e"));
        for query in ["seal", "vers=3", "x"] {
            assert!(exports(&none, &format!("nfs://h/e?{query}")).is_err(), "{query}");
        }
        assert_eq!(target(&none, "nfs://h/e/a"), target(&none, "nfs://h/other/b"));
        assert_ne!(target(&none, "nfs://h/e?uid=1"), target(&none, "nfs://h/e?uid=2"));
    }

    #[test]
    fn nfs_4_has_versions_and_no_port_to_mount() {
        let none = Options::default();
        for (version, minor) in [("4", None), ("4.0", Some(0)), ("4.1", Some(1)), ("4.2", Some(2))] {
            let by_url = exports(&none, &format!("nfs://h:2050/e?version={version}")).unwrap();
            assert_eq!((by_url.version, by_url.nfs_port), (NfsVersion::V4(minor), Some(2050)));
            let by_flag = exports(&list(&format!("nfsvers={version}")), "nfs://h/e?version=3").unwrap();
            assert_eq!(by_flag.version, NfsVersion::V4(minor));
            let mount = exports(&none, &format!("nfs://h/e?version={version}&mountport=1")).unwrap_err();
            assert!(mount.contains("mountport"), "{mount}");
        }
        assert!(exports(&none, "nfs://h/e?version=4.3").unwrap_err().contains("4.2"));
    }

    #[test]
    fn options_of_the_other_protocol_are_refused() {
        for smb in ["sign", "seal", "guest", "sec=none", "user=me", "domain=D", "credentials=/f"] {
            let message = exports(&list(smb), "nfs://h/e").unwrap_err();
            assert!(message.contains("option of SMB"), "{message}");
        }
        for nfs in ["minorversion=1", "uid=1", "gid=1", "mountport=1", "resvport"] {
            assert!(target(&list(nfs), "//h/s").unwrap_err().contains("option of NFS"), "{nfs}");
        }
    }

    #[test]
    fn pauses_take_no_longer_than_the_timeout() {
        for (seconds, pauses) in [(0, 0), (1, 3), (5, 5), (600, PAUSES_MAX)] {
            assert_eq!(pauses_within(Duration::from_secs(seconds)), pauses, "{seconds}");
        }
    }
}
