//! `exports`: what an NFS server exports, and to whom.

use super::args::Show;
use super::budget::{EXPORTS_RX_LEN, IN_FLIGHT, Memory};
use super::failure::Failure;
use super::json::{self, ExportJson};
use super::options::NfsVersion;
use super::safe::{self, Reader};
use super::show::{self, Out};
use super::stats::Report;
use super::target::Place;
use super::visit::{Visitor, usage};
use pagewire::Kind;
use std::io::{self, Write};

const SMB: &str =
    "exports are those of an NFS server, nfs://HOST; the shares of an SMB server are not listed";
const PATH: &str = "exports are those of a whole server: leave the path out, nfs://HOST";
const NOTE: &str = "NFS 4 has no list of exports: they are, or lie below, these directories in the root of";

pub fn exports(args: &Show, report: &mut Report) -> Result<(), Failure> {
    let mut visitor = Visitor::new(&args.common, Memory::new(IN_FLIGHT, EXPORTS_RX_LEN)?)?;
    let (url, target) = visitor.parse(&args.url).map_err(usage)?;
    let Place::Nfs(exports) = &target.place else { return Err(usage(SMB.into())) };
    if url.path != "/" {
        return Err(usage(PATH.into()));
    }
    if exports.version != NfsVersion::V3 {
        return in_root(args, report);
    }
    report.stats.lent_memory = visitor.lent();
    let (mut out, reader) = (show::output()?, show::reader());
    let shown = visitor.exports(&target, exports, report, &mut |export| {
        let groups = export.groups.map(|group| String::from_utf8_lossy(group).into_owned());
        line(&mut out, args.json, reader, export.path, Some(groups.collect()))
    });
    show::written(shown, &mut out)
}

/// The directories in the root of an NFS 4 server: the nearest to a list of exports that there is.
fn in_root(args: &Show, report: &mut Report) -> Result<(), Failure> {
    let reader = show::reader();
    show::with_output(&args.url, &args.common, report, |session, url, out| {
        tell!("pagewire: note: {NOTE} {url}");
        let listed = session.list(url, &mut |entry| match entry.attributes.kind {
            Kind::Directory => {
                let path = [b"/", entry.name.raw()].concat();
                line(out, args.json, reader, &path, None)
            }
            _ => Ok(()),
        });
        listed.map(drop)
    })
}

/// One export. Nobody named is everybody; `None` is not known.
fn line(
    out: &mut Out,
    json: bool,
    reader: Reader,
    path: &[u8],
    groups: Option<Vec<String>>,
) -> io::Result<()> {
    let export = ExportJson::new(path, groups);
    if json {
        return json::line(out, &export);
    }
    let path = safe::shown(&export.path, reader);
    match &export.groups {
        None => writeln!(out, "{path}"),
        Some(groups) if groups.is_empty() => writeln!(out, "{path:<31} (everyone)"),
        Some(groups) => writeln!(out, "{path:<31} {}", safe::shown(&groups.join(","), reader)),
    }
}
