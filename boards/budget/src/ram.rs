//! What each part of a read takes of RAM: a static of each type, whose size stands in the table of symbols. Linked, never
//! run.
#![no_std]
#![no_main]

use core::hint::black_box;
use core::mem::MaybeUninit;
use pagewire::nfs::{Nfs3, Nfs4};
use pagewire::smb::Smb;
use pagewire::{Client, List, Map, Open, StorageArray, Stream};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// Room for a value that nobody makes.
struct Room<T>(MaybeUninit<T>);

// SAFETY: nobody looks into it.
unsafe impl<T> Sync for Room<T> {}

/// A module of statics, each by the name that it has in `ceilings`, and `keep`, so that they are linked.
macro_rules! rooms {
    ($module:ident { $($name:ident: $type:ty,)+ }) => {
        #[allow(non_upper_case_globals)]
        mod $module {
            use super::*;
            $(static $name: Room<$type> = Room(MaybeUninit::zeroed());)+
            pub fn keep() {
                $(black_box(&$name);)+
            }
        }
    };
}

/// Those of a protocol, with the least storage that it works with. `Connect`, `Stat` and `Statfs` are as large as `Open`, and
/// `Read` as `Stream`.
macro_rules! protocol {
    ($module:ident, $protocol:ty, $storage:ty) => {
        rooms! {
            $module {
                client: Client<'static, $protocol>,
                storage: $storage,
                open: Open<'static, $protocol>,
                stream: Stream<'static, $protocol>,
                list: List<'static, $protocol>,
                map: Map<$protocol>,
            }
        }
    };
}

protocol!(smb, Smb<'static>, StorageArray<1024, 1024, 3>);
// With AUTH_SYS, a short name and no further groups.
protocol!(nfs3, Nfs3<'static>, StorageArray<400, 736, 2>);
// With an owner of 16 bytes.
protocol!(nfs4, Nfs4<'static>, StorageArray<900, 1608, 2>);

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    smb::keep();
    nfs3::keep();
    nfs4::keep();
    loop {}
}
