//! A request: COMPOUND, with the rules of where which operation may stand (RFC 8881 2.10.6, 16.2).

use super::model::Model;
use super::numbers::{op, status};
use super::quirk::Quirk;
use crate::rpc::Call;
use crate::xdr::{Args, Xdr};

const PROGRAM: u32 = 100_003;

/// Why an operation is refused.
pub(super) type Refused = u32;

/// A stateid: its number, and what it is besides.
pub(super) type Stateid = (u32, [u8; 12]);

/// What lasts from one operation to the next.
pub(super) struct Compound {
    pub minor: u32,
    /// Operations in all.
    pub count: u32,
    /// The operation that is looked at, from 0.
    pub at: u32,
    /// Bytes of the call.
    pub call_len: usize,
    /// Bytes of the reply so far.
    reply_len: usize,
    /// Which session it is in.
    pub session: Option<[u8; 16]>,
    /// The longest reply.
    pub response_len_max: usize,
    /// The path of the current file.
    pub file: Option<String>,
    /// The current stateid.
    pub stateid: Option<Stateid>,
}

impl Compound {
    fn new(minor: u32, count: u32, call_len: usize, reply_len: usize) -> Compound {
        let response_len_max = usize::MAX;
        let (session, file, stateid) = (None, None, None);
        Compound { minor, count, at: 0, call_len, reply_len, session, response_len_max, file, stateid }
    }
}

/// A result: the operation, how it went, and what follows.
type Done = (u32, u32, Xdr);

impl Model {
    pub(super) fn call(&mut self, call: Call) {
        if self.shows(Quirk::Restarts) {
            self.restart();
        }
        if !call.known {
            return self.rpc.reply(call, (PROGRAM, 0), Xdr::default());
        }
        assert_eq!((call.program, call.version, call.procedure), (PROGRAM, 4, 1), "all is COMPOUND");
        let args = call.args.clone();
        let mut args = Args(&args);
        let tag = args.opaque().to_vec();
        let (minor, count) = (args.word(), args.word());
        let (status, results) = match self.config.minors.contains(&minor) {
            true => {
                let reply_len = self.rpc.head(0, true).bytes.len() + 12 + tag.len().next_multiple_of(4);
                let compound = Compound::new(minor, count, call.len, reply_len);
                self.operations(compound, &mut args)
            }
            false => {
                let said = self.quirk(|quirk| match quirk {
                    Quirk::MismatchSaid(status) => Some(status),
                    _ => None,
                });
                self.compounds.push(Vec::new());
                (said.unwrap_or(status::MINOR_VERS_MISMATCH), Vec::new())
            }
        };
        let last = results.last().map_or(0, |(op, ..)| *op);
        let body = self.body(status, &tag, results);
        let xid_off = u32::from(self.shows(Quirk::OtherXid)) << 16;
        self.rpc.reply(Call { xid: call.xid ^ xid_off, ..call }, (PROGRAM, last), body);
    }

    /// `COMPOUND4res`.
    fn body(&mut self, status: u32, tag: &[u8], mut results: Vec<Done>) -> Xdr {
        if status == status::OK && self.shows(Quirk::ResultMissing) {
            results.pop();
        }
        if status == status::OK && self.shows(Quirk::ResultMore) {
            results.push((op::PUTROOTFH, status::OK, Xdr::default()));
        }
        let others = self.quirks(|quirk| match quirk {
            Quirk::OtherOperation(at) if at < results.len() => Some(at),
            _ => None,
        });
        others.into_iter().for_each(|at| results[at].0 ^= 1);
        let mut x = Xdr::padded(self.config.rpc.padding);
        x.word(status).opaque(tag).word(results.len() as u32);
        for (op, status, body) in results {
            x.word(op).word(status).append(body);
        }
        x
    }

    /// Runs operations up to the first that is refused.
    fn operations(&mut self, mut compound: Compound, args: &mut Args<'_>) -> (u32, Vec<Done>) {
        let (mut results, mut ops, mut last) = (Vec::new(), Vec::new(), status::OK);
        while compound.at < compound.count && last == status::OK {
            let op = args.word();
            ops.push(op);
            let mut body = Xdr::padded(self.config.rpc.padding);
            let mut outcome = self.operation(op, &mut compound, args, &mut body);
            compound.reply_len += 8 + body.bytes.len();
            if outcome.is_ok() && compound.reply_len > compound.response_len_max {
                outcome = Err(status::REP_TOO_BIG);
            }
            if let Err(status) = outcome {
                (last, body) = (status, Xdr::default());
            }
            results.push((if last == status::OP_ILLEGAL { op::ILLEGAL } else { op }, last, body));
            compound.at += 1;
        }
        assert!(last != status::OK || args.0.is_empty(), "arguments are as long as they should be");
        self.compounds.push(ops);
        (last, results)
    }

    fn operation(
        &mut self,
        op: u32,
        compound: &mut Compound,
        args: &mut Args<'_>,
        x: &mut Xdr,
    ) -> Result<(), Refused> {
        may_stand(op, compound)?;
        let refused = self.quirk(|quirk| match quirk {
            Quirk::Refuses(refused, status) if refused == op => Some(status),
            _ => None,
        });
        refused.map_or(Ok(()), Err)?;
        match op {
            op::SETCLIENTID => self.setclientid(args, x),
            op::SETCLIENTID_CONFIRM => self.setclientid_confirm(args),
            op::RENEW => self.renew(args),
            op::EXCHANGE_ID => self.exchange_id(args, x),
            op::CREATE_SESSION => self.create_session(args, x),
            op::SEQUENCE => self.sequence(compound, args, x),
            op::RECLAIM_COMPLETE => self.reclaim_complete(compound, args),
            op::DESTROY_SESSION => self.destroy_session(args),
            op::DESTROY_CLIENTID => self.destroy_clientid(args),
            op::OPEN => self.open(compound, args, x),
            op::OPEN_CONFIRM => self.open_confirm(compound, args, x),
            op::CLOSE => self.close(compound, args, x),
            op::READ => self.read(compound, args, x),
            op::READ_PLUS => self.read_plus(compound, args, x),
            op::SEEK => self.seek(compound, args, x),
            _ => self.look(op, compound, args, x),
        }
    }
}

/// Whether there is such an operation, and whether it may stand at this place.
fn may_stand(op: u32, compound: &Compound) -> Result<(), Refused> {
    let alone = [op::EXCHANGE_ID, op::CREATE_SESSION, op::DESTROY_SESSION, op::DESTROY_CLIENTID];
    let since = match op {
        op::READ_PLUS | op::SEEK => 2,
        op::SEQUENCE | op::RECLAIM_COMPLETE => 1,
        op if alone.contains(&op) => 1,
        _ => 0,
    };
    if compound.minor < since {
        return Err(status::OP_ILLEGAL);
    }
    if compound.minor == 0 {
        return Ok(());
    }
    match op {
        // What sessions have done away with.
        op::SETCLIENTID | op::SETCLIENTID_CONFIRM | op::RENEW | op::OPEN_CONFIRM => Err(status::NOTSUPP),
        op::SEQUENCE if compound.at > 0 => Err(status::SEQUENCE_POS),
        op::SEQUENCE => Ok(()),
        _ if compound.session.is_some() => Ok(()),
        op if !alone.contains(&op) => Err(status::OP_NOT_IN_SESSION),
        _ if compound.count > 1 => Err(status::NOT_ONLY_OP),
        _ => Ok(()),
    }
}
