//! The command `pagewire`, as it was built beside the tests, and those that it is compared with.

use crate::nfs_address;
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

/// Samba's own client at 3.1.1, with these commands to do on the share `data` of a server at `HOST:PORT`.
pub fn smbclient(server: &str, commands: &str) -> Command {
    let (host, port) = server.split_once(':').expect("HOST:PORT");
    let mut command = Command::new("smbclient");
    command.args(["-p", port, "-m", "SMB3_11", "-U", "lab%lab-password", "-c", commands]);
    command.arg(format!("//{host}/data"));
    command
}

/// A program of libnfs, `nfs-cat` or `nfs-ls`, and a path in `/export` of a server at `HOST:NFSPORT:MOUNTPORT`. It knows
/// the versions 3 and 4, which is 4.0.
pub fn libnfs(program: &str, server: &str, version: &str, path: &str) -> Command {
    let (host, nfs, mount) = nfs_address(server);
    let mount = if version == "3" { format!("&mountport={mount}") } else { String::new() };
    let mut command = Command::new(program);
    command.arg(format!("nfs://{host}/export/{path}?version={version}&nfsport={nfs}{mount}"));
    command
}
