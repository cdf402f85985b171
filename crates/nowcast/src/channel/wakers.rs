//! Tasks that wait for the same thing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// Wakes all tasks that wait, where something else remembers only one waker.
#[derive(Debug, Default)]
pub(crate) struct WakerSet(Mutex<Vec<Waker>>);

impl WakerSet {
    /// Adds a task, unless it is there already.
    pub(crate) fn insert(&self, waker: &Waker) {
        let mut waiting = self.lock();
        if !waiting.iter().any(|other| other.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }

    /// Adds a task; the waker that is returned wakes all.
    pub(crate) fn join(self: &Arc<Self>, waker: &Waker) -> Waker {
        self.insert(waker);
        Waker::from(Arc::clone(self))
    }

    /// Wakes all tasks that wait, once.
    pub(crate) fn wake_all(&self) {
        // A task may wait anew while it is woken, so nothing is woken under the lock.
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
