//! Worlds that were read before their server owns them. A server that gets a moving room reads its snapshot while the
//! previous owner still steps the room.

use std::collections::BTreeMap;

use nowcast_store::{Snapshot, WorldName};
use parking_lot::Mutex;

use crate::journal::{Journal, Note};

/// Maximum number of worlds.
const WORLDS_MAX: usize = 16;

/// A world that was read before its server owns it.
pub(crate) struct World {
    pub(crate) journal: Journal,
    pub(crate) snapshot: Known,
    /// Whether this server has claimed the journal after it read the world.
    pub(crate) is_claimed: bool,
}

/// A snapshot that was read before, with its note in the journal.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) note: Note,
    pub(crate) snapshot: Snapshot,
    /// The sequence number of the last message, if the journal ends there and has no newer snapshot.
    pub(crate) last: Option<u64>,
}

/// The worlds, until their owner has loaded them.
#[derive(Default)]
pub(crate) struct Prefetched(Mutex<BTreeMap<WorldName, World>>);

impl Prefetched {
    /// Remembers a world. If there are too many, a world that was never loaded is forgotten.
    pub(crate) fn remember(&self, name: WorldName, world: World) {
        let mut worlds = self.0.lock();
        if worlds.len() >= WORLDS_MAX && !worlds.contains_key(&name) {
            worlds.pop_first();
        }
        worlds.insert(name, world);
    }

    pub(crate) fn journal(&self, name: &WorldName) -> Option<Journal> {
        self.0.lock().get(name).map(|world| world.journal.clone())
    }

    pub(crate) fn snapshot(&self, name: &WorldName) -> Option<Known> {
        self.0.lock().get(name).map(|world| world.snapshot.clone())
    }

    pub(crate) fn note(&self, name: &WorldName) -> Option<Note> {
        self.0.lock().get(name).map(|world| world.snapshot.note.clone())
    }

    /// Records that this server has claimed the journal. `last` is the number of its last message, if the world has no newer
    /// snapshot than the one that was read.
    pub(crate) fn claimed(&self, name: &WorldName, last: Option<u64>) {
        if let Some(world) = self.0.lock().get_mut(name) {
            (world.is_claimed, world.snapshot.last) = (true, last);
        }
    }

    /// Forgets a world after a load by its owner. A world of another server will be loaded again.
    pub(crate) fn loaded(&self, name: &WorldName) {
        let mut worlds = self.0.lock();
        if worlds.get(name).is_some_and(|world| world.is_claimed)
            && let Some(mut world) = worlds.remove(name)
        {
            world.journal.forget();
        }
    }
}
