//! Where a symbolic link leads, by its text alone.

/// Links that are followed on the way to one file. More are taken for a loop.
pub const LINKS_MAX: usize = 16;

/// The path that `path` means if its first `end` bytes lead to a link to `target`: what is relative starts in the
/// link's directory, `..` takes a name away, and what follows the link in the path is kept.
pub fn resolve(path: &str, end: usize, target: &str) -> String {
    let (link, rest) = path.split_at_checked(end).unwrap_or((path, ""));
    let mut names: Vec<&str> = if target.starts_with('/') { Vec::new() } else { link.split('/').collect() };
    names.pop();
    for name in target.split('/').chain(rest.split('/')) {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names.retain(|name| !name.is_empty());
    format!("/{}", names.join("/"))
}

/// Whether `path` is `root` or lies below it.
pub fn is_below(path: &str, root: &str) -> bool {
    let mut names = path.split('/').filter(|name| !name.is_empty());
    root.split('/').filter(|name| !name.is_empty()).all(|name| names.next() == Some(name))
}

/// The longest path that both are below.
pub fn common(path: &str, other: &str) -> String {
    let (names, others) = (path.split('/'), other.split('/'));
    let same: Vec<&str> = names.zip(others).take_while(|(a, b)| a == b).map(|(name, _)| name).collect();
    let common = same.join("/");
    if common.is_empty() { "/".to_owned() } else { common }
}

/// The directory that `path` is in.
pub fn parent(path: &str) -> &str {
    path.rfind('/').and_then(|slash| path.get(..slash)).filter(|parent| !parent.is_empty()).unwrap_or("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_start_at_the_links_directory_or_at_the_root() {
        for (path, end, target, means) in [
            ("/export/links/to-small", 22, "../small.txt", "/export/small.txt"),
            ("/export/links/to-many/file-07", 21, "../many", "/export/many/file-07"),
            ("/export/links/a", 15, "b", "/export/links/b"),
            ("/export/links/a", 15, "./b//c/", "/export/links/b/c"),
            ("/export/links/a/x/y", 15, "/other/d", "/other/d/x/y"),
            ("/a", 2, "../../..", "/"),
            ("/a", 2, "/", "/"),
            ("/é", 3, "b", "/b"),
        ] {
            assert_eq!(resolve(path, end, target), means, "{path} -> {target}");
        }
    }

    #[test]
    fn a_path_lies_below_another_by_whole_names() {
        for (path, root, below) in [
            ("/export/a", "/export", true),
            ("/export", "/export/", true),
            ("/exports", "/export", false),
            ("/export", "/export/a", false),
            ("/x", "/", true),
            ("/x", "", true),
        ] {
            assert_eq!(is_below(path, root), below, "{path} {root}");
        }
    }

    #[test]
    fn what_two_paths_have_in_common_is_whole_names() {
        assert_eq!(common("/export/links", "/export/small.txt"), "/export");
        assert_eq!(common("/export", "/exports"), "/");
        assert_eq!(common("/a/b", "/a/b/c"), "/a/b");
    }

    #[test]
    fn the_root_is_its_own_directory() {
        assert_eq!((parent("/a/b"), parent("/a"), parent("/")), ("/a", "/", "/"));
    }
}
