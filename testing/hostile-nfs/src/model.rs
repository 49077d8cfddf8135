//! The server: records in, records out, on the port that it is connected to. What a call brings is in `answer`.

use crate::tree::HANDLE_LEN;
use crate::xdr::{Args, Xdr};
use crate::{Kind, Tree};
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

/// Where a call goes: a program and a procedure.
pub type Place = (u32, u32);

/// Programs, and ports of the model.
pub mod at {
    /// The port mapper.
    pub const PORTMAP: u32 = 100_000;
    /// MOUNT.
    pub const MOUNT: u32 = 100_005;
    /// NFS.
    pub const NFS: u32 = 100_003;
    /// Where the port mapper is.
    pub const PORTMAP_PORT: u16 = 111;
}

/// How records are cut.
#[derive(Clone, Copy, Debug)]
pub struct Fragments {
    /// Lengths, again and again until the record ends. None is one fragment.
    pub lengths: &'static [usize],
    /// Whether an empty one ends the record.
    pub empty_last: bool,
}

/// A reply that is about to be sent.
#[derive(Clone, Debug)]
pub struct Told {
    /// All of it, from the xid on.
    pub message: Vec<u8>,
    /// Where its results start.
    pub results: usize,
    /// Where file data lies in it.
    pub data: Option<Range<usize>>,
    /// How often it is sent.
    pub times: usize,
    /// A record mark in place of the right one.
    pub mark: Option<u32>,
    /// What was asked.
    pub args: Vec<u8>,
    /// The server closes after it.
    pub last: bool,
}

impl Told {
    /// Replaces a word, counted from the results.
    pub fn word(&mut self, at: usize, value: u32) {
        let at = self.results + at;
        self.message[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }

    /// Replaces the results.
    pub fn body(&mut self, body: &Xdr) {
        self.message.truncate(self.results);
        self.message.extend(&body.bytes);
        self.data = None;
    }

    /// Replaces everything behind the xid.
    pub fn words(&mut self, words: &[u32]) {
        self.message.truncate(4);
        self.message.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        self.data = None;
    }
}

/// What is changed in a reply.
#[derive(Clone)]
pub struct Lie {
    /// Of which calls.
    pub place: Place,
    /// Of the how manieth only, counted from 0.
    pub nth: Option<usize>,
    /// How.
    pub tell: Rc<dyn Fn(&mut Told)>,
}

impl fmt::Debug for Lie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lie({:?}, {:?})", self.place, self.nth)
    }
}

/// How the server is. As it comes it is honest and plain.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its files.
    pub tree: Tree,
    /// Where MOUNT is, and what the port mapper says.
    pub mount_port: u16,
    /// Where NFS is.
    pub nfs_port: u16,
    /// Whom it knows: flavour and body of the credential.
    pub credential: Vec<u8>,
    /// What it says that it exports, and to whom.
    pub exports: Vec<(&'static str, &'static [&'static str])>,
    /// Paths that are not mounted, with the status that says so.
    pub unmountable: Vec<(&'static str, u32)>,
    /// Whether it has attributes at hand.
    pub attributes: bool,
    /// Bytes of its verifiers.
    pub verifier_len: usize,
    /// Bytes of its handles, at least 20.
    pub handle_len: usize,
    /// What padding is made of.
    pub padding: u8,
    /// How records are cut.
    pub fragments: Fragments,
    /// FSINFO's `rtmax`.
    pub rtmax: u32,
    /// How many bytes a READ brings at most.
    pub brings: usize,
    /// How many bytes of READ's data follow those that count.
    pub surplus: usize,
    /// How many bytes READ counts that do not follow.
    pub deficit: u32,
    /// Replies to what came at once go out last first.
    pub reversed: bool,
    /// What is not as it should be.
    pub lies: Vec<Lie>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            tree: Tree::default().with("/export", Kind::Directory),
            mount_port: 20_048,
            nfs_port: 12_049,
            credential: vec![0; 8],
            exports: Vec::new(),
            unmountable: Vec::new(),
            attributes: true,
            verifier_len: 0,
            handle_len: HANDLE_LEN,
            padding: 0,
            fragments: Fragments { lengths: &[], empty_last: false },
            rtmax: 65_536,
            brings: usize::MAX,
            surplus: 0,
            deficit: 0,
            reversed: false,
            lies: Vec::new(),
        }
    }
}

/// What of the output a byte is.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The record, its mark included, by place in all that was ever sent.
    pub record: Range<usize>,
    /// Its file data. Only known of records of one fragment.
    pub data: Range<usize>,
}

/// The server.
#[derive(Debug)]
pub struct Model {
    /// How it is.
    pub config: Config,
    /// Every call.
    pub calls: Vec<Place>,
    /// Every path that was to be mounted.
    pub mounts: Vec<String>,
    /// Every record, as far as asked for.
    pub sent: Vec<Sent>,
    /// The longest READ that was asked for.
    pub longest_read: u32,
    /// Where it is connected.
    pub port: u16,
    /// It has hung up once the output is taken.
    pub over: bool,
    input: Vec<u8>,
    replies: Vec<Told>,
    output: Vec<u8>,
    taken: usize,
}

impl Model {
    /// Connected to `port`.
    pub fn new(config: Config, port: u16) -> Model {
        Model {
            config,
            calls: Vec::new(),
            mounts: Vec::new(),
            sent: Vec::new(),
            longest_read: 0,
            port,
            over: false,
            input: Vec::new(),
            replies: Vec::new(),
            output: Vec::new(),
            taken: 0,
        }
    }

    /// The connection is another now. Whether anybody listens at `port`.
    pub fn connect(&mut self, port: u16) -> bool {
        assert!(self.input.is_empty() && self.replies.is_empty(), "nothing is in flight");
        self.taken = self.output.len();
        self.port = port;
        [at::PORTMAP_PORT, self.config.mount_port, self.config.nfs_port].contains(&port)
    }

    /// Bytes of the client.
    pub fn input(&mut self, bytes: &[u8]) {
        self.input.extend(bytes);
        while let Some((mark, rest)) = self.input.split_first_chunk() {
            let mark = u32::from_be_bytes(*mark);
            assert!(mark >> 31 == 1, "a call is one fragment");
            let len = (mark & 0x7FFF_FFFF) as usize;
            let Some(call) = rest.get(..len).map(<[u8]>::to_vec) else { break };
            self.input.drain(..4 + len);
            self.call(&call);
        }
    }

    /// Up to `len` bytes for the client.
    pub fn output_up_to(&mut self, len: usize) -> &[u8] {
        if self.config.reversed {
            self.replies.reverse();
        }
        for told in std::mem::take(&mut self.replies) {
            (0..told.times).for_each(|_| self.send(&told));
            self.over |= told.last;
        }
        let len = len.min(self.output.len() - self.taken);
        self.taken += len;
        &self.output[self.taken - len..self.taken]
    }

    fn send(&mut self, told: &Told) {
        let start = self.output.len();
        let message = &told.message;
        let Fragments { lengths, empty_last } = self.config.fragments;
        let mut lengths = lengths.iter().copied().cycle();
        let mut at = 0;
        loop {
            let len = lengths.next().unwrap_or(usize::MAX).min(message.len() - at);
            let last = at + len == message.len();
            let mark = len as u32 | if last && !empty_last { 0x8000_0000 } else { 0 };
            self.output.extend(told.mark.unwrap_or(mark).to_be_bytes());
            self.output.extend(&message[at..at + len]);
            at += len;
            if last {
                break;
            }
        }
        if empty_last {
            self.output.extend([0x80, 0, 0, 0]);
        }
        let data = told.data.clone().unwrap_or(0..0);
        let data = start + 4 + data.start..start + 4 + data.end;
        self.sent.push(Sent { record: start..self.output.len(), data });
    }

    fn call(&mut self, call: &[u8]) {
        let mut args = Args(call);
        let xid = args.word();
        assert_eq!([args.word(), args.word()], [0, 2], "a call of RPC version 2");
        let (program, version, procedure) = (args.word(), args.word(), args.word());
        let before = args.0;
        args.word();
        args.opaque();
        let credential = &before[..before.len() - args.0.len()];
        assert_eq!(args.take(8), [0; 8], "the verifier is AUTH_NONE");
        let place = (program, procedure);
        let nth = self.calls.iter().filter(|call| **call == place).count();
        self.calls.push(place);

        let mut head = Xdr { padding: self.config.padding, ..Xdr::default() };
        head.word(xid).word(1);
        let known = credential == self.config.credential;
        if known {
            head.word(0).word(0).opaque(&vec![0xEE; self.config.verifier_len]).word(0);
        } else {
            head.word(1).word(1).word(1); // AUTH_BADCRED
        }
        let results = head.bytes.len();
        let wanted = args.0.to_vec();
        let (body, data) =
            if known { self.answer(program, version, procedure, args) } else { (Xdr::default(), None) };
        head.bytes.extend(body.bytes);
        let data = data.map(|data| data.start + results..data.end + results);
        let (message, times, mark) = (head.bytes, 1, None);
        let mut told = Told { message, results, data, times, mark, args: wanted, last: false };
        for lie in self.config.lies.clone() {
            if lie.place == place && lie.nth.is_none_or(|at| at == nth) {
                (lie.tell)(&mut told);
            }
        }
        self.replies.push(told);
    }
}
