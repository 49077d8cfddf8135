//! Where a local file has data and holes, as its file system says.

use pagewire::MapSegment;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The first data or hole (`whence`) at or behind `from`; `None` if there is none.
fn seek(file: &File, from: u64, whence: libc::c_int) -> io::Result<Option<u64>> {
    // SAFETY: the descriptor is open as long as `file` is, and no memory is passed.
    let found = unsafe { libc::lseek(file.as_raw_fd(), from as libc::off_t, whence) };
    match u64::try_from(found) {
        Ok(found) => Ok(Some(found)),
        Err(_) => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
            error => Err(error),
        },
    }
}

/// Its map.
pub fn extents(file: &File) -> io::Result<Vec<MapSegment>> {
    let len = file.metadata()?.len();
    let (mut map, mut at) = (Vec::new(), 0);
    while at < len {
        let data = seek(file, at, libc::SEEK_DATA)?.unwrap_or(len);
        let hole = seek(file, at, libc::SEEK_HOLE)?.unwrap_or(len);
        let end = data.max(hole);
        map.push(MapSegment { offset: at, len: end - at, hole: data > at });
        at = end;
    }
    Ok(map)
}
