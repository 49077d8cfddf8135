//! What was said, counted.

use super::Protocol;
use super::stream::{Message, Part, Stream};

/// What was said on a connection, or on several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Connections.
    pub connections: u32,
    /// Those of them that the client closed with something unread.
    pub unread: u32,
    /// How often the client had to wait: see [`super`]. It counts on from one connection to the next.
    pub round_trips: u32,
    /// Requests, each member of a chain counted. A sealed frame, of which nothing can be seen, is one.
    pub requests: u64,
    /// Final replies to them.
    pub replies: u64,
    /// SMB messages with all their chain, or RPC records, from the client.
    pub frames_sent: u64,
    /// The same from the server.
    pub frames_received: u64,
    /// Frames from the client that were sealed.
    pub sealed: u64,
    /// Bytes from the client.
    pub bytes_sent: u64,
    /// Bytes that were passed to the client.
    pub bytes_received: u64,
    /// What was asked for and how often, in the order of the first time.
    pub names: Vec<(&'static str, u64)>,
}

impl Tally {
    /// All of them together.
    pub fn sum(tallies: &[Tally]) -> Tally {
        let mut sum = Tally::default();
        for tally in tallies {
            sum.connections += tally.connections;
            sum.unread += tally.unread;
            sum.round_trips = sum.round_trips.max(tally.round_trips);
            sum.requests += tally.requests;
            sum.replies += tally.replies;
            sum.frames_sent += tally.frames_sent;
            sum.frames_received += tally.frames_received;
            sum.sealed += tally.sealed;
            sum.bytes_sent += tally.bytes_sent;
            sum.bytes_received += tally.bytes_received;
            tally.names.iter().for_each(|(name, count)| sum.name(name, *count));
        }
        sum
    }

    fn name(&mut self, name: &'static str, count: u64) {
        match self.names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, counted)) => *counted += count,
            None => self.names.push((name, count)),
        }
    }

    fn request(&mut self, message: &Message) {
        self.requests += 1;
        self.sealed += u64::from(message.names == ["(sealed)"]);
        message.names.iter().for_each(|name| self.name(name, 1));
    }
}

/// A client and what it is connected to.
pub struct Conversation {
    protocol: Protocol,
    connections: Vec<Connection>,
    /// The largest trip that was answered.
    answered: u32,
    /// The largest of which the client knew the answer when it sent something.
    known: u32,
}

struct Connection {
    tally: Tally,
    sent: Stream,
    received: Stream,
    /// Requests without a final reply, and their trips.
    asked: Vec<(Option<u64>, u32)>,
    /// The trip of the frame that is being sent.
    trip: u32,
    /// The largest trip that the frame being received answers.
    answers: u32,
}

impl Conversation {
    pub fn new(protocol: Protocol) -> Conversation {
        Conversation { protocol, connections: Vec::new(), answered: 0, known: 0 }
    }

    /// A connection was made. Returns its number.
    pub fn connected(&mut self) -> usize {
        self.connections.push(Connection {
            tally: Tally { connections: 1, ..Tally::default() },
            sent: Stream::new(self.protocol),
            received: Stream::new(self.protocol),
            asked: Vec::new(),
            trip: 0,
            answers: 0,
        });
        self.connections.len() - 1
    }

    /// These bytes came from the client.
    pub fn sent(&mut self, number: usize, bytes: &[u8]) {
        let Connection { tally, sent, asked, trip, .. } = &mut self.connections[number];
        tally.bytes_sent += bytes.len() as u64;
        sent.push(bytes, &mut |part| match part {
            Part::Begin => {
                *trip = self.answered + 1;
                self.known = self.answered;
            }
            Part::Message(message) => {
                tally.request(&message);
                asked.push((message.id, *trip));
            }
            Part::End => tally.frames_sent += 1,
        });
    }

    /// These bytes of the server were passed to the client.
    pub fn received(&mut self, number: usize, bytes: &[u8]) {
        let Connection { tally, received, asked, answers, .. } = &mut self.connections[number];
        tally.bytes_received += bytes.len() as u64;
        received.push(bytes, &mut |part| match part {
            Part::Begin => *answers = 0,
            Part::Message(message) => {
                // What nobody asked for, such as the break of a lease, answers nothing.
                let Some(at) = asked.iter().position(|(id, _)| *id == message.id) else { return };
                *answers = asked[at].1.max(*answers);
                if !message.interim {
                    asked.remove(at);
                    tally.replies += 1;
                }
            }
            Part::End => {
                tally.frames_received += 1;
                self.answered = self.answered.max(*answers);
                tally.round_trips = self.answered;
            }
        });
    }

    /// The client closed it with something unread.
    pub fn reset(&mut self, number: usize) {
        let tally = &mut self.connections[number].tally;
        (tally.unread, tally.round_trips) = (1, self.known);
    }

    pub fn into_tallies(self) -> Vec<Tally> {
        self.connections.into_iter().map(|connection| connection.tally).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of SMB: command, MessageId, and how far away the next member of the chain is.
    fn header(command: u8, id: u8, next: u8, status: u32, reply: bool) -> Vec<u8> {
        let mut header = vec![0; 64];
        header[..4].copy_from_slice(b"\xFESMB");
        header[8..12].copy_from_slice(&status.to_le_bytes());
        (header[12], header[16], header[20], header[24]) = (command, reply.into(), next, id);
        header
    }

    fn framed(members: &[Vec<u8>]) -> Vec<u8> {
        let body = members.concat();
        [&(body.len() as u32).to_be_bytes()[..], &body].concat()
    }

    fn ask(id: u8) -> Vec<u8> {
        framed(&[header(8, id, 0, 0, false)])
    }

    fn answer(id: u8) -> Vec<u8> {
        framed(&[header(8, id, 0, 0, true)])
    }

    fn one() -> (Conversation, usize) {
        let mut conversation = Conversation::new(Protocol::Smb);
        let number = conversation.connected();
        (conversation, number)
    }

    fn trips(conversation: Conversation) -> u32 {
        Tally::sum(&conversation.into_tallies()).round_trips
    }

    #[test]
    fn requests_sent_together_are_one_trip_and_one_that_follows_a_reply_is_another() {
        let (mut conversation, number) = one();
        conversation.sent(number, &[ask(1), ask(2)].concat());
        conversation.received(number, &answer(1));
        conversation.sent(number, &ask(3));
        conversation.received(number, &answer(2));
        assert_eq!(conversation.answered, 1, "the request that followed is not answered yet");
        conversation.received(number, &answer(3));
        assert_eq!(trips(conversation), 2);
    }

    #[test]
    fn a_window_that_slides_costs_a_trip_each_time_it_has_moved_by_its_length() {
        let (mut conversation, number) = one();
        (0..4).for_each(|id| conversation.sent(number, &ask(id)));
        for id in 0..40 {
            conversation.received(number, &answer(id));
            conversation.sent(number, &ask(id + 4));
        }
        assert_eq!(trips(conversation), 10);
    }

    #[test]
    fn half_a_reply_answers_nothing_and_a_request_begins_with_its_first_byte() {
        let (mut conversation, number) = one();
        conversation.sent(number, &ask(1));
        let (one, other) = (answer(1), ask(2));
        conversation.received(number, &one[..67]);
        conversation.sent(number, &other[..1]);
        conversation.received(number, &one[67..]);
        conversation.sent(number, &other[1..]);
        conversation.received(number, &answer(2));
        assert_eq!(trips(conversation), 1);
    }

    #[test]
    fn members_of_a_chain_are_requests_and_an_interim_reply_is_none() {
        let (mut conversation, number) = one();
        let mut create = header(5, 1, 72, 0, false);
        create.extend([0; 8]);
        let chain = framed(&[create, header(8, 2, 0, 0, false)]);
        // However the bytes are cut.
        chain.chunks(1).for_each(|byte| conversation.sent(number, byte));
        conversation.received(number, &framed(&[header(5, 1, 64, 0, true), header(8, 2, 0, 0x103, true)]));
        conversation.received(number, &answer(2));
        let tally = Tally::sum(&conversation.into_tallies());
        assert_eq!((tally.round_trips, tally.requests, tally.replies), (1, 2, 2));
        assert_eq!((tally.frames_sent, tally.frames_received), (1, 2));
        assert_eq!(tally.names, [("CREATE", 1), ("READ", 1)]);
    }

    #[test]
    fn trips_go_on_from_one_connection_to_the_next() {
        let (mut conversation, first) = one();
        conversation.sent(first, &ask(1));
        conversation.received(first, &answer(1));
        let second = conversation.connected();
        conversation.sent(second, &ask(1));
        conversation.received(second, &answer(1));
        assert_eq!(trips(conversation), 2);
    }

    #[test]
    fn what_is_left_unread_was_not_waited_for() {
        let (mut conversation, number) = one();
        conversation.sent(number, &ask(1));
        conversation.received(number, &answer(1));
        conversation.sent(number, &ask(2));
        conversation.received(number, &answer(2));
        conversation.reset(number);
        let tally = Tally::sum(&conversation.into_tallies());
        assert_eq!((tally.round_trips, tally.unread), (1, 1));
    }

    #[test]
    fn sealed_frames_are_counted_and_not_understood() {
        let (mut conversation, number) = one();
        let sealed = framed(&[b"\xFDSMB".to_vec(), vec![7; 90]]);
        conversation.sent(number, &[sealed.clone(), sealed.clone()].concat());
        conversation.received(number, &sealed);
        conversation.sent(number, &sealed);
        conversation.received(number, &[sealed.clone(), sealed.clone()].concat());
        let tally = Tally::sum(&conversation.into_tallies());
        assert_eq!((tally.round_trips, tally.requests, tally.sealed, tally.replies), (2, 3, 3, 3));
    }
}
