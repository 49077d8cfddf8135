//! What every job costs on the wire: round trips, requests and bytes of a whole session, as they are counted between client
//! and server, held against the table in `trips.txt`. What the engine counts must be the same.
//!
//! `PAGEWIRE_TRIPS=write` writes the table anew: see [`every_job_costs_what_the_table_says`].

mod scene;
mod table;

use pagewire::Counters;
use pagewire::smb::Dialect::{self, *};
use pagewire_interop::Lab;
use pagewire_interop::tap::Tally;
use scene::Speech::{Nfs3, Nfs4, Smb};
use scene::{JOBS, Job, Scene, Speech};
use std::path::Path;
use table::{Row, Table};

/// A busy machine only ever adds to the round trips that can be seen: see [`pagewire_interop::tap`].
const RUNS_MAX: usize = 16;

/// Bytes of a CLOSE.
const CLOSE_LEN: u64 = 4 + 64 + 24;

const SAMBA: [Speech; 13] = [
    Smb(Smb202, "guest"),
    Smb(Smb202, "signed"),
    Smb(Smb210, "guest"),
    Smb(Smb210, "signed"),
    Smb(Smb300, "guest"),
    Smb(Smb300, "signed"),
    Smb(Smb300, "sealed"),
    Smb(Smb302, "guest"),
    Smb(Smb302, "signed"),
    Smb(Smb302, "sealed"),
    Smb(Smb311, "guest"),
    Smb(Smb311, "signed"),
    Smb(Smb311, "sealed"),
];
/// Which has no 2.0.2.
const KSMBD: &[Speech] = SAMBA.split_at(2).1;
const NFS: [Speech; 4] = [Nfs3, Nfs4(0), Nfs4(1), Nfs4(2)];

/// The floors that are aimed at, where there is one.
fn floor(server: &str, speech: Speech, job: Job) -> Option<u32> {
    // A session takes so many before what is asked first.
    let session = match (server, speech) {
        ("Samba", Smb(Dialect::Smb311, _)) => 3,
        (_, Nfs4(0)) => 0,
        (_, Nfs4(_)) => 2,
        (_, Nfs3) => 1,
        (_, Smb(..)) => return None,
    };
    Some(
        session
            + match job {
                Job::Both if speech == Nfs3 => 2,
                Job::FirstFile | Job::Stat | Job::Statfs | Job::Both => 1,
                Job::List => 2,
                Job::ManyFiles => 3,
                Job::Tree => 2 + 3,
                Job::BigFile => return None,
            },
    )
}

/// The least of several runs in which as many round trips were seen as told, or the first of them that agrees with the table. Where a
/// window slides the number is the engine's: replies that have come and are not read yet do not raise it, but those that overtake others do.
fn measure(speech: Speech, server: &str, job: Job, row: impl Fn(&Tally) -> Row, table: &Table) -> Row {
    let mut least: Option<Tally> = None;
    for _ in 0..RUNS_MAX {
        let (mut seen, told) = Scene::new(speech, server).play(job);
        agree(&seen, &told, &row(&seen));
        if !job.is_exact() {
            seen.round_trips = told.round_trips;
        }
        if seen.round_trips != told.round_trips {
            println!("{} round trips told: {}", told.round_trips, row(&seen).line());
            continue;
        }
        let enough = table.agrees(&row(&seen)).unwrap_or(job.is_exact());
        if enough || least.as_ref().is_none_or(|least| seen.round_trips < least.round_trips) {
            least = Some(seen);
        }
        if enough {
            break;
        }
    }
    row(&least.expect("as many round trips seen as told"))
}

/// What the engine counts is what was seen. A client that goes while replies to CLOSE are on their way resets the connection: then it
/// has not had all that was passed to it, and what of its last CLOSEs was not on the wire yet never will be.
fn agree(seen: &Tally, told: &Counters, row: &Row) {
    let row = row.line();
    if seen.unread == 0 {
        let bytes = [told.bytes_sent, told.bytes_received];
        assert_eq!([seen.bytes_sent, seen.bytes_received], bytes, "{row}");
    }
    assert!(seen.bytes_sent <= told.bytes_sent, "{} bytes sent: {row}", told.bytes_sent);
    if seen.sealed == 0 {
        let may_be_less = seen.unread > 0;
        assert!(
            seen.round_trips >= told.round_trips || may_be_less,
            "{} trips told: {row}",
            told.round_trips
        );
        let unseen = told.requests - seen.requests;
        assert!(seen.unread > 0 || unseen == 0, "{} requests told: {row}", told.requests);
        assert_eq!(told.bytes_sent - seen.bytes_sent, unseen * CLOSE_LEN, "{unseen} CLOSEs: {row}");
    }
}

/// `PAGEWIRE_TRIPS=write testing/servers/run --nfs --kernel -- cargo test --release -p pagewire-interop --test trips` writes
/// the table.
#[test]
fn every_job_costs_what_the_table_says() {
    let Some(lab) = Lab::find() else { return };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trips/trips.txt");
    let write = std::env::var("PAGEWIRE_TRIPS").is_ok_and(|value| value == "write");
    let table = if write { Table::default() } else { Table::read(&file) };
    let (mut lines, mut differ) = (vec![table::heading()], Vec::new());
    let servers = [
        ("Samba", Some(&lab.samba), &SAMBA[..]),
        ("ksmbd", lab.ksmbd.as_ref(), KSMBD),
        ("Ganesha", lab.ganesha.as_ref(), &NFS),
        ("nfsd", lab.nfsd.as_ref(), &NFS),
    ];
    for (name, address, speeches) in servers {
        let Some(address) = address else {
            assert!(!write, "{name} was not started, and the whole table is to be written");
            println!("skipped: {name} was not started; testing/servers/run --nfs --kernel does");
            continue;
        };
        for (speech, job) in speeches.iter().flat_map(|speech| JOBS.map(|job| (*speech, job))) {
            let row =
                |tally: &Tally| Row::new([name, &speech.name(), job.name()], floor(name, speech, job), tally);
            let is = measure(speech, address, job, row, &table);
            differ.extend(table.difference(&is));
            println!("{}", is.line());
            lines.push(is.line());
        }
    }
    if write {
        std::fs::write(file, lines.join("\n") + "\n").unwrap();
    } else {
        assert!(differ.is_empty(), "PAGEWIRE_TRIPS=write writes the table anew\n{}", differ.concat());
    }
}
