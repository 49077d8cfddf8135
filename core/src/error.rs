//! What can go wrong, and whose fault it is.

use core::fmt;

/// Every way a call can fail. Field names are the standards' own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Error {
    /// The peer sent bytes that cannot be decoded; the field that is missing or has no sense.
    Malformed(&'static str),
    /// The peer sent a message that decodes and that the protocol does not allow here.
    Misbehaved(&'static str),
    /// Both sides are right and have nothing in common, or the caller asked for more than the peer has.
    Incompatible(&'static str),
    /// The peer understood and said no.
    Refused(Refusal),
    /// Lent memory is too small for what was asked: `what` needs `need` bytes (or slots) and has `have`.
    Budget {
        /// Which budget.
        what: &'static str,
        /// How much would be enough.
        need: usize,
        /// How much was lent.
        have: usize,
    },
    /// The connection ended while replies were awaited.
    Closed,
    /// No reply came before the deadline.
    TimedOut,
    /// What came cannot be what the peer sent: a signature, a tag or an identity is wrong.
    Unauthentic(&'static str),
    /// The caller's own mistake: an argument that has no meaning.
    Invalid(&'static str),
    /// The file was changed while it was read by a map of its holes, so what was lent as a hole may be data now.
    Changed,
}

impl Error {
    /// Whether it ends the connection by itself: then every later step fails with it too. (A `Budget` that a reply
    /// exceeds ends it as well, since the rest of that reply is lost; `Client::failed` tells.)
    pub const fn is_fatal(&self) -> bool {
        match self {
            Error::Malformed(_)
            | Error::Misbehaved(_)
            | Error::Closed
            | Error::TimedOut
            | Error::Unauthentic(_) => true,
            Error::Incompatible(_)
            | Error::Refused(_)
            | Error::Budget { .. }
            | Error::Invalid(_)
            | Error::Changed => false,
        }
    }
}

/// A refusal in the peer's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Refusal {
    /// What it means, in words that both protocols share.
    pub reason: Reason,
    /// The peer's number.
    pub code: u32,
    /// The standard's name of that number, or "" where we know none.
    pub name: &'static str,
    /// The message that was refused, in the standard's name.
    pub during: &'static str,
}

/// Why a peer refuses, as far as a caller would act on it.
// As wide as the tag of an error, which is copied in words then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u32)]
pub enum Reason {
    /// No such share, export, file or directory.
    NotFound,
    /// The identity is not accepted: unknown user, wrong password, expired or locked account.
    Authentication,
    /// The identity is known and has no right to this.
    Denied,
    /// A directory where a file was asked for.
    IsDirectory,
    /// A file where a directory was asked for.
    NotDirectory,
    /// A symbolic link that the peer wants the client to follow.
    Symlink,
    /// In use by another, or out of some resource: asking later may help.
    Busy,
    /// The session or handle is no longer known: connect or open again.
    Expired,
    /// The peer does not have this function.
    Unsupported,
    /// Anything else.
    Other,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Malformed(field) => {
                write!(f, "the server sent a message that cannot be decoded ({field})")
            }
            Error::Misbehaved(what) => write!(f, "the server broke the protocol: {what}"),
            Error::Incompatible(what) => write!(f, "the server and this client do not agree: {what}"),
            Error::Refused(refusal) => refusal.fmt(f),
            Error::Budget { what, need, have } => {
                write!(f, "too little memory was lent: {what} needs {need} and has {have}")
            }
            Error::Closed => f.write_str("the connection was closed while replies were awaited"),
            Error::TimedOut => f.write_str("the server did not answer in time"),
            Error::Unauthentic(what) => write!(f, "the reply cannot be trusted: {what}"),
            Error::Invalid(what) => write!(f, "invalid argument: {what}"),
            Error::Changed => f.write_str("the file was changed while it was read around its holes"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() { "status" } else { self.name };
        write!(f, "the server refused {}: {} (0x{:08X})", self.during, name, self.code)
    }
}

impl core::error::Error for Error {}

impl embedded_io::Error for Error {
    fn kind(&self) -> embedded_io::ErrorKind {
        use embedded_io::ErrorKind;
        match self {
            Error::Malformed(_) | Error::Misbehaved(_) | Error::Unauthentic(_) => ErrorKind::InvalidData,
            Error::Incompatible(_) => ErrorKind::Unsupported,
            Error::Budget { .. } => ErrorKind::OutOfMemory,
            Error::Closed => ErrorKind::ConnectionAborted,
            Error::TimedOut => ErrorKind::TimedOut,
            Error::Changed => ErrorKind::Other,
            Error::Invalid(_) => ErrorKind::InvalidInput,
            Error::Refused(refusal) => match refusal.reason {
                Reason::NotFound => ErrorKind::NotFound,
                Reason::Authentication | Reason::Denied => ErrorKind::PermissionDenied,
                Reason::Unsupported => ErrorKind::Unsupported,
                Reason::IsDirectory | Reason::NotDirectory | Reason::Symlink => ErrorKind::InvalidInput,
                Reason::Busy | Reason::Expired | Reason::Other => ErrorKind::Other,
            },
        }
    }
}
