//! Where the bytes of a file go.

use super::args::Get;
use super::failure::{Cause, Failure};
use super::platform;
use super::safe;
use super::temporary::Temporary;
use super::url::Url;
use super::visit::usage;
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
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
    },
    /// What is there and is no file (a device, a pipe): it is written to and stays what it is.
    Special(PathBuf),
}

impl Destination {
    /// Where `get` puts what is at `url`, which is one of `several`.
    pub fn of(url: &Url, args: &Get, several: bool) -> Result<Destination, Failure> {
        match path_of(url, args, several)? {
            Some(path) => Self::at(path, !args.no_clobber),
            None => Ok(Destination::Stdout),
        }
    }

    fn at(name: PathBuf, replace: bool) -> Result<Destination, Failure> {
        // A link stays one, and what it points to is replaced.
        let path = fs::canonicalize(&name).unwrap_or_else(|_| name.clone());
        match fs::metadata(&path) {
            Ok(there) if there.is_dir() => Err(failure(&name, io::ErrorKind::IsADirectory.into())),
            Ok(there) if !there.is_file() => Ok(Destination::Special(path)),
            Ok(_) if !replace => Err(exists(&name)),
            // What is wrong with a path is told when something is written there.
            Ok(_) | Err(_) => Ok(Destination::File { path, name, replace }),
        }
    }

    /// Lets `write` write to it. A file gets its name if that goes well, and else leaves no trace.
    pub fn write<T>(&self, write: impl FnOnce(&File) -> Result<T, Failure>) -> Result<T, Failure> {
        match self {
            Destination::Stdout => write(&platform::stdout().map_err(|error| self.failure(error))?),
            Destination::Special(path) => {
                let file = OpenOptions::new().write(true).open(path);
                write(&file.map_err(|error| self.failure(error))?)
            }
            Destination::File { path, name, replace } => {
                let temporary = Temporary::create(path).map_err(|error| self.failure(error))?;
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

/// The path that `get` writes what is at `url` to. `None` is standard output.
fn path_of(url: &Url, args: &Get, several: bool) -> Result<Option<PathBuf>, Failure> {
    let path = match (&args.output, &args.output_dir) {
        (Some(output), _) if output.as_os_str() == "-" => return Ok(None),
        (Some(output), _) if output.is_dir() => output.join(file_name(url)?),
        (Some(_), _) if several => {
            let message = "several files need a directory (that exists) or `-` as --output";
            return Err(Failure::new(format!("getting {url}"), Cause::Usage(message.into())));
        }
        (Some(output), _) => output.clone(),
        (None, directory) => directory.clone().unwrap_or_default().join(name_of(url, args.recursive)?),
    };
    Ok(Some(path))
}

/// The path of what is at `url` in the directory that all is put in. What is in a directory keeps its place there, and what is in the
/// root of a share, which has no name, has its place here.
fn name_of(url: &Url, recursive: bool) -> Result<PathBuf, Failure> {
    let given = match url.given_name() {
        "" if recursive => ".".to_owned(),
        _ => file_name(url)?,
    };
    Ok([given.as_str()].into_iter().chain(url.found()).collect())
}

/// Makes the directory that `get` puts what is in that at `url` into, and those above it, unless they are there.
pub fn make_directory(url: &Url, args: &Get) -> Result<(), Failure> {
    let path = name_of(url, args.recursive)?;
    let path = args.output_dir.clone().unwrap_or_default().join(path);
    fs::create_dir_all(&path).map_err(|error| failure(&path, error))
}

/// Sees to it, before anything is read, that every URL of `get` has a file of its own.
pub fn distinct(args: &Get) -> Result<(), Failure> {
    let mut taken: HashMap<PathBuf, Url> = HashMap::new();
    for text in &args.urls {
        let url = Url::parse(text).map_err(usage)?;
        let Some(path) = path_of(&url, args, args.urls.len() > 1)? else { continue };
        let path = fs::canonicalize(&path).unwrap_or(path);
        if let Some(other) = taken.get(&path) {
            let message = format!("{other} and {url} would both become {}", shown(&path));
            return Err(usage(message));
        }
        taken.insert(path, url);
    }
    Ok(())
}

fn shown(path: &Path) -> String {
    safe::text(&path.display().to_string())
}

fn failure(path: &Path, error: io::Error) -> Failure {
    Failure::new(format!("writing {}", shown(path)), Cause::unwritten(error))
}

fn exists(name: &Path) -> Failure {
    let error = io::Error::new(io::ErrorKind::AlreadyExists, format!("{} exists", shown(name)));
    Failure::new("keeping what is there", Cause::Local(error))
}

fn file_name(url: &Url) -> Result<String, Failure> {
    let wrong = || {
        let message = "the path of the URL ends with no name that a file could have; give one by -o";
        Failure::new(format!("getting {url}"), Cause::Usage(message.into()))
    };
    safe::file_name(url.given_name()).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::super::args::{Command, CommandLine};
    use super::*;
    use clap::Parser;

    fn of(url: &str, options: &[&str], several: bool) -> Result<Destination, Failure> {
        let line = ["pagewire", "get", url].into_iter().chain(options.iter().copied());
        let Command::Get(get) = CommandLine::try_parse_from(line).ok().unwrap().command else {
            panic!("another command");
        };
        Destination::of(&Url::parse(url).unwrap(), &get, several)
    }

    fn file(path: &str) -> Destination {
        Destination::File { path: path.into(), name: path.into(), replace: true }
    }

    #[test]
    fn the_name_is_that_in_the_url_unless_another_is_given() {
        assert_eq!(of("smb://h/s/d/no%0asuch", &[], true).unwrap(), file("no_such"));
        assert_eq!(of("smb://h/s/d/f", &["-o", "no-such-file"], false).unwrap(), file("no-such-file"));
        assert_eq!(of("smb://h/s/d/f", &["-O", "no-such"], true).unwrap(), file("no-such/f"));
        assert_eq!(of("smb://h/s/f", &["-o", "-"], true).unwrap(), Destination::Stdout);
        assert_eq!(of("smb://h/s", &[], false).unwrap_err().exit() as u8, 2);
    }

    #[test]
    fn what_is_found_in_a_directory_keeps_its_place_there() {
        let place = |url: &str, options: &[&str]| {
            let line = ["pagewire", "get", "-r", url].into_iter().chain(options.iter().copied());
            let Command::Get(get) = CommandLine::try_parse_from(line).ok().unwrap().command else {
                panic!("another command");
            };
            let found = Url::parse(url).unwrap().child("no-such-directory").child("f");
            Destination::of(&found, &get, false).unwrap()
        };
        assert_eq!(place("smb://h/s/d/e", &["-O", "no-such"]), file("no-such/e/no-such-directory/f"));
        assert_eq!(place("nfs://h/d/", &[]), file("d/no-such-directory/f"));
        assert_eq!(place("smb://h/s", &["-O", "no-such"]), file("no-such/no-such-directory/f"));
        assert_eq!(place("smb://h/s", &[]), file("./no-such-directory/f"));
    }

    #[test]
    fn a_directory_takes_several_files_and_a_file_only_one() {
        let inside = of("smb://h/s/no-such-file", &["-o", "src"], true).unwrap();
        assert_eq!(inside, file("src/no-such-file"));
        assert_eq!(of("smb://h/s/f", &["-o", "no-such"], true).unwrap_err().exit() as u8, 2);
    }

    #[test]
    fn what_is_there_is_not_always_replaced() {
        assert_eq!(
            of("smb://h/s/f", &["-o", "Cargo.toml", "--no-clobber"], false).unwrap_err().exit() as u8,
            3
        );
        let told = of("smb://h/s/f", &["-o", "src/../Cargo.toml", "--no-clobber"], false).unwrap_err();
        assert!(told.to_string().contains(" src/../Cargo.toml exists"), "{told}");
        #[cfg(unix)]
        assert_eq!(
            of("smb://h/s/f", &["-o", "/dev/null"], false).unwrap(),
            Destination::Special("/dev/null".into())
        );
    }
}
