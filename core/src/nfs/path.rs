//! Paths, name by name: `/` separates, however many at any place.

/// The name in `path` that begins behind byte `at`, and where it ends.
pub(in crate::nfs) fn component(path: &str, at: usize) -> Option<(&str, usize)> {
    let mut behind = path.bytes().enumerate().skip(at);
    let (start, _) = behind.find(|(_, byte)| *byte != b'/')?;
    let end = behind.find(|(_, byte)| *byte == b'/').map_or(path.len(), |(end, _)| end);
    Some((path.get(start..end)?, end))
}

/// The names of `path` behind byte `at`, each with where it ends. Each takes a byte at least, so they end.
pub(in crate::nfs) fn components(path: &str, mut at: usize) -> impl Iterator<Item = (&str, usize)> {
    core::iter::from_fn(move || {
        let (name, end) = component(path, at)?;
        at = end;
        Some((name, end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn components_are_found_whatever_the_slashes() {
        let all = |path: &'static str| components(path, 0).map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(all("/export//a/b.txt/"), ["export", "a", "b.txt"]);
        assert_eq!(all("a"), ["a"]);
        assert_eq!(all("///"), [""; 0]);
        assert_eq!(all(""), [""; 0]);
    }
}
