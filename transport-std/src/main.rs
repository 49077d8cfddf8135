//! Reads files and directories from SMB and NFS servers. `pagewire help` tells how.
#![forbid(unsafe_code)]

mod cli;

fn main() -> std::process::ExitCode {
    cli::run()
}
