//! Numbers at their ends.

use pagewire::nfs::Nfs3;
use pagewire::{Buffer, Connect, Open, Read, Stat, StorageArray, Stream, Time};
use pagewire_hostile_nfs::v3::{Scene, Session, at};
use pagewire_hostile_nfs::{Kind, Layout, Told};

fn with(scene: &Scene, then: impl FnOnce(&mut Session<'_>)) {
    let mut storage = StorageArray::<1024, 4096, 8>::new();
    let nfs = Nfs3::new(scene.client.clone());
    let mut session = Session::new(storage.lend(), nfs, scene.line()).unwrap();
    session.run(&mut Connect::new()).unwrap();
    then(&mut session);
}

#[test]
fn a_file_is_as_long_as_it_says_and_read_to_its_end() {
    for len in [1 << 32, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX] {
        let scene = Scene::new().with(|scene| {
            scene.config.tree = scene.config.tree.clone().with("/export/long", Kind::File(Layout::data(len)));
        });
        with(&scene, |session| {
            let file = session.run(&mut Open::new("/export/long")).unwrap();
            assert_eq!(file.attributes.len, len);
            let mut memory = [0xAA; 2048];
            for (offset, rest) in [(len - 1000, 1000), (len, 0), (u64::MAX, 0)] {
                let filled = session.run(&mut Read::new(&file, offset, &mut Buffer(&mut memory))).unwrap();
                assert_eq!((filled.len, filled.eof), (rest, true), "{len:#x} at {offset:#x}");
            }
            let (mut pages, mut lent) = (Buffer(&mut memory), 0);
            let mut stream = Stream::new(&file, len - 5000, &mut pages);
            let end = session.run_each(&mut stream, |content| lent += content.len());
            assert_eq!((end, lent), (Ok(len), 5000));
        });
    }
}

#[test]
fn a_time_may_be_the_last_there_is_and_one_of_more_nanoseconds_than_a_second_has_is_none() {
    const MTIME: usize = 4 + 68;
    for (seconds, nanoseconds, is_one) in
        [(0, 0, true), (u32::MAX, 999_999_999, true), (0, 1_000_000_000, false), (u32::MAX, u32::MAX, false)]
    {
        let tell = move |told: &mut Told| {
            told.word(MTIME, seconds);
            told.word(MTIME + 4, nanoseconds);
        };
        with(&Scene::new().told((at::NFS, 1), tell), |session| {
            let modified = session.run(&mut Stat::new("/export")).unwrap().modified;
            let time = Time { seconds: seconds.into(), nanoseconds };
            assert_eq!(modified, is_one.then_some(time));
        });
    }
}
