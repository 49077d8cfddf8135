//! Hundreds of worlds, the same twice, and every step at which a link may break.

use pagewire_sim::{Account, Outcome, Twist, again, check};
use std::collections::BTreeMap;

const CALM: Twist = Twist { calm: true, cut: None };

/// What came of a world, which did not fail.
fn sound(seed: u64, twist: Twist) -> Outcome {
    check(seed, twist).unwrap_or_else(|failure| panic!("{}\n  {}", failure.why, failure.again))
}

#[test]
fn worlds_with_faults_lend_nothing_wrong_and_heal() {
    let account = Account::of(0, 700);
    println!("{account}");
    assert!(account.failures.is_empty(), "{:#?}", account.failures);
    // A world in which everything fails, or nothing, shows nothing.
    let (hit, withstood) = account.hit();
    assert!(
        hit > 500 && (hit / 10..hit * 9 / 10).contains(&withstood),
        "{hit} were hit, {withstood} withstood"
    );
}

#[test]
fn worlds_without_faults_go_well() {
    for seed in 0..50 {
        let outcome = sound(seed, CALM);
        assert!(outcome.struck.is_empty() && !outcome.lied);
    }
}

#[test]
fn a_seed_gives_the_same_world_each_time_and_no_other_does() {
    let mut digests: Vec<_> = (0..50)
        .map(|seed| {
            let outcome = sound(seed, Twist::default());
            assert_eq!(outcome, sound(seed, Twist::default()), "seed {seed}");
            outcome.digest.0
        })
        .collect();
    digests.sort_unstable();
    digests.dedup();
    // But for those in which nothing is said.
    assert!(digests.len() > 45, "{} worlds", digests.len());
}

/// For each protocol the first calm world that is neither short nor long.
fn calm_worlds() -> BTreeMap<String, (u64, Outcome)> {
    let mut worlds = BTreeMap::new();
    for seed in 0..120 {
        let outcome = sound(seed, CALM);
        if outcome.safety.is_ok() && (20..200).contains(&outcome.link_steps) {
            worlds.entry(outcome.name.clone()).or_insert((seed, outcome));
        }
    }
    worlds
}

#[test]
fn a_link_that_breaks_at_any_step_closes_and_the_next_one_works() {
    let worlds = calm_worlds();
    assert_eq!(worlds.len(), 8, "four kinds of SMB, four versions of NFS: {:?}", worlds.keys());
    for (name, (seed, calm)) in worlds {
        let mut closed = 0;
        for cut in 0..=calm.link_steps {
            let twist = Twist { cut: Some(cut), ..CALM };
            let outcome = sound(seed, twist);
            let is_closed = outcome.safety == Err(pagewire::Error::Closed);
            assert!(is_closed || outcome.safety.is_ok(), "{:?}: {}", outcome.safety, again(seed, twist));
            closed += usize::from(is_closed);
        }
        assert!(closed * 10 > calm.link_steps * 9, "{name}: {closed} of {} cuts were felt", calm.link_steps);
    }
}
