#![no_std]
#![forbid(unsafe_code)]
//! A no_std, allocation-free read engine for file servers.
//!
//! A [`Client`] speaks a [`Protocol`] ([`smb::Smb`], [`nfs::Nfs3`], [`nfs::Nfs4`]) over memory that the caller lends as [`Storage`], and runs one
//! operation at a time: [`Connect`], [`Open`], [`Read`], [`Stream`], [`List`], [`Map`], [`Stat`],
//! [`Statfs`], [`StatBoth`], [`Fetch`], [`Close`]. It does no I/O:
//! [`Client::step`] says what to do next. [`blocking`] is the loop for transports with `embedded_io`'s traits, and
//! `asynch` (the feature of that name) the same loop for those with `embedded_io_async`'s.
// Peer bytes must not panic: what could is an error here, and every exception gives its reason.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::panic_in_result_fn,
        clippy::unreachable,
        clippy::todo,
        clippy::unimplemented,
        clippy::allow_attributes_without_reason
    )
)]

#[cfg(test)]
extern crate std;

#[cfg(any(feature = "smb", feature = "nfs3", feature = "nfs4"))]
mod statuses;

#[cfg(feature = "asynch")]
pub mod asynch;
pub mod attributes;
pub mod blocking;
pub mod client;
pub mod compound;
pub mod counters;
mod digest;
pub mod error;
mod frame;
mod holes;
pub mod inflight;
pub mod limits;
#[cfg(any(feature = "nfs3", feature = "nfs4"))]
pub mod nfs;
pub mod operation;
mod outgoing;
pub mod page;
mod pauses;
pub mod plan;
pub mod protocol;
#[cfg(any(feature = "smb", feature = "nfs3", feature = "nfs4"))]
mod rounds;
pub mod segment;
#[cfg(feature = "smb")]
pub mod smb;
pub mod storage;
pub mod time;
pub mod wire;

/// The example of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

pub use attributes::{Attributes, Entry, Kind, Name, Space, Time};
pub use client::{Client, Step};
pub use counters::Counters;
pub use error::{Error, Reason, Refusal};
pub use holes::{Hole, HoleList};
pub use operation::Content;
pub use operation::call::{Close, Connect, Disconnect, Keepalive, Open, Stat, Statfs};
pub use operation::fetch::{Fetch, Fetched};
pub use operation::lane::Lane;
pub use operation::list::List;
pub use operation::map::Map;
pub use operation::read::{Filled, Read};
pub use operation::stat_both::StatBoth;
pub use operation::stream::Stream;
pub use outgoing::Outbox;
pub use page::{Buffer, PageList, Pages, Sink};
pub use protocol::{File, Protocol};
pub use segment::MapSegment;
pub use storage::{Storage, StorageArray};
pub use time::{Clock, Millis, Timeless};
