//! Who talks to whom, and in which ways.

use pagewire::Protocol;
use pagewire::smb::Smb;
use pagewire_hostile::{Program, Scene, Server};
use pagewire_hostile_nfs::scene::{Scene as NfsScene, Version};
use pagewire_identical::{Came, Talk, Way};
use pagewire_line::{Chunks, Link};
use pagewire_model::Model;

/// As large as it can be.
const WHOLE: usize = usize::MAX;

/// Over the network. What a segment of Ethernet brings, less, and much less.
pub fn network() -> impl Iterator<Item = Way> {
    let cuts = [WHOLE, 1448, 100, 7];
    let sockets = cuts.into_iter().flat_map(|cut| [Way::SocketBlocking(cut), Way::SocketAsynch(cut)]);
    let buffers = [65_536, 11_680, 3000, 700];
    let smoltcp = buffers.into_iter().flat_map(|len| [Way::SmoltcpAdvance(len), Way::SmoltcpAsynch(len)]);
    sockets.chain(smoltcp)
}

/// In memory.
pub fn memory() -> impl Iterator<Item = Way> {
    let even = [1, 2, 7, 100, 512, 1448, 4096].map(Chunks::Of);
    let random = (1..9).map(|seed| Chunks::Random { seed, max: 1 << (2 * seed) });
    even.into_iter().chain(random).map(Way::Memory)
}

/// Every way comes to the same, which is given.
#[track_caller]
pub fn agree<P: Protocol, L: Link>(talk: &Talk<P, L>, about: &str) -> (Came, Vec<Vec<u8>>) {
    let (came, heard) = talk.run(Way::Memory(Chunks::Whole));
    assert!(came.is_ok(), "{about}: {came:?}");
    for way in memory().chain(network()) {
        let (this, said) = talk.run(way);
        assert!(this == came, "{about}, {way:?}: something else came of it");
        let lens = |all: &[Vec<u8>]| all.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lens(&said), lens(&heard), "{about}, {way:?}: bytes sent over each connection");
        assert!(said == heard, "{about}, {way:?}: other bytes were sent");
    }
    (came.unwrap(), heard)
}

/// SMB with the model server.
pub fn smb(scene: Scene) -> Talk<Smb<'static>, Server> {
    let Scene { setup, config, program, .. } = scene;
    Talk {
        storage: (4096, 4096, 16),
        protocol: Box::new(move || Smb::new(setup.config())),
        server: Box::new(move || Server(Model::new(config.clone()))),
        program,
    }
}

/// The same job, by the paths of an NFS server.
pub const NFS: Program = Program {
    path: "/export/f",
    offset: 0,
    ring: 16_384,
    tail: 12_345,
    directory: "/export/d",
    looks_at: "/export/d/entry-07",
};

/// NFS with the model server.
pub fn nfs<V: Version + 'static>(scene: fn() -> NfsScene<V>) -> Talk<V::Nfs, V::Model> {
    Talk {
        storage: (1024, V::RX, 8),
        protocol: Box::new(move || V::nfs(&scene().client)),
        server: Box::new(move || V::model(&scene().client, &scene().config)),
        program: NFS,
    }
}
