//! What READ may bring, and what it must not.

use pagewire::{Error, Reason};
use pagewire_hostile_nfs::v3::{Played, Scene};
use pagewire_hostile_nfs::{Kind, Place, Told, Tree};

const LOOKUP: Place = (100_003, 3);
const READ: Place = (100_003, 6);

/// Where in the results, with attributes, they stand.
const COUNT: usize = 92;
const EOF: usize = 96;
const LEN: usize = 100;

/// In the first reply, and in the fourth, with others in flight and a part lent.
#[track_caller]
fn fails(tell: impl Fn(&mut Told) + Copy + 'static, error: Error) {
    for nth in [0, 3] {
        Scene::new().told_once(READ, nth, tell).play().fails(error);
    }
}

/// What a reply has been asked for.
fn asked(told: &Told) -> u32 {
    u32::from_be_bytes(*told.args.last_chunk().unwrap())
}

fn words(told: &mut Told, count: u32, eof: u32, data: &[u8]) {
    told.word(COUNT, count);
    told.word(EOF, eof);
    told.word(LEN, data.len() as u32);
    told.message.truncate(told.results + LEN + 4);
    told.message.extend(data);
    told.message.resize(told.message.len().next_multiple_of(4), 0);
    told.data.clear();
}

#[test]
fn more_than_was_asked_is_refused() {
    let more = Error::Misbehaved("READ brought more than was asked");
    for surplus in [1, 4, 100_000] {
        let longer = move |told: &mut Told| {
            let len = asked(told) + surplus;
            words(told, len, 0, &vec![0xBB; len as usize]);
        };
        fails(longer, more);
    }
    // Only said, and not done: it is what is longer than the record.
    fails(|told| (told.word(COUNT, u32::MAX), told.word(LEN, 0x7FFF_FFFF)).0, more);
    fails(|told| told.word(LEN, 0x8000_0000), Error::Malformed("READ3resok.data"));
    fails(|told| told.word(LEN, 5000), Error::Malformed("a message is longer than its frame"));
    fails(|told| told.word(LEN, 4092), Error::Malformed("a message ends before its head does"));
}

#[test]
fn nothing_without_an_end_is_no_progress() {
    let nothing = Error::Misbehaved("READ3resok.count");
    fails(|told| words(told, 0, 0, &[]), nothing);
    fails(|told| words(told, 0, 0, &[0xBB; 64]), nothing);
    fails(|told| words(told, 64, 0, &[]), nothing);
    fails(|told| words(told, 64, 1, &[]), nothing);
    // In the middle of a short read too.
    let scene = Scene::new().with(|scene| scene.config.brings = 1000);
    scene.told_once(READ, 9, |told| words(told, 0, 0, &[])).play().fails(nothing);
}

/// What the server said in a reply that is long is the server's fault, whatever memory there is.
#[test]
fn a_long_reply_that_makes_no_sense_is_malformed_and_no_matter_of_memory() {
    fails(|told| told.word(EOF, 2), Error::Malformed("READ3resok.eof"));
    fails(|told| told.word(8, 99), Error::Malformed("fattr3.type"));
    fails(|told| told.word(4, 2), Error::Malformed("post_op_attr.attributes_follow"));
    fails(|told| told.word(COUNT, 0), Error::Misbehaved("READ3resok.count"));
}

#[test]
fn an_end_in_the_middle_is_where_the_file_ends_now() {
    for (now, brings) in [(0, 4096), (1, 4096), (5000, 4096), (5000, 100), (8192, 4096), (12_345, 999)] {
        let scene = Scene::new().with(|scene| {
            let tree = scene.config.tree.clone();
            let Some(Kind::File(file)) = tree.get("/export/f").map(|node| node.kind.clone()) else {
                panic!()
            };
            let short = tree.0.into_iter().map(|mut node| {
                if node.path == "/export/f" {
                    node.kind = Kind::File(file.truncated(now));
                }
                node
            });
            scene.config.tree = Tree(short.collect());
            (scene.config.brings, scene.judges) = (brings, false);
        });
        // It was longer when it was opened.
        let longer = |told: &mut Told| told.word(56, 20_003);
        let played = scene.told_once(LOOKUP, 0, longer).play();
        let truth = played.scene.truth();
        assert_eq!(played.outcome, Ok(()), "{now}");
        assert_eq!(played.story.opened.map(|was| was.len), Some(20_003));
        assert!(played.story.file == truth.file, "{now}: {}", played.story.file.len());
        assert_eq!(played.story.tail, Some((truth.tail.unwrap().0, true)), "{now}");
        assert_eq!(played.story.entries, truth.entries);
    }
}

#[test]
fn the_end_may_be_told_with_less_than_there_is() {
    // The server says that the file ends, and when asked again says so with nothing.
    let scene = Scene::new().with(|scene| scene.config.brings = 1000);
    let played = scene.told(READ, |told| told.word(EOF, 1)).play();
    // More comes when more is asked for: what was lent is right either way.
    played.is_right();
}

#[test]
fn a_refusal_in_the_middle_ends_what_was_lent() {
    for nth in 0..6 {
        for (status, reason, name) in [
            (70, Reason::Expired, "NFS3ERR_STALE"),
            (13, Reason::Denied, "NFS3ERR_ACCES"),
            (5, Reason::Other, "NFS3ERR_IO"),
        ] {
            let refuse = move |told: &mut Told| {
                told.word(0, status);
                told.message.truncate(told.results + 92);
            };
            let played = Scene::new().told_once(READ, nth, refuse).play();
            played.is_refused(reason, status, name, "READ");
            // All in front of it was lent; the first requests are of 4096 bytes.
            assert!(
                nth > 4 || played.story.file.len() == nth as u64 * 4096,
                "{nth}: {}",
                played.story.file.len()
            );
        }
    }
}

/// A server's limit may be larger than a frame.
#[test]
fn a_read_is_never_longer_than_a_frame_may_be() {
    use pagewire::nfs::Nfs3;
    use pagewire::{Buffer, Connect, Open, Read, StorageArray};
    use pagewire_hostile_nfs::v3::Session;

    const LEN: usize = 20 << 20;
    let scene = Scene::new().with(|scene| {
        scene.config.tree = Tree::default().with("/export", Kind::Directory).pattern("/export/f", LEN);
        scene.config.rtmax = u32::MAX;
    });
    let mut storage = StorageArray::<1024, 1536, 2>::new();
    let nfs = Nfs3::new(scene.client.clone());
    let mut session = Session::new(storage.lend(), nfs, scene.line()).unwrap();
    session.run(&mut Connect::new()).unwrap();
    let file = session.run(&mut Open::new("/export/f")).unwrap();
    let mut memory = vec![0; 2 * LEN];
    let filled = session.run(&mut Read::new(&file, 0, &mut Buffer(&mut memory)));
    assert_eq!(filled.map(|filled| (filled.len, filled.eof)), Ok((LEN, true)));
    assert!(memory[..LEN] == scene.truth().file.bytes());
}

#[test]
fn replies_that_are_exchanged_go_where_their_numbers_say() {
    // Nothing tells a wrong byte from a right one; but the places are those that were asked for, and no others.
    let scene = Scene::new().with(|scene| scene.judges = false);
    let [first, second] = [0, 1].map(|nth| {
        let xid = 0xFFFF_FFF8_u32.wrapping_add(5 + 1 - nth);
        move |told: &mut Told| told.message[..4].copy_from_slice(&xid.to_be_bytes())
    });
    let played: Played = scene.told_once(READ, 0, first).told_once(READ, 1, second).play();
    let mut exchanged = played.scene.truth().file.bytes();
    let (front, back) = exchanged[..8192].split_at_mut(4096);
    front.swap_with_slice(back);
    assert_eq!(played.outcome, Ok(()));
    assert!(played.story.file.bytes() == exchanged);
}
