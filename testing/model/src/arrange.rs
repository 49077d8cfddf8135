//! Replies to messages: one for each frame received, unless a lie wants more, fewer or others.

use crate::connection::{Connection, Reply, error_body};
use crate::forge;
use crate::header::{FLAG_ASYNC, FLAG_RESPONSE, Header};
use crate::lease;
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
    pub(crate) fn new(replies: Vec<Reply>, sealer: &Option<Sealer>) -> Self {
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
    let enters = replies.len() > 1 && replies[0].header.command == Command::TreeConnect;
    if enters && connection.lies(Lie::ForgedBeforeTreeConnect) {
        return forge::before_tree_connect(connection, replies);
    }
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

/// What is taken back before a READ of `file` is answered.
fn breaks(connection: &Connection, file: Option<u64>) -> Vec<Reply> {
    let nth = connection.told.read_messages;
    let mut breaks = Vec::new();
    if let Some(file) = file.filter(|_| connection.lies(Lie::OplockBreak { nth })) {
        breaks.push(oplock_break::notification(file));
    }
    if let Some(lease_break) = file.and_then(|file| connection.lease_break(file)) {
        let for_ever = connection.lies(Lie::LeaseBreaksForEver);
        let times = if for_ever { 2000 } else { usize::from(connection.lies(Lie::LeaseBreak { nth })) };
        breaks.resize(breaks.len() + times, lease_break);
    }
    if connection.lies(Lie::LeaseBreakUnknown) {
        breaks.push(lease::notification([0x55; 16]));
    }
    breaks
}

/// Another break, in place of a READ reply and behind the reply to an acknowledgment.
fn breaks_for_ever(connection: &Connection, message: &Message) -> Option<Vec<Message>> {
    let replies = &message.replies;
    let acknowledged = replies.iter().any(|reply| reply.header.command == Command::OplockBreak);
    let concerned = acknowledged || replies.iter().any(Reply::is_read);
    let file = connection.opens.keys().next_back();
    let file = file.filter(|_| concerned && connection.lies(Lie::OplockBreaksForEver))?;
    let again = Message::new(vec![oplock_break::notification(*file)], &message.sealer);
    Some(Some(message).filter(|_| acknowledged).cloned().into_iter().chain([again]).collect())
}

/// A message with a READ reply, with what lies put before and after it.
fn surround(connection: &mut Connection, mut message: Message) -> Vec<Message> {
    if let Some(messages) = breaks_for_ever(connection, &message) {
        return messages;
    }
    let Some(file) = message.replies.iter().find(|reply| reply.is_read()).map(|reply| reply.file) else {
        return vec![message];
    };
    connection.told.read_messages += 1;
    let breaks = breaks(connection, file).into_iter();
    let mut messages: Vec<_> = breaks.map(|reply| Message::new(vec![reply], &message.sealer)).collect();
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
