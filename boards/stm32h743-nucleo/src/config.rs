//! All that is to be set. The password ends up in the firmware's image: give the account no right but to read this share.

use firmware::At;
use pagewire_smoltcp::Address;

/// An address of one's own: locally administered, and no other device in the network may have it.
pub const MAC: [u8; 6] = [0x02, 0, 0, 0, 0x07, 0x43];

/// Where the board's address is from.
pub const ADDRESS: Address = Address::Dhcp;

/// The SMB server: its address, or its name where DNS knows it.
pub const SERVER: &str = "192.168.1.10";
/// The share, and who reads it.
pub const SHARE: &str = "data";
/// The account. An empty domain leaves it to the server.
pub const DOMAIN: &str = "";
pub const USER: &str = "user";
pub const PASSWORD: &str = "secret";
/// The file in the share.
pub const FILE: At<'_> = At { port: 445, path: "firmware/image.bin" };
/// Whether it is stored in flash. Else its SHA-256 is logged and nothing is kept.
pub const STORE: bool = true;

/// Where the slots lie in flash: the second bank of 1 MiB, which is erased and written while the firmware runs in the first. Both in
/// sectors of 128 KiB.
pub const SLOTS_START: u32 = 0x10_0000;
pub const SLOT_LEN: u32 = 512 * 1024;
