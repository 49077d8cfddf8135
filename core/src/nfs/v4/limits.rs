//! Every bound on what a server may send, each with its why. The limits of the RFCs bear their names.

/// RFC 7531: `NFS4_FHSIZE`, the longest file handle.
pub const FHSIZE: u32 = 128;

/// RFC 7531: `NFS4_OPAQUE_LIMIT`, the longest owner, scope or identity.
pub const OPAQUE_LIMIT: u32 = 1024;

/// Operations of one COMPOUND. The servers that we know take 16 to 64 where no session says otherwise, 200 at most.
pub const OPS_MAX: u32 = 256;

/// The longest tag. Ours are shorter, and servers return what they were sent.
pub const TAG_LEN_MAX: u32 = 16;

/// Words of a bitmap: 3 hold every attribute up to number 95; the last one in use is 89.
pub const BITMAP_WORDS_MAX: usize = 3;

/// The longest name. File systems have 255 bytes, some 255 characters of up to 4 bytes.
pub const NAME_LEN_MAX: u32 = 1024;

/// The longest text of a symbolic link: `PATH_MAX` of the systems that servers run on.
pub const LINK_LEN_MAX: u32 = 4096;

/// The longest attribute list that is decoded. All that we ask for takes a few hundred bytes, but owners and referrals
/// are as long as servers please.
pub const ATTR_LEN_MAX: u32 = 4096;

/// Names of a path, servers of a location and locations of a referral: as many as fit a list of
/// [`ATTR_LEN_MAX`] in practice, so that following a referral ends.
pub const REFERRAL_ITEMS_MAX: u32 = 64;

/// The longest `who` of an access control entry: `user@domain`. Only delegations, which we do not ask for, bring one.
pub const WHO_LEN_MAX: u32 = 256;

/// What a string of EXCHANGE_ID's reply takes in a budget. The RFC allows [`OPAQUE_LIMIT`]; the servers that we know
/// need 20 to 200.
pub const IDENTITY_LEN_USUAL: u32 = 256;

/// What a referral takes in a budget: some servers, some short paths.
pub const REFERRAL_LEN_USUAL: usize = 1024;
