//! Where a file is: `smb://[domain;]user@host[:port]/share/path?query`, `//host/share/path`,
//! `nfs://host[:port]/export/path?query` and `host:/export/path`.

use super::safe;
use percent_encoding::percent_decode_str;
use std::fmt;

/// What is spoken with a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wire {
    #[default]
    Smb,
    Nfs,
}

/// A parsed address. The path has `/` between names. With SMB it is relative to the share; with NFS it starts at the
/// server's root, with a `/`, and the share is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    text: String,
    pub wire: Wire,
    pub domain: Option<String>,
    pub user: Option<String>,
    pub host: String,
    pub port: Option<u16>,
    pub share: String,
    pub path: String,
    /// The last name that the user gave.
    given: String,
    /// Bytes of the path that lead there. What stands behind them was found in that directory.
    given_len: usize,
    /// Names with their values, in the order they stand.
    pub query: Vec<(String, Option<String>)>,
}

const PASSWORD: &str = "a password in the URL is refused, because lists of processes and the history of \
                        the shell would show it; use PAGEWIRE_PASSWORD, --credentials FILE, \
                        --password-command, or wait to be asked";
const FORMS: &str = "expected smb://[domain;]user@host[:port]/share/path, //host/share/path, \
                     nfs://host[:port]/export/path or host:/export/path";

impl Url {
    /// What is wrong with it is said without repeating it: it may hold a password.
    pub fn parse(text: &str) -> Result<Url, String> {
        let (wire, is_url, rest) = form(text)?;
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) if is_url => (rest, query),
            _ => (rest, ""),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        // `host:/path` has a `:` where a URL would have a port.
        let authority =
            if wire == Wire::Nfs && !is_url { authority.trim_end_matches(':') } else { authority };
        let (userinfo, host) = match authority.rsplit_once('@') {
            Some((userinfo, host)) => (Some(userinfo), host),
            None => (None, authority),
        };
        let (domain, user) = identity(userinfo, is_url)?;
        if wire == Wire::Nfs && user.is_some() {
            return Err(
                "NFS knows users by their numbers: uid= and gid= in the query, or --uid and --gid".into()
            );
        }
        let (host, port) = host_and_port(host)?;
        let mut names = names(path, is_url)?;
        let (share, path) = match wire {
            Wire::Smb if names.is_empty() => {
                return Err("the URL names no share: smb://host/SHARE/path".into());
            }
            Wire::Smb => (names.remove(0), names.join("/")),
            Wire::Nfs => (String::new(), format!("/{}", names.join("/"))),
        };
        let query = query.split('&').filter(|pair| !pair.is_empty()).map(pair).collect();
        let (text, given, given_len) = (text.to_owned(), last(&path).to_owned(), path.len());
        Ok(Url { text, wire, domain, user, host, port, share, path, given, given_len, query })
    }

    /// The same, at the path that a symbolic link in this one leads to.
    pub fn meant(&self, path: String) -> Url {
        Url { given_len: path.len(), path, ..self.clone() }
    }

    /// What is called `name` in the directory that this is.
    pub fn child(&self, name: &str) -> Url {
        let directory = self.path.trim_end_matches('/');
        let root = self.wire == Wire::Smb && directory.is_empty();
        let path = if root { name.to_owned() } else { format!("{directory}/{name}") };
        let text = match form(&self.text) {
            Ok((_, true, _)) => {
                let (text, query) = self.text.split_at(self.text.find('?').unwrap_or(self.text.len()));
                let encoded = name.replace('%', "%25").replace('?', "%3F");
                format!("{}/{encoded}{query}", text.trim_end_matches('/'))
            }
            _ => format!("{}/{name}", self.text.trim_end_matches('/')),
        };
        Url { text, path, ..self.clone() }
    }

    /// The last name of the path; empty at the root of the share.
    pub fn file_name(&self) -> &str {
        last(&self.path)
    }

    /// The last name that the user gave; empty at the root of the share.
    pub fn given_name(&self) -> &str {
        &self.given
    }

    /// The names behind that.
    pub fn found(&self) -> impl Iterator<Item = &str> {
        self.path.split_at(self.given_len).1.split('/').filter(|name| !name.is_empty())
    }
}

/// As the user gave it, safe for a terminal.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&safe::text(&self.text))
    }
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or("")
}

/// What is spoken, whether it is a URL, and what stands behind the scheme. What is no URL is taken as it stands: nothing
/// in it is encoded, and `?` is part of a name.
fn form(text: &str) -> Result<(Wire, bool, &str), String> {
    if let Some(rest) = text.strip_prefix("//") {
        return Ok((Wire::Smb, false, rest));
    }
    match text.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("smb") => Ok((Wire::Smb, true, rest)),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("nfs") => Ok((Wire::Nfs, true, rest)),
        Some((scheme, _)) if !scheme.contains('/') => Err(format!("unknown kind of URL; {FORMS}")),
        _ => match text.split_once('/') {
            Some((host, _)) if host.ends_with(':') => Ok((Wire::Nfs, false, text)),
            _ => Err(FORMS.into()),
        },
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

fn names(path: &str, is_url: bool) -> Result<Vec<String>, String> {
    let path = decoded(path, is_url, "the path of the URL is not UTF-8")?;
    let names: Vec<_> = path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if names.iter().any(|name| matches!(name.as_str(), "." | "..")) {
        return Err("`.` and `..` have no meaning in the path of a URL".into());
    }
    Ok(names)
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
    fn what_is_found_in_a_directory_has_a_url_that_means_it() {
        for (directory, name, found) in [
            ("smb://me@h/s/a%20b?vers=3", "50%?.txt", "smb://me@h/s/a%20b/50%25%3F.txt?vers=3"),
            ("smb://h/s", "a", "smb://h/s/a"),
            ("//h/s/what?/", "50%", "//h/s/what?/50%"),
            ("nfs://h?version=4", "a", "nfs://h/a?version=4"),
            ("h:/", "a?", "h:/a?"),
        ] {
            let child = url(directory).child(name);
            let meant = url(found);
            assert_eq!((child.to_string().as_str(), &child.path), (found, &meant.path), "{directory}");
            assert_eq!((child.file_name(), child.given_name()), (name, url(directory).file_name()));
            assert_eq!(child.child("x").found().collect::<Vec<_>>(), [name, "x"]);
        }
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
            "nfs://",
            "nfs:///export",
            "nfs://me@host/export",
            "nfs://host:0/export",
            "nfs://host/export/../x",
            ":/export",
            "host:",
            "a/b:/export",
            "smb://host/s/../x",
            "smb://host/s/%2e%2e/x",
            "smb://host/s/./x",
        ] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nfs_paths_start_at_the_root_of_the_server() {
        let url = self::url("NFS://host:2050/export/caf%C3%A9%3F/a?version=3&uid=1000");
        assert_eq!((url.wire, url.host.as_str(), url.port), (Wire::Nfs, "host", Some(2050)));
        assert_eq!((url.share.as_str(), url.path.as_str(), url.file_name()), ("", "/export/café?/a", "a"));
        assert_eq!(url.query[1], ("uid".into(), Some("1000".into())));
        for (text, path) in [
            ("nfs://host", "/"),
            ("nfs://host/", "/"),
            ("nfs://host//export/", "/export"),
            ("host:/", "/"),
            ("host:/export/100%25?x", "/export/100%25?x"),
            ("[::1]:/export", "/export"),
        ] {
            let url = self::url(text);
            assert_eq!((url.wire, url.port, url.path.as_str()), (Wire::Nfs, None, path), "{text}");
        }
        assert_eq!(self::url("[::1]:/e").host, "::1");
    }
}
