//! The smallest executor: one future, on this thread, polled when it was woken and not before.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Polls as often as `polls` says, and counts it down; `None` if that was not enough. With nobody else to wake the future
/// `idle` has to.
pub fn poll<F: Future>(
    mut future: Pin<&mut F>,
    polls: &mut usize,
    mut idle: impl FnMut(),
) -> Option<F::Output> {
    let woken = Arc::new(Woken(AtomicBool::new(false)));
    let waker = Waker::from(woken.clone());
    while *polls > 0 {
        *polls -= 1;
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(output);
        }
        if !woken.0.swap(false, Ordering::SeqCst) {
            idle();
            assert!(woken.0.swap(false, Ordering::SeqCst), "nobody wakes it");
        }
    }
    None
}

/// Runs to the end.
pub fn block_on<F: Future>(future: F) -> F::Output {
    poll(pin!(future), &mut 1_000_000, || {}).expect("it ends")
}
