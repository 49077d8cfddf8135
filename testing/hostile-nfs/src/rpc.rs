//! RPC records in and out, as both versions have them: how a server speaks, what it counts, what it is to change.

use crate::xdr::{Args, Xdr};
use pagewire_line::Heard;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

/// Where a call goes: a program and a procedure. Of NFSv4 it is not the procedure, but the last operation that was done.
pub type Place = (u32, u32);

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
    pub data: Vec<Range<usize>>,
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
        self.data.clear();
    }

    /// Replaces everything behind the xid.
    pub fn words(&mut self, words: &[u32]) {
        self.message.truncate(4);
        self.message.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        self.data.clear();
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

/// How a server speaks RPC. As it comes it is honest and plain.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Whom it knows: flavour and body of the credential.
    pub credential: Vec<u8>,
    /// Bytes of its verifiers.
    pub verifier_len: usize,
    /// What padding is made of.
    pub padding: u8,
    /// How records are cut.
    pub fragments: Fragments,
    /// Replies to what came at once go out last first.
    pub reversed: bool,
    /// What is not as it should be.
    pub lies: Vec<Lie>,
}

impl Default for Manner {
    fn default() -> Self {
        Manner {
            credential: vec![0; 8],
            verifier_len: 0,
            padding: 0,
            fragments: Fragments { lengths: &[], empty_last: false },
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
    pub data: Vec<Range<usize>>,
}

/// What a server has heard and said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls.
    pub requests: u64,
    /// Bytes that came, record marks included.
    pub bytes_in: u64,
    /// Bytes that were sent, likewise.
    pub bytes_out: u64,
    /// Bytes of files among them.
    pub file_bytes: u64,
}

/// A call, without what RPC has in front of it.
pub(crate) struct Call {
    pub xid: u32,
    pub program: u32,
    pub version: u32,
    pub procedure: u32,
    pub args: Vec<u8>,
    /// Bytes of the call, its head included.
    pub len: usize,
    /// Whether the credential is.
    pub known: bool,
}

/// One side of a connection.
#[derive(Debug, Default)]
pub struct Rpc {
    /// How it speaks.
    pub manner: Manner,
    /// Every call.
    pub calls: Vec<Place>,
    /// Every record, as far as asked for.
    pub sent: Vec<Sent>,
    /// So far.
    pub counts: Counts,
    /// It has hung up once the output is taken.
    pub over: bool,
    input: Vec<u8>,
    replies: Vec<Told>,
    output: Vec<u8>,
    taken: usize,
    /// How many bytes were sent before those in `output`.
    gone: usize,
}

impl Rpc {
    /// Nothing was said yet.
    pub fn new(manner: Manner) -> Rpc {
        Rpc { manner, ..Rpc::default() }
    }

    /// Whether nothing is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.input.is_empty() && self.replies.is_empty()
    }

    /// The connection is another now: what was in flight is lost.
    pub(crate) fn connect(&mut self) {
        self.input.clear();
        self.replies.clear();
        self.taken = self.output.len();
        self.over = false;
    }

    /// Bytes of the client.
    pub(crate) fn input(&mut self, bytes: &[u8]) {
        self.input.extend(bytes);
        self.counts.bytes_in += bytes.len() as u64;
    }

    /// The next call, once it is whole.
    pub(crate) fn next_call(&mut self) -> Option<Call> {
        let (mark, rest) = self.input.split_first_chunk()?;
        let mark = u32::from_be_bytes(*mark);
        assert!(mark >> 31 == 1, "a call is one fragment");
        let len = (mark & 0x7FFF_FFFF) as usize;
        let record = rest.get(..len)?.to_vec();
        self.input.drain(..4 + len);
        self.counts.requests += 1;
        let mut args = Args(&record);
        let xid = args.word();
        assert_eq!([args.word(), args.word()], [0, 2], "a call of RPC version 2");
        let (program, version, procedure) = (args.word(), args.word(), args.word());
        let before = args.0;
        args.word();
        args.opaque();
        let credential = &before[..before.len() - args.0.len()];
        assert_eq!(args.take(8), [0; 8], "the verifier is AUTH_NONE");
        let known = credential == self.manner.credential;
        Some(Call { xid, program, version, procedure, args: args.0.to_vec(), len, known })
    }

    /// What stands in front of the results.
    pub(crate) fn head(&self, xid: u32, known: bool) -> Xdr {
        let mut head = Xdr::padded(self.manner.padding);
        head.word(xid).word(1);
        match known {
            true => head.words(&[0, 0]).opaque(&vec![0xEE; self.manner.verifier_len]).word(0),
            false => head.words(&[1, 1, 1]), // AUTH_BADCRED
        };
        head
    }

    /// Answers a call to `place` with results, which the lies may change.
    pub(crate) fn reply(&mut self, call: Call, place: Place, body: Xdr) {
        let nth = self.calls.iter().filter(|called| **called == place).count();
        self.calls.push(place);
        let mut reply = self.head(call.xid, call.known);
        let results = reply.bytes.len();
        reply.append(body);
        let Xdr { bytes: message, data, .. } = reply;
        let mut told = Told { message, results, data, times: 1, mark: None, args: call.args, last: false };
        let lies = self.manner.lies.iter();
        lies.filter(|lie| lie.place == place && lie.nth.is_none_or(|at| at == nth))
            .for_each(|lie| (lie.tell)(&mut told));
        self.replies.push(told);
    }

    /// Puts bytes for the client into the window, if there are any.
    pub(crate) fn output(&mut self, window: &mut [u8]) -> Heard {
        if self.manner.reversed {
            self.replies.reverse();
        }
        for told in std::mem::take(&mut self.replies) {
            (0..told.times).for_each(|_| self.send(&told));
            self.over |= told.last;
        }
        let len = window.len().min(self.output.len() - self.taken);
        window[..len].copy_from_slice(&self.output[self.taken..][..len]);
        self.taken += len;
        match len {
            0 if self.over => Heard::Closed,
            0 => Heard::Silence,
            len => Heard::Bytes(len),
        }
    }

    fn send(&mut self, told: &Told) {
        if self.taken == self.output.len() {
            self.gone += std::mem::take(&mut self.taken);
            self.output.clear();
        }
        let start = self.gone + self.output.len();
        let message = &told.message;
        let Fragments { lengths, empty_last } = self.manner.fragments;
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
        let end = self.gone + self.output.len();
        let data = told.data.iter().map(|data| start + 4 + data.start..start + 4 + data.end);
        self.sent.push(Sent { record: start..end, data: data.collect() });
        self.counts.bytes_out += (end - start) as u64;
        self.counts.file_bytes += told.data.iter().map(|data| data.len() as u64).sum::<u64>();
    }
}
