//! The bodies of the fuzz targets, for a moment: what servers once said, and what becomes of it when it is changed a little.

use pagewire_sim::dice::Dice;
use pagewire_sim::fuzz::{TARGETS, hear, seeds};

fn changed(seed: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..1 + dice.below(4) {
        let at = dice.below(bytes.len().max(1));
        match (dice.below(4), bytes.get_mut(at)) {
            (0, _) => bytes.truncate(at),
            (1, Some(byte)) => *byte = dice.one_of(&[0, 1, 0x7F, 0x80, 0xFF]),
            (2, _) => bytes.insert(at, dice.any() as u8),
            (_, Some(byte)) => *byte ^= 1 << dice.below(8),
            (_, None) => {}
        }
    }
    bytes
}

#[test]
fn no_target_panics_at_what_servers_said_or_at_what_is_like_it() {
    let mut dice = Dice(1);
    for seed in seeds() {
        for (name, target) in TARGETS {
            // A world takes milliseconds, all else microseconds.
            let times = if name == "worlds" { 1 } else { 20 };
            target(&seed);
            (0..times).for_each(|_| target(&changed(&seed, &mut dice)));
        }
    }
}

/// Without this the seeds might lead nowhere, and nobody would see it.
#[test]
fn what_a_server_said_leads_to_an_open_file() {
    let mut kinds = Vec::new();
    for seed in seeds().iter().filter(|seed| seed.get(1) == Some(&3) && seed.len() > 8500) {
        let counters = hear(seed).expect("there are more bytes than two");
        // NEGOTIATE, SESSION_SETUP twice, TREE_CONNECT, CREATE; and at 3.0 one more. NFS 4.0 connects by asking for limits.
        let most = if seed[0] == 1 { 2 } else { 5 };
        assert!(counters.responses >= most, "kind {}: {counters:?}", seed[0]);
        assert!(seed[0] > 3 || counters.file_bytes > 0, "kind {}: {counters:?}", seed[0]);
        kinds.push(seed[0]);
    }
    kinds.sort();
    assert_eq!(kinds, (0..10).collect::<Vec<_>>(), "one of each");
}

#[test]
fn what_a_server_said_leads_to_the_map_of_a_sparse_file() {
    let seeds = seeds();
    let replies = seeds.iter().filter(|seed| seed.starts_with(&[49, 0, 0, 0, 0xCF, 0x40, 9, 0]));
    assert_eq!(replies.count(), 4, "the map, and it again, to either engine");
    let whole = seeds.iter().find(|seed| seed.starts_with(&[4, 3]) && seed.len() < 8500);
    let counters = hear(whole.expect("a short one")).expect("there are more bytes than two");
    // NEGOTIATE, SESSION_SETUP twice, TREE_CONNECT, CREATE, READ twice, IOCTL twice, CLOSE, CREATE, ECHO.
    assert_eq!(counters.responses, 12, "{counters:?}");
}

#[test]
fn what_a_server_said_leads_to_a_file_that_is_kept() {
    let seeds = seeds();
    let counters = hear(seeds.iter().find(|seed| seed.starts_with(&[10, 3])).expect("there is one"));
    // No CLOSE, and QUERY_INFO in place of the second CREATE.
    assert_eq!(counters.expect("there are more bytes than two").responses, 11);
}

#[test]
fn every_token_of_ntlm_that_a_server_said_is_a_seed() {
    let ntlm = seeds().iter().filter(|seed| seed.starts_with(b"NTLMSSP\0")).count();
    assert_eq!(ntlm, 8, "of six captures and two model servers");
}

/// The targets themselves take a compiler that the tests do not have.
#[test]
fn every_target_has_its_shell() {
    for (name, _) in TARGETS {
        let path = format!("{}/../fuzz/fuzz_targets/{name}.rs", env!("CARGO_MANIFEST_DIR"));
        let shell = std::fs::read_to_string(path).expect("there is one");
        assert!(shell.contains(&format!("|bytes: &[u8]| pagewire_sim::fuzz::{name}(bytes)")), "{shell}");
    }
    let shells = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/fuzz_targets"));
    assert_eq!(shells.expect("a directory").count(), TARGETS.len());
}
