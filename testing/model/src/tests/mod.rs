//! Conversations with the model.

mod crypto_lies;
mod honest;
mod listing;
mod ranges;
mod reply_lies;

use crate::client::{Client, create_body, read_body};
use crate::{Command, Config, Dialect, Lie, Tree};

/// A share with a file `f` of 1000 bytes.
fn config() -> Config {
    let tree = Tree::new().pattern("f", 1000).file("d/x", "x").denied("secret").symlink("link", "d");
    Config { tree, ..Config::default() }
}

fn lying(lie: Lie) -> Config {
    Config { lies: vec![lie], ..config() }
}

/// A signing client at 3.1.1 with `f` open.
fn opened(lie: Lie) -> (Client, [u8; 16]) {
    let mut client = Client::connected(lying(lie), Dialect::V311);
    let file = client.ask(Command::Create, create_body("f", 0)).file_id();
    (client, file)
}

/// Sends `count` READs of 100 bytes each, one after the other, in frames of their own.
fn send_reads(client: &mut Client, file: [u8; 16], count: u64) {
    (0..count).for_each(|i| client.send(&[(Command::Read, read_body(file, i * 100, 100))]));
}
