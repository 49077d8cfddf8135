//! Reads files and directories from SMB servers. `pagewire help` tells how.
#![forbid(unsafe_code)]

mod cli;

fn main() -> std::process::ExitCode {
    cli::run()
}
