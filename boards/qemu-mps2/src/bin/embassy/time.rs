//! embassy-time by the timer of the machine; SysTick looks every millisecond whose time has come. And the engine's clock by
//! embassy-time.

use core::cell::RefCell;
use core::task::Waker;
use cortex_m::Peripherals;
use cortex_m::peripheral::syst::SystClkSource;
use cortex_m_rt::exception;
use critical_section::{Mutex, with};
use embassy_time_driver::Driver;
use embassy_time_queue_utils::Queue;
use mps2::clock;
use pagewire::asynch::Timer;
use pagewire::{Clock, Millis};

const TICKS_PER_MS: u32 = 25_000;

/// Who waits for a time.
struct Waiting(Mutex<RefCell<Queue>>);

embassy_time_driver::time_driver_impl!(static WAITING: Waiting = Waiting(Mutex::new(RefCell::new(Queue::new()))));

impl Driver for Waiting {
    fn now(&self) -> u64 {
        // One at a time, as it asks.
        with(|_| clock::now().total_millis() as u64)
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        with(|token| self.0.borrow(token).borrow_mut().schedule_wake(at, waker));
    }
}

#[exception]
fn SysTick() {
    // Whoever waited for this time is woken. When the next one is has no importance: every tick looks.
    with(|token| WAITING.0.borrow(token).borrow_mut().next_expiration(WAITING.now()));
}

/// Starts the clock. Once.
pub fn start() {
    clock::start();
    let mut timer = Peripherals::take().expect("nobody else has them").SYST;
    timer.set_clock_source(SystClkSource::Core);
    timer.set_reload(TICKS_PER_MS - 1);
    timer.clear_current();
    timer.enable_counter();
    timer.enable_interrupt();
}

/// The time of embassy.
pub struct EmbassyTime;

impl Clock for EmbassyTime {
    fn now(&self) -> Millis {
        Millis(embassy_time::Instant::now().as_millis())
    }
}

impl Timer for EmbassyTime {
    async fn until(&self, at: Millis) {
        embassy_time::Timer::at(embassy_time::Instant::from_millis(at.0)).await;
    }
}
