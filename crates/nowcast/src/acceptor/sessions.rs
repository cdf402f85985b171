//! The open sessions by their ids.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::driver::Shared;

/// Sessions that can be resumed. Their permits limit their number.
#[derive(Default)]
pub(super) struct Sessions {
    by_id: Mutex<HashMap<[u8; 8], Weak<Shared>>>,
}

impl Sessions {
    pub(super) fn insert(&self, id: [u8; 8], shared: &Arc<Shared>) {
        self.lock().insert(id, Arc::downgrade(shared));
    }

    pub(super) fn find(&self, id: &[u8; 8]) -> Option<Arc<Shared>> {
        self.lock().get(id)?.upgrade()
    }

    pub(super) fn remove(&self, id: &[u8; 8]) {
        self.lock().remove(id);
    }

    pub(super) fn all(&self) -> Vec<Arc<Shared>> {
        self.lock().values().filter_map(Weak::upgrade).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 8], Weak<Shared>>> {
        self.by_id.lock().expect("no thread panics while holding the lock")
    }
}
