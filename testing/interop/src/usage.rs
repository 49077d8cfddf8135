//! What a process cost: processor time and memory, as the system counts them.

use std::io;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What a finished process cost.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// How it ended.
    pub status: ExitStatus,
    /// User and system time.
    pub cpu: Duration,
    /// From start to end.
    pub wall: Duration,
    /// The most memory it had at one time, in bytes.
    pub max_rss: u64,
}

/// Runs a command to its end, its output thrown away.
pub fn measure(command: &mut Command) -> io::Result<Usage> {
    use std::os::unix::process::ExitStatusExt;
    let begin = Instant::now();
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut status = 0;
    // SAFETY: all zeros is a value of this plain C struct.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live values, and the process is a child of ours that nobody else waits for.
    if unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    Ok(Usage {
        status: ExitStatus::from_raw(status),
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        wall: begin.elapsed(),
        max_rss: usage.ru_maxrss as u64 * 1024,
    })
}
