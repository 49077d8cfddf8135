//! What a transfer of 1 GiB costs, beside Samba's own client and that of libnfs, in one run. The ratios of processor time are asserted with
//! the least of several runs each, since a busy machine only ever adds to it; wall times are only reported.

use pagewire_interop::command::pagewire;
use pagewire_interop::usage::{Usage, measure};
use pagewire_interop::{Lab, nfs_address};
use std::process::Command;
use std::time::Duration;

const FILE: &str = "big-1024";
const ROUNDS: usize = 5;
const ROUNDS_MAX: usize = 20;
/// The command may cost so much more than smbclient.
const CPU_RATIO_MAX: f64 = 1.25;
/// And so much more than nfs-cat.
const NFS_CPU_RATIO_MAX: f64 = 1.10;
const RSS_MAX: u64 = 8 << 20;
/// Page sizes may differ by so much.
const PAGES_RATIO_MAX: f64 = 1.10;

fn smbclient(lab: &Lab, protection: &str, dialect: &str) -> Command {
    let (host, port) = lab.samba.split_once(':').unwrap();
    let mut command = Command::new("smbclient");
    command.args(["-p", port, "-m", dialect, &format!("//{host}/big"), "-U", "lab%lab-password"]);
    command.arg(format!("--client-protection={protection}")).args(["-c", &format!("get {FILE} /dev/null")]);
    command
}

fn get(lab: &Lab, options: &[&str]) -> Command {
    let mut command = pagewire();
    command.arg("get").args(options).args(["-q", "-o", "/dev/null"]);
    command.arg(format!("smb://lab@{}/big/{FILE}", lab.samba));
    command
}

/// The cheapest of several runs of each command, taken in turn so that all meet the same weather. A busy machine gets more
/// rounds, until `enough` or the last: what is too dear stays too dear however often it is run.
fn least(mut commands: Vec<Command>, enough: impl Fn(&[Usage]) -> bool) -> Vec<Usage> {
    let mut best: Vec<Usage> = Vec::new();
    for round in 0..ROUNDS_MAX {
        for (at, command) in commands.iter_mut().enumerate() {
            let usage = measure(command).unwrap();
            assert!(usage.status.success(), "{command:?}: {}", usage.status);
            match best.get_mut(at) {
                None => best.push(usage),
                Some(best) if usage.cpu < best.cpu => *best = usage,
                Some(_) => {}
            }
        }
        if round + 1 >= ROUNDS && enough(&best) {
            break;
        }
    }
    best
}

fn cpu(usage: &Usage) -> f64 {
    usage.cpu.as_secs_f64()
}

/// How much dearer the dearest is than the cheapest.
fn spread(usages: &[Usage]) -> f64 {
    let most = usages.iter().map(cpu).fold(0.0, f64::max);
    most / usages.iter().map(cpu).fold(f64::MAX, f64::min)
}

fn show(what: &str, usage: &Usage) {
    let seconds = |time: Duration| time.as_secs_f64();
    let rss = usage.max_rss as f64 / f64::from(1 << 20);
    println!(
        "{what:28} cpu {:.2} s  wall {:.2} s  peak {rss:.1} MiB",
        seconds(usage.cpu),
        seconds(usage.wall)
    );
}

// One test, because others beside it would disturb the figures.
#[test]
fn a_gibibyte_costs_no_more_than_with_others_and_the_same_at_every_page_size() {
    let Some(lab) = Lab::find() else { return };
    smb(&lab);
    nfs(&lab);
    pages(&lab);
}

fn smb(lab: &Lab) {
    for (name, protection, options) in
        [("plain", "off", vec![]), ("signed", "sign", vec!["--sign"]), ("sealed", "encrypt", vec!["--seal"])]
    {
        let ratio = |usages: &[Usage]| cpu(&usages[1]) / cpu(&usages[0]);
        let commands = vec![smbclient(lab, protection, "SMB3_11"), get(lab, &options)];
        let usages = least(commands, |usages| ratio(usages) <= CPU_RATIO_MAX);
        show(&format!("smbclient {name}"), &usages[0]);
        show(&format!("pagewire {name}"), &usages[1]);
        let ratio = ratio(&usages);
        assert!(ratio <= CPU_RATIO_MAX, "{name}: {ratio:.2} times the processor time of smbclient");
        assert!(usages[1].max_rss < RSS_MAX, "{name}: {} bytes of memory", usages[1].max_rss);
    }
}

fn nfs(lab: &Lab) {
    let Some(address) = &lab.ganesha else {
        println!("skipped: NFS-Ganesha was not started; testing/servers/run --nfs does");
        return;
    };
    let (host, nfs, mount) = nfs_address(address);
    for (version, mount) in [("3", format!("&mountport={mount}")), ("4", String::new())] {
        let url = format!("nfs://{host}/big/{FILE}?version={version}&nfsport={nfs}{mount}");
        let (mut nfs_cat, mut cat) = (Command::new("nfs-cat"), pagewire());
        nfs_cat.arg(&url);
        cat.args(["cat", "-q", &url]);
        let ratio = |usages: &[Usage]| cpu(&usages[1]) / cpu(&usages[0]);
        let usages = least(vec![nfs_cat, cat], |usages| ratio(usages) <= NFS_CPU_RATIO_MAX);
        show(&format!("nfs-cat, version {version}"), &usages[0]);
        show(&format!("pagewire, version {version}"), &usages[1]);
        let ratio = ratio(&usages);
        assert!(ratio <= NFS_CPU_RATIO_MAX, "NFS {version}: {ratio:.2} times the processor time of nfs-cat");
        assert!(usages[1].max_rss < RSS_MAX, "NFS {version}: {} bytes of memory", usages[1].max_rss);
    }
}

fn pages(lab: &Lab) {
    let pages = ["4K", "16K", "64K"];
    let at = |page: &&str| get(lab, &["--vers", "2.0.2", "--page", page]);
    let usages = least(pages.iter().map(at).collect(), |usages| spread(usages) <= PAGES_RATIO_MAX);
    for (page, usage) in pages.iter().zip(&usages) {
        show(&format!("pagewire 2.0.2, page {page}"), usage);
    }
    let spread = spread(&usages);
    assert!(spread <= PAGES_RATIO_MAX, "page sizes differ by {spread:.2}");
}
