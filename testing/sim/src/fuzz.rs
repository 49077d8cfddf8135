//! What the targets of `testing/fuzz` do with their bytes. It is here so that it is built, and run for a moment, with all
//! other tests. None of it returns anything: what must not be is a panic.

use crate::dice::Dice;
use crate::noise::{Fault, Strike};
use crate::world::{Twist, run};
use pagewire::inflight::Slot;
use pagewire::nfs::{Nfs3, Nfs4, nfs4, v3, v4};
use pagewire::smb::{self, Smb};
use pagewire::wire::{Reader, Writer};
use pagewire::{
    Close, Connect, Counters, Keepalive, List, Map, Open, Pages, Protocol, Read, Stat, StatBoth, Storage,
};
use pagewire_hostile::{RECORDED, Server, Side};
use pagewire_hostile_nfs::Kind::Directory;
use pagewire_line::{Heard, Link, Session};
use pagewire_model::{Config, Model, Tree};

/// A target.
pub type Target = fn(&[u8]);

/// All of them, by the names that they have in `testing/fuzz`.
pub const TARGETS: [(&str, Target); 4] =
    [("decoders", decoders), ("again", again), ("received", received), ("worlds", worlds)];

/// The longest seed.
const SEED_LEN_MAX: usize = 20_000;

/// What the targets begin with: what the servers of the captures of `testing/hostile`, model servers of SMB with a sparse file and with
/// leases, and model servers of NFS said, as `received` takes it; each message alone, behind its mark and behind its header; and
/// the tokens in it.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<_> = (0..4).flat_map(nfs_seeds).collect();
    for (kind, recorded) in (4..).zip(RECORDED) {
        let conversation = recorded.conversation();
        let said = conversation.all(Side::Server);
        seeds.push([&[kind, 3], &said[..said.len().min(SEED_LEN_MAX)]].concat());
        let runs = conversation.runs.iter().filter(|(side, _)| *side == Side::Server).take(12);
        seeds.extend(runs.flat_map(|(_, run)| parts(run)));
    }
    let tree = || Tree::new().sparse("size-65537", 3000, &[100..200, 700..2000]);
    for (kind, leases) in [(4, false), (KEEPING, true)] {
        let share = RECORDED[0].setup.share.into();
        let config = Config { tree: tree(), guest: true, share, leases, ..Config::default() };
        let server = Server(Model::new(config));
        let said = if leases { said(keeping(), 3, server) } else { said(in_the_clear(), 3, server) };
        seeds.extend(said.iter().flat_map(|frame| parts(frame)));
        seeds.push([&[kind, 3], &said.concat()[..]].concat());
    }
    seeds
}

/// A frame of SMB behind its mark, behind its header, where SESSION_SETUP has its token, and where NTLM begins in that.
fn parts(frame: &[u8]) -> Vec<Vec<u8>> {
    let ntlm = frame.windows(8).position(|window| window == b"NTLMSSP\0");
    let from = |at: usize| frame.get(at..).map(<[u8]>::to_vec);
    [4, 4 + 64, 4 + 64 + 8].into_iter().chain(ntlm).filter_map(from).collect()
}

/// An engine that speaks SMB as the first capture does, in the clear.
fn in_the_clear() -> Smb<'static> {
    Smb::new(RECORDED[0].setup.config())
}

/// The same, which keeps files.
fn keeping() -> Smb<'static, 2> {
    let clear = RECORDED[0].setup.config();
    Smb::keeping(smb::Config { dialects: smb::Dialects::ALL, ..clear })
}

/// What a model server of NFS says to each of the acts: of version 3 (0), or of a minor version of 4 (1, 2 and 3).
fn nfs_seeds(kind: u8) -> Vec<Vec<u8>> {
    let tree = pagewire_hostile_nfs::Tree::default().with("/names", Directory).pattern("/names/x", 9);
    let tree = tree.pattern("/size-65537", 65_537);
    let mut seeds = Vec::new();
    for act in 0..4 {
        let said = match kind.checked_sub(1) {
            None => {
                let config = pagewire_hostile_nfs::v3::Config { tree: tree.clone(), ..Default::default() };
                let port = Nfs3::first_port(&NFS3);
                said(Nfs3::new(NFS3), act, pagewire_hostile_nfs::v3::Model::new(config, port))
            }
            Some(minor) => {
                let config = pagewire_hostile_nfs::v4::Config { tree: tree.clone(), ..Default::default() };
                said(Nfs4::new(nfs4(minor)), act, pagewire_hostile_nfs::v4::Model::new(config))
            }
        };
        // A mark, the header of RPC, and what follows; of NFSv4 the results begin behind 12 bytes more.
        let records = said
            .iter()
            .take(12)
            .flat_map(|record| [4, 28, 40].map(|at| record.get(at..).unwrap_or(&[]).to_vec()));
        seeds.extend(records);
        let all = said.concat();
        seeds.push([&[kind, act], &all[..all.len().min(SEED_LEN_MAX)]].concat());
    }
    seeds
}

/// What a server says, piece by piece, to an engine that asks what the targets ask.
fn said(protocol: impl Protocol, act: u8, server: impl Link) -> Vec<Vec<u8>> {
    ask(protocol, act, Overheard { server, said: Vec::new() }).1.said
}

/// A link that notes what the server says, whole records.
struct Overheard<L> {
    server: L,
    said: Vec<Vec<u8>>,
}

impl<L: Link> Link for Overheard<L> {
    fn send(&mut self, bytes: &[u8]) -> usize {
        self.server.send(bytes)
    }

    fn receive(&mut self, window: &mut [u8]) -> Heard {
        let heard = self.server.receive(window);
        if let Heard::Bytes(len) = heard {
            // A record begins with its mark, which is asked for by itself.
            match self.said.last_mut().filter(|_| window.len() != 4) {
                Some(record) => record.extend(&window[..len]),
                None => self.said.push(window[..len].to_vec()),
            }
        }
        heard
    }

    fn connect(&mut self, port: u16) -> bool {
        self.server.connect(port)
    }
}

/// Every decoder of a message gets the same bytes.
pub fn decoders(bytes: &[u8]) {
    smb_decoders(bytes);
    nfs_decoders(bytes);
}

fn smb_decoders(bytes: &[u8]) {
    let _ = smb::header::Header::decode(bytes);
    let _ = smb::negotiate::Response::decode(bytes);
    let _ = smb::session_setup::Response::decode(bytes);
    let _ = smb::tree_connect::Response::decode(bytes);
    let _ = smb::create::Response::decode(bytes);
    let _ = smb::lease::Response::decode(bytes);
    let _ = smb::close::Response::decode(bytes);
    let _ = smb::echo::Response::decode(bytes);
    let _ = smb::read::Head::decode(bytes);
    let _ = smb::error_response::Response::decode(bytes);
    let _ = smb::symlink::Symlink::decode(bytes);
    let _ = smb::oplock_break::Notification::decode(bytes);
    let _ = smb::ioctl::Response::decode(bytes);
    let _ = smb::ioctl::ValidateNegotiateInfoResponse::decode(bytes);
    let _ = smb::ioctl::AllocatedRange::decode(bytes);
    let _ = smb::query_info::Response::decode(bytes);
    let _ = smb::query_info::AllInformation::decode(bytes);
    let _ = smb::query_info::NetworkOpenInformation::decode(bytes);
    let _ = smb::query_info::FsFullSizeInformation::decode(bytes);
    let _ = smb::query_directory::Response::decode(bytes);
    let _ = smb::query_directory::Entries::new(bytes).take_while(|entry| entry.is_ok()).count();
    let _ = smb::ntlm::Challenge::decode(bytes);
    let _ = smb::spnego::decode(bytes);
}

fn nfs_decoders(bytes: &[u8]) {
    let _ = pagewire::nfs::rpc::Reply::decode(bytes);
    let _ = pagewire::nfs::portmap::Response::decode(bytes);
    let _ = pagewire::nfs::mount::Response::decode(bytes);
    let _ = pagewire::nfs::mount::Exports::new(bytes).count();
    let _ = v3::access::Response::decode(bytes);
    let _ = v3::fsinfo::Response::decode(bytes);
    let _ = v3::fsstat::Response::decode(bytes);
    let _ = v3::getattr::Response::decode(bytes);
    let _ = v3::lookup::Response::decode(bytes);
    let _ = v3::read::Head::decode(bytes);
    let _ = v3::readdir::decode(bytes, 0);
    let _ = v3::readdirplus::decode(bytes, 0);
    let _ = v3::readlink::Response::decode(bytes);
    let _ = v4::compound::Results::decode(bytes, u32::MAX);
    let _ = v4::read_plus::SegmentHead::decode(bytes);
    let reader = || Reader::new(bytes);
    let _ = v4::access::ResOk::decode(&mut reader());
    let _ = v4::close::ResOk::decode(&mut reader());
    let _ = v4::create_session::ResOk::decode(&mut reader());
    let _ = v4::exchange_id::ResOk::decode(&mut reader());
    let _ = v4::fs_locations::FsLocations::decode(&mut reader());
    let _ = v4::getattr::ResOk::decode(&mut reader()).map(|known| known.obj_attributes.stat());
    let _ = v4::getfh::ResOk::decode(&mut reader());
    let _ = v4::open::ResOk::decode(&mut reader());
    let _ = v4::open_confirm::ResOk::decode(&mut reader());
    let _ = v4::read::Head::decode(&mut reader());
    let _ = v4::read_plus::Head::decode(&mut reader());
    let _ = v4::readdir::ResOk::decode(&mut reader(), 0);
    let _ = v4::readlink::ResOk::decode(&mut reader());
    let _ = v4::seek::ResOk::decode(&mut reader());
    let _ = v4::sequence::ResOk::decode(&mut reader());
    let _ = v4::setclientid::ResOk::decode(&mut reader());
}

/// What is decoded, encoded and decoded again is the same: of everything that the engine both says and hears.
pub fn again(bytes: &[u8]) {
    let mut room = [0; 1024];
    let mut said = |encode: &dyn Fn(&mut Writer<'_>)| {
        let mut writer = Writer::new(&mut room);
        encode(&mut writer);
        let len = writer.finish().expect("there is room");
        room[..len].to_vec()
    };
    if let Ok(header) = smb::header::Header::decode(bytes) {
        assert_eq!(smb::header::Header::decode(&said(&|w| header.encode(w))), Ok(header));
    }
    if let Some(Ok(header)) = bytes.first_chunk().map(smb::seal::TransformHeader::decode) {
        assert_eq!(smb::seal::TransformHeader::decode(&header.encode()), Ok(header));
    }
    if let Ok(acknowledgment) = smb::oplock_break::Acknowledgment::decode(bytes) {
        let bytes = said(&|w| acknowledgment.encode(w));
        assert_eq!(smb::oplock_break::Acknowledgment::decode(&bytes), Ok(acknowledgment));
    }
    if let Ok(stateid) = v4::stateid::Stateid::decode(&mut Reader::new(bytes), "stateid") {
        let bytes = said(&|w| stateid.encode(w));
        assert_eq!(v4::stateid::Stateid::decode(&mut Reader::new(&bytes), "stateid"), Ok(stateid));
    }
    if let Ok(bitmap) = v4::bitmap::Bitmap::decode(&mut Reader::new(bytes), "bitmap") {
        let bytes = said(&|w| bitmap.encode(w));
        assert_eq!(v4::bitmap::Bitmap::decode(&mut Reader::new(&bytes), "bitmap"), Ok(bitmap));
    }
}

/// The world of a seed, with faults that the bytes say: eight for the seed, and eight for each fault.
pub fn worlds(bytes: &[u8]) {
    let Some((seed, faults)) = bytes.split_first_chunk() else { return };
    let strikes = faults.as_chunks().0.iter().take(8).map(|chunk| {
        let mut dice = Dice(u64::from_le_bytes(*chunk) >> 8);
        Strike { frame: chunk[0].into(), fault: Fault::draw(&mut dice) }
    });
    run(u64::from_le_bytes(*seed), Twist::default(), |world, _| world.strikes = strikes.collect());
}

/// A server that says these bytes, whatever it hears, and hangs up.
struct Reciter<'b>(&'b [u8]);

impl Link for Reciter<'_> {
    fn send(&mut self, bytes: &[u8]) -> usize {
        bytes.len()
    }

    fn receive(&mut self, window: &mut [u8]) -> Heard {
        let len = window.len().min(self.0.len());
        let (said, rest) = self.0.split_at(len);
        window[..len].copy_from_slice(said);
        self.0 = rest;
        if len == 0 { Heard::Closed } else { Heard::Bytes(len) }
    }

    fn connect(&mut self, _: u16) -> bool {
        true
    }
}

/// An engine hears these bytes.
pub fn received(bytes: &[u8]) {
    let _ = hear(bytes);
}

/// An engine hears the bytes from its first request on; what it counted. The first byte says what it speaks, the second what it is
/// asked. The engine is the same each time, so what a server once said to it goes on beyond the handshake.
pub fn hear(bytes: &[u8]) -> Option<Counters> {
    let [kind, act, bytes @ ..] = bytes else { return None };
    let counters = match kind % (KEEPING + 1) {
        0 => ask(Nfs3::new(NFS3), *act, Reciter(bytes)).0,
        kind @ 1..4 => ask(Nfs4::new(nfs4(kind - 1)), *act, Reciter(bytes)).0,
        KEEPING => ask(keeping(), *act, Reciter(bytes)).0,
        smb => ask(Smb::new(RECORDED[usize::from(smb) - 4].setup.config()), *act, Reciter(bytes)).0,
    };
    Some(counters)
}

/// What comes behind those of the captures, of which there are six.
const KEEPING: u8 = 10;

/// An engine that speaks NFSv3.
const NFS3: pagewire::nfs::Config<'_> = pagewire::nfs::Config::new("/", 0);

/// An engine that speaks NFSv4.
const fn nfs4(minor: u8) -> nfs4::Config<'static> {
    nfs4::Config { minor: Some(minor as u32), ..nfs4::Config::new(b"a client", [7; 8], 0) }
}

fn ask<P: Protocol, L: Link>(protocol: P, act: u8, link: L) -> (Counters, L) {
    let (mut tx, mut rx, mut slots) = (vec![0; 4096], vec![0; 4096], [Slot::FREE; 8]);
    let storage = Storage { tx: &mut tx, rx: &mut rx, slots: &mut slots };
    let mut session = Session::new(storage, protocol, link).expect("it is enough");
    let mut pages = [[0; 512]; 16];
    let _ = match act % 4 {
        0 => session.run(&mut Stat::new("names/x")).map(|_| ()),
        1 => session.run(&mut StatBoth::new("names")).map(|_| ()),
        2 => session.run(&mut List::new("names")),
        _ => session.run(&mut Connect::new()),
    };
    if let Ok(file) = session.run(&mut Open::new("size-65537")) {
        let _ = session.run(&mut Read::new(&file, 0, &mut Pages(&mut pages)));
        let _ = session.run(&mut Map::new(&file, 0));
        let _ = session.run(&mut Close::new(&file));
        let _ = session.run(&mut Open::new("size-65537"));
    }
    let _ = session.run(&mut Keepalive::new());
    (*session.client.counters(), session.link)
}
