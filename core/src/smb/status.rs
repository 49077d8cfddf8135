//! MS-ERREF 2.3: the NTSTATUS values that a reader meets.

use super::header::Command;
use crate::error::Refusal;

/// How a request went. Open: a peer may use numbers without a constant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Status(pub u32);

crate::statuses::statuses! {
    SUCCESS 0x0000_0000 "STATUS_SUCCESS" Other,
    PENDING 0x0000_0103 "STATUS_PENDING" Other,
    NOTIFY_CLEANUP 0x0000_010B "STATUS_NOTIFY_CLEANUP" Other,
    NOTIFY_ENUM_DIR 0x0000_010C "STATUS_NOTIFY_ENUM_DIR" Other,
    // Warnings.
    BUFFER_OVERFLOW 0x8000_0005 "STATUS_BUFFER_OVERFLOW" Other,
    NO_MORE_FILES 0x8000_0006 "STATUS_NO_MORE_FILES" Other,
    DEVICE_BUSY 0x8000_0011 "STATUS_DEVICE_BUSY" Busy,
    STOPPED_ON_SYMLINK 0x8000_002D "STATUS_STOPPED_ON_SYMLINK" Symlink,
    // The path.
    NO_SUCH_FILE 0xC000_000F "STATUS_NO_SUCH_FILE" NotFound,
    OBJECT_NAME_INVALID 0xC000_0033 "STATUS_OBJECT_NAME_INVALID" NotFound,
    OBJECT_NAME_NOT_FOUND 0xC000_0034 "STATUS_OBJECT_NAME_NOT_FOUND" NotFound,
    OBJECT_PATH_INVALID 0xC000_0039 "STATUS_OBJECT_PATH_INVALID" NotFound,
    OBJECT_PATH_NOT_FOUND 0xC000_003A "STATUS_OBJECT_PATH_NOT_FOUND" NotFound,
    OBJECT_PATH_SYNTAX_BAD 0xC000_003B "STATUS_OBJECT_PATH_SYNTAX_BAD" NotFound,
    DELETE_PENDING 0xC000_0056 "STATUS_DELETE_PENDING" NotFound,
    BAD_NETWORK_PATH 0xC000_00BE "STATUS_BAD_NETWORK_PATH" NotFound,
    BAD_NETWORK_NAME 0xC000_00CC "STATUS_BAD_NETWORK_NAME" NotFound,
    NOT_FOUND 0xC000_0225 "STATUS_NOT_FOUND" NotFound,
    FILE_IS_A_DIRECTORY 0xC000_00BA "STATUS_FILE_IS_A_DIRECTORY" IsDirectory,
    NOT_A_DIRECTORY 0xC000_0103 "STATUS_NOT_A_DIRECTORY" NotDirectory,
    // The identity.
    MORE_PROCESSING_REQUIRED 0xC000_0016 "STATUS_MORE_PROCESSING_REQUIRED" Other,
    NO_LOGON_SERVERS 0xC000_005E "STATUS_NO_LOGON_SERVERS" Authentication,
    NO_SUCH_USER 0xC000_0064 "STATUS_NO_SUCH_USER" Authentication,
    WRONG_PASSWORD 0xC000_006A "STATUS_WRONG_PASSWORD" Authentication,
    LOGON_FAILURE 0xC000_006D "STATUS_LOGON_FAILURE" Authentication,
    ACCOUNT_RESTRICTION 0xC000_006E "STATUS_ACCOUNT_RESTRICTION" Authentication,
    INVALID_LOGON_HOURS 0xC000_006F "STATUS_INVALID_LOGON_HOURS" Authentication,
    INVALID_WORKSTATION 0xC000_0070 "STATUS_INVALID_WORKSTATION" Authentication,
    PASSWORD_EXPIRED 0xC000_0071 "STATUS_PASSWORD_EXPIRED" Authentication,
    ACCOUNT_DISABLED 0xC000_0072 "STATUS_ACCOUNT_DISABLED" Authentication,
    LOGON_TYPE_NOT_GRANTED 0xC000_015B "STATUS_LOGON_TYPE_NOT_GRANTED" Authentication,
    TRUSTED_RELATIONSHIP_FAILURE 0xC000_018D "STATUS_TRUSTED_RELATIONSHIP_FAILURE" Authentication,
    ACCOUNT_EXPIRED 0xC000_0193 "STATUS_ACCOUNT_EXPIRED" Authentication,
    PASSWORD_MUST_CHANGE 0xC000_0224 "STATUS_PASSWORD_MUST_CHANGE" Authentication,
    ACCOUNT_LOCKED_OUT 0xC000_0234 "STATUS_ACCOUNT_LOCKED_OUT" Authentication,
    DOWNGRADE_DETECTED 0xC000_0388 "STATUS_DOWNGRADE_DETECTED" Authentication,
    AUTHENTICATION_FIREWALL_FAILED 0xC000_0413 "STATUS_AUTHENTICATION_FIREWALL_FAILED" Authentication,
    ACCESS_DENIED 0xC000_0022 "STATUS_ACCESS_DENIED" Denied,
    PRIVILEGE_NOT_HELD 0xC000_0061 "STATUS_PRIVILEGE_NOT_HELD" Denied,
    NETWORK_ACCESS_DENIED 0xC000_00CA "STATUS_NETWORK_ACCESS_DENIED" Denied,
    // Resources.
    NO_MEMORY 0xC000_0017 "STATUS_NO_MEMORY" Busy,
    SHARING_VIOLATION 0xC000_0043 "STATUS_SHARING_VIOLATION" Busy,
    FILE_LOCK_CONFLICT 0xC000_0054 "STATUS_FILE_LOCK_CONFLICT" Busy,
    LOCK_NOT_GRANTED 0xC000_0055 "STATUS_LOCK_NOT_GRANTED" Busy,
    INSUFFICIENT_RESOURCES 0xC000_009A "STATUS_INSUFFICIENT_RESOURCES" Busy,
    DEVICE_NOT_READY 0xC000_00A3 "STATUS_DEVICE_NOT_READY" Busy,
    IO_TIMEOUT 0xC000_00B5 "STATUS_IO_TIMEOUT" Busy,
    NETWORK_BUSY 0xC000_00BF "STATUS_NETWORK_BUSY" Busy,
    TOO_MANY_SESSIONS 0xC000_00CE "STATUS_TOO_MANY_SESSIONS" Busy,
    REQUEST_NOT_ACCEPTED 0xC000_00D0 "STATUS_REQUEST_NOT_ACCEPTED" Busy,
    TOO_MANY_OPENED_FILES 0xC000_011F "STATUS_TOO_MANY_OPENED_FILES" Busy,
    INSUFF_SERVER_RESOURCES 0xC000_0205 "STATUS_INSUFF_SERVER_RESOURCES" Busy,
    RETRY 0xC000_022D "STATUS_RETRY" Busy,
    FILE_NOT_AVAILABLE 0xC000_0467 "STATUS_FILE_NOT_AVAILABLE" Busy,
    SHARE_UNAVAILABLE 0xC000_0480 "STATUS_SHARE_UNAVAILABLE" Busy,
    // What was open.
    INVALID_HANDLE 0xC000_0008 "STATUS_INVALID_HANDLE" Expired,
    NETWORK_NAME_DELETED 0xC000_00C9 "STATUS_NETWORK_NAME_DELETED" Expired,
    FILE_FORCED_CLOSED 0xC000_00B6 "STATUS_FILE_FORCED_CLOSED" Expired,
    FILE_CLOSED 0xC000_0128 "STATUS_FILE_CLOSED" Expired,
    USER_SESSION_DELETED 0xC000_0203 "STATUS_USER_SESSION_DELETED" Expired,
    NETWORK_SESSION_EXPIRED 0xC000_035C "STATUS_NETWORK_SESSION_EXPIRED" Expired,
    // The function.
    NOT_IMPLEMENTED 0xC000_0002 "STATUS_NOT_IMPLEMENTED" Unsupported,
    INVALID_INFO_CLASS 0xC000_0003 "STATUS_INVALID_INFO_CLASS" Unsupported,
    INVALID_DEVICE_REQUEST 0xC000_0010 "STATUS_INVALID_DEVICE_REQUEST" Unsupported,
    NOT_SUPPORTED 0xC000_00BB "STATUS_NOT_SUPPORTED" Unsupported,
    FS_DRIVER_REQUIRED 0xC000_019C "STATUS_FS_DRIVER_REQUIRED" Unsupported,
    PATH_NOT_COVERED 0xC000_0257 "STATUS_PATH_NOT_COVERED" Unsupported,
    IO_REPARSE_TAG_NOT_HANDLED 0xC000_0279 "STATUS_IO_REPARSE_TAG_NOT_HANDLED" Unsupported,
    SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP 0xC05D_0000 "STATUS_SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP" Unsupported,
    SMB_BAD_CLUSTER_DIALECT 0xC05D_0001 "STATUS_SMB_BAD_CLUSTER_DIALECT" Unsupported,
    // All else.
    UNSUCCESSFUL 0xC000_0001 "STATUS_UNSUCCESSFUL" Other,
    INFO_LENGTH_MISMATCH 0xC000_0004 "STATUS_INFO_LENGTH_MISMATCH" Other,
    INVALID_PARAMETER 0xC000_000D "STATUS_INVALID_PARAMETER" Other,
    END_OF_FILE 0xC000_0011 "STATUS_END_OF_FILE" Other,
    BUFFER_TOO_SMALL 0xC000_0023 "STATUS_BUFFER_TOO_SMALL" Other,
    DATA_ERROR 0xC000_003E "STATUS_DATA_ERROR" Other,
    UNEXPECTED_IO_ERROR 0xC000_00E9 "STATUS_UNEXPECTED_IO_ERROR" Other,
    INTERNAL_ERROR 0xC000_00E5 "STATUS_INTERNAL_ERROR" Other,
    CANCELLED 0xC000_0120 "STATUS_CANCELLED" Other,
    IO_DEVICE_ERROR 0xC000_0185 "STATUS_IO_DEVICE_ERROR" Other,
}

impl Status {
    /// Whether its severity is that of an error: [`BUFFER_OVERFLOW`](Self::BUFFER_OVERFLOW),
    /// [`NO_MORE_FILES`](Self::NO_MORE_FILES) and [`STOPPED_ON_SYMLINK`](Self::STOPPED_ON_SYMLINK) are
    /// warnings. What the body is says [`has_response`](Self::has_response).
    pub const fn is_error(self) -> bool {
        self.0 >> 30 == 0b11
    }

    /// Whether the body is the response of `command` (MS-SMB2 2.2.2, 3.3.4.4), or else an ERROR Response.
    pub const fn has_response(self, command: Command) -> bool {
        match self {
            Status::SUCCESS => true,
            Status::MORE_PROCESSING_REQUIRED => matches!(command, Command::SESSION_SETUP),
            Status::BUFFER_OVERFLOW => {
                matches!(
                    command,
                    Command::QUERY_INFO | Command::READ | Command::IOCTL | Command::QUERY_DIRECTORY
                )
            }
            Status(_) => false,
        }
    }

    /// It as the reason why `during` was refused.
    pub const fn refusal(self, during: Command) -> Refusal {
        Refusal { reason: self.reason(), code: self.0, name: self.name(), during: during.name() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Reason;

    #[test]
    fn every_status_has_its_own_number_and_name() {
        for (at, status) in ALL.iter().enumerate() {
            assert!(status.name().starts_with("STATUS_"));
            for other in &ALL[at + 1..] {
                assert_ne!(status.0, other.0);
                assert_ne!(status.name(), other.name());
            }
        }
    }

    #[test]
    fn unknown_numbers_have_no_name() {
        assert_eq!(Status(0xC012_3456).name(), "");
        assert_eq!(Status(0xC012_3456).reason(), Reason::Other);
    }

    #[test]
    fn severity() {
        assert!(Status::ACCESS_DENIED.is_error() && Status::MORE_PROCESSING_REQUIRED.is_error());
        assert!(!Status::PENDING.is_error() && !Status::BUFFER_OVERFLOW.is_error());
    }

    #[test]
    fn the_body_of_a_response_by_status_and_command() {
        assert!(Status::SUCCESS.has_response(Command::READ));
        assert!(Status::MORE_PROCESSING_REQUIRED.has_response(Command::SESSION_SETUP));
        assert!(!Status::MORE_PROCESSING_REQUIRED.has_response(Command::CREATE));
        assert!(Status::BUFFER_OVERFLOW.has_response(Command::QUERY_INFO));
        assert!(!Status::BUFFER_OVERFLOW.has_response(Command::CREATE));
        assert!(!Status::PENDING.has_response(Command::READ));
        assert!(!Status::STOPPED_ON_SYMLINK.has_response(Command::CREATE));
        assert!(!Status::NO_MORE_FILES.has_response(Command::QUERY_DIRECTORY));
    }

    #[test]
    fn a_refusal_has_all_that_is_known() {
        assert_eq!(
            Status::BAD_NETWORK_NAME.refusal(Command::TREE_CONNECT),
            Refusal {
                reason: Reason::NotFound,
                code: 0xC000_00CC,
                name: "STATUS_BAD_NETWORK_NAME",
                during: "TREE_CONNECT"
            }
        );
    }
}
