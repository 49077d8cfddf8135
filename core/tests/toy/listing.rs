//! Directories of any length pass through a small `rx`.

use super::peer::{Peer, Reply};
use super::protocol::LIST;
use super::world::{Memory, World};
use pagewire::{Error, List, Stat};

fn peer(names: &[&[u8]]) -> Peer {
    Peer { names: names.iter().map(|name| name.to_vec()).collect(), ..Peer::default() }
}

fn names_of(world: &mut World<'_>) -> Result<Vec<Vec<u8>>, Error> {
    let mut names = Vec::new();
    world.list(|_, entry| names.push(entry.name.raw().to_vec()))?;
    Ok(names)
}

#[test]
fn twenty_thousand_entries_pass_through_one_kib() {
    let names: Vec<Vec<u8>> = (0..20_000).map(|i| format!("a file with number {i}").into_bytes()).collect();
    let mut memory = Memory::new(64, 1024, 1);
    let mut world = World::connected(&mut memory, Peer { names: names.clone(), ..Peer::default() });
    let mut at = 0;
    world
        .list(|_, entry| {
            assert_eq!((entry.name.raw(), entry.attributes.len), (&names[at][..], at as u64));
            at += 1;
        })
        .unwrap();
    assert_eq!(at, 20_000);
    let lists = world.peer.log.iter().filter(|request| request.kind == LIST);
    assert!(
        lists.clone().all(|request| request.len == 1024 - 64 - 20),
        "all of rx but head and scratch is used"
    );
}

#[test]
fn an_empty_directory_and_one_of_dots_alone_are_done_without_an_item() {
    for names in [&[][..], &[&b"."[..], b".."][..]] {
        let mut memory = Memory::slots(1);
        let mut world = World::connected(&mut memory, peer(names));
        assert_eq!(names_of(&mut world), Ok(vec![]));
    }
    let mut memory = Memory::slots(1);
    let mut world = World::connected(&mut memory, peer(&[b".", b"a", b"..", b"...", b"b"]));
    assert_eq!(names_of(&mut world), Ok(vec![b"a".to_vec(), b"...".to_vec(), b"b".to_vec()]));
}

#[test]
fn names_that_must_not_be_joined_to_a_path_end_the_listing() {
    let what = "a listing has a name with a separator or a NUL, or an empty one";
    for bad in [&b""[..], b"a/b", b"/", b"../x", b"a\0", b"../../etc"] {
        for names in [&[bad][..], &[&b"good"[..], bad][..]] {
            let mut memory = Memory::slots(1);
            let mut world = World::connected(&mut memory, peer(names));
            world.assert_fatal(&mut List::new("dir"), Error::Misbehaved(what));
        }
    }
}

/// Lists a directory of two whose first reply is changed by `lie`; the error must be exactly this.
#[track_caller]
fn assert_lie(lie: impl Fn(&mut Vec<u8>) + 'static, error: Error) {
    let mut memory = Memory::slots(1);
    let mut world = World::connected(&mut memory, peer(&[b"one", b"two"]));
    world.peer.lie = Some(Box::new(move |request, replies| {
        if request.kind == LIST {
            lie(&mut replies[0].body);
            replies[0].len = replies[0].body.len() as u32;
        }
    }));
    world.assert_fatal(&mut List::new("dir"), error);
}

#[test]
fn a_listing_that_goes_round_is_ended() {
    let round = Error::Misbehaved("a listing goes round");
    // The second entry starts behind the cursor and the first, at 17.
    assert_lie(|body| body[8 + 17..][..4].copy_from_slice(&17u32.to_le_bytes()), round);
    assert_lie(|body| body[8 + 17..][..4].copy_from_slice(&1u32.to_le_bytes()), round);
    let stands = Error::Misbehaved("the cursor of a listing does not move on");
    assert_lie(|body| body[..8].copy_from_slice(&1u64.to_le_bytes()), stands);
}

#[test]
fn entries_that_lie_outside_their_reply_are_malformed() {
    assert_lie(
        |body| body[8..12].copy_from_slice(&28u32.to_le_bytes()),
        Error::Malformed("length of a file"),
    );
    assert_lie(
        |body| body[8..12].copy_from_slice(&9999u32.to_le_bytes()),
        Error::Malformed("offset of an entry"),
    );
    assert_lie(|body| body.truncate(8 + 17 + 16), Error::Malformed("name"));
    assert_lie(|body| body.truncate(7), Error::Malformed("cursor"));
}

#[test]
fn entries_are_kept_while_they_are_lent_though_the_next_reply_waits() {
    let names: Vec<Vec<u8>> = (0..200).map(|i| format!("{i:09}").into_bytes()).collect();
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer { names: names.clone(), ..Peer::default() });
    let (mut seen, mut ahead) = (Vec::new(), 0);
    world
        .list(|peer, entry| {
            seen.push(entry.name.raw().to_vec());
            ahead += peer.queue.len();
        })
        .unwrap();
    assert_eq!(seen, names);
    assert!(ahead > 100, "the next part is asked for before the entries of this one are lent");
}

#[test]
fn the_next_reply_in_a_frame_waits_until_the_entries_before_it_were_lent() {
    let names: Vec<Vec<u8>> = (0..20).map(|i| format!("{i:09}").into_bytes()).collect();
    for chunk in [1, 100, 9999] {
        let mut memory = Memory::new(512, 4096, 2);
        let peer =
            Peer { names: names.clone(), chain: true, lists_twice: true, sealed: true, ..Peer::default() };
        let mut world = World::connected(&mut memory, peer);
        world.read_max = chunk;
        let frames = world.peer.frames;
        assert_eq!(names_of(&mut world), Ok([&names[..], &names[..]].concat()));
        assert_eq!(world.peer.frames, frames + 1);
    }
}

#[test]
fn a_refused_listing_says_so_and_the_next_operation_is_right() {
    let mut memory = Memory::slots(1);
    let mut world = World::connected(&mut memory, peer(&[b"a"]));
    assert!(matches!(world.run(&mut List::new("nowhere")), Err(Error::Refused(_))));
    assert_eq!(names_of(&mut world), Ok(vec![b"a".to_vec()]));
    assert_eq!(world.run(&mut Stat::new("file")).unwrap().len, 3000);
}

#[test]
fn a_notice_between_the_parts_of_a_listing_does_no_harm() {
    let names: Vec<Vec<u8>> = (0..200).map(|i| format!("{i:09}").into_bytes()).collect();
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer { names: names.clone(), ..Peer::default() });
    world.peer.lie = Some(Box::new(|request, replies| {
        let notice = Reply { id: super::protocol::NOTICE, ..Reply::to(request, vec![0xFF; 500]) };
        replies.insert(0, notice);
    }));
    assert_eq!(names_of(&mut world), Ok(names));
    assert!(world.client.protocol().notices > 1);
}
