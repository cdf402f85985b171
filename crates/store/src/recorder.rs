//! Records the commands of a world for its store, on the thread that steps the world.

use nowcast_world::journal::{Entry, Record};
use nowcast_world::{ApplyError, Command, World};

use crate::batch::{Batch, Note};
use crate::fail_point::{FailPoint, pass};
use crate::name::WorldName;
use crate::once::{ActionId, Once};
use crate::saved::SavedWorld;
use crate::snapshot::{Origin, Snapshot};
use crate::store::{Completion, Continuity, Health, Lost, RefusedWhy, Store};

/// Steps after which a world in which something happened has its hash noted: a minute.
pub const HASH_TICKS: u64 = 60 * nowcast_world::STEP_HZ as u64;

/// Steps after which a world at rest has its tick noted: a second.
pub const REST_TICKS: u64 = nowcast_world::STEP_HZ as u64;

/// Steps after which a snapshot is due of a world in which something happened: a minute, which is what a restart replays
/// at most.
pub const SNAPSHOT_TICKS: u64 = 60 * nowcast_world::STEP_HZ as u64;

/// The same of a world in which nothing happened but time: an hour, because steps at rest are quickly replayed.
pub const SNAPSHOT_REST_TICKS: u64 = 60 * SNAPSHOT_TICKS;

/// Bytes of a world's journal, in memory, after which a snapshot is due: what a restart reads and what pruning can never remove stays
/// small, however much clients send.
pub const SNAPSHOT_JOURNAL_BYTES: usize = 32 << 20;

/// Steps until a snapshot that was refused is tried again: a second.
const RETRY_TICKS: u64 = nowcast_world::STEP_HZ as u64;

/// Completions that wait for one snapshot. Beyond that they are told at once that nothing was kept.
pub const COMPLETIONS_MAX: usize = 65_536;

/// Records what happens to one world. Commands go to the world through it, so that none is forgotten.
///
/// Call [`Recorder::flush`] after every step, and [`Recorder::snapshot`] between two steps whenever
/// [`Recorder::is_snapshot_due`].
pub struct Recorder {
    name: WorldName,
    origin: Origin,
    batch: Batch,
    once: Once,
    then: Vec<Completion>,
    needs_snapshot: bool,
    /// Something happened since the last hash.
    is_changed: bool,
    hash_tick: u64,
    /// Something happened since the last snapshot.
    is_unlike_snapshot: bool,
    snapshot_tick: u64,
    /// Bytes of the batches since the last snapshot.
    journal_bytes: usize,
    /// Before this tick no other snapshot is tried, because one was refused.
    retry_tick: u64,
    completions_lost: u64,
}

/// Outcome of a durable action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attempt {
    /// The world took it.
    First,
    /// It was taken before. The completion is called when that is kept.
    Again,
}

impl Recorder {
    /// Records a new world. It is kept from its first snapshot on.
    pub fn new(name: WorldName, origin: Origin, world: &World) -> Recorder {
        let mut recorder = Recorder::at(name, origin, world.tick(), Once::default());
        recorder.needs_snapshot = true;
        recorder
    }

    /// Goes on recording a world that was replayed from what was saved, by [`crate::Moment::Last`] and without damage. Of
    /// any other moment a new recorder begins, with its snapshot.
    pub fn resume(saved: &SavedWorld) -> Recorder {
        let mut recorder = Recorder::at(saved.name.clone(), saved.snapshot.origin, saved.tick, saved.once());
        recorder.needs_snapshot = !saved.damage.is_empty();
        recorder.is_unlike_snapshot = !saved.batches.is_empty();
        recorder.snapshot_tick = saved.snapshot.tick;
        recorder
    }

    fn at(name: WorldName, origin: Origin, tick: u64, once: Once) -> Recorder {
        let batch = Batch { from_tick: tick, through_tick: tick, ..Batch::default() };
        Recorder {
            name,
            origin,
            batch,
            once,
            then: Vec::new(),
            needs_snapshot: false,
            is_changed: false,
            hash_tick: tick,
            is_unlike_snapshot: false,
            snapshot_tick: tick,
            journal_bytes: 0,
            retry_tick: 0,
            completions_lost: 0,
        }
    }

    /// Gives a command to the world, and notes it if the world takes it.
    ///
    /// # Errors
    /// Fails as [`World::apply`] does. Then nothing is recorded.
    pub fn apply(&mut self, world: &mut World, command: Command) -> Result<(), ApplyError> {
        world.apply(command.clone())?;
        self.note_command(world.tick(), command);
        Ok(())
    }

    /// Notes a command that the world has just taken by another way than [`Recorder::apply`].
    pub fn took(&mut self, world: &World, command: Command) {
        self.note_command(world.tick(), command);
    }

    /// Gives a command to the world that must happen once and last: `then` is called when it is kept. Only after that may
    /// the client be told. A client that was told nothing tries again with the same id.
    ///
    /// A command that the world does not take is none: the completion is dropped, and the client may try again. One that
    /// it takes and then refuses ([`nowcast_world::Event::Refused`]) is done with, and is refused in every replay.
    ///
    /// # Errors
    /// Fails as [`World::apply`] does. Then nothing is recorded.
    pub fn apply_once(
        &mut self,
        world: &mut World,
        id: ActionId,
        command: Command,
        then: Completion,
    ) -> Result<Attempt, ApplyError> {
        let attempt = if self.once.contains(id) {
            Attempt::Again
        } else {
            world.apply(command.clone())?;
            self.took_once(world, id, command);
            Attempt::First
        };
        self.when_kept(then);
        Ok(attempt)
    }

    /// Notes a durable action that the world has just taken by another way than [`Recorder::apply_once`]. Whether it was done
    /// before is the caller's to ask ([`Recorder::once`]).
    pub fn took_once(&mut self, world: &World, id: ActionId, command: Command) {
        self.note_command(world.tick(), command);
        self.once.insert(id, world.tick());
        self.batch.done.push(id);
    }

    /// Notes something of the host: it is in [`SavedWorld::notes`] until a snapshot has the host's state.
    pub fn note(&mut self, world: &World, bytes: Vec<u8>) {
        self.batch.notes.push(Note { tick: world.tick(), bytes });
    }

    /// Calls a completion when all that happened so far is kept.
    pub fn when_kept(&mut self, then: Completion) {
        if self.then.len() < COMPLETIONS_MAX {
            self.then.push(then);
        } else {
            self.completions_lost += 1;
            then(Err(Lost));
        }
    }

    /// Gives the store what happened since the last call: nothing when nothing did. A world in which something moves
    /// also has its tick noted, one at rest once a second.
    pub fn flush(&mut self, world: &World, store: &dyn Store, now_ms: u64) {
        if self.needs_snapshot {
            self.forget_batch();
            self.give_up_if_gone(store);
            return;
        }
        if self.is_changed && world.tick() >= self.hash_tick + HASH_TICKS {
            self.note_hash(world);
        }
        let ticks = world.tick().saturating_sub(self.batch.from_tick);
        let is_moving = ticks > 0 && world.awake() > 0;
        self.is_unlike_snapshot |= is_moving || !self.batch.is_empty();
        if is_moving || ticks >= REST_TICKS || !self.batch.is_empty() || !self.then.is_empty() {
            self.send(world.tick(), store, now_ms);
        }
    }

    /// The same to the last step, whether something happened or not: before the world ends, so that it goes on from there.
    pub fn flush_all(&mut self, world: &World, store: &dyn Store, now_ms: u64) {
        if self.needs_snapshot {
            self.forget_batch();
        } else {
            self.send(world.tick(), store, now_ms);
        }
    }

    /// Takes a snapshot of the world and gives it to the store with the state of the host. It waits for no disk; making the
    /// bytes takes about as long as a step or two.
    ///
    /// When the store has no room the snapshot is lost, and [`Recorder::needs_snapshot`] says so if another is needed.
    pub fn snapshot(&mut self, world: &mut World, store: &dyn Store, now_ms: u64, host: Vec<u8>) {
        world.apply_waiting();
        let bytes = world.snapshot();
        pass(FailPoint::SnapshotTaken);
        self.push(world.tick(), Record::Settled);
        let hash = self.note_hash(world);
        if self.needs_snapshot {
            self.forget_batch();
        } else {
            self.send(world.tick(), store, now_ms);
        }
        let continuity = if self.needs_snapshot { Continuity::BeginsAnew } else { Continuity::Follows };
        let snapshot = Snapshot {
            origin: self.origin,
            tick: world.tick(),
            hash,
            time_ms: now_ms,
            world: bytes,
            once: self.once.clone(),
            host,
        };
        pass(FailPoint::SnapshotAnnounced);
        match store.snapshot(&self.name, snapshot, continuity, std::mem::take(&mut self.then)) {
            Ok(()) => {
                pass(FailPoint::SnapshotGiven);
                self.needs_snapshot = false;
                self.batch.from_tick = world.tick();
                (self.is_unlike_snapshot, self.snapshot_tick) = (false, world.tick());
                self.journal_bytes = 0;
            }
            Err(refused) => {
                self.then = refused.then;
                self.retry_tick = world.tick() + RETRY_TICKS;
            }
        }
    }

    /// Whether nothing is kept from here on until a snapshot is: at the beginning, and after the store had no room.
    pub fn needs_snapshot(&self) -> bool {
        self.needs_snapshot
    }

    /// Whether it is time for a snapshot: because [`Recorder::needs_snapshot`], or so that a restart has little to replay.
    /// Not while the store has no room: making one in vain costs the world's thread as much.
    pub fn is_snapshot_due(&self, world: &World, store: &dyn Store) -> bool {
        let max = if self.is_unlike_snapshot { SNAPSHOT_TICKS } else { SNAPSHOT_REST_TICKS };
        let is_long = self.journal_bytes >= SNAPSHOT_JOURNAL_BYTES;
        let is_due = self.needs_snapshot || is_long || world.tick().saturating_sub(self.snapshot_tick) >= max;
        is_due && world.tick() >= self.retry_tick && store.has_room()
    }

    /// From now on the world has another definition or other rules: the next snapshot says so.
    pub fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
        self.needs_snapshot = true;
    }

    /// The durable actions that were done.
    pub fn once(&self) -> &Once {
        &self.once
    }

    /// Completions that there was no room for.
    pub fn completions_lost(&self) -> u64 {
        self.completions_lost
    }

    fn note_command(&mut self, tick: u64, command: Command) {
        // As in the world, of several inputs of a player in a row the newest counts.
        if let Command::Input { player, input } = &command
            && let Some(Entry { tick: last_tick, record }) = self.batch.entries.last_mut()
            && let Record::Command(Command::Input { player: last, input: newest }) = record
            && (*last_tick, *last) == (tick, *player)
        {
            *newest = *input;
            return;
        }
        self.is_changed = true;
        self.push(tick, Record::Command(command));
    }

    fn note_hash(&mut self, world: &World) -> u64 {
        let hash = world.hash();
        self.push(world.tick(), Record::Hash(hash));
        (self.is_changed, self.hash_tick) = (false, world.tick());
        hash
    }

    fn push(&mut self, tick: u64, record: Record) {
        self.batch.entries.push(Entry { tick, record });
    }

    fn send(&mut self, tick: u64, store: &dyn Store, now_ms: u64) {
        let empty = Batch { from_tick: tick, through_tick: tick, ..Batch::default() };
        let mut batch = std::mem::replace(&mut self.batch, empty);
        (batch.through_tick, batch.time_ms) = (tick, now_ms);
        self.journal_bytes = self.journal_bytes.saturating_add(batch.memory_bytes());
        pass(FailPoint::BeforeAppend);
        match store.append(&self.name, batch, std::mem::take(&mut self.then)) {
            Ok(()) => pass(FailPoint::AfterAppend),
            Err(refused) => {
                // The next snapshot will contain these commands, so they need no journal. Callers that wait for them wait for the
                // snapshot.
                self.then = refused.then;
                self.needs_snapshot = refused.why != RefusedWhy::Closed;
                self.give_up_if_gone(store);
            }
        }
    }

    /// Calls the completions that wait for a snapshot if the store's files are gone, because that may last for ever.
    fn give_up_if_gone(&mut self, store: &dyn Store) {
        if !self.then.is_empty() && matches!(store.health(), Health::Gone { .. }) {
            self.then.drain(..).for_each(|then| then(Err(Lost)));
        }
    }

    fn forget_batch(&mut self) {
        self.batch.entries.clear();
        self.batch.done.clear();
        self.batch.notes.clear();
    }
}
