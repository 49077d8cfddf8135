//! Every dialect, protection and page size reads the same bytes.

use pagewire::Pages;
use pagewire::smb::negotiate::{
    AES_128_CCM, AES_128_GCM, AES_256_CCM, AES_256_GCM, AES_CMAC, AES_GMAC, HMAC_SHA256,
};
use pagewire::smb::{Dialect, Dialects, Policy};
use pagewire_interop::{GUEST, Lab, Options, SmbSession, with_session};

const SIZES: [&str; 7] =
    ["size-0", "size-1", "size-65535", "size-65536", "size-65537", "size-1048577", "size-67108864"];

/// What a dialect can do, and the name of it in a message.
fn protections(options: &Options, dialect: Dialect) -> Vec<(String, Options)> {
    let base = Options { dialects: Dialects::only(dialect), ..options.clone() };
    let named = |what: &str, options: Options| (format!("{} {what}", dialect.name()), options);
    let mut all = vec![
        named("guest", Options { share: "guest", identity: GUEST, ..base.clone() }),
        named("plain", base.clone()),
        named("signed", Options { sign: Policy::Always, ..base.clone() }),
    ];
    if dialect >= Dialect::Smb300 {
        all.push(named("sealed", Options { seal: Policy::Always, ..base.clone() }));
        all.push(named("share that wants encryption", Options { share: "enc", ..base.clone() }));
    }
    if dialect == Dialect::Smb311 {
        for id in [AES_128_CCM, AES_128_GCM, AES_256_CCM, AES_256_GCM] {
            let sealed = Options { ciphers: Some(id), seal: Policy::Always, ..base.clone() };
            all.push(named(&format!("sealed with cipher {id}"), sealed));
        }
        for id in [HMAC_SHA256, AES_CMAC, AES_GMAC] {
            let signed = Options { signing_algorithm: Some(id), sign: Policy::Always, ..base.clone() };
            all.push(named(&format!("signed with algorithm {id}"), signed));
        }
    }
    all
}

fn read_all<const SIZE: usize>(session: &mut SmbSession<'_>, what: &str, sums: &[(String, String)]) {
    for name in SIZES {
        let (_, sum) = sums.iter().find(|(known, _)| known == name).expect("the file has a sum");
        let (_, digest) = session.digest::<SIZE>(name, (1 << 20) / SIZE).unwrap();
        assert_eq!(digest, *sum, "{what}, pages of {SIZE}, {name}");
    }
}

fn every_protection_reads_the_same(dialect: Dialect) {
    let Some(lab) = Lab::find() else { return };
    let sums = lab.sums();
    for (what, options) in protections(&Options::new(&lab.samba), dialect) {
        with_session(&options, |session| {
            assert_eq!(session.client.protocol().dialect(), Some(dialect), "{what}");
            let seals = session.client.protocol().sealing().is_some();
            assert_eq!(seals, options.seal == Policy::Always || options.share == "enc", "{what}");
            let signs = session.client.protocol().signing().is_some();
            assert_eq!(signs, options.sign == Policy::Always, "{what}");
            read_all::<4096>(session, &what, &sums);
            read_all::<16_384>(session, &what, &sums);
            read_all::<65_536>(session, &what, &sums);
        })
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

#[test]
fn smb_2_0_2_reads_the_same_with_every_protection_and_page_size() {
    every_protection_reads_the_same(Dialect::Smb202);
}

#[test]
fn smb_2_1_reads_the_same_with_every_protection_and_page_size() {
    every_protection_reads_the_same(Dialect::Smb210);
}

#[test]
fn smb_3_0_reads_the_same_with_every_protection_and_page_size() {
    every_protection_reads_the_same(Dialect::Smb300);
}

#[test]
fn smb_3_0_2_reads_the_same_with_every_protection_and_page_size() {
    every_protection_reads_the_same(Dialect::Smb302);
}

#[test]
fn smb_3_1_1_reads_the_same_with_every_protection_and_page_size() {
    every_protection_reads_the_same(Dialect::Smb311);
}

#[test]
fn all_dialects_offered_together_give_the_highest() {
    let Some(lab) = Lab::find() else { return };
    let dialect = with_session(&Options::new(&lab.samba), |session| session.client.protocol().dialect());
    assert_eq!(dialect.unwrap(), Some(Dialect::Smb311));
}

#[test]
fn a_server_that_demands_signing_gets_signatures() {
    let Some(lab) = Lab::find() else { return };
    let sums = lab.sums();
    for dialect in Dialect::ALL {
        let options = Options { dialects: Dialects::only(dialect), ..Options::new(&lab.signed) };
        with_session(&options, |session| {
            assert!(session.client.protocol().signing().is_some());
            read_all::<4096>(session, dialect.name(), &sums);
        })
        .unwrap();
    }
}

#[test]
fn few_credits_and_short_reads_are_enough() {
    let Some(lab) = Lab::find() else { return };
    let sums = lab.sums();
    with_session(&Options::new(&lab.tight), |session| read_all::<65_536>(session, "tight", &sums)).unwrap();
}

#[test]
fn every_offset_near_a_border_reads_the_right_bytes_into_every_page_size() {
    let Some(lab) = Lab::find() else { return };
    let whole = std::fs::read(lab.files.join("size-1048577")).unwrap();
    let read = |session: &mut SmbSession<'_>, offset: u64| {
        let pages = [
            session.read::<512>("size-1048577", offset, 5).unwrap(),
            session.read::<4096>("size-1048577", offset, 3).unwrap(),
            session.read::<65_536>("size-1048577", offset, 2).unwrap(),
        ];
        for ((bytes, eof), room) in pages.into_iter().zip([2560, 12_288, 131_072]) {
            let from = (offset as usize).min(whole.len());
            let expected = &whole[from..(from + room).min(whole.len())];
            assert_eq!(
                (bytes.as_slice(), eof),
                (expected, expected.len() < room),
                "{room} bytes at {offset}"
            );
        }
    };
    with_session(&Options::new(&lab.samba), |session| {
        for border in [0u64, 4096, 65_536, 1_048_576, 1_048_577, 1_048_578, 2_000_000] {
            for offset in border.saturating_sub(1)..=border + 1 {
                read(session, offset);
            }
        }
    })
    .unwrap();
}

#[test]
fn offsets_beyond_4_gib_are_whole() {
    let Some(lab) = Lab::find() else { return };
    let big = lab.files.join("size-4g+1");
    let len = std::fs::metadata(&big).unwrap().len();
    assert_eq!(len, (4 << 30) + 1);
    let mut tail = vec![0; 1025];
    std::os::unix::fs::FileExt::read_exact_at(&std::fs::File::open(&big).unwrap(), &mut tail, len - 1025)
        .unwrap();
    with_session(&Options::new(&lab.samba), |session| {
        let (bytes, eof) = session.read::<4096>("size-4g+1", len - 1025, 1).unwrap();
        assert_eq!((bytes, eof), (tail, true));
    })
    .unwrap();
}

#[test]
fn a_file_reader_gives_any_piece_in_any_size_and_keeps_the_window_full() {
    use embedded_io::{Read as _, Seek as _, SeekFrom};
    let Some(lab) = Lab::find() else { return };
    let whole = std::fs::read(lab.files.join("size-1048577")).unwrap();
    let options = Options { dialects: Dialects::only(Dialect::Smb202), ..Options::new(&lab.samba) };
    with_session(&options, |session| {
        let file = session.open("size-1048577").unwrap();
        let trips = session.client.counters().round_trips;
        let mut memory = vec![[0; 4096]; 256];
        let mut pages = Pages(&mut memory);
        let mut reader = session.reader(&file, &mut pages);
        let (mut read, mut piece) = (Vec::new(), [0; 1000]);
        loop {
            match reader.read(&mut piece).unwrap() {
                0 => break,
                len => read.extend_from_slice(&piece[..len]),
            }
        }
        assert_eq!(read, whole);
        for (to, at) in [
            (SeekFrom::Start(65_535), 65_535),
            (SeekFrom::End(-7), 1_048_570),
            (SeekFrom::Current(-70), 1_048_507),
        ] {
            assert_eq!(reader.seek(to).unwrap(), at);
            let len = reader.read(&mut piece[..7]).unwrap();
            assert_eq!(piece[..len], whole[at as usize..at as usize + len]);
        }
        assert!(reader.seek(SeekFrom::End(-2_000_000)).is_err());
        assert_eq!(reader.seek(SeekFrom::Start(5_000_000)).unwrap(), 5_000_000);
        assert_eq!(reader.read(&mut piece).unwrap(), 0);
        // 17 reads of 64 KiB, 16 of them in flight at once, and three after a seek.
        let trips = session.client.counters().round_trips - trips;
        assert!(trips <= 8, "{trips} round trips");
    })
    .unwrap();
}

#[test]
fn ksmbd_reads_the_same_at_every_dialect_it_has_plain_signed_and_sealed() {
    let Some(lab) = Lab::find() else { return };
    let Some(address) = lab.ksmbd.clone() else {
        return println!("skipped: ksmbd was not started; testing/servers/run --kernel does");
    };
    let sums = lab.sums();
    for dialect in [Dialect::Smb210, Dialect::Smb302, Dialect::Smb311] {
        let base = Options { dialects: Dialects::only(dialect), ..Options::new(&address) };
        let mut all = vec![base.clone(), Options { sign: Policy::Always, ..base.clone() }];
        if dialect >= Dialect::Smb300 {
            all.push(Options { seal: Policy::Always, ..base });
        }
        for options in all {
            with_session(&options, |session| {
                for name in SIZES.iter().filter(|name| **name != "size-67108864") {
                    let (_, sum) = sums.iter().find(|(known, _)| known == name).unwrap();
                    assert_eq!(session.digest::<65_536>(name, 16).unwrap().1, *sum, "{options:?} {name}");
                }
                assert_eq!(session.names("wide").unwrap().len(), 1000);
                session.run(&mut pagewire::Stat::new("size-1")).unwrap();
            })
            .unwrap_or_else(|error| panic!("{options:?}: {error}"));
        }
    }
}
