//! Files that went with their connection.
#![cfg(feature = "nfs3")]

use pagewire::nfs::v3::Fh;
use pagewire::nfs::{Config, Nfs3};
use pagewire::{Attributes, Client, Close, File, Step, StorageArray};

/// NFSv3 knows no open files at all.
#[test]
fn to_close_a_file_of_nfs_3_nothing_is_connected_and_nothing_is_said() {
    let mut storage = StorageArray::<1024, 4096, 8>::new();
    let mut client = Client::new(storage.lend(), Nfs3::new(Config::new("/export", 1))).unwrap();
    let file = File { handle: Fh::new(&[1; 32]).unwrap(), attributes: Attributes::default() };
    assert!(matches!(client.step(&mut Close::new(&file)), Step::Done(Ok(()))));
    assert_eq!(client.counters().requests, 0);
}
