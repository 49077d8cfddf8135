//! The engine over a link, with the assertions that hold for every run.

use pagewire::operation::{Item, Operation};
use pagewire::smb::Smb;
use pagewire::{Client, Error, Millis, Step, Storage};
use std::fmt::Debug;

/// More steps than any run here needs, one byte at a time included. A run that takes more would never end.
pub const STEPS_MAX: usize = 400_000;

/// The other end.
pub trait Link {
    /// Takes some of these bytes and says how many.
    fn send(&mut self, bytes: &[u8]) -> usize;

    /// Puts bytes into the window, if there are any.
    fn receive(&mut self, window: &mut [u8]) -> Heard;
}

/// What came of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// So many bytes, not none.
    Bytes(usize),
    /// Nothing, for as long as anybody cares to wait.
    Silence,
    /// The end of the connection.
    Closed,
}

/// An engine and its link.
pub struct Session<'s, L> {
    /// The engine.
    pub client: Client<'s, Smb<'s>>,
    /// Its other end.
    pub link: L,
    steps: usize,
}

impl<'s, L: Link> Session<'s, L> {
    /// Nothing is sent yet. `Budget` if the storage is too small.
    pub fn new(storage: Storage<'s>, smb: Smb<'s>, link: L) -> Result<Self, Error> {
        Ok(Session { client: Client::new(storage, smb)?, link, steps: 0 })
    }

    /// Runs an operation whose items are of no interest.
    pub fn run<O>(&mut self, op: &mut O) -> Result<O::Output, Error>
    where
        O: Operation<Smb<'s>>,
        O::Output: Debug,
    {
        self.run_each(op, |_| {})
    }

    /// Runs an operation to its end and shows each item to `each`.
    pub fn run_each<O>(
        &mut self,
        op: &mut O,
        mut each: impl FnMut(Item<'_, Smb<'s>, O>),
    ) -> Result<O::Output, Error>
    where
        O: Operation<Smb<'s>>,
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
                Step::Connect(port) => panic!("SMB has one port, and no use for {port}"),
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

    /// Nothing comes until the deadline, which is not over a millisecond earlier.
    fn wait<O: Operation<Smb<'s>>>(&mut self, op: &mut O) {
        let deadline = self.client.deadline().expect("whoever waits has a deadline");
        self.client.tell(Millis(deadline.0 - 1));
        assert!(matches!(self.client.step(op), Step::Receive(_)), "the deadline has not passed yet");
        self.client.tell(deadline);
    }

    fn gives_the_same_again<O>(&mut self, op: &mut O, result: &Result<O::Output, Error>)
    where
        O: Operation<Smb<'s>>,
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
