//! Symbolic links: the engine says where they are and where they lead, and follows none.

use pagewire::nfs::Nfs3;
use pagewire::operation::Operation;
use pagewire::{Connect, Error, List, Open, Reason, Stat, Statfs, StorageArray};
use pagewire_hostile_nfs::v3::{Scene, Session};
use pagewire_hostile_nfs::{Chunks, Fragments, Kind, Place, Told, refused};

const READLINK: Place = (100_003, 5);

/// Path, how much of it leads to the link, and where that leads.
const LINKS: [(&str, &str, &str); 5] = [
    ("/export/link", "/export/link", "d/../f"),
    ("//export//link//", "//export//link", "d/../f"),
    ("/export/dl/entry-07", "/export/dl", "/export/d"),
    ("/export/d/deep/x/y", "/export/d/deep", "../dl"),
    ("/export/dl/missing", "/export/dl", "/export/d"),
];

fn scene() -> Scene {
    Scene::new().with(|scene| {
        let tree = scene.config.tree.clone().with("/export/dl", Kind::Link("/export/d"));
        scene.config.tree = tree.with("/export/d/deep", Kind::Link("../dl"));
    })
}

/// Connects, and shows what is connected to `then`.
fn connected(scene: &Scene, then: impl FnOnce(&mut Session<'_>)) {
    let mut storage = StorageArray::<1024, 1536, 8>::new();
    let nfs = Nfs3::new(scene.client.clone());
    let mut session = Session::new(storage.lend(), nfs, scene.line()).unwrap();
    session.run(&mut Connect::new()).unwrap();
    then(&mut session);
}

#[track_caller]
fn runs_into<'s, O>(session: &mut Session<'s>, op: &mut O, link: (&str, &str, &str))
where
    O: Operation<Nfs3<'s>>,
    O::Output: std::fmt::Debug,
{
    let (path, leads, target) = link;
    let outcome = session.run(op).map(|_| ());
    assert_eq!(outcome, Err(refused(Reason::Symlink, 5, "NF3LNK", "LOOKUP")), "{path}");
    let link = session.client.link(path).expect("the server said where");
    assert_eq!((path.get(..link.end), link.target.raw()), (Some(leads), target.as_bytes()), "{path}");
}

#[track_caller]
fn all_are_told(scene: &Scene) {
    connected(scene, |session| {
        for link in LINKS {
            runs_into(session, &mut Open::new(link.0), link);
            runs_into(session, &mut Stat::new(link.0), link);
            runs_into(session, &mut Statfs::new(link.0), link);
            runs_into(session, &mut List::new(link.0), link);
        }
        // The connection goes on.
        scene.program.run_connected::<512>(session, &mut Default::default()).unwrap();
    });
}

#[test]
fn a_link_on_the_way_says_where_it_is_and_where_it_leads() {
    all_are_told(&scene());
    for (verifier_len, lengths) in [(400, &[][..]), (0, &[9, 1, 14]), (7, &[1])] {
        all_are_told(&scene().with(|scene| {
            scene.config.rpc.fragments = Fragments { lengths, empty_last: false };
            (scene.config.rpc.verifier_len, scene.config.rpc.padding) = (verifier_len, 0x77);
            scene.chunks = Chunks::Of(5);
        }));
    }
}

#[test]
fn a_link_is_found_where_the_server_has_no_attributes_at_hand() {
    all_are_told(&scene().with(|scene| scene.config.attributes = false));
}

#[test]
fn a_listing_says_what_is_a_link() {
    let played = scene().with(|scene| scene.program.directory = "/export").play();
    played.is_right();
    let links = played.story.entries.iter().filter(|(_, entry)| entry.kind == pagewire::Kind::Symlink);
    assert_eq!(links.count(), 2);
}

#[track_caller]
fn told(tell: impl Fn(&mut Told) + 'static, error: Error) {
    connected(&scene().told(READLINK, tell), |session| {
        assert_eq!(session.run(&mut Open::new("/export/link")).err(), Some(error));
        assert_eq!(session.client.link("/export/link"), None);
    });
}

/// A target in place of the right one.
fn target(target: &'static [u8]) -> impl Fn(&mut Told) {
    move |told| {
        told.message.truncate(told.results + 92);
        told.message.extend((target.len() as u32).to_be_bytes());
        told.message.extend(target);
        told.message.resize(told.message.len().next_multiple_of(4), 0);
    }
}

#[test]
fn a_target_is_a_path_that_somebody_could_have_made() {
    told(target(b""), Error::Malformed("READLINK3resok.data"));
    told(target(b"a\0b"), Error::Malformed("READLINK3resok.data"));
    told(|told| told.word(92, u32::MAX), Error::Malformed("READLINK3resok.data"));
    let refusal = refused(Reason::Other, 22, "NFS3ERR_INVAL", "READLINK");
    told(|told| told.word(0, 22), refusal);
}

#[test]
fn a_target_that_there_is_no_room_for_is_a_matter_of_memory() {
    let need = 24 + 92 + 4 + 1400 + 64;
    told(target(&[b'a'; 1400]), Error::Budget { what: "rx", need, have: 1536 });
}
