//! From the first message to a usable share: NEGOTIATE, SESSION_SETUP twice, TREE_CONNECT, and the proof that nobody
//! changed NEGOTIATE on the way. The steps stand here in their order. A reply sends the next request, but for TREE_CONNECT: that
//! goes in front of what an operation wants, if the server and what it has granted allow it.

use super::answers::refuses_chains;
use super::chain::{Member, Reply as Wait};
use super::create::FileId;
use super::header::{Command, Header};
use super::ioctl::{self, ValidateNegotiateInfoRequest, ValidateNegotiateInfoResponse};
use super::negotiate::{self, Dialect};
use super::receive::is_cut_short;
use super::seal::Cipher;
use super::session::Standing;
use super::sign::SigningAlgorithm;
use super::status::Status;
use super::{Identity, Policy, Smb, ntlm, session_setup, spnego, tree_connect};
use crate::error::{Error, Reason, Refusal};
use crate::outgoing::Outbox;
use crate::protocol::{Answer, Progress};
use crate::wire::Writer;
use core::cell::Cell;
use zeroize::Zeroizing;

/// The longest chain: TREE_CONNECT, CREATE, QUERY_INFO, QUERY_INFO, CLOSE.
const CHAIN_MAX: usize = 5;

impl<const KEPT: usize> Smb<'_, KEPT> {
    fn security_mode(&self) -> u16 {
        match self.config.sign {
            Policy::Always => negotiate::SIGNING_ENABLED | negotiate::SIGNING_REQUIRED,
            Policy::IfNeeded => negotiate::SIGNING_ENABLED,
        }
    }

    fn capabilities(&self) -> u32 {
        // MS-SMB2 3.2.4.2.2.2: without CAP_ENCRYPTION Samba answers no cipher, even at 3.1.1.
        let most = self.config.dialects.iter().max();
        let leasing = if KEPT > 0 { negotiate::CAP_LEASING } else { 0 };
        let all = negotiate::CAP_LARGE_MTU | negotiate::CAP_ENCRYPTION | leasing;
        if most >= Some(Dialect::Smb300) { all } else { 0 }
    }

    /// What has to be there before a file can be asked for. `Complete`: nothing is missing but the share, and if `enters` not
    /// even that, since TREE_CONNECT goes with what is asked.
    pub(super) fn connects(&mut self, enters: bool, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        match self.session.standing {
            Standing::New => self.send_negotiate(out),
            Standing::Admitted if enters => Ok(Progress::Complete),
            Standing::Admitted => self.send_tree_connect(out),
            Standing::Ready => Ok(Progress::Complete),
            // Another try would be another failed one of the account.
            Standing::Refused(error) => Err(error),
            Standing::Asked
            | Standing::Greeted
            | Standing::Authenticated
            | Standing::Entering
            | Standing::Proving => Ok(Progress::Wait),
        }
    }

    /// The first request.
    fn send_negotiate(&mut self, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        if self.config.dialects.is_empty() {
            return Err(Error::Invalid("no dialect is offered"));
        }
        let request = negotiate::Request {
            dialects: self.config.dialects,
            security_mode: self.security_mode(),
            capabilities: self.capabilities(),
            client_guid: self.config.entropy.client_guid,
            salt: &self.config.entropy.salt,
            ciphers: self.config.ciphers,
            signing_algorithms: self.config.signing_algorithms,
            netname: None,
        };
        let encode = |w: &mut Writer<'_>| {
            request.encode(w);
            Ok(())
        };
        let progress =
            self.session.send(out, &[Member::new(Command::NEGOTIATE, 0, &encode)], Wait::Awaited)?;
        if progress == Progress::Sent {
            self.session.standing = Standing::Asked;
        }
        Ok(progress)
    }

    /// A reply on the way; `body` is what follows its header in `message`. `Again`: the operation asks once more, without
    /// TREE_CONNECT in front. An error is the end of the way.
    pub(super) fn connect_goes_on(
        &mut self,
        header: &Header,
        message: &[u8],
        body: &[u8],
        out: &mut Outbox<'_, '_>,
    ) -> Result<Answer<FileId>, Error> {
        let outcome = self.one_step_on(header, message, body, out);
        if let Err(error) = outcome {
            self.session.standing = Standing::Refused(error);
        }
        outcome
    }

    fn one_step_on(
        &mut self,
        header: &Header,
        message: &[u8],
        body: &[u8],
        out: &mut Outbox<'_, '_>,
    ) -> Result<Answer<FileId>, Error> {
        let more = header.status == Status::MORE_PROCESSING_REQUIRED;
        let standing = self.session.standing;
        if !(header.status == Status::SUCCESS || more && standing == Standing::Greeted) {
            return self.refused_on_the_way(header, message.len(), out);
        }
        if header.command == Command::NEGOTIATE || more {
            self.session.preauth.update(message);
        }
        let next = match (header.command, standing) {
            (Command::NEGOTIATE, Standing::Asked) => {
                self.negotiated(body)?;
                self.send_greeting(out)?;
                Standing::Greeted
            }
            (Command::SESSION_SETUP, Standing::Greeted) if more => {
                self.session.session_id = header.session_id;
                self.send_authentication(body, out)?;
                Standing::Authenticated
            }
            (Command::SESSION_SETUP, Standing::Authenticated) => {
                self.accepted(body)?;
                Standing::Admitted
            }
            (Command::TREE_CONNECT, Standing::Entering) => {
                self.session.tree_id = header.tree_id;
                self.share_is_there(body)?;
                if self.proves_negotiate() {
                    self.send_proof(out)?;
                    Standing::Proving
                } else {
                    Standing::Ready
                }
            }
            (Command::IOCTL, Standing::Proving) => {
                self.proof_came(body)?;
                Standing::Ready
            }
            _ => return Err(Error::Misbehaved("the steps of a connection came out of order")),
        };
        self.session.standing = next;
        Ok(Answer::Nothing)
    }

    /// MS-SMB2 3.2.5.2.
    fn negotiated(&mut self, body: &[u8]) -> Result<(), Error> {
        let response = negotiate::Response::decode(body)?;
        if !self.config.dialects.contains(response.dialect) {
            return Err(Error::Misbehaved("the server chose a dialect that was not offered"));
        }
        if response.max_read_size == 0 || response.max_transact_size == 0 {
            return Err(Error::Misbehaved("the server allows no read at all"));
        }
        let (cipher, signing_algorithm) = match response.dialect {
            Dialect::Smb311 => self.chosen(&response)?,
            Dialect::Smb300 | Dialect::Smb302 => {
                let encrypts = response.capabilities & negotiate::CAP_ENCRYPTION != 0;
                (encrypts.then_some(Cipher::Aes128Ccm), SigningAlgorithm::AesCmac)
            }
            Dialect::Smb202 | Dialect::Smb210 => (None, SigningAlgorithm::HmacSha256),
        };
        let session = &mut self.session;
        session.dialect = Some(response.dialect);
        session.server_guid = response.server_guid;
        session.security_mode = response.security_mode;
        session.capabilities = response.capabilities;
        session.read_len_max = response.max_read_size;
        session.transact_len_max = response.max_transact_size;
        session.cipher = cipher;
        session.signing_algorithm = signing_algorithm;
        if self.config.seal == Policy::Always && self.session.cipher.is_none() {
            return Err(Error::Incompatible("encryption was asked for, and the server offers none"));
        }
        match response.security_buffer {
            [] => Ok(()),
            // Kerberos alone is `Incompatible`.
            offer => spnego::decode(offer).map(|_| ()),
        }
    }

    /// What the contexts of 3.1.1 agree on: nothing that was not offered.
    fn chosen(
        &self,
        response: &negotiate::Response<'_>,
    ) -> Result<(Option<Cipher>, SigningAlgorithm), Error> {
        if response.preauth_integrity_hash != Some(negotiate::SHA_512) {
            return Err(Error::Misbehaved("no pre-authentication hash was agreed on"));
        }
        let cipher = match response.cipher {
            None | Some(0) => None,
            Some(id) if self.config.ciphers.contains(&id) => Cipher::from_wire(id),
            Some(_) => return Err(Error::Misbehaved("the server chose a cipher that was not offered")),
        };
        let algorithm = match response.signing_algorithm {
            None => SigningAlgorithm::AesCmac,
            Some(id) => SigningAlgorithm::from_wire(id)
                .filter(|_| self.config.signing_algorithms.contains(&id))
                .ok_or(Error::Misbehaved("the server chose a signing algorithm that was not offered"))?,
        };
        Ok((cipher, algorithm))
    }

    fn send_setup(
        &mut self,
        token: &dyn Fn(&mut Writer<'_>) -> Result<(), Error>,
        out: &mut Outbox<'_, '_>,
    ) -> Result<(), Error> {
        let request = session_setup::Request {
            flags: 0,
            security_mode: self.security_mode() as u8,
            capabilities: 0,
            previous_session_id: 0,
        };
        let encode = |w: &mut Writer<'_>| {
            let pending = request.begin(w);
            token(w)?;
            pending.end(w)
        };
        self.must_send(out, &[Member::new(Command::SESSION_SETUP, 0, &encode)])
    }

    fn send_greeting(&mut self, out: &mut Outbox<'_, '_>) -> Result<(), Error> {
        let token = |w: &mut Writer<'_>| {
            spnego::init(w);
            Ok(())
        };
        self.send_setup(&token, out)
    }

    /// The server's challenge is answered, and the keys are known from here on.
    fn send_authentication(&mut self, body: &[u8], out: &mut Outbox<'_, '_>) -> Result<(), Error> {
        let response = session_setup::Response::decode(body)?;
        let spnego::Reply::Response { token: Some(token), .. } = spnego::decode(response.security_buffer)?
        else {
            return Err(Error::Misbehaved("the server sent no challenge"));
        };
        let challenge = ntlm::Challenge::decode(token)?;
        let config = &self.config;
        let (identity, host, filetime) = (config.identity, config.host, config.filetime);
        let entropy = Zeroizing::new(config.entropy.ntlm);
        let session_key = Cell::new(None);
        let encode = |w: &mut Writer<'_>| {
            let token = |w: &mut Writer<'_>| {
                ntlm::authenticate(w, &challenge, &identity, Some(host), &entropy, filetime)
            };
            session_key.set(Some(spnego::response(w, token)?));
            Ok(())
        };
        self.send_setup(&encode, out)?;
        if let Some(key) = session_key.take() {
            self.session.derive(key.bytes());
        }
        Ok(())
    }

    /// MS-SMB2 3.2.5.3.1: who did the server take us for, and was it the server.
    fn accepted(&mut self, body: &[u8]) -> Result<(), Error> {
        let response = session_setup::Response::decode(body)?;
        let flags = response.session_flags;
        self.session.guest = flags & (session_setup::IS_GUEST | session_setup::IS_NULL) != 0;
        if self.session.guest {
            self.guest_is_welcome()?;
            self.session.forget_keys();
        } else if let Identity::Anonymous = self.config.identity {
            // Nobody has no key, whatever the server calls the session.
            self.session.forget_keys();
        } else if self.session.dialect == Some(Dialect::Smb311) && !self.receive.authentic() {
            return Err(Error::Unauthentic("the reply that ends the authentication is not signed"));
        }
        let required = self.session.security_mode & negotiate::SIGNING_REQUIRED != 0;
        let has_keys = self.session.signer.is_some();
        self.session.signs = has_keys && (required || self.config.sign == Policy::Always);
        if self.config.sign == Policy::Always && !has_keys {
            return Err(Error::Incompatible("signing was asked for, and a guest session cannot sign"));
        }
        if flags & session_setup::ENCRYPT_DATA != 0 || self.config.seal == Policy::Always {
            self.seal_from_here()?;
        }
        Ok(())
    }

    fn guest_is_welcome(&self) -> Result<(), Error> {
        match self.config.identity {
            Identity::Guest | Identity::Anonymous => Ok(()),
            Identity::Named { .. } => Err(Error::Refused(Refusal {
                reason: Reason::Authentication,
                code: session_setup::IS_GUEST.into(),
                name: "SMB2_SESSION_FLAG_IS_GUEST",
                during: Command::SESSION_SETUP.name(),
            })),
        }
    }

    fn seal_from_here(&mut self) -> Result<(), Error> {
        if self.session.sealer.is_none() {
            return Err(Error::Incompatible("encryption is demanded, and this dialect or session has none"));
        }
        self.session.seals = true;
        Ok(())
    }

    /// Sends a chain, and TREE_CONNECT in front of it where that is still missing. `Wait`, and TREE_CONNECT alone is
    /// sent, where both together are not possible.
    pub(super) fn enter(
        &mut self,
        out: &mut Outbox<'_, '_>,
        members: &[Member<'_>],
    ) -> Result<Progress, Error> {
        if self.session.standing == Standing::Ready {
            return self.session.send(out, members, Wait::Awaited);
        }
        let request = tree_connect::Request { host: self.config.host, share: self.config.share };
        let encode = |w: &mut Writer<'_>| request.encode(w);
        let mut all = [Member::new(Command::TREE_CONNECT, tree_connect::REPLY_HEAD_MAX, &encode); CHAIN_MAX];
        let len = members.len().saturating_add(1);
        let sent = match all.get_mut(1..len) {
            Some(behind) if self.may_chain() => {
                behind.copy_from_slice(members);
                self.session.send(out, all.get(..len).unwrap_or(&[]), Wait::Awaited)
            }
            _ => Ok(Progress::Wait),
        };
        match sent {
            Ok(Progress::Wait) | Err(Error::Budget { .. }) => self.send_tree_connect(out),
            Ok(progress) => {
                self.session.standing = Standing::Entering;
                Ok(progress)
            }
            error => error,
        }
    }

    /// Whether TREE_CONNECT is sent with others behind it. Not where the proof that nobody changed NEGOTIATE has
    /// to come before anything is believed; and not to ksmbd, which takes it for an error and then says no more.
    fn may_chain(&self) -> bool {
        !self.session.enters_alone && !self.proves_negotiate() && !self.session.is_ksmbd()
    }

    fn send_tree_connect(&mut self, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let request = tree_connect::Request { host: self.config.host, share: self.config.share };
        let encode = |w: &mut Writer<'_>| request.encode(w);
        let reply_max = tree_connect::REPLY_HEAD_MAX;
        let member = Member::new(Command::TREE_CONNECT, reply_max, &encode);
        if self.session.charged == 0 {
            self.must_send(out, &[member])?;
        } else if self.session.send(out, &[member], Wait::Awaited)? != Progress::Sent {
            // What is left in flight of a chain that was refused still brings credits.
            return Ok(Progress::Wait);
        }
        self.session.standing = Standing::Entering;
        Ok(Progress::Wait)
    }

    fn share_is_there(&mut self, body: &[u8]) -> Result<(), Error> {
        let response = tree_connect::Response::decode(body)?;
        if response.share_type != tree_connect::DISK {
            return Err(Error::Incompatible("the share is no disk: it is a printer or a pipe"));
        }
        if response.share_flags & tree_connect::ENCRYPT_DATA != 0 {
            self.seal_from_here()?;
        }
        Ok(())
    }

    /// MS-SMB2 3.2.5.5: whoever offers 3.x and gets less than 3.1.1 asks again, under a signature.
    fn proves_negotiate(&self) -> bool {
        let offered = self.config.dialects.iter().max();
        offered >= Some(Dialect::Smb300)
            && self.session.dialect < Some(Dialect::Smb311)
            && self.session.signer.is_some()
    }

    #[expect(clippy::arithmetic_side_effects, reason = "a sum of constants")]
    fn send_proof(&mut self, out: &mut Outbox<'_, '_>) -> Result<(), Error> {
        let mut input = [0; ValidateNegotiateInfoRequest::LEN_MAX];
        let mut w = Writer::new(&mut input);
        ValidateNegotiateInfoRequest {
            capabilities: self.capabilities(),
            client_guid: self.config.entropy.client_guid,
            security_mode: self.security_mode(),
            dialects: self.config.dialects,
        }
        .encode(&mut w);
        let len = w.finish()?;
        let request = ioctl::Request {
            ctl_code: ioctl::VALIDATE_NEGOTIATE_INFO,
            file_id: FileId::RELATED,
            input: input.get(..len).unwrap_or(&[]),
            max_output_response: ValidateNegotiateInfoResponse::LEN,
        };
        let encode = |w: &mut Writer<'_>| {
            request.encode(w);
            Ok(())
        };
        let reply_max = ioctl::REPLY_HEAD_MAX + ValidateNegotiateInfoResponse::LEN as usize;
        self.must_send(out, &[Member::new(Command::IOCTL, reply_max, &encode)])
    }

    fn proof_came(&mut self, body: &[u8]) -> Result<(), Error> {
        let response = ioctl::Response::decode(body)?;
        let said = ValidateNegotiateInfoResponse::decode(response.output)?;
        let session = &self.session;
        let same = said.capabilities == session.capabilities
            && said.server_guid == session.server_guid
            && said.security_mode == session.security_mode
            && Some(said.dialect) == session.dialect.map(Dialect::revision);
        if same { Ok(()) } else { Err(Error::Unauthentic("somebody changed the negotiation on its way")) }
    }

    /// A server that does not take TREE_CONNECT with others behind it is asked for it alone. One older than 3.0 does not
    /// know the proof and says so, under its signature: then it had nothing better to offer. Any other refusal is the end.
    fn refused_on_the_way(
        &mut self,
        header: &Header,
        len: usize,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Answer<FileId>, Error> {
        let unknown = [
            Status::NOT_SUPPORTED,
            Status::INVALID_DEVICE_REQUEST,
            Status::FILE_CLOSED,
            Status::INVALID_PARAMETER,
        ];
        let session = &mut self.session;
        match (header.command, header.status) {
            // What else is in flight was sent behind it.
            (Command::TREE_CONNECT, status)
                if !session.enters_alone && session.charged > 0 && refuses_chains(status) =>
            {
                session.enters_alone = true;
                session.standing = Standing::Admitted;
                if is_cut_short(header, len) {
                    // The server will not come back to the others.
                    out.inflight().forget();
                    session.charged = 0;
                }
                Ok(Answer::Again)
            }
            (Command::IOCTL, status) if unknown.contains(&status) => {
                session.standing = Standing::Ready;
                Ok(Answer::Nothing)
            }
            _ => Err(Error::Refused(header.status.refusal(header.command))),
        }
    }

    /// While connecting nothing else is in flight, but for what a refused chain left: what cannot be sent now cannot be sent at all.
    fn must_send(&mut self, out: &mut Outbox<'_, '_>, members: &[Member<'_>]) -> Result<(), Error> {
        match self.session.send(out, members, Wait::Awaited)? {
            Progress::Sent => Ok(()),
            Progress::Wait | Progress::Complete | Progress::Connect(_) => {
                Err(Error::Misbehaved("the server grants no credit"))
            }
        }
    }
}
