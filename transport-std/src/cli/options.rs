//! How to connect: by options of the command line, a list as `mount -o` takes it, or the query of a URL.

use super::quantity;
use super::safe;
use super::url::Url;
use pagewire::limits::REQUEST_LEN_MIN;
use pagewire::smb::{Dialect, Dialects};
use std::fmt;
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
    pub dialects: Option<Dialects>,
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
}

/// As whom. A named user's password is found elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    Named { domain: Option<String>, user: String },
    Guest,
    Anonymous,
}

/// Everything that makes two URLs use one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub host: String,
    pub port: u16,
    pub share: String,
    pub who: Who,
    pub dialects: Dialects,
    pub sign: bool,
    pub seal: bool,
    pub timeout: Duration,
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
const QUERY: [&str; 5] = ["vers", "sec", "seal", "sign", "timeout"];

/// As it stands in messages.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, share) = (safe::text(&self.host), safe::text(&self.share));
        let (open, close) = if host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "smb://{open}{host}{close}:{}/{share}", self.port)
    }
}

impl Target {
    /// The share as `//host/share`, with the port where it is another than usual.
    pub fn share(&self) -> String {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        let port = if self.port == PORT { String::new() } else { format!(":{}", self.port) };
        format!("//{open}{}{close}{port}/{}", self.host, self.share)
    }
}

impl Options {
    /// One option of a list. A later one replaces an earlier one.
    fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), String> {
        let needed = || value.ok_or_else(|| format!("option `{name}` needs a value: {name}=..."));
        let text = || needed().map(|value| Some(value.to_owned()));
        match name {
            "vers" => self.dialects = Some(dialects(needed()?)?),
            "sec" => self.sec = Some(sec(needed()?)?),
            "sign" => self.sign |= switch(name, value)?,
            "seal" => self.seal |= switch(name, value)?,
            "guest" => self.guest |= switch(name, value)?,
            "username" | "user" => self.user = text()?,
            "domain" | "dom" | "workgroup" => self.domain = text()?,
            "port" => self.port = Some(port(needed()?)?),
            "rsize" => self.rsize = Some(rsize(needed()?)?),
            "timeout" => self.timeout = Some(quantity::duration(needed()?)?),
            "credentials" | "cred" => self.credentials = Some(needed()?.into()),
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

    fn set_query(&mut self, url: &Url) -> Result<(), String> {
        for (name, value) in &url.query {
            if !QUERY.contains(&name.as_str()) {
                return Err(format!("unknown name in the query of a URL; known are {}", QUERY.join(", ")));
            }
            self.set(name, value.as_deref())?;
        }
        Ok(())
    }

    /// These, and where they are silent, `others`.
    pub fn or(self, others: Options) -> Options {
        Options {
            dialects: self.dialects.or(others.dialects),
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
        }
    }

    /// Where `url` leads with these options. They precede what the URL says, and that precedes `fallback`,
    /// the user and domain of a credentials file.
    pub fn target(&self, url: &Url, fallback: Options) -> Result<Target, String> {
        let mut from_url = Options {
            user: url.user.clone(),
            domain: url.domain.clone(),
            port: url.port,
            ..Options::default()
        };
        from_url.set_query(url)?;
        let all = self.clone().or(from_url).or(fallback);
        Ok(Target {
            host: url.host.clone(),
            port: all.port.unwrap_or(PORT),
            share: url.share.clone(),
            who: all.who()?,
            dialects: all.dialects.unwrap_or(Dialects::ALL),
            sign: all.sign,
            seal: all.seal,
            timeout: all.timeout.unwrap_or(TIMEOUT),
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
mod tests {
    use super::*;

    fn list(text: &str) -> Options {
        let mut options = Options::default();
        options.set_list(text).unwrap();
        options
    }

    fn target(options: &Options, url: &str) -> Result<Target, String> {
        options.target(&Url::parse(url).unwrap(), Options::default())
    }

    #[test]
    fn a_list_as_mount_takes_it() {
        let options = list("vers=3.0,seal,username=me,domain=D,port=1445,rsize=1M,,sign=0,credentials=/a b");
        assert_eq!(options.dialects, Some(Dialects::only(Dialect::Smb300)));
        assert_eq!((options.seal, options.sign, options.port), (true, false, Some(1445)));
        assert_eq!((options.user.as_deref(), options.domain.as_deref()), (Some("me"), Some("D")));
        assert_eq!((options.rsize, options.credentials), (Some(1 << 20), Some("/a b".into())));
        for bad in
            ["vers", "vers=1.0", "sec=krb5", "port=0", "rsize=1", "sign=perhaps", "nconnect=4", "pass=x"]
        {
            assert!(Options::default().set_list(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn options_precede_the_url_and_the_url_precedes_the_file() {
        let fallback = Options { user: Some("file".into()), domain: Some("F".into()), ..Options::default() };
        let url = Url::parse("smb://url@h:1/s?vers=2.1&timeout=5").unwrap();
        let named = |domain: &str, user: &str| Who::Named { domain: Some(domain.into()), user: user.into() };
        let target = Options::default().target(&url, fallback.clone()).unwrap();
        assert_eq!((target.who, target.port), (named("F", "url"), 1));
        assert_eq!(target.dialects, Dialects::only(Dialect::Smb210));
        assert_eq!(target.timeout, Duration::from_secs(5));
        let target = list("user=flag,port=2,vers=3").target(&url, fallback).unwrap();
        assert_eq!((target.who, target.port), (named("F", "flag"), 2));
        assert!(!target.dialects.contains(Dialect::Smb210) && target.dialects.contains(Dialect::Smb302));
    }

    #[test]
    fn who_it_is() {
        assert_eq!(target(&Options::default(), "//h/s").unwrap().who, Who::Guest);
        assert_eq!(target(&list("sec=none"), "smb://me@h/s").unwrap().who, Who::Anonymous);
        assert_eq!(target(&list("guest"), "smb://h/s").unwrap().who, Who::Guest);
        assert!(target(&list("guest"), "smb://me@h/s").unwrap_err().contains("--guest"));
        for who in ["sign", "seal", "guest,seal", "sec=none,sign"] {
            assert!(target(&list(who), "//h/s").unwrap_err().contains("name a user"), "{who}");
        }
        let in_user = target(&list("user=D\\me"), "//h/s").unwrap().who;
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
        let share = |url| target(&Options::default(), url).unwrap().share();
        assert_eq!(share("smb://h/s/p"), "//h/s");
        assert_eq!(share("smb://[::1]:1445/s/p"), "//[::1]:1445/s");
    }

    #[test]
    fn a_query_has_the_names_of_libsmb2_and_no_others() {
        assert!(target(&Options::default(), "smb://me@h/s?seal&sign=1").unwrap().seal);
        for query in ["credentials=/etc/shadow", "rsize=1M", "x"] {
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
}
