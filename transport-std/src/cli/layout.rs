//! Which file or directory `get` makes of what is at a URL.

use super::args::Get;
use super::destination::{self, Destination, shown};
use super::failure::{Cause, Failure};
use super::safe;
use super::url::Url;
use super::visit::usage;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

/// Where the options of `get` put things.
#[derive(Debug)]
pub struct Layout {
    root: Root,
    recursive: bool,
    replace: bool,
}

#[derive(Debug)]
enum Root {
    Stdout,
    /// What the user named, for the only URL there is.
    Named(PathBuf),
    /// What comes to lie in it has names from URLs and listings.
    Directory(PathBuf),
}

impl Layout {
    /// Sees to it that every URL has a file of its own.
    pub fn new(args: &Get) -> Result<Layout, Failure> {
        let root = match (&args.output, &args.output_dir) {
            (Some(output), _) if output.as_os_str() == "-" => Root::Stdout,
            (Some(output), _) if output.is_dir() => Root::Directory(output.clone()),
            (Some(_), _) if args.urls.len() > 1 => {
                return Err(usage("several files need a directory (-O makes it) or `-` as --output".into()));
            }
            (Some(output), _) => Root::Named(output.clone()),
            (None, directory) => Root::Directory(directory.clone().unwrap_or_default()),
        };
        let layout = Layout { root, recursive: args.recursive, replace: !args.no_clobber };
        layout.must_be_distinct(&args.urls)?;
        Ok(layout)
    }

    fn must_be_distinct(&self, urls: &[String]) -> Result<(), Failure> {
        let Root::Directory(directory) = &self.root else { return Ok(()) };
        let mut taken: HashMap<PathBuf, Url> = HashMap::new();
        for text in urls {
            let url = Url::parse(text).map_err(usage)?;
            let path = self.path_of(&url)?;
            if let Some(other) = taken.get(&path) {
                let path = shown(&directory.join(path));
                return Err(usage(format!("{other} and {url} would both become {path}")));
            }
            taken.insert(path, url);
        }
        Ok(())
    }

    /// Where the file at `url` goes.
    pub fn destination(&self, url: &Url) -> Result<Destination, Failure> {
        match &self.root {
            Root::Stdout => Ok(Destination::Stdout),
            Root::Named(name) => Destination::named(name, self.replace),
            Root::Directory(directory) => Destination::inside(directory, &self.path_of(url)?, self.replace),
        }
    }

    /// Makes the directory that what is in that at `url` goes into, and those above it, unless they are there.
    pub fn make_directory(&self, url: &Url) -> Result<(), Failure> {
        // With `-r` there is no other root.
        let Root::Directory(directory) = &self.root else { return Ok(()) };
        let path = self.path_of(url)?;
        let there = destination::look(directory, &path)?;
        let path = directory.join(path);
        if there.is_some_and(|there| !there.is_dir()) {
            return Err(destination::in_the_way(&path, "something lies there that is no directory"));
        }
        fs::create_dir_all(&path).map_err(|error| destination::failure(&path, error))
    }

    /// The path of what is at `url` below the root. What is in a directory keeps its place there, and what is in the root of a share,
    /// which has no name, has its place here.
    fn path_of(&self, url: &Url) -> Result<PathBuf, Failure> {
        let given = match url.given_name() {
            "" if self.recursive => ".".to_owned(),
            name => safe::file_name(name).ok_or_else(|| self.nameless(url))?,
        };
        Ok([given.as_str()].into_iter().chain(url.found()).collect())
    }

    fn nameless(&self, url: &Url) -> Failure {
        let message = match self.recursive {
            true => "the path of the URL ends with no name that a directory could have",
            false => "the path of the URL ends with no name that a file could have; give one by -o",
        };
        Failure::new(format!("getting {url}"), Cause::Usage(message.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::args::{Command, CommandLine};
    use super::*;
    use clap::Parser;

    fn layout(options: &[&str], urls: &[&str]) -> Result<Layout, Failure> {
        let line = ["pagewire", "get"].iter().chain(options).chain(urls);
        let Command::Get(get) = CommandLine::try_parse_from(line).ok().unwrap().command else {
            panic!("another command");
        };
        Layout::new(&get)
    }

    fn of(url: &str, options: &[&str]) -> Result<Destination, Failure> {
        layout(options, &[url])?.destination(&Url::parse(url).unwrap())
    }

    fn in_directory(path: &str) -> Destination {
        Destination::File { path: path.into(), name: path.into(), replace: true, in_directory: true }
    }

    #[test]
    fn the_name_is_that_in_the_url_unless_another_is_given() {
        assert_eq!(of("smb://h/s/d/no%0asuch", &[]).unwrap(), in_directory("no_such"));
        assert_eq!(of("smb://h/s/d/f", &["-O", "no-such"]).unwrap(), in_directory("no-such/f"));
        assert_eq!(of("smb://h/s/f", &["-o", "-"]).unwrap(), Destination::Stdout);
        let path: PathBuf = "no-such-file".into();
        let named = Destination::File { name: path.clone(), path, replace: true, in_directory: false };
        assert_eq!(of("smb://h/s/d/f", &["-o", "no-such-file"]).unwrap(), named);
    }

    #[test]
    fn what_is_found_in_a_directory_keeps_its_place_there() {
        let place = |url: &str, options: &[&str]| {
            let found = Url::parse(url).unwrap().child("no-such-directory").child("f");
            layout(&[&["-r"], options].concat(), &[url]).unwrap().destination(&found).unwrap()
        };
        let found = |above: &str| in_directory(&format!("{above}/no-such-directory/f"));
        assert_eq!(place("smb://h/s/d/e", &["-O", "no-such"]), found("no-such/e"));
        assert_eq!(place("nfs://h/d/", &[]), found("d"));
        assert_eq!(place("smb://h/s", &["-O", "no-such"]), found("no-such/."));
        assert_eq!(place("smb://h/s", &[]), found("."));
    }

    #[test]
    fn what_is_found_behind_a_link_has_its_place_under_the_name_of_the_link() {
        let link = Url::parse("nfs://h/e/link").unwrap();
        let found = link.meant("/e/elsewhere/d".into()).child("f");
        assert_eq!(
            (found.path.as_str(), found.to_string().as_str()),
            ("/e/elsewhere/d/f", "nfs://h/e/link/f")
        );
        let layout = layout(&["-r", "-O", "no-such"], &["nfs://h/e/link"]).unwrap();
        assert_eq!(layout.destination(&found).unwrap(), in_directory("no-such/link/f"));
    }

    #[test]
    fn a_directory_takes_several_files_and_a_file_only_one() {
        let urls = ["smb://h/s/no-such-file", "smb://h/s/f"];
        let several = |output| layout(&["-o", output], &urls);
        let first = several("src").unwrap().destination(&Url::parse(urls[0]).unwrap()).unwrap();
        assert_eq!(first, in_directory("src/no-such-file"));
        assert_eq!(several("no-such").unwrap_err().exit() as u8, 2);
    }

    #[test]
    fn a_name_is_asked_for_where_the_url_has_none_and_only_where_an_option_gives_it() {
        let told = of("smb://h/s", &[]).unwrap_err();
        assert!(told.exit() as u8 == 2 && told.to_string().contains("-o"), "{told}");
        let told = of("smb://h/s/..", &["-r"]).unwrap_err();
        assert!(told.exit() as u8 == 2 && !told.to_string().contains("-o"), "{told}");
    }
}
