//! Connections that are kept while nothing is asked: each sign of life is one round trip, and all goes on afterwards.

use pagewire::smb::{Dialect, Dialects, Policy};
use pagewire::{Connect, Keepalive, Protocol, Stat};
use pagewire_interop::{Lab, Options, Session, with_new_nfs3, with_new_nfs4, with_new_session};

/// More than any server gives credits, and than a session has slots.
const TIMES: u64 = 600;

#[track_caller]
fn is_kept<P: Protocol>(session: &mut Session<'_, P>, path: &str, costs: u64, what: &str) {
    session.run(&mut Keepalive::new()).unwrap();
    assert_eq!(session.client.counters().requests, 0, "{what}: it does not connect");
    session.run(&mut Connect::new()).unwrap_or_else(|error| panic!("{what}: {error}"));
    let len = session.run(&mut Stat::new(path)).unwrap().len;
    let before = *session.client.counters();
    for _ in 0..TIMES {
        session.run(&mut Keepalive::new()).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    let after = *session.client.counters();
    assert_eq!(after.requests - before.requests, costs * TIMES, "{what}");
    assert_eq!(u64::from(after.round_trips - before.round_trips), costs * TIMES, "{what}");
    assert_eq!(session.run(&mut Stat::new(path)).unwrap().len, len, "{what}");
}

#[test]
fn smb_connections_are_kept_by_echo() {
    let Some(lab) = Lab::find() else { return };
    let ksmbd = lab.ksmbd.as_deref();
    if ksmbd.is_none() {
        println!("skipped: ksmbd was not started; testing/servers/run --nfs --kernel does");
    }
    for address in [Some(&*lab.samba), Some(&*lab.signed), Some(&*lab.tight), ksmbd].into_iter().flatten() {
        for dialect in Dialect::ALL {
            if dialect == Dialect::Smb202 && Some(address) == ksmbd {
                continue; // It has none.
            }
            let plain = Options { dialects: Dialects::only(dialect), ..Options::new(address) };
            let mut ways = vec![plain.clone(), Options { sign: Policy::Always, ..plain.clone() }];
            if dialect >= Dialect::Smb300 {
                ways.push(Options { seal: Policy::Always, ..plain });
            }
            for options in ways {
                let what = format!("{options:?}");
                // ksmbd signs and seals no reply to ECHO, and so it is asked for none.
                let is_protected = (options.sign, options.seal) != (Policy::IfNeeded, Policy::IfNeeded);
                let costs = u64::from(!is_protected || Some(address) != ksmbd);
                with_new_session::<4096, 8, _>(&options, |session| {
                    is_kept(session, "size-65537", costs, &what)
                })
                .unwrap();
            }
        }
    }
}

#[test]
fn nfs_connections_are_kept_by_what_each_version_has_for_it() {
    let Some(lab) = Lab::find() else { return };
    for (server, address) in [("Ganesha", lab.ganesha), ("nfsd", lab.nfsd)] {
        let Some(address) = address else {
            println!("skipped: {server} was not started; testing/servers/run --nfs --kernel does");
            continue;
        };
        let path = "/export/size-65537";
        with_new_nfs3::<4096, 8, _>(&address, "/export", |session| is_kept(session, path, 1, server))
            .unwrap();
        for minor in 0..=2 {
            let what = format!("{server} 4.{minor}");
            with_new_nfs4::<4096, 8, _>(&address, Some(minor), |session| is_kept(session, path, 1, &what))
                .unwrap();
        }
    }
}
