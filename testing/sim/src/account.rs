//! Many worlds: which failed, and how the outcomes of the others divide.

use crate::world::{Outcome, Twist, run};
use pagewire::Error;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

/// A world in which something came that must not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What.
    pub why: String,
    /// The command that shows it again.
    pub again: String,
}

/// Lets a world happen, and takes its panic for a failure.
pub fn check(seed: u64, twist: Twist) -> Result<Outcome, Failure> {
    catch_unwind(AssertUnwindSafe(|| run(seed, twist, |_, _| {}))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let why = text.or(panic.downcast_ref().copied()).unwrap_or("a panic without words").to_owned();
        Failure { why, again: crate::again(seed, twist) }
    })
}

/// What came of the worlds of one protocol.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    worlds: u64,
    /// The link has struck, or the server lied.
    hit: u64,
    /// Hit, and all that was asked came nevertheless.
    withstood: u64,
    /// By kind of error.
    errors: [u64; 9],
}

const ERRORS: [&str; 9] = [
    "malformed",
    "misbehaved",
    "incompatible",
    "refused",
    "budget",
    "closed",
    "timed out",
    "unauthentic",
    "other",
];

const fn kind(error: &Error) -> usize {
    match error {
        Error::Malformed(_) => 0,
        Error::Misbehaved(_) => 1,
        Error::Incompatible(_) => 2,
        Error::Refused(_) => 3,
        Error::Budget { .. } => 4,
        Error::Closed => 5,
        Error::TimedOut => 6,
        Error::Unauthentic(_) => 7,
        Error::Invalid(_) | Error::Changed => 8,
    }
}

/// What came of many worlds.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Those that failed, the first of them first.
    pub failures: Vec<Failure>,
    rows: BTreeMap<String, Row>,
    steps: [u64; 2],
    /// The most of one world.
    steps_max: [usize; 2],
    ms: u64,
    ms_max: u64,
}

impl Account {
    /// The worlds of these seeds, on all processors.
    pub fn of(start: u64, count: u64) -> Account {
        let next = AtomicU64::new(0);
        let worker = || {
            let mut account = Account::default();
            loop {
                let nth = next.fetch_add(1, Ordering::Relaxed);
                if nth >= count {
                    return account;
                }
                account.take(check(start + nth, Twist::default()));
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
            all.into_iter().fold(Account::default(), |all, thread| {
                all.with(thread.join().expect("panics of worlds are caught"))
            })
        })
    }

    /// How many worlds were hit by a fault or a lie, and in how many of these all that was asked came nevertheless.
    pub fn hit(&self) -> (u64, u64) {
        self.rows.values().fold((0, 0), |(hit, withstood), row| (hit + row.hit, withstood + row.withstood))
    }

    fn take(&mut self, came: Result<Outcome, Failure>) {
        let outcome = match came {
            Ok(outcome) => outcome,
            Err(failure) => return self.failures.push(failure),
        };
        let row = self.rows.entry(outcome.name).or_default();
        let hit = u64::from(outcome.lied || !outcome.struck.is_empty());
        row.worlds += 1;
        row.hit += hit;
        match &outcome.safety {
            Ok(()) => row.withstood += hit,
            Err(error) => row.errors[kind(error)] += 1,
        }
        for phase in [0, 1] {
            self.steps[phase] += outcome.steps[phase] as u64;
            self.steps_max[phase] = self.steps_max[phase].max(outcome.steps[phase]);
        }
        self.ms += outcome.ms;
        self.ms_max = self.ms_max.max(outcome.ms);
    }

    fn with(mut self, other: Account) -> Account {
        self.failures.extend(other.failures);
        for (name, more) in other.rows {
            let row = self.rows.entry(name).or_default();
            row.worlds += more.worlds;
            row.hit += more.hit;
            row.withstood += more.withstood;
            row.errors.iter_mut().zip(more.errors).for_each(|(count, more)| *count += more);
        }
        for phase in [0, 1] {
            self.steps[phase] += other.steps[phase];
            self.steps_max[phase] = self.steps_max[phase].max(other.steps_max[phase]);
        }
        self.ms += other.ms;
        self.ms_max = self.ms_max.max(other.ms_max);
        self
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:10} {:>7} {:>7} {:>9}", "", "worlds", "hit", "withstood")?;
        ERRORS.iter().try_for_each(|name| write!(f, " {name:>12}"))?;
        for (name, row) in &self.rows {
            write!(f, "\n{name:10} {:7} {:7} {:9}", row.worlds, row.hit, row.withstood)?;
            row.errors.iter().try_for_each(|count| write!(f, " {count:12}"))?;
        }
        write!(
            f,
            "\nsteps: {} with faults (at most {}), {} without (at most {}); time that passed in the worlds: {} h (at most {} s)",
            self.steps[0],
            self.steps_max[0],
            self.steps[1],
            self.steps_max[1],
            self.ms / 3_600_000,
            self.ms_max / 1000
        )
    }
}
