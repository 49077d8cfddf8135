//! What is said of memory that is too little.

use pagewire::inflight::Slot;
use pagewire::nfs::Nfs4;
use pagewire::{Error, List, Protocol, Stat, Storage};
use pagewire_hostile_nfs::v4::{Scene, Session};

/// RECLAIM_COMPLETE waits to be sent when it turns out that there is no room for an entry. The session asserts that the next
/// step gives the same again.
#[test]
fn a_first_listing_for_which_too_little_was_lent_says_so_and_stays_with_it() {
    for minor in [1, 2] {
        let scene = Scene::new().minor(minor);
        let nfs = Nfs4::new(scene.client.clone());
        let need = nfs.need();
        let (mut tx, mut rx, mut slots) = (vec![0; 4096], vec![0; need.reply], vec![Slot::FREE; 4]);
        let storage = Storage { tx: &mut tx, rx: &mut rx, slots: &mut slots };
        let mut session = Session::new(storage, nfs, scene.line()).unwrap();
        let listed = session.run(&mut List::new("/export/d"));
        assert!(matches!(listed, Err(Error::Budget { what: "rx", .. })), "{listed:?}");
        assert!(session.run(&mut Stat::new("/export/f")).is_ok(), "the connection goes on");
    }
}
