//! Worlds that were read before their server owns them. A server that gets a moving room reads its snapshot while the owner before
//! still steps the room.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nowcast_cluster::SnapshotRef;
use nowcast_store::{Snapshot, WorldName};

use crate::journal::Journal;

/// Maximum number of worlds.
const WORLDS_MAX: usize = 16;

/// The journal of a world, and its newest snapshot.
type World = (Journal, SnapshotRef, Snapshot);

/// The worlds, until they are loaded.
#[derive(Default)]
pub(crate) struct Prefetched(Mutex<BTreeMap<WorldName, World>>);

impl Prefetched {
    /// Remembers a world. If there are too many, one that was never loaded is forgotten.
    pub(crate) fn remember(&self, name: WorldName, world: World) {
        let mut worlds = self.lock();
        if worlds.len() >= WORLDS_MAX && !worlds.contains_key(&name) {
            worlds.pop_first();
        }
        worlds.insert(name, world);
    }

    pub(crate) fn journal(&self, name: &WorldName) -> Option<Journal> {
        self.lock().get(name).map(|(journal, ..)| journal.clone())
    }

    pub(crate) fn snapshot(&self, name: &WorldName) -> Option<(SnapshotRef, Snapshot)> {
        self.lock().get(name).map(|(_, reference, snapshot)| (*reference, snapshot.clone()))
    }

    pub(crate) fn forget(&self, name: &WorldName) {
        self.lock().remove(name);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<WorldName, World>> {
        // No code panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
