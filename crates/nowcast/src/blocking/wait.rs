//! Blocks a thread until a future or a poll is ready.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Instant;

use crate::helper::helper;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

thread_local! {
    static WAKER: Waker = Waker::from(Arc::new(Unpark(std::thread::current())));
}

/// Polls until the result is ready. The thread sleeps between two polls. Returns `None` at the deadline.
pub(super) fn wait<T>(deadline: Option<Instant>, mut poll: impl FnMut(&Waker) -> Poll<T>) -> Option<T> {
    WAKER.with(|waker| {
        loop {
            if let Poll::Ready(value) = poll(waker) {
                return Some(value);
            }
            match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => std::thread::park(),
                Some(left) if left.is_zero() => return None,
                Some(left) => std::thread::park_timeout(left),
            }
        }
    })
}

/// Runs a future in this thread. The helper thread provides the runtime.
///
/// # Errors
/// If the system cannot create a thread.
pub(super) fn block_on<F: Future>(future: F) -> io::Result<F::Output> {
    let mut future = pin!(future);
    loop {
        if let Some(output) = block_on_until(None, future.as_mut())? {
            return Ok(output);
        }
    }
}

/// Like [`block_on`], but returns `None` at the deadline.
pub(super) fn block_on_until<F: Future>(
    deadline: Option<Instant>,
    future: F,
) -> io::Result<Option<F::Output>> {
    let _entered = helper()?.enter();
    let mut future = pin!(future);
    Ok(wait(deadline, |waker| future.as_mut().poll(&mut Context::from_waker(waker))))
}
