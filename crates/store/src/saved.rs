//! A world as it came back from a store: a snapshot, and what happened since.

use nowcast_world::World;
use nowcast_world::journal::{self, Entry, Record, ReplayError};

use crate::batch::{Batch, Note};
use crate::name::WorldName;
use crate::once::Once;
use crate::snapshot::{FileError, Snapshot, write_file};

/// Which moment of a world's life is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Moment {
    /// The newest that is kept.
    #[default]
    Last,
    /// After this many steps. A moment that has not come yet is the newest.
    Tick(u64),
    /// At a time in milliseconds since 1970, to a step if the world's clock went as time did. One that has not come yet
    /// is the newest.
    TimeMs(u64),
}

/// Everything that gives a world again. [`SavedWorld::replay`] does so.
#[derive(Clone, PartialEq, Debug)]
pub struct SavedWorld {
    /// Its name.
    pub name: WorldName,
    /// Where the replay begins.
    pub snapshot: Snapshot,
    /// The changes since, in order.
    pub batches: Vec<Batch>,
    /// The tick that the world had reached.
    pub tick: u64,
    /// The unreadable parts that were left out; only a salvage leaves anything out.
    pub damage: Vec<String>,
}

/// A world as it was, and what happened next.
#[derive(Clone, PartialEq, Debug)]
pub struct Stretch {
    /// The world at that moment.
    pub saved: SavedWorld,
    /// Which moment that is, in milliseconds since 1970.
    pub time_ms: u64,
    /// The changes from there on, in order: applied to the world of [`Stretch::saved`], they show the past.
    pub next: Vec<Entry>,
    /// The tick up to which that is known.
    pub through_tick: u64,
    /// When that was, in milliseconds since 1970.
    pub through_ms: u64,
}

/// Why a world cannot be had again.
#[derive(Debug, thiserror::Error)]
pub enum ReturnError<E> {
    /// The caller could not make a world of the snapshot.
    #[error("the snapshot of tick {tick} gives no world: {error}")]
    Restore {
        /// The snapshot's tick.
        tick: u64,
        /// The caller's error.
        error: E,
    },
    /// The journal does not lead to the world that was recorded.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

impl SavedWorld {
    /// The world again, to the last bit: `make` restores one from the snapshot's bytes, with the definition and the rules
    /// that it had, and the journal is replayed. Each hash that was recorded is compared.
    ///
    /// It takes as long as the world's steps since the snapshot take.
    ///
    /// # Errors
    /// Fails if `make` fails, if an entry of the journal does not fit the world, or if a hash is another than was recorded.
    pub fn replay<E>(
        &self,
        make: impl FnOnce(&Snapshot) -> Result<World, E>,
    ) -> Result<World, ReturnError<E>> {
        let mut world =
            make(&self.snapshot).map_err(|error| ReturnError::Restore { tick: self.snapshot.tick, error })?;
        let found = world.hash();
        if (world.tick(), found) != (self.snapshot.tick, self.snapshot.hash) {
            let Snapshot { tick, hash: expected, .. } = self.snapshot;
            return Err(ReplayError::Diverged { tick, expected, found }.into());
        }
        journal::replay(&mut world, self.entries(), self.tick)?;
        Ok(world)
    }

    /// Returns the nearest world where [`SavedWorld::replay`] finds another hash, because its rules or the program have
    /// changed since: the same commands, and no hash is compared. A host that goes on from there begins anew with a
    /// snapshot ([`crate::Continuity::BeginsAnew`]).
    ///
    /// # Errors
    /// Fails if `make` fails, or if an entry of the journal does not fit the world.
    pub fn replay_unchecked<E>(
        &self,
        make: impl FnOnce(&Snapshot) -> Result<World, E>,
    ) -> Result<World, ReturnError<E>> {
        let mut world =
            make(&self.snapshot).map_err(|error| ReturnError::Restore { tick: self.snapshot.tick, error })?;
        let is_hash = |entry: &Entry| matches!(entry.record, Record::Hash(_));
        journal::replay(&mut world, self.entries().filter(|entry| !is_hash(entry)), self.tick)?;
        Ok(world)
    }

    /// The changes since the snapshot, in order.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.batches.iter().flat_map(|batch| &batch.entries).cloned()
    }

    /// The durable actions that were done, those since the snapshot too.
    pub fn once(&self) -> Once {
        let mut once = self.snapshot.once.clone();
        for batch in &self.batches {
            for id in &batch.done {
                once.insert(*id, batch.through_tick);
            }
        }
        once
    }

    /// The host's notes since the snapshot, in order.
    pub fn notes(&self) -> impl Iterator<Item = &Note> {
        self.batches.iter().flat_map(|batch| &batch.notes)
    }

    /// When the world was last recorded, in milliseconds since 1970.
    pub fn time_ms(&self) -> u64 {
        self.batches.last().map_or(self.snapshot.time_ms, |batch| batch.time_ms)
    }

    /// All of it as one save file, which [`crate::SqliteStore::import`] reads.
    ///
    /// # Errors
    /// Fails as [`write_file`] does.
    pub fn to_file(&self) -> Result<Vec<u8>, FileError> {
        let mut batches = self.batches.clone();
        // Time in which nothing happened stands in no batch.
        let from_tick = batches.last().map_or(self.snapshot.tick, |batch| batch.through_tick);
        if from_tick < self.tick {
            let time_ms = self.time_ms();
            batches.push(Batch { from_tick, through_tick: self.tick, time_ms, ..Batch::default() });
        }
        write_file(self.name.as_str(), &self.snapshot, &batches)
    }

    /// Leaves out what happened after a tick.
    pub(crate) fn cut_at(&mut self, tick: u64) {
        if tick >= self.tick {
            return;
        }
        self.tick = tick;
        self.batches.retain(|batch| batch.from_tick < tick);
        if let Some(last) = self.batches.last_mut()
            && last.through_tick > tick
        {
            last.through_tick = tick;
            last.entries.retain(|entry| entry.tick < tick);
            last.notes.retain(|note| note.tick < tick);
        }
    }
}
