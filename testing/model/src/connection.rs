//! One connection: chains in, replies out.

use std::collections::BTreeMap;

use crate::account::{Account, Record};
use crate::arrange::arrange;
use crate::create::Open;
use crate::credits::{self, Window};
use crate::entropy::Entropy;
use crate::header::{self, FLAG_RELATED, FLAG_RESPONSE, FLAG_SIGNED, Header, Request};
use crate::model::Frame;
use crate::seal::{self, Sealer};
use crate::session::{Negotiated, Session};
use crate::sign::Signer;
use crate::wire::Put;
use crate::{Command, Config, Dialect, Lie, Sealing, Status};

/// What a command comes to: a status of success or warning with its body.
pub(crate) struct Answer {
    pub(crate) status: Status,
    pub(crate) body: Vec<u8>,
}

impl From<Vec<u8>> for Answer {
    fn from(body: Vec<u8>) -> Self {
        Answer { status: Status::SUCCESS, body }
    }
}

/// An answer, or a status that gets the error body.
pub(crate) type Handled = Result<Answer, Status>;

/// The reply to one member of a chain.
#[derive(Clone)]
pub(crate) struct Reply {
    pub(crate) header: Header,
    pub(crate) body: Vec<u8>,
    pub(crate) signer: Option<Signer>,
    /// The file it was about.
    pub(crate) file: Option<u64>,
    /// NextCommand, if not the truth.
    pub(crate) next_command: Option<u32>,
}

/// What related requests inherit.
#[derive(Default)]
pub(crate) struct Chain {
    /// Whether there is a request to be related to.
    pub(crate) started: bool,
    /// The session whose transform the chain came in.
    pub(crate) sealed: Option<u64>,
    pub(crate) session_id: u64,
    pub(crate) tree_id: u32,
    pub(crate) file: Option<u64>,
    /// Why there is no file, if the CREATE before failed.
    pub(crate) failed: Option<Status>,
}

/// How often something happened that a lie may count.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) signed: usize,
    pub(crate) sealed: usize,
    pub(crate) reads: usize,
    pub(crate) read_messages: usize,
    pub(crate) maps: usize,
}

pub(crate) struct Connection {
    pub(crate) config: Config,
    pub(crate) closed: bool,
    pub(crate) account: Account,
    pub(crate) told: Told,
    pub(crate) window: Window,
    pub(crate) negotiated: Option<Negotiated>,
    pub(crate) sessions: BTreeMap<u64, Session>,
    pub(crate) opens: BTreeMap<u64, Open>,
    pub(crate) entropy: Entropy,
    pub(crate) guid: [u8; 16],
    /// The last number given to a tree or handle.
    pub(crate) last_id: u64,
    pub(crate) nonce: u64,
}

impl Connection {
    pub(crate) fn new(config: Config) -> Self {
        let mut entropy = Entropy::new(config.seed);
        let drawn = entropy.draw()[..16].try_into().expect("half of 32");
        let guid = if config.lies.contains(&Lie::ZeroGuid) { [0; 16] } else { drawn };
        Connection {
            closed: false,
            account: Account::default(),
            told: Told::default(),
            window: Window::new(config.credits_max),
            negotiated: None,
            sessions: BTreeMap::new(),
            opens: BTreeMap::new(),
            entropy,
            guid,
            last_id: 0,
            nonce: 0,
            config,
        }
    }

    pub(crate) fn lies(&self, lie: Lie) -> bool {
        self.config.lies.contains(&lie)
    }

    /// The parameter of a lie, if it is told.
    pub(crate) fn lie<T>(&self, pick: impl Fn(&Lie) -> Option<T>) -> Option<T> {
        self.config.lies.iter().find_map(pick)
    }

    pub(crate) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Answers one frame; what cannot be answered closes the connection.
    pub(crate) fn receive(&mut self, frame: &[u8]) -> Vec<Frame> {
        self.account.frames_in += 1;
        let Some((plain, sealer)) = self.unseal(frame) else {
            self.closed = true;
            return Vec::new();
        };
        let sealed = sealer.as_ref().map(|sealer| sealer.session_id);
        let replies = self.chain(&plain, sealed);
        let sealer = sealer.or_else(|| self.sealer_of_share(&replies));
        // Without a session there are no keys.
        let sealer = sealer.filter(|sealer| self.sessions.contains_key(&sealer.session_id));
        let messages = arrange(self, replies, sealer);
        messages.into_iter().map(|message| self.assemble(message)).collect()
    }

    /// What seals the reply to a chain in the clear, if that is what the server does.
    fn sealer_of_share(&self, replies: &[Reply]) -> Option<Sealer> {
        let first = replies.first()?.header;
        let seals = self.lies(Lie::SealTreeConnectChain) && self.config.sealing == Sealing::Share;
        let (session, negotiated) = (self.sessions.get(&first.session_id)?, self.negotiated.as_ref()?);
        let sealer = session.s2c(first.session_id, negotiated);
        sealer.filter(|_| seals && first.command == Command::TreeConnect && replies.len() > 1)
    }

    /// The plain frame, and what seals its reply.
    fn unseal(&self, frame: &[u8]) -> Option<(Vec<u8>, Option<Sealer>)> {
        if !frame.starts_with(seal::PROTOCOL) {
            return Some((frame.to_vec(), None));
        }
        let id = seal::session_id(frame)?;
        let (session, negotiated) = (self.sessions.get(&id)?, self.negotiated.as_ref()?);
        let plain = session.c2s(id, negotiated)?.unseal(frame)?;
        Some((plain, session.s2c(id, negotiated)))
    }

    fn chain(&mut self, plain: &[u8], sealed: Option<u64>) -> Vec<Reply> {
        let Ok(requests) = header::split(plain) else {
            self.closed = true;
            return Vec::new();
        };
        let connects = requests[0].header.command == Command::TreeConnect;
        let tree_first = connects && requests.len() > 1;
        let refused_chain = tree_first && self.lies(Lie::RefuseTreeConnectChain);
        let refused_alone = connects && self.lies(Lie::RefuseTreeConnectAlone);
        let refused_members = tree_first && self.lies(Lie::RefuseTreeConnectMembers);
        let refused = refused_chain || refused_alone || refused_members;
        let behind_refused = tree_first && self.lies(Lie::RefuseBehindTreeConnect);
        let mut chain = Chain { sealed, ..Chain::default() };
        let mut replies = Vec::new();
        for request in requests {
            let refused = refused || behind_refused && chain.started;
            replies.extend(self.answer(&mut chain, &request, refused));
            if self.closed {
                return Vec::new();
            }
        }
        if refused_chain || refused_alone {
            replies.truncate(1);
            replies[0].next_command = refused_chain.then_some(80);
        }
        if self.lies(Lie::GrantWithLast) {
            grant_with_last(&mut replies);
        }
        replies
    }

    /// Answers one member; CANCEL has no answer, and neither has what closes the connection.
    fn answer(&mut self, chain: &mut Chain, request: &Request, refused: bool) -> Option<Reply> {
        let header = request.header;
        if header.command == Command::Cancel {
            self.record(request, chain, Status::SUCCESS, 0);
            return None;
        }
        if header.is(FLAG_RESPONSE) || !self.window.take(header.message_id, header.credit_charge.max(1)) {
            self.closed = true;
            return None;
        }
        let inherited = chain.inherit(&header);
        let signer_before = self.signer(chain.session_id);
        let admitted = inherited.and_then(|()| self.admit(chain, request));
        let handled = match refused {
            true => Err(Status::INVALID_PARAMETER),
            false => admitted.and_then(|()| self.dispatch(chain, request)),
        };
        if self.closed {
            return None;
        }
        let Answer { status, body } =
            handled.unwrap_or_else(|status| Answer { status, body: error_body(&[]) });
        let granted = self.grant(&header);
        self.record(request, chain, status, granted);
        let last_of_setup = header.command == Command::SessionSetup && status == Status::SUCCESS;
        let has_keys = chain.sealed.is_none() && status != Status::USER_SESSION_DELETED;
        let signed = has_keys && (header.is(FLAG_SIGNED) || last_of_setup);
        Some(Reply {
            header: Header {
                status,
                credits: granted,
                flags: FLAG_RESPONSE | header.flags & FLAG_RELATED,
                next_command: 0,
                tree_id: chain.tree_id,
                session_id: chain.session_id,
                signature: [0; 16],
                ..header
            },
            body,
            signer: self.signer(chain.session_id).or(signer_before).filter(|_| signed),
            file: chain.file,
            next_command: None,
        })
    }

    fn grant(&mut self, header: &Header) -> u16 {
        let read = header.command == Command::Read;
        match self.lies(Lie::GrantNothing) || read && self.lies(Lie::GrantNothingForReads) {
            true => 0,
            false => self.window.grant(header.credits),
        }
    }

    fn record(&mut self, request: &Request, chain: &Chain, status: Status, credits_granted: u16) {
        let header = request.header;
        self.account.log.push(Record {
            command: header.command,
            message_id: header.message_id,
            credit_charge: header.credit_charge,
            credits_requested: header.credits,
            credits_granted,
            status,
            signed: header.is(FLAG_SIGNED),
            sealed: chain.sealed.is_some(),
            related: header.is(FLAG_RELATED),
            frame: self.account.frames_in - 1,
        });
    }

    pub(crate) fn signer(&self, session_id: u64) -> Option<Signer> {
        self.sessions.get(&session_id)?.signer(self.negotiated.as_ref()?)
    }

    /// Whether the request may be looked at: session, signature, sealing, tree (MS-SMB2 3.3.5.2).
    fn admit(&mut self, chain: &Chain, request: &Request) -> Result<(), Status> {
        let command = request.header.command;
        let Some(negotiated) = &self.negotiated else {
            self.closed = command != Command::Negotiate;
            return Ok(());
        };
        if matches!(command, Command::Negotiate | Command::Echo if chain.session_id == 0) {
            return Ok(());
        }
        let Some(session) = self.sessions.get(&chain.session_id).filter(|session| session.valid) else {
            let setup = command == Command::SessionSetup;
            return if setup { Ok(()) } else { Err(Status::USER_SESSION_DELETED) };
        };
        self.check_protection(session, negotiated, chain, request)?;
        match command {
            Command::SessionSetup => Ok(()),
            _ => self.check_place(session, chain, command),
        }
    }

    /// The transform is the session's own, or the signature is right.
    fn check_protection(
        &self,
        session: &Session,
        negotiated: &Negotiated,
        chain: &Chain,
        request: &Request,
    ) -> Result<(), Status> {
        if let Some(id) = chain.sealed {
            return if id == chain.session_id { Ok(()) } else { Err(Status::ACCESS_DENIED) };
        }
        let connects = request.header.command == Command::TreeConnect;
        let must = session.signing_required || negotiated.dialect == Dialect::V311 && connects;
        check_signature(session.signer(negotiated), must, request)
    }

    /// The session is fresh, the tree is connected, and both are sealed if they must be.
    fn check_place(&self, session: &Session, chain: &Chain, command: Command) -> Result<(), Status> {
        if session.expired && !matches!(command, Command::Close | Command::Logoff) {
            return Err(Status::NETWORK_SESSION_EXPIRED);
        }
        let in_tree = !matches!(command, Command::Logoff | Command::TreeConnect | Command::Echo);
        if in_tree && !session.trees.contains(&chain.tree_id) {
            return Err(Status::NETWORK_NAME_DELETED);
        }
        let sealing = self.config.sealing;
        let must_seal = sealing == Sealing::Session || in_tree && sealing == Sealing::Share;
        if must_seal && chain.sealed.is_none() { Err(Status::ACCESS_DENIED) } else { Ok(()) }
    }

    fn dispatch(&mut self, chain: &mut Chain, request: &Request) -> Handled {
        match request.header.command {
            Command::Negotiate => self.negotiate(request),
            Command::SessionSetup => self.session_setup(chain, request),
            Command::Logoff => self.logoff(chain, request),
            Command::TreeConnect => self.tree_connect(chain, request),
            Command::TreeDisconnect => self.tree_disconnect(chain, request),
            Command::Create => self.create(chain, request),
            Command::Close => self.close(chain, request),
            Command::Read => self.read(chain, request),
            Command::Ioctl => self.ioctl(chain, request),
            Command::Echo => self.echo(request),
            Command::QueryDirectory => self.query_directory(chain, request),
            Command::QueryInfo => self.query_info(chain, request),
            Command::OplockBreak => self.oplock_break(chain, request),
            Command::Write | Command::SetInfo => Err(Status::ACCESS_DENIED),
            Command::Flush | Command::Lock | Command::ChangeNotify | Command::Cancel => {
                Err(Status::NOT_SUPPORTED)
            }
        }
    }

    /// Whether the charge pays for a payload of `len`; at 2.0.2 everything costs one.
    pub(crate) fn paid(&self, request: &Request, len: u32) -> Result<(), Status> {
        let multi = self.negotiated.as_ref().is_some_and(|negotiated| negotiated.dialect > Dialect::V202);
        match multi && credits::charge(len as usize) > request.header.credit_charge.max(1).into() {
            true => Err(Status::INVALID_PARAMETER),
            false => Ok(()),
        }
    }
}

/// The last reply grants what all of them do.
fn grant_with_last(replies: &mut [Reply]) {
    let granted = replies.iter_mut().map(|reply| std::mem::take(&mut reply.header.credits)).sum();
    if let Some(last) = replies.last_mut() {
        last.header.credits = granted;
    }
}

/// A signature must be right, and must be there where there are keys and rules ask for it.
fn check_signature(signer: Option<Signer>, must: bool, request: &Request) -> Result<(), Status> {
    let signed = request.header.is(FLAG_SIGNED);
    let right = match signer {
        Some(signer) if signed => signer.verify(request.message),
        Some(_) => !must,
        None => true,
    };
    if right { Ok(()) } else { Err(Status::ACCESS_DENIED) }
}

impl Chain {
    /// Takes the ids of a request, or keeps those of the one before if it is related to it.
    fn inherit(&mut self, header: &Header) -> Result<(), Status> {
        if header.is(FLAG_RELATED) {
            return if self.started { Ok(()) } else { Err(Status::INVALID_PARAMETER) };
        }
        *self = Chain {
            started: true,
            sealed: self.sealed,
            session_id: header.session_id,
            tree_id: header.tree_id,
            file: None,
            failed: None,
        };
        Ok(())
    }
}

/// The body of an error (MS-SMB2 2.2.2); one byte stands where there is no data.
pub(crate) fn error_body(data: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    body.u16(9);
    body.u16(0);
    body.u32(data.len() as u32);
    body.put(if data.is_empty() { &[0] } else { data });
    body
}
