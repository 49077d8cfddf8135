//! Listings.

use pagewire::Error;
use pagewire_hostile::{Scene, Setup};
use pagewire_model::{Command, Lie};

/// Whatever the protection, the listing fails with this after so many entries, all of them right.
#[track_caller]
fn fails_after(entries: usize, lie: Lie, error: Error) {
    for setup in Setup::every() {
        let played = Scene::new(setup).told(lie).play();
        played.fails(error);
        assert_eq!(played.story.entries.len(), entries, "{setup:?}");
        assert_eq!(played.story.attributes, None, "the connection is of no more use");
    }
}

#[test]
fn a_listing_that_says_the_same_again_and_again_is_left() {
    for setup in Setup::every() {
        let played = Scene::new(setup).told(Lie::ListingNeverEnds).play();
        played.fails(Error::Misbehaved("a listing goes round"));
        assert!(played.link.requests(Command::QueryDirectory) <= 3);
    }
}

/// Three pages: what came before the round is found has been lent, and no more than twice.
#[test]
fn a_listing_that_begins_again_after_its_end_is_left() {
    for setup in Setup::every() {
        let mut scene = Scene::new(setup).told(Lie::ListingGoesRound);
        scene.judges = false;
        let played = scene.play();
        played.fails(Error::Misbehaved("a listing goes round"));
        assert!(played.story.entries.len() <= 3 * 61, "{setup:?}: {}", played.story.entries.len());
    }
}

#[test]
fn a_page_of_a_listing_without_an_entry_is_refused_and_not_asked_for_again() {
    let error = Error::Misbehaved("a listing brought no entry and no end");
    fails_after(0, Lie::EmptyPages, error);
    let both = Scene::new(Setup::PLAIN[0]).told(Lie::EmptyPages).told(Lie::ListingNeverEnds);
    both.play().fails(error);
}

#[test]
fn a_name_that_would_lead_elsewhere_is_refused() {
    let error = Error::Misbehaved("a listing has a name with a separator or a NUL, or an empty one");
    for lie in [Lie::NameWithSlash, Lie::NameWithBackslash, Lie::NameWithNul] {
        fails_after(61, lie, error);
    }
}

#[test]
fn a_name_that_is_none_is_refused() {
    fails_after(61, Lie::NameEmpty, Error::Malformed("FileIdFullDirectoryInformation.FileNameLength"));
}

#[test]
fn the_name_of_the_directory_above_is_left_out_wherever_it_stands() {
    super::is_harmless(Lie::NameDotDot);
}

#[test]
fn a_name_that_is_longer_than_its_page_is_refused() {
    let error = Error::Malformed("FileIdFullDirectoryInformation.FileName");
    fails_after(0, Lie::NameLengthBeyond, error);
}

#[test]
fn an_entry_that_is_not_followed_where_it_says_is_refused() {
    let error = Error::Malformed("FileIdFullDirectoryInformation.NextEntryOffset");
    for lie in [Lie::EntryOffsetBeyond, Lie::EntryOffsetTooSmall] {
        fails_after(0, lie, error);
    }
}
