//! The table, and how near a run must come to it.
//!
//! Round trips, and what was asked for and how often, are compared as they are. But:
//!
//! - A window of many requests slides as replies come, and they come as they come: there the number of round trips may be another by
//!   [`WINDOW_TOLERANCE`]. It is the engine's, since more can be seen on the wire than there are.
//! - Names of machines stand in SMB's authentication, and in the credential of every NFS call. Of the latter the length is known and
//!   left out, of the former it is not: [`NAMES_LEN_MAX`].
//! - Nobody waits for the reply to CLOSE, so the client may have gone before it comes; and of many CLOSEs the last may not get as far
//!   as the wire before it has gone. (The same is true of the end of an NFS session: [`FAREWELLS_LEN`].) So where files come side by side CLOSEs are not counted, nor what is sealed: [`CLOSES_LEN_MAX`].

use super::scene::{JOBS, Job};
use pagewire_interop::tap::Tally;
use std::collections::BTreeMap;
use std::path::Path;

const WINDOW_TOLERANCE: u32 = 2;
const NAMES_LEN_MAX: u64 = 128;
/// More than a sealed CLOSE, or its reply of 180 bytes.
const CLOSES_LEN_MAX: u64 = 192;
/// Bytes of the replies to DESTROY_SESSION and DESTROY_CLIENTID.
const FAREWELLS_LEN: u64 = 2 * (4 + 24 + 12 + 8);
/// Files in flight at the end, at most: all of them.
const FILES_MAX: u64 = 100;

const HEADING: [&str; 9] =
    ["server", "session", "job", "trips", "floor", "requests", "sent", "received", "what was asked for"];

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Server, session, job.
    key: [String; 3],
    trips: u32,
    floor: String,
    requests: String,
    bytes: [u64; 2],
    what: String,
}

/// The rows by their keys.
#[derive(Default)]
pub struct Table(BTreeMap<[String; 3], Row>);

impl Table {
    pub fn read(file: &Path) -> Table {
        let text = std::fs::read_to_string(file).unwrap();
        Table(text.lines().filter_map(Row::parse).map(|row| (row.key.clone(), row)).collect())
    }

    /// Whether this run cost what the table says, if that knows it.
    pub fn agrees(&self, is: &Row) -> Option<bool> {
        self.0.get(&is.key).map(|was| is.agrees(was))
    }

    /// What to say if it did not.
    pub fn difference(&self, is: &Row) -> Option<String> {
        let was = self.0.get(&is.key);
        let says = || format!("is  {}\nwas {}\n", is.line(), was.map(Row::line).unwrap_or_default());
        (self.agrees(is) != Some(true)).then(says)
    }
}

pub fn heading() -> String {
    line(HEADING)
}

impl Row {
    pub fn new(key: [&str; 3], floor: Option<u32>, tally: &Tally) -> Row {
        let what: Vec<_> = tally.names.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let trips = tally.round_trips;
        let floor = match floor {
            Some(floor) if trips > floor => format!("{floor} over"),
            Some(floor) => floor.to_string(),
            None => "-".to_owned(),
        };
        let names = if is_smb(key[0]) || key[2] == Job::Both.name() { 0 } else { name_len() };
        Row {
            key: key.map(str::to_owned),
            trips,
            floor,
            requests: tally.requests.to_string(),
            bytes: [tally.bytes_sent - tally.frames_sent * names, tally.bytes_received],
            what: what.join(", "),
        }
    }

    /// The line of the file. `None` for the heading.
    fn parse(line: &str) -> Option<Row> {
        let cells: Vec<String> = line.split('|').map(|cell| cell.trim().to_owned()).collect();
        let [server, session, job, trips, floor, requests, sent, received, what] = cells.try_into().ok()?;
        let bytes = [sent.parse().ok()?, received.parse().ok()?];
        Some(Row { key: [server, session, job], trips: trips.parse().ok()?, floor, requests, bytes, what })
    }

    pub fn line(&self) -> String {
        let ([server, session, job], [sent, received]) = (&self.key, self.bytes);
        let (trips, sent, received) = (self.trips.to_string(), sent.to_string(), received.to_string());
        line([server, session, job, &trips, &self.floor, &self.requests, &sent, &received, &self.what])
    }

    fn agrees(&self, table: &Row) -> bool {
        let near = |at: usize, max: u64| self.bytes[at].abs_diff(table.bytes[at]) <= max;
        let trips_differ = self.trips.abs_diff(table.trips);
        match (is_smb(&self.key[0]), self.slides()) {
            (false, slides) => {
                trips_differ <= if slides { WINDOW_TOLERANCE } else { 0 }
                    && (&self.requests, &self.what) == (&table.requests, &table.what)
                    && near(0, 0)
                    && near(1, if self.what.contains("DESTROY_SESSION") { FAREWELLS_LEN } else { 0 })
            }
            (true, false) => {
                trips_differ == 0
                    && (&self.requests, &self.what) == (&table.requests, &table.what)
                    && near(0, NAMES_LEN_MAX)
                    && near(1, NAMES_LEN_MAX + CLOSES_LEN_MAX)
            }
            (true, true) => {
                trips_differ <= WINDOW_TOLERANCE
                    && self.awaited() == table.awaited()
                    && near(0, NAMES_LEN_MAX + FILES_MAX * CLOSES_LEN_MAX)
                    && near(1, NAMES_LEN_MAX + FILES_MAX * CLOSES_LEN_MAX)
            }
        }
    }

    /// Whether its job has a window that slides.
    fn slides(&self) -> bool {
        JOBS.into_iter().any(|job| job.name() == self.key[2] && !job.is_exact())
    }

    /// What was asked for and waited for.
    fn awaited(&self) -> Vec<&str> {
        let ignored = |part: &&str| part.starts_with("CLOSE ") || part.starts_with("(sealed) ");
        self.what.split(", ").filter(|part| !ignored(part)).collect()
    }
}

fn is_smb(server: &str) -> bool {
    server == "Samba" || server == "ksmbd"
}

/// Bytes of this machine's name as XDR has it. The job without a command tells another one.
fn name_len() -> u64 {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    name.trim_end().len().next_multiple_of(4) as u64
}

fn line(cells: [&str; 9]) -> String {
    let [server, session, job, trips, floor, requests, sent, received, what] = cells;
    format!(
        "{server:7} | {session:12} | {job:21} | {trips:>5} | {floor:>7} | {requests:>8} | {sent:>7} | {received:>8} | {what}"
    )
}
