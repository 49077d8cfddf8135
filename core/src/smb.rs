//! SMB 2.0.2 to 3.1.1 (MS-SMB2): one protocol behind the seam.
//!
//! One message one file; `session` is what a connection knows, `connect` how it comes to know it, `chain` how
//! requests are sent, `receive` how replies are told apart and verified, `calls` what an operation becomes,
//! and `answers` what comes of it.

mod answers;
mod attributes;
mod calls;
mod chain;
pub mod close;
mod connect;
pub mod create;
pub mod echo;
pub mod error_response;
pub mod filetime;
pub mod header;
pub mod ioctl;
pub mod kdf;
mod keep;
mod kept;
pub mod lease;
mod list;
mod map;
pub mod negotiate;
pub mod ntlm;
pub mod oplock_break;
pub mod preauth;
pub mod query_directory;
pub mod query_info;
pub mod read;
mod receive;
pub mod seal;
mod session;
pub mod session_setup;
pub mod sign;
pub mod spnego;
pub mod status;
pub mod symlink;
pub mod tree_connect;
mod uppercase;

pub use calls::Stage;
pub use create::FileId;
pub use negotiate::{Dialect, Dialects};
pub use ntlm::Identity;

use crate::attributes::{Encoding, Name};
use crate::compound::Cost;
use crate::error::Error;
use crate::holes::Hole;
use crate::inflight::Inflight;
use crate::outgoing::Outbox;
use crate::plan::Limits;
use crate::protocol::{Answer, Ask, EntryAt, Head, Left, Link, Mark, Progress, Protocol, RangeAt, Reply};
use core::fmt;
use kept::Shelf;
use receive::Receive;
use session::{Session, Standing};
use zeroize::Zeroize;

/// Whether something is done always, or only where the server or the protocol demands it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Policy {
    /// Where the server demands it.
    #[default]
    IfNeeded,
    /// Always; a server that cannot is `Incompatible`.
    Always,
}

/// Random bytes for one connection. Every connection needs its own; they must not be guessable.
#[derive(Clone)]
pub struct Entropy {
    client_guid: [u8; 16],
    salt: [u8; 32],
    ntlm: [u8; ntlm::ENTROPY_LEN],
}

impl Entropy {
    /// How many bytes it takes.
    pub const LEN: usize = 72;

    /// From bytes of a source that is good enough for keys.
    pub fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        let mut reader = crate::wire::Reader::new(&bytes);
        // The lengths add up to LEN.
        Entropy {
            client_guid: reader.array("entropy").unwrap_or_default(),
            salt: reader.array("entropy").unwrap_or_default(),
            ntlm: reader.array("entropy").unwrap_or_default(),
        }
    }
}

impl Drop for Entropy {
    fn drop(&mut self) {
        self.client_guid.zeroize();
        self.salt.zeroize();
        self.ntlm.zeroize();
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy { .. }")
    }
}

/// What a connection is to be.
#[derive(Clone, Debug)]
pub struct Config<'s> {
    /// The server's name or address, as the user gave it.
    pub host: &'s str,
    /// The share.
    pub share: &'s str,
    /// As whom.
    pub identity: Identity<'s>,
    /// Which dialects are offered.
    pub dialects: Dialects,
    /// Which ciphers are offered at 3.1.1, the best first: numbers of MS-SMB2 2.2.3.1.2.
    pub ciphers: &'s [u16],
    /// Which signing algorithms are offered at 3.1.1, the best first: numbers of MS-SMB2 2.2.3.1.7.
    pub signing_algorithms: &'s [u16],
    /// Whether every message is signed.
    pub sign: Policy,
    /// Whether every message is encrypted. `IfNeeded`: what is asked first goes in the clear, together with TREE_CONNECT, which
    /// tells whether the share demands encryption; then its path was shown, and all else is encrypted.
    pub seal: Policy,
    /// Random bytes.
    pub entropy: Entropy,
    /// The time as a FILETIME, for servers that do not tell theirs; 0 if unknown.
    pub filetime: u64,
}

impl<'s> Config<'s> {
    /// Every dialect, cipher and algorithm, and signing and sealing where they are needed.
    pub const fn new(host: &'s str, share: &'s str, identity: Identity<'s>, entropy: Entropy) -> Self {
        use negotiate::*;
        Config {
            host,
            share,
            identity,
            dialects: Dialects::ALL,
            ciphers: &[AES_128_GCM, AES_256_GCM, AES_128_CCM, AES_256_CCM],
            signing_algorithms: &[AES_GMAC, AES_CMAC, HMAC_SHA256],
            sign: Policy::IfNeeded,
            seal: Policy::IfNeeded,
            entropy,
            filetime: 0,
        }
    }
}

/// An SMB connection to one share. `KEPT` files at most stay open when nobody uses them: see [`Smb::keeping`].
#[derive(Debug)]
pub struct Smb<'s, const KEPT: usize = 0> {
    config: Config<'s>,
    session: Session,
    receive: Receive,
    shelf: Shelf<KEPT>,
}

impl<'s> Smb<'s> {
    /// Nothing is sent before the first operation, which connects if it is not [`Connect`](crate::Connect) itself.
    pub fn new(config: Config<'s>) -> Self {
        Smb::keeping(config)
    }
}

impl<'s, const KEPT: usize> Smb<'s, KEPT> {
    /// The same, as `Smb::<8>::keeping(config)`, and files in the root of the share that [`Open`](crate::Open) or [`Fetch`](crate::Fetch) has
    /// opened stay open on the server, under leases, when they are closed: the `KEPT` that were opened last, each for 56 bytes here. One of
    /// them is opened again by QUERY_INFO in place of CREATE, in one round trip as ever, and without a CLOSE before.
    ///
    /// That is only done if the server says in the same reply that the file has this name, in this spelling, and is not deleted, and if it has
    /// not taken the lease back before: else CREATE follows, a round trip later. Length and content are always new. A file that was given another
    /// name on the server's disk, and not through this server, is still taken for the one of its old name; and Samba goes on to tell the times that it had
    /// when it was opened first if it was written there.
    ///
    /// Others may have to wait: to rename what is kept (the server waits 35 s for us to give it back), or to make a file in the place of one that they have
    /// deleted. [`Keepalive`](crate::Keepalive) gives back what the server wants, and closes what was not used since the one before it: who asks nothing
    /// for a while runs it as often as half of the time that others may be kept waiting.
    ///
    /// Nothing is kept at 2.0.2, where everything is sealed, of what is asked together with TREE_CONNECT (so let
    /// [`Connect`](crate::Connect) be first), and where the server grants no lease (ksmbd).
    pub fn keeping(config: Config<'s>) -> Self {
        Smb { config, session: Session::default(), receive: Receive::default(), shelf: Shelf::new() }
    }

    /// Whether the share is there, so that files can be asked for.
    pub fn is_connected(&self) -> bool {
        self.session.standing == Standing::Ready
    }

    /// Whether the server took who it is for who it says it is, whatever has become of the share.
    pub fn is_admitted(&self) -> bool {
        self.session.is_admitted()
    }

    /// The dialect, once negotiated.
    pub fn dialect(&self) -> Option<Dialect> {
        self.session.dialect
    }

    /// The algorithm that every message is signed with; `None` if they are not (or are sealed).
    pub fn signing(&self) -> Option<sign::SigningAlgorithm> {
        let signs = self.session.signs && !self.session.seals;
        signs.then_some(self.session.signing_algorithm)
    }

    /// The cipher that every message is sealed with; `None` if they are not.
    pub fn sealing(&self) -> Option<seal::Cipher> {
        self.session.cipher.filter(|_| self.session.seals)
    }

    /// Whether the server took the user for a guest or for nobody.
    pub fn is_guest(&self) -> bool {
        self.session.guest
    }
}

impl<const KEPT: usize> Protocol for Smb<'_, KEPT> {
    type Handle = FileId;
    type Stage = Stage;
    type Holes = [Hole; crate::limits::HOLES_MAX];

    fn need(&self) -> Cost {
        // The longest chain that is not sent in parts is CREATE, QUERY_INFO, CLOSE; AUTHENTICATE and the reply to NEGOTIATE are the longest
        // messages of a connection. Long paths, names and domains take more, and say so.
        Cost { tx: 1024, slots: 3, reply: 1024, allowance: 0 }
    }

    fn mark(&self, mark: [u8; 4]) -> Result<Mark, Error> {
        receive::mark(mark)
    }

    fn head_len(&self, _: Left) -> usize {
        self.receive.head_len(&self.session)
    }

    fn absorb(&mut self, bytes: &mut [u8]) {
        self.receive.absorb(bytes);
    }

    fn head(&mut self, head: &[u8], left: Left, inflight: &Inflight<'_>) -> Result<Head, Error> {
        self.receive.head(&self.session, head, left.len, inflight)
    }

    fn part_end(&mut self) -> Result<(), Error> {
        self.receive.part_end()
    }

    fn frame_end(&mut self) -> Result<(), Error> {
        self.receive.frame_end()
    }

    fn ask(
        &mut self,
        ask: Ask<'_, FileId>,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        self.encode_ask(ask, stage, out)
    }

    // Not inlined, so that the loop's frame on the stack is a small one, and so is the code that reaches into it.
    #[inline(never)]
    fn answer(
        &mut self,
        reply: Reply<'_>,
        stage: Option<&mut Stage>,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Answer<FileId>, Error> {
        let answer = self.decode_answer(reply, stage, out);
        if KEPT > 0 && !matches!(answer, Ok(Answer::Interim)) {
            self.shelf.settle(reply.slot.id);
        }
        answer
    }

    fn notice(&mut self, message: &[u8], out: &mut Outbox<'_, '_>) -> Result<(), Error> {
        self.breaks(message, out)
    }

    fn entry(&self, entries: &[u8], at: usize) -> Result<EntryAt, Error> {
        let rest = entries.get(at..).unwrap_or(&[]);
        let mut decoder = query_directory::Entries::new(rest);
        let entry = decoder.next().ok_or(Error::Malformed("FileIdFullDirectoryInformation"))??;
        let left = decoder.left();
        Ok(EntryAt {
            name_start: at.saturating_add(query_directory::NAME_AT),
            name_len: entry.name.len(),
            encoding: Encoding::Utf16,
            attributes: attributes::entry_attributes(&entry),
            next: (left > 0).then(|| entries.len().saturating_sub(left)),
        })
    }

    fn range(&self, ranges: &[u8], at: usize) -> Result<RangeAt, Error> {
        let range = ioctl::AllocatedRange::decode(ranges.get(at..).unwrap_or(&[]))?;
        let next = at.saturating_add(ioctl::AllocatedRange::LEN);
        Ok(RangeAt {
            offset: range.file_offset,
            len: range.length,
            next: (next < ranges.len()).then_some(next),
        })
    }

    fn link<'f>(&self, frame: &'f [u8], path: &str) -> Result<Link<'f>, Error> {
        let symlink = symlink::in_frame(frame)?;
        let raw = if symlink.print_name.is_empty() { symlink.substitute_name } else { symlink.print_name };
        let unparsed = usize::from(symlink.unparsed_path_length) / 2;
        // The wire has the path in UTF-16: as many units as that from its end are not looked at yet.
        let units: usize = path.chars().map(char::len_utf16).sum();
        let parsed = units.checked_sub(unparsed).ok_or(Error::Malformed("Symlink.UnparsedPathLength"))?;
        let ends = path.char_indices().scan(0, |units, (at, c)| {
            let before = *units;
            *units = usize::saturating_add(*units, c.len_utf16());
            Some((before, at))
        });
        let end = ends.filter(|(units, _)| *units >= parsed).map(|(_, at)| at).next().unwrap_or(path.len());
        Ok(Link { end, target: Name { raw, encoding: Encoding::Utf16 } })
    }

    fn limits(&self) -> Limits {
        self.session.limits()
    }
}
