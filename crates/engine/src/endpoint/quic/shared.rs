//! The state that the loop of an endpoint shares with its carriers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::core::Core;
use super::shards::{Inbox, Shard};

/// An endpoint, as its loop and its carriers share it.
pub(super) struct Serving {
    core: Mutex<Core>,
    is_closing: AtomicBool,
    pub(super) inbox: Arc<Inbox>,
    pub(super) shard: Shard,
}

impl Serving {
    pub(super) fn new(core: Core, shard: Shard) -> Arc<Self> {
        let is_closing = AtomicBool::new(false);
        Arc::new(Self { core: Mutex::new(core), is_closing, inbox: Arc::default(), shard })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().expect("no thread panics while holding the lock")
    }

    /// Lets the loop run.
    pub(super) fn wake(&self) {
        self.inbox.wake();
    }

    /// Closes all connections. The loop ends when they are over.
    pub(super) fn close(&self) {
        self.is_closing.store(true, Ordering::Release);
        self.wake();
    }

    pub(super) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Acquire)
    }
}
