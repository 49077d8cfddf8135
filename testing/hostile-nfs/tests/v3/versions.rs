//! Files that are written while they are opened and read: what is lent is of one version, or it is said that it need not be.

use crate::chains::{GETATTR, READ, asked};
use crate::delays::{JUKEBOX, refuses};
use pagewire::Error;
use pagewire_hostile_nfs::v3::Scene;
use pagewire_hostile_nfs::{Came, Lent, Told, Xdr, fetch};

/// 7 bytes.
const FILE: &str = "/export/d/entry-07";

/// Where in the results of READ the attributes stand, the lower word of the file's length, and when it was written.
const ATTRIBUTES: usize = 8;
const SIZE: usize = ATTRIBUTES + 24;
const MTIME: usize = ATTRIBUTES + 68;
const ATTRIBUTES_LEN: usize = 84;

/// What comes of the file where `mounted` is: itself, so that it is opened and read at once, or a directory above, so that it is
/// read a round trip after it was opened.
fn came(scene: Scene, mounted: &'static str) -> Came {
    let mut all = Vec::new();
    asked(scene, mounted, |session| all = fetch(session, &[FILE]));
    all.pop().expect("there is one for each path")
}

fn right() -> Lent {
    Scene::new().with(|scene| scene.program.path = FILE).truth().file
}

/// Whether all of it was said to be there and of one version. It is right, too.
#[track_caller]
fn whole(scene: Scene, mounted: &'static str) -> bool {
    let came = came(scene, mounted);
    assert!(came.content == right(), "{came:?}");
    came.opened.expect("it was opened").1
}

/// The reply has no attributes of the file.
fn bare(told: &mut Told) {
    told.word(ATTRIBUTES - 4, 0);
    let at = told.results + ATTRIBUTES;
    told.message.drain(at..at + ATTRIBUTES_LEN);
    told.data.iter_mut().for_each(|data| *data = data.start - ATTRIBUTES_LEN..data.end - ATTRIBUTES_LEN);
}

/// It brings other bytes than the file has.
fn garble(told: &mut Told) {
    for data in told.data.clone() {
        told.message[data].fill(b'O');
    }
}

#[test]
fn a_file_that_is_written_between_its_opening_and_a_read_is_told_and_nothing_of_it_lent() {
    for (word, value) in [(SIZE, 8), (MTIME, 1_704_164_646), (MTIME + 4, 9)] {
        let written = move |told: &mut Told| {
            garble(told);
            told.word(word, value);
        };
        // In two reads, of which the first or only the second one tells.
        for (mounted, reversed, nth) in [
            ("/export", false, 0),
            ("/export", false, 1),
            (FILE, false, 0),
            (FILE, false, 1),
            // What tells of another version comes before the file is open.
            (FILE, true, 0),
        ] {
            let scene = Scene::new().told_once(READ, nth, written).with(|scene| {
                (scene.config.brings, scene.config.rpc.reversed) = (4, reversed);
            });
            let came = came(scene, mounted);
            assert_eq!(came.end, Err(Error::Changed), "{word} {mounted} {reversed} {nth}");
            assert!(came.content.is_empty() && came.opened.is_none_or(|(_, whole)| !whole), "{came:?}");
        }
    }
}

#[test]
fn a_file_is_whole_if_it_came_with_its_opening_or_the_last_read_tells_that_it_is_the_same() {
    let short = Scene::new().with(|scene| scene.config.brings = 4);
    for reversed in [false, true] {
        let scene = |scene: &Scene| scene.clone().with(|scene| scene.config.rpc.reversed = reversed);
        for mounted in ["/export", FILE] {
            assert!(whole(scene(&Scene::new()), mounted));
            assert!(whole(scene(&short), mounted));
            assert!(
                whole(scene(&short).told_once(READ, 0, bare), mounted),
                "the second one tells it for both"
            );
            assert!(!whole(scene(&short).told_once(READ, 1, bare), mounted));
        }
        assert!(whole(scene(&Scene::new()).told(READ, bare), FILE));
        assert!(!whole(scene(&Scene::new()).told(READ, bare), "/export"));
    }
}

#[test]
fn a_file_that_ends_before_it_should_is_not_whole() {
    let ended = |told: &mut Told| {
        let mut body = Xdr::default();
        body.words(&[0, 0, 0, 1, 0]);
        told.body(&body);
    };
    let ended_with_attributes = |told: &mut Told| {
        told.word(ATTRIBUTES + ATTRIBUTES_LEN, 0);
        told.word(ATTRIBUTES + ATTRIBUTES_LEN + 4, 1);
        told.word(ATTRIBUTES + ATTRIBUTES_LEN + 8, 0);
        told.message.truncate(told.results + ATTRIBUTES + ATTRIBUTES_LEN + 12);
        told.data.clear();
    };
    for (mounted, reversed) in [("/export", false), (FILE, false), (FILE, true)] {
        let scene = Scene::new().with(|scene| scene.config.rpc.reversed = reversed);
        for scene in [scene.clone().told(READ, ended), scene.told(READ, ended_with_attributes)] {
            let came = came(scene, mounted);
            assert!(came.content.is_empty() && came.end == Ok(0), "{came:?}");
            assert!(came.opened.is_some_and(|(_, whole)| !whole), "{mounted} {reversed}: {came:?}");
        }
    }
}

/// The file may be written while the client waits: neither bytes nor version of before count.
#[test]
fn what_was_read_before_a_pause_is_not_taken_for_what_is_opened_after_it() {
    for pauses in [1, 2] {
        let scene = Scene::new().told_once(GETATTR, 0, refuses(JUKEBOX));
        let scene = if pauses == 2 { scene.told_once(GETATTR, 1, refuses(JUKEBOX)) } else { scene };
        for reversed in [false, true] {
            let scene = scene.clone().with(|scene| scene.config.rpc.reversed = reversed);
            let older = |told: &mut Told| {
                garble(told);
                told.word(MTIME, 7);
            };
            assert!(whole(scene.clone().told_once(READ, 0, older), FILE), "{pauses}");
            assert!(!whole(scene.told(READ, bare).told_once(READ, 0, garble), FILE), "{pauses}");
        }
    }
}
