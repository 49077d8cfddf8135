//! The engine against the model server: what is told, what is played, what has to come of it.

use crate::model::{Lie, Place, Told};
use crate::tree::WRITTEN;
use crate::{Chunks, Config, Kind, Line, Model, Node, Program, Session, Story, Tree};
use pagewire::nfs::{self, Nfs3};
use pagewire::{Attributes, Counters, Error, Reason, Refusal, Space, StorageArray, Time};
use std::rc::Rc;

/// What every server of the model has.
const SPACE: Space = Space { total: 1 << 40, free: 1 << 39, available: 1 << 38, unit: 1 };

/// One play. The fields may be changed before it.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The client.
    pub client: nfs::Config<'static>,
    /// The server.
    pub config: Config,
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
pub struct Played {
    /// What was played.
    pub scene: Scene,
    /// How it ended.
    pub outcome: Result<(), Error>,
    /// As far as it came.
    pub story: Story,
    /// What it cost.
    pub counters: Counters,
    /// The other end, as it is left.
    pub line: Line,
}

impl Scene {
    /// A file of 20,003 bytes in reads of 4096 at most, and a directory of 60 entries, which takes many replies.
    pub fn new() -> Scene {
        let tree = Tree::default().with("/export", Kind::Directory).with("/export/d", Kind::Directory);
        let tree = tree.pattern("/export/f", 20_003).with("/export/link", Kind::Link("d/../f"));
        let tree = (0..60).fold(tree, |tree, n| tree.pattern(&format!("/export/d/entry-{n:02}"), n));
        Scene {
            client: nfs::Config::new("/export", 0xFFFF_FFF8),
            config: Config { tree, rtmax: 4096, ..Config::default() },
            program: Program {
                path: "/export/f",
                ring: 16_384,
                tail: 12_345,
                directory: "/export/d",
                looks_at: "/export/d/entry-07",
            },
            chunks: Chunks::Whole,
            cut: None,
            flip: None,
            judges: true,
        }
    }

    /// The same with a file of 700 bytes in reads of 256 and a directory of three entries, for what is played a
    /// thousand times.
    pub fn small() -> Scene {
        let tree = Tree::default().with("/export", Kind::Directory).with("/export/d", Kind::Directory);
        let tree = tree.pattern("/export/f", 700).pattern("/export/d/a", 1).pattern("/export/d/b.txt", 2);
        let mut scene = Scene::new();
        scene.config =
            Config { tree: tree.with("/export/d/sub", Kind::Directory), rtmax: 256, ..scene.config };
        scene.program = Program { ring: 1024, tail: 512, looks_at: "/export/d/a", ..scene.program };
        scene
    }

    /// With something changed.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Scene)) -> Scene {
        change(&mut self);
        self
    }

    /// With a lie in every reply to calls of `place`.
    #[must_use]
    pub fn told(mut self, place: Place, tell: impl Fn(&mut Told) + 'static) -> Scene {
        self.config.lies.push(Lie { place, nth: None, tell: Rc::new(tell) });
        self
    }

    /// With a lie in the reply to the `nth` call of `place`.
    #[must_use]
    pub fn told_once(mut self, place: Place, nth: usize, tell: impl Fn(&mut Told) + 'static) -> Scene {
        self.config.lies.push(Lie { place, nth: Some(nth), tell: Rc::new(tell) });
        self
    }

    /// The other end.
    pub fn line(&self) -> Line {
        let model = Model::new(self.config.clone(), Nfs3::first_port(&self.client));
        Line { model, chunks: self.chunks, cut: self.cut, flip: self.flip, given: 0 }
    }

    /// Plays it with pages of 512 bytes.
    #[must_use]
    pub fn play(self) -> Played {
        self.play_in::<512>()
    }

    /// Plays it with pages of `SIZE` bytes.
    #[must_use]
    pub fn play_in<const SIZE: usize>(self) -> Played {
        let mut storage = StorageArray::<1024, 1536, 8>::new();
        let nfs = Nfs3::new(self.client.clone());
        let mut session = Session::new(storage.lend(), nfs, self.line()).expect("the storage is enough");
        let mut story = Story::default();
        let outcome = self.program.run::<SIZE>(&mut session, &mut story);
        let counters = *session.client.counters();
        Played { outcome, story, counters, line: session.line, scene: self }.nothing_wrong_was_lent()
    }

    /// What has to come of it if nothing goes wrong.
    pub fn truth(&self) -> Story {
        let tree = &self.config.tree;
        let file = match tree.get(self.program.path).map(|node| &node.kind) {
            Some(Kind::File(bytes)) => bytes.clone(),
            _ => Vec::new(),
        };
        let tail = &file[file.len().min(self.program.tail as usize)..];
        let tail = (tail[..tail.len().min(2048)].to_vec(), tail.len() <= 2048);
        let child = |node: &Node| (node.name().to_owned(), self.listed(node));
        Story {
            opened: tree.get(self.program.path).map(attributes),
            tail: Some(tail),
            file,
            entries: tree.children(self.program.directory).map(child).collect(),
            attributes: tree.get(self.program.looks_at).map(attributes),
            space: Some(SPACE),
        }
    }

    fn listed(&self, node: &Node) -> Attributes {
        match self.config.attributes {
            true => Attributes { hidden: node.name().starts_with('.'), ..attributes(node) },
            false => Attributes { kind: pagewire::Kind::Other, id: Some(node.id), ..Attributes::default() },
        }
    }
}

impl Default for Scene {
    fn default() -> Self {
        Self::new()
    }
}

impl Played {
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
        assert!(truth.file.starts_with(&story.file), "wrong bytes were lent");
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

fn attributes(node: &Node) -> Attributes {
    let kind = match node.kind {
        Kind::File(_) => pagewire::Kind::File,
        Kind::Directory => pagewire::Kind::Directory,
        Kind::Link(_) => pagewire::Kind::Symlink,
    };
    let time = |nanoseconds| Some(Time { seconds: WRITTEN.into(), nanoseconds });
    Attributes {
        kind,
        len: node.len(),
        allocated: Some(node.len()),
        accessed: time(1),
        modified: time(2),
        changed: time(3),
        id: Some(node.id),
        links: Some(1),
        change: Some(u64::from(WRITTEN) << 32 | 3),
        ..Attributes::default()
    }
}
