//! Numbers of the standard: operations and statuses.

/// `nfs_opnum4`.
#[allow(missing_docs)]
pub mod op {
    pub const ACCESS: u32 = 3;
    pub const CLOSE: u32 = 4;
    pub const GETATTR: u32 = 9;
    pub const GETFH: u32 = 10;
    pub const LOOKUP: u32 = 15;
    pub const OPEN: u32 = 18;
    pub const OPEN_CONFIRM: u32 = 20;
    pub const PUTFH: u32 = 22;
    pub const PUTROOTFH: u32 = 24;
    pub const READ: u32 = 25;
    pub const READDIR: u32 = 26;
    pub const READLINK: u32 = 27;
    pub const RENEW: u32 = 30;
    pub const SETCLIENTID: u32 = 35;
    pub const SETCLIENTID_CONFIRM: u32 = 36;
    pub const EXCHANGE_ID: u32 = 42;
    pub const CREATE_SESSION: u32 = 43;
    pub const DESTROY_SESSION: u32 = 44;
    pub const SEQUENCE: u32 = 53;
    pub const DESTROY_CLIENTID: u32 = 57;
    pub const RECLAIM_COMPLETE: u32 = 58;
    pub const READ_PLUS: u32 = 68;
    pub const SEEK: u32 = 69;
    pub const ILLEGAL: u32 = 10044;
}

/// `nfsstat4`.
#[allow(missing_docs)]
pub mod status {
    pub const OK: u32 = 0;
    pub const NOENT: u32 = 2;
    pub const NXIO: u32 = 6;
    pub const NOTDIR: u32 = 20;
    pub const ISDIR: u32 = 21;
    pub const INVAL: u32 = 22;
    pub const STALE: u32 = 70;
    pub const BADHANDLE: u32 = 10001;
    pub const BAD_COOKIE: u32 = 10003;
    pub const NOTSUPP: u32 = 10004;
    pub const TOOSMALL: u32 = 10005;
    pub const DELAY: u32 = 10008;
    pub const EXPIRED: u32 = 10011;
    pub const GRACE: u32 = 10013;
    pub const NOFILEHANDLE: u32 = 10020;
    pub const MINOR_VERS_MISMATCH: u32 = 10021;
    pub const STALE_CLIENTID: u32 = 10022;
    pub const STALE_STATEID: u32 = 10023;
    pub const OLD_STATEID: u32 = 10024;
    pub const BAD_STATEID: u32 = 10025;
    pub const BAD_SEQID: u32 = 10026;
    pub const NOT_SAME: u32 = 10027;
    pub const SYMLINK: u32 = 10029;
    pub const OP_ILLEGAL: u32 = 10044;
    pub const BADSESSION: u32 = 10052;
    pub const BADSLOT: u32 = 10053;
    pub const COMPLETE_ALREADY: u32 = 10054;
    pub const SEQ_MISORDERED: u32 = 10063;
    pub const SEQUENCE_POS: u32 = 10064;
    pub const REQ_TOO_BIG: u32 = 10065;
    pub const REP_TOO_BIG: u32 = 10066;
    pub const RETRY_UNCACHED_REP: u32 = 10068;
    pub const TOO_MANY_OPS: u32 = 10070;
    pub const OP_NOT_IN_SESSION: u32 = 10071;
    pub const CLIENTID_BUSY: u32 = 10074;
    pub const BAD_HIGH_SLOT: u32 = 10077;
    pub const NOT_ONLY_OP: u32 = 10081;
    pub const WRONG_TYPE: u32 = 10083;
}
