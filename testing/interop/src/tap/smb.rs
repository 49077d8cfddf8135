//! MS-SMB2 2.2.1, as far as it says which command a message is and which request a reply answers.

use super::stream::Message;

pub const HEADER_LEN: usize = 64;

const STATUS_PENDING: u32 = 0x103;
const FLAGS_SERVER_TO_REDIR: u32 = 1;
const COMMANDS: [&str; 19] = [
    "NEGOTIATE",
    "SESSION_SETUP",
    "LOGOFF",
    "TREE_CONNECT",
    "TREE_DISCONNECT",
    "CREATE",
    "CLOSE",
    "FLUSH",
    "READ",
    "WRITE",
    "LOCK",
    "IOCTL",
    "CANCEL",
    "ECHO",
    "QUERY_DIRECTORY",
    "CHANGE_NOTIFY",
    "QUERY_INFO",
    "SET_INFO",
    "OPLOCK_BREAK",
];

/// The message with this header, and how far behind it the next of its chain begins.
pub fn message(header: &[u8]) -> (Message, Option<usize>) {
    let plain = |name| (Message { names: vec![name], ..Message::default() }, None);
    match header.get(..4) {
        Some(b"\xFESMB") if header.len() == HEADER_LEN => {}
        Some(b"\xFDSMB") => return plain("(sealed)"),
        // Clients that could speak SMB 1 begin with its NEGOTIATE.
        Some(b"\xFFSMB") => return (Message { id: Some(0), ..plain("SMB1").0 }, None),
        _ => return plain("(unknown)"),
    }
    let u32_at = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let command = usize::from(u16::from_le_bytes([header[12], header[13]]));
    let reply = u32_at(16) & FLAGS_SERVER_TO_REDIR != 0;
    let message = Message {
        id: Some(u64::from(u32_at(24)) | u64::from(u32_at(28)) << 32),
        interim: reply && u32_at(8) == STATUS_PENDING,
        names: if reply { Vec::new() } else { vec![COMMANDS.get(command).unwrap_or(&"(unknown)")] },
    };
    let next = u32_at(20) as usize;
    (message, (next >= HEADER_LEN).then_some(next))
}
