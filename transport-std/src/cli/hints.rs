//! What to do about a failure, where that is known.

mod nfs;

use super::failure::{Cause, Failure, Stage};
use super::url::Wire;
use pagewire::{Error, Kind, Reason, Refusal};
use std::io::{self, ErrorKind};

/// What the user could do. The most special comes first.
pub fn hint(failure: &Failure) -> Option<&'static str> {
    if failure.wire == Wire::Nfs
        && let Some(hint) = nfs::hint(failure)
    {
        return Some(hint);
    }
    match &failure.cause {
        Cause::Usage(_) => Some("`pagewire help` and `pagewire help COMMAND` show how it is used"),
        Cause::NoPassword(_) => Some(
            "give it by PAGEWIRE_PASSWORD, PASSWD_FD, PASSWD_FILE, --credentials FILE or --password-command; \
             --guest needs none",
        ),
        Cause::Local(error) => local(error),
        Cause::InTheWay(_) => Some("it was there before: take it away, or name another directory by -O"),
        Cause::Secret(_) => Some(
            "--credentials names a file that this user can read, with lines username=, password= and domain=",
        ),
        Cause::Memory(_) => Some("use a smaller --rsize or --in-flight"),
        Cause::OnlyAsGuest(_) => {
            Some("check the user name and --domain; to be a guest, give --guest and no user")
        }
        Cause::Network(_) if failure.stage == Stage::Negotiated => Some(CUT),
        Cause::Network(_) if failure.stage == Stage::Connected => Some(HUNG_UP),
        Cause::Network(error) => network(error),
        Cause::Engine(Error::Refused(refusal)) => refused(refusal, failure.as_nobody),
        Cause::Engine(error) => engine(error, failure.stage),
        Cause::Link(_) => Some("name what it points to"),
        Cause::Moved(..) => Some("ask there"),
        Cause::TooManyLinks => Some("they may lead in a circle: name the file itself"),
        Cause::NoFile(Kind::Directory) => Some("`pagewire ls` shows what is in it"),
        Cause::NoFile(_) => None,
        Cause::Changed(_) => Some(CHANGED),
        Cause::BrokenPipe => None,
    }
}

const CHANGED: &str = "somebody writes to it; get it again when that is over";
const HUNG_UP: &str =
    "the server hung up: is it an SMB 2 or 3 server, and does it speak the dialect of --vers?";
const CUT: &str = "the connection was cut in the middle; try again";

fn local(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::PermissionDenied => Some("may this user write there? -O names another directory"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some("make room there, or take another place"),
        ErrorKind::NotFound => Some("is there such a directory? That of -O is made"),
        ErrorKind::AlreadyExists => Some("take it away, or leave --no-clobber out"),
        _ => None,
    }
}

fn network(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::ConnectionRefused => {
            Some("nobody listens there: is it the right host, and is --port right (SMB uses 445)?")
        }
        ErrorKind::TimedOut => {
            Some("nobody answers: is the host up, is the port open? --connect-timeout waits longer")
        }
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            Some("there is no way to this address from here")
        }
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Some(CUT),
        // What the resolver says has no kind of its own.
        _ => Some("is the name of the host right?"),
    }
}

fn engine(error: &Error, stage: Stage) -> Option<&'static str> {
    match error {
        Error::Malformed(_) if stage == Stage::Connected => Some(
            "this does not look like an SMB 2 or 3 server: check the port (--port), or it speaks only SMB 1",
        ),
        // A name that would leave its directory.
        Error::Misbehaved(what) if what.starts_with("a listing has a name") => {
            Some("the server sent a name that no client may use; on the server the file can be renamed")
        }
        Error::Malformed(_) | Error::Misbehaved(_) => {
            Some("this is the server's fault, or that of something between; another --vers may avoid it")
        }
        Error::Unauthentic(_) => Some(
            "what came is not what the server sent, so nothing of it was kept; do not trust this network",
        ),
        Error::Incompatible(_) => Some("leave --vers, --sign and --seal out, or ask for what the server has"),
        Error::Closed if stage == Stage::Negotiated => Some(CUT),
        Error::Closed => Some(HUNG_UP),
        Error::TimedOut => Some("the server is slow or gone; --timeout waits longer"),
        Error::Budget { .. } => {
            Some("a name, a path or a list may be too long; otherwise this is our fault: please report it")
        }
        Error::Changed => Some(CHANGED),
        Error::Invalid(_) | Error::Refused(_) => None,
    }
}

fn refused(refusal: &Refusal, as_nobody: bool) -> Option<&'static str> {
    match (refusal.reason, refusal.name, refusal.during) {
        (Reason::Authentication, "STATUS_ACCOUNT_LOCKED_OUT", _) => {
            Some("too many wrong passwords were tried; wait, or ask who runs the server")
        }
        (Reason::Authentication, "STATUS_PASSWORD_EXPIRED" | "STATUS_PASSWORD_MUST_CHANGE", _) => {
            Some("the password must be changed first, on the server or by its owner's computer")
        }
        (Reason::Authentication, "STATUS_ACCOUNT_DISABLED" | "STATUS_ACCOUNT_EXPIRED", _) => {
            Some("the account is closed; ask who runs the server")
        }
        (Reason::Authentication, ..) if as_nobody => {
            Some("this server takes no guests: name a user, smb://USER@host/... or --username")
        }
        (Reason::Authentication, ..) => Some("check user name, password and --domain"),
        (Reason::Denied, _, "TREE_CONNECT" | "SESSION_SETUP") if as_nobody => {
            Some("guests may not use this share: name a user, smb://USER@host/... or --username")
        }
        (Reason::Denied, _, "TREE_CONNECT") => {
            Some("this user may not use this share: try another one, or --seal if the share wants encryption")
        }
        (Reason::Denied, ..) => Some("this user may not read it; ask its owner"),
        (Reason::NotFound, _, "TREE_CONNECT") => Some("the server has no share of this name"),
        (Reason::NotFound, ..) => Some("check the path; `pagewire ls` shows which names there are"),
        (Reason::IsDirectory, ..) => Some("it is a directory: `pagewire ls` shows what is in it"),
        (Reason::NotDirectory, ..) => Some("a name in the path is a file: `pagewire get` reads it"),
        (Reason::Symlink, ..) => Some("it is a link that the server does not follow: name what it points to"),
        (Reason::Busy, ..) => Some("it is in use, or the server is busy: try again later"),
        (Reason::Expired, ..) => Some("the server ended the session: try again"),
        (Reason::Unsupported, "STATUS_PATH_NOT_COVERED", _) => {
            Some("this path is on another server (DFS): name that server")
        }
        (Reason::Unsupported, ..) => Some("the server does not have this function"),
        (Reason::Other, ..) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(reason: Reason, name: &'static str, during: &'static str, as_nobody: bool) -> &'static str {
        let cause = Cause::Engine(Error::Refused(Refusal { reason, code: 0, name, during }));
        hint(&Failure { as_nobody, ..Failure::new("testing", cause) }).unwrap_or("")
    }

    #[test]
    fn a_guest_is_told_to_name_a_user_and_a_user_to_check_the_password() {
        assert!(
            of(Reason::Authentication, "STATUS_LOGON_FAILURE", "SESSION_SETUP", true).contains("--username")
        );
        assert!(
            of(Reason::Authentication, "STATUS_LOGON_FAILURE", "SESSION_SETUP", false).contains("password")
        );
        assert!(of(Reason::Denied, "STATUS_ACCESS_DENIED", "TREE_CONNECT", true).contains("--username"));
        assert!(of(Reason::Denied, "STATUS_ACCESS_DENIED", "TREE_CONNECT", false).contains("--seal"));
    }

    #[test]
    fn what_an_end_or_nonsense_means_depends_on_how_far_it_had_come() {
        let at = |stage, error| {
            hint(&Failure { stage, ..Failure::new("testing", Cause::Engine(error)) }).unwrap_or("")
        };
        assert!(at(Stage::Connected, Error::Malformed("Header.ProtocolId")).contains("SMB 1"));
        assert!(at(Stage::Negotiated, Error::Malformed("Header.ProtocolId")).contains("--vers"));
        assert!(at(Stage::Connected, Error::Closed).contains("is it an SMB 2 or 3 server"));
        assert_eq!(at(Stage::Negotiated, Error::Closed), CUT);
        for (stage, told) in [(Stage::Connected, HUNG_UP), (Stage::Negotiated, CUT)] {
            let cause = Cause::Network(ErrorKind::ConnectionReset.into());
            assert_eq!(hint(&Failure { stage, ..Failure::new("testing", cause) }), Some(told));
        }
    }

    #[test]
    fn a_bad_name_is_not_mended_by_another_dialect() {
        let what = "a listing has a name with a separator or a NUL, or an empty one";
        let told = hint(&Failure::new("testing", Cause::Engine(Error::Misbehaved(what)))).unwrap();
        assert!(told.contains("no client may use") && !told.contains("--vers"));
    }

    #[test]
    fn what_is_wrong_with_files_here_is_not_mended_by_an_option_that_trees_do_not_take() {
        for kind in [
            ErrorKind::PermissionDenied,
            ErrorKind::StorageFull,
            ErrorKind::QuotaExceeded,
            ErrorKind::NotFound,
            ErrorKind::AlreadyExists,
        ] {
            let told = local(&kind.into()).unwrap();
            assert!(!told.contains("-o"), "{told}");
        }
    }

    #[test]
    fn a_missing_share_and_a_missing_file_differ() {
        let share = of(Reason::NotFound, "STATUS_BAD_NETWORK_NAME", "TREE_CONNECT", false);
        let file = of(Reason::NotFound, "STATUS_OBJECT_NAME_NOT_FOUND", "CREATE", false);
        assert!(share.contains("share") && file.contains("ls"));
    }
}
