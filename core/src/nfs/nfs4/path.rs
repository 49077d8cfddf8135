//! How much of a path one COMPOUND walks.

use crate::nfs::path::components;
use crate::nfs::xdr::pad;

/// How many LOOKUPs behind byte `at` go into one COMPOUND that takes `most` of them (fewer than 256) and has `room` bytes
/// for them, and where the last of their names ends. One, whatever the room, so that there is progress or an error that
/// says what is missing.
pub(super) fn fitting(path: &str, at: usize, most: u32, room: usize) -> (u8, usize) {
    let (mut count, mut used, mut end) = (0_u8, 0_usize, at);
    for (name, name_end) in components(path, at) {
        used = used.saturating_add(8).saturating_add(name.len()).saturating_add(pad(name.len()));
        if u32::from(count) >= most.clamp(1, 255) || (count > 0 && used > room) {
            break;
        }
        (count, end) = (count.saturating_add(1), name_end);
    }
    (count, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_names_go_into_a_compound_as_its_operations_and_its_bytes_allow() {
        let path = "/a/bcde/f/g/";
        assert_eq!(fitting(path, 0, 9, 1000), (4, 11));
        assert_eq!(fitting(path, 0, 2, 1000), (2, 7));
        assert_eq!(fitting(path, 7, 2, 1000), (2, 11));
        assert_eq!(fitting(path, 11, 2, 1000), (0, 11));
        // Each LOOKUP takes 12 bytes.
        assert_eq!(fitting(path, 0, 9, 36), (3, 9));
        assert_eq!(fitting(path, 0, 9, 35), (2, 7));
        assert_eq!(fitting(path, 0, 9, 0), (1, 2));
        assert_eq!(fitting("", 0, 9, 0), (0, 0));
        assert_eq!(fitting(path, 0, 0, 1000), (1, 2));
    }
}
