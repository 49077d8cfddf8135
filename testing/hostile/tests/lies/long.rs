//! Files of more than one read, and many requests: where others lost count of bytes or credits.

use pagewire::smb::Smb;
use pagewire::{Close, Connect, Error, Open, Pages, Read, Stat, StorageArray, Stream};
use pagewire_hostile::{Scene, Server, Session, Setup};
use pagewire_model::{Command, Model, Tree, pattern};

const MIB: usize = 1 << 20;

fn with(
    setup: Setup,
    len: u64,
    (read_len, credits): (u32, u16),
    body: impl FnOnce(&mut Session<'_, Server>),
) {
    let mut scene = Scene::new(setup);
    scene.config.tree = Tree::new().pattern("f", len);
    (scene.config.max_read_size, scene.config.credits_max) = (read_len, credits);
    let mut storage = StorageArray::<4096, 4096, 16>::new();
    let smb = Smb::new(setup.config());
    let mut session = Session::new(storage.lend(), smb, Server(Model::new(scene.config))).unwrap();
    session.run(&mut Connect::new()).unwrap();
    body(&mut session);
}

/// The offset goes on by what a reply has brought, and not by all that was asked for at once.
#[test]
fn a_file_of_two_reads_and_a_bit_to_three_reads_and_a_bit_comes_whole() {
    for setup in Setup::every() {
        for len in [131_071, 131_072, 131_073, 150_000, 196_607, 196_608, 196_609] {
            with(setup, len, (65_536, 512), |session| {
                let file = session.run(&mut Open::new("f")).unwrap();
                let mut memory = vec![[0xAA; 4096]; 64];
                let filled = session.run(&mut Read::new(&file, 0, &mut Pages(&mut memory))).unwrap();
                assert_eq!((filled.len, filled.eof), (len as usize, true), "{setup:?} {len}");
                assert!(memory.as_flattened()[..len as usize] == pattern(0, 0, len as usize), "{len}");
                let (mut pages, mut content) = (Pages(&mut memory), Vec::<u8>::new());
                let mut stream = Stream::new(&file, 0, &mut pages);
                let end = session.run_each(&mut stream, |part| content.extend(part.data()));
                assert!(end == Ok(len) && content == pattern(0, 0, len as usize), "{setup:?} {len}");
            });
        }
    }
}

#[test]
fn the_credits_of_reads_of_a_mib_come_back_however_many_there_are() {
    for setup in [Setup::PLAIN[1], Setup::SIGNED[0]] {
        // Of two reads of a MiB and a half.
        with(setup, 60 * MIB as u64, (MIB as u32, 40), |session| {
            let file = session.run(&mut Open::new("f")).unwrap();
            let before = session.link.0.credits();
            let (mut memory, mut came) = (vec![[0; 65_536]; 64], 0);
            let mut pages = Pages(&mut memory);
            let mut stream = Stream::new(&file, 0, &mut pages);
            let end = session.run_each(&mut stream, |part| {
                assert!(part.data() == pattern(0, came as u64, part.data().len()), "at {came}");
                came += part.data().len();
            });
            assert_eq!((end, came), (Ok(60 * MIB as u64), 60 * MIB), "{setup:?}");
            assert_eq!(session.link.0.credits(), before, "{setup:?}");
            // Each takes a quarter of the credits. With fewer they would become shorter and shorter.
            assert_eq!(session.link.requests(Command::Read), 60 * 16 / 10, "{setup:?}");
        });
    }
}

/// Nobody waits for the replies: they come while the next one is closed.
#[test]
fn as_many_files_as_there_are_may_be_closed_one_after_the_other() {
    for setup in [Setup::PLAIN[1], Setup::SIGNED[0]] {
        with(setup, 1, (4096, 64), |session| {
            let files: Vec<_> = (0..1200).map(|_| session.run(&mut Open::new("f")).unwrap()).collect();
            for (nth, file) in files.iter().enumerate() {
                assert_eq!(session.run(&mut Close::new(file)), Ok(()), "{setup:?}, {nth}");
            }
            session.run(&mut Stat::new("f")).unwrap();
            assert_eq!(session.link.open_handles(), 0, "{setup:?}");
        });
    }
}

#[test]
fn the_credits_of_what_is_refused_come_back_however_often() {
    for setup in Setup::every() {
        with(setup, 1, (4096, 3), |session| {
            let before = session.link.0.credits();
            for _ in 0..200 {
                assert!(matches!(session.run(&mut Stat::new("missing")), Err(Error::Refused(_))));
            }
            assert_eq!(session.link.0.credits(), before, "{setup:?}");
            assert_eq!(session.run(&mut Stat::new("f")).map(|attributes| attributes.len), Ok(1));
        });
    }
}
