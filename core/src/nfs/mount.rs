//! RFC 1813 appendix I: MOUNT version 3: NULL, MNT, UMNT, EXPORT.
//!
//! Four small messages of one program in one file. NULL has neither arguments nor results; UMNT has no results.

use super::rpc::AUTH_NONE;
use super::v3::fh::Fh;
use super::xdr::UNBOUNDED;
use crate::error::{Error, Reason, Refusal};
use crate::wire::{Reader, Writer, slice};

/// The program.
pub const PROGRAM: u32 = 100_005;
/// Its version: the one with handles of NFSv3.
pub const VERSION: u32 = 3;

/// The most bytes of a path: `MNTPATHLEN`.
pub const PATH_LEN_MAX: u32 = 1024;
/// The most bytes of a group's name: `MNTNAMLEN`. Servers that put more there exist, so it is no bound of what is
/// decoded.
pub const NAME_LEN_MAX: u32 = 255;
/// The most flavours that MNT may list. Servers know about a dozen.
pub const AUTH_FLAVORS_MAX: u32 = 32;

/// A procedure of MOUNT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Procedure(pub u32);

impl Procedure {
    /// `MOUNTPROC3_NULL`: does nothing. Tells that a server is there.
    pub const NULL: Procedure = Procedure(0);
    /// `MOUNTPROC3_MNT`: [`PathRequest`] and [`Response`].
    pub const MNT: Procedure = Procedure(1);
    /// `MOUNTPROC3_UMNT`: [`PathRequest`], no results.
    pub const UMNT: Procedure = Procedure(3);
    /// `MOUNTPROC3_EXPORT`: no arguments, and [`Exports`].
    pub const EXPORT: Procedure = Procedure(5);

    /// The standard's name, or "" where we know none.
    pub const fn name(self) -> &'static str {
        match self {
            Procedure::NULL => "MOUNT NULL",
            Procedure::MNT => "MNT",
            Procedure::UMNT => "UMNT",
            Procedure::EXPORT => "EXPORT",
            Procedure(_) => "",
        }
    }
}

/// How MNT went: `mountstat3`. Open: a peer may use numbers without a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Status(pub u32);

impl Status {
    /// `MNT3_OK`.
    pub const OK: Status = Status(0);
    /// `MNT3ERR_PERM`.
    pub const PERM: Status = Status(1);
    /// `MNT3ERR_NOENT`.
    pub const NOENT: Status = Status(2);
    /// `MNT3ERR_ACCES`: no right to it, or that the source port is not below 1024. NFS-Ganesha says it of everything that
    /// it does not mount: of a file, and of what is not there.
    pub const ACCES: Status = Status(13);
    /// `MNT3ERR_NOTDIR`: most servers mount directories only. Linux mounts files too.
    pub const NOTDIR: Status = Status(20);

    /// The standard's name, or "" where we know none, as without the feature `names`.
    pub const fn name(self) -> &'static str {
        match self.0 {
            _ if cfg!(not(feature = "names")) => "",
            0 => "MNT3_OK",
            1 => "MNT3ERR_PERM",
            2 => "MNT3ERR_NOENT",
            5 => "MNT3ERR_IO",
            13 => "MNT3ERR_ACCES",
            20 => "MNT3ERR_NOTDIR",
            22 => "MNT3ERR_INVAL",
            63 => "MNT3ERR_NAMETOOLONG",
            10004 => "MNT3ERR_NOTSUPP",
            10006 => "MNT3ERR_SERVERFAULT",
            _ => "",
        }
    }

    /// What it means to a caller who asked for something.
    pub const fn reason(self) -> Reason {
        match self.0 {
            1 | 13 => Reason::Denied,
            2 | 63 => Reason::NotFound,
            20 => Reason::NotDirectory,
            10004 => Reason::Unsupported,
            _ => Reason::Other,
        }
    }

    /// What a user could do about it, or "" where we know nothing.
    pub const fn hint(self) -> &'static str {
        match self {
            Status::PERM | Status::ACCES => {
                "the path is not exported to this client, or the server wants a source port below 1024"
            }
            _ => "",
        }
    }

    /// It as the reason why `during` was refused.
    pub const fn refusal(self, during: Procedure) -> Refusal {
        Refusal { reason: self.reason(), code: self.0, name: self.name(), during: during.name() }
    }
}

/// The arguments of MNT and of UMNT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathRequest<'a> {
    /// The path of the export or, where the server allows it, of what is below: a directory or a file.
    pub path: &'a [u8],
}

impl PathRequest<'_> {
    /// Appends the arguments. `Invalid`, and nothing is appended, if the path is longer than [`PATH_LEN_MAX`] or
    /// has a NUL.
    pub fn encode(&self, w: &mut Writer<'_>) -> Result<(), Error> {
        if self.path.len() > PATH_LEN_MAX as usize {
            return Err(Error::Invalid("path too long"));
        }
        if self.path.contains(&0) {
            return Err(Error::Invalid("path"));
        }
        w.opaque(self.path);
        Ok(())
    }
}

/// The most bytes of MNT's reply behind the RPC header: all of it. NULL's and UMNT's have none; EXPORT's is as long
/// as the server's list, and [`EXPORT_REPLY_MIN`] at least.
pub const REPLY_HEAD_MAX: usize = 4 + Fh::LEN_MAX_ON_WIRE + 4 + 4 * AUTH_FLAVORS_MAX as usize;

/// The fewest bytes of EXPORT's reply behind the RPC header: a list without exports.
pub const EXPORT_REPLY_MIN: usize = 4;

/// What MNT gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// What is at the path.
    pub handle: Fh,
    /// How requests about it may be authenticated.
    pub auth_flavors: AuthFlavors<'a>,
}

impl<'a> Response<'a> {
    /// Decodes what follows the RPC header. `Refused` if the status is not [`Status::OK`].
    pub fn decode(body: &'a [u8]) -> Result<Response<'a>, Error> {
        let mut r = Reader::new(body);
        match Status(r.be32("mountres3.fhs_status")?) {
            Status::OK => {}
            status => return Err(Error::Refused(status.refusal(Procedure::MNT))),
        }
        let handle = Fh::decode(&mut r)?;
        const FLAVORS: &str = "mountres3_ok.auth_flavors";
        let count = r.be32(FLAVORS)?;
        if count > AUTH_FLAVORS_MAX {
            return Err(Error::Malformed(FLAVORS));
        }
        let auth_flavors = AuthFlavors { words: r.take((count as usize).saturating_mul(4), FLAVORS)? };
        Ok(Response { handle, auth_flavors })
    }
}

/// A list of flavours, the server's favourite first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthFlavors<'a> {
    words: &'a [u8],
}

impl<'a> AuthFlavors<'a> {
    /// The flavours, at most [`AUTH_FLAVORS_MAX`]; none if the server tells none.
    pub fn iter(&self) -> impl Iterator<Item = u32> + Clone + use<'a> {
        self.words.chunks_exact(4).map(|word| match *word {
            [a, b, c, d] => u32::from_be_bytes([a, b, c, d]),
            _ => 0, // The chunks are exact.
        })
    }

    /// Whether `flavor` may be used: it is listed, or AUTH_NONE is, which stands for "whatever, I do not look at it",
    /// or the server tells nothing.
    pub fn allows(&self, flavor: u32) -> bool {
        self.words.is_empty() || self.iter().any(|listed| listed == flavor || listed == AUTH_NONE)
    }
}

/// The fewest bytes of a group in a list.
const GROUP_LEN_MIN: usize = 8;

/// The exports of EXPORT's results, decoded one by one. Each takes some bytes, so they end; after an error there are
/// no more. A list that is cut ends with an error.
#[derive(Clone, Debug)]
pub struct Exports<'a> {
    rest: Option<Reader<'a>>,
}

impl<'a> Exports<'a> {
    /// Starts at the first export of `body`, which is what follows the RPC header.
    pub const fn new(body: &'a [u8]) -> Exports<'a> {
        Exports { rest: Some(Reader::new(body)) }
    }

    /// How many bytes stand behind the last export that was given. None behind the end of the list or an error.
    pub fn left(&self) -> usize {
        self.rest.as_ref().map_or(0, |r| r.rest().len())
    }
}

impl<'a> Iterator for Exports<'a> {
    type Item = Result<Export<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut r = self.rest.take()?;
        let decoded = r.optional("exports", Export::decode).transpose()?;
        self.rest = decoded.is_ok().then_some(r);
        Some(decoded)
    }
}

/// A path that a server lends, and to whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Export<'a> {
    /// The path.
    pub path: &'a [u8],
    /// To whom: hosts, networks, netgroups, in the server's words. Nobody named is everybody.
    pub groups: Groups<'a>,
}

impl<'a> Export<'a> {
    /// Decodes one, with all its groups.
    fn decode(r: &mut Reader<'a>) -> Result<Export<'a>, Error> {
        let path = r.opaque(PATH_LEN_MAX, "exportnode.ex_dir")?;
        let list = r.rest();
        let start = r.at();
        for _ in 0..=list.len() / GROUP_LEN_MIN {
            let len = r.at().saturating_sub(start);
            if r.optional("exportnode.ex_groups", group)?.is_none() {
                return Ok(Export {
                    path,
                    groups: Groups { list: slice(list, 0, len, "exportnode.ex_groups")? },
                });
            }
        }
        // More groups than there are bytes for: `group` has refused before.
        Err(Error::Malformed("exportnode.ex_groups"))
    }
}

/// Decodes a group's name.
fn group<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Error> {
    r.opaque(UNBOUNDED, "groupnode.gr_name")
}

/// The groups of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Groups<'a> {
    /// Decoded once already; without the end of the list.
    list: &'a [u8],
}

impl<'a> Iterator for Groups<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let mut r = Reader::new(self.list);
        let name = r.optional("exportnode.ex_groups", group).ok()??;
        self.list = r.rest();
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::rpc::{AUTH_SYS, RPCSEC_GSS};
    use super::super::xdr::testing::*;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn a_path() {
        assert_eq!(
            encoded(|w| PathRequest { path: b"/srv/x" }.encode(w).unwrap()),
            [0, 0, 0, 6, b'/', b's', b'r', b'v', b'/', b'x', 0, 0]
        );
    }

    #[test]
    fn a_path_that_no_server_takes_is_not_sent() {
        let longest = [b'/'; 1024];
        assert_eq!(encoded(|w| PathRequest { path: &longest }.encode(w).unwrap()).len(), 1028);
        for (path, why) in [(&[b'/'; 1025][..], "path too long"), (b"/a\0b", "path")] {
            let bytes = encoded(|w| assert_eq!(PathRequest { path }.encode(w), Err(Error::Invalid(why))));
            assert!(bytes.is_empty());
        }
    }

    /// Of a Linux server, of 2017 (`nfs_base.pcap`).
    const RESPONSE: [u8; 36] = [
        0, 0, 0, 0, 0, 0, 0, 0x14, 0x01, 0, 0x06, 0, 0xEA, 0x2C, 0xBB, 0x4A, 0x9E, 0xF7, 0x49, 0x95, 0xA5,
        0x36, 0x56, 0x28, 0xCE, 0xDA, 0x60, 0xA2, 0, 0, 0, 1, 0, 0, 0, 1,
    ];

    #[test]
    fn a_handle_and_how_to_use_it() {
        let response = Response::decode(&RESPONSE).unwrap();
        assert_eq!(response.handle.as_bytes(), &RESPONSE[8..28]);
        assert_eq!(response.auth_flavors.iter().collect::<Vec<_>>(), [AUTH_SYS]);
        assert!(response.auth_flavors.allows(AUTH_SYS));
        assert!(!response.auth_flavors.allows(RPCSEC_GSS) && !response.auth_flavors.allows(AUTH_NONE));
        truncations_refused(&RESPONSE, |body| Response::decode(body).err());
        survives_any_byte(&RESPONSE, |body| {
            Response::decode(body).map(|r| r.auth_flavors.iter().count()).err()
        });
    }

    #[test]
    fn flavours_that_leave_the_choice_to_us() {
        let allows = |flavors: &[u8]| {
            let mut body = with_word(&RESPONSE[..32], 28, flavors.len() as u32);
            flavors.iter().for_each(|&flavor| body.extend([0, 0, 0, flavor]));
            Response::decode(&body).unwrap().auth_flavors.allows(AUTH_SYS)
        };
        assert!(allows(&[]) && allows(&[0]) && allows(&[6, 0]) && allows(&[6, 1]));
        assert!(!allows(&[6]) && !allows(&[2, 3]));
    }

    #[test]
    fn flavours_are_bounded_and_the_longest_reply_is_as_long_as_said() {
        let mut body = Vec::from([0, 0, 0, 0, 0, 0, 0, 64]);
        body.extend([7; 64]);
        body.extend([0, 0, 0, 32]);
        body.extend([0; 128]);
        assert_eq!(body.len(), REPLY_HEAD_MAX);
        assert_eq!(Response::decode(&body).unwrap().auth_flavors.iter().count(), 32);
        body[75] = 33;
        body.extend([0; 4]);
        assert_eq!(Response::decode(&body), Err(Error::Malformed("mountres3_ok.auth_flavors")));
    }

    #[test]
    fn refused() {
        for (code, reason, name) in [
            (1, Reason::Denied, "MNT3ERR_PERM"),
            (2, Reason::NotFound, "MNT3ERR_NOENT"),
            (5, Reason::Other, "MNT3ERR_IO"),
            (13, Reason::Denied, "MNT3ERR_ACCES"),
            (20, Reason::NotDirectory, "MNT3ERR_NOTDIR"),
            (22, Reason::Other, "MNT3ERR_INVAL"),
            (63, Reason::NotFound, "MNT3ERR_NAMETOOLONG"),
            (10004, Reason::Unsupported, "MNT3ERR_NOTSUPP"),
            (10006, Reason::Other, "MNT3ERR_SERVERFAULT"),
            (7, Reason::Other, ""),
        ] {
            let refusal = Refusal { reason, code, name, during: "MNT" };
            assert_eq!(Response::decode(&code.to_be_bytes()), Err(Error::Refused(refusal)));
        }
        assert!(Status::ACCES.hint().contains("1024"));
        assert_eq!(Status::NOTDIR.reason(), Reason::NotDirectory);
        assert_eq!(Status::NOENT.reason(), Reason::NotFound);
    }

    #[rustfmt::skip]
    const EXPORTS: [u8; 76] = [
        0, 0, 0, 1, 0, 0, 0, 2, b'/', b'a', 0, 0,
            0, 0, 0, 1, 0, 0, 0, 10, b'1', b'0', b'.', b'0', b'.', b'0', b'.', b'0', b'/', b'8', 0, 0,
            0, 0, 0, 1, 0, 0, 0, 5, b'@', b'l', b'a', b'b', b's', 0, 0, 0,
            0, 0, 0, 0,
        0, 0, 0, 1, 0, 0, 0, 5, b'/', b'b', 0xC3, 0xA9, b' ', 0, 0, 0,
            0, 0, 0, 0,
        0, 0, 0, 0,
    ];

    fn exports(body: &[u8]) -> Result<Vec<Export<'_>>, Error> {
        Exports::new(body).collect()
    }

    #[test]
    fn a_list_of_exports() {
        let exports = exports(&EXPORTS[..]).unwrap();
        let [a, b] = exports[..] else { panic!() };
        assert_eq!(a.path, b"/a");
        assert_eq!(a.groups.collect::<Vec<_>>(), [&b"10.0.0.0/8"[..], b"@labs"]);
        assert_eq!(b.path, "/bé ".as_bytes());
        assert_eq!(b.groups.count(), 0);
        let mut list = Exports::new(&EXPORTS);
        let left: Vec<_> = std::iter::from_fn(|| list.next().map(|_| list.left())).collect();
        assert_eq!((left, list.left()), (Vec::from([24, 4]), 0));
        truncations_refused(&EXPORTS, |body| Exports::new(body).find_map(Result::err));
        survives_any_byte(&EXPORTS, |body| {
            assert!(Exports::new(body).flatten().map(|export| export.groups.count()).sum::<usize>() < 9);
            None
        });
        assert_eq!(Exports::new(&[0, 0, 0, 0]).count(), 0);
    }

    #[test]
    fn a_list_says_at_each_place_whether_it_goes_on() {
        for (at, field) in [
            (0, "exports"),
            (12, "exportnode.ex_groups"),
            (32, "exportnode.ex_groups"),
            (48, "exportnode.ex_groups"),
            (52, "exports"),
            (68, "exportnode.ex_groups"),
            (72, "exports"),
        ] {
            let body = with_word(&EXPORTS, at, 2);
            assert_eq!(exports(&body), Err(Error::Malformed(field)), "{at}");
            let mut exports = Exports::new(&body);
            exports.by_ref().find(Result::is_err);
            assert_eq!(exports.next(), None);
        }
    }

    #[test]
    fn lengths_are_inside_and_paths_are_bounded() {
        for (at, field) in [(4, "exportnode.ex_dir"), (16, "groupnode.gr_name")] {
            for len in [81, 1025, u32::MAX] {
                assert_eq!(exports(&with_word(&EXPORTS, at, len)), Err(Error::Malformed(field)));
            }
        }
        let mut body = Vec::from([0, 0, 0, 1, 0, 0, 4, 1]);
        body.extend([b'/'; 1028]);
        body.extend([0; 8]);
        assert_eq!(exports(&body), Err(Error::Malformed("exportnode.ex_dir")));
    }

    #[test]
    fn nameless_groups_end_too() {
        let mut body = Vec::from([0, 0, 0, 1, 0, 0, 0, 0]);
        for _ in 0..100 {
            body.extend([0, 0, 0, 1, 0, 0, 0, 0]);
        }
        assert!(exports(&body).is_err());
        body.extend([0; 8]);
        assert_eq!(exports(&body).unwrap()[0].groups.count(), 100);
    }
}
