//! RFC 7530 13.1, RFC 8881 15.1, RFC 7862 11: `nfsstat4`.

use crate::error::Refusal;

/// How an operation or a COMPOUND went. Open: a peer may use numbers without a constant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Status(pub u32);

crate::statuses::statuses! {
    OK 0 "NFS4_OK" Other,
    // The path.
    NOENT 2 "NFS4ERR_NOENT" NotFound,
    NOTDIR 20 "NFS4ERR_NOTDIR" NotDirectory,
    ISDIR 21 "NFS4ERR_ISDIR" IsDirectory,
    NAMETOOLONG 63 "NFS4ERR_NAMETOOLONG" NotFound,
    SYMLINK 10029 "NFS4ERR_SYMLINK" Symlink,
    BADCHAR 10040 "NFS4ERR_BADCHAR" NotFound,
    BADNAME 10041 "NFS4ERR_BADNAME" NotFound,
    // The identity.
    WRONGSEC 10016 "NFS4ERR_WRONGSEC" Authentication,
    WRONG_CRED 10082 "NFS4ERR_WRONG_CRED" Authentication,
    PERM 1 "NFS4ERR_PERM" Denied,
    ACCESS 13 "NFS4ERR_ACCESS" Denied,
    // Resources: asking later may help.
    DELAY 10008 "NFS4ERR_DELAY" Busy,
    DENIED 10010 "NFS4ERR_DENIED" Busy,
    LOCKED 10012 "NFS4ERR_LOCKED" Busy,
    GRACE 10013 "NFS4ERR_GRACE" Busy,
    SHARE_DENIED 10015 "NFS4ERR_SHARE_DENIED" Busy,
    CLID_INUSE 10017 "NFS4ERR_CLID_INUSE" Busy,
    RESOURCE 10018 "NFS4ERR_RESOURCE" Busy,
    DEADLOCK 10045 "NFS4ERR_DEADLOCK" Busy,
    FILE_OPEN 10046 "NFS4ERR_FILE_OPEN" Busy,
    BACK_CHAN_BUSY 10057 "NFS4ERR_BACK_CHAN_BUSY" Busy,
    LAYOUTTRYLATER 10058 "NFS4ERR_LAYOUTTRYLATER" Busy,
    CLIENTID_BUSY 10074 "NFS4ERR_CLIENTID_BUSY" Busy,
    // Handles, opens, clients and sessions that are no more, or out of step with the server.
    STALE 70 "NFS4ERR_STALE" Expired,
    BADHANDLE 10001 "NFS4ERR_BADHANDLE" Expired,
    EXPIRED 10011 "NFS4ERR_EXPIRED" Expired,
    FHEXPIRED 10014 "NFS4ERR_FHEXPIRED" Expired,
    STALE_CLIENTID 10022 "NFS4ERR_STALE_CLIENTID" Expired,
    STALE_STATEID 10023 "NFS4ERR_STALE_STATEID" Expired,
    OLD_STATEID 10024 "NFS4ERR_OLD_STATEID" Expired,
    BAD_STATEID 10025 "NFS4ERR_BAD_STATEID" Expired,
    BAD_SEQID 10026 "NFS4ERR_BAD_SEQID" Expired,
    LEASE_MOVED 10031 "NFS4ERR_LEASE_MOVED" Expired,
    ADMIN_REVOKED 10047 "NFS4ERR_ADMIN_REVOKED" Expired,
    BADSESSION 10052 "NFS4ERR_BADSESSION" Expired,
    BADSLOT 10053 "NFS4ERR_BADSLOT" Expired,
    CONN_NOT_BOUND_TO_SESSION 10055 "NFS4ERR_CONN_NOT_BOUND_TO_SESSION" Expired,
    SEQ_MISORDERED 10063 "NFS4ERR_SEQ_MISORDERED" Expired,
    DEADSESSION 10078 "NFS4ERR_DEADSESSION" Expired,
    DELEG_REVOKED 10087 "NFS4ERR_DELEG_REVOKED" Expired,
    // The function.
    NOTSUPP 10004 "NFS4ERR_NOTSUPP" Unsupported,
    MOVED 10019 "NFS4ERR_MOVED" Unsupported,
    MINOR_VERS_MISMATCH 10021 "NFS4ERR_MINOR_VERS_MISMATCH" Unsupported,
    ATTRNOTSUPP 10032 "NFS4ERR_ATTRNOTSUPP" Unsupported,
    LOCK_NOTSUPP 10043 "NFS4ERR_LOCK_NOTSUPP" Unsupported,
    OP_ILLEGAL 10044 "NFS4ERR_OP_ILLEGAL" Unsupported,
    HASH_ALG_UNSUPP 10072 "NFS4ERR_HASH_ALG_UNSUPP" Unsupported,
    ENCR_ALG_UNSUPP 10079 "NFS4ERR_ENCR_ALG_UNSUPP" Unsupported,
    PARTNER_NOTSUPP 10088 "NFS4ERR_PARTNER_NOTSUPP" Unsupported,
    UNION_NOTSUPP 10090 "NFS4ERR_UNION_NOTSUPP" Unsupported,
    // All else.
    IO 5 "NFS4ERR_IO" Other,
    NXIO 6 "NFS4ERR_NXIO" Other,
    EXIST 17 "NFS4ERR_EXIST" Other,
    XDEV 18 "NFS4ERR_XDEV" Other,
    INVAL 22 "NFS4ERR_INVAL" Other,
    FBIG 27 "NFS4ERR_FBIG" Other,
    NOSPC 28 "NFS4ERR_NOSPC" Other,
    ROFS 30 "NFS4ERR_ROFS" Other,
    MLINK 31 "NFS4ERR_MLINK" Other,
    NOTEMPTY 66 "NFS4ERR_NOTEMPTY" Other,
    DQUOT 69 "NFS4ERR_DQUOT" Other,
    BAD_COOKIE 10003 "NFS4ERR_BAD_COOKIE" Other,
    TOOSMALL 10005 "NFS4ERR_TOOSMALL" Other,
    SERVERFAULT 10006 "NFS4ERR_SERVERFAULT" Other,
    BADTYPE 10007 "NFS4ERR_BADTYPE" Other,
    SAME 10009 "NFS4ERR_SAME" Other,
    NOFILEHANDLE 10020 "NFS4ERR_NOFILEHANDLE" Other,
    NOT_SAME 10027 "NFS4ERR_NOT_SAME" Other,
    LOCK_RANGE 10028 "NFS4ERR_LOCK_RANGE" Other,
    RESTOREFH 10030 "NFS4ERR_RESTOREFH" Other,
    NO_GRACE 10033 "NFS4ERR_NO_GRACE" Other,
    RECLAIM_BAD 10034 "NFS4ERR_RECLAIM_BAD" Other,
    RECLAIM_CONFLICT 10035 "NFS4ERR_RECLAIM_CONFLICT" Other,
    BADXDR 10036 "NFS4ERR_BADXDR" Other,
    LOCKS_HELD 10037 "NFS4ERR_LOCKS_HELD" Other,
    OPENMODE 10038 "NFS4ERR_OPENMODE" Other,
    BADOWNER 10039 "NFS4ERR_BADOWNER" Other,
    BAD_RANGE 10042 "NFS4ERR_BAD_RANGE" Other,
    CB_PATH_DOWN 10048 "NFS4ERR_CB_PATH_DOWN" Other,
    BADIOMODE 10049 "NFS4ERR_BADIOMODE" Other,
    BADLAYOUT 10050 "NFS4ERR_BADLAYOUT" Other,
    BAD_SESSION_DIGEST 10051 "NFS4ERR_BAD_SESSION_DIGEST" Other,
    COMPLETE_ALREADY 10054 "NFS4ERR_COMPLETE_ALREADY" Other,
    DELEG_ALREADY_WANTED 10056 "NFS4ERR_DELEG_ALREADY_WANTED" Other,
    LAYOUTUNAVAILABLE 10059 "NFS4ERR_LAYOUTUNAVAILABLE" Other,
    NOMATCHING_LAYOUT 10060 "NFS4ERR_NOMATCHING_LAYOUT" Other,
    RECALLCONFLICT 10061 "NFS4ERR_RECALLCONFLICT" Other,
    UNKNOWN_LAYOUTTYPE 10062 "NFS4ERR_UNKNOWN_LAYOUTTYPE" Other,
    SEQUENCE_POS 10064 "NFS4ERR_SEQUENCE_POS" Other,
    REQ_TOO_BIG 10065 "NFS4ERR_REQ_TOO_BIG" Other,
    REP_TOO_BIG 10066 "NFS4ERR_REP_TOO_BIG" Other,
    REP_TOO_BIG_TO_CACHE 10067 "NFS4ERR_REP_TOO_BIG_TO_CACHE" Other,
    RETRY_UNCACHED_REP 10068 "NFS4ERR_RETRY_UNCACHED_REP" Other,
    UNSAFE_COMPOUND 10069 "NFS4ERR_UNSAFE_COMPOUND" Other,
    TOO_MANY_OPS 10070 "NFS4ERR_TOO_MANY_OPS" Other,
    OP_NOT_IN_SESSION 10071 "NFS4ERR_OP_NOT_IN_SESSION" Other,
    PNFS_IO_HOLE 10075 "NFS4ERR_PNFS_IO_HOLE" Other,
    SEQ_FALSE_RETRY 10076 "NFS4ERR_SEQ_FALSE_RETRY" Other,
    BAD_HIGH_SLOT 10077 "NFS4ERR_BAD_HIGH_SLOT" Other,
    PNFS_NO_LAYOUT 10080 "NFS4ERR_PNFS_NO_LAYOUT" Other,
    NOT_ONLY_OP 10081 "NFS4ERR_NOT_ONLY_OP" Other,
    WRONG_TYPE 10083 "NFS4ERR_WRONG_TYPE" Other,
    DIRDELEG_UNAVAIL 10084 "NFS4ERR_DIRDELEG_UNAVAIL" Other,
    REJECT_DELEG 10085 "NFS4ERR_REJECT_DELEG" Other,
    RETURNCONFLICT 10086 "NFS4ERR_RETURNCONFLICT" Other,
    PARTNER_NO_AUTH 10089 "NFS4ERR_PARTNER_NO_AUTH" Other,
    OFFLOAD_DENIED 10091 "NFS4ERR_OFFLOAD_DENIED" Other,
    WRONG_LFS 10092 "NFS4ERR_WRONG_LFS" Other,
    BADLABEL 10093 "NFS4ERR_BADLABEL" Other,
    OFFLOAD_NO_REQS 10094 "NFS4ERR_OFFLOAD_NO_REQS" Other,
}

impl Status {
    /// Whether it is [`OK`](Self::OK).
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }

    /// Whether the same request may succeed a little later, as it is: [`DELAY`](Self::DELAY) and
    /// [`GRACE`](Self::GRACE). How often is for the caller to bound.
    pub const fn is_transient(self) -> bool {
        matches!(self, Status::DELAY | Status::GRACE)
    }

    /// As an error; `during` is the operation that was refused, in the standard's name.
    pub const fn refusal(self, during: &'static str) -> Refusal {
        Refusal { reason: self.reason(), code: self.0, name: self.name(), during }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Reason;
    use std::collections::BTreeSet;

    #[test]
    fn every_status_has_a_value_and_a_name_of_its_own() {
        let values: BTreeSet<u32> = ALL.iter().map(|status| status.0).collect();
        let names: BTreeSet<&str> = ALL.iter().map(|status| status.name()).collect();
        assert_eq!((values.len(), names.len()), (ALL.len(), ALL.len()));
        // RFC 7863 has no gap between 10003 and 10094 but 10073. (10002, NOT_SYNC, is of version 3.)
        let missing: std::vec::Vec<u32> = (10001..=10094).filter(|value| !values.contains(value)).collect();
        assert_eq!(missing, [10002, 10073]);
    }

    #[test]
    fn a_refusal_says_what_was_refused_and_why() {
        let refusal = Status(2).refusal("LOOKUP");
        assert_eq!(refusal.reason, Reason::NotFound);
        assert_eq!((refusal.code, refusal.name, refusal.during), (2, "NFS4ERR_NOENT", "LOOKUP"));
        assert_eq!(Status(77).refusal("READ").name, "");
        assert_eq!(Status(77).reason(), Reason::Other);
    }

    #[test]
    fn what_waiting_and_what_starting_anew_mends() {
        for status in [10008, 10013] {
            assert!(Status(status).is_transient() && Status(status).reason() == Reason::Busy);
        }
        for status in [70, 10011, 10014, 10022, 10023, 10025, 10052, 10055, 10078] {
            assert!(!Status(status).is_transient() && Status(status).reason() == Reason::Expired);
        }
        assert!(Status(0).is_ok() && !Status(1).is_ok());
    }
}
