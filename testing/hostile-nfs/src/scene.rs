//! The engine against the model server: what is told, what is played, what has to come of it.

use crate::rpc::{Lie, Manner, Place, Told};
use crate::tree::WRITTEN;
use crate::{Kind, Lent, Node, Program, Story, Tree};
use pagewire::inflight::Slot;
use pagewire::{Attributes, Counters, Error, Protocol, Reason, Refusal, Space, Storage, Time};
use pagewire_line::{Chunks, Line, Link, Session};
use std::fmt::Debug;
use std::rc::Rc;

/// A version of NFS: an engine that speaks it, and the model of a server.
pub trait Version {
    /// How the engine is.
    type Client: Clone + Debug;
    /// How the server is.
    type Config: Clone + Debug;
    /// The engine's side.
    type Nfs: Protocol;
    /// The server.
    type Model: Link + Debug;

    /// What is lent for replies: little, and enough.
    const RX: usize;

    /// As they are unless a test says otherwise.
    fn usual() -> (Self::Client, Self::Config);

    /// The engine's side of it.
    fn nfs(client: &Self::Client) -> Self::Nfs;

    /// The server, where the client connects to first.
    fn model(client: &Self::Client, config: &Self::Config) -> Self::Model;

    /// Its files.
    fn tree(config: &mut Self::Config) -> &mut Tree;

    /// The longest READ that it offers.
    fn read_len_max(config: &mut Self::Config) -> &mut u32;

    /// How it speaks RPC.
    fn manner(config: &mut Self::Config) -> &mut Manner;

    /// What is known of a node that is looked at.
    fn attributes(node: &Node) -> Attributes {
        attributes(node)
    }

    /// What is known of a node that is listed. By convention a name that starts with `.` is hidden.
    fn listed(_: &Self::Config, node: &Node) -> Attributes {
        Attributes { hidden: node.name().starts_with('.'), ..Self::attributes(node) }
    }
}

/// What every server of the model has.
const SPACE: Space = Space { total: 1 << 40, free: 1 << 39, available: 1 << 38, unit: 1 };

/// One play. The fields may be changed before it.
#[derive(Clone, Debug)]
pub struct Scene<V: Version> {
    /// The client.
    pub client: V::Client,
    /// The server.
    pub config: V::Config,
    /// What is asked.
    pub program: Program,
    /// In what pieces.
    pub chunks: Chunks,
    /// Where the line breaks.
    pub cut: Option<usize>,
    /// What the line changes.
    pub flip: Option<(usize, u32)>,
    /// Whether wrong bytes are the engine's fault: not where the line garbles what nothing protects.
    pub judges: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Played<V: Version> {
    /// What was played.
    pub scene: Scene<V>,
    /// How it ended.
    pub outcome: Result<(), Error>,
    /// As far as it came.
    pub story: Story,
    /// What it cost.
    pub counters: Counters,
    /// The other end, as it is left.
    pub line: Line<V::Model>,
}

impl<V: Version> Scene<V> {
    /// A file of 20,003 bytes in reads of 4096 at most, and a directory of 60 entries, which takes many replies.
    pub fn new() -> Self {
        let tree = Tree::default().with("/export", Kind::Directory).with("/export/d", Kind::Directory);
        let tree = tree.pattern("/export/f", 20_003).with("/export/link", Kind::Link("d/../f"));
        let tree = (0..60).fold(tree, |tree, n| tree.pattern(&format!("/export/d/entry-{n:02}"), n));
        let (client, mut config) = V::usual();
        (*V::tree(&mut config), *V::read_len_max(&mut config)) = (tree, 4096);
        Scene {
            client,
            config,
            program: Program {
                path: "/export/f",
                ring: 16_384,
                tail: 12_345,
                directory: "/export/d",
                looks_at: "/export/d/entry-07",
                top: "/export",
            },
            chunks: Chunks::Whole,
            cut: None,
            flip: None,
            judges: true,
        }
    }

    /// The same with a file of 700 bytes in reads of 256 and a directory of three entries, for what is played a
    /// thousand times.
    pub fn small() -> Self {
        let tree = Tree::default().with("/export", Kind::Directory).with("/export/d", Kind::Directory);
        let tree = tree.pattern("/export/f", 700).pattern("/export/d/a", 1).pattern("/export/d/b.txt", 2);
        let mut scene = Self::new();
        *V::tree(&mut scene.config) = tree.with("/export/d/sub", Kind::Directory);
        *V::read_len_max(&mut scene.config) = 256;
        scene.program = Program { ring: 1024, tail: 512, looks_at: "/export/d/a", ..scene.program };
        scene
    }

    /// With something changed.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// With a lie in every reply to calls of `place`.
    #[must_use]
    pub fn told(mut self, place: Place, tell: impl Fn(&mut Told) + 'static) -> Self {
        V::manner(&mut self.config).lies.push(Lie { place, nth: None, tell: Rc::new(tell) });
        self
    }

    /// With a lie in the reply to the `nth` call of `place`.
    #[must_use]
    pub fn told_once(mut self, place: Place, nth: usize, tell: impl Fn(&mut Told) + 'static) -> Self {
        V::manner(&mut self.config).lies.push(Lie { place, nth: Some(nth), tell: Rc::new(tell) });
        self
    }

    /// The other end.
    pub fn line(&self) -> Line<V::Model> {
        let end = V::model(&self.client, &self.config);
        Line { chunks: self.chunks, cut: self.cut, flip: self.flip, ..Line::new(end) }
    }

    /// Plays it with pages of 512 bytes.
    #[must_use]
    pub fn play(self) -> Played<V> {
        self.play_in::<512>()
    }

    /// Plays it with pages of `SIZE` bytes.
    #[must_use]
    pub fn play_in<const SIZE: usize>(self) -> Played<V> {
        let (mut tx, mut rx, mut slots) = ([0; 1024], vec![0; V::RX], [Slot::FREE; 8]);
        let storage = Storage { tx: &mut tx, rx: &mut rx, slots: &mut slots };
        let nfs = V::nfs(&self.client);
        let mut session = Session::new(storage, nfs, self.line()).expect("the storage is enough");
        let mut story = Story::default();
        let outcome = self.program.run::<SIZE>(&mut session, &mut story);
        let counters = *session.client.counters();
        Played { outcome, story, counters, line: session.link, scene: self }.nothing_wrong_was_lent()
    }

    /// What has to come of it if nothing goes wrong.
    pub fn truth(&self) -> Story {
        let mut config = self.config.clone();
        let tree = V::tree(&mut config).clone();
        let file = match tree.get(self.program.path).map(|node| &node.kind) {
            Some(Kind::File(file)) => file.bytes(),
            _ => Vec::new(),
        };
        let tail = &file[file.len().min(self.program.tail as usize)..];
        let tail = (tail[..tail.len().min(2048)].to_vec(), tail.len() <= 2048);
        let child = |node: &Node| (node.name().to_owned(), V::listed(&config, node));
        Story {
            opened: tree.get(self.program.path).map(V::attributes),
            tail: Some(tail),
            file: Lent::data(file),
            entries: tree.children(self.program.directory).map(child).collect(),
            attributes: tree.get(self.program.looks_at).map(V::attributes),
            top: tree.get(self.program.top).map(V::attributes),
            space: Some(SPACE),
        }
    }
}

impl<V: Version> Default for Scene<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Version> Played<V> {
    /// It failed, with exactly this.
    #[track_caller]
    pub fn fails(&self, error: Error) {
        assert_eq!(self.outcome, Err(error));
    }

    /// It was refused, with exactly this.
    #[track_caller]
    pub fn is_refused(&self, reason: Reason, code: u32, name: &'static str, during: &'static str) {
        self.fails(refused(reason, code, name, during));
    }

    /// It went well, and all that there is was lent.
    #[track_caller]
    pub fn is_right(&self) {
        assert_eq!(self.outcome, Ok(()));
        assert!(self.story == self.scene.truth(), "{:?}", self.story);
    }

    /// What was lent is the beginning of what there is, unless nothing told a wrong byte from a right one.
    #[track_caller]
    fn nothing_wrong_was_lent(self) -> Self {
        if !self.scene.judges {
            return self;
        }
        let (truth, story) = (self.scene.truth(), &self.story);
        assert!(story.opened.is_none() || story.opened == truth.opened, "{:?}", story.opened);
        assert!(story.file.begins(&truth.file), "wrong bytes were lent");
        if let (Some((tail, _)), Some((right, _))) = (&story.tail, &truth.tail) {
            assert!(right.starts_with(tail), "wrong bytes were read");
        }
        assert!(truth.entries.starts_with(&story.entries), "wrong entries were lent: {:?}", story.entries);
        assert!(story.attributes.is_none() || story.attributes == truth.attributes, "{:?}", story.attributes);
        assert!(story.space.is_none() || story.space == truth.space, "{:?}", story.space);
        self
    }
}

/// A refusal, spelled out.
pub const fn refused(reason: Reason, code: u32, name: &'static str, during: &'static str) -> Error {
    Error::Refused(Refusal { reason, code, name, during })
}

/// What both versions have to say of a node.
pub(crate) fn attributes(node: &Node) -> Attributes {
    let kind = match node.kind {
        Kind::File(_) => pagewire::Kind::File,
        Kind::Directory => pagewire::Kind::Directory,
        Kind::Link(_) => pagewire::Kind::Symlink,
    };
    let time = |nanoseconds| Some(Time { seconds: WRITTEN.into(), nanoseconds });
    Attributes {
        kind,
        len: node.len(),
        allocated: Some(node.used()),
        accessed: time(1),
        modified: time(2),
        changed: time(3),
        id: Some(node.id),
        links: Some(1),
        change: Some(u64::from(WRITTEN) << 32 | 3),
        ..Attributes::default()
    }
}
