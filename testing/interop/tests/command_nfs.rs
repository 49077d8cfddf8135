//! The command against real NFS servers: what it writes, says and exits with.

use pagewire_interop::command::pagewire;
use pagewire_interop::{Lab, hex, nfs_address};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A server that was started.
struct Server {
    name: &'static str,
    address: String,
    lab: Lab,
}

impl Server {
    fn all() -> Vec<Server> {
        let Some(lab) = Lab::find() else { return Vec::new() };
        let mut servers = Vec::new();
        for (name, address) in [("Ganesha", lab.ganesha.clone()), ("nfsd", lab.nfsd.clone())] {
            match address {
                Some(address) => servers.push(Server { name, address, lab: lab.clone() }),
                None => println!("skipped: {name} was not started; testing/servers/run --nfs --kernel does"),
            }
        }
        servers
    }

    /// What is at `path` of the server. Users of the tests may run as root, whom the servers take for nobody.
    fn url(&self, path: &str) -> String {
        let (host, nfs, mount) = nfs_address(&self.address);
        format!("nfs://{host}:{nfs}{path}?mountport={mount}&uid=1000&gid=1000")
    }

    /// The same with NFS 4, which has one port.
    fn url4(&self, version: &str, path: &str) -> String {
        let (host, nfs, _) = nfs_address(&self.address);
        format!("nfs://{host}:{nfs}{path}?version={version}&uid=1000&gid=1000")
    }

    fn local(&self, path: &str) -> PathBuf {
        self.lab.files.join(path)
    }
}

fn run(args: &[&str]) -> Output {
    pagewire().env_remove("PAGEWIRE_PASSWORD").args(args).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// An empty directory of its own.
fn scratch(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("pagewire-nfs-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir(&dir).unwrap();
    dir
}

/// A number of the stats.
fn number(stats: &str, name: &str) -> u64 {
    let (_, rest) = stats.split_once(&format!(r#""{name}":"#)).unwrap_or_else(|| panic!("{name}: {stats}"));
    rest.split([',', '}']).next().unwrap().parse().unwrap()
}

#[test]
fn get_writes_the_file_and_cat_writes_the_same_to_standard_output() {
    for server in Server::all() {
        let dir = scratch("get");
        let expected = fs::read(server.local("size-1048577")).unwrap();
        let url = server.url("/export/size-1048577");
        let output = run(&["get", &url, "-O", dir.to_str().unwrap()]);
        assert!(output.status.success(), "{}: {}", server.name, text(&output.stderr));
        assert_eq!((output.stdout, output.stderr), (vec![], vec![]), "{}", server.name);
        assert_eq!(fs::read(dir.join("size-1048577")).unwrap(), expected, "{}", server.name);
        assert_eq!(run(&["cat", &url]).stdout, expected, "{}", server.name);
        fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn the_form_of_mount_needs_its_ports_in_options() {
    for server in Server::all() {
        let (host, nfs, mount) = nfs_address(&server.address);
        let options = format!("port={nfs},mountport={mount},uid=1000,gid=1000,vers=3");
        let output = run(&["cat", "--opt", &options, &format!("{host}:/export/size-1")]);
        let expected = fs::read(server.local("size-1")).unwrap();
        assert_eq!((text(&output.stderr), output.stdout), (String::new(), expected), "{}", server.name);
    }
}

#[test]
fn an_export_that_is_not_mounted_takes_no_url_behind_it_along() {
    for server in Server::all() {
        let file = server.url("/export/size-1");
        let expected = fs::read(server.local("size-1")).unwrap();
        let denied = [server.url("/denied/x"), server.url("/denied/y")];
        for urls in [[&denied[0], &file, &denied[1], &file], [&file, &denied[0], &file, &denied[1]]] {
            for options in [&["cat"][..], &["cat", "-v"]] {
                let args: Vec<_> = options.iter().copied().chain(urls.map(String::as_str)).collect();
                let Output { status, stdout, stderr } = run(&args);
                let stderr = text(&stderr);
                assert!(!status.success() && stdout == [&expected[..], &expected].concat(), "{stderr}");
                let failed = |url: &String| stderr.contains(url.split('?').next().unwrap());
                assert!(denied.iter().all(failed), "{stderr}");
            }
        }
    }
}

#[test]
fn one_connection_serves_the_files_of_a_directory_and_another_export_has_its_own() {
    for server in Server::all() {
        let urls = [
            server.url("/export/size-1"),
            server.url("/export/size-65537"),
            server.url("/export/many/file-07"),
        ];
        let elsewhere = server.url("/denied/x");
        let mut args = vec!["cat", "--stats", "json"];
        args.extend(urls.iter().map(String::as_str));
        let output = run(&args);
        let stderr = text(&output.stderr);
        assert_eq!((output.status.code(), number(&stderr, "connections")), (Some(0), 1), "{stderr}");
        args.push(&elsewhere);
        let output = run(&args);
        let stderr = text(&output.stderr);
        assert_eq!((output.status.code(), number(&stderr, "connections")), (Some(9), 2), "{stderr}");
    }
}

#[test]
fn every_kind_of_failure_has_its_exit_code_and_leaves_no_file() {
    for server in Server::all() {
        let dir = scratch("fail");
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (host, nfs, _) = nfs_address(&server.address);
        let url = |path: &str| server.url(path);
        let cases = [
            (url("/export/missing"), &[5][..], "NFS3ERR_NOENT"),
            (url("/export/size-1/x"), &[8], "NFS3ERR_NOTDIR"),
            (url("/no/such/export"), &[5, 8], "MNT3ERR"),
            (url("/denied/size-1"), &[5, 8], "MNT3ERR"),
            (url("/export/wide"), &[8], "directory"),
            (format!("nfs://{host}:{nfs}/export/x?mountport={closed}"), &[4], "refused"),
            (format!("nfs://{host}/export/x?version=4.3"), &[2], "expected an NFS version"),
            (format!("nfs://{host}/export/x?version=4.1&mountport=1"), &[2], "mountport"),
            (format!("nfs://me@{host}/export/x"), &[2], "--uid"),
        ];
        for (url, codes, says) in cases {
            let output = run(&["get", &url, "-o", dir.join("out").to_str().unwrap()]);
            let stderr = text(&output.stderr);
            let code = output.status.code().unwrap();
            assert!(codes.contains(&code), "{} {url}: {code} {stderr}", server.name);
            assert!(stderr.contains(says), "{} {url}: {stderr}", server.name);
            assert_eq!(fs::read_dir(&dir).unwrap().count(), 0, "{url} left a file");
        }
        for option in ["--sign", "--guest", "--sec=none", "--username=me", "--password-command=true"] {
            let output = run(&["ls", option, &url("/export")]);
            let stderr = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{option}: {stderr}");
            assert!(stderr.contains("option of SMB"), "{option}: {stderr}");
        }
        fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn a_privileged_port_is_hinted_at_and_gets_in() {
    for server in Server::all().into_iter().filter(|server| server.name == "Ganesha") {
        let url = server.url("/privileged/size-1");
        let output = run(&["cat", &url]);
        assert_ne!(output.status.code(), Some(0));
        let stderr = text(&output.stderr);
        assert!(stderr.contains("--privileged-port"), "{stderr}");
        // The server itself needs root, so that the tests have it too.
        let output = run(&["cat", "--privileged-port", &url]);
        assert_eq!(output.stdout, fs::read(server.local("size-1")).unwrap(), "{}", text(&output.stderr));
    }
}

#[test]
fn ls_lists_every_name_and_df_and_stat_answer() {
    for server in Server::all() {
        let listing = text(&run(&["ls", &server.url("/export/wide")]).stdout);
        assert_eq!(listing.lines().count(), 1000, "{}", server.name);
        let listing = text(&run(&["ls", "-l", &server.url("/export/links")]).stdout);
        assert!(
            listing.lines().any(|line| line.starts_with("l ") && line.ends_with(" to-small")),
            "{listing}"
        );
        let stat = text(&run(&["stat", "--json", &server.url("/export/size-65537")]).stdout);
        assert!(stat.contains(r#""size":65537"#) && stat.contains("/export/size-65537"), "{stat}");
        let df = run(&["df", &server.url("/export")]);
        assert!(
            df.status.success() && text(&df.stdout).contains("127.0.0.1:/export"),
            "{}",
            text(&df.stdout)
        );
    }
}

#[test]
fn links_are_followed_and_those_that_lead_nowhere_end() {
    for server in Server::all() {
        let small = fs::read(server.local("small.txt")).unwrap();
        // As many as one connection can, so that what a server resolves while it mounts is not all that is tried.
        let output = run(&["cat", &server.url("/export/small.txt"), &server.url("/export/links/to-small")]);
        assert_eq!(text(&output.stderr), "", "{}", server.name);
        assert_eq!(output.stdout, small.repeat(2), "{}", server.name);
        for (path, local) in
            [("to-small", "small.txt"), ("to-many/file-07", "many/file-07"), ("chain-01", "links/chain-01")]
        {
            let output = run(&["cat", &server.url(&format!("/export/links/{path}"))]);
            let expected = fs::read(server.local(local)).unwrap();
            assert_eq!(
                (text(&output.stderr), output.stdout),
                (String::new(), expected),
                "{} {path}",
                server.name
            );
        }
        for (path, says) in [("loop-a", "too many symbolic links"), ("dangling", "NFS3ERR_NOENT")] {
            let output = run(&["cat", &server.url(&format!("/export/links/{path}"))]);
            let stderr = text(&output.stderr);
            assert_eq!(output.status.code(), Some(5), "{} {path}: {stderr}", server.name);
            assert!(stderr.contains(says), "{} {path}: {stderr}", server.name);
        }
    }
}

#[test]
fn sixteen_links_are_followed_and_no_more() {
    // Linux resolves a link that is mounted by itself; with two files their directory is mounted.
    for server in Server::all() {
        for (chain, codes) in [("chain-16", 0), ("chain-17", 9)] {
            let url = server.url(&format!("/export/links/{chain}"));
            let output = run(&["cat", &server.url("/export/small.txt"), &url]);
            assert_eq!(
                output.status.code(),
                Some(codes),
                "{} {chain}: {}",
                server.name,
                text(&output.stderr)
            );
        }
    }
}

#[test]
fn stats_say_what_was_spoken_and_the_page_size_does_not_change_the_requests() {
    for server in Server::all() {
        let (_, sum) = server.lab.sums().into_iter().find(|(name, _)| name == "size-67108864").unwrap();
        let url = server.url("/export/size-67108864");
        let requests = |page: &str| {
            let output = run(&["cat", "--page", page, "--stats", "json", &url]);
            let stats = text(&output.stderr);
            assert_eq!(hex(&Sha256::digest(&output.stdout)), sum, "{} {page}", server.name);
            for field in [r#""protocol":"nfs""#, r#""dialect":"3""#, r#""signing":null"#, r#""exit_code":0"#]
            {
                assert!(stats.contains(field), "{field} is missing: {stats}");
            }
            assert_eq!(number(&stats, "file_bytes"), 64 << 20, "{stats}");
            number(&stats, "requests")
        };
        let by_4k = requests("4K");
        // A server may answer FSINFO behind what was asked after it: then the READs that go out first, sixteen of them, are short.
        let by_64k = requests("64K");
        assert!(by_64k.abs_diff(by_4k) <= 16, "{}: {by_4k} {by_64k}", server.name);
        assert!(by_4k < 300, "{}: {by_4k} requests for 64 MiB", server.name);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for server in Server::all() {
        let mut cat = pagewire();
        cat.args(["cat", &server.url("/export/size-67108864")]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut cat = cat.spawn().unwrap();
        let head =
            Command::new("head").args(["-c", "10"]).stdin(cat.stdout.take().unwrap()).output().unwrap();
        assert_eq!(head.stdout.len(), 10);
        let output = cat.wait_with_output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{}", server.name);
    }
}

/// What is asked for, and what is spoken then.
const NFS4: [(&str, &str); 4] = [("4", "4.2"), ("4.0", "4.0"), ("4.1", "4.1"), ("4.2", "4.2")];

#[test]
fn nfs_4_gets_files_and_says_which_version_it_was() {
    for server in Server::all() {
        let (host, nfs, _) = nfs_address(&server.address);
        let expected = fs::read(server.local("size-1048577")).unwrap();
        for (version, spoken) in NFS4 {
            let what = format!("{} {version}", server.name);
            let dir = scratch("get4");
            let url = server.url4(version, "/export/size-1048577");
            let output = run(&["get", "--stats", "json", &url, "-O", dir.to_str().unwrap()]);
            let stats = text(&output.stderr);
            assert!(output.status.success(), "{what}: {stats}");
            let dialect = format!(r#""dialect":"{spoken}""#);
            assert!(stats.contains(r#""protocol":"nfs""#) && stats.contains(&dialect), "{what}: {stats}");
            assert_eq!(fs::read(dir.join("size-1048577")).unwrap(), expected, "{what}");
            fs::remove_dir_all(dir).unwrap();
            // The spellings of mount, and several files over one connection.
            let options = match version.split_once('.') {
                Some((major, minor)) => format!("nfsvers={major},minorversion={minor}"),
                None => format!("vers={version}"),
            };
            let options = format!("{options},port={nfs},uid=1000,gid=1000");
            let (one, other) = (format!("{host}:/export/size-1"), format!("{host}:/export/many/file-07"));
            let output = run(&["cat", "--stats", "json", "--opt", &options, &one, &other]);
            let both =
                [fs::read(server.local("size-1")).unwrap(), fs::read(server.local("many/file-07")).unwrap()];
            let stats = text(&output.stderr);
            assert_eq!(output.stdout, both.concat(), "{what}: {stats}");
            assert!(number(&stats, "connections") == 1 && stats.contains(&dialect), "{what}: {stats}");
        }
    }
}

#[test]
fn nfs_4_lists_stats_and_tells_the_space() {
    for server in Server::all() {
        for (version, _) in NFS4 {
            let what = format!("{} {version}", server.name);
            let output = run(&["ls", &server.url4(version, "/export/wide")]);
            assert_eq!(text(&output.stdout).lines().count(), 1000, "{what}: {}", text(&output.stderr));
            let output = run(&["ls", &server.url4(version, "/")]);
            assert!(text(&output.stdout).lines().any(|line| line.starts_with("export")), "{what}");
            let stat = text(&run(&["stat", "--json", &server.url4(version, "/export/size-65537")]).stdout);
            assert!(stat.contains(r#""size":65537"#), "{what}: {stat}");
            let df = run(&["df", &server.url4(version, "/export")]);
            assert!(df.status.success(), "{what}: {}", text(&df.stderr));
            assert!(text(&df.stdout).contains("127.0.0.1:/"), "{what}: {}", text(&df.stdout));
        }
    }
}

#[test]
fn nfs_4_follows_links_and_says_what_is_missing() {
    for server in Server::all() {
        for (version, _) in NFS4 {
            for (path, local) in [
                ("to-small", "small.txt"),
                ("to-many/file-07", "many/file-07"),
                ("chain-16", "links/chain-16"),
            ] {
                let output = run(&["cat", &server.url4(version, &format!("/export/links/{path}"))]);
                let what = format!("{} {version} {path}: {}", server.name, text(&output.stderr));
                assert_eq!(output.stdout, fs::read(server.local(local)).unwrap(), "{what}");
            }
            for (path, code, says) in [
                ("/export/missing", 5, "NFS4ERR_NOENT"),
                ("/no/such/path", 5, "NFS4ERR_NOENT"),
                ("/export/size-1/x", 8, "NFS4ERR_NOTDIR"),
                ("/export/wide", 8, "directory"),
                ("/export/links/loop-a", 5, "too many symbolic links"),
                ("/export/links/dangling", 5, "NFS4ERR_NOENT"),
            ] {
                let output = run(&["cat", &server.url4(version, path)]);
                let stderr = text(&output.stderr);
                let what = format!("{} {version} {path}: {stderr}", server.name);
                assert_eq!(output.status.code(), Some(code), "{what}");
                assert!(stderr.contains(says), "{what}");
            }
        }
    }
}
