//! A stored world: a snapshot, and the later changes.

use std::time::Duration;

use nowcast_world::World;
use nowcast_world::journal::{self, Entry, Record, ReplayError};

use crate::batch::{Batch, Note};
use crate::name::WorldName;
use crate::once::Once;
use crate::snapshot::{FileError, Snapshot, write_file};

/// A moment of a world's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Moment {
    /// The newest stored moment.
    #[default]
    Last,
    /// The moment after this many steps. A moment in the future stands for the newest stored one.
    Tick(u64),
    /// The moment at a time in milliseconds since 1970, exact to a step if the world's clock ran evenly. A moment in the
    /// future stands for the newest stored one.
    TimeMs(u64),
}

impl Moment {
    /// Returns the moment that is later by a time.
    #[must_use]
    pub fn plus(self, time: Duration) -> Moment {
        let time_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        match self {
            Moment::Last => Moment::Last,
            Moment::Tick(tick) => Moment::Tick(tick.saturating_add(ticks_in(time_ms))),
            Moment::TimeMs(at_ms) => Moment::TimeMs(at_ms.saturating_add(time_ms)),
        }
    }
}

/// All data that is needed to rebuild a world. [`SavedWorld::replay`] rebuilds it.
#[derive(Clone, PartialEq, Debug)]
pub struct SavedWorld {
    /// The name of the world.
    pub name: WorldName,
    /// The snapshot from which the replay begins.
    pub snapshot: Snapshot,
    /// The changes since the snapshot, in order.
    pub batches: Vec<Batch>,
    /// The last tick of the world.
    pub tick: u64,
    /// The unreadable parts that were left out. Only a salvage leaves out parts.
    pub damage: Vec<String>,
}

/// A world at a moment, and the later changes.
#[derive(Clone, PartialEq, Debug)]
pub struct Stretch {
    /// The world at that moment.
    pub saved: SavedWorld,
    /// The time of that moment, in milliseconds since 1970.
    pub time_ms: u64,
    /// The later changes, in order. A replay applies them to the world of [`Stretch::saved`].
    pub next: Vec<Entry>,
    /// The last tick of these changes.
    pub through_tick: u64,
    /// The time of the last tick, in milliseconds since 1970.
    pub through_ms: u64,
}

impl Stretch {
    /// Divides a world at a moment. `saved` has the changes until `through` at least, and may have later ones.
    pub fn new(mut saved: SavedWorld, moment: Moment, through: Moment) -> Stretch {
        let through_tick = tick_of(&saved, through).min(saved.tick);
        let tick = tick_of(&saved, moment).min(through_tick);
        let [time_ms, through_ms] = [tick, through_tick].map(|tick| time_at(&saved, tick));
        // An entry at `through_tick` belongs to the step after the stretch. It is included only if the record ends at that
        // tick.
        let is_end = through_tick == saved.tick;
        let is_next = |entry: &Entry| entry.tick >= tick && (is_end || entry.tick < through_tick);
        let next = saved.entries().filter(is_next).collect();
        saved.cut_at(tick);
        Stretch { saved, time_ms, next, through_tick, through_ms }
    }
}

/// The reason why a world cannot be rebuilt.
#[derive(Debug, thiserror::Error)]
pub enum ReturnError<E> {
    /// The caller could not make a world from the snapshot.
    #[error("the snapshot of tick {tick} gives no world: {error}")]
    Restore {
        /// The snapshot's tick.
        tick: u64,
        /// The caller's error.
        error: E,
    },
    /// The journal does not lead to the recorded world.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

impl SavedWorld {
    /// Rebuilds the world to the last bit. `make` restores the world from the bytes of the snapshot, with the definition and
    /// the rules of that time. Then the journal is replayed, and each recorded hash is compared.
    ///
    /// A replay takes as long as the steps of the world since the snapshot.
    ///
    /// # Errors
    /// Fails if `make` fails, if an entry of the journal does not fit the world, or if a hash differs from the recorded one.
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

    /// Rebuilds the world approximately: it applies the same commands without comparing hashes. Use it if
    /// [`SavedWorld::replay`] finds another hash because the rules or the program have changed. A host that continues from
    /// this world begins with a snapshot ([`crate::Continuity::BeginsAnew`]).
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

    /// The durable actions that were done, including those since the snapshot.
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

    /// The time of the last record, in milliseconds since 1970.
    pub fn time_ms(&self) -> u64 {
        self.batches.last().map_or(self.snapshot.time_ms, |batch| batch.time_ms)
    }

    /// Returns the world as one save file, which [`crate::SqliteStore::import`] reads.
    ///
    /// # Errors
    /// Fails for the reasons of [`write_file`].
    pub fn to_file(&self) -> Result<Vec<u8>, FileError> {
        let mut batches = self.batches.clone();
        // Time without changes is not recorded in a batch.
        let from_tick = batches.last().map_or(self.snapshot.tick, |batch| batch.through_tick);
        if from_tick < self.tick {
            let time_ms = self.time_ms();
            batches.push(Batch { from_tick, through_tick: self.tick, time_ms, ..Batch::default() });
        }
        write_file(self.name.as_str(), &self.snapshot, &batches)
    }

    /// Removes the changes after a moment.
    #[must_use]
    pub fn until(mut self, moment: Moment) -> SavedWorld {
        self.cut_at(tick_of(&self, moment));
        self
    }

    /// Removes the changes after a tick.
    fn cut_at(&mut self, tick: u64) {
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

/// Returns the tick of a moment.
fn tick_of(saved: &SavedWorld, moment: Moment) -> u64 {
    match moment {
        Moment::Last => saved.tick,
        Moment::Tick(tick) => tick,
        Moment::TimeMs(time_ms) => tick_at(saved, time_ms),
    }
}

/// Number of steps in this many milliseconds.
fn ticks_in(time_ms: u64) -> u64 {
    let ticks = u128::from(time_ms) * u128::from(nowcast_world::STEP_HZ) / 1_000;
    u64::try_from(ticks).unwrap_or(u64::MAX)
}

/// Returns the time of a tick. It is the inverse of [`tick_at`], which returns the same tick for this time.
fn time_at(saved: &SavedWorld, tick: u64) -> u64 {
    let before = saved.batches.iter().rev().find(|batch| batch.through_tick <= tick);
    let (since, since_ms) = match before {
        Some(batch) => (batch.through_tick, batch.time_ms),
        None => (saved.snapshot.tick, saved.snapshot.time_ms),
    };
    let ms = tick.saturating_sub(since).saturating_mul(1_000).div_ceil(u64::from(nowcast_world::STEP_HZ));
    let next = saved.batches.iter().find(|batch| batch.through_tick > tick);
    let latest_ms = next.map_or(u64::MAX, |next| next.time_ms.saturating_sub(1).max(since_ms));
    since_ms.saturating_add(ms).min(latest_ms)
}

/// Returns the tick at a time, if the world's clock ran evenly between the entries before and after it. Entries with later
/// times had not happened yet at this time, even if the world was stalled for a long time.
fn tick_at(saved: &SavedWorld, time_ms: u64) -> u64 {
    let before = saved.batches.iter().rev().find(|batch| batch.time_ms <= time_ms);
    let (tick, since_ms) = match before {
        Some(batch) => (batch.through_tick, batch.time_ms),
        None => (saved.snapshot.tick, saved.snapshot.time_ms),
    };
    let next = saved.batches.iter().find(|batch| batch.time_ms > time_ms);
    let latest = next.map_or(saved.tick, |next| next.through_tick.saturating_sub(1).max(tick));
    tick.saturating_add(ticks_in(time_ms.saturating_sub(since_ms))).min(latest)
}
