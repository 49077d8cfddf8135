//! The server keeps to the rules of minor versions and sessions, and forgets when it is told to.

use crate::asker::{self, Asker, create_session, exchange_id, lookup, op, root, sequence};
use pagewire_hostile_nfs::v4::{Channel, Config, Quirk, When, op, status};

fn config() -> Config {
    let mut config = Config::default();
    config.tree = config.tree.pattern("/export/f", 1000);
    config
}

fn quirk(when: When, quirk: Quirk) -> Config {
    Config { quirks: vec![(when, quirk)], ..config() }
}

#[test]
fn a_minor_version_that_is_not_there_is_refused_without_a_result() {
    let mut asker = Asker::new(Config { minors: 1..=1, ..config() }, 2);
    for minor in [0, 2, 3] {
        asker.minor = minor;
        let told = asker.ask(&[exchange_id(1)]);
        assert_eq!((told.status, told.results.len()), (status::MINOR_VERS_MISMATCH, 0));
    }
    asker.minor = 1;
    assert_eq!(asker.ask(&[exchange_id(1)]).status, status::OK);
}

#[test]
fn an_operation_of_a_later_minor_version_is_illegal_and_an_earlier_one_is_not_supported() {
    for (minor, number) in
        [(0, op::SEQUENCE), (0, op::EXCHANGE_ID), (1, op::SEEK), (1, op::READ_PLUS), (2, 99)]
    {
        let told = Asker::connected(config(), minor).within(vec![op(number, |x| x)]);
        assert_eq!(told.results.last(), Some(&(op::ILLEGAL, status::OP_ILLEGAL)), "{minor} {number}");
    }
    for number in [op::SETCLIENTID, op::RENEW, op::OPEN_CONFIRM] {
        let told = Asker::connected(config(), 1).within(vec![op(number, |x| x)]);
        assert_eq!(told.results.last(), Some(&(number, status::NOTSUPP)));
    }
}

#[test]
fn sequence_comes_first_and_once_and_all_else_is_in_a_session_or_alone() {
    let mut asker = Asker::connected(config(), 1);
    assert_eq!(asker.ask(&[root()]).status, status::OP_NOT_IN_SESSION);
    assert_eq!(asker.ask(&[exchange_id(1), root()]).status, status::NOT_ONLY_OP);
    let again = sequence(&asker.session, 9, 0, 0);
    assert_eq!(asker.within(vec![root(), again]).status, status::SEQUENCE_POS);
    let told = asker.within(vec![root(), lookup("export"), lookup("f")]);
    let results = [op::SEQUENCE, op::PUTROOTFH, op::LOOKUP, op::LOOKUP].map(|op| (op, status::OK));
    assert_eq!((told.status, &told.results[..]), (status::OK, &results[..]));
}

#[test]
fn each_slot_counts_its_own_requests_and_no_others() {
    let mut asker = Asker::connected(config(), 1);
    let session = asker.session.clone();
    for (number, slot, highest, expected) in [
        (2, 0, 0, status::OK),
        (2, 0, 0, status::RETRY_UNCACHED_REP),
        (1, 0, 0, status::SEQ_MISORDERED),
        (4, 0, 0, status::SEQ_MISORDERED),
        (1, 1, 1, status::OK),
        (2, 1, 0, status::BAD_HIGH_SLOT),
        (3, 0, 2, status::BAD_HIGH_SLOT),
        (1, 2, 2, status::BADSLOT),
        (3, 0, 1, status::OK),
        (2, 1, 1, status::OK),
    ] {
        let told = asker.ask(&[sequence(&session, number, slot, highest)]);
        assert_eq!(told.status, expected, "{number} {slot} {highest}");
    }
    assert_eq!(asker.ask(&[sequence(&[9; 16], 1, 0, 0)]).status, status::BADSESSION);
}

#[test]
fn what_the_session_has_no_room_for_is_refused() {
    let mut asker = Asker::connected(config(), 1);
    // Eight operations were asked for, and 8192 bytes of reply.
    let many = |count| (0..count).map(|_| root()).collect::<Vec<_>>();
    assert_eq!(asker.within(many(7)).status, status::OK);
    assert_eq!(asker.within(many(8)).status, status::TOO_MANY_OPS);
    asker.number -= 1;
    let long = op(op::LOOKUP, |x| x.opaque(&[b'x'; 4096]));
    assert_eq!(asker.within(vec![root(), long]).status, status::REQ_TOO_BIG);
    asker.number -= 1;
    asker.model.config.tree = config().tree.pattern("/export/g", 10_000);
    let read = |count| asker::read(op::READ, asker::BYPASS, 0, count);
    // In front of the data: 24 of RPC, 12 and a tag of 4, SEQUENCE 44, three of 8, and 16.
    let most = 8192 - 24 - 16 - 44 - 24 - 16;
    let path = || vec![root(), lookup("export"), lookup("g")];
    for (count, expected) in [(most, status::OK), (most + 1, status::REP_TOO_BIG)] {
        let mut asked = path();
        asked.push(read(count));
        assert_eq!(asker.within(asked).status, expected, "{count}");
    }
}

#[test]
fn a_session_takes_no_more_than_both_sides_say() {
    let channel = Channel { request_len_max: 2000, response_len_max: 3000, operations: 4, slots: 1 };
    let mut asker = Asker::new(Config { channel, ..config() }, 1);
    let introduced = asker.ask(&[exchange_id(1)]).words();
    let client = u64::from(introduced[0]) << 32 | u64::from(introduced[1]);
    assert_eq!(asker.ask(&[create_session(client + 1, 0, 9)]).status, status::STALE_CLIENTID);
    assert_eq!(asker.ask(&[create_session(client, introduced[2] + 1, 9)]).status, status::SEQ_MISORDERED);
    let made = asker.ask(&[create_session(client, introduced[2], 9)]).words();
    assert_eq!(made[6..13], [0, 2000, 3000, 0, 4, 1, 0]);
    assert_eq!(made[13..], [0, 4096, 4096, 0, 2, 1, 0]);
}

#[test]
fn a_client_that_starts_again_loses_what_it_had() {
    let mut asker = Asker::connected(config(), 1);
    let before = asker.session.clone();
    asker.connect(2);
    assert_eq!(asker.model.session_count(), 1);
    assert_eq!(asker.ask(&[sequence(&before, 2, 0, 0)]).status, status::BADSESSION);
    let again = asker.within(vec![op(op::RECLAIM_COMPLETE, |x| x.word(0))]);
    assert_eq!(again.status, status::COMPLETE_ALREADY);
}

#[test]
fn sessions_and_clients_are_destroyed_in_this_order() {
    let mut asker = Asker::connected(config(), 1);
    let client = asker.ask(&[exchange_id(1)]).last[..8].to_vec();
    let session = asker.session.clone();
    let destroy = |asker: &mut Asker, op, id: &[u8]| asker.ask(&[self::op(op, |x| x.raw(id))]).status;
    assert_eq!(destroy(&mut asker, op::DESTROY_CLIENTID, &client), status::CLIENTID_BUSY);
    assert_eq!(destroy(&mut asker, op::DESTROY_SESSION, &session), status::OK);
    assert_eq!(destroy(&mut asker, op::DESTROY_SESSION, &session), status::BADSESSION);
    assert_eq!(destroy(&mut asker, op::DESTROY_CLIENTID, &client), status::OK);
    assert_eq!(destroy(&mut asker, op::DESTROY_CLIENTID, &client), status::STALE_CLIENTID);
}

#[test]
fn a_server_that_restarts_has_forgotten_sessions_and_clients() {
    // Connecting takes three requests.
    let mut asker = Asker::connected(quirk(When::Nth(4), Quirk::Restarts), 1);
    let introduced = asker.ask(&[exchange_id(1)]).words();
    let client = u64::from(introduced[0]) << 32 | u64::from(introduced[1]);
    assert_eq!(asker.within(vec![root()]).status, status::BADSESSION);
    assert_eq!(asker.ask(&[create_session(client, introduced[2], 2)]).status, status::STALE_CLIENTID);
    asker.connect(1);
    assert_eq!(asker.within(vec![root()]).status, status::OK);
}

#[test]
fn a_wait_has_an_end_or_none() {
    let refuses = Quirk::Refuses(op::PUTROOTFH, status::DELAY);
    for (when, expected) in [
        (When::First(2), [status::DELAY, status::DELAY, status::OK]),
        (When::From(1), [status::OK, status::DELAY, status::DELAY]),
        (When::Always, [status::DELAY; 3]),
        (When::Nth(1), [status::OK, status::DELAY, status::OK]),
    ] {
        let mut asker = Asker::connected(quirk(when, refuses), 1);
        assert_eq!([(); 3].map(|_| asker.within(vec![root()]).status), expected, "{when:?}");
    }
}

#[test]
fn replies_are_changed_as_the_quirks_say() {
    let told = |quirk| Asker::new(self::quirk(When::Always, quirk), 0).ask(&[root(), lookup("export")]);
    let ok = |op| (op, status::OK);
    assert_eq!(told(Quirk::OtherXid).xid, 0x1_0002);
    assert_eq!(told(Quirk::OtherOperation(1)).results, [ok(op::PUTROOTFH), ok(op::LOOKUP ^ 1)]);
    assert_eq!(told(Quirk::OtherOperation(2)).results, [ok(op::PUTROOTFH), ok(op::LOOKUP)]);
    assert_eq!(told(Quirk::ResultMissing).results, [ok(op::PUTROOTFH)]);
    assert_eq!(told(Quirk::ResultMore).results.len(), 3);
}

#[test]
fn what_was_heard_and_said_is_counted() {
    let mut asker = Asker::connected(config(), 0);
    let path = [root(), lookup("export"), lookup("f"), asker::read(op::READ, asker::ANONYMOUS, 900, 500)];
    let told = asker.ask(&path);
    assert_eq!(told.words()[..2], [1, 100]);
    let counts = asker.model.rpc.counts;
    // 44 of RPC with the mark, tag, minor version, count, the operations, their arguments.
    assert_eq!((counts.requests, counts.bytes_in), (1, 44 + 16 + 4 * 4 + 12 + 8 + 28));
    assert_eq!((counts.bytes_out, counts.file_bytes), (28 + 16 + 4 * 8 + 8 + 100, 100));
    assert_eq!(asker.model.compounds, [path.map(|(op, _)| op)]);
}
