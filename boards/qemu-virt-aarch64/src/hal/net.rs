//! virtio-net without an allocator, as a device of smoltcp.

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use static_cell::ConstStaticCell;
use virtio_drivers::device::net::VirtIONetRaw;
use virtio_drivers::transport::mmio::{MmioTransport, VirtIOHeader};
use virtio_drivers::transport::{DeviceType, Transport};
use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE, PhysAddr};

/// `virt` has this many places for virtio devices, of so many bytes, from here on.
const SLOTS: usize = 32;
const SLOT_LEN: usize = 0x200;
const SLOTS_ADDRESS: usize = 0x0A00_0000;

/// Frames that can come before one is looked at: together about a third of the socket's window.
const QUEUE_LEN: usize = 64;

/// An Ethernet frame without its checksum.
const FRAME_LEN: usize = 1514;

/// A frame with virtio's header before it. The driver refuses less than 1526 bytes.
const BUFFER_LEN: usize = 2048;

/// Both queues in two parts each, and a part of so short a queue fits in one page.
const DMA_PAGES: usize = 4;

type Raw = VirtIONetRaw<Identity, MmioTransport<'static>, QUEUE_LEN>;
type Buffers = [[u8; BUFFER_LEN]; QUEUE_LEN];

static BUFFERS: ConstStaticCell<Buffers> = ConstStaticCell::new([[0; BUFFER_LEN]; QUEUE_LEN]);
static FRAME: ConstStaticCell<[u8; FRAME_LEN]> = ConstStaticCell::new([0; FRAME_LEN]);

#[repr(C, align(4096))]
struct Pool(UnsafeCell<[[u8; PAGE_SIZE]; DMA_PAGES]>);
// SAFETY: every page is given away once (see `dma_alloc`), and only the one who has it uses it.
unsafe impl Sync for Pool {}
static POOL: Pool = Pool(UnsafeCell::new([[0; PAGE_SIZE]; DMA_PAGES]));
static POOL_USED: AtomicUsize = AtomicUsize::new(0);

/// Memory as the device sees it: the same addresses, and coherent.
struct Identity;

// SAFETY: translation is the identity (see `mmu`), so addresses are what they are for the device; pages come from a pool
// of zeros, aligned, each once.
unsafe impl Hal for Identity {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let first = POOL_USED.fetch_add(pages, Ordering::Relaxed);
        assert!(first + pages <= DMA_PAGES, "the queues take more than DMA_PAGES");
        let page = POOL.0.get().cast::<[u8; PAGE_SIZE]>().wrapping_add(first).cast();
        (page as PhysAddr, NonNull::new(page).expect("a static is somewhere"))
    }
    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        0 // the device lives as long as the firmware
    }
    unsafe fn mmio_phys_to_virt(address: PhysAddr, _: usize) -> NonNull<u8> {
        NonNull::new(address as *mut u8).expect("no device is at 0")
    }
    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.as_ptr().cast::<u8>() as PhysAddr
    }
    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}

/// The network device.
pub struct Net {
    raw: Raw,
    buffers: &'static mut Buffers,
    /// Which buffer the device has for each of its tokens.
    buffer_of: [usize; QUEUE_LEN],
    /// The buffer that was lent to the interface last. The device gets it back when the next one is asked for.
    lent: Option<usize>,
    frame: &'static mut [u8; FRAME_LEN],
}

impl Net {
    /// Static memory in bytes.
    pub const LEN: usize = size_of::<Buffers>() + FRAME_LEN + size_of::<Pool>();

    /// The first network device of the machine. `None` if there is none. To be called once.
    pub fn find() -> Option<Net> {
        let transport = (0..SLOTS).find_map(|slot| {
            let header = NonNull::new((SLOTS_ADDRESS + slot * SLOT_LEN) as *mut VirtIOHeader)?;
            // SAFETY: that is where the devices are, mapped as such, and there is one `Net` that uses them.
            let transport = unsafe { MmioTransport::new(header, SLOT_LEN) }.ok()?;
            (transport.device_type() == DeviceType::Network).then_some(transport)
        })?;
        let mut raw = Raw::new(transport).ok()?;
        raw.disable_interrupts();
        let mut net =
            Net { raw, buffers: BUFFERS.take(), buffer_of: [0; QUEUE_LEN], lent: None, frame: FRAME.take() };
        (0..QUEUE_LEN).for_each(|buffer| net.give(buffer));
        Some(net)
    }

    /// Its Ethernet address.
    pub fn address(&self) -> [u8; 6] {
        self.raw.mac_address()
    }

    /// Gives a buffer to the device.
    fn give(&mut self, buffer: usize) {
        // SAFETY: the buffer is static, and nobody looks at it before `receive_complete`.
        let token = unsafe { self.raw.receive_begin(&mut self.buffers[buffer]) };
        let token = token.expect("there are as many places in the queue as buffers");
        self.buffer_of[usize::from(token)] = buffer;
    }
}

impl Device for Net {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Transmit<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received<'_>, Transmit<'_>)> {
        if let Some(buffer) = self.lent.take() {
            self.give(buffer);
        }
        let token = self.raw.poll_receive()?;
        let buffer = self.buffer_of[usize::from(token)];
        self.lent = Some(buffer);
        // SAFETY: it is the buffer that was given for this token.
        let received = unsafe { self.raw.receive_complete(token, &mut self.buffers[buffer]) };
        let (start, len) = received.ok()?;
        let frame = self.buffers[buffer].get(start..start + len)?;
        Some((Received(frame), Transmit { raw: &mut self.raw, frame: self.frame }))
    }

    fn transmit(&mut self, _: Instant) -> Option<Transmit<'_>> {
        Some(Transmit { raw: &mut self.raw, frame: self.frame })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = FRAME_LEN;
        capabilities
    }
}

/// A frame that came.
pub struct Received<'a>(&'a [u8]);

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, look: F) -> R {
        look(self.0)
    }
}

/// A frame that may be sent.
pub struct Transmit<'a> {
    raw: &'a mut Raw,
    frame: &'a mut [u8; FRAME_LEN],
}

impl TxToken for Transmit<'_> {
    /// The device takes it before this returns: one frame of memory is enough.
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, fill: F) -> R {
        let frame = &mut self.frame[..len];
        let result = fill(frame);
        // A frame that does not go out is a frame that is lost on the way, as frames are.
        let _ = self.raw.send(frame);
        result
    }
}
