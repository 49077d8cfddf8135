//! Statuses the model answers with (MS-ERREF 2.3.1).

use std::fmt;

/// An NTSTATUS.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Status(pub u32);

#[allow(missing_docs)] // the names are the standard's
impl Status {
    pub const SUCCESS: Status = Status(0);
    pub const PENDING: Status = Status(0x103);
    pub const BUFFER_OVERFLOW: Status = Status(0x8000_0005);
    pub const NO_MORE_FILES: Status = Status(0x8000_0006);
    pub const STOPPED_ON_SYMLINK: Status = Status(0x8000_002D);
    pub const INVALID_INFO_CLASS: Status = Status(0xC000_0003);
    pub const INFO_LENGTH_MISMATCH: Status = Status(0xC000_0004);
    pub const INVALID_PARAMETER: Status = Status(0xC000_000D);
    pub const NO_SUCH_FILE: Status = Status(0xC000_000F);
    pub const INVALID_DEVICE_REQUEST: Status = Status(0xC000_0010);
    pub const END_OF_FILE: Status = Status(0xC000_0011);
    pub const MORE_PROCESSING_REQUIRED: Status = Status(0xC000_0016);
    pub const ACCESS_DENIED: Status = Status(0xC000_0022);
    pub const BUFFER_TOO_SMALL: Status = Status(0xC000_0023);
    pub const OBJECT_NAME_INVALID: Status = Status(0xC000_0033);
    pub const OBJECT_NAME_NOT_FOUND: Status = Status(0xC000_0034);
    pub const OBJECT_NAME_COLLISION: Status = Status(0xC000_0035);
    pub const OBJECT_PATH_NOT_FOUND: Status = Status(0xC000_003A);
    pub const LOGON_FAILURE: Status = Status(0xC000_006D);
    pub const FILE_IS_A_DIRECTORY: Status = Status(0xC000_00BA);
    pub const NOT_SUPPORTED: Status = Status(0xC000_00BB);
    pub const NETWORK_NAME_DELETED: Status = Status(0xC000_00C9);
    pub const BAD_NETWORK_NAME: Status = Status(0xC000_00CC);
    pub const NOT_A_DIRECTORY: Status = Status(0xC000_0103);
    pub const FILE_CLOSED: Status = Status(0xC000_0128);
    pub const FS_DRIVER_REQUIRED: Status = Status(0xC000_019C);
    pub const USER_SESSION_DELETED: Status = Status(0xC000_0203);
    pub const NETWORK_SESSION_EXPIRED: Status = Status(0xC000_035C);
    pub const SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP: Status = Status(0xC05D_0000);

    /// Whether the command failed: severity error.
    pub fn is_error(self) -> bool {
        self.0 >> 30 == 3
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Status({:#010X})", self.0)
    }
}
