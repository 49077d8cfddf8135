//! Where the bytes of a file go.

use super::failure::{Cause, Failure};
use super::platform;
use super::safe;
use super::temporary::Temporary;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A place to write to.
#[derive(Debug, PartialEq, Eq)]
pub enum Destination {
    Stdout,
    /// A file that appears when it is whole.
    File {
        path: PathBuf,
        /// As the user knows it.
        name: PathBuf,
        replace: bool,
        /// It is one of those in a directory, which is made if it is not there.
        in_directory: bool,
    },
    /// What is there and is no file (a device, a pipe): it is written to and stays what it is.
    Special(PathBuf),
}

impl Destination {
    /// What the user named: links are followed, and pipes and devices written to.
    pub fn named(name: &Path, replace: bool) -> Result<Destination, Failure> {
        // A link stays one, and what it points to is replaced.
        let path = fs::canonicalize(name).unwrap_or_else(|_| name.to_owned());
        match fs::metadata(&path) {
            Ok(there) if !there.is_file() && !there.is_dir() => Ok(Destination::Special(path)),
            there => {
                may_be_written(name, there.ok(), replace)?;
                Ok(Destination::File { path, name: name.to_owned(), replace, in_directory: false })
            }
        }
    }

    /// What has the name of something at a server, and lies at `path` in a `directory`. Neither links are followed there nor pipes or
    /// devices written to: nobody has named them.
    pub fn inside(directory: &Path, path: &Path, replace: bool) -> Result<Destination, Failure> {
        let name = directory.join(path);
        let there = look(directory, path)?;
        if there.as_ref().is_some_and(|there| !there.is_file() && !there.is_dir()) {
            return Err(in_the_way(&name, "a pipe or a device lies there, and is not written to"));
        }
        may_be_written(&name, there, replace)?;
        Ok(Destination::File { path: name.clone(), name, replace, in_directory: true })
    }

    /// Lets `write` write to it. A file gets its name if that goes well, and else leaves no trace.
    pub fn write<T>(&self, write: impl FnOnce(&File) -> Result<T, Failure>) -> Result<T, Failure> {
        match self {
            Destination::Stdout => write(&platform::stdout().map_err(|error| self.failure(error))?),
            Destination::Special(path) => {
                let file = OpenOptions::new().write(true).open(path);
                write(&file.map_err(|error| self.failure(error))?)
            }
            Destination::File { path, name, replace, in_directory } => {
                let temporary = begin(path, *in_directory).map_err(|error| self.failure(error))?;
                let written = write(temporary.file())?;
                temporary.commit(*replace).map_err(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists if !replace => exists(name),
                    _ => self.failure(error),
                })?;
                Ok(written)
            }
        }
    }

    /// Whether what is written is a new file, empty at first.
    pub fn is_new(&self) -> bool {
        matches!(self, Destination::File { .. })
    }

    /// An error of writing to it.
    pub fn failure(&self, error: io::Error) -> Failure {
        match self {
            Destination::Stdout => failure(Path::new("standard output"), error),
            Destination::File { name: path, .. } | Destination::Special(path) => failure(path, error),
        }
    }

    /// A failure of a transfer, which may have been that of writing.
    pub fn blame(&self, failed: Failure) -> Failure {
        match failed.cause {
            Cause::Local(error) => self.failure(error),
            _ => failed,
        }
    }
}

/// What is at `path` in `directory`, if there is anything. A symbolic link on the way is an error, for it may lead anywhere; the
/// directory itself may be one.
pub fn look(directory: &Path, path: &Path) -> Result<Option<Metadata>, Failure> {
    let (mut at, mut there) = (directory.to_owned(), None);
    for name in path {
        at.push(name);
        there = fs::symlink_metadata(&at).ok();
        match &there {
            Some(there) if there.is_symlink() => {
                return Err(in_the_way(&at, "a symbolic link lies there, and none is followed"));
            }
            Some(_) => {}
            // What is wrong with a path is told when something is written there.
            None => break,
        }
    }
    Ok(there)
}

fn may_be_written(name: &Path, there: Option<Metadata>, replace: bool) -> Result<(), Failure> {
    match there {
        Some(there) if there.is_dir() => Err(failure(name, io::ErrorKind::IsADirectory.into())),
        Some(_) if !replace => Err(exists(name)),
        _ => Ok(()),
    }
}

fn begin(path: &Path, in_directory: bool) -> io::Result<Temporary> {
    match (Temporary::create(path), path.parent()) {
        (Err(error), Some(directory)) if in_directory && error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(directory)?;
            Temporary::create(path)
        }
        (outcome, _) => outcome,
    }
}

pub fn shown(path: &Path) -> String {
    safe::text(&path.display().to_string())
}

/// An error of writing at `path`.
pub fn failure(path: &Path, error: io::Error) -> Failure {
    Failure::new(format!("writing {}", shown(path)), Cause::unwritten(error))
}

/// What lies at `path` stays, and nothing is written there: why.
pub fn in_the_way(path: &Path, why: &'static str) -> Failure {
    Failure::new(format!("writing {}", shown(path)), Cause::InTheWay(why))
}

fn exists(name: &Path) -> Failure {
    let error = io::Error::new(io::ErrorKind::AlreadyExists, format!("{} exists", shown(name)));
    Failure::new("keeping what is there", Cause::Local(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_always_replaced() {
        let told = Destination::named(Path::new("src/../Cargo.toml"), false).unwrap_err();
        assert!(told.exit() as u8 == 3 && told.to_string().contains(" src/../Cargo.toml exists"), "{told}");
        let told = Destination::inside(Path::new("."), Path::new("Cargo.toml"), false).unwrap_err();
        assert_eq!(told.exit() as u8, 3);
        let told = Destination::inside(Path::new("."), Path::new("src"), true).unwrap_err();
        assert_eq!(told.exit() as u8, 3);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_or_device_is_written_to_if_it_was_named_and_not_if_it_is_in_the_way() {
        let named = Destination::named(Path::new("/dev/null"), false).unwrap();
        assert_eq!(named, Destination::Special("/dev/null".into()));
        let told = Destination::inside(Path::new("/dev"), Path::new("null"), true).unwrap_err();
        assert!(
            told.exit() as u8 == 3
                && told.to_string().contains("writing /dev/null: a pipe or a device lies there")
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed_if_it_is_the_directory_or_was_named_and_not_inside() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        fs::create_dir_all(at("real/below")).unwrap();
        fs::write(at("real/file"), "old").unwrap();
        symlink("real", at("link")).unwrap();
        for (link, target) in [("to-below", "below"), ("to-file", "file"), ("dangling", "nothing")] {
            symlink(target, at("real").join(link)).unwrap();
        }
        let inside = |directory: &str, path: &str| Destination::inside(&at(directory), Path::new(path), true);
        for path in ["file", "below/new", "new/new", "./file"] {
            assert!(inside("link", path).is_ok(), "{path}");
        }
        for (directory, path, link) in [
            ("real", "to-below/new", "real/to-below"),
            ("real", "to-file", "real/to-file"),
            ("real", "dangling", "real/dangling"),
            ("", "link/below/new", "link"),
        ] {
            let told = inside(directory, path).unwrap_err();
            let says = format!("writing {}: a symbolic link lies there", at(link).display());
            assert!(told.exit() as u8 == 3 && told.to_string().contains(&says), "{path}: {told}");
        }
        let named = Destination::named(&at("real/to-file"), true).unwrap();
        named.write(|_| Ok(())).unwrap();
        assert!(at("real/to-file").is_symlink() && fs::read(at("real/file")).unwrap().is_empty());
    }

    #[test]
    fn a_directory_is_made_for_what_goes_into_it_and_none_for_what_was_named() {
        let dir = tempfile::tempdir().unwrap();
        let inside = Destination::inside(&dir.path().join("made/too"), Path::new("file"), true).unwrap();
        inside.write(|_| Ok(())).unwrap();
        assert!(dir.path().join("made/too/file").is_file());
        let named = Destination::named(&dir.path().join("none/file"), true).unwrap();
        assert_eq!(named.write(|_| Ok(())).unwrap_err().exit() as u8, 3);
        assert!(!dir.path().join("none").exists());
    }
}
