//! The least memory that is admitted is enough, and less is not.

use pagewire::inflight::Slot;
use pagewire::nfs::Nfs3;
use pagewire::nfs::rpc::{AuthSys, Credential};
use pagewire::{Connect, Error, List, Open, Pages, Protocol, Read, Stat, Statfs, Storage};
use pagewire_hostile_nfs::v3::{Scene, Session};
use pagewire_hostile_nfs::{Kind, Xdr};

/// Memory of these lengths, and what is played over it.
fn lent<T>(
    scene: &Scene,
    [tx, rx, slots]: [usize; 3],
    play: impl FnOnce(&mut Session<'_>) -> T,
) -> Result<T, Error> {
    let (mut tx, mut rx, mut slots) = (vec![0; tx], vec![0; rx], vec![Slot::FREE; slots]);
    let storage = Storage { tx: &mut tx, rx: &mut rx, slots: &mut slots };
    let mut session = Session::new(storage, Nfs3::new(scene.client.clone()), scene.line())?;
    Ok(play(&mut session))
}

fn least(scene: &Scene) -> [usize; 3] {
    let need = Nfs3::new(scene.client.clone()).need();
    [need.tx, need.reply, need.slots]
}

/// The longest of everything: credential, names, handles, verifiers, and attributes.
fn longest() -> Scene {
    const GIDS: [u32; 16] = [7; 16];
    let machine_name: &str = Box::leak("m".repeat(255).into_boxed_str());
    let path: &str = Box::leak(format!("/export/{0}/{0}", "n".repeat(255)).into_boxed_str());
    let mut body = Xdr::default();
    body.word(1).opaque(machine_name.as_bytes()).word(2).word(3).word(16);
    body.bytes.extend(GIDS.iter().flat_map(|gid| gid.to_be_bytes()));
    let mut credential = Xdr::default();
    credential.word(1).opaque(&body.bytes);
    Scene::new().with(|scene| {
        let tree = scene.config.tree.clone();
        scene.config.tree = tree.with(&path[..263], Kind::Directory).pattern(path, 5003);
        scene.config.rpc.credential = credential.bytes;
        (scene.config.handle_len, scene.config.rpc.verifier_len) = (64, 400);
        let sys = AuthSys { stamp: 1, machine_name, uid: 2, gid: 3, gids: &GIDS };
        scene.client.credential = Credential::Sys(sys);
        scene.program.path = path;
    })
}

#[test]
fn with_the_least_memory_everything_but_a_listing_works() {
    for scene in [longest(), longest().with(|scene| scene.config.attributes = false)] {
        let [tx, rx, slots] = least(&scene);
        let listed = lent(&scene, [tx, rx, slots], |session| {
            session.run(&mut Connect::new()).unwrap();
            let file = session.run(&mut Open::new(scene.program.path)).unwrap();
            let mut pages = [[0; 512]; 10];
            let filled = session.run(&mut Read::new(&file, 0, &mut Pages(&mut pages))).unwrap();
            assert_eq!((filled.len, filled.eof), (5003, true));
            assert!(pages.as_flattened()[..5003] == scene.truth().file.bytes());
            assert_eq!(session.run(&mut Stat::new(scene.program.path)).unwrap().len, 5003);
            session.run(&mut Statfs::new(scene.program.path)).unwrap();
            session.run(&mut List::new("/export/d"))
        });
        // A listing wants room for an entry, and says how much; then that is enough.
        let Ok(Err(Error::Budget { what: "rx", need, have })) = listed else { panic!("{listed:?}") };
        assert_eq!(have, rx, "what was lent");
        for (rx, works) in [(need - 1, false), (need, true)] {
            let listed = lent(&scene, [tx, rx, slots], |session| {
                session.run(&mut Connect::new()).unwrap();
                session.run(&mut List::new("/export/d"))
            });
            let said = Err(Error::Budget { what: "rx", need, have: rx });
            assert_eq!(listed, Ok(if works { Ok(()) } else { said }));
        }
    }
}

#[test]
fn less_than_the_least_is_a_matter_of_memory() {
    let least = least(&Scene::new());
    for (at, what) in ["tx", "rx", "slots"].into_iter().enumerate() {
        let mut less = least;
        less[at] -= 1;
        let outcome = lent(&Scene::new(), less, |_| ());
        assert_eq!(outcome, Err(Error::Budget { what, need: least[at], have: least[at] - 1 }));
    }
}

#[test]
fn a_path_to_mount_that_does_not_fit_says_so() {
    let path: &str = Box::leak(format!("/export/{}", "p".repeat(900)).into_boxed_str());
    let scene = Scene::new().with(|scene| scene.client.path = path);
    let [tx, rx, slots] = least(&scene);
    // Mark, header, length.
    let need = 4 + 40 + 4 + 908;
    let connect = |tx| lent(&scene, [tx, rx, slots], |session| session.run(&mut Connect::new()));
    assert_eq!(connect(tx), Ok(Err(Error::Budget { what: "tx", need, have: tx })));
    assert_eq!(connect(need - 1), Ok(Err(Error::Budget { what: "tx", need, have: need - 1 })));
    assert_eq!(connect(need), Ok(Ok(())));
}
