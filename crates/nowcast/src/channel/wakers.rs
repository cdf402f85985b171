//! Wakers of the tasks that wait for the same event.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

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
