//! How to connect: by options of the command line, a list as `mount -o` takes it, or the query of a URL.

use super::quantity;
use pagewire::limits::REQUEST_LEN_MIN;
use pagewire::nfs::nfs4;
use pagewire::smb::{Dialect, Dialects};
use std::path::PathBuf;
use std::time::Duration;

/// How a user proves who he is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Sec {
    /// NTLMv2 inside of SPNEGO
    Ntlmssp,
    /// Not at all: an anonymous session
    None,
}

/// What was said about it; `None` and `false` are what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What it means depends on what is spoken: see [`dialects`] and [`nfs_version`].
    pub vers: Option<String>,
    /// The part of an NFS version behind the dot, where it stands alone.
    pub minor_version: Option<u32>,
    pub sec: Option<Sec>,
    pub sign: bool,
    pub seal: bool,
    pub guest: bool,
    pub user: Option<String>,
    pub domain: Option<String>,
    pub port: Option<u16>,
    pub rsize: Option<u32>,
    pub timeout: Option<Duration>,
    pub credentials: Option<PathBuf>,
    pub password_command: Option<String>,
    pub mount_port: Option<u16>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub privileged: bool,
}

impl Options {
    /// One option of a list. A later one replaces an earlier one.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), String> {
        let needed = || value.ok_or_else(|| format!("option `{name}` needs a value: {name}=..."));
        let text = || needed().map(|value| Some(value.to_owned()));
        match name {
            "vers" | "version" | "nfsvers" => self.vers = text()?,
            "minorversion" => self.minor_version = Some(minor_version(needed()?)?),
            "sec" => self.sec = Some(sec(needed()?)?),
            "sign" => self.sign |= switch(name, value)?,
            "seal" => self.seal |= switch(name, value)?,
            "guest" => self.guest |= switch(name, value)?,
            "username" | "user" => self.user = text()?,
            "domain" | "dom" | "workgroup" => self.domain = text()?,
            "port" | "nfsport" => self.port = Some(port(needed()?)?),
            "rsize" => self.rsize = Some(rsize(needed()?)?),
            "timeout" => self.timeout = Some(quantity::duration(needed()?)?),
            "credentials" | "cred" => self.credentials = Some(needed()?.into()),
            "mountport" => self.mount_port = Some(port(needed()?)?),
            "uid" => self.uid = Some(id(needed()?)?),
            "gid" => self.gid = Some(id(needed()?)?),
            "resvport" | "privileged-port" => self.privileged |= switch(name, value)?,
            "password" | "pass" => {
                return Err(
                    "a password among the options is refused, because lists of processes would show it; use \
                            PAGEWIRE_PASSWORD, --credentials FILE or --password-command"
                        .into(),
                );
            }
            _ => return Err(format!("unknown option `{name}`")),
        }
        Ok(())
    }

    /// A list such as `vers=3.1.1,seal,username=me`.
    pub fn set_list(&mut self, list: &str) -> Result<(), String> {
        for option in list.split(',').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some((name, value)) => self.set(name, Some(value))?,
                None => self.set(option, None)?,
            }
        }
        Ok(())
    }

    /// These, and where they are silent, `others`.
    pub fn or(self, others: Options) -> Options {
        Options {
            vers: self.vers.or(others.vers),
            minor_version: self.minor_version.or(others.minor_version),
            sec: self.sec.or(others.sec),
            sign: self.sign || others.sign,
            seal: self.seal || others.seal,
            guest: self.guest || others.guest,
            user: self.user.or(others.user),
            domain: self.domain.or(others.domain),
            port: self.port.or(others.port),
            rsize: self.rsize.or(others.rsize),
            timeout: self.timeout.or(others.timeout),
            credentials: self.credentials.or(others.credentials),
            password_command: self.password_command.or(others.password_command),
            mount_port: self.mount_port.or(others.mount_port),
            uid: self.uid.or(others.uid),
            gid: self.gid.or(others.gid),
            privileged: self.privileged || others.privileged,
        }
    }

    /// The first of what only SMB knows.
    pub fn of_smb(&self) -> Option<&'static str> {
        let all = [
            (self.sec.is_some(), "sec"),
            (self.sign, "sign"),
            (self.seal, "seal"),
            (self.guest, "guest"),
            (self.user.is_some(), "username"),
            (self.domain.is_some(), "domain"),
            (self.credentials.is_some(), "credentials"),
            (self.password_command.is_some(), "password-command"),
        ];
        all.into_iter().find_map(|(given, name)| given.then_some(name))
    }

    /// The first of what only NFS knows.
    pub fn of_nfs(&self) -> Option<&'static str> {
        let all = [
            (self.minor_version.is_some(), "minorversion"),
            (self.mount_port.is_some(), "mountport"),
            (self.uid.is_some(), "uid"),
            (self.gid.is_some(), "gid"),
            (self.privileged, "privileged-port"),
        ];
        all.into_iter().find_map(|(given, name)| given.then_some(name))
    }
}

/// The dialects of `vers=`, in the spellings of mount.cifs and libsmb2.
pub fn dialects(text: &str) -> Result<Dialects, String> {
    use Dialect::*;
    Ok(match text {
        "default" => Dialects::ALL,
        "2.0" | "2.0.2" | "2.02" => Dialects::only(Smb202),
        "2.1" | "2.10" => Dialects::only(Smb210),
        "2" => Dialects::between(Smb202, Smb210),
        "3.0" | "3.00" => Dialects::only(Smb300),
        "3.0.2" | "3.02" => Dialects::only(Smb302),
        "3.1.1" | "3.11" | "3.1" => Dialects::only(Smb311),
        "3" => Dialects::between(Smb300, Smb311),
        "1" | "1.0" => return Err("SMB 1 is not spoken: it is insecure".into()),
        _ => {
            return Err(
                "expected a dialect: 2.0.2, 2.1, 3.0, 3.0.2, 3.1.1, or 2, 3 or default for several".into()
            );
        }
    })
}

/// A version of NFS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NfsVersion {
    #[default]
    V3,
    /// With this minor version, or with the highest that both have.
    V4(Option<u32>),
}

/// The version of `vers=` and `minorversion=`, in the spellings of mount.nfs and libnfs.
pub fn nfs_version(text: Option<&str>, minor: Option<u32>) -> Result<NfsVersion, String> {
    let version = match text {
        None if minor.is_some() => NfsVersion::V4(None),
        None | Some("3" | "default") => NfsVersion::V3,
        Some("4") => NfsVersion::V4(None),
        Some("4.0") => NfsVersion::V4(Some(0)),
        Some("4.1") => NfsVersion::V4(Some(1)),
        Some("4.2") => NfsVersion::V4(Some(2)),
        Some(_) => return Err("expected an NFS version: 3, 4, 4.0, 4.1 or 4.2".into()),
    };
    match (version, minor) {
        (version, None) => Ok(version),
        (NfsVersion::V4(named), Some(minor)) if named.is_none_or(|named| named == minor) => {
            Ok(NfsVersion::V4(Some(minor)))
        }
        _ => Err("minorversion= and the NFS version contradict each other: leave one of them out".into()),
    }
}

fn minor_version(text: &str) -> Result<u32, String> {
    let minor = text.parse().ok().filter(|minor| *minor <= nfs4::MINOR_MAX);
    minor.ok_or_else(|| "expected a minor version of NFS 4: 0, 1 or 2".into())
}

/// Bytes of one read request, in whole steps of 64K: that is what a credit pays for, and the engine asks for
/// no less.
pub fn rsize(text: &str) -> Result<u32, String> {
    const STEP: u64 = REQUEST_LEN_MIN as u64;
    // A frame has 24 bits for its length, and no server is known to read more at once than 8M.
    let fits = |size: &u64| (STEP..=8 << 20).contains(size);
    let size = quantity::size(text).ok().filter(fits);
    size.map(|size| (size - size % STEP) as u32).ok_or_else(|| "expected a read size from 64K to 8M".into())
}

fn port(text: &str) -> Result<u16, String> {
    text.parse().ok().filter(|port| *port != 0).ok_or_else(|| "expected a port from 1 to 65535".into())
}

fn id(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "expected the number of a user or group".into())
}

fn sec(text: &str) -> Result<Sec, String> {
    match text {
        "ntlmssp" => Ok(Sec::Ntlmssp),
        "none" => Ok(Sec::None),
        _ => Err("expected sec=ntlmssp or sec=none".into()),
    }
}

fn switch(name: &str, value: Option<&str>) -> Result<bool, String> {
    match value {
        None | Some("" | "1" | "yes" | "true" | "on") => Ok(true),
        Some("0" | "no" | "false" | "off") => Ok(false),
        Some(_) => Err(format!("option `{name}` is yes or no")),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn list(text: &str) -> Options {
        let mut options = Options::default();
        options.set_list(text).unwrap();
        options
    }

    #[test]
    fn a_list_as_mount_takes_it() {
        let options = list("vers=3.0,seal,username=me,domain=D,port=1445,rsize=1M,,sign=0,credentials=/a b");
        assert_eq!(options.vers.as_deref(), Some("3.0"));
        assert_eq!((options.seal, options.sign, options.port), (true, false, Some(1445)));
        assert_eq!((options.user.as_deref(), options.domain.as_deref()), (Some("me"), Some("D")));
        assert_eq!((options.rsize, options.credentials), (Some(1 << 20), Some("/a b".into())));
        for bad in ["vers", "uid=me", "sec=krb5", "port=0", "rsize=1", "sign=perhaps", "nconnect=4", "pass=x"]
        {
            assert!(Options::default().set_list(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_only_one_protocol_knows_has_its_name() {
        let common = list("vers=3,port=1,timeout=5,rsize=1M");
        assert_eq!((common.of_smb(), common.of_nfs()), (None, None));
        assert_eq!(list("uid=1,seal").of_smb(), Some("seal"));
        assert_eq!(list("seal,gid=1").of_nfs(), Some("gid"));
    }

    #[test]
    fn versions_of_smb_and_of_nfs() {
        assert_eq!(dialects("3.0"), Ok(Dialects::only(Dialect::Smb300)));
        assert!(dialects("1.0").is_err() && dialects("4").is_err());
        let version = |options: &str| {
            let options = list(options);
            nfs_version(options.vers.as_deref(), options.minor_version)
        };
        for (options, expected) in [
            ("", NfsVersion::V3),
            ("vers=3", NfsVersion::V3),
            ("vers=default", NfsVersion::V3),
            ("nfsvers=4", NfsVersion::V4(None)),
            ("vers=4.0", NfsVersion::V4(Some(0))),
            ("version=4.1", NfsVersion::V4(Some(1))),
            ("nfsvers=4.2", NfsVersion::V4(Some(2))),
            ("vers=4,minorversion=1", NfsVersion::V4(Some(1))),
            ("minorversion=0", NfsVersion::V4(Some(0))),
            ("vers=4.2,minorversion=2", NfsVersion::V4(Some(2))),
        ] {
            assert_eq!(version(options), Ok(expected), "{options}");
        }
        for bad in ["vers=2", "vers=3.1.1", "vers=4.3", "vers=4.", "vers=3,minorversion=1"] {
            assert!(version(bad).is_err(), "{bad}");
        }
        assert!(version("vers=4.1,minorversion=2").unwrap_err().contains("contradict"));
        for bad in ["minorversion=3", "minorversion", "minorversion=x"] {
            assert!(Options::default().set_list(bad).is_err(), "{bad}");
        }
    }
}
