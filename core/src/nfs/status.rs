//! RFC 1813 2.6: the `nfsstat3` values.

use super::v3::Procedure;
use crate::error::{Error, Refusal};
use crate::wire::Reader;

/// How a procedure of NFSv3 went. Open: a peer may use numbers without a constant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Status(pub u32);

crate::statuses::statuses! {
    OK 0 "NFS3_OK" Other,
    // The path.
    NOENT 2 "NFS3ERR_NOENT" NotFound,
    NAMETOOLONG 63 "NFS3ERR_NAMETOOLONG" NotFound,
    NOTDIR 20 "NFS3ERR_NOTDIR" NotDirectory,
    ISDIR 21 "NFS3ERR_ISDIR" IsDirectory,
    // The identity.
    PERM 1 "NFS3ERR_PERM" Denied,
    ACCES 13 "NFS3ERR_ACCES" Denied,
    // What is not there any more: a handle of a file that is deleted, or of another server; the place in a
    // directory that a listing goes on from.
    STALE 70 "NFS3ERR_STALE" Expired,
    BADHANDLE 10001 "NFS3ERR_BADHANDLE" Expired,
    BAD_COOKIE 10003 "NFS3ERR_BAD_COOKIE" Expired,
    // The server's state.
    JUKEBOX 10008 "NFS3ERR_JUKEBOX" Busy,
    // What the server does not do.
    NOTSUPP 10004 "NFS3ERR_NOTSUPP" Unsupported,
    // The rest.
    IO 5 "NFS3ERR_IO" Other,
    NXIO 6 "NFS3ERR_NXIO" Other,
    EXIST 17 "NFS3ERR_EXIST" Other,
    XDEV 18 "NFS3ERR_XDEV" Other,
    NODEV 19 "NFS3ERR_NODEV" Other,
    INVAL 22 "NFS3ERR_INVAL" Other,
    FBIG 27 "NFS3ERR_FBIG" Other,
    NOSPC 28 "NFS3ERR_NOSPC" Other,
    ROFS 30 "NFS3ERR_ROFS" Other,
    MLINK 31 "NFS3ERR_MLINK" Other,
    NOTEMPTY 66 "NFS3ERR_NOTEMPTY" Other,
    DQUOT 69 "NFS3ERR_DQUOT" Other,
    REMOTE 71 "NFS3ERR_REMOTE" Other,
    NOT_SYNC 10002 "NFS3ERR_NOT_SYNC" Other,
    TOOSMALL 10005 "NFS3ERR_TOOSMALL" Other,
    SERVERFAULT 10006 "NFS3ERR_SERVERFAULT" Other,
    BADTYPE 10007 "NFS3ERR_BADTYPE" Other,
}

impl Status {
    /// It as the reason why `during` was refused.
    pub const fn refusal(self, during: Procedure) -> Refusal {
        Refusal { reason: self.reason(), code: self.0, name: self.name(), during: during.name() }
    }

    /// What a user could do about it, or "" where we know nothing.
    pub const fn hint(self) -> &'static str {
        match self {
            Status::PERM => "the server may want a source port below 1024 (its export is not `insecure`)",
            _ => "",
        }
    }

    /// Decodes the status that results start with. `Refused` if it is not [`OK`](Self::OK); nothing else of such
    /// results is ever looked at.
    pub(super) fn decode(r: &mut Reader<'_>, during: Procedure) -> Result<(), Error> {
        match Status(r.be32("nfsstat3")?) {
            Status::OK => Ok(()),
            status => Err(Error::Refused(status.refusal(during))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Reason;

    #[test]
    fn every_status_has_its_own_number_and_name() {
        for (at, status) in ALL.iter().enumerate() {
            assert!(status.name().starts_with("NFS3"));
            for other in &ALL[at + 1..] {
                assert_ne!(status.0, other.0);
                assert_ne!(status.name(), other.name());
            }
        }
        assert_eq!(ALL.len(), 29);
    }

    #[test]
    fn unknown_numbers_have_no_name() {
        assert_eq!(Status(10013).name(), "");
        assert_eq!(Status(10013).reason(), Reason::Other);
    }

    #[test]
    fn a_refusal_has_all_that_is_known() {
        assert_eq!(
            Status::JUKEBOX.refusal(Procedure::READ),
            Refusal { reason: Reason::Busy, code: 10008, name: "NFS3ERR_JUKEBOX", during: "READ" }
        );
        assert!(Status::PERM.hint().contains("1024"));
        assert_eq!(Status::NOENT.hint(), "");
    }

    #[test]
    fn results_that_are_not_ok_are_refused_whatever_follows() {
        let decode = |bytes: &[u8]| Status::decode(&mut Reader::new(bytes), Procedure::LOOKUP);
        assert_eq!(decode(&[0, 0, 0, 0]), Ok(()));
        assert_eq!(
            decode(&[0, 0, 0, 2, 0xFF]),
            Err(Error::Refused(Status::NOENT.refusal(Procedure::LOOKUP)))
        );
        assert_eq!(decode(&[b'A'; 4]), Err(Error::Refused(Status(0x4141_4141).refusal(Procedure::LOOKUP))));
        assert_eq!(decode(&[0, 0, 0]), Err(Error::Malformed("nfsstat3")));
    }
}
