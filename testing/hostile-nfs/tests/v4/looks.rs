//! What the server says of names, listings, attributes and links, by raw bytes.

use crate::asker::{Asked, Asker, lookup, op, root};
use pagewire_hostile_nfs::v4::{Config, op, status};
use pagewire_hostile_nfs::{Args, Kind, Layout};

fn asker(minor: u32) -> Asker {
    let mut config = Config::default();
    let tree = config.tree.with("/export/f", Kind::File(Layout::of(&[100, 900])));
    config.tree =
        (0..5).fold(tree.with("/l", Kind::Link("export/f")), |tree, n| tree.pattern(&format!("/n{n}"), n));
    Asker::connected(config, minor)
}

fn readdir(cookie: u64, verifier: u64, maxcount: u32) -> Asked {
    op(op::READDIR, |x| x.hyper(cookie).hyper(verifier).words(&[0, maxcount, 1, 1 << 20]))
}

/// Names and cookies of a listing, whether it ends, and what its verifier is.
fn listed(listing: &[u8]) -> (Vec<(String, u64)>, bool, u64) {
    let mut args = Args(listing);
    let (verifier, mut entries) = (args.hyper(), Vec::new());
    while args.word() == 1 {
        let cookie = args.hyper();
        entries.push((String::from_utf8(args.opaque().to_vec()).unwrap(), cookie));
        assert_eq!([args.word(), args.word()], [1, 1 << 20], "what was asked for");
        assert_eq!(args.opaque().len(), 8);
    }
    (entries, args.word() == 1, verifier)
}

#[test]
fn a_listing_goes_on_where_it_was_and_with_its_verifier_only() {
    for minor in 0..3 {
        let mut asker = asker(minor);
        let mut list =
            |cookie, verifier, maxcount| asker.within(vec![root(), readdir(cookie, verifier, maxcount)]);
        // A verifier, two words at the end, and 40 bytes for each entry.
        let first = list(0, 0, 16 + 100);
        let (entries, eof, verifier) = listed(&first.last);
        assert!(first.last.len() <= 116 && !eof);
        let (_, cookie) = entries[1];
        let (rest, eof, _) = listed(&list(cookie, verifier, 4096).last);
        let names: Vec<_> = entries[..2].iter().chain(&rest).map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, eof), (vec!["export", "l", "n0", "n1", "n2", "n3", "n4"], true));
        assert_eq!(list(cookie, verifier + 1, 4096).status, status::NOT_SAME);
        assert_eq!(list(cookie + 1, verifier, 4096).status, status::BAD_COOKIE);
        assert_eq!(list(0, 0, 16 + 39).status, status::TOOSMALL);
    }
}

#[test]
fn only_what_is_asked_for_and_known_is_told() {
    let mut asker = asker(0);
    let mut look = |words: [u32; 2]| {
        let getattr = op(op::GETATTR, |x| x.word(2).words(&words));
        asker.within(vec![root(), lookup("export"), lookup("f"), getattr]).words()
    };
    // type and size; space_used.
    assert_eq!(look([1 << 1 | 1 << 4, 1 << 13]), [2, 0x12, 0x2000, 20, 1, 0, 1000, 0, 100]);
    // time_create is not known, and so there is no second word.
    assert_eq!(look([1 << 1, 1 << 18]), [1, 2, 4, 1]);
    assert_eq!(look([0, 0]), [0, 0]);
}

#[test]
fn what_may_be_done_is_to_read() {
    let told = asker(0).within(vec![root(), op(op::ACCESS, |x| x.word(0x3F))]);
    assert_eq!(told.words(), [0x3F, 0x23]);
}

#[test]
fn paths_end_where_there_is_no_way() {
    let links = [status::INVAL, status::WRONG_TYPE, status::WRONG_TYPE];
    for (minor, no_link) in (0..3).zip(links) {
        let mut asker = asker(minor);
        let readlink = || op(op::READLINK, |x| x);
        let getfh = || op(op::GETFH, |x| x);
        for (asked, expected) in [
            (vec![root(), lookup("l"), lookup("x")], status::SYMLINK),
            (vec![root(), lookup("n1"), lookup("x")], status::NOTDIR),
            (vec![root(), lookup("x")], status::NOENT),
            (vec![root(), lookup("n1"), readlink()], no_link),
            (vec![root(), lookup("n1"), readdir(0, 0, 4096)], status::NOTDIR),
            (vec![getfh()], status::NOFILEHANDLE),
            (vec![op(op::PUTFH, |x| x.opaque(&[1; 20])), getfh()], status::BADHANDLE),
        ] {
            assert_eq!(asker.within(asked).status, expected, "{minor}");
        }
        let target = asker.within(vec![root(), lookup("l"), readlink()]).last;
        assert_eq!(target, b"\0\0\0\x08export/f");
        let handle = asker.within(vec![root(), lookup("n3"), getfh()]).last;
        let size = op(op::GETATTR, |x| x.words(&[1, 1 << 4]));
        let told = asker.within(vec![op(op::PUTFH, |x| x.raw(&handle)), size]);
        assert_eq!(told.words(), [1, 1 << 4, 8, 0, 3]);
    }
}
