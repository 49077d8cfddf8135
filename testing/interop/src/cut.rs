//! A connection that ends too early.

use std::io::{self, Read};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

/// A way to `server` on which the first connection ends after so many bytes from there.
pub fn cut_after(server: String, len: u64) -> String {
    cut_and_stay_away(server, len, 0)
}

/// The same, on which the `away` connections that follow end at once.
pub fn cut_and_stay_away(server: String, len: u64, away: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for (number, client) in listener.incoming().enumerate() {
            if (1..=away).contains(&number) {
                continue;
            }
            let (mut client, mut server) = (client.unwrap(), TcpStream::connect(&server).unwrap());
            let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || io::copy(&mut from_client, &mut to_server));
            thread::spawn(move || {
                let mut some = Read::by_ref(&mut server).take(if number == 0 { len } else { u64::MAX });
                let _ = io::copy(&mut some, &mut client);
                // The other side may be gone already.
                let _ = client.shutdown(Shutdown::Both);
            });
        }
    });
    address
}
