//! Replies of real servers, to whole COMPOUNDs with the tag `pw`: Ganesha 4.3, and nfsd of Linux 6.12.

use super::create_session::{ChannelAttrs, SessionId};
use super::fattr4::{Fsid, Type};
use super::scan::{Scan, scan};
use super::*;
use crate::attributes::{Kind, Time};
use crate::error::Error;
use std::vec::Vec;

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2).map(|pair| core::str::from_utf8(pair).unwrap());
    digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

/// SEQUENCE, PUTROOTFH, LOOKUP, OPEN, GETFH, GETATTR, READ, CLOSE.
const GANESHA_OPEN: &str = "\
    00000000000000027077000000000008000000350000000012000000e16c0d6b0c00000000000000000000b000000000\
    0000000f0000000f0000000100000018000000000000000f0000000000000012000000000000000112000000e16c0d6b\
    020000000000000018ecd27a6c4585dd18ecd27a6c4585dd000000040000000000000003000000000000000a00000000\
    00000017430000011244ebc2ff84e365777d0150819e00167f3f46000000000900000000000000020010011a0030a00a\
    000000600000000118ecd27a6c4585dd00000000000000130000000084ffc2eb000000007d7765e300000000009e8150\
    000001a4000000010000000000001000000000006b0d739d18bd86d0000000006b0d6c2e273d39dd0000000065937d25\
    287735d00000001900000000000000010000001368656c6c6f2066726f6d20746865206c61620a000000000400000000\
    ffffffff000000000000000000000000";

/// The same.
const NFSD_OPEN: &str = "\
    0000000000000002707700000000000800000035000000001b700d6b6e4eb33b0600000000000000000000b000000000\
    0000000f0000000f0000000100000018000000000000000f000000000000001200000000000000011b700d6b6e4eb33b\
    03000000000000010000000000000000000000000000000000000024000000010000000000000003000000000000000a\
    00000000000000100100010101000000ad000000000000000000000900000000000000020010011a0034a00a0000006c\
    000000011ac35b0b8000000000000000000000130000000000000001000000000000000000000000000000ad000001a4\
    000000010000000000001000000000006b0d6ce100000000000000006b0d700b00000000000000006b0d6c2e00000000\
    0000000065937d25000000000000001900000000000000010000001368656c6c6f2066726f6d20746865206c61620a00\
    0000000400000000ffffffff000000000000000000000000";

/// EXCHANGE_ID alone.
const NFSD_EXCHANGE_ID: &str = "\
    000000000000000270770000000000010000002a000000001b700d6b6e4eb33b00000001000200010000000000000000\
    0000000000000006286e6f6e6529000000000006286e6f6e6529000000000000";

/// EXCHANGE_ID alone.
const GANESHA_EXCHANGE_ID: &str = "\
    000000000000000270770000000000010000002a000000006b0d6ce10000001200000001000100010000000000000000\
    0000000000000002766d00000000000f766d5f4e46532d47616e65736861000000000000";

/// CREATE_SESSION alone.
const NFSD_CREATE_SESSION: &str = "\
    000000000000000270770000000000010000002b000000001b700d6b6e4eb33b06000000000000000000000100000000\
    000000000000100000101000000001000000003200000010000000000000000000001000000010000000000000000002\
    0000000100000000";

/// SEQUENCE, PUTROOTFH, LOOKUP, READDIR of 1024 bytes.
const NFSD_READDIR: &str = "\
    0000000000000002707700000000000400000035000000001b700d6b6e4eb33b06000000000000000000000300000000\
    0000000f0000000f0000000100000018000000000000000f000000000000001a00000000000000000000000000000001\
    00000000093b74f70000000d6c696e6b2d746f2d736d616c6c00000000000002001008120034a00a0000005800000005\
    0000000000000009000000000000000000000039000001ff0000000100000000000000000000000065937d2500000000\
    000000006b0d700b00000000000000006b0d6c2e000000000000000065937d250000000000000001000000000dac8cc4\
    00000005656d70747900000000000002001008120034a00a000000580000000100000000000000000000000000000000\
    00000038000001a40000000100000000000000000000000065937d2500000000000000006b0d700b0000000000000000\
    6b0d6c2e000000000000000065937d250000000000000001000000000eb279e4000000046d616e790000000200100812\
    0034a00a0000005800000002000000000000100000000000000000000000003a000001ed000000020000000000001000\
    0000000065937d2500000000000000006b0d700b00000000000000006b0d6c2e000000000000000065937d2500000000\
    0000000100000000145948540000000c73697a652d3130343835373700000002001008120034a00a0000005800000001\
    00000000001000010000000000000000000000a9000001a40000000100000000001010000000000065937d2500000000\
    000000006b0d700b00000000000000006b0d6c2e000000000000000065937d2500000000000000010000000015affc07\
    00000009736d616c6c2e74787400000000000002001008120034a00a0000005800000001000000000000001300000000\
    00000000000000ad000001a4000000010000000000001000000000006b0d6ce100000000000000006b0d700b00000000\
    000000006b0d6c2e000000000000000065937d2500000000000000010000000022010d2f000000047769646500000002\
    001008120034a00a000000580000000200000000000050000000000000000000000000b6000001ed0000000200000000\
    000050000000000065937d2500000000000000006b0d700f00000000000000006b0d6c2e000000000000000065937d25\
    0000000000000001000000002330d701000000046465657000000002001008120034a00a000000580000000200000000\
    0000100000000000000000000000000e000001ed0000000300000000000010000000000065937d250000000000000000\
    6b0d700b00000000000000006b0d6c2e000000000000000065937d25000000000000000000000000";

/// SEQUENCE, PUTFH, SEEK from 0 for a hole.
const NFSD_SEEK: &str = "\
    0000000000000002707700000000000300000035000000001b700d6b6e4eb33b0600000000000000000000bb00000000\
    0000000f0000000f0000000100000016000000000000004500000000000000000000000000010000";

/// SEQUENCE, PUTFH, SEEK for data in a file without.
const NFSD_SEEK_REFUSED: &str = "\
    0000000600000002707700000000000300000035000000001b700d6b6e4eb33b060000000000000000000ac200000000\
    0000000f0000000f0000000100000016000000000000004500000006";

/// SEQUENCE, PUTFH, SEEK for data in a file without.
const GANESHA_SEEK_END: &str = "\
    00000000000000027077000000000003000000350000000012000000e16c0d6b0c0000000000000000000ac200000000\
    0000000f0000000f0000000100000016000000000000004500000000000000010000000000000000";

/// SEQUENCE, PUTROOTFH, 3 LOOKUP, READ_PLUS: what it always says.
const GANESHA_READ_PLUS: &str = "\
    00000000000000027077000000000006000000350000000012000000e16c0d6b0c00000000000000000000b300000000\
    0000000f0000000f0000000100000018000000000000000f000000000000000f000000000000000f0000000000000044\
    00000000000000000000000100000000000000000000000000000000";

/// SEQUENCE, PUTROOTFH, an operation that it has never heard of: nfsd, and Ganesha the same.
const ILLEGAL: &str = "\
    0000273c00000002707700000000000300000035000000001b700d6b6e4eb33b0600000000000000000000ad00000000\
    0000000f0000000f0000000100000018000000000000273c0000273c";

/// 4.0: PUTROOTFH, LOOKUP, OPEN, GETFH, GETATTR.
const NFSD_OPEN_4_0: &str = "\
    0000000000000002707700000000000500000018000000000000000f000000000000001200000000000000011b700d6b\
    6c4eb33b010000000000000100000000000000000000000000000000000000060000000100000000000000000000000a\
    00000000000000100100010101000000ad000000000000000000000900000000000000020010011a0034a00a0000006c\
    000000011ac35b0b8000000000000000000000130000000000000001000000000000000000000000000000ad000001a4\
    000000010000000000001000000000006b0d6ce100000000000000006b0d700b00000000000000006b0d6c2e00000000\
    0000000065937d2500000000";

const FILE: &[u8] = b"hello from the lab\n";

#[test]
fn a_file_is_opened_read_and_closed_at_once() {
    for (hex, rflags) in [(GANESHA_OPEN, 4), (NFSD_OPEN, 0x24)] {
        let reply = bytes(hex);
        let mut results = Results::decode(&reply, 8).unwrap();
        sequence::ResOk::decode(results.take(Op::SEQUENCE).unwrap()).unwrap();
        results.take(Op::PUTROOTFH).unwrap();
        results.take(Op::LOOKUP).unwrap();
        let open = open::ResOk::decode(results.take(Op::OPEN).unwrap()).unwrap();
        assert_eq!((open.rflags, open.delegation), (rflags, open::Delegation::NoneExt(0)));
        getfh::ResOk::decode(results.take(Op::GETFH).unwrap()).unwrap();
        let result = getattr::ResOk::decode(results.take(Op::GETATTR).unwrap()).unwrap();
        let stat = result.obj_attributes.stat().unwrap();
        assert_eq!((stat.kind, stat.len, stat.allocated, stat.links), (Kind::File, 19, Some(4096), Some(1)));
        assert_eq!(stat.modified.unwrap().seconds, 1_704_164_645);
        let head = read::Head::decode(results.take(Op::READ).unwrap()).unwrap();
        assert_eq!(head, read::Head { eof: true, len: 19 });
        let data = results.at();
        assert_eq!(scan(&reply), Ok(Scan::Read { at: data, head, left: 1 }));
        assert_eq!(&reply[data..data + 19], FILE);
        let mut tail = Results::resume(&reply[data + 19 + head.pad()..], results.status(), results.left());
        close::ResOk::decode(tail.take(Op::CLOSE).unwrap()).unwrap();
        assert_eq!(tail.end(), Ok(()));
    }
}

#[test]
fn what_comes_in_pieces_is_found_in_the_same_place() {
    for hex in [GANESHA_OPEN, NFSD_OPEN, NFSD_READDIR, NFSD_SEEK, GANESHA_READ_PLUS, ILLEGAL] {
        let reply = bytes(hex);
        let whole = scan(&reply).unwrap();
        let head_len = match whole {
            Scan::Read { at, .. } | Scan::ReadPlus { at, .. } => at,
            _ => reply.len(),
        };
        for len in 0..head_len {
            match scan(&reply[..len]).unwrap() {
                Scan::Need(need) => assert!(need > len && need <= head_len),
                said => assert_eq!((said, whole), (Scan::NoData, Scan::NoData)),
            }
        }
    }
}

#[test]
fn nothing_that_is_cut_off_is_taken_for_whole() {
    let reply = bytes(NFSD_READDIR);
    for len in 0..reply.len() {
        let read = Results::decode(&reply[..len], 4).and_then(|mut results| {
            sequence::ResOk::decode(results.take(Op::SEQUENCE)?)?;
            results.take(Op::PUTROOTFH)?;
            results.take(Op::LOOKUP)?;
            readdir::ResOk::decode(results.take(Op::READDIR)?, 0).map(|_| ())
        });
        assert!(matches!(read, Err(Error::Malformed(_))), "{len} {read:?}");
    }
}

#[test]
fn a_listing() {
    let reply = bytes(NFSD_READDIR);
    let mut results = Results::decode(&reply, 4).unwrap();
    sequence::ResOk::decode(results.take(Op::SEQUENCE).unwrap()).unwrap();
    results.take(Op::PUTROOTFH).unwrap();
    results.take(Op::LOOKUP).unwrap();
    let list = readdir::ResOk::decode(results.take(Op::READDIR).unwrap(), 0).unwrap();
    assert_eq!(results.end(), Ok(()));
    assert_eq!((list.eof, list.cookie), (false, 0x2330_D701));
    assert!(readdir::REPLY_HEAD_MAX + list.entries.len() <= 8 + 1024);
    let entries: Vec<_> = list.entries().map(Result::unwrap).collect();
    let names: Vec<_> = entries.iter().map(|entry| core::str::from_utf8(entry.name).unwrap()).collect();
    assert_eq!(names, ["link-to-small", "empty", "many", "size-1048577", "small.txt", "wide", "deep"]);
    let kinds: Vec<_> = entries.iter().map(|entry| entry.attrs.kind.unwrap()).collect();
    assert_eq!(kinds[..3], [Type::Symlink, Type::Regular, Type::Directory]);
    let attributes = entries[3].attrs.attributes();
    assert_eq!((attributes.len, attributes.allocated), (1_048_577, Some(0x10_1000)));
    assert_eq!(attributes.modified, Some(Time { seconds: 1_704_164_645, nanoseconds: 0 }));
    assert_eq!(entries[3].attrs.rdattr_error, Some(Status::OK));
}

#[test]
fn clients_and_sessions() {
    let (nfsd, ganesha) = (bytes(NFSD_EXCHANGE_ID), bytes(GANESHA_EXCHANGE_ID));
    let mut results = Results::decode(&nfsd, 1).unwrap();
    let nfsd = exchange_id::ResOk::decode(results.take(Op::EXCHANGE_ID).unwrap()).unwrap();
    assert_eq!((nfsd.server_major_id, nfsd.server_scope), (&b"(none)"[..], &b"(none)"[..]));
    assert_eq!(nfsd.flags, 0x0002_0001);
    assert_eq!(results.end(), Ok(()));
    let mut results = Results::decode(&ganesha, 1).unwrap();
    let ganesha = exchange_id::ResOk::decode(results.take(Op::EXCHANGE_ID).unwrap()).unwrap();
    assert_eq!((ganesha.server_scope, ganesha.server_impl_name), (&b"vm_NFS-Ganesha\0"[..], &b""[..]));
    assert_eq!(results.end(), Ok(()));
    let reply = bytes(NFSD_CREATE_SESSION);
    let mut results = Results::decode(&reply, 1).unwrap();
    let session = create_session::ResOk::decode(results.take(Op::CREATE_SESSION).unwrap()).unwrap();
    assert_eq!(results.end(), Ok(()));
    let SessionId(id) = session.sessionid;
    assert_eq!(id[..8], nfsd.clientid.to_be_bytes());
    let fore = ChannelAttrs {
        maxrequestsize: 4096,
        maxresponsesize: 1028 * 1024,
        maxresponsesize_cached: 256,
        maxoperations: 50,
        maxrequests: 16,
    };
    assert_eq!(session.fore, fore);
}

#[test]
fn seek_finds_or_is_refused() {
    let seek = |hex| {
        let reply = bytes(hex);
        let mut results = Results::decode(&reply, 3).unwrap();
        sequence::ResOk::decode(results.take(Op::SEQUENCE).unwrap()).unwrap();
        results.take(Op::PUTFH).unwrap();
        let status = results.next(Op::SEEK).unwrap();
        let result = status.is_ok().then(|| seek::ResOk::decode(results.reader()).unwrap());
        assert_eq!(results.end(), Ok(()));
        result.ok_or(status)
    };
    assert_eq!(seek(NFSD_SEEK).unwrap().found(seek::What::Hole, 0), Ok(Some(65536)));
    assert_eq!(seek(NFSD_SEEK_REFUSED), Err(Status::NXIO));
    assert_eq!(seek(GANESHA_SEEK_END).unwrap().found(seek::What::Data, 0), Ok(None));
}

#[test]
fn ganesha_reads_plus_nothing() {
    let reply = bytes(GANESHA_READ_PLUS);
    let Ok(Scan::ReadPlus { at, head, left: 0 }) = scan(&reply) else { panic!() };
    assert_eq!(head, read_plus::Head { eof: false, segments: 1 });
    let segment = read_plus::SegmentHead::Data { offset: 0, len: 0 };
    assert_eq!(read_plus::SegmentHead::decode(&reply[at..]), Ok(segment));
    assert_eq!(reply.len(), at + segment.head_len());
}

#[test]
fn an_operation_that_is_not_known() {
    let reply = bytes(ILLEGAL);
    let mut results = Results::decode(&reply, 3).unwrap();
    sequence::ResOk::decode(results.take(Op::SEQUENCE).unwrap()).unwrap();
    results.take(Op::PUTROOTFH).unwrap();
    assert_eq!(results.next(Op::READ_PLUS), Ok(Status::OP_ILLEGAL));
    assert_eq!(results.end(), Ok(()));
}

#[test]
fn the_first_open_of_4_0_is_to_be_confirmed() {
    let reply = bytes(NFSD_OPEN_4_0);
    let mut results = Results::decode(&reply, 5).unwrap();
    results.take(Op::PUTROOTFH).unwrap();
    results.take(Op::LOOKUP).unwrap();
    let open = open::ResOk::decode(results.take(Op::OPEN).unwrap()).unwrap();
    assert!(open.must_confirm() && open.delegation == open::Delegation::None);
    getfh::ResOk::decode(results.take(Op::GETFH).unwrap()).unwrap();
    let result = getattr::ResOk::decode(results.take(Op::GETATTR).unwrap()).unwrap();
    assert_eq!(result.obj_attributes.fsid, Some(Fsid { major: 1, minor: 0 }));
    assert_eq!(results.end(), Ok(()));
}
