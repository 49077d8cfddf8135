//! The server: how it is, and what it remembers.

use super::clients::{Client, Session};
use super::opens::Opens;
use super::quirk::{Quirk, When};
use crate::rpc::{Manner, Rpc};
use crate::tree::HANDLE_LEN;
use crate::{Kind, Tree};
use pagewire_line::{Heard, Link};
use std::ops::RangeInclusive;

/// Where it listens.
pub const PORT: u16 = 2049;

/// What a session takes at most, from the client to the server.
#[derive(Clone, Copy, Debug)]
pub struct Channel {
    /// The longest request.
    pub request_len_max: u32,
    /// The longest reply.
    pub response_len_max: u32,
    /// Operations of a COMPOUND.
    pub operations: u32,
    /// Slots.
    pub slots: u32,
}

/// How holes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadPlus {
    /// As data, in one segment: Linux.
    Single,
    /// As they are.
    Exact,
}

/// How the server is. As it comes it is honest and plain.
#[derive(Clone, Debug)]
pub struct Config {
    /// How it speaks RPC.
    pub rpc: Manner,
    /// Its files.
    pub tree: Tree,
    /// The minor versions that it has.
    pub minors: RangeInclusive<u32>,
    /// What a session takes.
    pub channel: Channel,
    /// `maxread`, and what a READ brings at most.
    pub maxread: u32,
    /// How many bytes a READ or READ_PLUS brings at most.
    pub brings: usize,
    /// Bytes of its handles, at least 20.
    pub handle_len: usize,
    /// READ and READ_PLUS take the bypass stateid (all ones).
    pub takes_bypass: bool,
    /// READ and READ_PLUS take the anonymous stateid (all zeros).
    pub takes_anonymous: bool,
    /// How holes are read.
    pub read_plus: ReadPlus,
    /// What is wrong with it, and when.
    pub quirks: Vec<(When, Quirk)>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            rpc: Manner::default(),
            tree: Tree::default().with("/export", Kind::Directory),
            minors: 0..=2,
            channel: Channel {
                request_len_max: 65_536,
                response_len_max: 4 << 20,
                operations: 32,
                slots: 16,
            },
            maxread: 1 << 20,
            brings: usize::MAX,
            handle_len: HANDLE_LEN,
            takes_bypass: true,
            takes_anonymous: true,
            read_plus: ReadPlus::Exact,
            quirks: Vec::new(),
        }
    }
}

/// The server.
#[derive(Debug)]
pub struct Model {
    /// How it is.
    pub config: Config,
    /// What it has heard and said. A call is noted by its last operation.
    pub rpc: Rpc,
    /// The operations of every COMPOUND.
    pub compounds: Vec<Vec<u32>>,
    /// The longest READ or READ_PLUS that was asked for.
    pub longest_read: u32,
    pub(super) clients: Vec<Client>,
    pub(super) sessions: Vec<Session>,
    pub(super) opens: Opens,
    /// How often it has started.
    pub(super) boot: u32,
    /// How many ids it has given since.
    pub(super) ids: u32,
    /// How often each quirk could have shown.
    seen: Vec<usize>,
}

impl Model {
    /// Just started.
    pub fn new(config: Config) -> Model {
        Model {
            rpc: Rpc::new(config.rpc.clone()),
            seen: vec![0; config.quirks.len()],
            config,
            compounds: Vec::new(),
            longest_read: 0,
            clients: Vec::new(),
            sessions: Vec::new(),
            opens: Opens::default(),
            boot: 1,
            ids: 0,
        }
    }

    /// How many files are open.
    pub fn open_files(&self) -> usize {
        self.opens.opened.len()
    }

    /// How many clients there are.
    pub fn client_count(&self) -> usize {
        self.clients.len()
    }

    /// How many sessions there are.
    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// Forgets all that does not outlive a restart.
    pub fn restart(&mut self) {
        self.clients.clear();
        self.sessions.clear();
        self.opens = Opens::default();
        (self.boot, self.ids) = (self.boot + 1, 0);
    }

    /// A number that no other has had, also not before a restart.
    pub(super) fn new_id(&mut self) -> u64 {
        self.ids += 1;
        u64::from(self.boot) << 32 | u64::from(self.ids)
    }

    /// What shows of the quirks that could show now, which `which` picks, each as what it makes of it. In the order of
    /// the configuration.
    pub(super) fn quirks<T>(&mut self, which: impl Fn(Quirk) -> Option<T>) -> Vec<T> {
        let mut shown = Vec::new();
        for ((when, quirk), seen) in self.config.quirks.iter().zip(&mut self.seen) {
            if let Some(made) = which(*quirk) {
                if when.holds(*seen) {
                    shown.push(made);
                }
                *seen += 1;
            }
        }
        shown
    }

    /// The first of [`quirks`](Self::quirks).
    pub(super) fn quirk<T>(&mut self, which: impl Fn(Quirk) -> Option<T>) -> Option<T> {
        self.quirks(which).into_iter().next()
    }

    /// Whether this one shows, which could now.
    pub(super) fn shows(&mut self, quirk: Quirk) -> bool {
        self.quirk(|known| (known == quirk).then_some(())).is_some()
    }
}

impl Link for Model {
    fn send(&mut self, bytes: &[u8]) -> usize {
        self.rpc.input(bytes);
        while let Some(call) = self.rpc.next_call() {
            self.call(call);
        }
        bytes.len()
    }

    fn receive(&mut self, window: &mut [u8]) -> Heard {
        self.rpc.output(window)
    }

    fn connect(&mut self, port: u16) -> bool {
        self.rpc.connect();
        port == PORT
    }
}
