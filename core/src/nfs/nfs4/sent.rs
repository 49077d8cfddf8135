//! What a COMPOUND was, as a slot remembers it: enough to know which results its reply has.

use crate::nfs::v4::Op;

/// What a COMPOUND is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum What {
    ExchangeId = 1,
    CreateSession,
    /// Nothing is left to be reclaimed. Nobody waits for the reply, unless it took the place of a READ.
    ReclaimComplete,
    /// What the server says of itself, for Connect.
    Limits,
    /// A part of a path that is too long for one COMPOUND.
    Walk,
    Open,
    /// The same, and the start of the file.
    OpenRead,
    Stat,
    Statfs,
    /// Both in one.
    StatBoth,
    /// The first entries of a directory.
    List,
    /// Further entries of a directory.
    More,
    /// The target of a symbolic link.
    Link,
    /// Where what is not here is.
    Moved,
    Read,
    ReadPlus,
    /// The attributes of an open file.
    Look,
    /// OPEN, for SEEK.
    MapOpen,
    /// SEEK for a hole, and for data.
    Seek,
    /// CLOSE. Nobody waits for the reply.
    Close,
    /// OPEN, for READ.
    FileOpen,
    /// OPEN by name, of the file that was walked to (4.0).
    NameOpen,
    OpenConfirm,
    SetClientid,
    ConfirmClientid,
    /// Nobody waits for the replies to these two.
    DestroySession,
    DestroyClientid,
    /// Nothing but SEQUENCE; without sessions RENEW, or PUTROOTFH if the server knows no client.
    Keepalive,
}

impl What {
    const ALL: [What; 28] = [
        What::ExchangeId,
        What::CreateSession,
        What::ReclaimComplete,
        What::Limits,
        What::Walk,
        What::Open,
        What::OpenRead,
        What::Stat,
        What::Statfs,
        What::StatBoth,
        What::List,
        What::More,
        What::Link,
        What::Moved,
        What::Read,
        What::ReadPlus,
        What::Look,
        What::MapOpen,
        What::Seek,
        What::Close,
        What::FileOpen,
        What::NameOpen,
        What::OpenConfirm,
        What::SetClientid,
        What::ConfirmClientid,
        What::DestroySession,
        What::DestroyClientid,
        What::Keepalive,
    ];

    /// Whether it is sent in a session, where there are sessions.
    pub const fn in_session(self) -> bool {
        !matches!(
            self,
            What::ExchangeId
                | What::CreateSession
                | What::SetClientid
                | What::ConfirmClientid
                | What::DestroySession
                | What::DestroyClientid
        )
    }

    /// Whether it is for nothing but file data.
    pub const fn reads(self) -> bool {
        matches!(self, What::Read | What::ReadPlus)
    }

    /// Whether file data comes with the reply.
    pub const fn brings_data(self) -> bool {
        self.reads() || matches!(self, What::OpenRead)
    }

    /// How many operations follow SEQUENCE, PUTFH and LOOKUP.
    const fn tail(self) -> u32 {
        match self {
            What::ReclaimComplete => 0, // It stands where others have PUTFH.
            What::Open | What::Stat | What::Statfs | What::StatBoth | What::Seek => 2,
            What::OpenRead | What::List | What::NameOpen => 3,
            _ => 1,
        }
    }
}

/// By which stateid data is read, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Access {
    Bypass = 0,
    Anonymous,
    /// That of an open.
    Opened,
}

impl Access {
    const ALL: [Access; 3] = [Access::Bypass, Access::Anonymous, Access::Opened];
}

/// A COMPOUND: SEQUENCE in a session, PUTROOTFH or PUTFH, so many LOOKUPs, and what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub what: What,
    /// It starts at the server's root, and not at a file handle.
    pub root: bool,
    pub names: u8,
    /// If it reads.
    pub access: Access,
}

impl Sent {
    pub const fn new(what: What, root: bool, names: u8) -> Sent {
        Sent { what, root, names, access: Access::Bypass }
    }

    /// READ or READ_PLUS.
    pub const fn read(what: What, access: Access) -> Sent {
        Sent { access, ..Sent::new(what, false, 0) }
    }

    /// For a slot.
    pub const fn kind(self) -> u16 {
        // What reads walks nowhere.
        let high = if self.what.reads() { self.access as u16 } else { self.names as u16 };
        self.what as u16 | (self.root as u16) << 7 | high << 8
    }

    /// From a slot.
    pub fn of(kind: u16) -> Option<Sent> {
        let [high, low] = kind.to_be_bytes();
        let what = What::ALL.into_iter().find(|what| *what as u8 == low & 0x7F)?;
        if what.reads() {
            let access = Access::ALL.into_iter().find(|access| *access as u8 == high)?;
            return Some(Sent::read(what, access));
        }
        Some(Sent::new(what, low & 0x80 != 0, high))
    }

    /// What makes a file handle the current one.
    pub const fn put(self) -> Op {
        if self.root { Op::PUTROOTFH } else { Op::PUTFH }
    }

    /// How many operations it has.
    #[expect(clippy::arithmetic_side_effects, reason = "less than 256 names and some operations")]
    pub const fn ops(self, session: bool) -> u32 {
        if !self.what.in_session() || matches!(self.what, What::Keepalive) {
            return 1;
        }
        session as u32 + 1 + self.names as u32 + self.what.tail()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_slot_remembers_is_what_was_sent() {
        let walks = [(false, 0), (true, 1), (false, 255)];
        for what in What::ALL {
            let sent = match what.reads() {
                true => Access::ALL.map(|access| Sent::read(what, access)),
                false => walks.map(|(root, names)| Sent::new(what, root, names)),
            };
            sent.into_iter().for_each(|sent| assert_eq!(Sent::of(sent.kind()), Some(sent)));
        }
        assert_eq!(Sent::of(0), None);
        assert_eq!(Sent::of(0x7F), None);
    }

    #[test]
    fn operations_are_counted_with_and_without_a_session() {
        assert_eq!(Sent::new(What::ExchangeId, false, 0).ops(true), 1);
        assert_eq!(Sent::new(What::ReclaimComplete, false, 0).ops(true), 2);
        assert_eq!([true, false].map(|session| Sent::new(What::Keepalive, !session, 0).ops(session)), [1, 1]);
        assert_eq!(Sent::new(What::Limits, true, 0).ops(true), 3);
        assert_eq!(Sent::new(What::OpenRead, true, 2).ops(false), 6);
        assert_eq!(Sent::new(What::Limits, true, 0).ops(false), 2);
        assert_eq!(Sent::new(What::Read, false, 0).ops(false), 2);
        assert_eq!(Sent::new(What::List, true, 3).ops(true), 8);
        assert_eq!(Sent::new(What::Walk, true, 12).ops(false), 14);
    }
}
