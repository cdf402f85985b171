//! Tasks that wait for the same event.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// Wakes all waiting tasks, for components that store only one waker.
#[derive(Debug, Default)]
pub(crate) struct WakerSet(Mutex<Vec<Waker>>);

impl WakerSet {
    /// Adds a task, unless it is already in the set.
    pub(crate) fn insert(&self, waker: &Waker) {
        let mut waiting = self.lock();
        if !waiting.iter().any(|other| other.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }

    /// Adds a task. The returned waker wakes all tasks of the set.
    pub(crate) fn join(self: &Arc<Self>, waker: &Waker) -> Waker {
        self.insert(waker);
        Waker::from(Arc::clone(self))
    }

    /// Wakes all waiting tasks, once.
    pub(crate) fn wake_all(&self) {
        // The tasks are woken after the lock is released, because a woken task may wait again at once.
        let waiting = std::mem::take(&mut *self.lock());
        waiting.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Waker>> {
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
