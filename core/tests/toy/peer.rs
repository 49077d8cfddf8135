//! The server's half of the toy: in memory, with encoders of its own, and lying on request.

use super::protocol::{
    CLOSE, CONNECT, EOF, LIST, LOOK, MAP, MORE, OK, OPEN, PENDING, PLUS, READ, REFUSED, STAT,
};
use super::protocol::{MAP_HEAD_LEN, RANGE_LEN};
use std::collections::BTreeSet;

#[derive(Clone, Debug)]
pub struct Request {
    pub id: u64,
    pub kind: u8,
    pub handle: u32,
    pub offset: u64,
    pub len: u32,
    pub path: String,
}

/// A reply as it will be encoded: `len` says what the head says, true or not.
#[derive(Clone, Debug)]
pub struct Reply {
    pub id: u64,
    pub kind: u8,
    pub status: u8,
    pub grant: u16,
    pub gap: u16,
    pub pad: u16,
    pub len: u32,
    pub body: Vec<u8>,
}

type Lie = Box<dyn FnMut(&Request, &mut Vec<Reply>)>;
type Smudge = Box<dyn FnMut(&mut Vec<u8>)>;

/// How a map is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Not at all.
    Not,
    /// So many ranges in a reply, at most.
    Ranges(usize),
    /// Run by run.
    Runs,
}

/// How the server behaves. The one file is called `file`, the one directory `dir`.
pub struct Peer {
    pub file_len: u64,
    /// What an open says of the length: files shrink.
    pub file_len_at_open: u64,
    /// Start and end of each hole of the file, in order. With one, an open says that it is sparse.
    pub holes: Vec<(u64, u64)>,
    /// Holes are told with the data.
    pub plus: bool,
    pub map: Told,
    /// What changes with the file: when it was opened, and now. 0: nothing does.
    pub change: (u64, u64),
    pub names: Vec<Vec<u8>>,
    pub read_len_max: u32,
    pub sealed: bool,
    pub unit: u32,
    /// Listings are asked for twice.
    pub lists_twice: bool,
    /// Credits granted with the connect.
    pub credits: u16,
    /// What a later reply grants, if not what its request took.
    pub grant: Option<u16>,
    pub gap: u16,
    pub pad: u16,
    /// No reply has more data than this.
    pub short: u32,
    pub reversed: bool,
    /// All replies given at one time are one frame, but for interim ones and listings.
    pub chain: bool,
    /// The client wants another port first.
    pub door: bool,
    /// Frames come in fragments of so many bytes, with an empty one in front; 0: in one.
    pub fragment: usize,
    /// How many requests are answered at a time.
    pub batch: usize,
    /// So many interim replies come before each final one.
    pub pending: u32,
    /// Changes the replies to a request.
    pub lie: Option<Lie>,
    /// Changes the bytes of a frame, mark included.
    pub smudge: Option<Smudge>,

    pub log: Vec<Request>,
    pub handles: BTreeSet<u32>,
    pub frames: u32,
    pub bytes_heard: u64,
    /// Requests that were not answered yet.
    pub queue: Vec<Request>,
    pub line: Line,
}

/// Bytes on their way.
#[derive(Default)]
pub struct Line {
    heard: Vec<u8>,
    said: Vec<u8>,
    given: usize,
    frame_ends: Vec<usize>,
}

impl Default for Peer {
    fn default() -> Self {
        Peer {
            file_len: 3000,
            file_len_at_open: 3000,
            holes: Vec::new(),
            plus: false,
            map: Told::Not,
            change: (0, 0),
            names: Vec::new(),
            read_len_max: 4096,
            sealed: false,
            unit: 65536,
            lists_twice: false,
            door: false,
            fragment: 0,
            credits: 64,
            grant: None,
            gap: 0,
            pad: 0,
            short: u32::MAX,
            reversed: false,
            chain: false,
            batch: usize::MAX,
            pending: 0,
            lie: None,
            smudge: None,
            log: Vec::new(),
            handles: BTreeSet::new(),
            frames: 0,
            bytes_heard: 0,
            queue: Vec::new(),
            line: Line::default(),
        }
    }
}

/// The contents of every file: each byte tells where it stands, beyond 4 GiB too, and none is 0.
pub fn byte_at(offset: u64) -> u8 {
    let mixed = (offset ^ 0x51).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 56) as u8 | 1
}

fn take<const N: usize>(bytes: &mut &[u8]) -> [u8; N] {
    let (taken, rest) = bytes.split_first_chunk().expect("a request is as long as its format says");
    *bytes = rest;
    *taken
}

impl Request {
    fn decode(mut bytes: &[u8]) -> Request {
        let at = &mut bytes;
        let id = u64::from_le_bytes(take(at));
        let [kind] = take(at);
        let handle = u32::from_le_bytes(take(at));
        let offset = u64::from_le_bytes(take(at));
        let len = u32::from_le_bytes(take(at));
        let path_len = u16::from_le_bytes(take(at));
        assert_eq!(usize::from(path_len), at.len(), "a path fills the rest of its request");
        Request { id, kind, handle, offset, len, path: String::from_utf8(at.to_vec()).unwrap() }
    }
}

impl Reply {
    pub fn to(request: &Request, body: Vec<u8>) -> Reply {
        let (id, kind, len) = (request.id, request.kind, body.len() as u32);
        Reply { id, kind, status: OK, grant: 1, gap: 0, pad: 0, len, body }
    }

    fn encode(&self, frame: &mut Vec<u8>) {
        frame.extend(self.id.to_le_bytes());
        frame.extend([self.kind, self.status]);
        for field in [self.grant, self.gap, self.pad] {
            frame.extend(field.to_le_bytes());
        }
        frame.extend(self.len.to_le_bytes());
        frame.extend(vec![0xAA; usize::from(self.gap)]);
        frame.extend(&self.body);
        frame.extend(vec![0xBB; usize::from(self.pad)]);
    }
}

/// The content as a frame in fragments of `len` bytes.
fn fragments(content: &[u8], len: usize) -> Vec<u8> {
    let mut frame = if len > 0 { MORE.to_be_bytes().to_vec() } else { Vec::new() };
    let pieces = content.chunks(if len > 0 { len } else { content.len().max(1) });
    let last = pieces.len() - 1;
    for (at, piece) in pieces.enumerate() {
        let more = if at < last { MORE } else { 0 };
        frame.extend((piece.len() as u32 | more).to_be_bytes());
        frame.extend(piece);
    }
    frame
}

impl Peer {
    pub fn with_file(len: u64) -> Peer {
        Peer { file_len: len, file_len_at_open: len, ..Peer::default() }
    }

    /// Bytes from the client.
    pub fn hear(&mut self, bytes: &[u8]) {
        self.bytes_heard += bytes.len() as u64;
        self.line.heard.extend(bytes);
        while let Some(mark) = self.line.heard.first_chunk() {
            let end = 4 + u32::from_be_bytes(*mark) as usize;
            let Some(frame) = self.line.heard.get(4..end) else { break };
            let request = Request::decode(frame);
            self.log.push(request.clone());
            self.queue.push(request);
            self.line.heard.drain(..end);
        }
    }

    /// Bytes to the client, of one frame at most. 0 if there is nothing to say.
    pub fn give(&mut self, window: &mut [u8]) -> usize {
        if self.line.given == self.line.said.len() {
            self.line = Line { heard: std::mem::take(&mut self.line.heard), ..Line::default() };
            self.speak();
        }
        let rest = &self.line.said[self.line.given..];
        let len = window.len().min(rest.len());
        window[..len].copy_from_slice(&rest[..len]);
        self.line.given += len;
        len
    }

    /// Whether the client has a part of a frame.
    pub fn within_frame(&self) -> bool {
        self.line.given > 0 && !self.line.frame_ends.contains(&self.line.given)
    }

    /// Bytes as they are, at the end of what is to be given.
    pub fn say(&mut self, frame: &[u8]) {
        self.line.said.extend(frame);
        self.line.frame_ends.push(self.line.said.len());
    }

    fn speak(&mut self) {
        let count = self.batch.min(self.queue.len());
        let mut batch: Vec<Request> = self.queue.drain(..count).collect();
        if self.reversed {
            batch.reverse();
        }
        let replies = batch.iter().flat_map(|request| self.replies(request)).collect::<Vec<_>>();
        let single = |reply: &Reply| {
            !self.chain || reply.status == PENDING || (reply.kind == LIST && !self.lists_twice)
        };
        let (singles, chain): (Vec<Reply>, Vec<Reply>) = replies.into_iter().partition(single);
        singles.iter().for_each(|reply| self.say_replies(std::slice::from_ref(reply)));
        if !chain.is_empty() {
            self.say_replies(&chain);
        }
    }

    pub fn say_replies(&mut self, replies: &[Reply]) {
        let mut content = Vec::new();
        replies.iter().for_each(|reply| reply.encode(&mut content));
        if self.sealed {
            content = seal(&content, self.frames as u8);
        }
        let mut frame = fragments(&content, self.fragment);
        if let Some(smudge) = &mut self.smudge {
            smudge(&mut frame);
        }
        self.frames += 1;
        self.say(&frame);
    }

    fn replies(&mut self, request: &Request) -> Vec<Reply> {
        let mut replies = Vec::new();
        for _ in 0..self.pending {
            let reply = Reply::to(request, Vec::new());
            replies.push(Reply { status: PENDING, grant: 0, ..reply });
        }
        let reply = self.reply(request);
        let charge =
            if matches!(request.kind, READ | PLUS) { request.len.div_ceil(self.unit) as u16 } else { 1 };
        let grant = match request.kind {
            CONNECT => self.credits,
            _ => self.grant.unwrap_or(charge),
        };
        replies.push(Reply { grant, pad: self.pad, ..reply });
        if let Some(mut lie) = self.lie.take() {
            lie(request, &mut replies);
            self.lie = Some(lie);
        }
        replies
    }

    fn reply(&mut self, request: &Request) -> Reply {
        let refused = |code| Reply { status: REFUSED, len: code, ..Reply::to(request, Vec::new()) };
        match request.kind {
            CONNECT => Reply::to(request, self.read_len_max.to_le_bytes().to_vec()),
            OPEN if request.path == "file" => {
                let handle = request.id as u32;
                self.handles.insert(handle);
                let len = self.file_len_at_open.to_le_bytes();
                let change = self.change.0.to_le_bytes();
                let change = if self.holes.is_empty() { &[][..] } else { &change };
                Reply::to(request, [&handle.to_le_bytes()[..], &len[..], change].concat())
            }
            PLUS if self.handles.contains(&request.handle) => self.read_plus(request),
            MAP if self.handles.contains(&request.handle) => self.map(request),
            LOOK if self.handles.contains(&request.handle) => {
                let (change, len) = (self.change.1.to_le_bytes(), self.file_len.to_le_bytes());
                Reply::to(request, [change, len].concat())
            }
            READ if self.handles.contains(&request.handle) => self.read(request),
            STAT if request.path == "file" => {
                Reply::to(request, [&[0][..], &self.file_len.to_le_bytes()[..]].concat())
            }
            LIST if request.path == "dir" => self.list(request),
            CLOSE if self.handles.remove(&request.handle) => Reply::to(request, Vec::new()),
            OPEN | STAT | LIST => refused(2),
            _ => refused(9),
        }
    }

    /// Where a run of data or of a hole ends, and which it is.
    fn run_at(&self, offset: u64) -> (u64, bool) {
        let hole = self.holes.iter().find(|hole| offset < hole.1);
        match hole {
            Some((start, _)) if offset < *start => ((*start).min(self.file_len), false),
            Some((_, end)) => ((*end).min(self.file_len), true),
            None => (self.file_len, false),
        }
    }

    /// Data and holes of a part of the file: start, end, whether it is a hole.
    pub fn runs(&self, from: u64, end: u64) -> Vec<(u64, u64, bool)> {
        let (mut at, mut runs) = (from, Vec::new());
        while at < end.min(self.file_len) {
            let (until, hole) = self.run_at(at);
            runs.push((at, until.min(end), hole));
            at = until;
        }
        runs
    }

    /// A part of the file.
    pub fn bytes(&self, from: u64, end: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (start, end, hole) in self.runs(from, end) {
            match hole {
                true => bytes.resize(bytes.len() + (end - start) as usize, 0),
                false => bytes.extend((start..end).map(byte_at)),
            }
        }
        bytes
    }

    /// What of a request is answered.
    fn read_end(&self, request: &Request) -> Option<u64> {
        assert!(request.len > 0 && request.len <= self.read_len_max, "{request:?}");
        let left = self.file_len.saturating_sub(request.offset);
        let len = left.min(u64::from(request.len)).min(u64::from(self.short));
        (len > 0).then_some(request.offset + len)
    }

    fn read(&self, request: &Request) -> Reply {
        match self.read_end(request) {
            None => Reply { status: EOF, ..Reply::to(request, Vec::new()) },
            Some(end) => Reply { gap: self.gap, ..Reply::to(request, self.bytes(request.offset, end)) },
        }
    }

    fn read_plus(&self, request: &Request) -> Reply {
        let Some(end) = self.read_end(request) else {
            return Reply { status: EOF, ..Reply::to(request, Vec::new()) };
        };
        let runs = self.runs(request.offset, end);
        let mut body = Vec::new();
        for (start, end, hole) in &runs {
            body.push(u8::from(*hole));
            body.extend([self.gap, self.pad].map(u16::to_le_bytes).as_flattened());
            body.extend(start.to_le_bytes());
            body.extend(((end - start) as u32).to_le_bytes());
            body.extend([0; 3]);
            body.extend(vec![0xAA; usize::from(self.gap)]);
            body.extend(if *hole { Vec::new() } else { self.bytes(*start, *end) });
            body.extend(vec![0xBB; usize::from(self.pad)]);
        }
        Reply { len: runs.len() as u32, ..Reply::to(request, body) }
    }

    /// Behind the end of a file that has become shorter there is a hole.
    fn map(&self, request: &Request) -> Reply {
        let end = self.file_len.max(self.file_len_at_open);
        let body = match self.map {
            Told::Not => return Reply { status: REFUSED, len: 9, ..Reply::to(request, Vec::new()) },
            Told::Runs => {
                let within = request.offset < self.file_len;
                let (known, hole) = if within { self.run_at(request.offset) } else { (end, true) };
                [&[if hole { 1 } else { 2 }][..], &known.to_le_bytes()].concat()
            }
            Told::Ranges(most) => {
                let most = most.min((request.len as usize - MAP_HEAD_LEN) / RANGE_LEN);
                let runs = self.runs(request.offset, u64::MAX);
                let mut data: Vec<_> = runs.iter().filter(|run| !run.2).map(|run| (run.0, run.1)).collect();
                let all = data.len() <= most;
                data.truncate(most);
                let known = data.last().filter(|_| !all).map_or(end, |last| last.1);
                let ranges = data.iter().flat_map(|(start, end)| [*start, end - start]);
                let ranges: Vec<u8> = ranges.flat_map(u64::to_le_bytes).collect();
                [&[0][..], &known.to_le_bytes(), &ranges].concat()
            }
        };
        Reply::to(request, body)
    }

    fn list(&self, request: &Request) -> Reply {
        let mut body = vec![0; 8];
        let mut index = request.offset as usize;
        let mut last = None;
        while let Some(name) = self.names.get(index) {
            let at = body.len();
            if at + 14 + name.len() > request.len as usize {
                break;
            }
            if let Some(last) = last.replace(at) {
                body[last..][..4].copy_from_slice(&((at - 8) as u32).to_le_bytes());
            }
            body.extend(0u32.to_le_bytes());
            body.extend((index as u64).to_le_bytes());
            body.extend((name.len() as u16).to_le_bytes());
            body.extend(name);
            index += 1;
        }
        let cursor = if index < self.names.len() { index as u64 } else { 0 };
        body[..8].copy_from_slice(&cursor.to_le_bytes());
        Reply::to(request, body)
    }
}

/// The envelope: `E`, a key, the sum of the plain bytes; then those, each under key and position.
fn seal(plain: &[u8], key: u8) -> Vec<u8> {
    let sum = plain.iter().fold(0u32, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(16_777_619));
    let mut sealed = vec![b'E', key];
    sealed.extend(sum.to_le_bytes());
    sealed.extend(plain.iter().enumerate().map(|(at, byte)| byte ^ key.wrapping_add((at + 6) as u8)));
    sealed
}
