//! A listing: QUERY_DIRECTORY, as often as it takes.

use super::calls::{Phase, Stage, create_member};
use super::chain::{Member, Reply as Wait};
use super::create::{self, FileId};
use super::header::{self, Command};
use super::session::{CREDIT_LEN, Standing};
use super::{Smb, query_directory, tree_connect};
use crate::error::Error;
use crate::outgoing::Outbox;
use crate::protocol::Progress;
use crate::wire::Writer;

/// The shortest output buffer that holds any entry: its fixed part and a name of 255 units.
const LISTING_LEN_MIN: usize = query_directory::NAME_AT + 2 * 255;

/// The longest that we ask for: more saves no round trip worth the memory.
const LISTING_LEN_MAX: usize = 1 << 20;

impl<const KEPT: usize> Smb<'_, KEPT> {
    /// CREATE and QUERY_DIRECTORY together, then QUERY_DIRECTORY until there are no more. The next one is asked for before the
    /// entries of the last are looked at, and one at a time: ksmbd answers two side by side with the same entries.
    pub(super) fn list(
        &mut self,
        stage: &mut Stage,
        out: &mut Outbox<'_, '_>,
        path: &str,
    ) -> Result<Progress, Error> {
        let open = |w: &mut Writer<'_>| create::Request::directory(path).encode(w);
        let handle = match (stage.phase, stage.handle) {
            (Phase::Start, _) if self.opens_alone(2) => {
                return self.once(stage, out, Phase::Alone, &[create_member(&open)]);
            }
            (Phase::Start, _) => FileId::RELATED,
            (Phase::Alone, Some(handle)) if out.in_flight() == 0 => handle,
            (Phase::More, Some(handle)) => handle,
            _ => return self.tidy(stage, out),
        };
        let first = stage.phase == Phase::Start;
        let output_max = self.listing_len(out, first)?;
        let request =
            query_directory::Request { file_id: handle, flags: 0, output_buffer_length: output_max as u32 };
        let ask = |w: &mut Writer<'_>| {
            request.encode(w);
            Ok(())
        };
        let reply_max = query_directory::REPLY_HEAD_MAX.saturating_add(output_max);
        let charge = self.session.charge(output_max as u32);
        let query = Member { charge, ..Member::new(Command::QUERY_DIRECTORY, reply_max, &ask) };
        let progress = if first {
            self.begin(stage, out, &[create_member(&open), query])?
        } else {
            self.session.send(out, &[query], Wait::Awaited)?
        };
        if progress == Progress::Sent {
            stage.phase = Phase::Asked;
        }
        Ok(progress)
    }

    /// As much as `rx`, the server and the credits allow.
    fn listing_len(&self, out: &Outbox<'_, '_>, with_create: bool) -> Result<usize, Error> {
        let head = |body: usize| header::LEN.saturating_add(body).saturating_add(8);
        let enters = with_create && self.session.standing != Standing::Ready;
        let tree = if enters { head(tree_connect::REPLY_HEAD_MAX) } else { 0 };
        let create = if with_create { head(create::REPLY_HEAD_MAX) } else { 0 };
        let taken = tree.saturating_add(create).saturating_add(head(query_directory::REPLY_HEAD_MAX));
        let room = out.lent().reply.saturating_sub(taken);
        if room < LISTING_LEN_MIN {
            let need = out.lent().reply.saturating_add(LISTING_LEN_MIN.saturating_sub(room));
            return Err(Error::Budget { what: "rx", need, have: out.lent().reply });
        }
        let before = u32::from(with_create).saturating_add(enters.into());
        let credits = self.session.credits.saturating_sub(before).max(1);
        let credits = if self.session.large_mtu() { credits } else { 1 };
        let paid = (credits as usize).saturating_mul(CREDIT_LEN as usize);
        let transact_len_max = (self.session.transact_len_max as usize).max(LISTING_LEN_MIN);
        Ok(room.min(paid).min(transact_len_max).min(LISTING_LEN_MAX))
    }
}
