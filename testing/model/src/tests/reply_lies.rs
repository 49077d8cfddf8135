use super::{lying, opened, send_reads};
use crate::client::{Client, SAME_FILE, create_body, read_body, tree_body};
use crate::header::{self, FLAG_ASYNC};
use crate::session::Preauth;
use crate::{Command, Dialect, Lie, Status, pattern};

#[test]
fn credits_dry_up() {
    let (mut client, file) = opened(Lie::GrantNothingForReads);
    assert_eq!(client.ask(Command::Read, read_body(file, 0, 1)).header.credits, 0);
    assert_eq!(client.ask(Command::Echo, vec![4, 0, 0, 0]).header.credits, 10);
    let mut client = Client::new(lying(Lie::GrantNothing), Dialect::V311);
    let body = client.negotiate_body();
    assert_eq!(client.ask(Command::Negotiate, body).header.credits, 0);
    assert_eq!(client.model.credits(), 0);
}

#[test]
fn replies_come_reversed_doubled_or_for_nobody() {
    let ids = |lie| {
        let (mut client, file) = opened(lie);
        let first = client.next_id;
        send_reads(&mut client, file, 3);
        let replies = client.replies();
        assert!(replies.iter().all(|reply| reply.verified));
        replies.iter().map(|reply| reply.header.message_id.wrapping_sub(first)).collect::<Vec<_>>()
    };
    const ODD: u64 = 0x1000_0000;
    assert_eq!(ids(Lie::ReverseReads), [2, 1, 0]);
    assert_eq!(ids(Lie::DuplicateReads), [0, 0, 1, 1, 2, 2]);
    assert_eq!(ids(Lie::UnknownMessageId), [ODD, 0, ODD + 1, 1, ODD + 2, 2]);
}

#[test]
fn a_read_is_answered_by_another_command() {
    let (mut client, file) = opened(Lie::WrongCommand);
    assert_eq!(client.ask(Command::Read, read_body(file, 0, 1)).header.command, Command::Echo);
}

#[test]
fn a_read_pends_once_or_for_ever() {
    for (lie, count) in [(Lie::PendingOnce, 3), (Lie::PendingTimes(5), 7), (Lie::PendingForEver, 2)] {
        let mut client = Client::connected(lying(lie), Dialect::V311);
        let chain = [(Command::Create, create_body("f", 0)), (Command::Read, read_body(SAME_FILE, 0, 10))];
        let replies = client.chain(&chain);
        assert_eq!(replies.len(), count);
        assert_eq!(replies[1].status(), Status::PENDING);
        assert!(replies[1..].iter().all(|reply| reply.header.is(FLAG_ASYNC)));
        assert_eq!(replies[1].header.credits, 10);
        assert!(replies[2..].iter().all(|reply| reply.header.credits == 0));
        if let Some(reply) = replies[2..].last() {
            assert_eq!(reply.data(), pattern(0, 0, 10));
            assert!(reply.verified);
        }
    }
}

#[test]
fn an_oplock_breaks_before_the_nth_read_and_can_be_acknowledged() {
    let (mut client, file) = opened(Lie::OplockBreak { nth: 2 });
    send_reads(&mut client, file, 3);
    let replies = client.replies();
    assert_eq!(replies.len(), 4);
    let notification = &replies[1];
    assert_eq!(
        (notification.header.message_id, notification.header.command),
        (u64::MAX, Command::OplockBreak)
    );
    assert_eq!(notification.body[8..24], file);
    let reply = client.ask(Command::OplockBreak, notification.body.clone());
    assert_eq!((reply.status(), client.model.oplock_acknowledgments()), (Status::SUCCESS, 1));
}

#[test]
fn data_is_not_where_or_what_the_header_of_a_read_says() {
    let reply = |lie| {
        let (mut client, file) = opened(lie);
        let reply = client.ask(Command::Read, read_body(file, 0, 100));
        assert!(reply.verified);
        (reply.body[2], reply.body[4], reply.body.len() - 16)
    };
    assert_eq!(reply(Lie::KeepAlives), (0x50, 100, 100));
    assert_eq!(reply(Lie::DataLengthBeyondFrame), (0x50, 100, 50));
    assert_eq!(reply(Lie::DataLengthBeyondAsked), (0x50, 108, 108));
    assert_eq!(reply(Lie::DataOffsetOutside), (0xF8, 100, 100));
    assert_eq!(reply(Lie::DataOffsetBeforeBody), (0x20, 100, 100));
    assert_eq!(reply(Lie::DataGap), (0x60, 100, 116));
    assert_eq!(reply(Lie::ShortReads(7)), (0x50, 7, 7));
    assert_eq!(reply(Lie::EmptyReads), (0x50, 0, 1));
}

#[test]
fn a_legal_gap_is_passed_over_and_the_data_is_right() {
    let (mut client, file) = opened(Lie::DataGap);
    assert_eq!(client.ask(Command::Read, read_body(file, 3, 50)).data(), pattern(0, 3, 50));
}

#[test]
fn a_file_ends_too_early() {
    let read = |lie, offset| {
        let (mut client, file) = opened(lie);
        let reply = client.ask(Command::Read, read_body(file, offset, 100));
        if reply.status() == Status::SUCCESS { Ok(reply.data().len()) } else { Err(reply.status()) }
    };
    assert_eq!(read(Lie::EndOfFileAt(500), 450), Ok(100));
    assert_eq!(read(Lie::EndOfFileAt(500), 500), Err(Status::END_OF_FILE));
    assert_eq!(read(Lie::TruncatedAfterOpen(500), 450), Ok(50));
    assert_eq!(read(Lie::TruncatedAfterOpen(500), 500), Err(Status::END_OF_FILE));
}

#[test]
fn a_session_expires_until_the_client_authenticates_again_on_it() {
    let (mut client, file) = opened(Lie::SessionExpired { nth: 2 });
    assert_eq!(client.ask(Command::Read, read_body(file, 0, 1)).status(), Status::SUCCESS);
    for _ in 0..2 {
        let expired = client.ask(Command::Read, read_body(file, 0, 1));
        assert_eq!((expired.status(), expired.verified), (Status::NETWORK_SESSION_EXPIRED, true));
    }
    assert_eq!(client.log_on(Preauth::new()).status(), Status::SUCCESS);
    let reply = client.ask(Command::Read, read_body(file, 0, 1));
    assert_eq!((reply.status(), reply.verified), (Status::SUCCESS, true));
}

#[test]
fn that_a_session_is_deleted_is_said_without_its_keys() {
    for seals in [false, true] {
        let (mut client, file) = opened(Lie::SessionDeleted { nth: 2 });
        client.seal = seals;
        assert_eq!(client.ask(Command::Read, read_body(file, 0, 1)).status(), Status::SUCCESS);
        let deleted = client.ask(Command::Read, read_body(file, 0, 1));
        assert_eq!(deleted.status(), Status::USER_SESSION_DELETED);
        assert!(!deleted.verified && !deleted.sealed);
        client.seal = false;
        assert_eq!(client.ask(Command::Echo, vec![4, 0, 0, 0]).status(), Status::USER_SESSION_DELETED);
        assert_eq!((client.model.sessions(), client.model.open_handles()), (0, 0));
    }
}

#[test]
fn a_read_reply_is_no_response_or_of_no_known_size() {
    let (mut client, file) = opened(Lie::NotAResponse);
    let reply = client.ask(Command::Read, read_body(file, 0, 1));
    assert_eq!(reply.header.flags & header::FLAG_RESPONSE, 0);
    let (mut client, file) = opened(Lie::ReadStructureSize);
    assert_eq!(client.ask(Command::Read, read_body(file, 0, 1)).body[0], 16);
}

#[test]
fn a_chain_comes_back_short_or_reversed() {
    let commands = |lie| {
        let mut client = Client::connected(lying(lie), Dialect::V311);
        let chain = [(Command::Create, create_body("f", 0)), (Command::Read, read_body(SAME_FILE, 0, 10))];
        client.chain(&chain).iter().map(|reply| reply.header.command).collect::<Vec<_>>()
    };
    assert_eq!(commands(Lie::ChainShort), [Command::Create]);
    assert_eq!(commands(Lie::ChainReversed), [Command::Read, Command::Create]);
}

#[test]
fn next_command_points_anywhere_but_at_the_next() {
    let next = |lie| {
        let (mut client, file) = opened(lie);
        send_reads(&mut client, file, 1);
        let frame = client.frames().remove(0);
        (u32::from_le_bytes(frame[20..24].try_into().unwrap()) as usize, frame.len())
    };
    let (beyond, len) = next(Lie::NextCommandBeyond);
    assert!(beyond > len && beyond.is_multiple_of(8));
    let (unaligned, len) = next(Lie::NextCommandUnaligned);
    assert!(unaligned < len && !unaligned.is_multiple_of(8));
    assert!(next(Lie::NextCommandTooSmall).0 < header::LEN);
}

#[test]
fn a_chain_that_starts_with_tree_connect_gets_one_broken_reply() {
    let mut client = Client::new(lying(Lie::RefuseTreeConnectChain), Dialect::V311);
    client.authenticate();
    client.sign = true;
    client.send(&[(Command::TreeConnect, tree_body()), (Command::Create, create_body("f", 0))]);
    let frames = client.frames();
    assert_eq!((frames.len(), frames[0].len(), frames[0][20]), (1, 73, 80));
    client.connect_tree();
    assert_eq!(client.ask(Command::Create, create_body("f", 0)).status(), Status::SUCCESS);
}

/// The statuses of the replies to TREE_CONNECT and a CREATE behind it, and then to TREE_CONNECT alone.
fn entering(lie: Lie) -> [Vec<Status>; 2] {
    let mut client = Client::new(lying(lie), Dialect::V311);
    client.authenticate();
    client.sign = true;
    let chain = [(Command::TreeConnect, tree_body()), (Command::Create, create_body("f", 0))];
    [&chain[..], &chain[..1]]
        .map(|members| client.chain(members).iter().map(|reply| reply.status()).collect())
}

#[test]
fn tree_connect_is_refused_in_a_chain_or_alone_too() {
    let refused = Status::INVALID_PARAMETER;
    assert_eq!(entering(Lie::RefuseTreeConnectMembers), [vec![refused; 2], vec![Status::SUCCESS]]);
    assert_eq!(entering(Lie::RefuseTreeConnectAlone), [vec![refused], vec![refused]]);
}

#[test]
fn the_credits_of_a_chain_come_with_its_last_reply() {
    for (lie, granted) in [(Lie::KeepAlives, [10, 10]), (Lie::GrantWithLast, [0, 20])] {
        let mut client = Client::connected(lying(lie), Dialect::V311);
        let chain = [(Command::Create, create_body("f", 0)), (Command::Read, read_body(SAME_FILE, 0, 10))];
        let replies = client.chain(&chain);
        assert_eq!([replies[0].header.credits, replies[1].header.credits], granted);
    }
}

#[test]
fn frames_are_announced_too_long_kept_alive_or_cut() {
    let (mut client, file) = opened(Lie::FrameTooLong);
    send_reads(&mut client, file, 1);
    assert_eq!(client.model.output()[..4], [0, 0xFF, 0xFF, 0xFF]);
    let (mut client, file) = opened(Lie::KeepAlives);
    send_reads(&mut client, file, 1);
    assert_eq!(client.model.output()[..5], [0x85, 0, 0, 0, 0]);
    let mut client = Client::new(lying(Lie::TruncateAt(10)), Dialect::V311);
    let body = client.negotiate_body();
    client.send(&[(Command::Negotiate, body)]);
    assert_eq!((client.model.output().len(), client.model.is_closed()), (10, true));
}
