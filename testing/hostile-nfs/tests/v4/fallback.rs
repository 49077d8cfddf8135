//! READ_PLUS that is refused, or of no use, in the midst of reading: READ brings the rest.

use crate::founding::streamed;
use crate::honest::{connected, sparse};
use crate::plus::{chunkings, count, scene, wrong};
use pagewire::{Error, Map, Open, Reason};
use pagewire_hostile_nfs::v4::{Quirk, Scene, Shape, When, op, status};
use pagewire_hostile_nfs::{Kind, Layout};

/// The most requests in flight.
const SLOTS: usize = 8;

fn refuses(when: When, status: u32) -> Scene {
    scene().quirk(when, Quirk::Refuses(op::READ_PLUS, status))
}

/// It is right in every chunking; from the first reply that was useless on there is no READ_PLUS but what was in
/// flight. Returns how many there were.
#[track_caller]
fn falls_back(scene: &Scene) -> usize {
    let mut known = None;
    for chunks in chunkings() {
        let played = scene.clone().with(|scene| scene.chunks = chunks).play();
        played.is_right();
        let compounds = &played.line.end.compounds;
        let first_read = compounds.iter().position(|ops| ops.contains(&op::READ)).expect("there is a READ");
        assert_eq!(count(&compounds[first_read..], op::READ_PLUS), 0, "{chunks:?}");
        let plus = count(compounds, op::READ_PLUS);
        assert_eq!(*known.get_or_insert(plus), plus, "{chunks:?}");
    }
    known.unwrap()
}

#[test]
fn a_refusal_of_several_requests_in_flight_is_the_same_for_all() {
    for status in [status::NOTSUPP, status::OP_ILLEGAL, status::INVAL, 10_078] {
        let plus = falls_back(&refuses(When::Always, status));
        assert!((2..=SLOTS).contains(&plus), "{plus} were in flight");
    }
}

#[test]
fn read_plus_may_be_refused_after_any_number_of_requests() {
    for k in 1..6 {
        let plus = falls_back(&refuses(When::From(k), status::NOTSUPP));
        assert!((k + 1..=k + SLOTS).contains(&plus), "{k}: {plus}");
        falls_back(&refuses(When::Nth(k), status::NOTSUPP));
    }
}

#[test]
fn requests_answered_last_first_fall_back_too() {
    for when in [When::Always, When::Nth(0), When::Nth(1), When::From(2)] {
        let reversed = |scene: &mut Scene| scene.config.rpc.reversed = true;
        falls_back(&refuses(when, status::NOTSUPP).with(reversed));
        falls_back(&scene().quirk(when, Quirk::Segments(Shape::EmptyAtZero)).with(reversed));
    }
}

#[test]
fn a_reply_without_progress_is_the_last_of_its_kind() {
    for shape in [Shape::NoSegments, Shape::EmptyAtZero, Shape::Elsewhere(1), Shape::Elsewhere(60_000)] {
        for when in [When::Always, When::Nth(0), When::Nth(2), When::From(3)] {
            falls_back(&scene().quirk(when, Quirk::Segments(shape)));
        }
    }
}

#[test]
fn behind_a_gap_nothing_is_used() {
    for len in [1, 4, 300] {
        for chunks in chunkings() {
            wrong(Shape::Gap(len)).with(|scene| scene.chunks = chunks).play().is_right();
        }
    }
}

#[test]
fn segments_in_another_order_are_used_as_far_as_they_go_on() {
    for chunks in chunkings() {
        wrong(Shape::Reversed).with(|scene| scene.chunks = chunks).play().is_right();
    }
}

#[test]
fn what_was_refused_stays_away_for_the_session() {
    let scene = refuses(When::Nth(0), status::NOTSUPP);
    let streamed = streamed::<512>(&scene, 16_384);
    assert_eq!(streamed.lent.holes(), []);
    let played = scene.play();
    // The stream's first requests, and none of the read that follows it.
    assert!(count(&played.line.end.compounds, op::READ_PLUS) <= SLOTS);
}

#[test]
fn read_tells_whether_it_is_the_file_that_cannot_be_read() {
    let scene = refuses(When::Always, 5).quirk(When::Always, Quirk::Refuses(op::READ, 5));
    scene.play().is_refused(Reason::Other, 5, "NFS4ERR_IO", "READ");
}

#[test]
fn no_read_plus_is_asked_of_a_file_without_holes_or_below_minor_version_2() {
    for scene in [Scene::new().minor(2), scene().minor(1), scene().minor(0)] {
        let played = scene.play();
        played.is_right();
        assert_eq!(count(&played.line.end.compounds, op::READ_PLUS), 0);
    }
}

#[test]
fn a_file_that_changes_while_its_holes_are_left_out_is_told_and_one_that_is_read_is_not() {
    let layout = Layout::of(&[70_000, 90_000, 70_000]);
    let changing = Scene::new().minor(2).quirk(When::Always, Quirk::Changes).with(|scene| {
        scene.config.tree = scene.config.tree.clone().with("/export/sparse", Kind::File(layout.clone()));
    });
    let outcome = |scene: &Scene| streamed::<4096>(scene, 65_536).outcome;
    assert_eq!(outcome(&changing), Err(Error::Changed));
    let unchanged = changing.clone().with(|scene| scene.config.quirks.clear());
    assert_eq!(outcome(&unchanged), Ok(layout.len()));
    // Without SEEK, READ_PLUS tells the holes in one breath with the data.
    let refuses = Quirk::Refuses(op::SEEK, status::NOTSUPP);
    assert_eq!(outcome(&changing.clone().quirk(When::Always, refuses)), Ok(layout.len()));
    for minor in 0..2 {
        assert_eq!(outcome(&changing.clone().minor(minor)), Ok(layout.len()));
    }
    let dense = |scene: &mut Scene| {
        scene.config.tree = Scene::new().config.tree.pattern("/export/sparse", 200_000);
    };
    assert_eq!(outcome(&changing.with(dense)), Ok(200_000));
}

/// The holes that were told before SEEK was refused are still to be verified, and the session may be lost in each request.
#[test]
fn a_change_is_told_whenever_the_session_is_lost() {
    let changed = sparse(2, &Layout::of(&[3000, 70_001, 5000, 100_000, 8000]))
        .quirk(When::From(4), Quirk::Refuses(op::SEEK, status::NOTSUPP))
        .quirk(When::From(1), Quirk::Changes);
    let mapped = |scene: &Scene| {
        let mut outcome = Ok(());
        connected(scene, |session| {
            let file = session.run(&mut Open::new("/export/sparse")).unwrap();
            outcome = session.run(&mut Map::new(&file, 0));
        });
        outcome
    };
    let honest = streamed::<512>(&changed, 16_384);
    assert_eq!(honest.lent.holes()[0], (3000, 73_001));
    // Those that connect and open it are before.
    for nth in 0..honest.counts.requests as usize + 4 {
        let lost = Quirk::Refuses(op::SEQUENCE, status::BADSESSION);
        let scene = changed.clone().quirk(When::Nth(nth), lost);
        assert_eq!(streamed::<512>(&scene, 16_384).outcome, Err(Error::Changed), "{nth}");
        assert_eq!(mapped(&scene), Err(Error::Changed), "{nth}");
    }
}
