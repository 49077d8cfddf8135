//! The relay: one thread, sockets that never block.

use super::Protocol;
use super::conversation::{Conversation, Tally};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

/// Bytes on their way in one direction of a connection, at most.
pub const BUFFER_LEN: usize = 64 * 1024;

pub struct Relay {
    /// Where to listen, and where that leads.
    doors: Vec<(TcpListener, SocketAddr)>,
    stopped: UnixStream,
    links: Vec<Link>,
    conversation: Conversation,
}

impl Relay {
    pub fn new(protocol: Protocol, doors: Vec<(TcpListener, SocketAddr)>, stopped: UnixStream) -> Relay {
        Relay { doors, stopped, links: Vec::new(), conversation: Conversation::new(protocol) }
    }

    /// Until the other end of `stopped` is closed and all connections have ended.
    pub fn run(mut self) -> Vec<Tally> {
        let mut stopping = false;
        while !stopping || !self.links.is_empty() {
            stopping |= self.wait(stopping);
            for (listener, server) in &self.doors {
                while let Ok((client, _)) = listener.accept() {
                    // A server that is not there is to its client a connection that ends.
                    let Ok(server) = TcpStream::connect(server) else { continue };
                    let link = Link::new(client, server, self.conversation.connected());
                    self.links.push(link.expect("a socket can be set to not block"));
                }
            }
            let conversation = &mut self.conversation;
            self.links.retain_mut(|link| link.advance(conversation).is_ok());
        }
        self.conversation.into_tallies()
    }

    /// Until there is something to do. Returns whether that is to stop, which is asked for once.
    fn wait(&self, stopping: bool) -> bool {
        let poll = |fd: RawFd, events| libc::pollfd { fd, events, revents: 0 };
        // A negative number is of no file and waited for in vain.
        let mut fds = vec![poll(if stopping { -1 } else { self.stopped.as_raw_fd() }, 0)];
        fds.extend(self.doors.iter().map(|(listener, _)| poll(listener.as_raw_fd(), libc::POLLIN)));
        for Link { client, server, up, down, .. } in &self.links {
            fds.push(poll(client.as_raw_fd(), wanted(up, down)));
            fds.push(poll(server.as_raw_fd(), wanted(down, up)));
        }
        // SAFETY: the pointer and the number are those of a live vector.
        unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, -1) };
        fds[0].revents != 0
    }
}

/// What a socket is waited for that fills `from` and drains `to`.
fn wanted(from: &Buffer, to: &Buffer) -> libc::c_short {
    let events = |wanted, event| if wanted { event } else { 0 };
    events(from.is_empty(), libc::POLLIN) | events(!to.is_empty(), libc::POLLOUT)
}

struct Link {
    client: TcpStream,
    server: TcpStream,
    up: Buffer,
    down: Buffer,
    /// That of the conversation.
    number: usize,
}

impl Link {
    fn new(client: TcpStream, server: TcpStream, number: usize) -> io::Result<Link> {
        for socket in [&client, &server] {
            socket.set_nodelay(true)?;
            socket.set_nonblocking(true)?;
        }
        Ok(Link { client, server, up: Buffer::new(), down: Buffer::new(), number })
    }

    /// Passes on what can be, until one side has ended, which is an error.
    fn advance(&mut self, conversation: &mut Conversation) -> io::Result<()> {
        let outcome = self.pass(conversation);
        if outcome.is_err() {
            let reset = self.was_reset(&outcome);
            // What the client said before it went may not be read yet.
            while self.hear(conversation).is_ok_and(|len| len > 0) {
                if self.up.drain(&self.server).is_err() {
                    break;
                }
            }
            if reset {
                conversation.reset(self.number);
            }
        }
        outcome
    }

    fn hear(&mut self, conversation: &mut Conversation) -> io::Result<usize> {
        let len = self.up.fill(&self.client)?;
        conversation.sent(self.number, self.up.rest());
        Ok(len)
    }

    /// Whether the client has closed it with something unread. If that was there, the connection is reset at once. If it is passed to
    /// it after that, the connection is reset later, and until then what was passed is not acknowledged as the end was.
    fn was_reset(&self, outcome: &io::Result<()>) -> bool {
        let resets =
            |error: &io::Error| matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe);
        let mut unacknowledged: libc::c_int = 0;
        // SAFETY: it writes one number there.
        unsafe { libc::ioctl(self.client.as_raw_fd(), libc::TIOCOUTQ, &mut unacknowledged) };
        outcome.as_ref().is_err_and(resets)
            || self.client.take_error().is_ok_and(|error| error.is_some())
            || unacknowledged > 0
    }

    /// What the client has said is seen before anything is passed to it, so that it is not taken for an answer to that.
    fn pass(&mut self, conversation: &mut Conversation) -> io::Result<()> {
        loop {
            let mut moved = 0;
            if self.up.is_empty() {
                moved += self.hear(conversation)?;
            }
            moved += self.up.drain(&self.server)?.len();
            let passed = self.down.drain(&self.client)?;
            moved += passed.len();
            conversation.received(self.number, passed);
            if self.down.is_empty() {
                moved += self.down.fill(&self.server)?;
            }
            if moved == 0 {
                return Ok(());
            }
        }
    }
}

struct Buffer {
    bytes: Box<[u8]>,
    from: usize,
    to: usize,
}

impl Buffer {
    fn new() -> Buffer {
        Buffer { bytes: vec![0; BUFFER_LEN].into(), from: 0, to: 0 }
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.from..self.to]
    }

    fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    /// How many bytes came. The end of the connection is an error.
    fn fill(&mut self, mut socket: &TcpStream) -> io::Result<usize> {
        (self.from, self.to) = (0, 0);
        match socket.read(&mut self.bytes) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(len) => {
                self.to = len;
                Ok(len)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// The bytes that went.
    fn drain(&mut self, mut socket: &TcpStream) -> io::Result<&[u8]> {
        let from = self.from;
        if !self.is_empty() {
            match socket.write(self.rest()) {
                Ok(len) => self.from += len,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&self.bytes[from..self.from])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (one, listener.accept().unwrap().0)
    }

    #[test]
    fn what_is_passed_to_a_client_that_has_gone_is_unread() {
        let ((client, gone), (server, _far)) = (pair(), pair());
        let mut conversation = Conversation::new(Protocol::Rpc);
        let mut link = Link::new(client, server, conversation.connected()).unwrap();
        drop(gone);
        // Its end is not looked at before this is sent on.
        (link.up.to, link.down.to) = (4, 4);
        link.advance(&mut conversation).unwrap_err();
        let tally = &conversation.into_tallies()[0];
        assert_eq!((tally.bytes_received, tally.unread), (4, 1));
    }
}
