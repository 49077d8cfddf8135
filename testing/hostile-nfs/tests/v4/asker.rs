//! Asks the server by raw bytes, for what no engine asks, or not in this way.

use pagewire_hostile_nfs::v4::{Config, Model, op, status};
use pagewire_hostile_nfs::{Heard, Link, Xdr};

/// One operation: its number and its arguments.
pub type Asked = (u32, Xdr);

/// What came back: the status of the whole, the number and status of each result, and what the last one has.
#[derive(Debug)]
pub struct Told {
    pub xid: u32,
    pub status: u32,
    pub results: Vec<(u32, u32)>,
    pub last: Vec<u8>,
}

impl Told {
    /// The words of the last result.
    pub fn words(&self) -> Vec<u32> {
        self.last.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect()
    }
}

/// Asks one question at a time, of one minor version.
pub struct Asker {
    pub model: Model,
    pub minor: u32,
    pub session: Vec<u8>,
    /// The number of the last request of slot 0.
    pub number: u32,
    xid: u32,
}

pub fn op(op: u32, args: impl FnOnce(&mut Xdr) -> &mut Xdr) -> Asked {
    let mut x = Xdr::default();
    args(&mut x);
    (op, x)
}

pub fn root() -> Asked {
    op(op::PUTROOTFH, |x| x)
}

pub fn lookup(name: &str) -> Asked {
    op(op::LOOKUP, |x| x.opaque(name.as_bytes()))
}

pub fn exchange_id(verifier: u64) -> Asked {
    op(op::EXCHANGE_ID, |x| x.hyper(verifier).opaque(b"raw").words(&[0, 0, 0]))
}

pub fn create_session(client: u64, sequence: u32, slots: u32) -> Asked {
    op(op::CREATE_SESSION, |x| {
        x.hyper(client).words(&[sequence, 0]);
        x.words(&[0, 4096, 8192, 0, 8, slots, 0]).words(&[0, 4096, 4096, 0, 2, 1, 0]).words(&[0, 1, 0])
    })
}

pub fn sequence(session: &[u8], number: u32, slot: u32, highest: u32) -> Asked {
    op(op::SEQUENCE, |x| x.raw(session).words(&[number, slot, highest, 0]))
}

/// Stateid, offset and count, or what is looked for.
pub fn read(op: u32, stateid: &[u8], offset: u64, count: u32) -> Asked {
    self::op(op, |x| x.raw(stateid).hyper(offset).word(count))
}

pub const BYPASS: &[u8] = &[0xFF; 16];
pub const ANONYMOUS: &[u8] = &[0; 16];

impl Asker {
    pub fn new(config: Config, minor: u32) -> Asker {
        Asker { model: Model::new(config), minor, session: Vec::new(), number: 0, xid: 1 }
    }

    /// With a client and a session of two slots, if the minor version has any.
    pub fn connected(config: Config, minor: u32) -> Asker {
        let mut asker = Asker::new(config, minor);
        if minor > 0 {
            asker.connect(1);
        }
        asker
    }

    pub fn connect(&mut self, verifier: u64) {
        let introduced = self.ask(&[exchange_id(verifier)]).words();
        let client = u64::from(introduced[0]) << 32 | u64::from(introduced[1]);
        let created = self.ask(&[create_session(client, introduced[2], 2)]);
        assert_eq!(created.status, status::OK);
        (self.session, self.number) = (created.last[..16].to_vec(), 0);
        let done = self.within(vec![op(op::RECLAIM_COMPLETE, |x| x.word(0))]);
        assert_eq!(done.status, status::OK);
    }

    /// Asks in slot 0 of the session, if there is one.
    pub fn within(&mut self, mut asked: Vec<Asked>) -> Told {
        if self.minor > 0 {
            self.number += 1;
            asked.insert(0, sequence(&self.session, self.number, 0, 0));
        }
        self.ask(&asked)
    }

    pub fn ask(&mut self, asked: &[Asked]) -> Told {
        self.xid += 1;
        let mut call = Xdr::default();
        call.words(&[self.xid, 0, 2, 100_003, 4, 1, 0, 0, 0, 0]).opaque(b"test");
        call.word(self.minor).word(asked.len() as u32);
        for (op, args) in asked {
            call.word(*op).raw(&args.bytes);
        }
        let mut record = Xdr::default();
        record.word(0x8000_0000 | call.bytes.len() as u32).raw(&call.bytes);
        self.model.send(&record.bytes);
        let mut window = vec![0; 1 << 20];
        let Heard::Bytes(len) = self.model.receive(&mut window) else { panic!("no reply") };
        told(&window[4..len])
    }
}

fn told(reply: &[u8]) -> Told {
    let mut args = pagewire_hostile_nfs::Args(reply);
    let xid = args.word();
    assert_eq!([(); 5].map(|_| args.word()), [1, 0, 0, 0, 0]);
    let status = args.word();
    assert_eq!(args.opaque(), b"test");
    let count = args.word();
    let mut results = Vec::new();
    for at in 0..count {
        results.push((args.word(), args.word()));
        if at + 1 < count && results[at as usize].0 == op::SEQUENCE {
            args.take(36);
        }
    }
    Told { xid, status, results, last: args.0.to_vec() }
}
