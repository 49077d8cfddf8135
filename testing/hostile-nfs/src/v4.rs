//! An NFSv4 server, minor versions 0, 1 and 2, that takes the rules of sessions seriously.
//!
//! `compound` runs the operations of a request; `clients` has who the clients are and their sessions, `opens` what they
//! have open, `files` what only looks at the tree, `read` READ, READ_PLUS and SEEK. What is wrong with it, if anything,
//! says [`Quirk`].

mod attributes;
mod clients;
mod compound;
mod files;
mod model;
mod numbers;
mod opens;
mod quirk;
mod read;
mod segments;

pub use model::{Channel, Config, Model, PORT, ReadPlus};
pub use numbers::{op, status};
pub use quirk::{Quirk, Shape, When};

use crate::scene::{self, Version};
use crate::{Kind, Manner, Node, Tree};
use pagewire::Attributes;
use pagewire::nfs::Nfs4;
use pagewire::nfs::nfs4;
use pagewire_line::Line;

/// NFSv4.
#[derive(Clone, Copy, Debug)]
pub struct V4;

/// One play.
pub type Scene = scene::Scene<V4>;
/// What came of it.
pub type Played = scene::Played<V4>;
/// An engine that speaks NFSv4, and the server.
pub type Session<'s> = pagewire_line::Session<'s, Nfs4<'s>, Line<Model>>;

impl Scene {
    /// With this minor version and no other on both sides.
    #[must_use]
    pub fn minor(mut self, minor: u32) -> Scene {
        (self.client.minor, self.config.minors) = (Some(minor), minor..=minor);
        self
    }

    /// With something that is wrong with the server.
    #[must_use]
    pub fn quirk(mut self, when: When, quirk: Quirk) -> Scene {
        self.config.quirks.push((when, quirk));
        self
    }
}

impl Version for V4 {
    type Client = nfs4::Config<'static>;
    type Config = Config;
    type Nfs = Nfs4<'static>;
    type Model = Model;

    const RX: usize = 4096;

    fn usual() -> (Self::Client, Config) {
        (nfs4::Config::new(b"a client", [7; 8], 0xFFFF_FFF8), Config::default())
    }

    fn nfs(client: &Self::Client) -> Self::Nfs {
        Nfs4::new(client.clone())
    }

    fn model(_: &Self::Client, config: &Config) -> Model {
        Model::new(config.clone())
    }

    fn tree(config: &mut Config) -> &mut Tree {
        &mut config.tree
    }

    fn read_len_max(config: &mut Config) -> &mut u32 {
        &mut config.maxread
    }

    fn manner(config: &mut Config) -> &mut Manner {
        &mut config.rpc
    }

    fn attributes(node: &Node) -> Attributes {
        let sparse = matches!(node.kind, Kind::File(_)) && node.used() < node.len();
        Attributes { sparse, change: Some(1), ..scene::attributes(node) }
    }

    fn listed(_: &Config, node: &Node) -> Attributes {
        let hidden = node.name().starts_with('.');
        Attributes { hidden, change: None, ..Self::attributes(node) }
    }
}
