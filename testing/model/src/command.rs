//! Commands (MS-SMB2 2.2.1).

/// A command of the SMB2 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
#[allow(missing_docs)] // the names are the standard's
pub enum Command {
    Negotiate,
    SessionSetup,
    Logoff,
    TreeConnect,
    TreeDisconnect,
    Create,
    Close,
    Flush,
    Read,
    Write,
    Lock,
    Ioctl,
    Cancel,
    Echo,
    QueryDirectory,
    ChangeNotify,
    QueryInfo,
    SetInfo,
    OplockBreak,
}

impl Command {
    const ALL: [Command; 19] = [
        Command::Negotiate,
        Command::SessionSetup,
        Command::Logoff,
        Command::TreeConnect,
        Command::TreeDisconnect,
        Command::Create,
        Command::Close,
        Command::Flush,
        Command::Read,
        Command::Write,
        Command::Lock,
        Command::Ioctl,
        Command::Cancel,
        Command::Echo,
        Command::QueryDirectory,
        Command::ChangeNotify,
        Command::QueryInfo,
        Command::SetInfo,
        Command::OplockBreak,
    ];

    pub(crate) fn from_wire(code: u16) -> Option<Command> {
        Self::ALL.get(code as usize).copied()
    }
}
