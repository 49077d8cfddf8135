//! Somebody on the way, who has no keys, and what he says in the server's place.

use crate::arrange::Message;
use crate::connection::{Connection, Reply};
use crate::create::put_file_id;
use crate::oplock_break;
use crate::wire::Put;
use crate::{Command, Lie, Status};

/// All that is in his file.
const FORGED: &[u8] = b"forged";
/// A handle that the server never gave.
const FILE: u64 = 0xF0F0;

/// His replies to what stands behind TREE_CONNECT, each a frame of its own, and then the server's to TREE_CONNECT. How far it is
/// to the next reply is signed with that: where there was one he puts something that needs no signature.
pub(crate) fn before_tree_connect(connection: &Connection, mut replies: Vec<Reply>) -> Vec<Message> {
    let mut messages: Vec<_> = replies.split_off(1).into_iter().filter_map(forged).collect();
    if !connection.lies(Lie::ChainSeparate) {
        replies.push(oplock_break::notification(FILE));
    }
    messages.push(Message::new(replies, &None));
    messages
}

fn forged(mut reply: Reply) -> Option<Message> {
    reply.body = match reply.header.command {
        Command::Create => create(),
        Command::Read => read(),
        _ => return None,
    };
    reply.header.status = Status::SUCCESS;
    reply.signer = None;
    Some(Message::new(vec![reply], &None))
}

/// MS-SMB2 2.2.14, with a length and a handle, and nothing else that is told.
fn create() -> Vec<u8> {
    let mut body = Vec::new();
    body.u16(89);
    body.zeros(46);
    body.u64(FORGED.len() as u64);
    body.zeros(8);
    put_file_id(&mut body, FILE);
    body.zeros(8);
    body
}

/// MS-SMB2 2.2.20.
fn read() -> Vec<u8> {
    let mut body = Vec::new();
    body.u16(17);
    body.u16(80);
    body.u32(FORGED.len() as u32);
    body.zeros(8);
    body.put(FORGED);
    body
}
