//! What is open on the server, and which stateid is good for what.

use crate::asker::{ANONYMOUS, Asked, Asker, BYPASS, Told, lookup, op, read, root};
use pagewire_hostile_nfs::v4::{Config, Model, op, status};
use pagewire_hostile_nfs::{Kind, Link};

fn config() -> Config {
    let mut config = Config::default();
    let tree = config.tree.pattern("/export/f", 1000).pattern("/export/g", 10);
    config.tree = tree.with("/export/link", Kind::Link("f"));
    config
}

/// `op` of a file.
fn of(asker: &mut Asker, name: &str, asked: Asked) -> Told {
    asker.within(vec![root(), lookup("export"), lookup(name), asked])
}

fn open_fh(owner: &[u8]) -> Asked {
    op(op::OPEN, |x| x.words(&[0, 0x0401, 0]).hyper(0).opaque(owner).words(&[0, 4]))
}

fn open_null(seqid: u32, client: u64, name: &str) -> Asked {
    op(op::OPEN, |x| {
        x.words(&[seqid, 1, 0]).hyper(client).opaque(b"owner").words(&[0, 0]).opaque(name.as_bytes())
    })
}

fn close(seqid: u32, stateid: &[u8]) -> Asked {
    op(op::CLOSE, |x| x.word(seqid).raw(stateid))
}

#[test]
fn special_stateids_read_unless_the_server_wants_an_open() {
    for minor in 0..3 {
        for (takes_bypass, takes_anonymous) in [(true, true), (false, true), (false, false)] {
            let mut asker = Asker::connected(Config { takes_bypass, takes_anonymous, ..config() }, minor);
            for (stateid, takes) in [(BYPASS, takes_bypass), (ANONYMOUS, takes_anonymous)] {
                let expected = if takes { status::OK } else { status::BAD_STATEID };
                assert_eq!(of(&mut asker, "f", read(op::READ, stateid, 0, 9)).status, expected);
                if minor == 2 {
                    assert_eq!(of(&mut asker, "f", read(op::READ_PLUS, stateid, 0, 9)).status, expected);
                    let seek = of(&mut asker, "f", read(op::SEEK, stateid, 0, 0));
                    assert_eq!(seek.status, status::BAD_STATEID);
                }
            }
        }
    }
}

#[test]
fn an_open_in_a_session_reads_its_file_and_no_other_until_it_is_closed() {
    for minor in 1..3 {
        let config = Config { takes_bypass: false, takes_anonymous: false, ..config() };
        let mut asker = Asker::connected(config, minor);
        let opened = of(&mut asker, "f", open_fh(b"owner"));
        assert_eq!(opened.status, status::OK);
        // No delegation, since none was wanted.
        assert_eq!(opened.words()[11..], [3, 0]);
        let stateid = opened.last[..16].to_vec();
        let reads =
            |asker: &mut Asker, name, stateid: &[u8]| of(asker, name, read(op::READ, stateid, 0, 9)).status;
        assert_eq!(reads(&mut asker, "f", &stateid), status::OK);
        assert_eq!(reads(&mut asker, "g", &stateid), status::BAD_STATEID);
        let again = of(&mut asker, "f", open_fh(b"owner")).last[..16].to_vec();
        assert_eq!((&again[4..], again[3]), (&stateid[4..], 2), "one owner, one stateid");
        assert_eq!(reads(&mut asker, "f", &stateid), status::OLD_STATEID);
        let latest = [&[0; 4], &stateid[4..]].concat();
        assert_eq!(reads(&mut asker, "f", &latest), status::OK);
        assert_eq!(of(&mut asker, "f", open_fh(b"other")).status, status::OK);
        assert_eq!(asker.model.open_files(), 2);
        assert_eq!(of(&mut asker, "f", close(0, &latest)).status, status::OK);
        assert_eq!(reads(&mut asker, "f", &latest), status::BAD_STATEID);
        assert_eq!(asker.model.open_files(), 1);
    }
}

#[test]
fn the_current_stateid_is_that_of_the_open_in_front() {
    let config = Config { takes_bypass: false, takes_anonymous: false, ..config() };
    let mut asker = Asker::connected(config, 1);
    let current = [&[0, 0, 0, 1][..], &[0; 12]].concat();
    let path = [root(), lookup("export")];
    let asked = [&path[..], &[open_null(0, 0, "f"), read(op::READ, &current, 0, 9), close(0, &current)]];
    let told = asker.within(asked.concat());
    assert_eq!((told.status, asker.model.open_files()), (status::OK, 0));
    assert_eq!(of(&mut asker, "f", read(op::READ, &current, 0, 9)).status, status::BAD_STATEID);
}

#[test]
fn what_is_no_file_is_not_opened() {
    let mut asker = Asker::connected(config(), 1);
    for (name, expected) in [("f", status::OK), ("none", status::NOENT), ("link", status::SYMLINK)] {
        let told = asker.within(vec![root(), lookup("export"), open_null(0, 0, name)]);
        assert_eq!(told.status, expected, "{name}");
    }
    assert_eq!(asker.within(vec![root(), open_null(0, 0, "export")]).status, status::ISDIR);
    assert_eq!(of(&mut asker, "f", open_null(0, 0, "x")).status, status::NOTDIR);
}

/// Says who the client is, as minor version 0 does.
fn introduced(asker: &mut Asker) -> u64 {
    let told = asker.ask(&[op(op::SETCLIENTID, |x| {
        x.hyper(1).opaque(b"raw").word(0).opaque(b"tcp").opaque(b"0.0.0.0.0.0").word(0)
    })]);
    let confirmed = asker.ask(&[op(op::SETCLIENTID_CONFIRM, |x| x.raw(&told.last))]);
    assert_eq!(confirmed.status, status::OK);
    u64::from_be_bytes(told.last[..8].try_into().unwrap())
}

#[test]
fn minor_version_0_has_clients_confirmed_owners_and_numbered_requests() {
    let config = Config { takes_bypass: false, takes_anonymous: false, ..config() };
    let mut asker = Asker::connected(config, 0);
    let open = |asker: &mut Asker, seqid, client| {
        asker.ask(&[root(), lookup("export"), open_null(seqid, client, "f")])
    };
    assert_eq!(open(&mut asker, 1, 99).status, status::STALE_CLIENTID);
    let client = introduced(&mut asker);
    let renew = |asker: &mut Asker, id| asker.ask(&[op(op::RENEW, |x| x.hyper(id))]).status;
    assert_eq!((renew(&mut asker, client), renew(&mut asker, 5)), (status::OK, status::STALE_CLIENTID));

    let opened = open(&mut asker, 7, client);
    let (stateid, flags) = (opened.last[..16].to_vec(), opened.words()[9]);
    assert_eq!(flags, 2, "it is to be confirmed");
    let reads = |asker: &mut Asker, stateid: &[u8]| of(asker, "f", read(op::READ, stateid, 0, 9)).status;
    assert_eq!(reads(&mut asker, &stateid), status::BAD_STATEID);
    let confirm = |seqid| op(op::OPEN_CONFIRM, |x| x.raw(&stateid).word(seqid));
    assert_eq!(of(&mut asker, "f", confirm(9)).status, status::BAD_SEQID);
    let confirmed = of(&mut asker, "f", confirm(8)).last[..16].to_vec();
    assert_eq!(reads(&mut asker, &stateid), status::OLD_STATEID);
    assert_eq!(reads(&mut asker, &confirmed), status::OK);
    assert_eq!(of(&mut asker, "f", close(8, &confirmed)).status, status::BAD_SEQID);
    assert_eq!(of(&mut asker, "f", close(9, &confirmed)).status, status::OK);
    assert_eq!(open(&mut asker, 10, client).words()[9], 0, "the owner is known");
}

#[test]
fn after_a_restart_stateids_are_stale() {
    for minor in 0..3 {
        let mut asker = Asker::connected(config(), minor);
        let open = match minor {
            0 => {
                let client = introduced(&mut asker);
                asker.ask(&[root(), lookup("export"), open_null(1, client, "f")])
            }
            _ => of(&mut asker, "f", open_fh(b"owner")),
        };
        asker.model.restart();
        if minor > 0 {
            asker.connect(1);
        }
        let told = of(&mut asker, "f", read(op::READ, &open.last[..16], 0, 9));
        assert_eq!(told.status, status::STALE_STATEID);
    }
}

#[test]
fn nothing_is_opened_before_reclaims_are_complete() {
    let mut asker = Asker::new(config(), 1);
    let introduced = asker.ask(&[crate::asker::exchange_id(1)]).words();
    let client = u64::from(introduced[0]) << 32 | u64::from(introduced[1]);
    let created = asker.ask(&[crate::asker::create_session(client, introduced[2], 1)]);
    asker.session = created.last[..16].to_vec();
    assert_eq!(of(&mut asker, "f", open_fh(b"owner")).status, status::GRACE);
}

#[test]
fn only_its_port_is_listened_to() {
    let mut model = Model::new(config());
    assert!(model.connect(2049) && !model.connect(2048));
}
