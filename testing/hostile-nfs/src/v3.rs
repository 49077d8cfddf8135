//! A port mapper, a MOUNT server and an NFSv3 server on ports of their own.

mod answer;
mod model;

pub use model::{Config, Model, at};

use crate::scene::{self, Version};
use crate::{Manner, Node, Tree};
use pagewire::Attributes;
use pagewire::nfs::{self, Nfs3};
use pagewire_line::Line;

/// NFSv3.
#[derive(Clone, Copy, Debug)]
pub struct V3;

/// One play.
pub type Scene = scene::Scene<V3>;
/// What came of it.
pub type Played = scene::Played<V3>;
/// An engine that speaks NFSv3, and the server.
pub type Session<'s> = pagewire_line::Session<'s, Nfs3<'s>, Line<Model>>;

impl Version for V3 {
    type Client = nfs::Config<'static>;
    type Config = Config;
    type Nfs = Nfs3<'static>;
    type Model = Model;

    const RX: usize = 1536;

    fn usual() -> (Self::Client, Config) {
        (nfs::Config::new("/export", 0xFFFF_FFF8), Config::default())
    }

    fn nfs(client: &Self::Client) -> Self::Nfs {
        Nfs3::new(client.clone())
    }

    fn model(client: &Self::Client, config: &Config) -> Model {
        Model::new(config.clone(), Nfs3::first_port(client))
    }

    fn tree(config: &mut Config) -> &mut Tree {
        &mut config.tree
    }

    fn read_len_max(config: &mut Config) -> &mut u32 {
        &mut config.rtmax
    }

    fn manner(config: &mut Config) -> &mut Manner {
        &mut config.rpc
    }

    fn listed(config: &Config, node: &Node) -> Attributes {
        match config.attributes && !config.plain_listings {
            true => Attributes { hidden: node.name().starts_with('.'), ..scene::attributes(node) },
            false => Attributes { kind: pagewire::Kind::Other, id: Some(node.id), ..Attributes::default() },
        }
    }
}
