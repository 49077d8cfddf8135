//! Passwords: never from the command line, wiped from memory after use.

use super::failure::{Cause, Failure};
use super::options::Options;
use super::platform;
use super::safe;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use zeroize::Zeroizing;

/// A password. Its memory is wiped when it is dropped.
pub type Password = Zeroizing<String>;

/// Longer is no password, and no file is read without a bound.
const FILE_LEN_MAX: u64 = 64 * 1024;

/// Where the password of a named user comes from: the first that is given of a credentials file, a command,
/// PAGEWIRE_PASSWORD, PASSWD_FD, PASSWD_FILE; and else from whoever sits at the terminal.
#[derive(Default)]
pub struct Secrets {
    command: Option<String>,
    /// Found or typed already, and for whom it was asked (`None`: for everybody).
    known: Vec<(Option<String>, Password)>,
}

impl Secrets {
    /// Reads the credentials file, if there is one. Gives its user and domain as well.
    pub fn new(file: Option<&Path>, command: Option<String>) -> Result<(Secrets, Options), Failure> {
        let mut secrets = Secrets { command, known: Vec::new() };
        let Some(path) = file else { return Ok((secrets, Options::default())) };
        let trouble = |cause| Failure::new(format!("reading the credentials file {}", shown(path)), cause);
        let content = read_secret(path).map_err(|error| trouble(Cause::Secret(error)))?;
        let parsed = parse(&content).map_err(|message| trouble(Cause::Usage(message)))?;
        secrets.known.extend(parsed.password.map(|password| (None, password)));
        Ok((secrets, Options { user: parsed.user, domain: parsed.domain, ..Options::default() }))
    }

    /// The password of `user` at `host`.
    pub fn password(&mut self, user: &str, host: &str) -> Result<&str, Failure> {
        let who = format!("{}@{}", safe::text(user), safe::text(host));
        let is_for =
            |(whose, _): &(Option<String>, Password)| whose.as_ref().is_none_or(|whose| *whose == who);
        let index = match self.known.iter().position(is_for) {
            Some(index) => index,
            None => {
                let trouble = |cause| Failure::new(format!("getting the password of {who}"), cause);
                let found = match given(self.command.as_deref()).map_err(trouble)? {
                    Some(password) => (None, password),
                    None => (Some(who.clone()), prompt(&who).map_err(trouble)?),
                };
                self.known.push(found);
                self.known.len() - 1
            }
        };
        Ok(&self.known[index].1)
    }
}

fn shown(path: &Path) -> String {
    safe::text(&path.display().to_string())
}

/// What a file says that nobody else should be able to read.
fn read_secret(path: &Path) -> std::io::Result<Password> {
    let mut file = std::fs::File::open(path)?;
    if file.metadata().is_ok_and(|metadata| platform::others_can_read(&metadata)) {
        tell!("pagewire: warning: others can read {}: chmod 600 it", shown(path));
    }
    read(&mut file)
}

/// What a file says, as it stands.
fn read(file: &mut impl Read) -> std::io::Result<Password> {
    // Its memory is taken once, so that no copy is left behind.
    let mut content = Zeroizing::new(String::with_capacity(FILE_LEN_MAX as usize));
    file.take(FILE_LEN_MAX).read_to_string(&mut content)?;
    Ok(content)
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Parsed {
    user: Option<String>,
    domain: Option<String>,
    password: Option<Password>,
}

/// `key=value` lines as mount.cifs has them, where the value is everything after `=`, spaces and commas
/// included; and `key = value` as `smbclient -A` has them, where one space after `=` belongs to the form.
fn parse(content: &str) -> Result<Parsed, String> {
    let mut parsed = Parsed::default();
    for (index, line) in content.lines().enumerate() {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        // A line is never repeated: it may be a password.
        let (key, value) = line.split_once('=').ok_or(format!("line {} has no `=`", index + 1))?;
        let value = if key.ends_with([' ', '\t']) { value.strip_prefix(' ').unwrap_or(value) } else { value };
        match key.trim_end() {
            "username" | "user" => parsed.user = Some(value.to_owned()),
            "password" | "pass" => parsed.password = Some(Zeroizing::new(value.to_owned())),
            "domain" | "dom" | "workgroup" => parsed.domain = Some(value.to_owned()),
            _ => return Err(format!("line {} has an unknown name before `=`", index + 1)),
        }
    }
    Ok(parsed)
}

/// A password for which nobody need be asked.
fn given(command: Option<&str>) -> Result<Option<Password>, Cause> {
    if let Some(command) = command {
        return by_command(command).map(Some);
    }
    if let Some(password) = variable("PAGEWIRE_PASSWORD")? {
        return Ok(Some(password));
    }
    if let Some(fd) = variable("PASSWD_FD")? {
        // Through a path, since a number cannot safely be made a file.
        let number: u32 = fd.parse().map_err(|_| Cause::Usage("PASSWD_FD is no number".into()))?;
        let path = format!("/dev/fd/{number}");
        let content = std::fs::File::open(&path).and_then(|mut file| read(&mut file));
        return first_line_of(Path::new(&path), content).map(Some);
    }
    match variable("PASSWD_FILE")? {
        Some(path) => {
            let path = Path::new(path.as_str());
            first_line_of(path, read_secret(path)).map(Some)
        }
        None => Ok(None),
    }
}

fn variable(name: &str) -> Result<Option<Password>, Cause> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(Zeroizing::new(value))),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => Err(Cause::Usage(format!("{name} is not UTF-8"))),
    }
}

fn by_command(command: &str) -> Result<Password, Cause> {
    let shell = |error| Cause::NoPassword(format!("--password-command cannot be run: {error}"));
    let mut child = Command::new("sh").args(["-c", command]).stdout(Stdio::piped()).spawn().map_err(shell)?;
    let output = child.stdout.take().map_or_else(|| Ok(Password::default()), |mut pipe| read(&mut pipe));
    let status = child.wait().map_err(shell)?;
    if !status.success() {
        return Err(Cause::NoPassword(format!("--password-command failed: {status}")));
    }
    let password = first_line(&output.map_err(shell)?);
    if password.is_empty() {
        return Err(Cause::NoPassword("--password-command printed no password".into()));
    }
    Ok(password)
}

fn first_line_of(path: &Path, content: std::io::Result<Password>) -> Result<Password, Cause> {
    let content = content.map_err(|error| Cause::NoPassword(format!("{}: {error}", shown(path))))?;
    Ok(first_line(&content))
}

fn first_line(content: &str) -> Password {
    Zeroizing::new(content.lines().next().unwrap_or("").to_owned())
}

fn prompt(who: &str) -> Result<Password, Cause> {
    let typed = rpassword::prompt_password(format!("Password of {who}: "));
    typed.map(Zeroizing::new).map_err(|_| Cause::NoPassword("there is no terminal to ask at".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(user: &str, password: &str, domain: Option<&str>) -> Result<Parsed, String> {
        Ok(Parsed {
            user: Some(user.into()),
            domain: domain.map(str::to_owned),
            password: Some(Zeroizing::new(password.into())),
        })
    }

    #[test]
    fn the_form_of_mount_cifs_keeps_every_character_of_a_value() {
        assert_eq!(parse("username=me\npassword= a,b=c \ndomain=D\n"), parsed("me", " a,b=c ", Some("D")));
        assert_eq!(parse("  user=me\r\n  pass=x\r\n"), parsed("me", "x", None));
        assert_eq!(parse("username=me\npassword="), parsed("me", "", None));
    }

    #[test]
    fn the_form_of_smbclient_has_spaces_around_the_sign() {
        assert_eq!(parse("username = me\npassword = a b\ndomain = D"), parsed("me", "a b", Some("D")));
        assert_eq!(parse("username = me\npassword =  lead"), parsed("me", " lead", None));
    }

    #[test]
    fn comments_are_left_out_and_what_is_wrong_is_not_repeated() {
        assert_eq!(parse("# a comment\n\nusername=me\n;x\npassword=p"), parsed("me", "p", None));
        for content in ["s3cret", "username=me\ns3cret=x"] {
            let message = parse(content).unwrap_err();
            assert!(message.contains("line") && !message.contains("s3cret"), "{message}");
        }
    }

    #[test]
    fn a_password_is_the_first_line() {
        assert_eq!(first_line(" a b \nc").as_str(), " a b ");
        assert_eq!(first_line("x\r\n").as_str(), "x");
        assert_eq!(first_line("").as_str(), "");
    }

    #[test]
    fn a_command_gives_a_password_or_says_that_it_failed() {
        assert_eq!(by_command("printf ' s3cret\\nmore\\n'").unwrap().as_str(), " s3cret");
        for without in ["exit 3", "true", "echo"] {
            assert!(matches!(by_command(without), Err(Cause::NoPassword(_))), "{without}");
        }
    }

    #[test]
    fn a_known_password_serves_every_user() {
        let mut secrets = Secrets { command: None, known: vec![(None, Zeroizing::new("p".into()))] };
        assert_eq!(secrets.password("me", "h").unwrap(), "p");
        assert_eq!(secrets.password("you", "h").unwrap(), "p");
    }
}
