//! What is different with NFS.

use crate::cli::failure::{Cause, Failure, Stage};
use pagewire::{Error, Reason, Refusal};
use std::io::ErrorKind;

const PRIVILEGED: &str = "the server may want a source port below 1024: --privileged-port (root only)";

/// `None` where it is as with SMB.
pub fn hint(failure: &Failure) -> Option<&'static str> {
    let begun = failure.stage != Stage::Negotiated;
    match &failure.cause {
        Cause::Network(error) if error.kind() == ErrorKind::ConnectionRefused => Some(
            "nobody listens there: is it the right host? NFS 3 without a port mapper (111) needs both ports, \
             ?nfsport=2049&mountport=20048; a server with NFS 4 only needs version=4",
        ),
        Cause::Network(_) if failure.stage == Stage::Connected => Some(HUNG_UP),
        Cause::Engine(Error::Closed) if begun => Some(HUNG_UP),
        // A name that would leave its directory: as with SMB.
        Cause::Engine(Error::Misbehaved(what)) if what.starts_with("a listing has a name") => None,
        Cause::Engine(Error::Malformed(_)) if begun => {
            Some("this does not look like an NFS server: check the ports (nfsport=, mountport=)")
        }
        Cause::Engine(Error::Malformed(_) | Error::Misbehaved(_)) => {
            Some("this is the server's fault, or that of something between")
        }
        Cause::Engine(Error::Incompatible(_)) => Some(VERSION),
        Cause::Engine(Error::Refused(refusal)) => refused(refusal),
        _ => None,
    }
}

const HUNG_UP: &str = "the server hung up: is it an NFS server, and are nfsport= and mountport= right?";

const VERSION: &str =
    "does the server have this version of NFS over TCP? version= names another one: 3, 4, 4.0, 4.1 or 4.2";

fn refused(refusal: &Refusal) -> Option<&'static str> {
    match (refusal.reason, refusal.name, refusal.during) {
        // What RPC does not take as a credential, and what the export does not take as a port.
        (Reason::Authentication, ..)
        | (Reason::Denied, "NFS3ERR_PERM" | "NFS4ERR_PERM" | "MNT3ERR_PERM", _) => Some(PRIVILEGED),
        (Reason::Denied, _, "MNT") => Some(
            "the server exports no such path to this host (`pagewire exports nfs://HOST` lists what it exports); or \
             it may want a source port below 1024: --privileged-port (root only)",
        ),
        (Reason::Denied, ..) => {
            Some("this user may not read it: --uid and --gid say who asks, as far as the server believes it")
        }
        (Reason::NotFound | Reason::NotDirectory, _, "MNT") => Some(
            "the server exports nothing on this path: `pagewire exports nfs://HOST` lists what it exports",
        ),
        (Reason::Expired, ..) => Some("the server no longer knows it: it was deleted or replaced; try again"),
        (_, "NFS4ERR_MOVED", _) => Some("it is on another server, and this one does not say on which"),
        (Reason::Unsupported, ..) => Some(VERSION),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::url::Wire;

    fn of(stage: Stage, cause: Cause) -> &'static str {
        let failure = Failure { stage, wire: Wire::Nfs, ..Failure::new("testing", cause) };
        crate::cli::hints::hint(&failure).unwrap_or("")
    }

    fn refusal(reason: Reason, name: &'static str, during: &'static str) -> Cause {
        Cause::Engine(Error::Refused(Refusal { reason, code: 0, name, during }))
    }

    #[test]
    fn what_may_be_a_matter_of_the_port_says_so() {
        for cause in [
            refusal(Reason::Authentication, "AUTH_TOOWEAK", "MNT"),
            refusal(Reason::Denied, "NFS3ERR_PERM", "LOOKUP"),
            refusal(Reason::Denied, "MNT3ERR_ACCES", "MNT"),
        ] {
            assert!(of(Stage::Connected, cause).contains("--privileged-port"));
        }
        let denied = of(Stage::Negotiated, refusal(Reason::Denied, "NFS3ERR_ACCES", "READ"));
        assert!(denied.contains("--uid") && !denied.contains("--privileged-port"));
    }

    #[test]
    fn nothing_speaks_of_smb() {
        for stage in [Stage::Unconnected, Stage::Connected, Stage::Negotiated] {
            for cause in [
                Cause::Network(ErrorKind::ConnectionRefused.into()),
                Cause::Network(ErrorKind::ConnectionReset.into()),
                Cause::Engine(Error::Closed),
                Cause::Engine(Error::Malformed("x")),
                Cause::Engine(Error::Misbehaved("x")),
                Cause::Engine(Error::Incompatible("x")),
                refusal(Reason::Expired, "NFS3ERR_STALE", "READ"),
                refusal(Reason::NotFound, "MNT3ERR_NOENT", "MNT"),
                refusal(Reason::NotFound, "NFS3ERR_NOENT", "LOOKUP"),
            ] {
                let told = format!("{cause:?}");
                let hint = of(stage, cause);
                assert!(
                    !hint.is_empty() && !hint.contains("SMB") && !hint.contains("--vers"),
                    "{told}: {hint}"
                );
            }
        }
    }
}
