//! Servers that are right, each in its own way: the same comes of it.

use pagewire::nfs::Nfs3;
use pagewire::nfs::rpc::{AuthSys, Credential};
use pagewire::{Connect, Error, List, Open, Pages, Reason, StorageArray, Stream};
use pagewire_hostile_nfs::v3::{Scene, Session};
use pagewire_hostile_nfs::{Chunks, Fragments, Kind, Story, Tree, Xdr, refused};

#[test]
fn ports_come_from_the_port_mapper_or_from_the_caller() {
    let played = Scene::new().play();
    played.is_right();
    assert_eq!(played.line.end.rpc.calls[..4], [(100_000, 3), (100_000, 3), (100_005, 1), (100_003, 19)]);
    for (mount_port, nfs_port, mapped) in
        [(Some(20_048), Some(12_049), 0), (None, Some(12_049), 1), (Some(20_048), None, 0)]
    {
        let scene = Scene::new().with(|scene| {
            (scene.client.mount_port, scene.client.nfs_port) = (mount_port, nfs_port);
            // Where nobody asks, it is where it always is.
            scene.config.nfs_port = nfs_port.unwrap_or(2049);
        });
        let played = scene.play();
        played.is_right();
        assert_eq!(played.line.end.rpc.calls.iter().filter(|call| call.0 == 100_000).count(), mapped);
    }
}

#[test]
fn mount_and_nfs_may_share_a_port() {
    let scene = Scene::new().with(|scene| scene.config.mount_port = scene.config.nfs_port);
    scene.play().is_right();
}

#[test]
fn a_large_file_reads_the_same_at_every_page_size() {
    let scene = |rtmax, ring| {
        Scene::new().with(|scene| {
            let tree = Tree::default().with("/export", Kind::Directory).pattern("/export/big", 300_000);
            scene.config.tree = tree.with("/export/d", Kind::Directory).pattern("/export/d/entry-07", 7);
            scene.config.rtmax = rtmax;
            (scene.program.path, scene.program.ring, scene.program.tail) = ("/export/big", ring, 298_500);
        })
    };
    for rtmax in [4096, 65_536, 1 << 20] {
        scene(rtmax, 64 << 10).play_in::<512>().is_right();
        scene(rtmax, 128 << 10).play_in::<4096>().is_right();
        scene(rtmax, 256 << 10).play_in::<65_536>().is_right();
        scene(rtmax, 512).play_in::<512>().is_right();
    }
}

#[test]
fn a_directory_of_500_names_passes_through_little_memory() {
    for attributes in [true, false] {
        let scene = Scene::new().with(|scene| {
            let tree = scene.config.tree.clone().with("/export/many", Kind::Directory);
            let name = |n: usize| format!("/export/many/.{n:03}{}", "x".repeat(n % 252));
            scene.config.tree = (0..500).fold(tree, |tree, n| tree.pattern(&name(n), n % 5));
            scene.config.attributes = attributes;
            scene.program.directory = "/export/many";
        });
        let played = scene.play();
        played.is_right();
        assert_eq!(played.story.entries.len(), 500);
    }
}

#[test]
fn every_chunking_gives_the_same() {
    let chunks = |chunks| Scene::new().with(|scene| scene.chunks = chunks);
    for len in (1..=64).chain([100, 127, 128, 129, 511, 512, 513, 1460, 4096, 4144, 8192]) {
        chunks(Chunks::Of(len)).play().is_right();
    }
    for seed in 1..60 {
        chunks(Chunks::Random { seed, max: 1 << (1 + seed % 13) }).play().is_right();
    }
}

const LENGTHS: [&[usize]; 9] =
    [&[12, 12], &[8, 8, 8], &[9, 1, 14], &[4], &[24], &[28, 4], &[44, 1000], &[0, 700], &[0, 0, 3, 0, 999]];

#[test]
fn records_may_be_cut_into_fragments_anywhere() {
    for lengths in LENGTHS {
        for chunk in [Chunks::Whole, Chunks::Of(1), Chunks::Of(7)] {
            let scene = Scene::new().with(|scene| {
                scene.config.rpc.fragments = Fragments { lengths, empty_last: false };
                (scene.config.rpc.verifier_len, scene.chunks) = (5, chunk);
            });
            scene.play().is_right();
        }
    }
    for attributes in [true, false] {
        let scene = Scene::small().with(|scene| {
            scene.config.rpc.fragments = Fragments { lengths: &[1], empty_last: false };
            scene.config.attributes = attributes;
        });
        scene.play().is_right();
    }
}

#[test]
fn an_empty_fragment_may_end_a_record() {
    for lengths in LENGTHS.into_iter().chain([&[][..]]) {
        let scene =
            Scene::new().with(|scene| scene.config.rpc.fragments = Fragments { lengths, empty_last: true });
        scene.play().is_right();
    }
}

#[test]
fn a_server_may_have_no_attributes_at_hand() {
    Scene::new().with(|scene| scene.config.attributes = false).play().is_right();
}

#[test]
fn verifiers_and_padding_may_be_anything() {
    for verifier_len in [1, 4, 399, 400] {
        for attributes in [true, false] {
            let scene = Scene::new().with(|scene| {
                (scene.config.rpc.verifier_len, scene.config.rpc.padding) = (verifier_len, 0xDE);
                (scene.config.attributes, scene.config.brings) = (attributes, 1021);
            });
            scene.play().is_right();
        }
    }
}

#[test]
fn a_read_may_bring_less_than_was_asked() {
    for brings in (1..=40).chain([511, 512, 513, 1023, 4095]) {
        let scene = Scene::new().with(|scene| {
            scene.config.brings = brings;
            scene.config.tree = scene.config.tree.clone().pattern("/export/g", 5000);
            (scene.program.path, scene.program.tail) = ("/export/g", 4000);
        });
        scene.play().is_right();
    }
}

#[test]
fn count_and_the_length_of_the_data_may_differ() {
    for (surplus, deficit) in [(1, 0), (2, 0), (3, 0), (4, 0), (999, 0), (0, 1), (0, 4), (0, 999)] {
        for brings in [usize::MAX, 1000] {
            let scene = Scene::new().with(|scene| {
                let config = &mut scene.config;
                (config.surplus, config.deficit, config.brings) = (surplus, deficit, brings);
            });
            scene.play().is_right();
        }
    }
}

#[test]
fn replies_may_come_in_any_order() {
    for attributes in [true, false] {
        let scene = Scene::new().with(|scene| {
            (scene.config.rpc.reversed, scene.config.attributes) = (true, attributes);
            scene.config.brings = 3000;
        });
        scene.play().is_right();
    }
}

#[test]
fn what_is_not_mounted_lies_below_what_is() {
    for (status, name) in [(13, "ACCES"), (2, "NOENT"), (20, "NOTDIR"), (1, "PERM"), (63, "NAMETOOLONG")] {
        let scene = Scene::new().with(|scene| {
            scene.client.path = "/export/d/entry-07";
            scene.config.unmountable = vec![("/export/d/entry-07", status), ("/export/d", status)];
        });
        let played = scene.play();
        played.is_right();
        assert_eq!(played.line.end.mounts, ["/export/d/entry-07", "/export/d", "/export"], "{name}");
    }
}

#[test]
fn a_file_may_be_mounted_and_the_root_too() {
    for path in ["/", "", "/export/", "//export"] {
        let scene = Scene::new().with(|scene| scene.client.path = path);
        let played = scene.clone().with(|scene| scene.config.unmountable = vec![("//export", 2)]).play();
        played.is_right();
    }
    let scene = Scene::new().with(|scene| {
        scene.client.path = "/export/f";
        (scene.program.directory, scene.program.looks_at) = ("/export/f", "/export/f");
    });
    let played = scene.play();
    // A file has no entries; until then all went well.
    played.fails(refused(Reason::NotDirectory, 20, "NFS3ERR_NOTDIR", "READDIRPLUS"));
    assert_eq!(played.story.file, played.scene.truth().file);
    assert_eq!(played.line.end.mounts, ["/export/f", "/export"]);
    assert!(!played.line.end.rpc.calls.contains(&(100_003, 3)), "nothing is to be looked up");
}

#[test]
fn where_nothing_is_mounted_the_first_refusal_is_told() {
    for reversed in [false, true] {
        let scene = Scene::new().with(|scene| {
            scene.client.path = "/export/d";
            scene.config.unmountable = vec![("/export/d", 2), ("/export", 20), ("/", 13)];
            scene.config.rpc.reversed = reversed;
        });
        let played = scene.play();
        played.is_refused(Reason::NotFound, 2, "MNT3ERR_NOENT", "MNT");
        assert_eq!(played.line.end.mounts, ["/export/d", "/export", "/"]);
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
    let refused = known.play();
    refused.is_refused(Reason::Authentication, 1, "AUTH_BADCRED", "GETPORT");
}

#[test]
fn a_read_is_no_longer_than_the_server_says() {
    for rtmax in [1, 3, 511, 4095] {
        let scene = Scene::small().with(|scene| scene.config.rtmax = rtmax);
        let played = scene.play();
        played.is_right();
        // Two are in a ring of 1024 bytes.
        assert_eq!(played.line.end.longest_read, rtmax.min(512));
    }
    let played = Scene::new().with(|scene| scene.config.rtmax = u32::MAX).play();
    played.is_right();
    Scene::new().with(|scene| scene.config.rtmax = 0).play().fails(Error::Misbehaved("FSINFO3resok.rtmax"));
}

#[test]
fn an_operation_that_is_dropped_anywhere_leaves_the_next_one_right() {
    for (chunks, lengths) in
        [(Chunks::Whole, &[][..]), (Chunks::Of(700), &[]), (Chunks::Of(97), &[9, 1, 14, 900])]
    {
        let scene = Scene::new().with(|scene| {
            scene.config.rpc.fragments = Fragments { lengths, empty_last: false };
            scene.chunks = chunks;
        });
        let mut storage = StorageArray::<1024, 1536, 8>::new();
        let nfs = Nfs3::new(scene.client.clone());
        let mut session = Session::new(storage.lend(), nfs, scene.line()).unwrap();
        session.run(&mut Connect::new()).unwrap();
        for steps in 1..60 {
            let file = session.run(&mut Open::new("/export/f")).unwrap();
            let mut pages = [[0; 512]; 32];
            session.abandon(Stream::new(&file, 0, &mut Pages(&mut pages)), steps);
            session.abandon(Open::new("/export/d/entry-07"), steps / 9);
            session.abandon(List::new("/export/d"), steps / 4);
            let mut story = Story::default();
            assert_eq!(scene.program.run_connected::<512>(&mut session, &mut story), Ok(()));
            assert!(story == scene.truth(), "{chunks:?} {steps}");
        }
    }
}
