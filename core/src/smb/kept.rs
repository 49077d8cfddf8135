//! The handles that are kept, as a table. No requests are known here: the caller sends, and tells what it has sent.

use super::create::FileId;
use sha2::{Digest, Sha256};

/// Which file of the share: a digest of its name, and nobody finds a second name for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NameDigest([u8; 16]);

impl NameDigest {
    /// Of a file in the root of the share.
    pub fn of(name: &str) -> NameDigest {
        let units = core::iter::once(u16::from(b'\\')).chain(name.encode_utf16());
        Self::finish(units.fold(Sha256::new(), |sha, unit| sha.chain_update(unit.to_le_bytes())))
    }

    /// The same as servers tell it of an open file: UTF-16, with `\` before it.
    pub fn of_told(name: &[u8]) -> NameDigest {
        Self::finish(Sha256::new().chain_update(name))
    }

    fn finish(sha: Sha256) -> NameDigest {
        let digest: [u8; 32] = sha.finalize().into();
        NameDigest(*digest.first_chunk().unwrap_or(&[0; 16]))
    }
}

/// What a handle is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    /// CREATE has asked for it and for a lease.
    Asked,
    /// An operation has it.
    Open,
    /// Nobody has it, and the server still does.
    Idle,
    /// It is asked whether it is still the file.
    Checked,
}

/// Room for one handle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    state: State,
    /// The server takes the lease back, or it grew old: closed as soon as nobody uses it.
    broken: bool,
    /// Nobody has used it since the last [`Shelf::age`].
    aged: bool,
    name: NameDigest,
    file_id: FileId,
    /// The message id of the CREATE that asked for it: its lease key.
    lease: u64,
    /// The message id of the request with which its last use began.
    used: u64,
}

impl Kept {
    const FREE: Kept = Kept {
        state: State::Free,
        broken: false,
        aged: false,
        name: NameDigest([0; 16]),
        file_id: FileId([0; 16]),
        lease: 0,
        used: 0,
    };
}

/// Whether there is room for one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Free,
    /// If this one is closed, which was not used for longest.
    Behind(FileId),
    /// All are in use.
    None,
}

/// Whose lease is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// One that nobody uses.
    Idle,
    /// One in use, for the first time.
    InUse,
    /// None that we know, or one that was broken before.
    Nobody,
}

/// As many handles as there is room for. Each method is one pass over it.
#[derive(Debug)]
pub(super) struct Shelf<const KEPT: usize>([Kept; KEPT]);

impl<const KEPT: usize> Shelf<KEPT> {
    pub const fn new() -> Self {
        Shelf([Kept::FREE; KEPT])
    }

    fn entry(&mut self, is: impl Fn(&Kept) -> bool) -> Option<&mut Kept> {
        self.0.iter_mut().find(|kept| is(kept))
    }

    /// A handle of the file that nobody uses.
    pub fn find(&self, name: NameDigest) -> Option<FileId> {
        let fits = |kept: &&Kept| kept.state == State::Idle && !kept.broken && kept.name == name;
        self.0.iter().find(fits).map(|kept| kept.file_id)
    }

    pub fn room(&self) -> Room {
        let idle = self.0.iter().filter(|kept| kept.state == State::Idle);
        match idle.min_by_key(|kept| kept.used) {
            _ if self.0.iter().any(|kept| kept.state == State::Free) => Room::Free,
            Some(oldest) => Room::Behind(oldest.file_id),
            None => Room::None,
        }
    }

    /// CREATE asks for it, with its own message id as lease key.
    pub fn ask(&mut self, name: NameDigest, message_id: u64) {
        if let Some(free) = self.entry(|kept| kept.state == State::Free) {
            *free = Kept { state: State::Asked, name, lease: message_id, used: message_id, ..Kept::FREE };
        }
    }

    /// Whether the CREATE with this message id has asked for a lease.
    pub fn has_asked(&self, message_id: u64) -> bool {
        self.0.iter().any(|kept| kept.state == State::Asked && kept.used == message_id)
    }

    /// It was opened, with a lease.
    pub fn open(&mut self, message_id: u64, file_id: FileId) {
        let asked = self.entry(|kept| kept.state == State::Asked && kept.used == message_id);
        if let Some(kept) = asked.filter(|kept| !kept.broken) {
            (kept.state, kept.file_id) = (State::Open, file_id);
        }
    }

    /// A request asks whether it is still the file.
    pub fn check(&mut self, file_id: FileId, message_id: u64) {
        if let Some(kept) = self.entry(|kept| kept.state == State::Idle && kept.file_id == file_id) {
            (kept.state, kept.used) = (State::Checked, message_id);
        }
    }

    /// The reply to that is here, and says what the file is called now, if it is there. `true`: it is used from now on. `false`: it is
    /// not kept any more, since it is another one, or the lease was broken meanwhile. `None` if nobody has asked.
    pub fn checked(&mut self, message_id: u64, name: Option<NameDigest>) -> Option<(FileId, bool)> {
        let kept = self.entry(|kept| kept.state == State::Checked && kept.used == message_id)?;
        let good = name == Some(kept.name) && !kept.broken;
        kept.state = if good { State::Open } else { State::Free };
        Some((kept.file_id, good))
    }

    /// The reply to a request is dealt with. Who has asked may be gone.
    pub fn settle(&mut self, message_id: u64) {
        match self.entry(|kept| kept.used == message_id) {
            Some(kept) if kept.state == State::Asked => kept.state = State::Free,
            Some(kept) if kept.state == State::Checked => kept.state = State::Idle,
            _ => {}
        }
    }

    /// Its user needs it no more. Whether it is kept; if not, it is forgotten.
    pub fn put_away(&mut self, file_id: FileId) -> bool {
        match self.entry(|kept| kept.file_id == file_id && matches!(kept.state, State::Open | State::Idle)) {
            Some(kept) if kept.broken => kept.state = State::Free,
            Some(kept) => {
                (kept.state, kept.aged) = (State::Idle, false);
                return true;
            }
            None => {}
        }
        false
    }

    pub fn break_lease(&mut self, lease: u64) -> Broken {
        match self.entry(|kept| kept.lease == lease && kept.state != State::Free && !kept.broken) {
            Some(kept) => {
                kept.broken = true;
                if kept.state == State::Idle { Broken::Idle } else { Broken::InUse }
            }
            None => Broken::Nobody,
        }
    }

    /// What was not used between two calls of this is to be closed.
    pub fn age(&mut self) {
        for kept in self.0.iter_mut().filter(|kept| kept.state == State::Idle) {
            (kept.broken, kept.aged) = (kept.broken || kept.aged, true);
        }
    }

    /// One that is to be closed.
    pub fn broken(&self) -> Option<FileId> {
        let fits = |kept: &&Kept| kept.state == State::Idle && kept.broken;
        self.0.iter().find(fits).map(|kept| kept.file_id)
    }

    /// It is closed.
    pub fn forget(&mut self, file_id: FileId) {
        if let Some(kept) = self.entry(|kept| kept.state == State::Idle && kept.file_id == file_id) {
            kept.state = State::Free;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(n: u8) -> FileId {
        FileId([n; 16])
    }

    /// Two, of which `a` was opened by message 1 and `b` by 2, and neither is in use.
    fn two() -> Shelf<2> {
        let mut shelf = Shelf::new();
        for (name, n) in [("a", 1), ("b", 2)] {
            assert_eq!(shelf.room(), Room::Free);
            shelf.ask(NameDigest::of(name), n);
            assert_eq!((shelf.has_asked(n), shelf.find(NameDigest::of(name))), (true, None));
            shelf.open(n, file(n as u8));
            shelf.settle(n);
            assert_eq!(shelf.find(NameDigest::of(name)), None, "it is in use");
            assert!(shelf.put_away(file(n as u8)));
            assert_eq!(shelf.find(NameDigest::of(name)), Some(file(n as u8)));
        }
        shelf
    }

    #[test]
    fn names_are_told_apart_as_servers_tell_them() {
        assert_eq!(NameDigest::of("é"), NameDigest::of_told(&[b'\\', 0, 0xE9, 0]));
        assert_ne!(NameDigest::of("a"), NameDigest::of("A"));
        assert_ne!(NameDigest::of("a"), NameDigest::of_told(&[b'\\', 0, b'd', 0, b'\\', 0, b'a', 0]));
    }

    #[test]
    fn room_is_behind_the_one_that_was_not_used_for_longest_and_nowhere_if_all_are_in_use() {
        let mut shelf = two();
        assert_eq!(shelf.room(), Room::Behind(file(1)));
        shelf.check(file(1), 3);
        assert_eq!(shelf.checked(3, Some(NameDigest::of("a"))), Some((file(1), true)));
        assert_eq!(shelf.room(), Room::Behind(file(2)));
        assert!(shelf.put_away(file(1)));
        assert_eq!(shelf.room(), Room::Behind(file(2)));
        shelf.forget(file(2));
        assert_eq!(shelf.room(), Room::Free);
        shelf.ask(NameDigest::of("c"), 4);
        shelf.check(file(1), 5);
        assert_eq!(shelf.room(), Room::None);
        shelf.settle(4);
        shelf.settle(5);
        assert_eq!(shelf.room(), Room::Free, "CREATE has opened nothing");
        assert_eq!(shelf.find(NameDigest::of("a")), Some(file(1)), "whoever has asked is gone");
    }

    #[test]
    fn another_name_none_or_a_break_makes_a_reply_void_and_the_file_is_forgotten() {
        for (name, breaks) in [(Some("A"), false), (None, false), (Some("a"), true)] {
            let mut shelf = two();
            shelf.check(file(1), 3);
            assert!(!breaks || shelf.break_lease(1) == Broken::InUse);
            assert_eq!(shelf.checked(3, name.map(NameDigest::of)), Some((file(1), false)));
            assert_eq!((shelf.find(NameDigest::of("a")), shelf.room()), (None, Room::Free));
            assert_eq!(shelf.checked(3, None), None);
        }
    }

    #[test]
    fn a_break_counts_once_and_what_is_broken_is_not_used_again() {
        let mut shelf = two();
        assert_eq!((shelf.break_lease(1), shelf.break_lease(1)), (Broken::Idle, Broken::Nobody));
        assert_eq!(shelf.break_lease(7), Broken::Nobody);
        assert_eq!((shelf.find(NameDigest::of("a")), shelf.broken()), (None, Some(file(1))));
        shelf.forget(file(1));
        assert_eq!(shelf.broken(), None);
        shelf.ask(NameDigest::of("c"), 3);
        assert_eq!(shelf.break_lease(3), Broken::InUse);
        shelf.open(3, file(3));
        shelf.settle(3);
        assert!(!shelf.put_away(file(3)), "it was broken before it was granted");
        shelf.check(file(2), 4);
        shelf.checked(4, Some(NameDigest::of("b")));
        assert_eq!(shelf.break_lease(2), Broken::InUse);
        assert!(!shelf.put_away(file(2)));
        assert_eq!(shelf.room(), Room::Free);
    }

    #[test]
    fn what_was_not_used_between_two_calls_is_to_be_closed() {
        let mut shelf = two();
        shelf.age();
        assert_eq!(shelf.broken(), None);
        shelf.check(file(1), 3);
        shelf.checked(3, Some(NameDigest::of("a")));
        shelf.put_away(file(1));
        shelf.age();
        assert_eq!(shelf.broken(), Some(file(2)));
        shelf.forget(file(2));
        assert_eq!(shelf.broken(), None);
    }
}
