//! What goes wrong says what, and leaves the connection right where it can.

use pagewire::blocking::Failure;
use pagewire::smb::{Dialect, Dialects, Identity, Policy};
use pagewire::{Error, Reason, Refusal, Stat};
use pagewire_interop::{GUEST, Lab, Options, SmbSession, with_session};

#[track_caller]
fn refusal<T: std::fmt::Debug>(
    outcome: Result<T, pagewire_interop::Error>,
) -> (Reason, &'static str, &'static str) {
    match outcome.unwrap_err() {
        Failure::Engine(Error::Refused(Refusal { reason, name, during, .. })) => (reason, name, during),
        other => panic!("a refusal was expected, not {other:?}"),
    }
}

fn connect(options: Options) -> Result<(), pagewire_interop::Error> {
    with_session(&options, |_| ())
}

#[test]
fn a_wrong_password_is_said_to_be_one() {
    let Some(lab) = Lab::find() else { return };
    let identity = Identity::Named { domain: "", user: "lab", password: "not it" };
    for dialect in Dialect::ALL {
        let dialects = Dialects::only(dialect);
        let outcome = connect(Options { identity, dialects, ..Options::new(&lab.samba) });
        assert_eq!(refusal(outcome), (Reason::Authentication, "STATUS_LOGON_FAILURE", "SESSION_SETUP"));
    }
}

#[test]
fn a_named_user_is_not_taken_for_a_guest_in_silence() {
    let Some(lab) = Lab::find() else { return };
    let identity = Identity::Named { domain: "", user: "nobody-we-know", password: "x" };
    let outcome = connect(Options { identity, share: "guest", ..Options::new(&lab.samba) });
    assert_eq!(refusal(outcome), (Reason::Authentication, "SMB2_SESSION_FLAG_IS_GUEST", "SESSION_SETUP"));
}

#[test]
fn shares_that_are_missing_or_closed_are_told_apart() {
    let Some(lab) = Lab::find() else { return };
    let outcome = connect(Options { share: "missing", ..Options::new(&lab.samba) });
    assert_eq!(refusal(outcome), (Reason::NotFound, "STATUS_BAD_NETWORK_NAME", "TREE_CONNECT"));
    let outcome = connect(Options { share: "denied", ..Options::new(&lab.samba) });
    assert_eq!(refusal(outcome), (Reason::Denied, "STATUS_ACCESS_DENIED", "TREE_CONNECT"));
    let outcome = connect(Options { identity: GUEST, ..Options::new(&lab.samba) });
    assert_eq!(refusal(outcome), (Reason::Denied, "STATUS_ACCESS_DENIED", "TREE_CONNECT"));
}

#[test]
fn files_that_cannot_be_read_say_why_and_the_connection_goes_on() {
    let Some(lab) = Lab::find() else { return };
    let cases = [
        ("missing", Reason::NotFound, "STATUS_OBJECT_NAME_NOT_FOUND"),
        ("missing/x", Reason::NotFound, "STATUS_OBJECT_PATH_NOT_FOUND"),
        ("secret.txt", Reason::Denied, "STATUS_ACCESS_DENIED"),
        ("wide", Reason::IsDirectory, "STATUS_FILE_IS_A_DIRECTORY"),
        ("size-1/x", Reason::NotFound, "STATUS_OBJECT_PATH_NOT_FOUND"),
    ];
    with_session(&Options::new(&lab.samba), |session| {
        for (path, reason, name) in cases {
            assert_eq!(refusal(session.open(path)), (reason, name, "CREATE"), "{path}");
            assert_eq!(session.read::<4096>("size-1", 0, 1).unwrap().0.len(), 1);
        }
        assert_eq!(
            refusal(session.names("size-1")),
            (Reason::NotDirectory, "STATUS_NOT_A_DIRECTORY", "CREATE")
        );
        assert_eq!(refusal(session.run(&mut Stat::new("missing"))).0, Reason::NotFound);
        still_reads(session);
    })
    .unwrap();
}

#[test]
fn paths_that_mean_something_else_are_not_sent() {
    let Some(lab) = Lab::find() else { return };
    with_session(&Options::new(&lab.samba), |session| {
        for path in ["../x", "a/./b", "a\0b", "..", "a\\..\\b"] {
            let outcome = session.open(path);
            assert!(matches!(outcome, Err(Failure::Engine(Error::Invalid(_)))), "{path:?}: {outcome:?}");
        }
        still_reads(session);
    })
    .unwrap();
}

fn still_reads(session: &mut SmbSession<'_>) {
    assert_eq!(session.read::<4096>("size-65535", 0, 16).unwrap().0.len(), 65_535);
}

#[test]
fn protection_that_cannot_be_had_is_not_done_without() {
    let Some(lab) = Lab::find() else { return };
    let incompatible = |options| {
        let outcome = connect(options);
        assert!(matches!(outcome, Err(Failure::Engine(Error::Incompatible(_)))), "{outcome:?}");
    };
    let dialects = Dialects::only(Dialect::Smb210);
    incompatible(Options { seal: Policy::Always, dialects, ..Options::new(&lab.samba) });
    incompatible(Options {
        sign: Policy::Always,
        identity: GUEST,
        share: "guest",
        ..Options::new(&lab.samba)
    });
    incompatible(Options {
        seal: Policy::Always,
        identity: GUEST,
        share: "guest",
        ..Options::new(&lab.samba)
    });
}

#[test]
fn nobody_at_all_reads_what_guests_may_read() {
    let Some(lab) = Lab::find() else { return };
    let options = Options { identity: Identity::Anonymous, share: "guest", ..Options::new(&lab.samba) };
    with_session(&options, still_reads).unwrap();
}

#[test]
fn nobody_listening_is_a_failure_of_the_network() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let outcome = connect(Options::new(&closed.to_string()));
    assert!(matches!(outcome, Err(Failure::Transport(_))), "{outcome:?}");
}
