//! Worlds that were read before their server owns them. A server that gets a moving room reads its snapshot while the
//! previous owner still steps the room.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nowcast_cluster::SnapshotRef;
use nowcast_store::{Snapshot, WorldName};

use crate::journal::Journal;

/// Maximum number of worlds.
const WORLDS_MAX: usize = 16;

/// A world that was read before its server owns it.
pub(crate) struct World {
    pub(crate) journal: Journal,
    pub(crate) reference: SnapshotRef,
    pub(crate) snapshot: Snapshot,
    /// Whether this server has claimed the journal after it read the world.
    pub(crate) is_claimed: bool,
}

/// The worlds, until their owner has loaded them.
#[derive(Default)]
pub(crate) struct Prefetched(Mutex<BTreeMap<WorldName, World>>);

impl Prefetched {
    /// Remembers a world. If there are too many, a world that was never loaded is forgotten.
    pub(crate) fn remember(&self, name: WorldName, world: World) {
        let mut worlds = self.lock();
        if worlds.len() >= WORLDS_MAX && !worlds.contains_key(&name) {
            worlds.pop_first();
        }
        worlds.insert(name, world);
    }

    pub(crate) fn journal(&self, name: &WorldName) -> Option<Journal> {
        self.lock().get(name).map(|world| world.journal.clone())
    }

    pub(crate) fn snapshot(&self, name: &WorldName) -> Option<(SnapshotRef, Snapshot)> {
        self.lock().get(name).map(|world| (world.reference, world.snapshot.clone()))
    }

    pub(crate) fn claimed(&self, name: &WorldName) {
        if let Some(world) = self.lock().get_mut(name) {
            world.is_claimed = true;
        }
    }

    /// Forgets a world after a load by its owner. A world of another server will be loaded again.
    pub(crate) fn loaded(&self, name: &WorldName) {
        let mut worlds = self.lock();
        if worlds.get(name).is_some_and(|world| world.is_claimed)
            && let Some(mut world) = worlds.remove(name)
        {
            world.journal.forget();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<WorldName, World>> {
        // No code panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
