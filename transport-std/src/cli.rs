//! The command `pagewire`.

/// A line on standard error. If nobody reads that, nobody need be told.
macro_rules! tell {
    ($($arg:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($arg)*);
    }};
}

mod args;
mod budget;
mod coming;
mod connection;
mod credentials;
mod date;
#[cfg(feature = "demo")]
mod demo;
mod destination;
mod dial;
mod exports;
mod failure;
mod hints;
mod json;
mod layout;
mod links;
mod map;
mod options;
mod output;
mod platform;
mod progress;
mod quantity;
mod retries;
mod safe;
mod session;
mod show;
mod spoken;
mod stats;
mod target;
mod temporary;
mod together;
mod transfer;
mod tree;
mod url;
mod visit;

use args::{Command, CommandLine, Messages};
use clap::Parser;
use failure::Failure;
use stats::Report;
use std::process::ExitCode;
use std::time::Instant;

/// Does what the command line says.
pub fn run() -> ExitCode {
    match CommandLine::parse().command {
        Command::Get(args) => report("get", args.common.messages, |report| transfer::get(&args, report)),
        Command::Cat(args) => report("cat", args.common.messages, |report| transfer::cat(&args, report)),
        Command::Ls(args) => report("ls", args.common.messages, |report| show::ls(&args, report)),
        Command::Stat(args) => report("stat", args.common.messages, |report| show::stat(&args, report)),
        Command::Df(args) => report("df", args.common.messages, |report| show::df(&args, report)),
        Command::Map(args) => report("map", args.common.messages, |report| map::map(&args, report)),
        Command::Exports(args) => {
            report("exports", args.common.messages, |report| exports::exports(&args, report))
        }
        #[cfg(feature = "demo")]
        Command::Demo => {
            let mut report = Report::new("demo");
            report.outcome(demo::run());
            ExitCode::from(report.exit() as u8)
        }
    }
}

/// Runs a command and tells what came of it. What `command` returns happened before any URL was visited.
fn report(
    name: &'static str,
    messages: Messages,
    command: impl FnOnce(&mut Report) -> Result<(), Failure>,
) -> ExitCode {
    let begin = Instant::now();
    let mut report = Report::new(name);
    if let Err(failure) = command(&mut report) {
        report.outcome(Err(failure));
    }
    report.stats.seconds = begin.elapsed().as_secs_f64();
    if messages.stats.is_some() {
        report.print();
    }
    ExitCode::from(report.exit() as u8)
}
