use super::{config, lying, opened, send_reads};
use crate::client::{Client, SAME_FILE, create_body, read_body, setup_body, tree_body};
use crate::header;
use crate::ntlm;
use crate::seal;
use crate::{Command, Config, Dialect, Lie};

/// The final SESSION_SETUP reply and TREE_CONNECT's are signed before.
const THIRD: usize = 3;

#[test]
fn the_nth_signature_is_wrong_or_missing() {
    for (lie, flagged) in [(Lie::SignatureWrong { nth: THIRD }, true), (Lie::Unsigned { nth: THIRD }, false)]
    {
        let mut client = Client::connected(lying(lie), Dialect::V311);
        let reply = client.ask(Command::Create, create_body("f", 0));
        assert!(!reply.verified);
        assert_eq!(reply.header.is(header::FLAG_SIGNED), flagged);
        assert!(client.ask(Command::Create, create_body("f", 0)).verified);
    }
}

#[test]
fn what_needs_no_signature_says_that_it_has_one() {
    let config = Config { lies: vec![Lie::PendingOnce, Lie::FalselySigned], ..config() };
    let mut client = Client::connected(config, Dialect::V311);
    let file = client.ask(Command::Create, create_body("f", 0)).file_id();
    let replies = client.chain(&[(Command::Read, read_body(file, 0, 10))]);
    assert_eq!(replies.len(), 2);
    assert!(replies.iter().all(|reply| reply.header.is(header::FLAG_SIGNED)));
    assert!(!replies[0].verified && replies[1].verified);
}

#[test]
fn whoever_is_on_the_way_answers_first_and_has_no_keys() {
    let mut client = Client::new(lying(Lie::ForgedBeforeTreeConnect), Dialect::V311);
    client.authenticate();
    client.sign = true;
    let replies = client.chain(&[
        (Command::TreeConnect, tree_body()),
        (Command::Create, create_body("f", 0)),
        (Command::Read, read_body(SAME_FILE, 0, 10)),
    ]);
    let commands: Vec<_> = replies.iter().map(|reply| reply.header.command).collect();
    assert_eq!(commands, [Command::Create, Command::Read, Command::TreeConnect, Command::OplockBreak]);
    assert_eq!(replies.iter().map(|reply| reply.verified).collect::<Vec<_>>(), [false, false, true, false]);
    assert_eq!(replies[1].data(), b"forged");
}

/// The frame of a sealed READ's reply.
fn sealed_frame(lie: Lie) -> (Client, Vec<u8>) {
    let (mut client, file) = opened(lie);
    client.seal = true;
    client.send(&[(Command::Read, read_body(file, 0, 100))]);
    let frame = client.frames().remove(0);
    (client, frame)
}

#[test]
fn the_nth_transform_does_not_open() {
    for lie in [Lie::SealTagWrong { nth: 1 }, Lie::CiphertextWrong { nth: 1 }] {
        let (mut client, frame) = sealed_frame(lie);
        let (_, honest) = sealed_frame(Lie::SealTagWrong { nth: 9 });
        let flipped: u32 = frame.iter().zip(&honest).map(|(a, b)| (a ^ b).count_ones()).sum();
        assert_eq!(flipped, 1);
        assert_eq!(frame.len(), honest.len());
        assert!(client.ask(Command::Echo, vec![4, 0, 0, 0]).sealed);
    }
}

#[test]
fn the_nth_sealed_reply_comes_in_the_open() {
    let (_, frame) = sealed_frame(Lie::PlaintextOnSealed { nth: 1 });
    assert!(frame.starts_with(header::PROTOCOL));
}

#[test]
fn a_transform_says_the_wrong_session_or_size() {
    let (client, frame) = sealed_frame(Lie::TransformSessionId { nth: 1 });
    assert_ne!(seal::session_id(&frame), Some(client.session_id));
    let (_, frame) = sealed_frame(Lie::OriginalMessageSize { nth: 1 });
    assert_eq!(frame[36] as usize, frame.len() - seal::LEN + 8);
}

#[test]
fn a_transform_hides_another() {
    let (_, frame) = sealed_frame(Lie::TransformNested { nth: 1 });
    let (_, honest) = sealed_frame(Lie::TransformNested { nth: 2 });
    assert_eq!(frame.len(), honest.len() + seal::LEN);
}

#[test]
fn a_compressed_reply_shows_its_protocol_id() {
    let (mut client, file) = opened(Lie::Compressed);
    send_reads(&mut client, file, 1);
    assert!(client.frames()[0].starts_with(b"\xFCSMB"));
}

#[test]
fn a_named_user_becomes_a_guest_or_nobody() {
    for (lie, flag) in [(Lie::GuestFlag, 1), (Lie::NullFlag, 2)] {
        let reply = Client::new(lying(lie), Dialect::V311).authenticate();
        assert_eq!((reply.body[2], reply.verified), (flag, true));
    }
}

/// SESSION_SETUP's reply with the challenge, which starts at 8.
fn challenge(lie: Lie) -> Vec<u8> {
    let mut client = Client::new(lying(lie), Dialect::V300);
    let body = client.negotiate_body();
    client.ask(Command::Negotiate, body);
    client.ask(Command::SessionSetup, setup_body(&ntlm::tests::negotiate())).body
}

#[test]
fn a_challenge_exchanges_no_keys() {
    let flags = |lie| u32::from_le_bytes(challenge(lie)[8 + 20..][..4].try_into().unwrap());
    let exchanges = |lie| flags(lie) & ntlm::KEY_EXCH != 0;
    assert!(exchanges(Lie::KeepAlives) && !exchanges(Lie::NoKeyExchange));
}

/// The AV pairs of the challenge, if they are whole.
fn av_pairs(lie: Lie) -> Option<usize> {
    let challenge = challenge(lie);
    let u16_at =
        |at: usize| Some(u16::from_le_bytes(challenge.get(at..at + 2)?.try_into().unwrap()) as usize);
    let (len, mut at) = (u16_at(8 + 40)?, 8 + u16_at(8 + 44)?);
    assert_eq!(at + len, challenge.len());
    for count in 0.. {
        let (id, len) = (u16_at(at)?, u16_at(at + 2)?);
        at += 4 + len;
        if id == 0 {
            return (at == challenge.len()).then_some(count);
        }
    }
    None
}

#[test]
fn av_pairs_run_past_the_buffer_or_never_end() {
    assert_eq!(av_pairs(Lie::KeepAlives), Some(5));
    assert_eq!(av_pairs(Lie::AvPairsBeyond), None);
    assert_eq!(av_pairs(Lie::AvPairsNeverEnd), None);
}

#[test]
fn negotiation_lies_are_on_the_wire() {
    let negotiate = |lie| {
        let mut client = Client::new(lying(lie), Dialect::V311);
        let body = client.negotiate_body();
        client.ask(Command::Negotiate, body).body
    };
    let honest = negotiate(Lie::KeepAlives);
    assert_eq!((honest[4..6].to_vec(), honest[6]), (vec![0x11, 3], 3));
    assert_eq!(negotiate(Lie::DialectRevision(0x0310))[4..6], [0x10, 3]);
    assert_eq!(negotiate(Lie::NegotiateWithoutPreauth)[6], 2);
    for size in [0, 1, 4095, u32::MAX] {
        assert_eq!(negotiate(Lie::MaxReadSize(size))[32..36], size.to_le_bytes());
    }
    let differing = |lie| negotiate(lie).iter().zip(&honest).filter(|(a, b)| a != b).count();
    assert_eq!(differing(Lie::CipherId(9)), 1);
    assert_eq!(differing(Lie::SigningId(9)), 1);
}
