//! Randomness from the operating system.

use std::io;

/// `N` random bytes, good enough for keys. It waits only where the system has just started and has none yet;
/// an error means that the system has no source of them.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_draws_differ() {
        assert_ne!(random::<16>().unwrap(), random::<16>().unwrap());
        assert_eq!(random::<0>().unwrap(), []);
    }
}
