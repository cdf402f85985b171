//! Wakers: of the tasks that wait for the same event, and of a channel's driver.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use futures_util::task::AtomicWaker;

use crate::io::IoThread;

/// Wakes a channel's driver without the channel's lock.
#[derive(Debug, Default)]
pub(crate) struct DriverWaker {
    waker: AtomicWaker,
    /// The I/O thread of the driver; `None` on another runtime.
    thread: Option<IoThread>,
    /// Whether the source was called for since the driver last checked.
    source_is_called: AtomicBool,
}

impl DriverWaker {
    /// Makes the waker of a driver that runs on this thread.
    pub(crate) fn here() -> Self {
        Self { thread: IoThread::current(), ..Self::default() }
    }

    /// The I/O thread of the driver.
    pub(crate) fn thread(&self) -> Option<&IoThread> {
        self.thread.as_ref()
    }

    /// Begins the driver's turn; `waker` requests another one.
    pub(crate) fn register(&self, waker: &Waker) {
        self.waker.register(waker);
    }

    /// Wakes the driver to check the session.
    pub(crate) fn wake(&self) {
        self.waker.wake();
    }

    /// Wakes the driver to call the source.
    pub(crate) fn call_source(&self) {
        self.source_is_called.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Whether the source was called since the last check. Call it after the driver has begun its turn.
    pub(crate) fn take_call(&self) -> bool {
        self.source_is_called.swap(false, Ordering::Acquire)
    }
}

/// The tasks that wait for the same event, under their owner's lock.
#[derive(Debug, Default)]
pub(crate) struct Wakers(Vec<Waker>);

impl Wakers {
    /// Adds a task, unless it already waits.
    pub(crate) fn insert(&mut self, waker: &Waker) {
        if !self.0.iter().any(|other| other.will_wake(waker)) {
            self.0.push(waker.clone());
        }
    }

    /// Wakes all waiting tasks, once.
    pub(crate) fn wake_all(&mut self) {
        self.0.drain(..).for_each(Waker::wake);
    }
}

/// The tasks that wait for the same event, with a lock of their own. Wakes all of them, for components that store only one waker.
#[derive(Debug, Default)]
pub(crate) struct WakerSet(Mutex<Wakers>);

impl WakerSet {
    /// Adds a task, unless it is already in the set.
    pub(crate) fn insert(&self, waker: &Waker) {
        self.lock().insert(waker);
    }

    /// Adds a task. The returned waker wakes all tasks of the set.
    pub(crate) fn join(self: &Arc<Self>, waker: &Waker) -> Waker {
        self.insert(waker);
        Waker::from(Arc::clone(self))
    }

    /// Wakes all waiting tasks, once.
    pub(crate) fn wake_all(&self) {
        // The tasks are woken after the lock is released, because a woken task may wait again at once.
        let mut waiting = std::mem::take(&mut *self.lock());
        if waiting.0.capacity() == 0 {
            return;
        }
        waiting.wake_all();
        // The list keeps its memory for the next tasks.
        let mut list = self.lock();
        if list.0.capacity() == 0 {
            *list = waiting;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Wakers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for WakerSet {
    fn wake(self: Arc<Self>) {
        self.wake_all();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_all();
    }
}
