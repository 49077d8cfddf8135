//! Holes are left out: the same bytes come, and no more of them than are stored.

use pagewire::blocking::Failure;
use pagewire::protocol::Protocol;
use pagewire::{Content, Counters, Error, File, MapSegment, Pages, Stream};
use pagewire_interop::{Lab, Options, Session, SmbSession, extents, with_nfs3, with_nfs4, with_session};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Holes that are shorter are read: `limits::HOLE_LEN_MIN`.
const HOLE_LEN_MIN: u64 = 64 * 1024;

/// Where a map is told run by run, shorter runs may be read: `limits::MAP_LEN_MIN`.
const MAP_LEN_MIN: u64 = 256 * 1024;

/// What is done in a session whose paths start at `at` and whose files are those of `local`.
trait Scene {
    fn play<P: Protocol>(&self, session: &mut Session<'_, P>, at: &str, local: &Path, who: &str);
}

/// Plays it with every server that can say where holes are.
fn everywhere(scene: &impl Scene) {
    let Some(lab) = Lab::find() else { return };
    let local = lab.files.join("sparse-attribute");
    for (who, address) in [("Samba", Some(&lab.samba)), ("ksmbd", lab.ksmbd.as_ref())] {
        let Some(address) = address else {
            println!("skipped: {who} was not started; testing/servers/run --kernel does");
            continue;
        };
        let options = Options { share: "sparse", ..Options::new(address) };
        with_session(&options, |session| scene.play(session, "", &local, who))
            .unwrap_or_else(|error| panic!("{who}: {error}"));
    }
    for (who, address) in [("Ganesha 4.2", &lab.ganesha), ("nfsd 4.2", &lab.nfsd)] {
        let Some(address) = address else {
            println!("skipped: {who} was not started; testing/servers/run --nfs --kernel does");
            continue;
        };
        let (at, local) = ("/export/sparse/", lab.files.join("sparse"));
        with_nfs4(address, Some(2), |session| scene.play(session, at, &local, who))
            .unwrap_or_else(|error| panic!("{who}: {error}"));
    }
}

fn files(local: &Path) -> Vec<PathBuf> {
    let names = std::fs::read_dir(local).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = names.filter(|path| !path.ends_with("sparse-1g")).collect();
    assert!(files.len() > 14, "{files:?}");
    files
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Streams and compares with the file at `path`. Returns the holes that were lent, joined, and what it cost.
fn compare<P: Protocol>(
    session: &mut Session<'_, P>,
    stream: &mut Stream<'_, P>,
    path: &Path,
    from: u64,
) -> (Vec<MapSegment>, Counters) {
    let mut local = std::fs::File::open(path).unwrap();
    local.seek(SeekFrom::Start(from)).unwrap();
    let before = *session.client.counters();
    let (mut at, mut holes) = (from, Vec::<MapSegment>::new());
    let mut buffer = vec![0; 1 << 20];
    let end = session
        .run_each(stream, |content| {
            match content {
                Content::Data(bytes) => bytes.chunks(buffer.len()).for_each(|bytes| {
                    local.read_exact(&mut buffer[..bytes.len()]).unwrap();
                    assert!(buffer[..bytes.len()] == *bytes, "{} at {at}", path.display());
                }),
                Content::Hole(len) => {
                    local.seek(SeekFrom::Current(len as i64)).unwrap();
                    match holes.last_mut() {
                        Some(last) if last.end() == at => last.len += len,
                        _ => holes.push(MapSegment { offset: at, len, hole: true }),
                    }
                }
            }
            at += content.len();
        })
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!((end, at), (std::fs::metadata(path).unwrap().len(), end), "{}", path.display());
    (holes, since(before, session.client.counters()))
}

fn since(before: Counters, now: &Counters) -> Counters {
    Counters {
        requests: now.requests - before.requests,
        bytes_sent: now.bytes_sent - before.bytes_sent,
        bytes_received: now.bytes_received - before.bytes_received,
        file_bytes: now.file_bytes - before.file_bytes,
        hole_bytes: now.hole_bytes - before.hole_bytes,
        ..*now
    }
}

/// The holes of the file system that are worth leaving out, from `from` on.
fn long_holes(path: &Path, from: u64) -> Vec<MapSegment> {
    let all = extents(&std::fs::File::open(path).unwrap()).unwrap();
    let cut = |segment: &MapSegment| {
        let offset = segment.offset.max(from);
        MapSegment { offset, len: segment.end().saturating_sub(offset), hole: segment.hole }
    };
    all.iter().map(cut).filter(|segment| segment.hole && segment.len >= HOLE_LEN_MIN).collect()
}

fn open<P: Protocol>(session: &mut Session<'_, P>, at: &str, path: &Path) -> File<P::Handle> {
    session.open(&format!("{at}{}", name(path))).unwrap()
}

struct Layouts<const SIZE: usize>;

impl<const SIZE: usize> Scene for Layouts<SIZE> {
    fn play<P: Protocol>(&self, session: &mut Session<'_, P>, at: &str, local: &Path, who: &str) {
        let mut memory = vec![[0; SIZE]; (1 << 20) / SIZE];
        for path in files(local) {
            let file = open(session, at, &path);
            for from in [0, 3 * 65_536 + 5] {
                let mut pages = Pages(&mut memory);
                let mut stream = Stream::new(&file, from, &mut pages);
                let (holes, cost) = compare(session, &mut stream, &path, from);
                let expected = long_holes(&path, from);
                let who = format!("{who}, {} from {from}, pages of {SIZE}", name(&path));
                assert!(holes.iter().all(|hole| expected.contains(hole)), "{who}: {holes:?}");
                // Where each hole takes a round trip, short ones may not be worth it.
                if !who.contains("4.2") || expected.iter().all(|hole| hole.len >= MAP_LEN_MIN) {
                    assert_eq!(holes, expected, "{who}");
                }
                let left_out: u64 = holes.iter().map(|hole| hole.len).sum();
                assert_eq!(cost.hole_bytes, left_out, "{who}");
                assert_eq!(cost.file_bytes, file.attributes.len - from - left_out, "{who}");
            }
            session.run(&mut pagewire::Close::new(&file)).unwrap();
        }
    }
}

#[test]
fn every_layout_is_read_around_its_holes_in_pages_of_4_kib() {
    everywhere(&Layouts::<4096>);
}

#[test]
fn every_layout_is_read_around_its_holes_in_pages_of_16_kib() {
    everywhere(&Layouts::<16_384>);
}

#[test]
fn every_layout_is_read_around_its_holes_in_pages_of_64_kib() {
    everywhere(&Layouts::<65_536>);
}

struct OneMebibyte<const SIZE: usize>;

impl<const SIZE: usize> Scene for OneMebibyte<SIZE> {
    fn play<P: Protocol>(&self, session: &mut Session<'_, P>, at: &str, local: &Path, who: &str) {
        let path = local.join("sparse-1g");
        let file = open(session, at, &path);
        let mut memory = vec![[0; SIZE]; (4 << 20) / SIZE];
        let mut pages = Pages(&mut memory);
        let (holes, cost) = compare(session, &mut Stream::new(&file, 0, &mut pages), &path, 0);
        let bytes = cost.bytes_sent + cost.bytes_received;
        println!("{who}, pages of {SIZE}: {bytes} bytes in {} requests for 1 GiB", cost.requests);
        assert!(bytes < (11 << 20) / 10 + 65_536, "{who}, pages of {SIZE}: {bytes} bytes");
        assert_eq!((holes.len(), cost.hole_bytes), (2, (1 << 30) - (1 << 20)), "{who}");
    }
}

#[test]
fn a_gibibyte_with_one_mebibyte_of_data_moves_that_mebibyte() {
    everywhere(&OneMebibyte::<4096>);
    everywhere(&OneMebibyte::<16_384>);
    everywhere(&OneMebibyte::<65_536>);
}

struct AllData;

impl Scene for AllData {
    fn play<P: Protocol>(&self, session: &mut Session<'_, P>, at: &str, local: &Path, who: &str) {
        let path = local.join("all-data");
        let file = open(session, at, &path);
        let mut memory = vec![[0; 65_536]; 64];
        let (_, whole) = compare(session, &mut Stream::whole(&file, 0, &mut Pages(&mut memory)), &path, 0);
        let (_, mapped) = compare(session, &mut Stream::new(&file, 0, &mut Pages(&mut memory)), &path, 0);
        let [whole, mapped] = [whole, mapped].map(|cost| cost.bytes_sent + cost.bytes_received);
        println!("{who}: {mapped} bytes, {whole} without a map");
        assert!(mapped * 100 <= whole * 102, "{who}: {mapped} bytes instead of {whole}");
    }
}

#[test]
fn a_file_without_holes_costs_the_same() {
    everywhere(&AllData);
}

struct Reader;

impl Scene for Reader {
    fn play<P: Protocol>(&self, session: &mut Session<'_, P>, at: &str, local: &Path, who: &str) {
        use embedded_io::{Read as _, Seek as _};
        let path = local.join("2h");
        let file = open(session, at, &path);
        let local = std::fs::read(&path).unwrap();
        let mut memory = vec![[0; 4096]; 64];
        let mut pages = Pages(&mut memory);
        let mut reader = session.reader(&file, &mut pages);
        for from in [0, 1, 131_071, 131_072, local.len() - 5, local.len(), 7] {
            reader.seek(embedded_io::SeekFrom::Start(from as u64)).unwrap();
            let mut bytes = vec![0xAA; 700_000.min(local.len() - from)];
            reader.read_exact(&mut bytes).unwrap();
            assert!(bytes == local[from..][..bytes.len()], "{who} from {from}");
        }
    }
}

#[test]
fn a_reader_gives_holes_as_zeros_wherever_it_starts() {
    everywhere(&Reader);
}

#[test]
fn protocols_without_maps_read_the_holes() {
    fn whole<P: Protocol>(session: &mut Session<'_, P>, path: &Path, at: &str) {
        let file = open(session, at, path);
        let mut memory = vec![[0; 16_384]; 64];
        let (holes, cost) = compare(session, &mut Stream::new(&file, 0, &mut Pages(&mut memory)), path, 0);
        assert_eq!((holes, cost.hole_bytes, cost.file_bytes), (Vec::new(), 0, file.attributes.len));
    }
    let Some(lab) = Lab::find() else { return };
    let path = lab.files.join("sparse/4h");
    with_session(&Options::new(&lab.samba), |session| whole(session, &path, "sparse/")).unwrap();
    for address in [&lab.ganesha, &lab.nfsd].into_iter().flatten() {
        with_nfs3(address, "/export", |session| whole(session, &path, "/export/sparse/")).unwrap();
        for minor in [0, 1] {
            with_nfs4(address, Some(minor), |session| whole(session, &path, "/export/sparse/")).unwrap();
        }
    }
}

/// A copy of a file with holes, marked as such, that a server shows; gone in the end.
struct Copy(PathBuf);

impl Copy {
    fn of(path: &Path) -> Copy {
        let copy = path.with_file_name(format!("copy-{}", std::process::id()));
        let done = std::process::Command::new("cp")
            .args(["--preserve=xattr", "--sparse=always"])
            .args([path, &copy])
            .status();
        assert!(done.unwrap().success());
        Copy(copy)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Reads a file of which `at` is written to once reading has begun.
fn read_while_written(
    session: &mut SmbSession<'_>,
    path: &Path,
    whole: bool,
    at: u64,
) -> Result<(), Failure<std::io::Error>> {
    let file = open(session, "", path);
    let mut memory = vec![[0; 4096]; 64];
    let mut pages = Pages(&mut memory);
    let mut stream = match whole {
        true => Stream::whole(&file, 0, &mut pages),
        false => Stream::new(&file, 0, &mut pages),
    };
    let mut local = Some(std::fs::OpenOptions::new().write(true).open(path).unwrap());
    let end = session.run_each(&mut stream, |_| {
        if let Some(local) = local.take() {
            std::os::unix::fs::FileExt::write_all_at(&local, b"!", at).unwrap();
        }
    });
    end.map(|end| assert_eq!(end, file.attributes.len))
}

#[test]
fn a_file_whose_holes_change_while_it_is_read_is_an_error() {
    let Some(lab) = Lab::find() else { return };
    // NFS-Ganesha would not do: what is written beside it changes no attribute that it tells for a minute.
    let copy = Copy::of(&lab.files.join("sparse-attribute/4h"));
    let options = Options { share: "sparse", ..Options::new(&lab.samba) };
    with_session(&options, |session| {
        let changed = read_while_written(session, &copy.0, false, 70_000);
        assert!(matches!(changed, Err(Failure::Engine(Error::Changed))), "{changed:?}");
        read_while_written(session, &copy.0, true, 0).unwrap();
    })
    .unwrap();
}
