//! Lets worlds happen: `--seeds N [--start S]` many, and `--seed N [--calm] [--cut STEP]` one, which is shown.
//! `--fuzz-seeds FOLDER` writes what the targets of `testing/fuzz` begin with into a folder.

#![forbid(unsafe_code)]

use pagewire_sim::{Account, Twist, fuzz, run};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str =
    "usage: pagewire-sim --seeds N [--start S] | --seed N [--calm] [--cut STEP] | --fuzz-seeds FOLDER";

/// What is asked for on the command line.
#[derive(Default)]
struct Asked {
    seeds: Option<u64>,
    start: u64,
    seed: Option<u64>,
    twist: Twist,
    folder: Option<PathBuf>,
}

fn asked() -> Option<Asked> {
    let mut asked = Asked::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--fuzz-seeds" {
            asked.folder = Some(words.next()?.into());
            continue;
        }
        let mut number = || words.next()?.parse::<u64>().ok();
        match word.as_str() {
            "--seeds" => asked.seeds = Some(number()?),
            "--start" => asked.start = number()?,
            "--seed" => asked.seed = Some(number()?),
            "--calm" => asked.twist.calm = true,
            "--cut" => asked.twist.cut = Some(number()? as usize),
            _ => return None,
        }
    }
    Some(asked)
}

fn main() -> ExitCode {
    match asked() {
        Some(Asked { folder: Some(folder), .. }) => {
            write_seeds(&folder).expect("the folder can be written to")
        }
        Some(Asked { seed: Some(seed), twist, .. }) => one(seed, twist),
        Some(Asked { seeds: Some(count), start, .. }) => return many(start, count),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn write_seeds(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    fuzz::seeds()
        .iter()
        .enumerate()
        .try_for_each(|(nth, seed)| std::fs::write(folder.join(nth.to_string()), seed))
}

/// A panic is shown as it comes.
fn one(seed: u64, twist: Twist) {
    let outcome = run(seed, twist, |world, side| println!("{world:#?}\n{side:#?}"));
    println!("{outcome:#?}");
}

fn many(start: u64, count: u64) -> ExitCode {
    // Those of worlds are in the account.
    std::panic::set_hook(Box::new(|_| {}));
    let begin = Instant::now();
    let account = Account::of(start, count);
    println!("{account}");
    for failure in &account.failures {
        println!("\n{}\n  {}", failure.why, failure.again);
    }
    let failed = account.failures.len();
    println!("{count} worlds from seed {start} in {:.1} s, {failed} failed", begin.elapsed().as_secs_f64());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
