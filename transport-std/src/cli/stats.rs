//! What a command has cost, as JSON.

use super::failure::{Cause, Exit, Failure};
use pagewire::{Counters, Error};
use serde::Serialize;

/// One object on standard error when a command is done. Fields are added, never renamed, while `version` is
/// 1.
#[derive(Debug, Default, Serialize)]
pub struct Stats {
    pub version: u32,
    pub command: &'static str,
    pub exit_code: u8,
    /// The first that happened.
    pub error: Option<Trouble>,
    /// Sessions, those made anew among them. The TCP connections that one of NFS 3 has to other ports of the server before (the port
    /// mapper's, MOUNT's) are not counted.
    pub connections: u32,
    /// "smb" or "nfs". Of the last connection, as is all that was negotiated.
    pub protocol: Option<&'static str>,
    /// With NFS its version.
    pub dialect: Option<&'static str>,
    pub signing: Option<&'static str>,
    pub cipher: Option<&'static str>,
    pub guest: bool,
    pub requests: u64,
    pub responses: u64,
    pub round_trips: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub file_bytes: u64,
    /// Bytes of files that did not have to come, because they are in holes.
    pub hole_bytes: u64,
    pub max_in_flight: usize,
    /// Where file data was read.
    pub page_size: Option<usize>,
    pub read_size: Option<u32>,
    /// Bytes lent to the engine, the pages among them.
    pub lent_memory: usize,
    pub seconds: f64,
}

/// An error for programs.
#[derive(Debug, Serialize)]
pub struct Trouble {
    pub kind: &'static str,
    pub exit_code: u8,
    pub message: String,
    /// The server's number and its name, where it was the server that refused.
    pub status: Option<u32>,
    pub status_name: Option<&'static str>,
}

impl Stats {
    pub fn new(command: &'static str) -> Stats {
        Stats { version: 1, command, ..Stats::default() }
    }

    /// The counters of a connection that is done.
    pub fn add(&mut self, counters: &Counters) {
        self.connections += 1;
        self.requests += counters.requests;
        self.responses += counters.responses;
        self.round_trips += u64::from(counters.round_trips);
        self.bytes_sent += counters.bytes_sent;
        self.bytes_received += counters.bytes_received;
        self.file_bytes += counters.file_bytes;
        self.hole_bytes += counters.hole_bytes;
        self.max_in_flight = self.max_in_flight.max(counters.max_in_flight);
    }
}

impl From<&Failure> for Trouble {
    fn from(failure: &Failure) -> Trouble {
        let refusal = match &failure.cause {
            Cause::Engine(Error::Refused(refusal)) => Some(refusal),
            Cause::Link(link) => Some(&link.refusal),
            Cause::Moved(refusal, _) => Some(refusal),
            _ => None,
        };
        Trouble {
            kind: failure.kind(),
            exit_code: failure.exit() as u8,
            message: format!("{}: {}", failure.tried, failure.cause),
            status: refusal.map(|refusal| refusal.code),
            status_name: refusal.map(|refusal| refusal.name),
        }
    }
}

/// What came of a command, told as it happens.
#[derive(Debug)]
pub struct Report {
    pub stats: Stats,
    succeeded: usize,
    failed: Option<Exit>,
    /// Who read the output has gone: nothing more need be done.
    pub unread: bool,
}

impl Report {
    pub fn new(command: &'static str) -> Report {
        Report { stats: Stats::new(command), succeeded: 0, failed: None, unread: false }
    }

    /// One of the things to do is done, or is not.
    pub fn outcome(&mut self, outcome: Result<(), Failure>) {
        match outcome {
            Ok(()) => self.succeeded += 1,
            Err(failure) if failure.exit() == Exit::Ok => self.unread = true,
            Err(failure) => {
                tell!("{failure}");
                self.failed.get_or_insert(failure.exit());
                self.stats.error.get_or_insert_with(|| Trouble::from(&failure));
            }
        }
    }

    /// The code of the first failure, unless something else succeeded.
    pub fn exit(&self) -> Exit {
        match self.failed {
            None => Exit::Ok,
            Some(_) if self.succeeded > 0 => Exit::Partial,
            Some(exit) => exit,
        }
    }

    /// Prints the stats.
    pub fn print(&mut self) {
        self.stats.exit_code = self.exit() as u8;
        // A struct of plain fields always has a JSON form.
        if let Ok(text) = serde_json::to_string(&self.stats) {
            tell!("{text}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure() -> Result<(), Failure> {
        Err(Failure::new("testing", Cause::Network(std::io::ErrorKind::ConnectionRefused.into())))
    }

    #[test]
    fn the_exit_code_of_several() {
        let exit = |outcomes: Vec<Result<(), Failure>>| {
            let mut report = Report::new("get");
            outcomes.into_iter().for_each(|outcome| report.outcome(outcome));
            report.exit()
        };
        assert_eq!(exit(vec![]), Exit::Ok);
        assert_eq!(exit(vec![Ok(()), Ok(())]), Exit::Ok);
        assert_eq!(exit(vec![failure(), failure()]), Exit::Network);
        assert_eq!(exit(vec![failure(), Ok(())]), Exit::Partial);
        assert_eq!(exit(vec![Err(Failure::new("testing", Cause::BrokenPipe))]), Exit::Ok);
    }

    #[test]
    fn all_names_are_there_even_if_nothing_was_done() {
        let mut report = Report::new("ls");
        report.outcome(failure());
        report.stats.exit_code = report.exit() as u8;
        let json = serde_json::to_value(&report.stats).unwrap();
        for name in [
            "protocol",
            "dialect",
            "signing",
            "cipher",
            "requests",
            "responses",
            "round_trips",
            "bytes_sent",
            "bytes_received",
            "file_bytes",
            "max_in_flight",
            "page_size",
            "read_size",
            "lent_memory",
        ] {
            assert!(json.get(name).is_some(), "{name}");
        }
        assert_eq!((&json["exit_code"], &json["error"]["kind"]), (&4.into(), &"network".into()));
    }
}
