//! Servers that are right, each in its own way: the same comes of it.

use pagewire::nfs::Nfs4;
use pagewire::nfs::rpc::{AuthSys, Credential};
use pagewire::operation::Operation;
use pagewire::{
    Buffer, Connect, Error, List, Map, MapSegment, Open, Pages, Read, Reason, Stat, Statfs, StorageArray,
    Stream,
};
use pagewire_hostile_nfs::v4::{Channel, Config, Quirk, Scene, Session, When, op, status};
use pagewire_hostile_nfs::{Chunks, Fragments, Kind, Layout, Segment, Story, Xdr, refused};

/// The scene at each minor version.
fn minors() -> impl Iterator<Item = Scene> {
    (0..3).map(|minor| Scene::new().minor(minor))
}

/// Connects, and shows what is connected to `then`.
pub fn connected(scene: &Scene, then: impl FnOnce(&mut Session<'_>)) {
    let mut storage = StorageArray::<1024, 4096, 8>::new();
    let nfs = Nfs4::new(scene.client.clone());
    let mut session = Session::new(storage.lend(), nfs, scene.line()).unwrap();
    session.run(&mut Connect::new()).unwrap();
    then(&mut session);
}

#[test]
fn the_same_is_read_at_every_minor_version() {
    for scene in minors() {
        let played = scene.play();
        played.is_right();
        let server = &played.line.end;
        assert_eq!(
            (server.open_files(), server.session_count()),
            (0, (server.config.minors != (0..=0)).into())
        );
    }
}

#[test]
fn the_highest_minor_version_that_both_have_is_spoken() {
    for highest in 0..3 {
        let scene = Scene::new().with(|scene| scene.config.minors = 0..=highest);
        connected(&scene, |session| assert_eq!(session.client.protocol().minor(), Some(highest)));
        scene.play().is_right();
    }
}

#[test]
fn a_large_file_reads_the_same_at_every_page_size() {
    for minor in 0..3 {
        let scene = |maxread, ring| {
            Scene::new().minor(minor).with(|scene| {
                scene.config.tree = scene.config.tree.clone().pattern("/export/big", 700_001);
                scene.config.maxread = maxread;
                (scene.program.path, scene.program.ring, scene.program.tail) = ("/export/big", ring, 699_000);
            })
        };
        for maxread in [4096, 65_536, 1 << 20] {
            scene(maxread, 128 << 10).play_in::<4096>().is_right();
            scene(maxread, 128 << 10).play_in::<16_384>().is_right();
            scene(maxread, 256 << 10).play_in::<65_536>().is_right();
        }
    }
}

/// The map of `/export/sparse` from an offset on.
fn map(scene: &Scene, from: u64) -> Vec<Segment> {
    let mut segments = Vec::new();
    connected(scene, |session| {
        let file = session.run(&mut Open::new("/export/sparse")).unwrap();
        let mut map = Map::new(&file, from);
        let each = |MapSegment { offset, len, hole }| segments.push(Segment { offset, len, hole });
        session.run_each(&mut map, each).unwrap();
        // The reply to the CLOSE is not waited for; it was sent.
        session.run(&mut Stat::new("")).unwrap();
        assert_eq!(session.link.end.open_files(), 0, "every file is closed");
    });
    segments
}

/// With a file that has holes.
pub fn sparse(minor: u32, layout: &Layout) -> Scene {
    Scene::new().minor(minor).with(|scene| {
        scene.config.tree = scene.config.tree.clone().with("/export/sparse", Kind::File(layout.clone()));
    })
}

#[test]
fn a_map_is_the_layout() {
    for page in [4096, 16_384, 65_536] {
        for (name, layout) in Layout::table(page, 34 * page + 5) {
            for quirk in [None, Some(Quirk::SeekEndsThere)] {
                let scene = sparse(2, &layout);
                let scene = quirk.into_iter().fold(scene, |scene, quirk| scene.quirk(When::Always, quirk));
                for from in [0, 1, page, 3 * page - 1, layout.len() - 1, layout.len()] {
                    let expected: Vec<_> = layout.segments(from, layout.len()).collect();
                    assert_eq!(map(&scene, from), expected, "{name} of {page} from {from}, {quirk:?}");
                }
            }
        }
    }
}

#[test]
fn where_nothing_can_be_sought_all_is_data() {
    let layout = Layout::alternating(4096, true, 40_000);
    let all = [Segment { offset: 0, len: 40_000, hole: false }];
    for scene in [0, 1].map(|minor| sparse(minor, &layout)) {
        assert_eq!(map(&scene, 0), all);
    }
    let scene = sparse(2, &layout);
    let refuses = Quirk::Refuses(op::SEEK, status::NOTSUPP);
    assert_eq!(map(&scene.quirk(When::Always, refuses), 0), all);
}

#[test]
fn every_chunking_gives_the_same() {
    for scene in minors() {
        let chunks = |chunks| scene.clone().with(|scene| scene.chunks = chunks);
        for len in (1..=16).chain([100, 127, 128, 129, 511, 512, 513, 1460, 4096, 4144, 8192]) {
            chunks(Chunks::Of(len)).play().is_right();
        }
        for seed in 1..20 {
            chunks(Chunks::Random { seed, max: 1 << (1 + seed % 13) }).play().is_right();
        }
    }
}

#[test]
fn records_may_be_cut_into_fragments_anywhere() {
    for scene in minors() {
        for (lengths, empty_last) in [
            (&[9, 1, 14][..], false),
            (&[24], false),
            (&[44, 1000], true),
            (&[0, 0, 3, 0, 999], false),
            (&[], true),
        ] {
            let scene = scene.clone().with(|scene| {
                scene.config.rpc.fragments = Fragments { lengths, empty_last };
                (scene.config.rpc.verifier_len, scene.config.rpc.padding) = (5, 0xDE);
            });
            scene.clone().play().is_right();
            scene.with(|scene| scene.chunks = Chunks::Of(7)).play().is_right();
        }
    }
}

#[test]
fn a_read_may_bring_less_than_was_asked() {
    for scene in minors() {
        for brings in [1, 7, 511, 512, 513, 4095] {
            let scene = scene.clone().with(|scene| {
                scene.config.brings = brings;
                scene.config.tree = scene.config.tree.clone().pattern("/export/g", 5000);
                (scene.program.path, scene.program.tail) = ("/export/g", 4000);
            });
            scene.play().is_right();
        }
    }
}

#[test]
fn replies_may_come_in_any_order() {
    for scene in minors() {
        let scene = scene.with(|scene| (scene.config.rpc.reversed, scene.config.brings) = (true, 3000));
        scene.play().is_right();
    }
}

#[test]
fn a_session_may_be_small() {
    for slots in [1, 2, 3] {
        for target in [None, Some(0)] {
            let scene = Scene::new().with(|scene| {
                let operations = 6;
                scene.config.channel =
                    Channel { request_len_max: 1024, response_len_max: 3000, operations, slots };
            });
            let quirk = target.map(Quirk::TargetSlot);
            let scene = quirk.into_iter().fold(scene, |scene, quirk| scene.quirk(When::Always, quirk));
            scene.play().is_right();
        }
    }
}

#[test]
fn reads_are_whole_pages_as_the_server_and_the_session_allow() {
    for (maxread, response_len_max, longest) in [(5000, 4 << 20, 4608), (1 << 20, 9000, 8192)] {
        let scene = Scene::new().with(|scene| {
            scene.config.maxread = maxread;
            scene.config.channel.response_len_max = response_len_max;
            scene.program.ring = 128 << 10;
        });
        let played = scene.play();
        played.is_right();
        assert_eq!(played.line.end.longest_read, longest);
    }
}

#[test]
fn replies_to_reads_fit_into_the_session_to_the_last_byte() {
    for response_len_max in 2600..2700 {
        let scene = Scene::new().minor(2).with(|scene| {
            scene.config.maxread = 1 << 20;
            scene.config.channel.response_len_max = response_len_max;
        });
        connected(&scene, |session| {
            let file = session.run(&mut Open::new("/export/f")).unwrap();
            let mut memory = vec![0; 20_003];
            let filled = session.run(&mut Read::new(&file, 0, &mut Buffer(&mut memory)));
            assert_eq!(filled.map(|filled| filled.len), Ok(20_003), "{response_len_max}");
            assert!(memory == scene.truth().file.bytes());
            let room = response_len_max - session.link.end.longest_read;
            assert!(room < 120, "{room} bytes are left");
        });
    }
}

#[test]
fn special_stateids_are_tried_one_after_the_other() {
    for (minor, scene) in minors().enumerate() {
        scene.clone().with(|scene| scene.config.takes_bypass = false).play().is_right();
        let opened = |config: &mut Config| (config.takes_bypass, config.takes_anonymous) = (false, false);
        let played = scene.with(|scene| opened(&mut scene.config)).play();
        match minor {
            // A file can only be opened by name there: what was open before has to be opened again.
            0 => played.is_refused(Reason::Expired, status::BAD_STATEID, "NFS4ERR_BAD_STATEID", "READ"),
            _ => {
                played.is_right();
                assert_eq!(played.line.end.open_files(), 0, "what was opened is closed");
            }
        }
    }
}

/// Path, how much of it leads to the link, and where that leads.
const LINKS: [(&str, &str, &str); 4] = [
    ("/export/link", "/export/link", "d/../f"),
    ("//export//link//", "//export//link", "d/../f"),
    ("/export/dl/entry-07", "/export/dl", "/export/d"),
    ("/export/d/deep/x/y", "/export/d/deep", "../dl"),
];

#[track_caller]
fn runs_into<'s, O>(session: &mut Session<'s>, op: &mut O, link: (&str, &str, &str))
where
    O: Operation<Nfs4<'s>>,
    O::Output: std::fmt::Debug,
{
    let (path, leads, target) = link;
    let outcome = session.run(op).map(|_| ());
    let symlink = refused(Reason::Symlink, status::SYMLINK, "NFS4ERR_SYMLINK", "LOOKUP");
    assert_eq!(outcome, Err(symlink), "{path}");
    let link = session.client.link(path).expect("the server said where");
    assert_eq!((path.get(..link.end), link.target.raw()), (Some(leads), target.as_bytes()), "{path}");
}

#[test]
fn links_are_told_and_not_followed() {
    for scene in minors() {
        let scene = scene.with(|scene| {
            let tree = scene.config.tree.clone().with("/export/dl", Kind::Link("/export/d"));
            scene.config.tree = tree.with("/export/d/deep", Kind::Link("../dl"));
        });
        connected(&scene, |session| {
            for link in LINKS {
                runs_into(session, &mut Open::new(link.0), link);
                runs_into(session, &mut Stat::new(link.0), link);
                runs_into(session, &mut Statfs::new(link.0), link);
                runs_into(session, &mut List::new(link.0), link);
            }
            scene.program.run_connected::<512>(session, &mut Default::default()).unwrap();
        });
    }
}

#[test]
fn a_directory_of_500_names_passes_through_little_memory() {
    for scene in minors() {
        let scene = scene.with(|scene| {
            let tree = scene.config.tree.clone().with("/export/many", Kind::Directory);
            let name = |n: usize| format!("/export/many/.{n:03}{}", "x".repeat(n % 252));
            scene.config.tree = (0..500).fold(tree, |tree, n| tree.pattern(&name(n), n % 5));
            scene.program.directory = "/export/many";
        });
        let played = scene.play();
        played.is_right();
        assert_eq!(played.story.entries.len(), 500);
    }
}

#[test]
fn the_credential_is_sent_as_it_was_given() {
    let mut body = Xdr::default();
    body.word(0x1122_3344).opaque(b"board").word(1000).word(100).word(2).word(4).word(27);
    let mut credential = Xdr::default();
    credential.word(1).opaque(&body.bytes);
    let sys = AuthSys { stamp: 0x1122_3344, machine_name: "board", uid: 1000, gid: 100, gids: &[4, 27] };
    let known = Scene::new().with(|scene| scene.config.rpc.credential = credential.bytes);
    known.clone().with(|scene| scene.client.credential = Credential::Sys(sys)).play().is_right();
    known.play().is_refused(Reason::Authentication, 1, "AUTH_BADCRED", "COMPOUND");
}

#[test]
fn an_operation_that_is_dropped_anywhere_leaves_the_next_one_right() {
    for (scene, chunks) in minors().zip([Chunks::Whole, Chunks::Of(97), Chunks::Of(700)]) {
        let scene = scene.with(|scene| scene.chunks = chunks);
        connected(&scene, |session| {
            for steps in 1..60 {
                let file = session.run(&mut Open::new("/export/f")).unwrap();
                let mut pages = [[0; 512]; 32];
                session.abandon(Stream::new(&file, 0, &mut Pages(&mut pages)), steps);
                session.abandon(Open::new("/export/d/entry-07"), steps / 9);
                session.abandon(List::new("/export/d"), steps / 4);
                let mut story = Story::default();
                assert_eq!(scene.program.run_connected::<512>(session, &mut story), Ok(()));
                assert!(story == scene.truth(), "{chunks:?} {steps}");
            }
        });
    }
}

#[test]
fn a_line_that_breaks_is_closed_wherever_it_breaks() {
    for minor in 0..3 {
        let scene = Scene::small().minor(minor);
        let whole = scene.clone().play();
        whole.is_right();
        for at in 0..whole.line.given {
            let played = scene.clone().with(|scene| scene.cut = Some(at)).play();
            played.fails(Error::Closed);
        }
    }
}

#[test]
fn a_wrong_bit_does_no_harm_to_the_engine() {
    for minor in 0..3 {
        let scene = Scene::small().minor(minor);
        let len = scene.clone().play().line.given;
        let failed = (0..len).filter(|at| {
            let flip = Some((*at, (*at as u32 * 5 / 3) % 8));
            let flipped = scene.clone().with(|scene| (scene.flip, scene.judges) = (flip, false));
            flipped.play().outcome.is_err()
        });
        let failed = failed.count();
        assert!(failed > len / 10 && failed < len, "{failed} of {len} failed");
    }
}

#[test]
fn a_page_that_the_file_does_not_fill_is_zero_behind_its_end() {
    for scene in minors() {
        connected(&scene, |session| {
            let file = session.run(&mut Open::new("/export/d/entry-07")).unwrap();
            let mut pages = [[0xAA; 512]];
            let filled = session.run(&mut Read::new(&file, 0, &mut Pages(&mut pages))).unwrap();
            assert_eq!(
                (filled.len, filled.eof, pages[0][7..].iter().all(|byte| *byte == 0)),
                (7, true, true)
            );
        });
    }
}
