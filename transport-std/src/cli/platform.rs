//! What systems do in different ways.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
#[cfg(unix)]
use std::sync::{Arc, atomic::AtomicBool};

/// Standard output without a buffer, so that what is written goes straight from the lent memory.
#[cfg(unix)]
pub fn stdout() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// Standard output without a buffer, so that what is written goes straight from the lent memory.
#[cfg(windows)]
pub fn stdout() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}

/// Whether others than the owner may read a file. Only Unix tells at a glance.
#[cfg(unix)]
pub fn others_can_read(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o044 != 0
}

/// Whether others than the owner may read a file. Only Unix tells at a glance.
#[cfg(not(unix))]
pub fn others_can_read(_: &Metadata) -> bool {
    false
}

/// A file that is made so can be opened by nobody but its owner.
#[cfg(unix)]
pub fn only_for_us(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

/// Elsewhere its directory says who can open it.
#[cfg(not(unix))]
pub fn only_for_us(_: &mut OpenOptions) {}

/// What a file of `ours` takes over of the one that it replaces, if both have one owner. The bits that let
/// others act as the owner or group are never among it: these were given to other contents.
#[cfg(unix)]
pub fn inherited(replaced: &Metadata, ours: &Metadata) -> Option<Permissions> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    (replaced.uid() == ours.uid()).then(|| Permissions::from_mode(replaced.mode() & 0o777))
}

/// What a file takes over of the one that it replaces.
#[cfg(not(unix))]
pub fn inherited(replaced: &Metadata, _: &Metadata) -> Option<Permissions> {
    Some(replaced.permissions())
}

/// Has `clean_up` called when the user or the system ends this process (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGALRM,
/// SIGUSR1, SIGUSR2); then the signal does what it would have done. SIGXFSZ ends nothing any more: the write that would make a
/// file longer than it may be fails, which says more. Other signals are left as they are.
#[cfg(unix)]
pub fn before_end(clean_up: fn()) -> io::Result<()> {
    use signal_hook::{consts, flag, iterator::Signals, low_level};
    let all = [
        consts::SIGINT,
        consts::SIGTERM,
        consts::SIGHUP,
        consts::SIGQUIT,
        consts::SIGXCPU,
        consts::SIGALRM,
        consts::SIGUSR1,
        consts::SIGUSR2,
    ];
    let ignored = ignored_signals();
    let mut signals = Signals::new(all.into_iter().filter(|signal| (ignored >> (signal - 1)) & 1 == 0))?;
    // Where there is a handler, whatever it does, the write fails (EFBIG). The flag is for nobody.
    flag::register(consts::SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in &mut signals {
            clean_up();
            // It fails only for numbers that are no signals.
            let _ = low_level::emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// The signals that this process was started to ignore (by `nohup`, or in the background of a script), a bit
/// each. A handler would undo that. Where the system does not say it, it is SIGHUP.
#[cfg(unix)]
pub fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(1 << (signal_hook::consts::SIGHUP - 1))
}

/// Windows ends a process without asking it; what is left then bears a name that says so.
#[cfg(not(unix))]
pub fn before_end(_: fn()) -> io::Result<()> {
    Ok(())
}

/// The numbers of the user and the group that this process belongs to, and of the user's further groups.
#[cfg(unix)]
pub fn identity() -> (u32, u32, Vec<u32>) {
    use rustix::process::{getgid, getgroups, getuid};
    let groups = getgroups().unwrap_or_default();
    (getuid().as_raw(), getgid().as_raw(), groups.into_iter().map(|group| group.as_raw()).collect())
}

/// Nobody, where users have no numbers.
#[cfg(not(unix))]
pub fn identity() -> (u32, u32, Vec<u32>) {
    (65534, 65534, Vec::new())
}

/// What this computer calls itself, if it does.
#[cfg(unix)]
pub fn machine_name() -> Option<String> {
    let system = rustix::system::uname();
    system.nodename().to_str().ok().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// See above.
#[cfg(not(unix))]
pub fn machine_name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok().filter(|name| !name.is_empty())
}
