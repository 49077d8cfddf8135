//! The least firmware that reads a file: connect, open, stream, and nothing else. It is linked, never run.
#![no_std]
#![no_main]

use core::ptr::{read_volatile, write_volatile};

/// Registers that nobody has: what goes through them the compiler can neither foresee nor leave out.
const REGISTER: *mut u32 = 0x4000_0000 as *mut u32;

fn get() -> u32 {
    // SAFETY: never run.
    unsafe { read_volatile(REGISTER) }
}

fn put(word: u32) {
    // SAFETY: never run.
    unsafe { write_volatile(REGISTER, word) }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    put(engine::read().is_ok().into());
    loop {}
}

mod engine {
    use super::{get, put};
    use core::convert::Infallible;
    use core::ops::ControlFlow;
    use pagewire::blocking::{self, Failure};
    use pagewire::{Client, Clock, Connect, Content, Millis, Open, Pages, Protocol, StorageArray, Stream};

    struct Line;

    impl embedded_io::ErrorType for Line {
        type Error = Infallible;
    }

    impl embedded_io::Read for Line {
        fn read(&mut self, buf: &mut [u8]) -> Result<usize, Infallible> {
            let len = buf.len().min(get() as usize);
            buf.iter_mut().take(len).for_each(|byte| *byte = get() as u8);
            Ok(len)
        }
    }

    impl embedded_io::Write for Line {
        fn write(&mut self, buf: &[u8]) -> Result<usize, Infallible> {
            let len = buf.len().min(get() as usize);
            buf.iter().take(len).for_each(|byte| put((*byte).into()));
            Ok(len)
        }

        fn flush(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    impl blocking::Link for Line {
        fn connect(&mut self, port: u16) -> Result<bool, Infallible> {
            put(port.into());
            Ok(true)
        }
    }

    impl Clock for Line {
        fn now(&self) -> Millis {
            Millis(get().into())
        }
    }

    pub fn read() -> Result<(), Failure<Infallible>> {
        #[cfg(feature = "nfs3")]
        stream(pagewire::nfs::Nfs3::new(pagewire::nfs::Config::new("/export/image.bin", get())))?;
        #[cfg(feature = "nfs4")]
        stream(pagewire::nfs::Nfs4::new(pagewire::nfs::nfs4::Config::new(
            b"owner",
            [get() as u8; 8],
            get(),
        )))?;
        #[cfg(all(feature = "smb", not(feature = "keeping")))]
        stream(pagewire::smb::Smb::new(smb()))?;
        #[cfg(feature = "keeping")]
        stream(pagewire::smb::Smb::<8>::keeping(smb()))?;
        Ok(())
    }

    #[cfg(feature = "smb")]
    fn smb() -> pagewire::smb::Config<'static> {
        use pagewire::smb::{Config, Entropy, Identity};
        let identity = Identity::Named { domain: "", user: "user", password: "secret" };
        let random = core::array::from_fn(|_| get() as u8);
        Config::new("nas", "share", identity, Entropy::from_bytes(random))
    }

    fn stream<P: Protocol>(protocol: P) -> Result<(), Failure<Infallible>> {
        let mut memory = StorageArray::<1024, 1024, 4>::new();
        let mut pages = [[0; 512]; 4];
        let mut client = Client::new(memory.lend(), protocol).map_err(Failure::Engine)?;
        blocking::run(&mut client, &mut Line, &Line, &mut Connect::new())?;
        let file = blocking::run(&mut client, &mut Line, &Line, &mut Open::new("export/image.bin"))?;
        let mut sink = Pages(&mut pages);
        let mut content = Stream::new(&file, 0, &mut sink);
        blocking::run_each(&mut client, &mut Line, &Line, &mut content, |content| {
            match content {
                Content::Data(bytes) => bytes.iter().for_each(|byte| put((*byte).into())),
                Content::Hole(len) => put(len as u32),
            }
            ControlFlow::Continue(())
        })?;
        Ok(())
    }
}
