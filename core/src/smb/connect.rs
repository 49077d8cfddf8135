//! From the first message to a usable share: NEGOTIATE, SESSION_SETUP twice, TREE_CONNECT, and the proof that nobody
//! changed NEGOTIATE on the way. Each reply sends the next request, so the steps stand here in their order.

use super::calls::{Phase, Stage};
use super::chain::{Member, Reply as Wait};
use super::create::FileId;
use super::header::{Command, Header};
use super::ioctl::{self, ValidateNegotiateInfoRequest, ValidateNegotiateInfoResponse};
use super::negotiate::{self, Dialect};
use super::seal::Cipher;
use super::sign::SigningAlgorithm;
use super::status::Status;
use super::{Identity, Policy, Smb, ntlm, session_setup, spnego, tree_connect};
use crate::error::{Error, Reason, Refusal};
use crate::outgoing::Outbox;
use crate::protocol::Progress;
use crate::wire::Writer;
use core::cell::Cell;
use zeroize::Zeroizing;

impl Smb<'_> {
    fn security_mode(&self) -> u16 {
        match self.config.sign {
            Policy::Always => negotiate::SIGNING_ENABLED | negotiate::SIGNING_REQUIRED,
            Policy::IfNeeded => negotiate::SIGNING_ENABLED,
        }
    }

    fn capabilities(&self) -> u32 {
        // MS-SMB2 3.2.4.2.2.2: without CAP_ENCRYPTION Samba answers no cipher, even at 3.1.1.
        let most = self.config.dialects.iter().max();
        if most >= Some(Dialect::Smb300) { negotiate::CAP_LARGE_MTU | negotiate::CAP_ENCRYPTION } else { 0 }
    }

    /// The first request.
    pub(super) fn send_negotiate(&mut self, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
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
        self.session.send(out, &[Member::new(Command::NEGOTIATE, 0, &encode)], Wait::Awaited)
    }

    /// A reply on the way; `body` is what follows its header in `message`.
    pub(super) fn connect_goes_on(
        &mut self,
        header: &Header,
        message: &[u8],
        body: &[u8],
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
    ) -> Result<(), Error> {
        let more = header.status == Status::MORE_PROCESSING_REQUIRED;
        if !(header.status == Status::SUCCESS || more && stage.phase == Phase::Greeted) {
            return self.refused_on_the_way(header, stage, out);
        }
        if header.command == Command::NEGOTIATE || more {
            self.session.preauth.update(message);
        }
        match (header.command, stage.phase) {
            (Command::NEGOTIATE, Phase::Asked) => {
                self.negotiated(body)?;
                stage.phase = Phase::Greeted;
                self.send_greeting(out)
            }
            (Command::SESSION_SETUP, Phase::Greeted) if more => {
                self.session.session_id = header.session_id;
                stage.phase = Phase::Authenticated;
                self.send_authentication(body, out)
            }
            (Command::SESSION_SETUP, Phase::Authenticated) => {
                self.accepted(body)?;
                stage.phase = Phase::Admitted;
                self.send_tree_connect(out)
            }
            (Command::TREE_CONNECT, Phase::Admitted) => {
                self.session.tree_id = header.tree_id;
                self.share_is_there(body)?;
                stage.phase = Phase::Ended;
                if self.proves_negotiate() { self.send_proof(out) } else { self.is_ready() }
            }
            (Command::IOCTL, Phase::Ended) => {
                self.proof_came(body)?;
                self.is_ready()
            }
            _ => Err(Error::Misbehaved("the steps of a connection came out of order")),
        }
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

    fn send_tree_connect(&mut self, out: &mut Outbox<'_, '_>) -> Result<(), Error> {
        let request = tree_connect::Request { host: self.config.host, share: self.config.share };
        let encode = |w: &mut Writer<'_>| request.encode(w);
        let reply_max = tree_connect::REPLY_HEAD_MAX;
        self.must_send(out, &[Member::new(Command::TREE_CONNECT, reply_max, &encode)])
    }

    fn share_is_there(&mut self, body: &[u8]) -> Result<(), Error> {
        let response = tree_connect::Response::decode(body)?;
        let signed = self.session.signs || self.session.dialect == Some(Dialect::Smb311);
        if signed && self.session.signer.is_some() && !self.receive.authentic() {
            return Err(Error::Unauthentic("the reply to TREE_CONNECT is not signed"));
        }
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
        self.proof_is_authentic()?;
        let response = ioctl::Response::decode(body)?;
        let said = ValidateNegotiateInfoResponse::decode(response.output)?;
        let session = &self.session;
        let same = said.capabilities == session.capabilities
            && said.server_guid == session.server_guid
            && said.security_mode == session.security_mode
            && Some(said.dialect) == session.dialect.map(Dialect::revision);
        if same { Ok(()) } else { Err(Error::Unauthentic("somebody changed the negotiation on its way")) }
    }

    fn proof_is_authentic(&self) -> Result<(), Error> {
        if self.receive.authentic() {
            return Ok(());
        }
        Err(Error::Unauthentic("the reply to VALIDATE_NEGOTIATE_INFO is not signed"))
    }

    /// A server older than 3.0 does not know the proof and says so, under its signature: then it had nothing
    /// better to offer. Any other refusal ends the connection.
    fn refused_on_the_way(
        &mut self,
        header: &Header,
        stage: &mut Stage,
        _: &mut Outbox<'_, '_>,
    ) -> Result<(), Error> {
        let unknown = [
            Status::NOT_SUPPORTED,
            Status::INVALID_DEVICE_REQUEST,
            Status::FILE_CLOSED,
            Status::INVALID_PARAMETER,
        ];
        if header.command == Command::IOCTL && unknown.contains(&header.status) {
            self.proof_is_authentic()?;
            return self.is_ready();
        }
        stage.phase = Phase::Ended;
        Err(Error::Refused(header.status.refusal(header.command)))
    }

    fn is_ready(&mut self) -> Result<(), Error> {
        self.session.ready = true;
        Ok(())
    }

    /// While connecting nothing else is in flight: what cannot be sent now cannot be sent at all.
    fn must_send(&mut self, out: &mut Outbox<'_, '_>, members: &[Member<'_>]) -> Result<(), Error> {
        match self.session.send(out, members, Wait::Awaited)? {
            Progress::Sent => Ok(()),
            Progress::Wait | Progress::Complete | Progress::Connect(_) => {
                Err(Error::Misbehaved("the server grants no credit"))
            }
        }
    }
}
