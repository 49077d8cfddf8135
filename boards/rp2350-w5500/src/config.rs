//! All that is to be set.

use pagewire::nfs::rpc::{AuthSys, Credential};
use pagewire_smoltcp::Address;

/// An address of one's own: locally administered, and no other device in the network may have it.
pub const MAC: [u8; 6] = [0x02, 0, 0, 0, 0x23, 0x50];

/// Where the board's address is from.
pub const ADDRESS: Address = Address::Dhcp;

/// The NFS server: its address, or its name where DNS knows it. Its export must allow ports above 1023 (`insecure`).
pub const SERVER: &str = "192.168.1.10";
/// As whom, which the server believes or not.
pub const CREDENTIAL: Credential<'_> =
    Credential::Sys(AuthSys { stamp: 0, machine_name: "rp2350", uid: 1000, gid: 1000, gids: &[] });
/// The file, from the server's root.
pub const PATH: &str = "/export/firmware/image.bin";
/// Whether it is stored in flash. Else its SHA-256 is logged and nothing is kept.
pub const STORE: bool = true;

/// The flash of the board, in bytes.
pub const FLASH_LEN: usize = 2 * 1024 * 1024;
/// Where the slots lie in it: the second half.
pub const SLOTS_START: u32 = 0x10_0000;
pub const SLOT_LEN: u32 = 512 * 1024;
