//! The only state machine: three calls, and the time as the caller tells it.

mod incoming;

use crate::compound::Cost;
use crate::counters::Counters;
use crate::error::Error;
use crate::frame::Frame;
use crate::inflight::{Inflight, Landed, Slot, Ticket};
use crate::limits;
use crate::operation::{Arrival, Item, Job, Operation};
use crate::outgoing::Outgoing;
use crate::pauses::Pauses;
use crate::plan;
use crate::protocol::{Answer, Link, Progress, Protocol, Reply};
use crate::storage::Storage;
use crate::time::Millis;

/// What the caller does next.
#[derive(Debug)]
pub enum Step<'a, I, O> {
    /// Send some of these bytes (never empty) and say how many with [`Client::transmitted`].
    Transmit(&'a [u8]),
    /// Receive into this window (never empty) and say how many bytes came with [`Client::received`].
    Receive(&'a mut [u8]),
    /// Connect to this port of the server, in place of the connection there is (close that), and say
    /// [`Client::connected`].
    Connect(u16),
    /// Step again at this time, and not before: the server asked for a pause, and nothing is in flight.
    Wait(Millis),
    /// Look at this item, which is lent until the next step.
    Item(I),
    /// The operation has ended. Its next step, if one is made, gives the same again.
    Done(Result<O, Error>),
}

/// A [`Step`] that lends nothing yet, so that it is the same for every kind of operation.
pub(crate) enum Turn {
    /// What is [`unsent`](Client::unsent).
    Transmit,
    /// Into the [`window`](Client::window).
    Receive,
    Connect(u16),
    Wait(Millis),
    Item,
    Done,
}

/// A connection to a server, over memory that the caller lends.
///
/// One operation at a time: the one that made its first step last. To step an older one again is `Invalid`.
#[derive(Debug)]
pub struct Client<'s, P: Protocol> {
    out: Outgoing<'s>,
    rx: &'s mut [u8],
    /// `rx[..filled]` holds the heads of the frame.
    filled: usize,
    frame: Frame,
    /// What was wrong with a part of the frame; told at its end, where a failed check of the whole frame has precedence.
    poison: Option<Error>,
    notice: Option<(usize, usize)>,
    /// Frames since the last final reply to the operation.
    idle_frames: u32,
    ticket: Ticket,
    timeout_ms: u32,
    deadline: Millis,
    progress: u32,
    /// The last step was to transmit or to receive: only then does the server's time run.
    waits: bool,
    /// A notice has come since the last that was progress without a doubt.
    noticed: bool,
    failed: Option<Error>,
    protocol: P,
}

impl<'s, P: Protocol> Client<'s, P> {
    /// Takes the lent memory into use. `Budget` if it is less than [`Protocol::need`].
    pub fn new(storage: Storage<'s>, protocol: P) -> Result<Self, Error> {
        let need = protocol.need();
        if let Some((what, need, have)) = need.exceeds(&storage.budget()) {
            return Err(Error::Budget { what, need, have });
        }
        Ok(Client {
            out: Outgoing {
                tx: storage.tx,
                sent: 0,
                encoded: 0,
                inflight: Inflight::new(storage.slots),
                counters: Counters::default(),
                reply_len_max: storage.rx.len().saturating_sub(limits::SCRATCH_LEN),
                now: Millis(0),
                pauses: Pauses::new(),
                read_len_max: u32::MAX,
            },
            rx: storage.rx,
            filled: 0,
            frame: Frame::new(),
            poison: None,
            notice: None,
            idle_frames: 0,
            ticket: Ticket::NOBODY,
            timeout_ms: limits::TIMEOUT_MS,
            deadline: Millis(0),
            progress: 0,
            waits: false,
            noticed: false,
            failed: None,
            protocol,
        })
    }

    /// Begins anew over another connection, in the same memory and with the same time-outs; the counters go on. What was in flight is
    /// forgotten, and an operation that was begun before is `Invalid` from now on: its pages are unspecified where it had not lent them.
    ///
    /// `protocol` is a fresh one, since neither keys nor sessions nor handles outlive a connection. To go on with a file, open it
    /// again, see by [`Attributes::change_since`](crate::Attributes::change_since) that it is the same one, and read on from where the
    /// last item ended. `Budget` if what was lent is less than `protocol` needs; then nothing has changed.
    pub fn restart(&mut self, protocol: P) -> Result<(), Error> {
        if let Some((what, need, have)) = protocol.need().exceeds(&self.lent()) {
            return Err(Error::Budget { what, need, have });
        }
        self.ticket = self.ticket.next().ok_or(Error::Invalid("no tickets are left"))?;
        self.connected();
        (self.out.sent, self.out.encoded, self.idle_frames) = (0, 0, 0);
        (self.poison, self.notice, self.failed, self.waits) = (None, None, None, false);
        self.protocol = protocol;
        Ok(())
    }

    /// How long the server may make no progress while something is awaited.
    pub fn set_timeout_ms(&mut self, timeout_ms: u32) {
        self.timeout_ms = timeout_ms;
        self.renew();
    }

    /// How many pauses in a row an operation makes where the server asks to be asked later, instead of
    /// [`PAUSES_MAX`](limits::PAUSES_MAX). With 0 what the server says is the end of the operation.
    pub fn set_pauses_max(&mut self, count: u32) {
        self.out.pauses.max = count;
    }

    /// No read is asked for that is longer, in bytes, however much the server permits and the pages hold: a server may be slow to answer a
    /// long one, and what comes of many short ones stays in a processor's cache. Not 0, which would be none at all.
    pub fn set_read_len_max(&mut self, len: u32) {
        self.out.read_len_max = len.max(1);
    }

    /// How long the reads of a stream or a file are that is read through pages of so many bytes in all; 0 before there is a connection.
    pub fn request_len(&self, window: u64) -> u32 {
        plan::request_len(window, self.out.inflight.len(), &self.out.bound(self.protocol.limits()))
    }

    /// What the connection has cost so far.
    pub fn counters(&self) -> &Counters {
        &self.out.counters
    }

    /// The protocol's own state.
    pub fn protocol(&self) -> &P {
        &self.protocol
    }

    /// Why the connection is of no more use, if so.
    pub fn failed(&self) -> Option<Error> {
        self.failed
    }

    /// After an operation on `path` was refused with [`Reason::Symlink`](crate::Reason::Symlink), and before the next step:
    /// which link it ran into. `None` if the server did not say.
    pub fn link(&self, path: &str) -> Option<Link<'_>> {
        self.protocol.link(self.rx.get(..self.filled)?, path).ok()
    }

    /// What was kept of the last frame, for what only one protocol has to say: after an operation was refused, and before the
    /// next step. Empty if a frame has begun.
    pub fn frame(&self) -> &[u8] {
        let whole = if self.frame.begun() { 0 } else { self.filled };
        self.rx.get(..whole).unwrap_or(&[])
    }

    /// Tells the time. If the deadline has passed the next step of the same operation is `Done(Err(TimedOut))`.
    pub fn tell(&mut self, now: Millis) {
        self.out.now = self.out.now.max(now);
    }

    /// When the server will have been silent for too long; `None` unless the last step was to transmit or to receive.
    pub fn deadline(&self) -> Option<Millis> {
        (self.waits && self.failed.is_none()).then_some(self.deadline)
    }

    /// When to step again if nothing comes before: at the end of a pause, or at the deadline.
    pub fn wakes(&self) -> Option<Millis> {
        let pause = self.out.pauses.until(self.out.now);
        pause.into_iter().chain(self.deadline()).min()
    }

    /// What was lent, as budgets.
    pub fn lent(&self) -> Cost {
        Cost { tx: self.out.tx.len(), slots: self.out.inflight.len(), reply: self.rx.len(), allowance: 0 }
    }

    /// What is to be done next for `op`. With nothing to do it is `Done`.
    pub fn step<'a, O: Operation<P>>(&'a mut self, op: &'a mut O) -> Step<'a, Item<'a, P, O>, O::Output> {
        match self.turn(op.job()) {
            Ok(Turn::Transmit) => Step::Transmit(self.unsent()),
            Ok(Turn::Receive) => Step::Receive(self.window(op.job())),
            Ok(Turn::Connect(port)) => Step::Connect(port),
            Ok(Turn::Wait(until)) => Step::Wait(until),
            Ok(Turn::Item) => Step::Item(self.item(op)),
            Ok(Turn::Done) => Step::Done(op.output()),
            Err(error) => Step::Done(Err(error)),
        }
    }

    /// The bytes to transmit.
    pub(crate) fn unsent(&self) -> &[u8] {
        self.out.unsent()
    }

    /// The item of `op` that is ready.
    pub(crate) fn item<'a, O: Operation<P>>(&'a self, op: &'a mut O) -> Item<'a, P, O> {
        op.item(self.rx)
    }

    /// `len` bytes of what the last step gave to transmit were handed to the transport. 0 is allowed.
    pub fn transmitted(&mut self, len: usize) {
        if self.out.transmitted(len) > 0 {
            self.stir();
        }
    }

    /// The connection that the last step asked for is there. What was in flight on the one before is forgotten.
    pub fn connected(&mut self) {
        self.frame = Frame::new();
        self.filled = 0;
        self.out.inflight.forget();
    }

    /// The transport says that the connection is gone. The next step is `Done(Err(Closed))`. Where there is an operation,
    /// [`received`](Self::received) of nothing is the same, and wipes what came into its pages and was not verified.
    pub fn closed(&mut self) {
        self.fail(Error::Closed);
    }

    /// `len` bytes came into the window of the last step, which was made for the same `op`. 0 says that the
    /// peer has closed the connection. What is wrong with them is told by the next step.
    pub fn received<O: Operation<P>>(&mut self, op: &mut O, len: usize) {
        self.came(op.job(), len);
    }

    /// [`received`](Self::received), for any kind of operation.
    pub(crate) fn came(&mut self, job: &mut dyn Job<P>, len: usize) {
        if self.failed.is_some() {
            return;
        }
        if !job.ticket().is_of(self.ticket) {
            return self.fail(Error::Invalid("received for another operation than the last step was for"));
        }
        let outcome = match len {
            0 => Err(Error::Closed),
            _ if len > self.window(job).len() => {
                Err(Error::Invalid("more was received than the last step gave a window for"))
            }
            _ => {
                self.out.counters.bytes_received = self.out.counters.bytes_received.wrapping_add(len as u64);
                self.arrived(job, len)
            }
        };
        if let Err(error) = outcome {
            self.fail_and_wipe(job, error);
        }
    }

    /// What is in flight did not come as a whole: nothing of it stays.
    fn fail_and_wipe(&mut self, job: &mut dyn Job<P>, error: Error) {
        self.fail(error);
        for slot in self.out.inflight.all_of(self.ticket) {
            job.wipe(slot, slot.extent);
        }
    }

    fn fail(&mut self, error: Error) {
        self.failed.get_or_insert(error);
    }

    /// Something has gone or come. That is progress, unless it is a notice, or may be for one: what answers it, and what
    /// the server says to that.
    fn stir(&mut self) {
        self.progress = 0;
        if !self.noticed {
            self.renew();
        }
    }

    // Not inlined, as it is short and called in many places.
    #[inline(never)]
    fn renew(&mut self) {
        (self.progress, self.noticed) = (0, false);
        self.deadline = self.out.now.after(self.timeout_ms);
    }

    /// What is to be done next for `job`.
    pub(crate) fn turn(&mut self, job: &mut dyn Job<P>) -> Result<Turn, Error> {
        let turn = self.next_turn(job);
        self.waits = matches!(turn, Ok(Turn::Transmit | Turn::Receive));
        turn
    }

    fn next_turn(&mut self, job: &mut dyn Job<P>) -> Result<Turn, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.adopt(job)?;
        if !self.waits {
            self.renew();
        } else if self.deadline <= self.out.now {
            self.fail_and_wipe(job, Error::TimedOut);
            return Err(Error::TimedOut);
        }
        if !self.unsent().is_empty() {
            return Ok(Turn::Transmit);
        }
        if self.frame.begun() {
            return Ok(Turn::Receive);
        }
        let turn = self.settle(job);
        if let Err(error) = turn {
            if error.is_fatal() {
                self.fail(error);
            }
        }
        turn
    }

    /// Gives a new operation its ticket; everything older is forgotten with it.
    fn adopt(&mut self, job: &mut dyn Job<P>) -> Result<(), Error> {
        let ticket = job.ticket();
        if *ticket == Ticket::NOBODY {
            self.ticket = self.ticket.next().ok_or(Error::Invalid("no tickets are left"))?;
            *ticket = self.ticket;
            (self.waits, self.idle_frames) = (false, 0);
            self.out.inflight.forget_all_but(self.ticket);
            self.out.pauses.restart();
        }
        if ticket.is_of(self.ticket) {
            Ok(())
        } else {
            Err(Error::Invalid("another operation was begun since"))
        }
    }

    /// Between two frames: dispatches what has landed, encodes what can be sent, lends what is ready.
    // Not inlined, so that what it has on the stack is not in the way of receiving.
    #[inline(never)]
    fn settle(&mut self, job: &mut dyn Job<P>) -> Result<Turn, Error> {
        job.release();
        loop {
            self.dispatch(job)?;
            let pause = self.out.pauses.runs(self.out.now);
            let polled = if pause.is_some() { Ok(Progress::Wait) } else { self.poll(job) };
            // What was encoded before something failed is sent first: the failure comes again, and then stays.
            if !self.unsent().is_empty() {
                return Ok(Turn::Transmit);
            }
            let progress = polled?;
            if job.prepare(&self.protocol, self.rx)? {
                return Ok(Turn::Item);
            }
            // Each turn takes at least one landed reply.
            let inflight = &self.out.inflight;
            if inflight.has_landed() {
                continue;
            }
            if progress == Progress::Complete && !inflight.awaits(self.ticket) {
                return Ok(Turn::Done);
            }
            if inflight.awaited() > 0 {
                return Ok(Turn::Receive);
            }
            if let Some(until) = pause {
                return Ok(Turn::Wait(until));
            }
            if let Progress::Connect(port) = progress {
                return Ok(Turn::Connect(port));
            }
            return Err(Error::Misbehaved("the server allows no request and owes no reply"));
        }
    }

    fn poll(&mut self, job: &mut dyn Job<P>) -> Result<Progress, Error> {
        loop {
            // Each `Sent` takes a slot or room in `tx`.
            match job.poll(&mut self.protocol, &mut self.out.outbox(self.ticket))? {
                Progress::Sent => {}
                progress => return Ok(progress),
            }
        }
    }

    /// Shows the replies of the verified frame to those who await them, in order.
    fn dispatch(&mut self, job: &mut dyn Job<P>) -> Result<(), Error> {
        if let Some((start, len)) = self.notice.take() {
            let message = crate::wire::slice(self.rx, start, len, "message")?;
            self.protocol.notice(message, &mut self.out.outbox(Ticket::NOBODY))?;
        }
        while !job.holds_replies() {
            // Free before the protocol looks at it, so that what the reply makes necessary finds a slot.
            let Some((slot, landed)) = self.out.inflight.take_landed() else { break };
            self.dispatch_one(job, slot, landed)?;
        }
        Ok(())
    }

    fn dispatch_one(&mut self, job: &mut dyn Job<P>, slot: Slot, landed: Landed) -> Result<(), Error> {
        let mine = slot.ticket.is_of(self.ticket);
        if mine {
            self.renew();
        } else {
            self.stir();
        }
        let message = crate::wire::slice(self.rx, landed.start, landed.len, "message")?;
        // Before the protocol looks at it: what it sends in answer belongs to the next trip.
        self.out.counters.round_trips = self.out.counters.round_trips.max(slot.trip);
        let stage = if mine { Some(job.stage(slot.ticket.lane())) } else { None };
        let reply = Reply { slot, message, brought: landed.brought };
        let answer = self.protocol.answer(reply, stage, &mut self.out.outbox(slot.ticket));
        if matches!(answer, Ok(Answer::Interim)) {
            return self.interim(slot);
        }
        let counters = &mut self.out.counters;
        counters.responses = counters.responses.wrapping_add(1);
        if mine {
            self.idle_frames = 0;
            counters.file_bytes =
                counters.file_bytes.wrapping_add(u64::from(landed.brought.saturating_sub(landed.holes)));
            counters.hole_bytes = counters.hole_bytes.wrapping_add(u64::from(landed.holes));
        }
        if mine && !matches!(answer, Ok(Answer::Again) | Err(_)) {
            self.out.pauses.answered();
        }
        let outcome = match answer {
            Ok(answer) if mine => {
                let arrival = Arrival { slot, landed, answer, message, protocol: &self.protocol };
                job.answer(arrival)?
            }
            Err(error) if error.is_fatal() => return Err(error),
            Err(error) if mine => {
                job.refused(&slot, error);
                None
            }
            _ => None,
        };
        if let Some(rest) = outcome {
            // Fits: this very slot was freed, and only a dropped operation's handle could have taken it.
            if !self.out.inflight.insert_again(slot.ticket, rest) {
                return Err(Error::Budget { what: "slots", need: 2, have: self.out.inflight.len() });
            }
        }
        Ok(())
    }

    fn interim(&mut self, slot: Slot) -> Result<(), Error> {
        let slot = slot.still_awaiting();
        if slot.interims > limits::INTERIM_MAX {
            return Err(Error::Misbehaved("the server says for ever that a reply is still to come"));
        }
        self.out.inflight.insert(slot);
        Ok(())
    }
}
