//! What may be wrong with the server.

/// When a quirk shows, counted in the times that it could have, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Each time.
    Always,
    /// Once.
    Nth(usize),
    /// So many times, and then never again.
    First(usize),
    /// From this time on.
    From(usize),
}

impl When {
    /// Whether it is one of these times.
    pub const fn holds(self, nth: usize) -> bool {
        match self {
            When::Always => true,
            When::Nth(only) => nth == only,
            When::First(count) => nth < count,
            When::From(first) => nth >= first,
        }
    }
}

/// What is wrong. What the time is that a quirk could show is said in brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quirk {
    // Any request.
    /// An operation is refused, with this status (each of these operations). So there is no READ_PLUS or SEEK (NOTSUPP),
    /// or only up to some time, a wait (DELAY), and anything that was forgotten (BADSESSION, STALE_CLIENTID, EXPIRED).
    Refuses(u32, u32),
    /// The server restarts and has forgotten clients, sessions and opens (each request, in front of it).
    Restarts,
    /// The reply is to another call (each reply).
    OtherXid,
    /// The result at this place is that of another operation (each reply with so many).
    OtherOperation(usize),
    /// The last result is left out, and all is said to be well (each reply that is well).
    ResultMissing,
    /// There is a result more than operations (each reply that is well).
    ResultMore,
    /// Minor versions that are not there are refused with this instead of MINOR_VERS_MISMATCH (each such request).
    MismatchSaid(u32),

    // Sessions.
    /// SEQUENCE answers for another session (each SEQUENCE, as for those that follow).
    OtherSession,
    /// SEQUENCE answers for another slot.
    OtherSlot,
    /// SEQUENCE answers for another request of the slot.
    OtherSequence,
    /// SEQUENCE has these `sr_status_flags`.
    StatusFlags(u32),
    /// SEQUENCE wants no slot above this one to be used.
    TargetSlot(u32),

    // Looking.
    /// `change` is another one (each GETATTR that asks for it).
    Changes,
    /// The cookie of an entry is that of the entry in front of it, or of the request (each READDIR: its first entry).
    CookieStays,
    /// There is no entry, and more are to come (each READDIR).
    ListsNothing,
    /// Behind the last entry the first comes again, and so on for ever (each READDIR).
    ListsAgain,

    // READ.
    /// So many bytes more than were asked for (each READ).
    ReadMore(u32),
    /// Nothing, and the file does not end there (each READ).
    ReadNothing,

    // SEEK.
    /// So many bytes in front of what was asked for (each SEEK).
    SeekBack(u64),
    /// So many bytes behind what was asked for, whatever is there (each SEEK).
    SeekOn(u64),
    /// What was asked for, whatever is there (each SEEK).
    SeekStays,
    /// Data looked for in the last hole: OK with the end of the file and the offset that was asked, as Ganesha says, and
    /// not NXIO, as Linux does (each such SEEK).
    SeekEndsThere,

    // READ_PLUS.
    /// The segments are not as they should be (each READ_PLUS). Several do one after the other.
    Segments(Shape),
}

/// What is wrong with the segments of a READ_PLUS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The first segment, if it is a hole, starts so many bytes in front of what was asked for.
    HoleBefore(u64),
    /// The first segment, if it is data, starts so many bytes in front of what was asked for.
    DataBefore(u64),
    /// The last segment, if it is a hole, ends so many bytes behind what was asked for.
    HoleLonger(u64),
    /// The last segment, if it is data, ends so many bytes behind what was asked for.
    DataLonger(u64),
    /// Both ends are so many bytes out.
    BothEnds(u64),
    /// No segment is longer than this: data follows data, and a hole a hole.
    Split(u64),
    /// No segments at all, and no end of the file.
    NoSegments,
    /// One segment of data without any, at 0: Ganesha 4.3.
    EmptyAtZero,
    /// A segment of data without any in front of each.
    EmptyBetween,
    /// At most so many bytes, and the end of the file is told as if they were all.
    CutOff(u64),
    /// The end of the file is said to be there, wherever it is.
    EofAlways,
    /// A segment in front that ends so many bytes before what was asked for: all of it is outside.
    Outside(u64),
    /// Every segment is so many bytes behind what was asked for, and so outside if it is enough.
    Elsewhere(u64),
    /// Each segment but the first starts so many bytes before the end of the one in front of it.
    Overlap(u64),
    /// Each segment but the first starts so many bytes behind the end of the one in front of it.
    Gap(u64),
    /// The last segments come first.
    Reversed,
    /// More segments are announced than there are, by so many.
    CountMore(u32),
    /// Fewer segments are announced than there are, by so many.
    CountFewer(u32),
    /// Every hole is as long as 64 bits can say.
    HugeHoles,
    /// Every segment is neither data nor hole, but this.
    OtherContent(u32),
}
