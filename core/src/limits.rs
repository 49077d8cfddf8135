//! Every constant limit of the engine, each with its why. What bounds the parts of one message (AV pairs, contexts, mechanisms,
//! operations of a COMPOUND) has a name beside that message.

/// The smallest page. Less than a disk sector serves nobody and costs a window per sector.
pub const PAGE_LEN_MIN: usize = 512;

/// Where a request is made smaller only to have more of them in flight: below this, the fixed cost of
/// a request (about 200 bytes and two system calls) is no longer small beside its data.
pub const REQUEST_LEN_MIN: u32 = 64 * 1024;

/// A frame may announce this many bytes and no more: 16 MiB less one is what the 24-bit length of
/// direct TCP can say, and no reply that we ask for is longer.
pub const FRAME_LEN_MAX: u32 = 0x00FF_FFFF;

/// Fragments of one frame that hold nothing. (Others, and the parts of a frame, need no limit of their own: each takes
/// bytes of the frame.)
pub const EMPTY_FRAGMENTS_MAX: u32 = 64;

/// Frames in a row that bring the operation no final reply: keepalives, notices, interim replies, and replies that nobody waits
/// for. Every request in flight may be answered by a few of these; a server that sends only these makes no progress.
pub const IDLE_FRAMES_MAX: u32 = 1024;

/// "I am still at it" answers to one request before the server is said to have broken its word.
pub const INTERIM_MAX: u8 = 16;

/// Replies in a row that bring no entry of a listing to be lent. A directory has `.` and `..` once each; the caller, who
/// is shown neither, cannot end a listing that has nothing else.
pub const IDLE_LISTINGS_MAX: u32 = 16;

/// Replies in a row that bring no segment of a map to be lent: where a server asks to be asked about half as much, and
/// half of that, it may take one for each bit of a length, and what follows may only make the same segment longer.
pub const IDLE_MAPS_MAX: u32 = 256;

/// Holes that a stream knows of before it: each takes 24 bytes. With fewer the map would be asked for more often.
pub const HOLES_MAX: usize = 32;

/// A hole shorter than this is read by a stream like data: to leave it out takes a request more, and what that costs is
/// not small beside so few bytes (as of [`REQUEST_LEN_MIN`]).
pub const HOLE_LEN_MIN: u64 = 64 * 1024;

/// A reply that makes a segment longer by less than this brings nothing either: no file system has smaller blocks.
pub const MAP_GROWTH_MIN: u64 = 512;

/// Where a map is told run by run, each in a round trip, and runs are shorter than this, a stream gets on more slowly
/// by it than without: at 1 Gbit/s it is what comes in 2 ms.
pub const MAP_LEN_MIN: u64 = 256 * 1024;

/// So many such runs in a row, and a stream takes [`MAP_SKIP_LEN`] for data.
pub const DULL_MAPS_MAX: u32 = 16;

/// What a stream takes for data before it asks for more of a map that was of little use.
pub const MAP_SKIP_LEN: u64 = 64 << 20;

/// The first pause before a server that asks for it is asked again. Each is twice as long as the one before it.
pub const PAUSE_MS_MIN: u32 = 100;

/// The longest pause: what the server waits for may be over at any time.
pub const PAUSE_MS_MAX: u32 = 6400;

/// Pauses in a row before what the server says is the end of the operation: two minutes, which outlast the 90 s in which a
/// Linux server that has restarted lets old clients go first.
pub const PAUSES_MAX: u32 = 24;

/// Sessions, clients and opens that are made anew in a row, with nothing gained, before what the server says is the end of
/// the operation. A restart takes one or two.
pub const RECOVERIES_MAX: u32 = 8;

/// Reads that share a window of pages, at least, where there are slots for them: while the server works on one, others are on their
/// way. More of them would only be shorter, and each has its price on both sides.
pub const SHARES: usize = 4;

/// So many bytes of one frame count as progress and renew the deadline, as a reply does.
/// A line of 33 bytes a second still passes with the default time-out.
pub const PROGRESS_LEN: u32 = 1024;

/// How long the server may stay silent unless the caller says otherwise.
pub const TIMEOUT_MS: u32 = 30_000;

/// The free end of `rx` that is kept for bytes nobody wants: gaps, padding, data of abandoned reads.
pub const SCRATCH_LEN: usize = 64;
