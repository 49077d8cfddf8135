//! Where a file is: `smb://[domain;]user@host[:port]/share/path?query` and `//host/share/path`.

use super::safe;
use percent_encoding::percent_decode_str;
use std::fmt;

/// A parsed address. The path is relative to the share, with `/` between names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    text: String,
    pub domain: Option<String>,
    pub user: Option<String>,
    pub host: String,
    pub port: Option<u16>,
    pub share: String,
    pub path: String,
    /// Names with their values, in the order they stand.
    pub query: Vec<(String, Option<String>)>,
}

const PASSWORD: &str = "a password in the URL is refused, because lists of processes and the history of \
                        the shell would show it; use PAGEWIRE_PASSWORD, --credentials FILE, \
                        --password-command, or wait to be asked";
const FORMS: &str = "expected smb://[domain;]user@host[:port]/share/path or //host/share/path";

impl Url {
    /// What is wrong with it is said without repeating it: it may hold a password.
    pub fn parse(text: &str) -> Result<Url, String> {
        // `//host/share/path` is no URL: nothing in it is encoded and `?` is part of a name.
        let (rest, is_url) = match strip_scheme(text)? {
            Some(rest) => (rest, true),
            None => (text.strip_prefix("//").ok_or(FORMS)?, false),
        };
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) if is_url => (rest, query),
            _ => (rest, ""),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (userinfo, host) = match authority.rsplit_once('@') {
            Some((userinfo, host)) => (Some(userinfo), host),
            None => (None, authority),
        };
        let (domain, user) = identity(userinfo, is_url)?;
        let (host, port) = host_and_port(host)?;
        let (share, path) = share_and_path(path, is_url)?;
        let query = query.split('&').filter(|pair| !pair.is_empty()).map(pair).collect();
        Ok(Url { text: text.to_owned(), domain, user, host, port, share, path, query })
    }

    /// The last name of the path; empty at the root of the share.
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or("")
    }
}

/// As the user gave it, safe for a terminal.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&safe::text(&self.text))
    }
}

fn strip_scheme(text: &str) -> Result<Option<&str>, String> {
    match text.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("smb") => Ok(Some(rest)),
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("nfs") => {
            Err(format!("nfs is not read yet; {FORMS}"))
        }
        Some((scheme, _)) if !scheme.contains('/') => Err(format!("unknown kind of URL; {FORMS}")),
        _ => Ok(None),
    }
}

fn identity(userinfo: Option<&str>, is_url: bool) -> Result<(Option<String>, Option<String>), String> {
    let Some(userinfo) = userinfo else { return Ok((None, None)) };
    if userinfo.contains(':') {
        return Err(PASSWORD.into());
    }
    let (domain, user) = match userinfo.split_once(';') {
        Some((domain, user)) => (Some(domain), user),
        None => (None, userinfo),
    };
    if user.is_empty() {
        return Err("the URL has an empty user name".into());
    }
    let decoded = |text| decoded(text, is_url, "the user or domain of the URL is not UTF-8");
    Ok((domain.map(decoded).transpose()?, Some(decoded(user)?)))
}

/// Only URLs are encoded.
fn decoded(text: &str, is_url: bool, wrong: &str) -> Result<String, String> {
    if !is_url {
        return Ok(text.to_owned());
    }
    let text = percent_decode_str(text).decode_utf8().map_err(|_| wrong)?;
    if text.contains('\0') { Err("the URL holds a NUL".into()) } else { Ok(text.into_owned()) }
}

fn host_and_port(text: &str) -> Result<(String, Option<u16>), String> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or("the URL has `[` without `]`")?;
        match rest {
            "" => (host, None),
            rest => (host, Some(rest.strip_prefix(':').ok_or("the URL has something between `]` and `/`")?)),
        }
    } else {
        match text.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err("an IPv6 address in a URL stands in brackets: [::1]".into());
            }
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    if host.is_empty() {
        return Err(format!("the URL has no host; {FORMS}"));
    }
    let port = port
        .map(|port| port.parse().ok().filter(|port| *port != 0))
        .map(|port| port.ok_or("the URL has a port that is no number from 1 to 65535"));
    Ok((host.to_owned(), port.transpose()?))
}

fn share_and_path(text: &str, is_url: bool) -> Result<(String, String), String> {
    let decoded = decoded(text, is_url, "the path of the URL is not UTF-8")?;
    let mut names = decoded.split('/').filter(|name| !name.is_empty());
    let share = names.next().ok_or("the URL names no share: smb://host/SHARE/path")?.to_owned();
    let path: Vec<&str> = names.collect();
    if path.iter().any(|name| matches!(*name, "." | "..")) {
        return Err("`.` and `..` have no meaning in the path of an SMB URL".into());
    }
    Ok((share, path.join("/")))
}

fn pair(text: &str) -> (String, Option<String>) {
    match text.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => (text.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn all_parts() {
        let url = url("smb://DOM;me@host:1445/share/a/b.txt?vers=3.1.1&seal");
        assert_eq!((url.domain.as_deref(), url.user.as_deref()), (Some("DOM"), Some("me")));
        assert_eq!((url.host.as_str(), url.port), ("host", Some(1445)));
        assert_eq!((url.share.as_str(), url.path.as_str(), url.file_name()), ("share", "a/b.txt", "b.txt"));
        assert_eq!(url.query, [("vers".into(), Some("3.1.1".into())), ("seal".into(), None)]);
    }

    #[test]
    fn the_form_without_a_scheme_is_taken_as_it_stands() {
        let url = url("//host/share/100%25/what?");
        assert_eq!((url.host.as_str(), url.share.as_str()), ("host", "share"));
        assert_eq!((url.path.as_str(), url.query.len()), ("100%25/what?", 0));
    }

    #[test]
    fn path_user_and_domain_are_decoded_and_nothing_else_is() {
        let url = url("SMB://D%3B;u%20ser%40x@host/my%20share/caf%C3%A9%3F/#1?sec=a%20b");
        assert_eq!((url.domain.as_deref(), url.user.as_deref()), (Some("D;"), Some("u ser@x")));
        assert_eq!(url.share, "my share");
        assert_eq!(url.path, "café?/#1");
        assert_eq!(url.query, [("sec".into(), Some("a%20b".into()))]);
        for bad in ["smb://host/share/%FF", "smb://%FF@host/share", "smb://D%00;me@host/share"] {
            assert!(Url::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(self::url("//u%20ser@host/s").user.as_deref(), Some("u%20ser"));
        assert!(Url::parse("smb://host/share/a%00b").is_err());
    }

    #[test]
    fn needless_slashes_fall_away_and_the_root_is_empty() {
        for text in ["smb://host/share", "smb://host/share/", "smb://host//share//", "//host/share/"] {
            assert_eq!((url(text).share.as_str(), url(text).path.as_str()), ("share", ""), "{text}");
            assert_eq!(url(text).file_name(), "");
        }
        assert_eq!(url("smb://host/share//a///b/").path, "a/b");
    }

    #[test]
    fn ipv6_stands_in_brackets() {
        assert_eq!((url("smb://[::1]/s").host.as_str(), url("smb://[::1]/s").port), ("::1", None));
        let with_port = url("smb://me@[fe80::1%eth0]:445/s/p");
        assert_eq!((with_port.host.as_str(), with_port.port), ("fe80::1%eth0", Some(445)));
        for text in ["smb://::1/s", "smb://[::1/s", "smb://[::1]x/s", "smb://[]/s"] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_user_may_have_an_at_sign() {
        let url = url("smb://me@example.org@host/s");
        assert_eq!((url.user.as_deref(), url.host.as_str()), (Some("me@example.org"), "host"));
    }

    #[test]
    fn a_password_is_refused_and_never_repeated() {
        for text in [
            "smb://me:s3cret@host/s/p",
            "smb://D;me:s3cret@host/s",
            "//me:s3cret@host/s",
            "smb://:s3cret@h/s",
        ] {
            let message = Url::parse(text).unwrap_err();
            assert!(message.contains("PAGEWIRE_PASSWORD") && !message.contains("s3cret"), "{message}");
        }
    }

    #[test]
    fn what_is_no_address() {
        for text in [
            "",
            "host",
            "/etc/passwd",
            "smb://",
            "smb:///share",
            "smb://host",
            "smb://host/",
            "smb://@host/s",
            "smb://D;@host/s",
            "smb://host:0/s",
            "smb://host:65536/s",
            "smb://host:x/s",
            "http://host/s",
            "nfs://host/e",
            "smb://host/s/../x",
            "smb://host/s/%2e%2e/x",
            "smb://host/s/./x",
        ] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
    }
}
