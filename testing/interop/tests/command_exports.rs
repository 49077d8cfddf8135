//! `pagewire exports` against real NFS servers, and the port mapper on its way.

use pagewire_interop::command::pagewire;
use pagewire_interop::namespace::with_ports;
use pagewire_interop::{Lab, nfs_address};
use std::process::{Output, Stdio};

fn run(args: &[&str]) -> Output {
    pagewire().env_remove("PAGEWIRE_PASSWORD").args(args).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What each server exports by MOUNT and to whom, and what of it is in its root with NFS 4 for us.
const GANESHA: ([(&str, &str); 4], [&str; 3]) =
    ([("/big", ""), ("/export", ""), ("/privileged", ""), ("/scratch", "")], ["/big", "/export", "/scratch"]);
const NFSD: ([(&str, &str); 3], [&str; 2]) =
    ([("/denied", "192.0.2.1"), ("/export", "*"), ("/privileged", "*")], ["/export", "/privileged"]);

struct Server {
    name: &'static str,
    address: String,
    exports: &'static [(&'static str, &'static str)],
    in_root: &'static [&'static str],
}

fn servers(lab: &Lab) -> Vec<Server> {
    let known: [(_, _, &[_], &[_]); 2] = [
        ("Ganesha", lab.ganesha.clone(), &GANESHA.0, &GANESHA.1),
        ("nfsd", lab.nfsd.clone(), &NFSD.0, &NFSD.1),
    ];
    let started = known.into_iter().filter_map(|(name, address, exports, in_root)| {
        if address.is_none() {
            println!("skipped: {name} was not started; testing/servers/run --nfs --kernel does");
        }
        Some(Server { name, address: address?, exports, in_root })
    });
    started.collect()
}

/// The lines of the output, sorted: a server has no order that it promises.
fn lines(output: &Output) -> Vec<String> {
    let mut lines: Vec<_> = text(&output.stdout).lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn for_people((path, group): &(&str, &str)) -> String {
    format!("{path:<31} {}", if group.is_empty() { "(everyone)" } else { group })
}

fn as_json((path, group): &(&str, &str)) -> String {
    let hex: String = path.bytes().map(|byte| format!("{byte:02x}")).collect();
    let groups = if group.is_empty() { String::new() } else { format!(r#""{group}""#) };
    format!(r#"{{"version":1,"path":"{path}","raw_path":"{hex}","groups":[{groups}]}}"#)
}

#[test]
fn exports_are_listed_with_their_groups() {
    let Some(lab) = Lab::find() else { return };
    for Server { name, address, exports, .. } in servers(&lab) {
        let (host, nfs, mount) = nfs_address(&address);
        let url = format!("nfs://{host}:{nfs}?mountport={mount}");
        let output = run(&["exports", &url]);
        let expected: Vec<_> = exports.iter().map(for_people).collect();
        assert_eq!((text(&output.stderr), lines(&output)), (String::new(), expected), "{name}");
        let output = run(&["exports", "--json", "--stats", "json", &format!("{url}&version=3")]);
        assert_eq!(lines(&output), exports.iter().map(as_json).collect::<Vec<_>>(), "{name}");
        let stats = text(&output.stderr);
        for field in [r#""command":"exports""#, r#""requests":1,"#, r#""connections":1,"#] {
            assert!(stats.contains(field), "{name}: {field} is missing: {stats}");
        }
    }
}

#[test]
fn nfs_4_lists_its_root_and_says_that_it_is_no_list_of_exports() {
    let Some(lab) = Lab::find() else { return };
    for Server { name, address, in_root, .. } in servers(&lab) {
        let (host, nfs, _) = nfs_address(&address);
        for version in ["4", "4.0", "4.1", "4.2"] {
            let url = format!("nfs://{host}:{nfs}");
            let output = run(&["exports", "--vers", version, &url]);
            let told = text(&output.stderr);
            assert_eq!(lines(&output), in_root, "{name} {version}: {told}");
            assert!(told.contains("note: NFS 4 has no list of exports"), "{name} {version}: {told}");
            let json = text(&run(&["exports", "--vers", version, "--json", &url]).stdout);
            let known = r#""path":"/export","raw_path":"2f6578706f7274","groups":null}"#;
            assert!(json.contains(known), "{name} {version}: {json}");
        }
    }
}

#[test]
fn what_answers_no_mount_is_an_error() {
    let Some(lab) = Lab::find() else { return };
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let output = run(&["exports", &format!("nfs://127.0.0.1?mountport={closed}")]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("version=4"), "{}", text(&output.stderr));
    for Server { name, address, .. } in servers(&lab) {
        // NFS, but not MOUNT.
        let (host, nfs, _) = nfs_address(&address);
        let output = run(&["exports", &format!("nfs://{host}?mountport={nfs}")]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(8), "{name}: {told}");
        assert!(told.contains("EXPORT: PROG_UNAVAIL"), "{name}: {told}");
    }
}

/// The port mapper and what it names are where they always are only in a network of one's own.
#[test]
fn ports_that_are_not_given_are_asked_of_the_port_mapper() {
    let Some(lab) = Lab::find() else { return };
    let (Some(nfsd), Ok(rpcbind)) = (&lab.nfsd, std::env::var("PAGEWIRE_NFSD_RPCBIND")) else {
        println!("skipped: nfsd was not started; testing/servers/run --kernel does");
        return;
    };
    let (host, nfs, mount) = nfs_address(nfsd);
    let elsewhere = |port| format!("{host}:{port}");
    let ports = [(111, rpcbind), (2049, elsewhere(nfs)), (20_048, elsewhere(mount))];
    let outcome = with_ports(&ports, || {
        let output = run(&["exports", "nfs://127.0.0.1"]);
        let expected: Vec<_> = NFSD.0.iter().map(for_people).collect();
        assert_eq!((text(&output.stderr), lines(&output)), (String::new(), expected));
        for url in ["nfs://127.0.0.1/export/size-1", "127.0.0.1:/export/size-1"] {
            let output = run(&["cat", "--uid", "1000", "--gid", "1000", "--stats", "json", url]);
            let stats = text(&output.stderr);
            assert_eq!(output.stdout, std::fs::read(lab.files.join("size-1")).unwrap(), "{stats}");
        }
        let output = run(&["ls", "nfs://127.0.0.1/no/such/export"]);
        let told = text(&output.stderr);
        assert!(told.contains("MNT3ERR_") && told.contains("pagewire exports"), "{told}");
    });
    match outcome {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            println!("skipped: only root may have a network of its own");
        }
        outcome => outcome.unwrap(),
    }
}
