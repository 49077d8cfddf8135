//! The engine over a link, with the assertions that hold for every run.

use crate::{Heard, Link};
use pagewire::operation::{Item, Operation};
use pagewire::{Client, Error, Millis, Protocol, Step, Storage};
use std::fmt::Debug;

/// More steps than any run here needs, one byte at a time included. A run that takes more would never end.
pub const STEPS_MAX: usize = 1_000_000;

/// An engine and its link.
pub struct Session<'s, P: Protocol, L> {
    /// The engine.
    pub client: Client<'s, P>,
    /// Its other end.
    pub link: L,
    /// How many pauses there were, because the other end asked to be asked later.
    pub pauses: usize,
    /// How many steps were made.
    pub steps: usize,
    /// More of them than this, and the run does not end.
    pub steps_max: usize,
    /// How late it is, as far as the client was told.
    pub now: Millis,
    /// The client was told that its deadline has passed.
    silent: bool,
}

impl<'s, P: Protocol, L: Link> Session<'s, P, L> {
    /// Nothing is sent yet. `Budget` if the storage is too small.
    pub fn new(storage: Storage<'s>, protocol: P, link: L) -> Result<Self, Error> {
        let client = Client::new(storage, protocol)?;
        let (steps_max, now) = (STEPS_MAX, Millis(0));
        Ok(Session { client, link, pauses: 0, steps: 0, steps_max, now, silent: false })
    }

    /// Runs an operation whose items are of no interest.
    pub fn run<O>(&mut self, op: &mut O) -> Result<O::Output, Error>
    where
        O: Operation<P>,
        O::Output: Debug,
    {
        self.run_each(op, |_| {})
    }

    /// Runs an operation to its end and shows each item to `each`.
    pub fn run_each<O>(
        &mut self,
        op: &mut O,
        mut each: impl FnMut(Item<'_, P, O>),
    ) -> Result<O::Output, Error>
    where
        O: Operation<P>,
        O::Output: Debug,
    {
        loop {
            if let Some(result) = self.step(op, &mut each) {
                return result;
            }
        }
    }

    /// Makes some steps of an operation and then drops it. Whether it was still at work.
    pub fn abandon<O>(&mut self, mut op: O, steps: usize) -> bool
    where
        O: Operation<P>,
        O::Output: Debug,
    {
        let at_work = (0..steps).all(|_| self.step(&mut op, &mut |_| {}).is_none());
        self.silent = false;
        at_work
    }

    /// One step and what it asks for. The result, if it was the last.
    fn step<O>(
        &mut self,
        op: &mut O,
        each: &mut impl FnMut(Item<'_, P, O>),
    ) -> Option<Result<O::Output, Error>>
    where
        O: Operation<P>,
        O::Output: Debug,
    {
        self.steps += 1;
        assert!(self.steps <= self.steps_max, "the run does not end");
        let silent = std::mem::take(&mut self.silent);
        match self.client.step(op) {
            Step::Done(result) => {
                let timed_out = matches!(result, Err(Error::TimedOut));
                assert!(!silent || timed_out, "{result:?} after the deadline");
                self.gives_the_same_again(op, &result);
                return Some(result);
            }
            _ if silent => panic!("the deadline has passed"),
            Step::Connect(port) => {
                if self.link.connect(port) {
                    self.client.connected();
                } else {
                    self.client.closed();
                }
            }
            Step::Wait(until) => self.pause(op, until),
            Step::Transmit(bytes) => {
                assert!(!bytes.is_empty(), "nothing is to be transmitted");
                let sent = self.link.send(bytes);
                self.client.transmitted(sent);
            }
            Step::Receive(_) => {
                let Step::Receive(window) = self.client.step(op) else {
                    panic!("something was to be done before it was time to receive");
                };
                assert!(!window.is_empty(), "there is no room to receive into");
                match self.link.receive(window) {
                    Heard::Bytes(len) => self.client.received(op, len),
                    Heard::Closed => self.client.received(op, 0),
                    Heard::Later(ms) => self.wait(op, ms),
                    Heard::Silence => self.wait(op, u32::MAX),
                }
            }
            Step::Item(item) => each(item),
        }
        None
    }

    /// Nothing is asked before a pause has ended, which is to come.
    fn pause<O: Operation<P>>(&mut self, op: &mut O, until: Millis) {
        self.pauses += 1;
        assert!(self.now < until, "the pause is over");
        assert_eq!((self.client.wakes(), self.client.deadline()), (Some(until), None));
        self.tell(Millis(until.0 - 1));
        assert!(matches!(self.client.step(op), Step::Wait(same) if same == until), "it has not ended yet");
        self.tell(until);
    }

    /// Nothing comes for so long, or until a pause ends, or until the deadline, which is not over a millisecond earlier.
    fn wait<O: Operation<P>>(&mut self, op: &mut O, ms: u32) {
        let deadline = self.client.deadline().expect("whoever waits has a deadline");
        let wakes = self.client.wakes().unwrap_or(deadline).min(deadline);
        let until = self.now.after(ms).min(wakes);
        if until < deadline {
            return self.tell(until);
        }
        self.tell(Millis(deadline.0 - 1));
        assert!(matches!(self.client.step(op), Step::Receive(_)), "the deadline has not passed yet");
        self.tell(deadline);
        self.silent = true;
    }

    fn tell(&mut self, now: Millis) {
        self.now = now;
        self.client.tell(now);
    }

    fn gives_the_same_again<O>(&mut self, op: &mut O, result: &Result<O::Output, Error>)
    where
        O: Operation<P>,
        O::Output: Debug,
    {
        match self.client.step(op) {
            Step::Done(again) => assert_eq!(format!("{again:?}"), format!("{result:?}")),
            _ => panic!("a step after the end is none: {result:?}"),
        }
        if let (Err(error), Some(failed)) = (result, self.client.failed()) {
            assert_eq!(*error, failed, "what the client says is what the operation says");
            let outcome = match self.client.step(&mut pagewire::Stat::new("")) {
                Step::Done(outcome) => outcome.map(|_| ()),
                _ => Ok(()),
            };
            assert_eq!(outcome, Err(failed), "a fatal error stays");
        }
        if let Err(error) = result {
            assert!(!error.is_fatal() || self.client.failed().is_some(), "{error} is fatal and did not stay");
        }
    }
}
