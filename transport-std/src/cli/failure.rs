//! What can go wrong, what the user is told, and the exit code: all of that is decided here.

use super::hints;
use super::links::LINKS_MAX;
use super::safe;
use super::url::{Url, Wire};
use pagewire::{Error, Kind, Reason, Refusal};
use std::fmt;
use std::io;

/// What the process says to the one that started it. The same list stands in the help.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exit {
    #[default]
    Ok = 0,
    Other = 1,
    Usage = 2,
    LocalFile = 3,
    Network = 4,
    NotFound = 5,
    Authentication = 6,
    Protocol = 7,
    Refused = 8,
    Partial = 9,
    Changed = 10,
}

/// Shown at the end of every help.
pub const EXIT_CODES: &str = "\
Exit codes:
   0  done (a broken pipe counts as done)
   1  other
   2  wrong usage
   3  a local file
   4  the network, or a time-out: trying again may help
   5  no such share, export, file or directory
   6  user or password
   7  the server broke a rule of the protocol
   8  the server refused
   9  some of several failed
  10  the file changed while it was read
Signals end it as they end any program.";

/// Something that was tried and did not work.
#[derive(Debug)]
pub struct Failure {
    /// Such as "reading smb://host/share/file".
    pub tried: String,
    pub cause: Cause,
    /// It was tried as a guest or anonymously, which may be the reason.
    pub as_nobody: bool,
    pub stage: Stage,
    /// What was spoken.
    pub wire: Wire,
}

/// How far the connection had come. What it means that it ends depends on that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// There was none.
    #[default]
    Unconnected,
    /// The server had said nothing yet that makes it an SMB or NFS server.
    Connected,
    /// The dialect was agreed on, or an export was mounted.
    Negotiated,
}

/// Why it did not work.
#[derive(Debug)]
pub enum Cause {
    /// The command line, or a file that is part of it, makes no sense.
    Usage(String),
    /// A file on this side.
    Local(io::Error),
    /// What lies where a file is to be written, and is left alone: why.
    InTheWay(&'static str),
    /// A file that holds user and password.
    Secret(io::Error),
    /// So many bytes of memory cannot be had.
    Memory(usize),
    /// The server has no such user and takes it for a guest, which a named user never is.
    OnlyAsGuest(String),
    /// No password could be had.
    NoPassword(String),
    /// No connection, or it broke.
    Network(io::Error),
    /// The engine's or the server's doing.
    Engine(Error),
    /// A symbolic link that is not followed.
    Link(Box<Link>),
    /// It is on another server, as this one says: where.
    Moved(Refusal, String),
    /// Link upon link.
    TooManyLinks,
    /// It is no file that can be read.
    NoFile(Kind),
    /// A file is not what it was when it was opened; how that shows.
    Changed(String),
    /// Who read our output has gone. Nobody is told, and nothing more is done.
    BrokenPipe,
}

/// A symbolic link on the way to a file.
#[derive(Debug)]
pub struct Link {
    /// How the server brought it up.
    pub refusal: Refusal,
    /// Where it points.
    pub target: String,
    /// Why it is not followed.
    pub why: &'static str,
    /// What would have to be mounted to follow it.
    pub wider: Option<String>,
}

impl Failure {
    /// Whether the server has forgotten what was open.
    pub fn is_expired(&self) -> bool {
        matches!(self.cause, Cause::Engine(Error::Refused(Refusal { reason: Reason::Expired, .. })))
    }

    /// Whether the connection was lost, or could not be made, or the server has forgotten what was made over it: another one may
    /// get further.
    pub fn is_cured_by_connecting(&self) -> bool {
        self.cause.is_lost() || self.is_expired()
    }

    pub fn new(tried: impl Into<String>, cause: Cause) -> Failure {
        Failure { tried: tried.into(), cause, as_nobody: false, stage: Stage::Unconnected, wire: Wire::Smb }
    }

    /// It stood in the way of this, too.
    pub fn going_on_with(self, url: &Url) -> Failure {
        Failure { tried: format!("{}, to go on with {url}", self.tried), ..self }
    }

    /// Standard output did not take something.
    pub fn unwritten(error: io::Error) -> Failure {
        Failure::new("writing to standard output", Cause::unwritten(error))
    }

    /// The exit code, if this is all that happened.
    pub fn exit(&self) -> Exit {
        match &self.cause {
            Cause::Usage(_) => Exit::Usage,
            Cause::Local(_) | Cause::InTheWay(_) | Cause::Secret(_) => Exit::LocalFile,
            Cause::Memory(_) => Exit::Other,
            Cause::NoPassword(_) | Cause::OnlyAsGuest(_) => Exit::Authentication,
            Cause::Network(_) => Exit::Network,
            Cause::Engine(error) => exit_of(error),
            Cause::Link(_) | Cause::Moved(..) | Cause::NoFile(_) => Exit::Refused,
            Cause::TooManyLinks => Exit::NotFound,
            Cause::Changed(_) => Exit::Changed,
            Cause::BrokenPipe => Exit::Ok,
        }
    }

    /// One word for programs.
    pub fn kind(&self) -> &'static str {
        match &self.cause {
            Cause::Usage(_) => "usage",
            Cause::Local(_) | Cause::InTheWay(_) | Cause::Secret(_) => "local_file",
            Cause::Memory(_) => "memory",
            Cause::OnlyAsGuest(_) => "authentication",
            Cause::NoPassword(_) => "no_password",
            Cause::Network(_) => "network",
            Cause::Engine(error) => kind_of(error),
            Cause::Link(_) => "symlink",
            Cause::Moved(..) => "moved",
            Cause::TooManyLinks => "too_many_links",
            Cause::NoFile(_) => "no_file",
            Cause::Changed(_) => "changed",
            Cause::BrokenPipe => "broken_pipe",
        }
    }
}

fn exit_of(error: &Error) -> Exit {
    match error {
        Error::Malformed(_) | Error::Misbehaved(_) | Error::Unauthentic(_) => Exit::Protocol,
        Error::Incompatible(_) => Exit::Refused,
        Error::Closed | Error::TimedOut => Exit::Network,
        Error::Budget { .. } => Exit::Other,
        Error::Changed => Exit::Changed,
        // What the command line passed on and the engine found to have no meaning.
        Error::Invalid(_) => Exit::Usage,
        Error::Refused(refusal) => match refusal.reason {
            Reason::NotFound => Exit::NotFound,
            Reason::Authentication => Exit::Authentication,
            Reason::Expired => Exit::Network,
            Reason::Denied
            | Reason::IsDirectory
            | Reason::NotDirectory
            | Reason::Symlink
            | Reason::Busy
            | Reason::Unsupported
            | Reason::Other => Exit::Refused,
        },
    }
}

fn kind_of(error: &Error) -> &'static str {
    match error {
        Error::Malformed(_) => "malformed",
        Error::Misbehaved(_) => "misbehaved",
        Error::Incompatible(_) => "incompatible",
        Error::Budget { .. } => "budget",
        Error::Closed => "closed",
        Error::TimedOut => "timed_out",
        Error::Unauthentic(_) => "unauthentic",
        Error::Invalid(_) => "invalid",
        Error::Changed => "changed",
        Error::Refused(refusal) => match refusal.reason {
            Reason::NotFound => "not_found",
            Reason::Authentication => "authentication",
            Reason::Denied => "denied",
            Reason::IsDirectory => "is_directory",
            Reason::NotDirectory => "not_directory",
            Reason::Symlink => "symlink",
            Reason::Busy => "busy",
            Reason::Expired => "expired",
            Reason::Unsupported => "unsupported",
            Reason::Other => "refused",
        },
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Usage(message) | Cause::NoPassword(message) => f.write_str(message),
            Cause::Local(error) | Cause::Secret(error) | Cause::Network(error) => error.fmt(f),
            Cause::InTheWay(why) => f.write_str(why),
            Cause::Memory(len) => write!(f, "cannot have {len} bytes of memory"),
            Cause::OnlyAsGuest(user) => write!(
                f,
                "the server does not know user {} (it would let it in only as a guest)",
                safe::text(user)
            ),
            Cause::Engine(error) => error.fmt(f),
            Cause::Link(link) => {
                let Link { target, why, .. } = &**link;
                write!(f, "a symbolic link on the way points to {}, {why}", safe::text(target))
            }
            Cause::Moved(_, place) => write!(f, "the server says that this is at {}", safe::text(place)),
            Cause::TooManyLinks => write!(f, "too many symbolic links: more than {LINKS_MAX}"),
            Cause::NoFile(Kind::Directory) => f.write_str("it is a directory"),
            Cause::NoFile(_) => f.write_str("it is no regular file"),
            Cause::Changed(how) => write!(f, "it changed while it was read: {how}"),
            Cause::BrokenPipe => f.write_str("nobody reads the output any more"),
        }
    }
}

/// One line of what happened, and one of what to do where that is known.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pagewire: {}: {}", self.tried, self.cause)?;
        match hints::hint(self) {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl Cause {
    /// Whether the connection was lost, or could not be made.
    pub fn is_lost(&self) -> bool {
        matches!(self, Cause::Network(_) | Cause::Engine(Error::Closed | Error::TimedOut))
    }

    /// Something on this side did not take what was to be written.
    pub fn unwritten(error: io::Error) -> Cause {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Cause::BrokenPipe,
            _ => Cause::Local(error),
        }
    }
}

/// The transport's and the engine's errors as causes; an output that was given up must be told apart before.
impl From<pagewire::blocking::Failure<io::Error>> for Cause {
    fn from(failure: pagewire::blocking::Failure<io::Error>) -> Cause {
        match failure {
            pagewire::blocking::Failure::Engine(error) => Cause::Engine(error),
            pagewire::blocking::Failure::Transport(error) => Cause::Network(error),
            pagewire::blocking::Failure::Stopped => Cause::BrokenPipe,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(cause: Cause) -> u8 {
        Failure::new("testing", cause).exit() as u8
    }

    fn refused(reason: Reason) -> Cause {
        Cause::Engine(Error::Refused(Refusal { reason, code: 1, name: "STATUS_X", during: "CREATE" }))
    }

    #[test]
    fn exit_codes() {
        for (cause, code) in [
            (Cause::BrokenPipe, 0),
            (Cause::Engine(Error::Budget { what: "rx", need: 2, have: 1 }), 1),
            (Cause::Usage(String::new()), 2),
            (Cause::Memory(1), 1),
            (Cause::Local(io::ErrorKind::NotFound.into()), 3),
            (Cause::InTheWay(""), 3),
            (Cause::Secret(io::ErrorKind::NotFound.into()), 3),
            (Failure::unwritten(io::ErrorKind::BrokenPipe.into()).cause, 0),
            (Failure::unwritten(io::ErrorKind::StorageFull.into()).cause, 3),
            (Cause::Network(io::ErrorKind::ConnectionRefused.into()), 4),
            (Cause::Engine(Error::TimedOut), 4),
            (Cause::Engine(Error::Closed), 4),
            (refused(Reason::Expired), 4),
            (refused(Reason::NotFound), 5),
            (refused(Reason::Authentication), 6),
            (Cause::NoPassword(String::new()), 6),
            (Cause::OnlyAsGuest(String::new()), 6),
            (Cause::Engine(Error::Malformed("x")), 7),
            (Cause::Engine(Error::Unauthentic("x")), 7),
            (refused(Reason::Denied), 8),
            (refused(Reason::IsDirectory), 8),
            (Cause::TooManyLinks, 5),
            (Cause::NoFile(Kind::Directory), 8),
            (Cause::Engine(Error::Incompatible("x")), 8),
            (Cause::Changed(String::new()), 10),
        ] {
            let text = format!("{cause:?}");
            assert_eq!(exit(cause), code, "{text}");
        }
        assert_eq!(Exit::Partial as u8, 9);
    }

    #[test]
    fn what_is_told_names_what_was_tried_and_the_status() {
        let text = Failure::new("opening smb://h/s/f", refused(Reason::NotFound)).to_string();
        assert!(text.starts_with(
            "pagewire: opening smb://h/s/f: the server refused CREATE: STATUS_X (0x00000001)\n  hint: "
        ));
    }
}
