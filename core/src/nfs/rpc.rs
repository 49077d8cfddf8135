//! RFC 5531: CALL and REPLY with AUTH_NONE and AUTH_SYS, and record marking (section 11).

use super::xdr::pad;
use crate::error::{Error, Reason, Refusal};
use crate::protocol::{Head, Left};
use crate::wire::{Mark, Reader, Writer};

/// The version of the RPC protocol.
const RPC_VERSION: u32 = 2;
/// `msg_type`.
const CALL: u32 = 0;
/// `msg_type`.
const REPLY: u32 = 1;

/// Flavour `AUTH_NONE`.
pub const AUTH_NONE: u32 = 0;
/// Flavour `AUTH_SYS`, also called `AUTH_UNIX`: the client says who it is, and is believed.
pub const AUTH_SYS: u32 = 1;
/// Flavour `AUTH_SHORT`: a verifier that may be used instead of AUTH_SYS. We never do.
pub const AUTH_SHORT: u32 = 2;
/// Flavour `RPCSEC_GSS` (RFC 2203): Kerberos. Listed by servers, not spoken here.
pub const RPCSEC_GSS: u32 = 6;

/// The most bytes of a credential's or a verifier's body (section 8.2).
pub const AUTH_BODY_MAX: u32 = 400;
/// The most bytes of AUTH_SYS's machine name (appendix A).
pub const MACHINE_NAME_MAX: usize = 255;
/// The most groups of AUTH_SYS besides the first (appendix A).
pub const GIDS_MAX: usize = 16;

/// The mark in front of a fragment (section 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordMark {
    /// The record ends with this fragment.
    pub last: bool,
    /// Bytes of the fragment, 31 bits. Zero is legal, and no progress.
    pub len: u32,
}

impl RecordMark {
    /// Bytes of a mark.
    pub const LEN: usize = 4;
    /// The most bytes that a mark can announce.
    pub const FRAGMENT_LEN_MAX: u32 = 0x7FFF_FFFF;
    /// The bit of the last fragment.
    const LAST_FRAGMENT: u32 = 0x8000_0000;

    /// Decodes a mark. Every four bytes are one; whether so many bytes are welcome is for the caller to check.
    pub const fn decode(bytes: [u8; 4]) -> RecordMark {
        let word = u32::from_be_bytes(bytes);
        RecordMark { last: word & Self::LAST_FRAGMENT != 0, len: word & Self::FRAGMENT_LEN_MAX }
    }

    /// The four bytes. Only 31 bits of the length are kept.
    pub const fn encode(self) -> [u8; 4] {
        let last = if self.last { Self::LAST_FRAGMENT } else { 0 };
        (last | self.len & Self::FRAGMENT_LEN_MAX).to_be_bytes()
    }

    /// Reserves a mark in `w`, for [`end`](Self::end).
    pub fn begin(w: &mut Writer<'_>) -> Mark {
        let mark = w.mark();
        w.be32(0);
        mark
    }

    /// Makes what was written since [`begin`](Self::begin) one record of one fragment. Nothing happens if it did not fit.
    pub fn end(w: &mut Writer<'_>, begun: Mark) {
        let len = w.since(begun.plus(Self::LEN)).len() as u32;
        w.patch(begun, &RecordMark { last: true, len }.encode());
    }
}

/// Who calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Credential<'a> {
    /// AUTH_NONE: nobody.
    #[default]
    None,
    /// AUTH_SYS: who the client says it is. It proves nothing.
    Sys(AuthSys<'a>),
}

/// `authsys_parms` (appendix A).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuthSys<'a> {
    /// Any number.
    pub stamp: u32,
    /// The client's name, at most [`MACHINE_NAME_MAX`] bytes.
    pub machine_name: &'a str,
    /// The user.
    pub uid: u32,
    /// The user's first group.
    pub gid: u32,
    /// Further groups, at most [`GIDS_MAX`].
    pub gids: &'a [u32],
}

impl Credential<'_> {
    /// How many bytes flavour and body take.
    #[expect(clippy::arithmetic_side_effects, reason = "slices of the caller, which are in memory")]
    pub const fn len_on_wire(&self) -> usize {
        match self {
            Credential::None => 8,
            Credential::Sys(sys) => 28 + sys.machine_name.len().next_multiple_of(4) + 4 * sys.gids.len(),
        }
    }

    /// Appends flavour and body. `Invalid`, and nothing is appended, if a field is too long.
    fn encode(&self, w: &mut Writer<'_>) -> Result<(), Error> {
        let Credential::Sys(sys) = self else {
            w.be32(AUTH_NONE);
            w.be32(0); // Length of the body
            return Ok(());
        };
        let name_len = sys.machine_name.len();
        if name_len > MACHINE_NAME_MAX {
            return Err(Error::Invalid("machine name too long"));
        }
        if sys.gids.len() > GIDS_MAX {
            return Err(Error::Invalid("too many groups"));
        }
        w.be32(AUTH_SYS);
        w.be32(self.len_on_wire().saturating_sub(8) as u32); // Length of the body
        w.be32(sys.stamp);
        w.opaque(sys.machine_name.as_bytes());
        w.be32(sys.uid);
        w.be32(sys.gid);
        w.be32(sys.gids.len() as u32);
        sys.gids.iter().for_each(|&gid| w.be32(gid));
        Ok(())
    }
}

/// A call. The procedure's arguments follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// Comes back in the reply.
    pub xid: u32,
    /// The program.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// Its procedure.
    pub procedure: u32,
    /// Who calls.
    pub credential: Credential<'a>,
}

impl Call<'_> {
    /// The bytes of one without its record mark and its credential.
    pub const LEN_BESIDES: usize = 24 + 8;
    /// The most bytes of one, without its record mark.
    pub const LEN_MAX: usize = Self::LEN_BESIDES + 28 + MACHINE_NAME_MAX + 1 + 4 * GIDS_MAX;

    /// Appends the header. `Invalid`, and nothing is appended, if the credential is.
    pub fn encode(&self, w: &mut Writer<'_>) -> Result<(), Error> {
        // A credential that is invalid is so whatever stands before it.
        self.credential.encode(&mut Writer::new(&mut []))?;
        w.be32(self.xid);
        w.be32(CALL);
        w.be32(RPC_VERSION);
        w.be32(self.program);
        w.be32(self.version);
        w.be32(self.procedure);
        self.credential.encode(w)?;
        w.be32(AUTH_NONE); // Verifier
        w.be32(0); // Length of its body
        Ok(())
    }
}

/// The most bytes of a reply in front of the procedure's results: those before the verifier, it, and `accept_stat`.
pub const REPLY_HEAD_MAX: usize = 24 + AUTH_BODY_MAX as usize;

/// A reply that is kept whole, however many fragments it comes in.
pub(super) fn whole(head: &[u8], left: Left, slot: usize) -> Result<Head, Error> {
    match (left.len, left.last) {
        (0, true) => Ok(Head::Message { slot: Some(slot), pad: 0 }),
        // The next fragment's length is not known yet: a byte of it will tell.
        (0, false) => Ok(Head::Need(head.len().saturating_add(1))),
        (len, _) => Ok(Head::Need(head.len().saturating_add(len as usize))),
    }
}

/// How many bytes a [`Reply`] takes as far as `bytes`, what has arrived of it, can tell: decode when there are so
/// many. No more than [`REPLY_HEAD_MAX`] plus 8, and every answer is at least as large as that to fewer bytes.
pub fn reply_head_len(bytes: &[u8]) -> usize {
    // The shortest reply is that to a refused credential.
    const SHORTEST: usize = 20;
    let mut r = Reader::new(bytes);
    let (Ok(()), Ok(stat), Ok(second), Ok(third)) =
        (r.skip(8, "rpc_msg"), r.be32("stat"), r.be32("flavor"), r.be32("len"))
    else {
        return SHORTEST;
    };
    if stat == MSG_DENIED {
        return if second == RPC_MISMATCH { SHORTEST + 4 } else { SHORTEST };
    }
    let len = third.min(AUTH_BODY_MAX) as usize;
    let verifier = len.saturating_add(pad(len));
    let accepted = verifier.saturating_add(SHORTEST + 4);
    match r.skip(verifier, "body").and_then(|()| r.be32("accept_stat")) {
        Ok(PROG_MISMATCH) => accepted.saturating_add(8),
        _ => accepted,
    }
}

/// `reply_stat`.
const MSG_ACCEPTED: u32 = 0;
/// `reply_stat`.
const MSG_DENIED: u32 = 1;
/// `reject_stat`.
const RPC_MISMATCH: u32 = 0;
/// `reject_stat`.
const AUTH_ERROR: u32 = 1;
/// `accept_stat`.
const PROG_MISMATCH: u32 = 2;

/// A reply without its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Of the call. That one with it is awaited is for the caller to check.
    pub xid: u32,
    /// What became of the call.
    pub outcome: Outcome,
    /// Where the results start. There are none but after [`Outcome::Success`].
    pub len: usize,
}

/// What became of a call: `reply_stat`, `accept_stat` and `reject_stat` in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The procedure was run; its results say how it went.
    Success,
    /// The server does not have the program.
    ProgUnavail,
    /// The server does not have this version of the program.
    ProgMismatch {
        /// The lowest that it has.
        low: u32,
        /// The highest that it has.
        high: u32,
    },
    /// The program does not have the procedure.
    ProcUnavail,
    /// The server could not decode the arguments.
    GarbageArgs,
    /// The server is out of memory, or the like.
    SystemErr,
    /// The server does not speak this version of RPC.
    RpcMismatch {
        /// The lowest that it does.
        low: u32,
        /// The highest that it does.
        high: u32,
    },
    /// The server does not take the credential.
    AuthError(AuthStat),
}

impl Reply {
    /// Decodes the bytes in front of the results. `Misbehaved` if it is a call, or if the verifier is of a flavour
    /// that no AUTH_SYS is answered with; `Malformed` if a number is none of the standard's.
    pub fn decode(bytes: &[u8]) -> Result<Reply, Error> {
        let mut r = Reader::new(bytes);
        let xid = r.be32("rpc_msg.xid")?;
        match r.be32("rpc_msg.mtype")? {
            REPLY => {}
            CALL => return Err(Error::Misbehaved("rpc_msg.mtype")),
            _ => return Err(Error::Malformed("rpc_msg.mtype")),
        }
        let outcome = match r.be32("reply_body.stat")? {
            MSG_ACCEPTED => accepted(&mut r)?,
            MSG_DENIED => denied(&mut r)?,
            _ => return Err(Error::Malformed("reply_body.stat")),
        };
        Ok(Reply { xid, outcome, len: r.at() })
    }

    /// Where the results start, or why there are none.
    pub const fn results(&self, during: &'static str) -> Result<usize, Error> {
        match self.outcome.refusal(during) {
            None => Ok(self.len),
            Some(refusal) => Err(Error::Refused(refusal)),
        }
    }
}

/// Decodes `accepted_reply`.
fn accepted(r: &mut Reader<'_>) -> Result<Outcome, Error> {
    let flavor = r.be32("accepted_reply.verf.flavor")?;
    r.opaque(AUTH_BODY_MAX, "accepted_reply.verf.body")?;
    if flavor != AUTH_NONE && flavor != AUTH_SHORT {
        return Err(Error::Misbehaved("accepted_reply.verf.flavor"));
    }
    Ok(match r.be32("accepted_reply.stat")? {
        0 => Outcome::Success,
        1 => Outcome::ProgUnavail,
        PROG_MISMATCH => Outcome::ProgMismatch {
            low: r.be32("accepted_reply.mismatch_info.low")?,
            high: r.be32("accepted_reply.mismatch_info.high")?,
        },
        3 => Outcome::ProcUnavail,
        4 => Outcome::GarbageArgs,
        5 => Outcome::SystemErr,
        _ => return Err(Error::Malformed("accepted_reply.stat")),
    })
}

/// Decodes `rejected_reply`.
fn denied(r: &mut Reader<'_>) -> Result<Outcome, Error> {
    match r.be32("rejected_reply.stat")? {
        RPC_MISMATCH => Ok(Outcome::RpcMismatch {
            low: r.be32("rejected_reply.mismatch_info.low")?,
            high: r.be32("rejected_reply.mismatch_info.high")?,
        }),
        AUTH_ERROR => Ok(Outcome::AuthError(AuthStat(r.be32("rejected_reply.auth_stat")?))),
        _ => Err(Error::Malformed("rejected_reply.stat")),
    }
}

impl Outcome {
    /// It as the reason why `during` was refused, without the standard's name if the feature `names` is off; `None` after success.
    pub const fn refusal(self, during: &'static str) -> Option<Refusal> {
        let (reason, code, name) = match self {
            Outcome::Success => return None,
            Outcome::ProgUnavail => (Reason::Unsupported, 1, "PROG_UNAVAIL"),
            Outcome::ProgMismatch { .. } => (Reason::Unsupported, PROG_MISMATCH, "PROG_MISMATCH"),
            Outcome::ProcUnavail => (Reason::Unsupported, 3, "PROC_UNAVAIL"),
            Outcome::GarbageArgs => (Reason::Other, 4, "GARBAGE_ARGS"),
            Outcome::SystemErr => (Reason::Busy, 5, "SYSTEM_ERR"),
            Outcome::RpcMismatch { .. } => (Reason::Unsupported, RPC_MISMATCH, "RPC_MISMATCH"),
            Outcome::AuthError(stat) => (Reason::Authentication, stat.0, stat.name()),
        };
        let name = if cfg!(feature = "names") { name } else { "" };
        Some(Refusal { reason, code, name, during })
    }
}

/// Why a credential is not taken: `auth_stat`. Open: a peer may use numbers without a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthStat(pub u32);

impl AuthStat {
    /// `AUTH_BADCRED`.
    pub const BADCRED: AuthStat = AuthStat(1);
    /// `AUTH_TOOWEAK`.
    pub const TOOWEAK: AuthStat = AuthStat(5);

    /// The standard's name; "AUTH_ERROR" where we know none.
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "AUTH_OK",
            1 => "AUTH_BADCRED",
            2 => "AUTH_REJECTEDCRED",
            3 => "AUTH_BADVERF",
            4 => "AUTH_REJECTEDVERF",
            5 => "AUTH_TOOWEAK",
            6 => "AUTH_INVALIDRESP",
            7 => "AUTH_FAILED",
            8 => "AUTH_KERB_GENERIC",
            9 => "AUTH_TIMEEXPIRE",
            10 => "AUTH_TKT_FILE",
            11 => "AUTH_DECODE",
            12 => "AUTH_NET_ADDR",
            13 => "RPCSEC_GSS_CREDPROBLEM",
            14 => "RPCSEC_GSS_CTXPROBLEM",
            _ => "AUTH_ERROR",
        }
    }

    /// What a user could do about it, or "" where we know nothing.
    pub const fn hint(self) -> &'static str {
        match self {
            AuthStat::TOOWEAK => {
                "the server wants Kerberos here (an export with sec=krb5), or a source port below 1024"
            }
            AuthStat::BADCRED => "the server does not know this client's address, or takes no AUTH_SYS here",
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::xdr::testing::*;
    use super::*;
    use std::string::String;

    fn call(credential: Credential<'_>) -> Call<'_> {
        Call { xid: 0x0102_0304, program: 100_003, version: 3, procedure: 6, credential }
    }

    #[test]
    fn a_call_of_nobody() {
        #[rustfmt::skip]
        assert_eq!(encoded(|w| call(Credential::None).encode(w).unwrap()), [
            1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0x86, 0xA3, 0, 0, 0, 3, 0, 0, 0, 6,
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ]);
    }

    #[test]
    fn a_call_of_somebody() {
        let sys = AuthSys { stamp: 0x11223344, machine_name: "board", uid: 1000, gid: 100, gids: &[4, 27] };
        #[rustfmt::skip]
        assert_eq!(encoded(|w| call(Credential::Sys(sys)).encode(w).unwrap()), [
            1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0x86, 0xA3, 0, 0, 0, 3, 0, 0, 0, 6,
            0, 0, 0, 1, 0, 0, 0, 36, // AUTH_SYS
            0x11, 0x22, 0x33, 0x44, 0, 0, 0, 5, b'b', b'o', b'a', b'r', b'd', 0, 0, 0,
            0, 0, 3, 0xE8, 0, 0, 0, 100, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 27,
            0, 0, 0, 0, 0, 0, 0, 0,
        ]);
    }

    #[test]
    fn the_longest_call_is_as_long_as_said_and_a_longer_one_is_not_begun() {
        let name = String::from_utf8(std::vec![b'n'; 256]).unwrap();
        let gids = [0; 17];
        let sys = AuthSys { machine_name: &name[..255], gids: &gids[..16], ..AuthSys::default() };
        let bytes = encoded(|w| call(Credential::Sys(sys)).encode(w).unwrap());
        assert_eq!(bytes.len(), Call::LEN_MAX);
        assert_eq!(bytes.len(), Call::LEN_BESIDES + Credential::Sys(sys).len_on_wire());
        assert_eq!(bytes[28..32], ((Call::LEN_MAX - 40) as u32).to_be_bytes());
        for (sys, why) in [
            (AuthSys { machine_name: &name, ..sys }, "machine name too long"),
            (AuthSys { gids: &gids, ..sys }, "too many groups"),
        ] {
            let bytes = encoded(|w| {
                assert_eq!(call(Credential::Sys(sys)).encode(w), Err(Error::Invalid(why)));
            });
            assert!(bytes.is_empty());
        }
    }

    #[test]
    fn a_record_mark_both_ways() {
        for (mark, bytes) in [
            (RecordMark { last: true, len: 40 }, [0x80, 0, 0, 40]),
            (RecordMark { last: false, len: 0x0102_0304 }, [1, 2, 3, 4]),
            (RecordMark { last: true, len: RecordMark::FRAGMENT_LEN_MAX }, [0xFF; 4]),
            (RecordMark { last: false, len: 0 }, [0; 4]),
        ] {
            assert_eq!(RecordMark::decode(bytes), mark);
            assert_eq!(mark.encode(), bytes);
        }
        assert_eq!(RecordMark { last: false, len: u32::MAX }.encode(), [0x7F, 0xFF, 0xFF, 0xFF]);
    }

    #[test]
    fn a_record_is_marked_when_it_ends() {
        let bytes = encoded(|w| {
            for len in [3, 0] {
                let begun = RecordMark::begin(w);
                w.zeros(len);
                RecordMark::end(w, begun);
            }
        });
        assert_eq!(bytes, [0x80, 0, 0, 3, 0, 0, 0, 0x80, 0, 0, 0]);
        let mut buf = [0; 6];
        let mut w = Writer::new(&mut buf);
        let begun = RecordMark::begin(&mut w);
        w.zeros(3);
        RecordMark::end(&mut w, begun);
        assert_eq!(w.finish(), Err(Error::Budget { what: "tx", need: 7, have: 6 }));
    }

    /// A success, with a verifier of nothing and four bytes of results.
    const SUCCESS: [u8; 28] =
        [1, 2, 3, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9];

    fn outcome(bytes: &[u8]) -> Result<Outcome, Error> {
        Reply::decode(bytes).map(|reply| reply.outcome)
    }

    /// Checks that every prefix is told to be too short until it is not, and that the whole is then just enough.
    fn is_asked_for(bytes: &[u8]) {
        let reply = Reply::decode(bytes).unwrap();
        let mut last = 0;
        for len in 0..=bytes.len() {
            let need = reply_head_len(&bytes[..len]);
            assert!(need >= last && need <= reply.len);
            assert_eq!(need <= len, len >= reply.len, "{len} of {}", reply.len);
            last = need;
        }
        assert_eq!(last, reply.len);
    }

    #[test]
    fn a_success() {
        let reply = Reply { xid: 0x0102_0304, outcome: Outcome::Success, len: 24 };
        assert_eq!(Reply::decode(&SUCCESS), Ok(reply));
        assert_eq!(reply.results("READ"), Ok(24));
        truncations_refused(&SUCCESS[..24], |bytes| Reply::decode(bytes).err());
        survives_any_byte(&SUCCESS, |bytes| {
            assert!(reply_head_len(bytes) <= REPLY_HEAD_MAX + 8);
            Reply::decode(bytes).err()
        });
        is_asked_for(&SUCCESS);
    }

    #[test]
    fn a_verifier_is_passed_over_if_its_flavour_is_one_of_ours_and_its_length_is_bounded() {
        let mut bytes = SUCCESS[..20].to_vec();
        bytes[19] = 5;
        bytes.extend([7, 7, 7, 7, 7, 0xDE, 0xAD, 0xFF, 0, 0, 0, 0, 1]);
        for (flavor, allowed) in [(0, true), (1, false), (2, true), (3, false), (6, false), (u32::MAX, false)]
        {
            let bytes = with_word(&bytes, 12, flavor);
            match Reply::decode(&bytes) {
                Ok(reply) => assert!(allowed && reply.len == 32 && reply.outcome == Outcome::Success),
                Err(error) => {
                    assert!(!allowed);
                    assert_eq!(error, Error::Misbehaved("accepted_reply.verf.flavor"));
                }
            }
        }
        is_asked_for(&bytes);

        let mut longest = SUCCESS[..20].to_vec();
        longest[18..20].copy_from_slice(&400u16.to_be_bytes());
        longest.extend([0; 404]);
        assert_eq!(Reply::decode(&longest).map(|reply| reply.len), Ok(REPLY_HEAD_MAX));
        is_asked_for(&longest);
        for len in [401, 404, u32::MAX] {
            let longer = with_word(&longest, 16, len);
            assert_eq!(Reply::decode(&longer), Err(Error::Malformed("accepted_reply.verf.body")));
            assert!(reply_head_len(&longer) <= longer.len());
        }
    }

    #[test]
    fn accepted_and_failed() {
        for (stat, expected, reason, name) in [
            (1, Outcome::ProgUnavail, Reason::Unsupported, "PROG_UNAVAIL"),
            (2, Outcome::ProgMismatch { low: 3, high: 4 }, Reason::Unsupported, "PROG_MISMATCH"),
            (3, Outcome::ProcUnavail, Reason::Unsupported, "PROC_UNAVAIL"),
            (4, Outcome::GarbageArgs, Reason::Other, "GARBAGE_ARGS"),
            (5, Outcome::SystemErr, Reason::Busy, "SYSTEM_ERR"),
        ] {
            let mut bytes = with_word(&SUCCESS[..24], 20, stat);
            if stat == 2 {
                bytes.extend([0, 0, 0, 3, 0, 0, 0, 4]);
            }
            let reply = Reply::decode(&bytes).unwrap();
            assert_eq!(reply.outcome, expected);
            let refusal = Refusal { reason, code: stat, name, during: "MNT" };
            assert_eq!(reply.results("MNT"), Err(Error::Refused(refusal)));
            truncations_refused(&bytes, |bytes| Reply::decode(bytes).err());
            is_asked_for(&bytes);
        }
        for stat in [6, u32::MAX] {
            let bytes = with_word(&SUCCESS, 20, stat);
            assert_eq!(outcome(&bytes), Err(Error::Malformed("accepted_reply.stat")));
        }
    }

    #[test]
    fn denied_for_the_version() {
        let bytes = [1, 2, 3, 4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 5];
        assert_eq!(outcome(&bytes), Ok(Outcome::RpcMismatch { low: 3, high: 5 }));
        truncations_refused(&bytes, |bytes| Reply::decode(bytes).err());
        is_asked_for(&bytes);
    }

    #[test]
    fn denied_for_the_credential() {
        let bytes = [1, 2, 3, 4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 5];
        let reply = Reply::decode(&bytes).unwrap();
        assert_eq!(reply.outcome, Outcome::AuthError(AuthStat::TOOWEAK));
        let refusal =
            Refusal { reason: Reason::Authentication, code: 5, name: "AUTH_TOOWEAK", during: "MNT" };
        assert_eq!(reply.results("MNT"), Err(Error::Refused(refusal)));
        assert!(AuthStat::TOOWEAK.hint().contains("1024"));
        assert_eq!(AuthStat(99).name(), "AUTH_ERROR");
        truncations_refused(&bytes, |bytes| Reply::decode(bytes).err());
        is_asked_for(&bytes);
    }

    #[test]
    fn wrong_discriminants_are_refused() {
        for (at, value, error) in [
            (4, CALL, Error::Misbehaved("rpc_msg.mtype")),
            (4, 2, Error::Malformed("rpc_msg.mtype")),
            (8, 2, Error::Malformed("reply_body.stat")),
            (8, u32::MAX, Error::Malformed("reply_body.stat")),
        ] {
            assert_eq!(outcome(&with_word(&SUCCESS, at, value)), Err(error));
        }
        let denied = with_word(&with_word(&SUCCESS, 8, MSG_DENIED), 12, 2);
        assert_eq!(outcome(&denied), Err(Error::Malformed("rejected_reply.stat")));
    }
}
