//! Operations that ask one thing and get one answer.

use super::{Arrival, Job, Nothing, Operation};
use crate::attributes::{Attributes, Space};
use crate::error::Error;
use crate::inflight::{Slot, Ticket};
use crate::outgoing::Outbox;
use crate::protocol::{Answer, Ask, File, Progress, Protocol};
use crate::segment::Extent;

/// The common part: one ask, and the first answer or refusal that counts.
#[derive(Debug)]
struct Call<'p, P: Protocol> {
    ask: Ask<'p, P::Handle>,
    ticket: Ticket,
    stage: P::Stage,
    result: Result<Answer<P::Handle>, Error>,
}

impl<'p, P: Protocol> Call<'p, P> {
    fn new(ask: Ask<'p, P::Handle>) -> Self {
        Call { ask, ticket: Ticket::NOBODY, stage: P::Stage::default(), result: Ok(Answer::Nothing) }
    }
}

impl<P: Protocol> Job<P> for Call<'_, P> {
    fn ticket(&mut self) -> &mut Ticket {
        &mut self.ticket
    }

    fn stage(&mut self, _: u16) -> &mut P::Stage {
        &mut self.stage
    }

    fn poll(&mut self, protocol: &mut P, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        protocol.ask(self.ask, &mut self.stage, out)
    }

    fn answer(&mut self, arrival: Arrival<'_, P>) -> Result<Option<Extent>, Error> {
        // What is to be asked again the protocol's stage knows.
        if !matches!(arrival.answer, Answer::Nothing | Answer::Again) && self.result.is_ok() {
            self.result = Ok(arrival.answer);
        }
        Ok(None)
    }

    fn refused(&mut self, _: &Slot, error: Error) {
        // The first refusal is the cause; those of its followers in a chain only repeat it.
        if self.result.is_ok() {
            self.result = Err(error);
        }
    }
}

macro_rules! operation {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*) asks $ask:expr, gives $output:ty: $pattern:pat => $result:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<'p, P: Protocol>(Call<'p, P>);

        impl<'p, P: Protocol> $name<'p, P> {
            /// Nothing happens before its first step.
            #[allow(clippy::new_without_default, reason = "those that take an argument have no default")]
            pub fn new($($arg: $type),*) -> Self {
                $name(Call::new($ask))
            }
        }

        impl<P: Protocol> Operation<P> for $name<'_, P> {
            type Lends = Nothing;
            type Output = $output;

            fn job(&mut self) -> &mut dyn Job<P> {
                &mut self.0
            }

            fn item<'i>(&'i mut self, _: &'i [u8]) {}

            fn output(&mut self) -> Result<Self::Output, Error> {
                match self.0.result? {
                    $pattern => Ok($result),
                    #[allow(unreachable_patterns, reason = "some take whatever comes")]
                    _ => Err(Error::Misbehaved("a reply brought another thing than was asked for")),
                }
            }
        }
    };
}

operation! {
    /// Everything from the first message to a usable share. No other operation needs it: the first one connects, in fewer round
    /// trips. With NFS it also asks for limits, and waits for them. `Done` at once where all is there.
    Connect() asks Ask::Connect, gives (): _ => ()
}

operation! {
    /// Opens a file for reading. The path is relative to the share, with `/` between names; a directory opens too and
    /// can then only be closed.
    Open(path: &'p str) asks Ask::Open { path, first: 0 }, gives File<P::Handle>: Answer::Opened(file) => file
}

operation! {
    /// The attributes of a file or directory; the empty path is the root of the share.
    Stat(path: &'p str) asks Ask::Stat { path, space: false }, gives Attributes: Answer::Attributes(attributes) => attributes
}

operation! {
    /// The space of the file system that a path is on.
    Statfs(path: &'p str) asks Ask::Statfs { path }, gives Space: Answer::Space(space) => space
}

operation! {
    /// Tells the server, while nothing else is asked, that this client is still there, in one round trip: ECHO with SMB, SEQUENCE with
    /// NFS 4.1 and 4.2, RENEW with 4.0 where the server knows the client, and else what costs the server least. It keeps what lies between
    /// from forgetting the connection, and an NFSv4 server from forgetting the client, which is needed more often than
    /// [`lease_seconds`](crate::nfs::Nfs4::lease_seconds) if the client shall be remembered.
    ///
    /// It does not connect: where there is nothing to be kept it is `Done` at once. A refusal with
    /// [`Reason::Expired`](crate::Reason::Expired) says that the server has forgotten: the next operation makes an NFSv4 client known again,
    /// and SMB takes another connection. Without any answer it is `TimedOut`, as every operation.
    Keepalive() asks Ask::Keepalive, gives (): _ => ()
}

operation! {
    /// Tells the server that it need remember nothing of this client any more, where a protocol has words for that. The last
    /// operation of a connection, also if it is dropped half-way; another one connects again. `Done` as soon as it is sent: nobody
    /// waits for the reply. A refusal has no consequence, and leaving it out, or closing the connection before the server has looked at
    /// it, has none but that the server remembers for a while.
    Disconnect() asks Ask::Disconnect, gives (): _ => ()
}

operation! {
    /// Gives a handle back. `Done` as soon as the request is sent: nobody waits for the reply, and a refusal has no
    /// consequence.
    Close(file: &File<P::Handle>) asks Ask::Close { handle: file.handle }, gives (): _ => ()
}
