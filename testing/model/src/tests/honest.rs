use super::{config, lying};
use crate::client::{
    Client, SAME_FILE, close_body, create_body, info_body, read_body, tree_body, validate_body,
};
use crate::header::{FLAG_RELATED, Header};
use crate::{Cipher, Command, Config, Dialect, Lie, Sealing, Signing, Status, Tree, pattern};

const DIRECTORY: u32 = 1;
const NOT_DIRECTORY: u32 = 0x40;

#[test]
fn every_dialect_reads_a_file_and_signs_every_reply() {
    for dialect in Dialect::ALL {
        let mut client = Client::connected(config(), dialect);
        let file = client.ask(Command::Create, create_body("f", NOT_DIRECTORY)).file_id();
        let reply = client.ask(Command::Read, read_body(file, 10, 100));
        assert!(reply.verified, "{dialect:?}");
        assert_eq!(reply.data(), pattern(0, 10, 100));
        assert_eq!(client.ask(Command::Read, read_body(file, 950, 100)).data(), pattern(0, 950, 50));
        assert_eq!(client.ask(Command::Read, read_body(file, 1000, 1)).status(), Status::END_OF_FILE);
        assert_eq!(client.model.open_handles(), 1);
        assert_eq!(client.ask(Command::Close, close_body(file)).status(), Status::SUCCESS);
        assert_eq!(client.model.open_handles(), 0);
        assert_eq!(client.ask(Command::Read, read_body(file, 0, 1)).status(), Status::FILE_CLOSED);
        assert!(client.model.mic_verified());
    }
}

#[test]
fn every_cipher_and_every_signing_algorithm_of_3_1_1_works() {
    for cipher in [Cipher::Aes128Ccm, Cipher::Aes128Gcm, Cipher::Aes256Ccm, Cipher::Aes256Gcm] {
        for signing in [Signing::HmacSha256, Signing::AesCmac, Signing::AesGmac] {
            let config = Config { ciphers: vec![cipher], signing: vec![signing], ..config() };
            let mut client = Client::connected(config, Dialect::V311);
            assert!(client.ask(Command::Create, create_body("f", 0)).verified);
            client.seal = true;
            let reply = client.ask(Command::Create, create_body("f", 0));
            assert!(reply.sealed && reply.status() == Status::SUCCESS, "{cipher:?} {signing:?}");
        }
    }
}

#[test]
fn any_chunking_of_the_input_gives_the_same_output() {
    let (mut sent, mut expected) = (Vec::new(), Vec::new());
    let mut client = Client::new(config(), Dialect::V311);
    let negotiate = client.negotiate_body();
    for (command, body) in [(Command::Negotiate, negotiate), (Command::Echo, vec![4, 0, 0, 0])] {
        let frame = client.encode(&[(command, body)], false);
        sent.extend((frame.len() as u32).to_be_bytes());
        sent.extend(&frame);
        client.transmit(&frame);
        expected.extend(client.model.output());
    }
    for size in 1..sent.len() {
        let mut model = crate::Model::new(config());
        sent.chunks(size).for_each(|chunk| model.input(chunk));
        let mut output = Vec::new();
        while let piece @ [_, ..] = &model.output_up_to(size)[..] {
            output.extend_from_slice(piece);
        }
        assert_eq!(output, expected, "chunks of {size}");
    }
}

#[test]
fn a_related_chain_from_tree_connect_to_close_works_in_one_frame() {
    for seal in [false, true] {
        let mut client = Client::new(config(), Dialect::V311);
        client.authenticate();
        (client.sign, client.seal) = (true, seal);
        let chain = [
            (Command::TreeConnect, tree_body()),
            (Command::Create, create_body("f", 0)),
            (Command::Read, read_body(SAME_FILE, 0, 64)),
            (Command::Close, close_body(SAME_FILE)),
        ];
        let replies = client.chain(&chain);
        assert_eq!(replies.len(), 4);
        assert!(replies.iter().all(|reply| reply.status() == Status::SUCCESS && reply.sealed == seal));
        assert!(replies.iter().all(|reply| reply.verified != seal));
        assert!(replies[1..].iter().all(|reply| reply.header.is(FLAG_RELATED)));
        assert_eq!(replies[2].data(), pattern(0, 0, 64));
        assert_eq!(client.model.frames_out(), 4);
        assert_eq!(client.model.log().iter().filter(|record| record.related).count(), 3);
    }
}

#[test]
fn a_failed_create_takes_its_chain_with_it_and_a_failed_read_does_not() {
    let mut client = Client::connected(config(), Dialect::V302);
    let tail = [(Command::Read, read_body(SAME_FILE, 1000, 64)), (Command::Close, close_body(SAME_FILE))];
    let chain = |name| [&[(Command::Create, create_body(name, 0))][..], &tail].concat();
    let statuses: Vec<Status> = client.chain(&chain("no")).iter().map(|reply| reply.status()).collect();
    assert_eq!(statuses, [Status::OBJECT_NAME_NOT_FOUND; 3]);
    let statuses: Vec<Status> = client.chain(&chain("f")).iter().map(|reply| reply.status()).collect();
    assert_eq!(statuses, [Status::SUCCESS, Status::END_OF_FILE, Status::SUCCESS]);
}

#[test]
fn create_says_exactly_why_it_refuses() {
    let mut client = Client::connected(config(), Dialect::V210);
    let cases = [
        ("no", 0, Status::OBJECT_NAME_NOT_FOUND),
        ("no\\x", 0, Status::OBJECT_PATH_NOT_FOUND),
        ("f\\x", 0, Status::OBJECT_PATH_NOT_FOUND),
        ("d", NOT_DIRECTORY, Status::FILE_IS_A_DIRECTORY),
        ("f", DIRECTORY, Status::NOT_A_DIRECTORY),
        ("secret", 0, Status::ACCESS_DENIED),
        ("link", 0, Status::STOPPED_ON_SYMLINK),
        ("link\\x", 0, Status::STOPPED_ON_SYMLINK),
        ("\\f", 0, Status::INVALID_PARAMETER),
        ("d/x", 0, Status::OBJECT_NAME_INVALID),
        ("D\\X", 0, Status::SUCCESS),
        ("", DIRECTORY, Status::SUCCESS),
    ];
    for (name, options, status) in cases {
        assert_eq!(client.ask(Command::Create, create_body(name, options)).status(), status, "{name}");
    }
}

#[test]
fn a_link_tells_where_it_leads_and_what_is_left_of_the_path() {
    for (dialect, context) in [(Dialect::V302, 0), (Dialect::V311, 8)] {
        let mut client = Client::connected(config(), dialect);
        let body = client.ask(Command::Create, create_body("link\\x", 0)).body;
        assert_eq!(body[2] == 1, context > 0);
        let link = &body[8 + context..];
        assert_eq!(link[4..8], *b"SYML");
        assert_eq!(link[14..16], [4, 0], "unparsed: a separator and one letter");
        assert_eq!(link[28..30], *b"d\0");
    }
}

#[test]
fn a_message_id_that_was_not_granted_hangs_up() {
    let mut client = Client::connected(config(), Dialect::V311);
    client.next_id += 5000;
    client.send(&[(Command::Echo, vec![4, 0, 0, 0])]);
    assert!(client.model.is_closed());
    assert!(client.model.output().is_empty());
}

#[test]
fn credits_stay_below_the_cap_and_large_reads_must_be_paid() {
    let config = Config { credits_max: 20, tree: Tree::new().pattern("f", 1 << 20), ..config() };
    let mut client = Client::connected(config, Dialect::V311);
    let file = client.ask(Command::Create, create_body("f", 0)).file_id();
    assert_eq!(client.model.credits(), 20);
    let reply = client.ask(Command::Read, read_body(file, 0, 200_000));
    assert_eq!((reply.data().len(), reply.header.credits), (200_000, 4));
    let mut frame = client.encode(&[(Command::Read, read_body(file, 0, 200_000))], false);
    client.next_id -= 3;
    frame[6] = 1;
    (client.sign, frame[16]) = (true, 0);
    client.transmit(&frame);
    assert_eq!(client.replies()[0].status(), Status::INVALID_PARAMETER);
}

#[test]
fn a_read_above_the_limit_is_refused_and_2_0_2_has_64_kib() {
    let config = Config { tree: Tree::new().pattern("f", 1 << 20), ..config() };
    for (dialect, limit) in [(Dialect::V202, 65536), (Dialect::V210, 1 << 20)] {
        let mut client = Client::connected(config.clone(), dialect);
        let file = client.ask(Command::Create, create_body("f", 0)).file_id();
        assert_eq!(client.ask(Command::Read, read_body(file, 0, limit)).data().len(), limit as usize);
        let refused = client.ask(Command::Read, read_body(file, 0, limit + 1));
        assert_eq!(refused.status(), Status::INVALID_PARAMETER);
    }
}

#[test]
fn unsigned_requests_are_refused_where_signing_is_required() {
    let mut client = Client::connected(Config { signing_required: true, ..config() }, Dialect::V311);
    client.sign = false;
    assert_eq!(client.ask(Command::Create, create_body("f", 0)).status(), Status::ACCESS_DENIED);
    client.sign = true;
    let mut frame = client.encode(&[(Command::Create, create_body("f", 0))], false);
    frame[48] ^= 1;
    client.transmit(&frame);
    assert_eq!(client.replies()[0].status(), Status::ACCESS_DENIED);
}

#[test]
fn plain_requests_are_refused_where_sealing_is_required() {
    for sealing in [Sealing::Session, Sealing::Share] {
        let mut client = Client::new(Config { sealing, ..config() }, Dialect::V311);
        let flags = client.authenticate().body[2];
        assert_eq!(flags == 4, sealing == Sealing::Session);
        (client.sign, client.seal) = (true, true);
        client.connect_tree();
        client.seal = false;
        assert_eq!(client.ask(Command::Create, create_body("f", 0)).status(), Status::ACCESS_DENIED);
        client.seal = true;
        assert_eq!(client.ask(Command::Create, create_body("f", 0)).status(), Status::SUCCESS);
    }
}

#[test]
fn queries_have_the_sizes_of_the_standard() {
    let mut client = Client::connected(config(), Dialect::V300);
    let file = client.ask(Command::Create, create_body("f", 0)).file_id();
    let cases =
        [(1, 4, 40), (1, 5, 24), (1, 6, 8), (1, 18, 104), (1, 34, 56), (2, 3, 24), (2, 7, 32), (2, 11, 28)];
    for (kind, class, len) in cases {
        let reply = client.ask(Command::QueryInfo, info_body(file, kind, class, 1000));
        assert_eq!((reply.status(), reply.body.len()), (Status::SUCCESS, 8 + len), "{kind} {class}");
        let short = client.ask(Command::QueryInfo, info_body(file, kind, class, 7));
        assert_eq!(short.status(), Status::INFO_LENGTH_MISMATCH);
    }
    let cut = client.ask(Command::QueryInfo, info_body(file, 1, 18, 101));
    assert_eq!((cut.status(), cut.body.len()), (Status::BUFFER_OVERFLOW, 109));
}

#[test]
fn validate_negotiate_info_agrees_unless_it_lies_and_hangs_up_on_a_stranger() {
    for (config, revision) in [(config(), Dialect::V302), (lying(Lie::ValidateDowngrade), Dialect::V202)] {
        let mut client = Client::connected(config, Dialect::V302);
        let body = validate_body(&client.negotiate_body(), 4);
        let reply = client.ask(Command::Ioctl, body.clone());
        assert!(reply.verified);
        assert_eq!(reply.body[48 + 22..][..2], (revision as u16).to_le_bytes());
        let changed = [&body[..body.len() - 1], &[9]].concat();
        client.send(&[(Command::Ioctl, changed)]);
        assert!(client.model.is_closed());
    }
}

#[test]
fn the_log_tells_command_charge_status_and_protection() {
    let mut client = Client::connected(config(), Dialect::V311);
    client.seal = true;
    client.ask(Command::Create, create_body("no", 0));
    let record = *client.model.log().last().unwrap();
    assert_eq!((record.command, record.message_id), (Command::Create, client.next_id - 1));
    assert_eq!((record.status, record.credit_charge), (Status::OBJECT_NAME_NOT_FOUND, 1));
    assert_eq!((record.sealed, record.signed, record.related), (true, false, false));
    assert_eq!(client.model.requests(Command::SessionSetup), 2);
    assert_eq!(client.model.frames_in(), 5);
}

#[test]
fn log_off_closes_everything_and_is_signed_with_the_key_that_goes() {
    let mut client = Client::connected(config(), Dialect::V311);
    client.ask(Command::Create, create_body("f", 0));
    assert!(client.ask(Command::Logoff, vec![4, 0, 0, 0]).verified);
    assert_eq!((client.model.open_handles(), client.model.sessions()), (0, 0));
    assert_eq!(client.ask(Command::TreeConnect, tree_body()).status(), Status::USER_SESSION_DELETED);
}

#[test]
fn no_input_panics_whatever_byte_of_a_request_is_wrong() {
    let chain = [(Command::Create, create_body("f", 0)), (Command::Read, read_body(SAME_FILE, 0, 10))];
    let len = Client::connected(config(), Dialect::V210).encode(&chain, true).len();
    for at in 0..len {
        for value in [0, 0x7F, 0x80, 0xFF] {
            let mut client = Client::connected(config(), Dialect::V210);
            client.sign = false;
            let mut frame = client.encode(&chain, true);
            frame[at] = value;
            client.transmit(&frame);
            client.transmit(&frame[..at]);
            assert!(Header::decode(&frame).is_err() || client.model.frames_in() > 4);
        }
    }
}
