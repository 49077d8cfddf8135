//! The server, on the port that it is connected to. What a call brings is in `answer`.

use crate::rpc::{Manner, Rpc};
use crate::tree::HANDLE_LEN;
use crate::xdr::{Args, Xdr};
use crate::{Kind, Tree};
use pagewire_line::{Heard, Link};

/// Programs, and ports of the model.
pub mod at {
    /// The port mapper.
    pub const PORTMAP: u32 = 100_000;
    /// MOUNT.
    pub const MOUNT: u32 = 100_005;
    /// NFS.
    pub const NFS: u32 = 100_003;
    /// Where the port mapper is.
    pub const PORTMAP_PORT: u16 = 111;
}

/// How the server is. As it comes it is honest and plain.
#[derive(Clone, Debug)]
pub struct Config {
    /// How it speaks RPC.
    pub rpc: Manner,
    /// Its files.
    pub tree: Tree,
    /// Where MOUNT is, and what the port mapper says.
    pub mount_port: u16,
    /// Where NFS is.
    pub nfs_port: u16,
    /// What it says that it exports, and to whom.
    pub exports: Vec<(&'static str, &'static [&'static str])>,
    /// Paths that are not mounted, with the status that says so.
    pub unmountable: Vec<(&'static str, u32)>,
    /// Whether it has attributes at hand.
    pub attributes: bool,
    /// Whether it is listed with READDIR, which brings none. What refuses READDIRPLUS is a lie.
    pub plain_listings: bool,
    /// Bytes of its handles, at least 20.
    pub handle_len: usize,
    /// FSINFO's `rtmax`.
    pub rtmax: u32,
    /// How many bytes a READ brings at most.
    pub brings: usize,
    /// How many bytes of READ's data follow those that count.
    pub surplus: usize,
    /// How many bytes READ counts that do not follow.
    pub deficit: u32,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            rpc: Manner::default(),
            tree: Tree::default().with("/export", Kind::Directory),
            mount_port: 20_048,
            nfs_port: 12_049,
            exports: Vec::new(),
            unmountable: Vec::new(),
            attributes: true,
            plain_listings: false,
            handle_len: HANDLE_LEN,
            rtmax: 65_536,
            brings: usize::MAX,
            surplus: 0,
            deficit: 0,
        }
    }
}

/// The server.
#[derive(Debug)]
pub struct Model {
    /// How it is.
    pub config: Config,
    /// What it has heard and said.
    pub rpc: Rpc,
    /// Every path that was to be mounted.
    pub mounts: Vec<String>,
    /// The longest READ that was asked for.
    pub longest_read: u32,
    /// Where it is connected.
    pub port: u16,
}

impl Model {
    /// Connected to `port`.
    pub fn new(config: Config, port: u16) -> Model {
        let rpc = Rpc::new(config.rpc.clone());
        Model { config, rpc, mounts: Vec::new(), longest_read: 0, port }
    }

    /// Whether a program is at the port that it is connected to.
    fn serves(&self, program: u32) -> bool {
        let port = match program {
            at::PORTMAP => at::PORTMAP_PORT,
            at::MOUNT => self.config.mount_port,
            _ => self.config.nfs_port,
        };
        self.port == port
    }
}

impl Link for Model {
    fn send(&mut self, bytes: &[u8]) -> usize {
        self.rpc.input(bytes);
        while let Some(mut call) = self.rpc.next_call() {
            // Who asks at the wrong port, because a lie or the line has led it there, is let in nowhere.
            call.known &= self.serves(call.program);
            let body = match call.known {
                true => self.answer(call.program, call.version, call.procedure, Args(&call.args)),
                false => Xdr::default(),
            };
            let place = (call.program, call.procedure);
            self.rpc.reply(call, place, body);
        }
        bytes.len()
    }

    fn receive(&mut self, window: &mut [u8]) -> Heard {
        self.rpc.output(window)
    }

    fn connect(&mut self, port: u16) -> bool {
        assert!(self.rpc.is_idle(), "nothing is in flight");
        self.rpc.connect();
        self.port = port;
        [at::PORTMAP_PORT, self.config.mount_port, self.config.nfs_port].contains(&port)
    }
}
