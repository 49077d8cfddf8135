//! The command line.

use super::budget::IN_FLIGHT;
use super::failure::EXIT_CODES;
use super::options::{self, Options, Sec};
use super::quantity;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

const URLS: &str = "\
URLs:
  smb://[domain;]user@host[:port]/share/path?query   path, user and domain are percent-decoded;
                                                     [::1] for IPv6; query: vers, sec, sign, seal, timeout
  //host/share/path                                  taken as it stands
  nfs://host[:port]/export/path?query                path is percent-decoded; query: version (3, 4, 4.0, 4.1, 4.2),
                                                     nfsport, mountport, uid, gid, timeout
  host:/export/path                                  NFS, taken as it stands
SMB: without a user anywhere it is a guest. The server follows symbolic links; where it does not, the error says
where they point.
NFS: the server is told the user's number and believes it or not. The version is 3
unless --vers or version= names another; 4 is the highest of 4.0 to 4.2 that the server has. No other is tried.
NFS 3: ports that are not given are asked of the server's port mapper. As much of the path is mounted as the server
allows, and symbolic links below that are followed.
NFS 4: nothing is mounted, paths start at the server's root, and links are followed. The port is 2049 unless given.

Passwords (SMB) come from the first of: --credentials, --password-command, PAGEWIRE_PASSWORD, PASSWD_FD,
PASSWD_FILE, and else the terminal is asked. They are never taken from the command line.

Sizes are bytes, or with K, M, G in powers of 1024. Times are seconds, or 500ms, 1.5s, 2h30m.

A standard output that is closed (`>&-`) is /dev/null: what is written there is lost without an error.";

const SEE: &str = "Exit codes: see `pagewire --help`";

fn long_help() -> String {
    format!("{URLS}\n\n{EXIT_CODES}")
}

/// Reads files and directories from SMB and NFS servers.
#[derive(Parser)]
#[command(name = "pagewire", version)]
#[command(after_help = EXIT_CODES, after_long_help = long_help())]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Get files
    ///
    /// A file appears under its name when all of it has arrived and was verified; until then, and if anything
    /// goes wrong, what was there before stays. While it comes it is a file `.NAME.pagewire-PID-N.part` beside that. A process that
    /// is killed (SIGKILL) leaves it there: no later one goes on with it or removes it, and it can be deleted.
    #[command(after_help = SEE, after_long_help = long_help())]
    Get(Get),
    /// Write files to standard output
    #[command(after_help = SEE, after_long_help = long_help())]
    Cat(Cat),
    /// List a directory
    ///
    /// In the server's order: nothing is collected, so a directory of any length takes no more memory. Pipe
    /// it to `sort` to have it sorted.
    #[command(after_help = SEE, after_long_help = long_help())]
    Ls(Ls),
    /// Show what is known about a file or directory
    #[command(after_help = SEE, after_long_help = long_help())]
    Stat(Show),
    /// Show the space of the file system that a share or export is on
    #[command(after_help = SEE, after_long_help = long_help())]
    Df(Show),
    /// Show which parts of a file are data and which are holes
    ///
    /// With NFS 4.2, and with SMB of files that have the sparse attribute. Where the server cannot say, the file is
    /// one segment of data, and standard error says so.
    #[command(after_help = SEE, after_long_help = long_help())]
    Map(Show),
    /// List what an NFS server exports, and to whom
    ///
    /// The URL is nfs://host[:port] and has no path. NFS 3 servers have a list (that of `showmount -e`). NFS 4 has
    /// none: with --vers 4 or version=4 it is the directories in the server's root, as standard error says.
    #[command(after_help = SEE, after_long_help = long_help())]
    Exports(Show),
    /// Start servers here and read from them
    #[cfg(feature = "demo")]
    #[command(after_help = SEE, after_long_help = EXIT_CODES)]
    Demo,
}

#[derive(Args)]
pub struct Get {
    /// What to get
    #[arg(required = true, value_name = "URL")]
    pub urls: Vec<String>,
    /// Where to put it: a file, a directory that is there, or `-` for standard output [default: the name in the URL]
    ///
    /// Of a symbolic link to a file what it points to is replaced; a pipe or device is written to as it is.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The directory to put it in, which is made if it is not there [default: the current one]
    ///
    /// It may be a symbolic link. What lies in it already, and is a link, a pipe or a device where a file or directory is to be, is an error
    /// for that file or directory: nothing is written through it.
    #[arg(short = 'O', long, value_name = "DIR", conflicts_with = "output")]
    pub output_dir: Option<PathBuf>,
    /// Get directories too, each with all that is in it, under its own name
    ///
    /// Of each directory first its files come, many side by side, and then the directories in it, in the server's order. Symbolic
    /// links that the server leaves to the client are not followed but left out, and so is what the listing does not call a file
    /// or a directory; notes on standard error say so. A name that no file can have here is an error, and the others come.
    /// What is held in memory are names: those of one directory, of those above it the directories that are still to come, 32M of
    /// them at most, and the URLs of 1024 files. Directories may lie 128 deep.
    #[arg(short, long, conflicts_with = "output")]
    pub recursive: bool,
    /// Fail rather than replace a file
    #[arg(long)]
    pub no_clobber: bool,
    /// Keep the times of access and modification of files; standard output, pipes and devices have none to keep
    #[arg(short, long)]
    pub preserve: bool,
    /// Which zeros become holes of a new file, which take no space
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Sparse::Auto)]
    pub sparse: Sparse,
    #[command(flatten)]
    pub transfer: Transfer,
    #[command(flatten)]
    pub common: Common,
}

/// Which zeros are not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sparse {
    /// The holes of 64K or more that the server tells of
    Auto,
    /// These, and every block of 4K that is all zeros
    Always,
    /// None: all zeros are written
    Never,
}

#[derive(Args)]
pub struct Cat {
    /// What to read
    #[arg(required = true, value_name = "URL")]
    pub urls: Vec<String>,
    #[command(flatten)]
    pub transfer: Transfer,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
pub struct Ls {
    /// The directory
    #[arg(value_name = "URL")]
    pub url: String,
    /// Type, size and time (UTC) as well
    #[arg(short)]
    pub long: bool,
    /// One JSON object a line, with the name as it is on the wire beside it
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
pub struct Show {
    /// What to look at
    #[arg(value_name = "URL")]
    pub url: String,
    /// One JSON object, or one a line
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub common: Common,
}

/// How file data is read.
#[derive(Args)]
#[command(next_help_heading = "Transfer")]
pub struct Transfer {
    /// The size of the pages that data lands in, from 512 to 1M; it does not change the speed
    #[arg(long, value_name = "SIZE", default_value = "64K", value_parser = quantity::page_size)]
    pub page: usize,
    /// Reads in flight, from 3 to 256; times --rsize, this is the memory that a transfer takes, and times 256K more with
    /// several URLs or -r, of which four times as many are asked for side by side; more keeps a server far away busy
    #[arg(long, value_name = "N", default_value_t = IN_FLIGHT)]
    #[arg(value_parser = clap::value_parser!(u16).range(3..=256))]
    pub in_flight: u16,
    /// Bytes of one read request, from 64K to 8M, as far as the server allows [default: 256K]
    #[arg(long, value_name = "SIZE", value_parser = options::rsize)]
    pub rsize: Option<u32>,
    /// How often in a row a connection that is lost while a file is asked for or read is made anew, to go on where it ended if the file
    /// is still the same, from 0 to 16: after 250 ms, and twice as long each time; a directory (-r) is listed anew
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(0..=16))]
    pub retries: u32,
}

/// What every command takes.
#[derive(Args)]
#[command(next_help_heading = "Connection")]
pub struct Common {
    /// The SMB dialect: 2.0.2, 2.1, 3.0, 3.0.2, 3.1.1; 2 or 3 for any of them [default: all]. The NFS version: 3,
    /// 4.0, 4.1, 4.2; 4 for the highest that both have [default: 3]
    #[arg(long, value_name = "VERSION")]
    vers: Option<String>,
    /// How to prove who you are (SMB)
    #[arg(long, value_enum)]
    sec: Option<Sec>,
    /// Sign every message (SMB)
    #[arg(long)]
    sign: bool,
    /// Encrypt every message (SMB)
    #[arg(long)]
    seal: bool,
    /// Connect as a guest, without a password (SMB)
    #[arg(long)]
    guest: bool,
    /// The user, as NAME or DOMAIN\NAME (SMB)
    #[arg(short, long, value_name = "NAME", visible_alias = "user")]
    username: Option<String>,
    /// The domain or workgroup of the user (SMB)
    #[arg(long, value_name = "NAME")]
    domain: Option<String>,
    /// The number of the user (NFS) [default: that of this process]
    #[arg(long, value_name = "NUMBER")]
    uid: Option<u32>,
    /// The number of the group (NFS) [default: that of this process]
    #[arg(long, value_name = "NUMBER")]
    gid: Option<u32>,
    /// Connect from a port below 1024, which only root may use and some servers want (NFS)
    #[arg(long)]
    privileged_port: bool,
    /// The TCP port [default: SMB 445, NFS 3 what its port mapper says, NFS 4 2049]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// A file with username=, password= and domain=, as mount.cifs and smbclient -A take it (SMB)
    #[arg(long, value_name = "FILE")]
    credentials: Option<PathBuf>,
    /// A command that prints the password (SMB)
    #[arg(long, value_name = "COMMAND")]
    password_command: Option<String>,
    /// Options as `mount -o` takes them: vers=3.1.1,seal,username=me (here -o is the output file)
    #[arg(long = "opt", value_name = "LIST", visible_alias = "mount-options")]
    lists: Vec<String>,
    /// How long the server may make no progress [default: 30s]; and ask to be asked later (NFS) [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = quantity::duration)]
    timeout: Option<Duration>,
    /// How long the server may take to accept a TCP connection; what is said over it then, logging in too, has --timeout
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = quantity::duration)]
    pub connect_timeout: Duration,
    #[command(flatten)]
    pub messages: Messages,
}

/// What is told on standard error.
#[derive(Args, Clone, Copy)]
#[command(next_help_heading = "Messages")]
pub struct Messages {
    /// When done, what it cost, on standard error
    ///
    /// Its `connections` are sessions, those made anew among them. One of NFS 3 may take several TCP connections, to the port mapper's
    /// port, MOUNT's and its own, and counts as one.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub stats: Option<StatsFormat>,
    /// No progress bar
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Tell what is negotiated and done
    #[arg(short, long)]
    pub verbose: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatsFormat {
    /// One JSON object
    Json,
}

impl Common {
    /// How to connect. An option of its own precedes one in a list.
    pub fn options(&self) -> Result<Options, String> {
        let mut lists = Options::default();
        for list in &self.lists {
            lists.set_list(list)?;
        }
        let own = Options {
            vers: self.vers.clone(),
            minor_version: None,
            sec: self.sec,
            sign: self.sign,
            seal: self.seal,
            guest: self.guest,
            user: self.username.clone(),
            domain: self.domain.clone(),
            port: self.port,
            rsize: None,
            timeout: self.timeout,
            credentials: self.credentials.clone(),
            password_command: self.password_command.clone(),
            mount_port: None,
            uid: self.uid,
            gid: self.gid,
            privileged: self.privileged_port,
        };
        Ok(own.or(lists))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent_and_its_help_has_the_exit_codes() {
        CommandLine::command().debug_assert();
        let help = CommandLine::command().render_long_help().to_string();
        assert!(help.contains("Exit codes") && help.contains("PAGEWIRE_PASSWORD"));
        for command in CommandLine::command().get_subcommands_mut() {
            assert!(command.render_help().to_string().contains("Exit codes"), "{command}");
            assert!(command.render_long_help().to_string().contains("the server refused"), "{command}");
        }
    }

    #[test]
    fn an_option_precedes_a_list() {
        let line = [
            "pagewire",
            "ls",
            "//h/s",
            "--opt",
            "port=1,username=a",
            "--mount-options",
            "seal",
            "--port",
            "2",
        ];
        let CommandLine { command: Command::Ls(ls) } =
            CommandLine::try_parse_from(line).unwrap_or_else(|e| panic!("{e}"))
        else {
            panic!("another command");
        };
        let options = ls.common.options().unwrap();
        assert_eq!((options.port, options.user.as_deref(), options.seal), (Some(2), Some("a"), true));
    }
}
