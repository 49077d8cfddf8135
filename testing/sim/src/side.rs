//! What differs between protocols: an engine, its server, and what the server has.

use pagewire::Protocol;
use pagewire_line::Link;
use std::fmt::Debug;

/// A part of a file: its first byte, the byte after its last one, and whether it is a hole.
pub type Segment = (u64, u64, bool);

/// What the server has, in words of neither side.
#[derive(Clone, Debug)]
pub struct Truth {
    /// The file that is read.
    pub file: &'static str,
    /// Its bytes, holes included.
    pub content: Vec<u8>,
    /// Its map, if the server has to tell all of it, and no more.
    pub map: Option<Vec<Segment>>,
    /// The directory that is listed.
    pub directory: &'static str,
    /// The names in it and the lengths of the files among them, sorted.
    pub entries: Vec<(String, u64)>,
}

/// A protocol with everything that is decided for one world.
pub trait Side: Debug {
    /// The engine's side.
    type Protocol: Protocol;
    /// The server's.
    type End: Link;
    /// Whether its frames come in fragments.
    const FRAGMENTS: bool;

    /// What it is called in the account.
    fn name(&self) -> String;

    /// The engine of a phase. Those of two phases are as alike as those of two connections of one caller.
    fn protocol(&self, phase: usize) -> Self::Protocol;

    /// The server, as it is in the safety phase.
    fn server(&self) -> Self::End;

    /// The same after it, which lies no more and takes a new connection.
    fn healed(&self, end: Self::End) -> Self::End;

    /// Whether the server lies in the safety phase.
    fn lies(&self) -> bool;

    /// Whether what is not the server's is told from what is, by signature or tag.
    fn protects(&self) -> bool;

    /// What it has.
    fn truth(&self) -> Truth;
}
