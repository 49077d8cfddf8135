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
    steps: usize,
}

impl<'s, P: Protocol, L: Link> Session<'s, P, L> {
    /// Nothing is sent yet. `Budget` if the storage is too small.
    pub fn new(storage: Storage<'s>, protocol: P, link: L) -> Result<Self, Error> {
        Ok(Session { client: Client::new(storage, protocol)?, link, pauses: 0, steps: 0 })
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
        let mut silent = false;
        loop {
            self.steps += 1;
            assert!(self.steps <= STEPS_MAX, "the run does not end");
            match self.client.step(op) {
                Step::Done(result) => {
                    assert!(
                        !silent || matches!(result, Err(Error::TimedOut)),
                        "{result:?} after the deadline"
                    );
                    self.gives_the_same_again(op, &result);
                    return result;
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
                Step::Receive(window) => {
                    assert!(!window.is_empty(), "there is no room to receive into");
                    match self.link.receive(window) {
                        Heard::Bytes(len) => self.client.received(op, len),
                        Heard::Closed => self.client.received(op, 0),
                        Heard::Silence => {
                            self.wait(op);
                            silent = true;
                        }
                    }
                }
                Step::Item(item) => each(item),
            }
        }
    }

    /// Makes some steps of an operation and then drops it. Whether it was still at work.
    pub fn abandon<O: Operation<P>>(&mut self, mut op: O, steps: usize) -> bool {
        for _ in 0..steps {
            match self.client.step(&mut op) {
                Step::Done(_) => return false,
                Step::Transmit(bytes) => {
                    let sent = self.link.send(bytes);
                    self.client.transmitted(sent);
                }
                Step::Receive(window) => match self.link.receive(window) {
                    Heard::Bytes(len) => self.client.received(&mut op, len),
                    heard => panic!("{heard:?} in the middle"),
                },
                Step::Item(_) => {}
                Step::Connect(port) => {
                    assert!(self.link.connect(port), "nobody is at {port}");
                    self.client.connected();
                }
                Step::Wait(until) => self.client.tell(until),
            }
        }
        true
    }

    /// Nothing is asked before a pause has ended, and then something is.
    fn pause<O: Operation<P>>(&mut self, op: &mut O, until: Millis) {
        self.pauses += 1;
        assert_eq!((self.client.wakes(), self.client.deadline()), (Some(until), None));
        self.client.tell(Millis(until.0 - 1));
        assert!(matches!(self.client.step(op), Step::Wait(same) if same == until), "it has not ended yet");
        self.client.tell(until);
        assert!(matches!(self.client.step(op), Step::Transmit(_)), "what was refused is asked again");
    }

    /// Nothing comes until the deadline, which is not over a millisecond earlier.
    fn wait<O: Operation<P>>(&mut self, op: &mut O) {
        let deadline = self.client.deadline().expect("whoever waits has a deadline");
        self.client.tell(Millis(deadline.0 - 1));
        assert!(matches!(self.client.step(op), Step::Receive(_)), "the deadline has not passed yet");
        self.client.tell(deadline);
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
