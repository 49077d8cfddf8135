//! Every way in which the model can be wrong.

use crate::Status;

/// One way of being wrong. `nth` counts from 1 over the whole connection.
///
/// Unless it says otherwise a lie is told before signing and sealing, so that only what it names is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    // Credits.
    /// No reply grants a credit.
    GrantNothing,
    /// READ replies grant no credit; others do.
    GrantNothingForReads,
    /// Legal: all credits of a chain come with its last reply.
    GrantWithLast,

    // Order and number of replies.
    /// The frames with READ replies that wait for one `output()` leave in reverse order.
    ReverseReads,
    /// Every frame with a READ reply is sent twice (sealed: each with its own nonce).
    DuplicateReads,
    /// The `nth` frame comes twice, byte for byte.
    Replayed {
        /// Which frame.
        nth: usize,
    },
    /// A READ reply for a message id that nobody sent goes before each READ reply.
    UnknownMessageId,
    /// READ replies carry the command ECHO.
    WrongCommand,
    /// READ replies carry the id of another session.
    OtherSessionId,
    /// READ is answered STATUS_PENDING first, then as usual with the same AsyncId.
    PendingOnce,
    /// As `PendingOnce`, with this many STATUS_PENDING; the first one brings the credits.
    PendingTimes(usize),
    /// READ is answered STATUS_PENDING and never again.
    PendingForEver,
    /// An oplock break notification for the file goes before the `nth` READ reply.
    OplockBreak {
        /// Which READ.
        nth: usize,
    },
    /// Such a notification goes in the place of each READ reply, and behind the reply to each acknowledgment of one.
    OplockBreaksForEver,
    /// STATUS_PENDING and notifications say that they are signed, and are not.
    FalselySigned,

    // Leases, which `Config::leases` offers. Breaks want an acknowledgment.
    /// The lease that was asked for is granted under another key.
    LeaseOtherKey,
    /// The right to write is granted with it.
    LeaseOfMore,
    /// Who opens a file without asking for a lease is granted one.
    LeaseUnasked,
    /// The lease of the file is broken before the `nth` frame with a READ reply.
    LeaseBreak {
        /// Which READ.
        nth: usize,
    },
    /// A lease that nobody has is broken before each frame with a READ reply.
    LeaseBreakUnknown,
    /// The lease of the file is broken again and again before each frame with a READ reply.
    LeaseBreaksForEver,
    /// Legal: QUERY_INFO says that the file is deleted and still open.
    DeletePending,
    /// Legal: QUERY_INFO says that the file has no name any more.
    NoLinks,

    // Signatures.
    /// One bit of the `nth` signature is wrong; the final SESSION_SETUP reply has the first one.
    SignatureWrong {
        /// Which signed reply.
        nth: usize,
    },
    /// The `nth` reply that should be signed is not.
    Unsigned {
        /// Which reply.
        nth: usize,
    },

    // Sealing; `nth` counts the messages that should be sealed.
    /// One bit of the transform's tag is wrong.
    SealTagWrong {
        /// Which sealed message.
        nth: usize,
    },
    /// One bit of the ciphertext is wrong.
    CiphertextWrong {
        /// Which sealed message.
        nth: usize,
    },
    /// The message leaves in plaintext.
    PlaintextOnSealed {
        /// Which message.
        nth: usize,
    },
    /// The transform, rightly sealed, names another session.
    TransformSessionId {
        /// Which sealed message.
        nth: usize,
    },
    /// A transform inside a transform, both rightly sealed.
    TransformNested {
        /// Which sealed message.
        nth: usize,
    },
    /// OriginalMessageSize, rightly sealed, is 8 more than what is there.
    OriginalMessageSize {
        /// Which sealed message.
        nth: usize,
    },
    /// Messages with READ replies come as a compression transform that nobody negotiated.
    Compressed,

    // READ replies.
    /// The header lacks the flag of a response.
    NotAResponse,
    /// StructureSize of the body is 16.
    ReadStructureSize,
    /// DataLength is as asked, but only half of the data is there.
    DataLengthBeyondFrame,
    /// Eight bytes more than asked, all of them there.
    DataLengthBeyondAsked,
    /// DataOffset 0xF8, so that the data runs out of the PDU.
    DataOffsetOutside,
    /// DataOffset points into the header.
    DataOffsetBeforeBody,
    /// Legal: 16 bytes between the body and the data.
    DataGap,
    /// Legal: no READ reply has more bytes than this, with no end of file in sight.
    ShortReads(u32),
    /// READ succeeds with zero bytes.
    EmptyReads,
    /// A READ that starts here or later is END_OF_FILE, whatever the size; an earlier one is full.
    EndOfFileAt(u64),
    /// Legal: the file shrinks to this length once it is open; CREATE told the old size.
    TruncatedAfterOpen(u64),
    /// The `nth` READ, and everything after it until the client authenticates again, is NETWORK_SESSION_EXPIRED.
    SessionExpired {
        /// Which READ.
        nth: usize,
    },
    /// The `nth` READ, and everything after it, is USER_SESSION_DELETED, neither signed nor sealed.
    SessionDeleted {
        /// Which READ.
        nth: usize,
    },

    // Maps of sparse files: replies to FSCTL_QUERY_ALLOCATED_RANGES.
    /// Legal: there are no maps, and this status says so.
    RangesRefused(Status),
    /// Legal: ranges are made of whole granules of so many bytes.
    RangeGranule(u64),
    /// Legal: ranges that are only in part what was asked about are told whole.
    RangesUnclipped,
    /// Legal: no reply has more ranges than this, BUFFER_OVERFLOW where there are more.
    ShortRanges(usize),
    /// What ksmbd does: what has no room in the client's buffer is left out, and the status is SUCCESS.
    RangesCut,
    /// What Samba 4.17 does: BUFFER_TOO_SMALL, and no range, where not all of them have room.
    RangesTooMany,
    /// Legal: 16 bytes between the body and the ranges.
    OutputGap,
    /// The first range comes last.
    RangesOutOfOrder,
    /// Behind the last range comes one that starts within it.
    RangesOverlap,
    /// Behind the last range comes this one.
    RangeMore {
        /// FileOffset on the wire.
        offset: u64,
        /// Length on the wire.
        len: u64,
    },
    /// Behind the last range comes a byte.
    RangesTorn,
    /// OutputOffset leaves the message.
    OutputOffsetOutside,
    /// OutputOffset points into the header.
    OutputOffsetBeforeBody,
    /// OutputCount is 16 more than what is there.
    OutputCountBeyond,
    /// BUFFER_OVERFLOW and no range.
    OverflowEmpty,
    /// BUFFER_OVERFLOW and one range. Once it is told, again and again all that lies before what was asked about.
    OverflowStays,
    /// BUFFER_OVERFLOW and no more than so many bytes of the first range, as long as there is one.
    OverflowForEver(u64),
    /// BUFFER_TOO_SMALL, however little is asked about.
    TooSmallForEver,
    /// From the `nth` reply on a file that has data has no holes, as if they had been written to.
    RangesChange {
        /// Which reply.
        nth: usize,
    },

    // Chains. NextCommand is that of the first header of a message with a READ reply.
    /// The last reply of a chain is missing.
    ChainShort,
    /// The replies of a chain come last first.
    ChainReversed,
    /// Legal: every reply of a chain is a frame of its own.
    ChainSeparate,
    /// NextCommand leaves the frame.
    NextCommandBeyond,
    /// NextCommand is inside the frame but not a multiple of 8.
    NextCommandUnaligned,
    /// NextCommand is 8: inside the header, as good as standing still.
    NextCommandTooSmall,
    /// What ksmbd does: a chain that starts with TREE_CONNECT gets one INVALID_PARAMETER whose NextCommand (80)
    /// leaves its frame, then silence for that chain.
    RefuseTreeConnectChain,
    /// Each member of a chain that starts with TREE_CONNECT is refused with INVALID_PARAMETER.
    RefuseTreeConnectMembers,
    /// TREE_CONNECT is refused with INVALID_PARAMETER, alone too; what stands behind it in a chain is not answered.
    RefuseTreeConnectAlone,
    /// What stands behind TREE_CONNECT in a chain is refused with INVALID_PARAMETER, and TREE_CONNECT goes well.
    RefuseBehindTreeConnect,
    /// A request that means the handle of the one before it is refused with INVALID_PARAMETER.
    RefuseRelatedHandle,
    /// What Samba does: a chain in the clear that starts with TREE_CONNECT to a share which demands encryption is answered under
    /// it.
    SealTreeConnectChain,
    /// Somebody on the way answers CREATE and READ behind TREE_CONNECT before the server does, in the clear and without a signature.
    /// What the server says to them he keeps back.
    ForgedBeforeTreeConnect,
    /// The server's GUID is all zero, as that of ksmbd.
    ZeroGuid,

    // Framing.
    /// A NetBIOS keepalive (0x85) goes before every frame.
    KeepAlives,
    /// More NetBIOS keepalives than anybody needs go before every frame with a READ reply.
    KeepAlivesForEver,
    /// Frames with READ replies begin with this byte, which is neither that of a message (0) nor of a keepalive (0x85).
    StreamProtocol(u8),
    /// Frames with READ replies announce 0xFFFFFF bytes.
    FrameTooLong,
    /// The connection closes after this many bytes in all.
    TruncateAt(u64),

    // Negotiation and authentication.
    /// MaxReadSize on the wire (0, 1, 4095, `u32::MAX`); the real limit stays.
    MaxReadSize(u32),
    /// DialectRevision on the wire, offered or not.
    DialectRevision(u16),
    /// Cipher of the encryption context on the wire, offered or not.
    CipherId(u16),
    /// Algorithm of the signing context on the wire, offered or not.
    SigningId(u16),
    /// A 3.1.1 NEGOTIATE reply without the pre-authentication context.
    NegotiateWithoutPreauth,
    /// VALIDATE_NEGOTIATE_INFO answers another dialect (2.0.2) than was negotiated.
    ValidateDowngrade,
    /// A named user who knows the password gets the guest flag; keys and signatures stay.
    GuestFlag,
    /// The same with the flag of who is nobody.
    NullFlag,
    /// Legal: the NTLM challenge wants no exchange of keys.
    NoKeyExchange,
    /// The last AV pair of the NTLM challenge runs past the buffer.
    AvPairsBeyond,
    /// The AV pairs of the NTLM challenge end without MsvAvEOL.
    AvPairsNeverEnd,
    /// A hundred AV pairs go before those of the NTLM challenge, each of them right.
    AvPairsTooMany,
    /// The AV pairs of the NTLM challenge lie over its header.
    AvPairsOverlap,
    /// After the last message of the authentication the server wants another one.
    ChallengesForEver,
    /// ShareType on the wire: 2 is a pipe, 3 a printer.
    ShareType(u8),

    // Listings.
    /// The same page again and again, never NO_MORE_FILES.
    ListingNeverEnds,
    /// After the last page comes the first one, never NO_MORE_FILES.
    ListingGoesRound,
    /// An empty name is listed last.
    NameEmpty,
    /// A name with `/` in it is listed last.
    NameWithSlash,
    /// A name with `\` in it is listed last.
    NameWithBackslash,
    /// A name with NUL in it is listed last.
    NameWithNul,
    /// The name `..` is listed again, last.
    NameDotDot,
    /// FileNameLength of the first entry of a page leaves the buffer.
    NameLengthBeyond,
    /// Every page is a success with nothing in it.
    EmptyPages,
    /// NextEntryOffset of the first entry of a page leaves the buffer.
    EntryOffsetBeyond,
    /// NextEntryOffset of the first entry of a page is 8: inside the entry itself.
    EntryOffsetTooSmall,
}
