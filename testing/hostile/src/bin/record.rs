//! `record HOST:PORT`: has the conversations of `conversations/` once more, with a server as its README says.

use embedded_io::{Read, Write};
use pagewire::StorageArray;
use pagewire::smb::Smb;
use pagewire_hostile::{Heard, Link, RECORDED, Recorded, Recorder, Session, Story};
use pagewire_std::Tcp;
use std::time::Duration;

/// The socket. Whatever goes wrong with it ends the recording.
struct Socket(Tcp);

impl Link for Socket {
    fn send(&mut self, bytes: &[u8]) -> usize {
        self.0.write(bytes).expect("the server takes what is sent")
    }

    fn receive(&mut self, window: &mut [u8]) -> Heard {
        match self.0.read(window).expect("the server answers at once") {
            0 => Heard::Closed,
            len => Heard::Bytes(len),
        }
    }
}

fn main() {
    let address = std::env::args().nth(1).expect("usage: record HOST:PORT");
    let (host, port) = address.rsplit_once(':').expect("HOST:PORT");
    let port = port.parse().expect("a port");
    for recorded in RECORDED {
        let socket = Socket(Tcp::connect(host, port, Duration::from_secs(5)).expect("the server is there"));
        record(&recorded, socket);
    }
}

fn record(recorded: &Recorded, socket: Socket) {
    let mut storage = StorageArray::<4096, 4096, 16>::new();
    let smb = Smb::new(recorded.setup.config());
    let mut session = Session::new(storage.lend(), smb, Recorder::new(socket)).expect("enough storage");
    let mut story = Story::default();
    Recorded::PROGRAM.run::<512, _>(&mut session, &mut story).expect("all goes well");
    let (_, conversation) = session.link.end();
    let file = conversation.encode();
    std::fs::write(recorded.path(), &file).expect("the file can be written");
    println!("{}: {} bytes, {} entries", recorded.name, file.len(), story.entries.len());
}
