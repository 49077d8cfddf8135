//! Replies to messages: one for each frame received, unless a lie wants more, fewer or others.

use crate::connection::{Connection, Reply, error_body};
use crate::header::{FLAG_ASYNC, FLAG_RESPONSE, Header};
use crate::oplock_break;
use crate::seal::Sealer;
use crate::{Command, Lie, Status};

/// Added to the message id of a reply that nobody waits for.
const UNKNOWN_ID: u64 = 0x1000_0000;

/// What will be one frame.
#[derive(Clone)]
pub(crate) struct Message {
    pub(crate) replies: Vec<Reply>,
    pub(crate) sealer: Option<Sealer>,
    /// Whether it holds the reply to a READ.
    pub(crate) read: bool,
}

impl Message {
    fn new(replies: Vec<Reply>, sealer: &Option<Sealer>) -> Self {
        let read = replies.iter().any(Reply::is_read);
        Message { replies, sealer: sealer.clone(), read }
    }
}

impl Reply {
    /// Whether it answers a READ for good.
    fn is_read(&self) -> bool {
        self.header.command == Command::Read && self.header.status != Status::PENDING
    }
}

pub(crate) fn arrange(
    connection: &mut Connection,
    mut replies: Vec<Reply>,
    sealer: Option<Sealer>,
) -> Vec<Message> {
    if replies.len() > 1 && connection.lies(Lie::ChainShort) {
        replies.pop();
    }
    if connection.lies(Lie::ChainReversed) {
        replies.reverse();
    }
    let chains = match connection.lies(Lie::ChainSeparate) {
        true => replies.into_iter().map(|reply| vec![reply]).collect(),
        false => vec![replies],
    };
    let messages: Vec<Message> = chains
        .into_iter()
        .flat_map(|replies| interim(connection, replies))
        .filter(|replies| !replies.is_empty())
        .map(|replies| Message::new(replies, &sealer))
        .collect();
    messages.into_iter().flat_map(|message| surround(connection, message)).collect()
}

/// Splits off a READ that ends a chain: those before it, STATUS_PENDING, and the reply unless it never comes.
fn interim(connection: &Connection, mut replies: Vec<Reply>) -> Vec<Vec<Reply>> {
    let for_ever = connection.lies(Lie::PendingForEver);
    let times = connection.lie(|lie| match *lie {
        Lie::PendingOnce | Lie::PendingForEver => Some(1),
        Lie::PendingTimes(times) => Some(times),
        _ => None,
    });
    let Some(mut last) = replies.pop_if(|reply| times.is_some() && reply.is_read()) else {
        return vec![replies];
    };
    last.header.flags |= FLAG_ASYNC;
    last.header.async_id = last.header.message_id + 1;
    let mut pending = Reply {
        header: Header { status: Status::PENDING, ..last.header },
        body: error_body(&[]),
        signer: None,
        ..last.clone()
    };
    last.header.credits = 0;
    let mut messages = vec![replies];
    for _ in 0..times.unwrap_or(0) {
        messages.push(vec![pending.clone()]);
        pending.header.credits = 0;
    }
    if !for_ever {
        messages.push(vec![last]);
    }
    messages
}

/// A message with a READ reply, with what lies put before and after it.
fn surround(connection: &mut Connection, mut message: Message) -> Vec<Message> {
    let Some(file) = message.replies.iter().find(|reply| reply.is_read()).map(|reply| reply.file) else {
        return vec![message];
    };
    connection.told.read_messages += 1;
    let mut messages = Vec::new();
    let breaks = connection.lies(Lie::OplockBreak { nth: connection.told.read_messages });
    if let Some(file) = file.filter(|_| breaks) {
        messages.push(Message::new(vec![oplock_break::notification(file)], &message.sealer));
    }
    if connection.lies(Lie::UnknownMessageId) {
        let mut unknown = message.clone();
        unknown.replies.iter_mut().for_each(|reply| reply.header.message_id += UNKNOWN_ID);
        messages.push(unknown);
    }
    for reply in message.replies.iter_mut().filter(|reply| reply.is_read()) {
        if connection.lies(Lie::NotAResponse) {
            reply.header.flags &= !FLAG_RESPONSE;
        }
        if connection.lies(Lie::WrongCommand) {
            reply.header.command = Command::Echo;
        }
        if connection.lies(Lie::OtherSessionId) {
            reply.header.session_id ^= 1 << 32;
        }
    }
    if connection.lies(Lie::DuplicateReads) {
        messages.push(message.clone());
    }
    messages.push(message);
    messages
}
