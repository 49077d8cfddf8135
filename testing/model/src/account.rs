//! What the model saw and answered.

use crate::{Command, Status};

/// One request and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its command.
    pub command: Command,
    /// Its message id.
    pub message_id: u64,
    /// Its credit charge as on the wire (0 at 2.0.2).
    pub credit_charge: u16,
    /// The credits it asked for.
    pub credits_requested: u16,
    /// The credits its reply granted.
    pub credits_granted: u16,
    /// The status it was answered with; SUCCESS for CANCEL, which has no answer.
    pub status: Status,
    /// Whether it was signed.
    pub signed: bool,
    /// Whether it came in a transform.
    pub sealed: bool,
    /// Whether it was related to the request before it in its chain.
    pub related: bool,
    /// The frame it came in, from 0.
    pub frame: usize,
}

#[derive(Default)]
pub(crate) struct Account {
    pub(crate) log: Vec<Record>,
    pub(crate) frames_in: usize,
    pub(crate) frames_out: usize,
    pub(crate) oplock_acknowledgments: usize,
    pub(crate) lease_acknowledgments: usize,
    pub(crate) mic_verified: bool,
}
