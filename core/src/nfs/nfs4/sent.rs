//! What a COMPOUND was, as a slot remembers it: enough to know which results its reply has.

use crate::nfs::v4::{Op, Stateid};

/// What a COMPOUND is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum What {
    ExchangeId = 1,
    CreateSession,
    /// PUTROOTFH, GETATTR, and in a session RECLAIM_COMPLETE: the end of Connect.
    Limits,
    /// A part of a path that is too long for one COMPOUND.
    Walk,
    Open,
    Stat,
    Statfs,
    /// The first entries of a directory.
    List,
    /// Further entries of a directory.
    More,
    /// The target of a symbolic link.
    Link,
    Read,
    ReadPlus,
    /// The attributes of an open file.
    Look,
    /// OPEN, for SEEK.
    MapOpen,
    /// SEEK for a hole, and for data.
    Seek,
    /// CLOSE. Nobody waits for the reply.
    MapClose,
}

impl What {
    const ALL: [What; 16] = [
        What::ExchangeId,
        What::CreateSession,
        What::Limits,
        What::Walk,
        What::Open,
        What::Stat,
        What::Statfs,
        What::List,
        What::More,
        What::Link,
        What::Read,
        What::ReadPlus,
        What::Look,
        What::MapOpen,
        What::Seek,
        What::MapClose,
    ];

    /// Whether it is sent in a session, where there are sessions.
    pub const fn in_session(self) -> bool {
        !matches!(self, What::ExchangeId | What::CreateSession)
    }

    /// Whether file data comes with the reply.
    pub const fn reads(self) -> bool {
        matches!(self, What::Read | What::ReadPlus)
    }

    /// How many operations follow SEQUENCE, PUTFH and LOOKUP; in a `session`, if that matters.
    const fn tail(self, session: bool) -> u32 {
        match self {
            What::Limits => 1 + session as u32,
            What::Open | What::Stat | What::Statfs | What::Seek => 2,
            What::List => 3,
            _ => 1,
        }
    }
}

/// By which stateid data is read without an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Access {
    Bypass = 0,
    Anonymous,
}

impl Access {
    pub const fn stateid(self) -> Stateid {
        match self {
            Access::Bypass => Stateid::BYPASS,
            Access::Anonymous => Stateid::ANONYMOUS,
        }
    }
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
        self.what as u16 | (self.access as u16) << 6 | (self.root as u16) << 7 | (self.names as u16) << 8
    }

    /// From a slot.
    pub fn of(kind: u16) -> Option<Sent> {
        let [names, low] = kind.to_be_bytes();
        let what = What::ALL.into_iter().find(|what| *what as u8 == low & 0x3F)?;
        let access = if low & 0x40 == 0 { Access::Bypass } else { Access::Anonymous };
        Some(Sent { what, root: low & 0x80 != 0, names, access })
    }

    /// What makes a file handle the current one.
    pub const fn put(self) -> Op {
        if self.root { Op::PUTROOTFH } else { Op::PUTFH }
    }

    /// How many operations it has.
    pub const fn ops(self, session: bool) -> u32 {
        if !self.what.in_session() {
            return 1;
        }
        session as u32 + 1 + self.names as u32 + self.what.tail(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_slot_remembers_is_what_was_sent() {
        for what in What::ALL {
            for (root, names) in [(false, 0), (true, 1), (false, 255)] {
                for access in [Access::Bypass, Access::Anonymous] {
                    let sent = Sent { what, root, names, access };
                    assert_eq!(Sent::of(sent.kind()), Some(sent));
                }
            }
        }
        assert_eq!(Sent::of(0), None);
        assert_eq!(Sent::of(0x7F), None);
    }

    #[test]
    fn operations_are_counted_with_and_without_a_session() {
        assert_eq!(Sent::new(What::ExchangeId, false, 0).ops(true), 1);
        assert_eq!(Sent::new(What::Limits, true, 0).ops(true), 4);
        assert_eq!(Sent::new(What::Limits, true, 0).ops(false), 2);
        assert_eq!(Sent::new(What::Read, false, 0).ops(false), 2);
        assert_eq!(Sent::new(What::List, true, 3).ops(true), 8);
        assert_eq!(Sent::new(What::Walk, true, 12).ops(false), 14);
    }
}
