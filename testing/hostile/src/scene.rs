//! The engine against the model server: what is told, what is played, what has to come of it.

use crate::{Conversation, Heard, Link, Program, Recorder, Session, Setup, Story};
use pagewire::smb::Smb;
use pagewire::{Attributes, Counters, Error, Kind, StorageArray, Time};
use pagewire_model::{Config, Lie, Model, Tree};
use std::ops::Deref;

/// What every file of the tree says of when it was written.
const WRITTEN: Time = Time { seconds: 1_704_164_645, nanoseconds: 0 };

/// One play. The fields may be changed before it.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The client.
    pub setup: Setup,
    /// The server.
    pub config: Config,
    /// What is asked.
    pub program: Program,
    /// Whether wrong bytes are the engine's fault: not where the line garbles what nothing protects.
    pub judges: bool,
}

/// What came of it.
pub struct Played<L> {
    scene: Scene,
    /// How it ended.
    pub outcome: Result<(), Error>,
    /// As far as it came.
    pub story: Story,
    /// What it cost.
    pub counters: Counters,
    /// The other end, as it is left.
    pub link: L,
}

impl Scene {
    /// A file of 20,003 bytes in reads of 4096 at most, and a directory of 61 entries, which takes several replies.
    pub fn new(setup: Setup) -> Scene {
        let tree = (0..60).fold(Tree::new(), |tree, n| tree.pattern(&format!("d/entry-{n:02}"), n));
        let tree = tree.pattern("f", 20_003).directory("d/sub");
        let program = Program {
            path: "f",
            offset: 0,
            ring: 16_384,
            tail: 12_345,
            directory: "d",
            looks_at: "d/entry-07",
        };
        let config = Config { tree, guest: setup.is_guest(), max_read_size: 4096, ..Config::default() };
        Scene { setup, config, program, judges: true }
    }

    /// The same with a file of 700 bytes in reads of 256 and a directory of three entries, for what is played a
    /// thousand times.
    pub fn small(setup: Setup) -> Scene {
        let tree = Tree::new().pattern("f", 700).pattern("d/a", 1).pattern("d/b", 2).directory("d/sub");
        let mut scene = Scene::new(setup);
        scene.program = Program { ring: 1024, tail: 600, looks_at: "d/b", ..scene.program };
        scene.config = Config { tree, max_read_size: 256, ..scene.config };
        scene
    }

    /// The same with a file of three runs of data and four holes, the first of which is too short to be left out.
    pub fn sparse(setup: Setup) -> Scene {
        let mut scene = Scene::new(setup);
        let runs = [5000..9000, 80_000..80_001, 200_000..203_000];
        scene.config.tree = scene.config.tree.sparse("f", 300_000, &runs);
        scene
    }

    /// With a lie.
    #[must_use]
    pub fn told(mut self, lie: Lie) -> Scene {
        self.config.lies.push(lie);
        self
    }

    /// Plays it against the model with pages of 512 bytes.
    pub fn play(self) -> Played<Server> {
        let server = Server(Model::new(self.config.clone()));
        self.play_over(server)
    }

    /// Plays it over another link.
    pub fn play_over<L: Link>(self, link: L) -> Played<L> {
        let mut storage = StorageArray::<4096, 4096, 16>::new();
        let smb = Smb::new(self.setup.config());
        let mut session = Session::new(storage.lend(), smb, link).expect("the storage is enough");
        let mut story = Story::default();
        let outcome = self.program.run::<512, _>(&mut session, &mut story);
        let counters = *session.client.counters();
        Played { outcome, story, counters, link: session.link, scene: self }.nothing_wrong_was_lent()
    }

    /// Plays it honestly and gives what was said.
    pub fn record(self) -> Conversation {
        let recorder = Recorder::new(Server(Model::new(self.config.clone())));
        let played = self.play_over(recorder);
        assert_eq!(played.outcome, Ok(()));
        played.link.end().1
    }

    /// What has to come of it if nothing goes wrong.
    pub fn truth(&self) -> Story {
        let content = |offset| {
            let Some(pagewire_model::Kind::File(content)) = self.kind(self.program.path) else {
                return vec![];
            };
            content.read(offset, usize::MAX >> 1)
        };
        let child = |node: &pagewire_model::Node| (node.name.clone(), attributes(node));
        let tree = &self.config.tree;
        Story {
            opened: tree.get(self.program.path).map(attributes),
            file: content(self.program.offset),
            tail: content(self.program.tail),
            entries: tree.children(self.program.directory).map(child).collect(),
            attributes: tree.get(self.program.looks_at).map(attributes),
        }
    }

    fn kind(&self, path: &str) -> Option<&pagewire_model::Kind> {
        self.config.tree.get(path).map(|node| &node.kind)
    }
}

impl<L> Played<L> {
    /// It failed, with exactly this.
    #[track_caller]
    pub fn fails(&self, error: Error) {
        assert_eq!(self.outcome, Err(error), "{:?} told {:?}", self.scene.setup, self.scene.config.lies);
    }

    /// It went well, and all that there is was lent.
    #[track_caller]
    pub fn went_well(&self) {
        assert_eq!(self.outcome, Ok(()), "{:?} told {:?}", self.scene.setup, self.scene.config.lies);
        assert_eq!(comparable(&self.story), self.scene.truth());
    }

    /// What was lent is the beginning of what there is, unless nothing told a wrong byte from a right one.
    #[track_caller]
    fn nothing_wrong_was_lent(self) -> Self {
        if !self.scene.judges {
            return self;
        }
        let (truth, story) = (self.scene.truth(), comparable(&self.story));
        assert!(story.opened.is_none() || story.opened == truth.opened, "{:?}", story.opened);
        assert!(truth.file.starts_with(&story.file), "wrong bytes were lent");
        assert!(truth.tail.starts_with(&story.tail), "wrong bytes were lent");
        assert!(truth.entries.starts_with(&story.entries), "wrong entries were lent: {:?}", story.entries);
        assert!(story.attributes.is_none() || story.attributes == truth.attributes, "{:?}", story.attributes);
        self
    }
}

impl Played<Server> {
    /// It went well, and nothing is left behind.
    #[track_caller]
    pub fn is_right(&self) {
        self.went_well();
        assert_eq!(self.link.open_handles(), 0, "every handle is closed");
        assert!(!self.link.is_closed(), "the server has no complaint");
    }
}

/// Kind, length and time: what the tree says of a file in words that both sides share.
fn attributes(node: &pagewire_model::Node) -> Attributes {
    let kind = if node.is_directory() { Kind::Directory } else { Kind::File };
    Attributes { kind, len: node.len(), modified: Some(WRITTEN), ..Attributes::default() }
}

/// The story without what the tree does not say.
fn comparable(story: &Story) -> Story {
    let said = |said: &Attributes| Attributes {
        kind: said.kind,
        len: said.len,
        modified: said.modified,
        ..Attributes::default()
    };
    Story {
        opened: story.opened.as_ref().map(said),
        entries: story.entries.iter().map(|(name, attributes)| (name.clone(), said(attributes))).collect(),
        attributes: story.attributes.as_ref().map(said),
        ..story.clone()
    }
}

/// The model server as a link.
pub struct Server(pub Model);

impl Deref for Server {
    type Target = Model;

    fn deref(&self) -> &Model {
        &self.0
    }
}

impl Link for Server {
    fn send(&mut self, bytes: &[u8]) -> usize {
        self.0.input(bytes);
        bytes.len()
    }

    fn receive(&mut self, window: &mut [u8]) -> Heard {
        let bytes = self.0.output_up_to(window.len());
        window[..bytes.len()].copy_from_slice(&bytes);
        match bytes.len() {
            0 if self.is_closed() => Heard::Closed,
            0 => Heard::Silence,
            len => Heard::Bytes(len),
        }
    }
}
