//! A client for the model's own tests: says what it is told to, checks nothing but crypto.

use crate::header::{self, FLAG_RELATED, FLAG_SIGNED, Header};
use crate::kdf::{self, Keys};
use crate::ntlm;
use crate::seal::{self, Sealer};
use crate::session::Preauth;
use crate::sign::{self, Signer};
use crate::wire::{Put, pad8, utf16};
use crate::{Cipher, Command, Config, Dialect, Model, Signing, Status};

/// The file of the request before.
pub(crate) const SAME_FILE: [u8; 16] = [0xFF; 16];

/// One reply, as it came.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) header: Header,
    pub(crate) body: Vec<u8>,
    pub(crate) sealed: bool,
    /// Whether it is signed, and rightly.
    pub(crate) verified: bool,
}

impl Received {
    pub(crate) fn status(&self) -> Status {
        self.header.status
    }

    /// What DataOffset and DataLength of a READ reply enclose.
    pub(crate) fn data(&self) -> &[u8] {
        let len = u32::from_le_bytes(self.body[4..8].try_into().unwrap()) as usize;
        &self.body[self.body[2] as usize - header::LEN..][..len]
    }

    pub(crate) fn file_id(&self) -> [u8; 16] {
        self.body[64..80].try_into().unwrap()
    }
}

pub(crate) struct Client {
    pub(crate) model: Model,
    pub(crate) dialect: Dialect,
    pub(crate) cipher: Cipher,
    pub(crate) signing: Signing,
    pub(crate) next_id: u64,
    pub(crate) session_id: u64,
    pub(crate) tree_id: u32,
    pub(crate) keys: Option<Keys>,
    pub(crate) sign: bool,
    pub(crate) seal: bool,
    nonce: u64,
}

impl Client {
    pub(crate) fn new(config: Config, dialect: Dialect) -> Self {
        let at_311 = dialect == Dialect::V311;
        Client {
            dialect,
            cipher: if at_311 { config.ciphers[0] } else { Cipher::Aes128Ccm },
            signing: if at_311 { config.signing[0] } else { dialect.default_signing() },
            model: Model::new(config),
            next_id: 0,
            session_id: 0,
            tree_id: 0,
            keys: None,
            sign: false,
            seal: false,
            nonce: 0,
        }
    }

    /// A client with a session and a tree that signs.
    pub(crate) fn connected(config: Config, dialect: Dialect) -> Self {
        let mut client = Client::new(config, dialect);
        client.authenticate();
        client.sign = true;
        client.connect_tree();
        client
    }

    /// NEGOTIATE and SESSION_SETUP; the final reply as it came.
    pub(crate) fn authenticate(&mut self) -> Received {
        let mut preauth = Preauth::new();
        let (frame, _) = self.hashed(&mut preauth, Command::Negotiate, &self.negotiate_body());
        preauth.update(&frame);
        self.log_on(preauth)
    }

    /// SESSION_SETUP, also again.
    pub(crate) fn log_on(&mut self, mut preauth: Preauth) -> Received {
        let first = setup_body(&ntlm::tests::negotiate());
        let (frame, challenge) = self.hashed(&mut preauth, Command::SessionSetup, &first);
        preauth.update(&frame);
        self.session_id = challenge.header.session_id;
        let (response, key) = ntlm::tests::respond(&challenge.body[8..], "lab", "lab-password");
        let setup = setup_body(&response);
        let sent = self.encode(&[(Command::SessionSetup, setup)], false);
        preauth.update(&sent);
        if self.keys.is_none() {
            self.keys = Some(kdf::keys(self.dialect, Some(self.cipher), &key, &preauth.0));
        }
        self.transmit(&sent);
        self.replies().remove(0)
    }

    pub(crate) fn connect_tree(&mut self) {
        let reply = self.ask(Command::TreeConnect, tree_body());
        assert_eq!(reply.status(), Status::SUCCESS);
        self.tree_id = reply.header.tree_id;
    }

    fn hashed(&mut self, preauth: &mut Preauth, command: Command, body: &[u8]) -> (Vec<u8>, Received) {
        let sent = self.encode(&[(command, body.to_vec())], false);
        preauth.update(&sent);
        self.transmit(&sent);
        let frame = self.frames().remove(0);
        let reply = self.split(&frame).remove(0);
        (frame, reply)
    }

    /// One request, one reply.
    pub(crate) fn ask(&mut self, command: Command, body: Vec<u8>) -> Received {
        let mut replies = self.chain(&[(command, body)]);
        assert_eq!(replies.len(), 1);
        replies.remove(0)
    }

    /// A related chain and all replies to it.
    pub(crate) fn chain(&mut self, members: &[(Command, Vec<u8>)]) -> Vec<Received> {
        self.send(members);
        self.replies()
    }

    pub(crate) fn send(&mut self, members: &[(Command, Vec<u8>)]) {
        let frame = self.encode(members, true);
        self.transmit(&frame);
    }

    pub(crate) fn transmit(&mut self, frame: &[u8]) {
        let frame = match self.seal.then(|| self.sealer(true)) {
            Some(sealer) => {
                self.nonce += 1;
                sealer.seal(self.nonce, frame, frame.len())
            }
            None => frame.to_vec(),
        };
        self.model.input(&(frame.len() as u32).to_be_bytes());
        self.model.input(&frame);
    }

    pub(crate) fn encode(&mut self, members: &[(Command, Vec<u8>)], related: bool) -> Vec<u8> {
        let mut frame = Vec::new();
        for (i, (command, body)) in members.iter().enumerate() {
            let is_last = i + 1 == members.len();
            let charge =
                if self.dialect > Dialect::V202 { payload(*command, body).div_ceil(65536).max(1) } else { 0 };
            let mut member = self.header(*command, charge as u16, related && i > 0).encode();
            member.put(body);
            if !is_last {
                pad8(&mut member);
                let next = member.len() as u32;
                member[20..24].copy_from_slice(&next.to_le_bytes());
            }
            if self.sign && !self.seal {
                member[16] |= FLAG_SIGNED as u8;
                let signature = self.signer().signature(&member, false);
                member[sign::SIGNATURE].copy_from_slice(&signature);
            }
            self.next_id += charge.max(1) as u64;
            frame.put(&member);
        }
        frame
    }

    fn header(&self, command: Command, credit_charge: u16, related: bool) -> Header {
        Header {
            credit_charge,
            status: Status::SUCCESS,
            command,
            credits: 10,
            flags: if related { FLAG_RELATED } else { 0 },
            next_command: 0,
            message_id: self.next_id,
            process_id: 0,
            tree_id: self.tree_id,
            async_id: 0,
            session_id: self.session_id,
            signature: [0; 16],
        }
    }

    /// Frames as they came, without NetBIOS headers; what is not whole is left out.
    pub(crate) fn frames(&mut self) -> Vec<Vec<u8>> {
        let output = self.model.output();
        let mut rest = &output[..];
        let mut frames = Vec::new();
        while rest.len() >= 4 {
            let len = u32::from_be_bytes(rest[..4].try_into().unwrap()) & 0xFF_FFFF;
            let Some(frame) = rest.get(4..4 + len as usize) else { break };
            frames.push(frame.to_vec());
            rest = &rest[4 + len as usize..];
        }
        frames.retain(|frame| !frame.is_empty());
        frames
    }

    pub(crate) fn replies(&mut self) -> Vec<Received> {
        self.frames().iter().flat_map(|frame| self.split(frame)).collect()
    }

    fn split(&self, frame: &[u8]) -> Vec<Received> {
        let sealed = frame.starts_with(seal::PROTOCOL);
        let plain = match sealed {
            true => self.sealer(false).unseal(frame).expect("sealed for this session"),
            false => frame.to_vec(),
        };
        let members = header::split(&plain).expect("a whole chain");
        let received = |member: &header::Request| Received {
            header: member.header,
            body: member.message[header::LEN..].to_vec(),
            sealed,
            verified: member.header.is(FLAG_SIGNED)
                && self.signer().signature(member.message, true) == member.header.signature,
        };
        members.iter().map(received).collect()
    }

    fn signer(&self) -> Signer {
        Signer { algorithm: self.signing, key: self.keys.as_ref().expect("a session").signing }
    }

    fn sealer(&self, to_server: bool) -> Sealer {
        let keys = self.keys.as_ref().expect("a session");
        let key = if to_server { &keys.c2s } else { &keys.s2c };
        Sealer { cipher: self.cipher, key: key.clone(), session_id: self.session_id }
    }

    pub(crate) fn negotiate_body(&self) -> Vec<u8> {
        let dialects = self.dialect.and_below();
        let contexts = [
            (1, vec![1, 0, 0, 0, 1, 0]),
            (2, vec![1, 0, self.cipher as u8, 0]),
            (8, vec![1, 0, self.signing as u8, 0]),
        ];
        let mut body = Vec::new();
        body.u16(36);
        body.u16(dialects.len() as u16);
        body.u16(1);
        body.u16(0);
        body.u32(0x44);
        body.put(&[9; 16]);
        body.u32((header::LEN + 36 + dialects.len() * 2).next_multiple_of(8) as u32);
        body.u32(contexts.len() as u32);
        dialects.iter().for_each(|&dialect| body.u16(dialect as u16));
        if self.dialect == Dialect::V311 {
            for (kind, data) in contexts {
                pad8(&mut body);
                body.u16(kind);
                body.u16(data.len() as u16);
                body.u32(0);
                body.put(&data);
            }
        }
        body
    }
}

/// The bytes a request pays for.
fn payload(command: Command, body: &[u8]) -> usize {
    match command {
        Command::Read => u32::from_le_bytes(body[4..8].try_into().unwrap()) as usize,
        _ => 0,
    }
}

pub(crate) fn setup_body(token: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    body.u16(25);
    body.u16(0x0100);
    body.zeros(8);
    body.u16(88);
    body.u16(token.len() as u16);
    body.u64(0);
    body.put(token);
    body
}

pub(crate) fn tree_body() -> Vec<u8> {
    let path = utf16(r"\\model\data");
    let mut body = Vec::new();
    body.u16(9);
    body.u16(0);
    body.u16(72);
    body.u16(path.len() as u16);
    body.put(&path);
    body
}

/// Opens `path` for reading.
pub(crate) fn create_body(path: &str, options: u32) -> Vec<u8> {
    let name = utf16(path);
    let mut body = Vec::new();
    body.u16(57);
    body.zeros(22);
    body.u32(0x0012_0089);
    body.zeros(4);
    body.u32(7);
    body.u32(1);
    body.u32(options);
    body.u16(120);
    body.u16(name.len() as u16);
    body.zeros(8);
    body.put(&name);
    body.u8(0);
    body
}

pub(crate) fn read_body(file: [u8; 16], offset: u64, len: u32) -> Vec<u8> {
    let mut body = Vec::new();
    body.u16(49);
    body.u16(0x50);
    body.u32(len);
    body.u64(offset);
    body.put(&file);
    body.zeros(17);
    body
}

pub(crate) fn close_body(file: [u8; 16]) -> Vec<u8> {
    let mut body = vec![24, 0, 1, 0, 0, 0, 0, 0];
    body.put(&file);
    body
}

pub(crate) fn directory_body(file: [u8; 16], class: u8, flags: u8, pattern: &str, max: u32) -> Vec<u8> {
    let pattern = utf16(pattern);
    let mut body = vec![33, 0, class, flags, 0, 0, 0, 0];
    body.put(&file);
    body.u16(96);
    body.u16(pattern.len() as u16);
    body.u32(max);
    body.put(&pattern);
    body
}

pub(crate) fn info_body(file: [u8; 16], kind: u8, class: u8, max: u32) -> Vec<u8> {
    let mut body = vec![41, 0, kind, class];
    body.u32(max);
    body.zeros(16);
    body.put(&file);
    body.u8(0);
    body
}

/// QUERY_ALLOCATED_RANGES.
pub(crate) fn ranges_body(file: [u8; 16], from: u64, len: u64, max: u32) -> Vec<u8> {
    let mut body = vec![57, 0, 0, 0];
    body.u32(0x0009_40CF);
    body.put(&file);
    body.u32(120);
    body.u32(16);
    body.zeros(12);
    body.u32(max);
    body.u32(1);
    body.u32(0);
    body.u64(from);
    body.u64(len);
    body
}

pub(crate) fn validate_body(negotiate: &[u8], dialects: usize) -> Vec<u8> {
    let input =
        [&negotiate[8..28], &negotiate[4..6], &negotiate[2..4], &negotiate[36..36 + 2 * dialects]].concat();
    let mut body = vec![57, 0, 0, 0];
    body.u32(0x0014_0204);
    body.put(&SAME_FILE);
    body.u32(120);
    body.u32(input.len() as u32);
    body.zeros(12);
    body.u32(24);
    body.u32(1);
    body.u32(0);
    body.put(&input);
    body
}
