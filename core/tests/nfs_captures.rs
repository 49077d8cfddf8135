//! The rooms of RPC, MOUNT and NFSv3 against other people's clients and servers (see `../shared/captures/README.md`).

use std::collections::HashMap;
use std::path::PathBuf;

use pagewire::nfs::rpc::{AuthSys, Call, Credential, Outcome, Reply, reply_head_len};
use pagewire::nfs::v3::directory::{Entries, Listing};
use pagewire::nfs::v3::fattr3::FileType;
use pagewire::nfs::v3::{
    Fh, Procedure, access, fsinfo, fsstat, getattr, lookup, read, readdir, readdirplus, readlink,
};
use pagewire::nfs::{mount, portmap, v3};
use pagewire::wire::Writer;
use pagewire::{Error, Kind};

/// A call, and the reply to it.
struct Exchange {
    call: Vec<u8>,
    reply: Vec<u8>,
}

impl Exchange {
    /// Program, version, procedure.
    fn what(&self) -> (u32, u32, u32) {
        (be32(&self.call, 12), be32(&self.call, 16), be32(&self.call, 20))
    }

    /// What follows the header of the call.
    fn arguments(&self) -> &[u8] {
        let credential = 32 + be32(&self.call, 28) as usize;
        assert_eq!(self.call[credential..credential + 8], [0; 8], "a verifier of nobody");
        &self.call[credential + 8..]
    }

    /// What follows the header of the reply.
    fn results(&self) -> &[u8] {
        &self.reply[Reply::decode(&self.reply).unwrap().results("it").unwrap()..]
    }
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The bytes of an `opaque<>` at `at`, and where what follows it is.
fn opaque(bytes: &[u8], at: usize) -> (&[u8], usize) {
    let len = be32(bytes, at) as usize;
    (&bytes[at + 4..at + 4 + len], at + 4 + len.next_multiple_of(4))
}

/// `bytes` with the padding of the `opaque<>` at `at` cleared: clients put into it whatever was there.
fn cleared(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let (data, end) = opaque(&bytes, at);
    let start = at + 4 + data.len();
    bytes[start..end].fill(0);
    bytes
}

/// The packets of a little-endian Ethernet capture, or `None` (said once) where there are none.
fn packets(file: &str) -> Option<Vec<Vec<u8>>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/captures");
    if !folder.exists() {
        println!("skipped: ../shared/captures is not here");
        return None;
    }
    let pcap = std::fs::read(folder.join(file)).unwrap();
    assert_eq!((le32(&pcap, 0), le32(&pcap, 20) & 0xFFFF), (0xA1B2_C3D4, 1), "little-endian, Ethernet");
    let mut packets = Vec::new();
    let mut rest = &pcap[24..];
    while !rest.is_empty() {
        let (packet, next) = rest[16..].split_at(le32(rest, 8) as usize);
        packets.push(packet.to_vec());
        rest = next;
    }
    Some(packets)
}

/// The RPC messages of packets, over UDP (one a datagram) and TCP (here every record begins with a segment and is one
/// fragment).
fn messages(packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    for packet in packets {
        let ip = &packet[14..];
        let ip = &ip[..u16::from_be_bytes([ip[2], ip[3]]).into()];
        let segment = &ip[usize::from(ip[0] & 0x0F) * 4..];
        if ip[9] == 17 {
            messages.push(segment[8..].to_vec());
            continue;
        }
        let mut data = &segment[usize::from(segment[12] >> 4) * 4..];
        while let Some((mark, rest)) = data.split_first_chunk() {
            let mark = pagewire::nfs::rpc::RecordMark::decode(*mark);
            assert!(mark.last);
            let (record, rest) = rest.split_at(mark.len as usize);
            messages.push(record.to_vec());
            data = rest;
        }
    }
    messages
}

/// Calls with their replies, in the order of the replies.
fn exchanges(file: &str) -> Option<Vec<Exchange>> {
    let mut calls = HashMap::new();
    let mut exchanges = Vec::new();
    for message in messages(&packets(file)?) {
        let xid = be32(&message, 0);
        if be32(&message, 4) == 0 {
            calls.insert(xid, message);
        } else {
            exchanges.push(Exchange { call: calls.remove(&xid).unwrap(), reply: message });
        }
    }
    Some(exchanges)
}

/// What `encode` appends.
fn encoded(encode: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut buf = [0; 2048];
    let mut w = Writer::new(&mut buf);
    encode(&mut w);
    let len = w.finish().unwrap();
    buf[..len].to_vec()
}

/// The handle at the start of arguments.
fn fh(arguments: &[u8]) -> (Fh, usize) {
    let (handle, end) = opaque(arguments, 0);
    (Fh::new(handle).unwrap(), end)
}

const GOOD: [&str; 2] = ["nfs_base.pcap", "nfs3-procedure.pcap"];

#[test]
fn captured_replies_have_a_header_that_is_asked_for_byte_by_byte() {
    for file in GOOD {
        let Some(exchanges) = exchanges(file) else { return };
        assert!(exchanges.len() >= 38);
        for exchange in exchanges {
            let reply = Reply::decode(&exchange.reply).unwrap();
            assert_eq!((reply.xid, reply.len), (be32(&exchange.call, 0), 24));
            assert_eq!(reply.outcome, Outcome::Success);
            for len in 0..exchange.reply.len() {
                let prefix = &exchange.reply[..len];
                assert_eq!(Reply::decode(prefix).is_ok(), len >= 24);
                assert_eq!(reply_head_len(prefix) <= len, len >= 24);
            }
        }
    }
}

#[test]
fn our_calls_are_those_of_captured_clients() {
    let mut of_somebody = 0;
    for file in GOOD {
        let Some(exchanges) = exchanges(file) else { return };
        for exchange in exchanges {
            let call = &exchange.call;
            let header = &call[..call.len() - exchange.arguments().len()];
            let (program, version, procedure) = exchange.what();
            let encoded = |credential| {
                let call = Call { xid: be32(call, 0), program, version, procedure, credential };
                encoded(|w| call.encode(w).unwrap())
            };
            if be32(call, 24) == 0 {
                assert_eq!(encoded(Credential::None), header);
                continue;
            }
            let (name, at) = opaque(call, 36);
            let gids: Vec<u32> =
                (0..be32(call, at + 8)).map(|i| be32(call, at + 12 + 4 * i as usize)).collect();
            let sys = AuthSys {
                stamp: be32(call, 32),
                machine_name: std::str::from_utf8(name).unwrap(),
                uid: be32(call, at),
                gid: be32(call, at + 4),
                gids: &gids,
            };
            assert_eq!(encoded(Credential::Sys(sys)), cleared(header, 36));
            of_somebody += 1;
        }
    }
    assert!(of_somebody > 80, "{of_somebody}");
}

#[test]
fn our_arguments_are_those_of_captured_clients() {
    let mut seen: HashMap<&str, u32> = HashMap::new();
    for file in GOOD {
        let Some(exchanges) = exchanges(file) else { return };
        for exchange in exchanges {
            let arguments = exchange.arguments();
            let (program, version, procedure) = exchange.what();
            if (program, version) == (mount::PROGRAM, mount::VERSION) {
                let procedure = mount::Procedure(procedure);
                if let mount::Procedure::MNT | mount::Procedure::UMNT = procedure {
                    let path = opaque(arguments, 0).0;
                    let ours = encoded(|w| mount::PathRequest { path }.encode(w).unwrap());
                    assert_eq!(ours, cleared(arguments, 0));
                    *seen.entry(procedure.name()).or_default() += 1;
                }
                continue;
            }
            if (program, version) != (v3::PROGRAM, v3::VERSION) {
                continue;
            }
            let procedure = Procedure(procedure);
            let at = |word: usize| be32(arguments, fh(arguments).1 + 4 * word);
            let long = |word: usize| be64(arguments, fh(arguments).1 + 4 * word);
            let verifier = || long(2).to_be_bytes();
            let ours = match procedure {
                Procedure::GETATTR => encoded(|w| getattr::Request { object: fh(arguments).0 }.encode(w)),
                Procedure::LOOKUP => {
                    let (dir, end) = fh(arguments);
                    let name = opaque(arguments, end).0;
                    let ours = encoded(|w| lookup::Request { dir, name }.encode(w).unwrap());
                    assert_eq!(ours, cleared(arguments, end));
                    *seen.entry("LOOKUP").or_default() += 1;
                    continue;
                }
                Procedure::ACCESS => {
                    encoded(|w| access::Request { object: fh(arguments).0, access: at(0) }.encode(w))
                }
                Procedure::READLINK => encoded(|w| readlink::Request { symlink: fh(arguments).0 }.encode(w)),
                Procedure::READ => encoded(|w| {
                    read::Request { file: fh(arguments).0, offset: long(0), count: at(2) }.encode(w);
                }),
                Procedure::READDIR => {
                    let request = readdir::Request {
                        dir: fh(arguments).0,
                        cookie: long(0),
                        cookieverf: verifier(),
                        count: at(4),
                    };
                    encoded(|w| request.encode(w).unwrap())
                }
                Procedure::READDIRPLUS => {
                    let request = readdirplus::Request {
                        dir: fh(arguments).0,
                        cookie: long(0),
                        cookieverf: verifier(),
                        dircount: at(4),
                        maxcount: at(5),
                    };
                    encoded(|w| request.encode(w).unwrap())
                }
                Procedure::FSSTAT => encoded(|w| fsstat::Request { fsroot: fh(arguments).0 }.encode(w)),
                Procedure::FSINFO => encoded(|w| fsinfo::Request { fsroot: fh(arguments).0 }.encode(w)),
                Procedure::NULL => Vec::new(),
                _ => continue,
            };
            assert_eq!(ours, arguments, "{}", procedure.name());
            *seen.entry(procedure.name()).or_default() += 1;
        }
    }
    for name in [
        "MNT",
        "UMNT",
        "GETATTR",
        "LOOKUP",
        "ACCESS",
        "READLINK",
        "READ",
        "READDIR",
        "READDIRPLUS",
        "FSSTAT",
        "FSINFO",
        "NULL",
    ] {
        assert!(seen.contains_key(name), "no {name}");
    }
}

/// What `decode` complains of in the whole results; every truncation of results that are good is refused.
fn checked(results: &[u8], decode: impl Fn(&[u8]) -> Option<Error>) -> Option<Error> {
    let error = decode(results);
    for len in 0..results.len() {
        let truncated = decode(&results[..len]);
        match error {
            None => assert!(matches!(truncated, Some(Error::Malformed(_))), "{len} of {}", results.len()),
            Some(_) => assert!(truncated.is_some()),
        }
    }
    error
}

/// Decodes what a procedure has brought; `None` for those that are not ours.
fn decode(exchange: &Exchange) -> Option<Option<Error>> {
    let results = exchange.results();
    let arguments = exchange.arguments();
    let cookie = || be64(arguments, fh(arguments).1);
    let (program, version, procedure) = exchange.what();
    if (program, version) == (mount::PROGRAM, mount::VERSION) && mount::Procedure(procedure).name() == "MNT" {
        return Some(checked(results, |body| mount::Response::decode(body).err()));
    }
    if (program, version) != (v3::PROGRAM, v3::VERSION) {
        return None;
    }
    Some(match Procedure(procedure) {
        Procedure::GETATTR => checked(results, |body| getattr::Response::decode(body).err()),
        Procedure::LOOKUP => checked(results, |body| lookup::Response::decode(body).err()),
        Procedure::ACCESS => checked(results, |body| access::Response::decode(body).err()),
        Procedure::READLINK => checked(results, |body| readlink::Response::decode(body).err()),
        Procedure::READDIR => checked(results, |body| readdir::decode(body, cookie()).err()),
        Procedure::READDIRPLUS => checked(results, |body| readdirplus::decode(body, cookie()).err()),
        Procedure::FSSTAT => checked(results, |body| fsstat::Response::decode(body).err()),
        Procedure::FSINFO => checked(results, |body| fsinfo::Response::decode(body).err()),
        Procedure::READ => {
            let head = read::Head::decode(results).unwrap();
            checked(&results[..head.head_len], |body| read::Head::decode(body).err())
        }
        _ => return None,
    })
}

#[test]
fn captured_results_decode() {
    for (file, good, refused) in [("nfs_base.pcap", 14, 5), ("nfs3-procedure.pcap", 31, 12)] {
        let Some(exchanges) = exchanges(file) else { return };
        let mut counts = (0, 0);
        for exchange in exchanges {
            match decode(&exchange) {
                None => {}
                Some(None) => counts.0 += 1,
                Some(Some(error)) => {
                    let Error::Refused(refusal) = error else { panic!("{error:?}") };
                    assert_eq!((refusal.name, refusal.during), ("NFS3ERR_NOENT", "LOOKUP"));
                    counts.1 += 1;
                }
            }
        }
        assert_eq!(counts, (good, refused), "{file}");
    }
}

/// The results of the first exchange of a procedure of NFSv3.
fn first(exchanges: &[Exchange], procedure: Procedure) -> &Exchange {
    exchanges.iter().find(|exchange| exchange.what() == (v3::PROGRAM, v3::VERSION, procedure.0)).unwrap()
}

/// The names of a listing, and how many come with attributes and with handles.
fn names(listing: Listing<'_>, entries: Entries<'_>) -> (Vec<String>, usize, usize) {
    let entries: Vec<_> = entries.map(Result::unwrap).collect();
    assert_eq!(entries.last().unwrap().cookie, listing.cookie);
    (
        entries.iter().map(|entry| String::from_utf8(entry.name.to_vec()).unwrap()).collect(),
        entries.iter().filter(|entry| entry.name_attributes.is_some()).count(),
        entries.iter().filter(|entry| entry.name_handle.is_some()).count(),
    )
}

#[test]
fn captured_results_say_what_they_say() {
    let (Some(linux), Some(other)) = (exchanges("nfs_base.pcap"), exchanges("nfs3-procedure.pcap")) else {
        return;
    };

    let results = first(&other, Procedure::READ).results();
    let head = read::Head::decode(results).unwrap();
    assert_eq!((head.count, head.data_len, head.eof, head.pad()), (11, 11, true, 1));
    assert_eq!(results.len(), head.head_len + 12);
    assert_eq!(&results[head.head_len..][..head.len() as usize], b"the b file\n");
    assert_eq!(head.file_attributes.unwrap().attributes().kind, Kind::File);
    for len in 0..head.head_len {
        assert!(read::head_len(&results[..len]) > len);
    }
    assert_eq!(read::head_len(results), head.head_len);

    let results = first(&linux, Procedure::READDIRPLUS).results();
    let listing = readdirplus::decode(results, 0).unwrap();
    let (names_of, attributes, handles) = names(listing, Entries::of_readdirplus(listing.entries));
    assert_eq!(names_of, [".", "..", "testfile", "testfile-link"]);
    assert_eq!((listing.eof, attributes, handles), (true, 4, 4));

    let results = first(&other, Procedure::READDIR).results();
    let listing = readdir::decode(results, 0).unwrap();
    let (names_of, attributes, handles) = names(listing, Entries::of_readdir(listing.entries));
    assert_eq!((attributes, handles), (0, 0));
    assert_eq!(names_of, [".", "..", "b", "am", "bln", "blns"]);

    let linked = readlink::Response::decode(first(&linux, Procedure::READLINK).results()).unwrap();
    assert_eq!(linked.target, b"/nfs/pddevbal801/bro-nfs/testfile");
    assert_eq!(linked.symlink_attributes.unwrap().file_type, FileType::Symlink);

    let info = fsinfo::Response::decode(first(&linux, Procedure::FSINFO).results()).unwrap();
    assert_eq!((info.rtmax, info.dtpref, info.properties), (1 << 20, 4096, 0x1B));
    let space = fsstat::Response::decode(first(&other, Procedure::FSSTAT).results()).unwrap().space();
    assert!(space.available <= space.free && space.free <= space.total && space.total > 0);
}

#[test]
fn a_status_that_does_not_exist_is_a_refusal() {
    let Some(exchanges) = exchanges("nfs_fsinfo_bad_status.pcap") else { return };
    let errors: Vec<Error> = exchanges.iter().filter_map(|exchange| decode(exchange)?).collect();
    let strange: Vec<&Error> = errors
        .iter()
        .filter(|error| !matches!(error, Error::Refused(refusal) if refusal.name == "NFS3ERR_NOENT"))
        .collect();
    let [Error::Refused(refusal)] = strange[..] else { panic!("{strange:?}") };
    assert_eq!((refusal.code, refusal.name, refusal.during), (0x4141_4141, "", "FSINFO"));
}

#[test]
fn a_type_that_does_not_exist_is_malformed() {
    let Some(exchanges) = exchanges("nfs_getattr_bad_ftype.pcap") else { return };
    let errors: Vec<Error> = exchanges.iter().filter_map(|exchange| decode(exchange)?).collect();
    assert!(errors.contains(&Error::Malformed("fattr3.type")));
    assert_eq!(errors.len(), 6);
}

#[test]
fn hostile_packets_are_survived_by_every_decoder_from_every_byte_on() {
    for file in ["hoobr_nfs_printfh.pcap", "nfs-attr-oobr.pcap", "nfs3-procedure.pcap"] {
        let Some(packets) = packets(file) else { return };
        for packet in packets {
            for at in 0..packet.len() {
                let bytes = &packet[at..];
                let _ = Reply::decode(bytes);
                assert!(reply_head_len(bytes) >= 20);
                let _ = portmap::Response::decode(bytes);
                let _ = mount::Response::decode(bytes).map(|response| response.auth_flavors.iter().count());
                let _ =
                    mount::Exports::new(bytes).flatten().map(|export| export.groups.count()).sum::<usize>();
                let _ = getattr::Response::decode(bytes);
                let _ = lookup::Response::decode(bytes);
                let _ = access::Response::decode(bytes);
                let _ = readlink::Response::decode(bytes);
                let _ = read::Head::decode(bytes).map(|head| head.pad());
                let _ = readdir::decode(bytes, 0).map(|listing| Entries::of_readdir(listing.entries).count());
                let _ = readdirplus::decode(bytes, 0);
                let _ = Entries::of_readdirplus(bytes).count();
                let _ = fsstat::Response::decode(bytes);
                let _ = fsinfo::Response::decode(bytes);
            }
        }
    }
}

#[test]
fn a_handle_longer_than_a_handle_is_refused() {
    let Some(packets) = packets("hoobr_nfs_printfh.pcap") else { return };
    let last = packets.last().unwrap();
    let at = last.windows(4).position(|word| word == [0, 0, 0, 0x48]).unwrap();
    let mut r = pagewire::wire::Reader::new(&last[at..]);
    assert_eq!(Fh::decode(&mut r), Err(Error::Malformed("nfs_fh3")));
}
