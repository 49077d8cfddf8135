//! SESSION_SETUP (MS-SMB2 2.2.5, 2.2.6, 3.3.5.5).

use crate::connection::{Answer, Chain, Connection, Handled};
use crate::header::{self, Request};
use crate::kdf;
use crate::ntlm::{self, Exchange, Identity};
use crate::session::{Authentication, Session};
use crate::spnego::{self, Token};
use crate::wire::Put;
use crate::{Lie, Sealing, Status};

const BINDING: u8 = 1;
const SIGNING_REQUIRED: u8 = 2;

const IS_GUEST: u16 = 1;
const IS_NULL: u16 = 2;
const ENCRYPT_DATA: u16 = 4;

impl Connection {
    pub(crate) fn session_setup(&mut self, chain: &mut Chain, request: &Request) -> Handled {
        let mut body = request.body();
        body.structure_size(25)?;
        let (flags, security_mode) = (body.u8()?, body.u8()?);
        body.skip(8)?;
        let (offset, len) = (body.u16()?, body.u16()?);
        let previous = body.u64()?;
        let buffer = body.slice(offset.into(), len.into())?;
        if flags & BINDING != 0 {
            return Err(Status::NOT_SUPPORTED);
        }
        let mut session = match chain.session_id {
            0 => Session::default(),
            id => self.sessions.remove(&id).ok_or(Status::USER_SESSION_DELETED)?,
        };
        if chain.session_id == 0 {
            chain.session_id = self.entropy.draw_u64() | 1;
        }
        session.signing_required |= self.config.signing_required || security_mode & SIGNING_REQUIRED != 0;
        let handled = self.authenticate(&mut session, request, buffer);
        if handled.is_ok() || session.valid {
            self.sessions.insert(chain.session_id, session);
        }
        if handled.as_ref().is_ok_and(|answer| answer.status == Status::SUCCESS)
            && previous != chain.session_id
        {
            self.end_session(previous);
        }
        handled
    }

    /// One step of the exchange: a first token starts it, a second one ends it.
    fn authenticate(&mut self, session: &mut Session, request: &Request, buffer: &[u8]) -> Handled {
        let bare = ntlm::is_ntlm(buffer);
        let token = match bare {
            true => Token { token: buffer, ..Token::default() },
            false => spnego::decode(buffer).ok_or(Status::INVALID_PARAMETER)?,
        };
        match session.authentication.take() {
            None => {
                let authentication = self.begin(request, &token)?;
                let challenge = &authentication.exchange.challenge;
                let reply = match bare {
                    true => challenge.clone(),
                    false => spnego::response(spnego::ACCEPT_INCOMPLETE, challenge, None),
                };
                session.authentication = Some(authentication);
                Ok(Answer { status: Status::MORE_PROCESSING_REQUIRED, body: encode(0, &reply) })
            }
            Some(mut authentication) => {
                authentication.preauth.update(request.message);
                let (flags, mic) = self.finish(session, &authentication, &token)?;
                let reply = match bare {
                    true => Vec::new(),
                    false => {
                        spnego::response(spnego::ACCEPT_COMPLETED, &[], mic.as_ref().map(|mic| &mic[..]))
                    }
                };
                let status = match self.lies(Lie::ChallengesForEver) {
                    true => Status::MORE_PROCESSING_REQUIRED,
                    false => Status::SUCCESS,
                };
                Ok(Answer { status, body: encode(flags, &reply) })
            }
        }
    }

    fn begin(&mut self, request: &Request, token: &Token) -> Result<Authentication, Status> {
        let mut info = ntlm::target_info(&self.config.server_name, self.config.now);
        let timestamp_len = info.len() - 4 - 8 - 2;
        if self.lies(Lie::AvPairsBeyond) {
            info[timestamp_len..][..2].copy_from_slice(&0x1000u16.to_le_bytes());
        }
        if self.lies(Lie::AvPairsTooMany) {
            info = [[9, 0, 0, 0].repeat(100), info].concat();
        }
        if self.lies(Lie::AvPairsNeverEnd) {
            info.truncate(info.len() - 4);
        }
        let challenge = self.entropy.draw_u64().to_le_bytes();
        let key = if self.lies(Lie::NoKeyExchange) { 0 } else { ntlm::KEY_EXCH };
        let mut exchange = Exchange::begin(token.token, challenge, &self.config.server_name, &info, key)?;
        if self.lies(Lie::AvPairsOverlap) {
            exchange.challenge[ntlm::TARGET_INFO_OFFSET].copy_from_slice(&[0; 4]);
        }
        let negotiated = self.negotiated.as_ref().ok_or(Status::INVALID_PARAMETER)?;
        let mut preauth = negotiated.preauth.clone();
        preauth.update(request.message);
        Ok(Authentication { exchange, preauth, mech_types: token.mech_types.to_vec() })
    }

    /// SessionFlags, and the MIC that answers the client's.
    fn finish(
        &mut self,
        session: &mut Session,
        authentication: &Authentication,
        token: &Token,
    ) -> Result<(u16, Option<[u8; 16]>), Status> {
        let identity =
            authentication.exchange.finish(token.token, &self.config.user, &self.config.password)?;
        let (flags, mic) = match identity {
            Identity::User { key, flags, mic } => {
                self.account.mic_verified = mic;
                let answer = answer_mic(&key, flags, authentication, token)?;
                self.derive(session, &key, authentication);
                let guest = if self.lies(Lie::GuestFlag) { IS_GUEST } else { 0 };
                let null = if self.lies(Lie::NullFlag) { IS_NULL } else { 0 };
                (guest | null, answer)
            }
            Identity::Stranger if self.config.guest => (IS_GUEST, None),
            Identity::Anonymous if self.config.anonymous => (IS_NULL, None),
            Identity::Stranger | Identity::Anonymous => return Err(Status::LOGON_FAILURE),
        };
        let can_seal = session.keys.is_some() && self.negotiated.as_ref().is_some_and(|n| n.cipher.is_some());
        let must_seal = self.config.sealing == Sealing::Session;
        if must_seal && !can_seal {
            return Err(Status::ACCESS_DENIED);
        }
        session.valid = true;
        session.expired = false;
        Ok((if must_seal { flags | ENCRYPT_DATA } else { flags }, mic))
    }

    /// Keys live as long as the session: authenticating again does not change them.
    fn derive(&self, session: &mut Session, key: &[u8; 16], authentication: &Authentication) {
        let Some(negotiated) = &self.negotiated else { return };
        if !session.valid {
            session.keys =
                Some(kdf::keys(negotiated.dialect, negotiated.cipher, key, &authentication.preauth.0));
        }
    }

    /// Forgets a session, its trees and its handles.
    pub(crate) fn end_session(&mut self, id: u64) {
        self.sessions.remove(&id);
        self.opens.retain(|_, open| open.session_id != id);
    }
}

/// Checks the client's MIC over the list of mechanisms, if it sent one, and makes the server's.
fn answer_mic(
    key: &[u8; 16],
    flags: u32,
    authentication: &Authentication,
    token: &Token,
) -> Result<Option<[u8; 16]>, Status> {
    let mech_types = &authentication.mech_types;
    let Some(theirs) = token.mic.filter(|_| ntlm::signs(flags)) else { return Ok(None) };
    if theirs != ntlm::mech_list_mic(key, flags, false, mech_types) {
        return Err(Status::LOGON_FAILURE);
    }
    Ok(Some(ntlm::mech_list_mic(key, flags, true, mech_types)))
}

fn encode(flags: u16, buffer: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    body.u16(9);
    body.u16(flags);
    body.u16(header::LEN as u16 + 8);
    body.u16(buffer.len() as u16);
    body.put(buffer);
    body
}
