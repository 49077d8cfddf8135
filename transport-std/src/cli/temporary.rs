//! A file that gets its name only when it is whole.

use super::platform;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A file next to its destination. It is removed unless it is committed, by a signal too.
pub struct Temporary {
    file: File,
    path: PathBuf,
    target: PathBuf,
}

/// The temporary file that there is now. Held while files are made, renamed or removed, so that a signal
/// finds either the one or the other; and for ever once a signal was handled.
static CURRENT: Mutex<Option<PathBuf>> = Mutex::new(None);

fn current() -> MutexGuard<'static, Option<PathBuf>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn remove_before_end() {
    let mut current = current();
    if let Some(path) = current.take() {
        let _ = fs::remove_file(path);
    }
    // The process ends now: nobody may make another one.
    std::mem::forget(current);
}

impl Temporary {
    /// For `target`, whose permissions it takes over if there is such a file of the same owner.
    pub fn create(target: &Path) -> io::Result<Temporary> {
        static WATCH: OnceLock<()> = OnceLock::new();
        if WATCH.set(()).is_ok() {
            platform::before_end(remove_before_end)?;
        }
        let Ok(existing) = fs::metadata(target) else { return Temporary::beside(target, false) };
        // Until it has the permissions of the other one nobody else may open it: who did could read all that comes.
        let temporary = Temporary::beside(target, true)?;
        match platform::inherited(&existing, &temporary.file.metadata()?) {
            Some(permissions) => temporary.file.set_permissions(permissions)?,
            // Then it is as any new file, and which permissions that has shows only when one is made.
            None => {
                drop(temporary);
                return Temporary::beside(target, false);
            }
        }
        Ok(temporary)
    }

    fn beside(target: &Path, private: bool) -> io::Result<Temporary> {
        let mut current = current();
        let (path, file) = create_beside(target, private)?;
        *current = Some(path.clone());
        Ok(Temporary { file, path, target: target.to_owned() })
    }

    /// To be written to.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives it its name, in place of a file that has it already if `replace`.
    pub fn commit(self, replace: bool) -> io::Result<()> {
        let mut current = current();
        if replace {
            fs::rename(&self.path, &self.target)?;
            *current = None;
        } else {
            // A link does not replace; where there are no links, looking first must do.
            match fs::hard_link(&self.path, &self.target) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists && !self.target.exists() => {
                    fs::rename(&self.path, &self.target)?;
                    *current = None;
                }
                outcome => outcome?,
            }
        }
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = current().take() {
            // What it holds is of no use to anybody, and the reason for that was told already.
            let _ = fs::remove_file(path);
        }
    }
}

fn create_beside(target: &Path, private: bool) -> io::Result<(PathBuf, File)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    if private {
        platform::only_for_us(&mut options);
    }
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    for number in 0..1000 {
        let path = target.with_file_name(name_for(&name, std::process::id(), number));
        match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            outcome => return outcome.map(|file| (path, file)),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "too many temporary files are left there"))
}

/// `.NAME.pagewire-PID-N.part`, where NAME is cut so that no file system finds it too long.
fn name_for(name: &str, process: u32, number: u32) -> String {
    let end = name.floor_char_boundary(200);
    format!(".{}.pagewire-{process}-{number}.part", &name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// There is one temporary file at a time, in tests as well.
    static ALONE: Mutex<()> = Mutex::new(());

    fn in_directory(test: impl FnOnce(&Path)) {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        test(tempfile::tempdir().unwrap().path());
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn it_gets_its_name_when_it_is_whole() {
        in_directory(|directory| {
            let temporary = Temporary::create(&directory.join("a")).unwrap();
            assert_eq!(names(directory), [format!(".a.pagewire-{}-0.part", std::process::id())]);
            temporary.file().write_all(b"whole").unwrap();
            temporary.commit(true).unwrap();
            assert_eq!(names(directory), ["a"]);
            assert_eq!(fs::read(directory.join("a")).unwrap(), b"whole");
        });
    }

    #[test]
    fn dropped_it_leaves_nothing_and_what_was_there_stays() {
        in_directory(|directory| {
            fs::write(directory.join("a"), "old").unwrap();
            drop(Temporary::create(&directory.join("a")).unwrap());
            let temporary = Temporary::create(&directory.join("a")).unwrap();
            assert_eq!(temporary.commit(false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(names(directory), ["a"]);
            assert_eq!(fs::read(directory.join("a")).unwrap(), b"old");
            let temporary = Temporary::create(&directory.join("b")).unwrap();
            temporary.commit(false).unwrap();
            assert_eq!(names(directory).len(), 2);
        });
    }

    #[test]
    fn what_a_process_that_was_killed_has_left_is_neither_gone_on_with_nor_removed() {
        in_directory(|directory| {
            let left = directory.join(name_for("a", std::process::id(), 0));
            fs::write(&left, "half").unwrap();
            let temporary = Temporary::create(&directory.join("a")).unwrap();
            temporary.file().write_all(b"whole").unwrap();
            temporary.commit(true).unwrap();
            assert_eq!(fs::read(left).unwrap(), b"half");
            assert_eq!(fs::read(directory.join("a")).unwrap(), b"whole");
        });
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay_but_never_those_of_another_owner_or_to_act_as_one() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        in_directory(|directory| {
            let target = directory.join("a");
            fs::write(directory.join("fresh"), "").unwrap();
            fs::write(&target, "old").unwrap();
            let old = fs::Permissions::from_mode(0o6751);
            fs::set_permissions(&target, old.clone()).unwrap();
            Temporary::create(&target).unwrap().commit(true).unwrap();
            assert_eq!(mode(&target), 0o751);
            // Only root can give files away.
            if chown(&target, Some(1), None).is_ok() {
                fs::set_permissions(&target, old).unwrap();
                Temporary::create(&target).unwrap().commit(true).unwrap();
                assert_eq!(mode(&target), mode(&directory.join("fresh")));
            }
        });
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_open_what_replaces_a_private_file_at_any_moment() {
        use std::os::unix::fs::PermissionsExt;
        in_directory(|directory| {
            let target = directory.join("a");
            fs::write(&target, "secret").unwrap();
            fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
            let path = directory.join(name_for("a", std::process::id(), 0));
            // The moment is short: it takes many looks to meet it.
            std::thread::scope(|scope| {
                let watch = scope.spawn(|| {
                    let looks = std::iter::repeat_with(|| fs::metadata(&path)).flatten().take(5000);
                    looks.filter(|there| there.permissions().mode() & 0o077 != 0).count()
                });
                while !watch.is_finished() {
                    drop(Temporary::create(&target).unwrap());
                }
                assert_eq!(watch.join().unwrap(), 0);
            });
        });
    }

    /// A process that has a temporary file of its own: the same test once more, which finds a variable set.
    #[cfg(unix)]
    struct Child {
        directory: tempfile::TempDir,
        command: std::process::Command,
    }

    #[cfg(unix)]
    impl Child {
        const VARIABLE: &str = "PAGEWIRE_TEST_TEMPORARY";

        /// The file that is to be written, in the child.
        fn target() -> Option<PathBuf> {
            std::env::var_os(Child::VARIABLE).map(|directory| Path::new(&directory).join("a"))
        }

        /// Runs the test `name` in a shell that has done `before`.
        fn new(name: &str, before: &str) -> Child {
            let directory = tempfile::tempdir().unwrap();
            let mut command = std::process::Command::new("sh");
            command
                .args(["-c", &format!("{before}; exec \"$@\""), "sh"])
                .arg(std::env::current_exe().unwrap());
            command.args(["--exact", &format!("{}::{name}", module_path!().split_once("::").unwrap().1)]);
            command.args(["--nocapture"]).env(Child::VARIABLE, directory.path());
            Child { directory, command }
        }
    }

    #[cfg(unix)]
    #[test]
    fn signals_that_end_the_process_leave_nothing() {
        use signal_hook::{consts::*, low_level};
        use std::os::unix::process::ExitStatusExt;
        if let Some(target) = Child::target() {
            let _temporary = Temporary::create(&target).unwrap();
            low_level::raise(std::env::var("SIGNAL").unwrap().parse().unwrap()).unwrap();
            std::thread::sleep(std::time::Duration::from_secs(20));
            panic!("no signal has ended this process");
        }
        let mut signals = vec![SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2];
        // What these tests were started to ignore, as in the background of a script, their children ignore too.
        signals.retain(|signal| (platform::ignored_signals() >> (signal - 1)) & 1 == 0);
        for signal in signals {
            // No core: some of these signals leave one.
            let mut child = Child::new("signals_that_end_the_process_leave_nothing", "ulimit -c 0");
            let output = child.command.env("SIGNAL", signal.to_string()).output().unwrap();
            assert_eq!(output.status.signal(), Some(signal), "{output:?}");
            assert_eq!(names(child.directory.path()), [""; 0], "signal {signal}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_gets_longer_than_it_may_be_is_an_error_and_leaves_nothing() {
        if let Some(target) = Child::target() {
            let temporary = Temporary::create(&target).unwrap();
            let error = temporary.file().write_all(&[1; 100_000]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
            return;
        }
        let name = "a_file_that_gets_longer_than_it_may_be_is_an_error_and_leaves_nothing";
        let mut child = Child::new(name, "ulimit -f 8");
        let output = child.command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(names(child.directory.path()), [""; 0]);
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let name = name_for(&"é".repeat(127), 1, 0);
        assert!(name.len() < 255 && name.starts_with(".é") && name.ends_with(".pagewire-1-0.part"));
    }
}
