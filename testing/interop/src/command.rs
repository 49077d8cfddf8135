//! The command `pagewire`, as it was built beside the tests.

use std::process::Command;

/// The command, with the password of the servers in its environment.
pub fn pagewire() -> Command {
    let tests = std::env::current_exe().expect("a test knows where it is");
    let built = tests.parent().and_then(|deps| deps.parent()).expect("tests lie in target/PROFILE/deps");
    let binary = built.join("pagewire");
    assert!(binary.exists(), "{} is not there: build it with the same profile first", binary.display());
    let mut command = Command::new(binary);
    command.env("PAGEWIRE_PASSWORD", "lab-password");
    command
}
