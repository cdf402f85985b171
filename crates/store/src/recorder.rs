//! Records the commands of a world for its store, on the thread that steps the world.

use std::collections::BTreeMap;

use nowcast_world::journal::{Entry, Record};
use nowcast_world::{ApplyError, Command, SavedData, World};

use crate::account::AccountRecord;
use crate::batch::{BATCH_BYTES_MAX, Batch, Note};
use crate::fail_point::{FailPoint, pass};
use crate::name::WorldName;
use crate::once::{ActionId, Once};
use crate::saved::SavedWorld;
use crate::snapshot::{Origin, Snapshot};
use crate::store::{Completion, Continuity, Health, Lost, RefusedWhy, Store};

/// Steps between two recorded hashes of a world with changes: a minute.
pub const HASH_TICKS: u64 = 60 * nowcast_world::STEP_HZ as u64;

/// Steps between two recorded ticks of a world at rest: a second.
pub const REST_TICKS: u64 = nowcast_world::STEP_HZ as u64;

/// Steps until the next snapshot of a world with changes: a minute, the maximum that a restart replays.
pub const SNAPSHOT_TICKS: u64 = 60 * nowcast_world::STEP_HZ as u64;

/// Steps until the next snapshot of a world at rest: an hour, because steps at rest are replayed quickly.
pub const SNAPSHOT_REST_TICKS: u64 = 60 * SNAPSHOT_TICKS;

/// A snapshot is due when the journal since the last one takes this many bytes in memory. The limit bounds the data that a
/// restart reads and that pruning cannot delete, even if clients send many commands.
pub const SNAPSHOT_JOURNAL_BYTES: usize = 32 << 20;

/// Steps until a refused snapshot is retried: a second.
const RETRY_TICKS: u64 = nowcast_world::STEP_HZ as u64;

/// Maximum number of completions that wait for one snapshot. Further completions fail at once.
pub const COMPLETIONS_MAX: usize = 65_536;

/// Records the changes of one world. All commands go to the world through the recorder, so that no command is missed.
///
/// Call [`Recorder::flush`] after every step, and [`Recorder::snapshot`] between two steps whenever
/// [`Recorder::is_snapshot_due`].
pub struct Recorder {
    name: WorldName,
    origin: Origin,
    batch: Batch,
    once: Once,
    /// The changed data of accounts that the store has not accepted yet.
    accounts: BTreeMap<(String, String), SavedData>,
    then: Vec<Completion>,
    needs_snapshot: bool,
    /// Whether the world changed since the last hash.
    is_changed: bool,
    hash_tick: u64,
    /// Whether the world changed since the last snapshot.
    is_unlike_snapshot: bool,
    snapshot_tick: u64,
    /// Bytes of the batches since the last snapshot.
    journal_bytes: usize,
    journal_bytes_max: usize,
    /// No snapshot is tried before this tick, because the last one was refused.
    retry_tick: u64,
    completions_lost: u64,
}

/// Outcome of a durable action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attempt {
    /// The world applied the action for the first time.
    First,
    /// The world had already applied the action. The completion is called when the action is stored.
    Again,
}

impl Recorder {
    /// Makes a recorder of a new world. The world is stored from its first snapshot on.
    pub fn new(name: WorldName, origin: Origin, world: &World) -> Recorder {
        let mut recorder = Recorder::at(name, origin, world.tick(), Once::default());
        recorder.needs_snapshot = true;
        recorder
    }

    /// Continues recording a world that was replayed from [`crate::Moment::Last`] without damage. For any other moment
    /// make a new recorder, which begins with a snapshot.
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
            accounts: BTreeMap::new(),
            then: Vec::new(),
            needs_snapshot: false,
            is_changed: false,
            hash_tick: tick,
            is_unlike_snapshot: false,
            snapshot_tick: tick,
            journal_bytes: 0,
            journal_bytes_max: SNAPSHOT_JOURNAL_BYTES,
            retry_tick: 0,
            completions_lost: 0,
        }
    }

    /// Applies a command to the world, and records it if the world accepts it.
    ///
    /// # Errors
    /// Fails as [`World::apply`] does. Then nothing is recorded.
    pub fn apply(&mut self, world: &mut World, command: Command) -> Result<(), ApplyError> {
        world.apply(command.clone())?;
        self.note_command(world.tick(), command);
        Ok(())
    }

    /// Records a command that was applied to the world without [`Recorder::apply`].
    pub fn took(&mut self, world: &World, command: Command) {
        self.note_command(world.tick(), command);
    }

    /// Applies a command that must be carried out exactly once and be durable. `then` is called when the command is stored,
    /// and only then may the client be answered. A client without an answer retries with the same id.
    ///
    /// If the world does not accept the command, the completion is dropped and the client may retry. A command that is
    /// accepted and then refused ([`nowcast_world::Event::Refused`]) counts as done unless the caller takes it back
    /// ([`Recorder::take_back`]), and is refused in every replay.
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

    /// Records a durable action that was applied to the world without [`Recorder::apply_once`]. The caller must check
    /// whether it was done before ([`Recorder::once`]).
    pub fn took_once(&mut self, world: &World, id: ActionId, command: Command) {
        self.note_command(world.tick(), command);
        self.once.insert(id, world.tick());
        self.batch.done.push(id);
    }

    /// Takes back a durable action of the last step, because the world refused it
    /// ([`nowcast_world::Refusal::NoWorkLeft`]). Call it before the step is flushed.
    pub fn take_back(&mut self, id: ActionId) {
        self.once.take_back(id);
        self.batch.done.retain(|done| *done != id);
    }

    /// Records a note of the host. [`SavedWorld::notes`] contains it until a snapshot has the host's state.
    pub fn note(&mut self, world: &World, bytes: Vec<u8>) {
        self.batch.notes.push(Note { tick: world.tick(), bytes });
    }

    /// Records the data of an account, which the last step changed. The data is stored in one transaction with the changes of
    /// the world. The recorder keeps the data until the store accepts it.
    pub fn save_account(&mut self, record: AccountRecord) {
        self.accounts.insert((record.world, record.account), record.saved);
    }

    /// Whether the store has accepted all data of accounts that was recorded.
    pub fn has_saved_accounts(&self) -> bool {
        self.accounts.is_empty()
    }

    /// Calls a completion when all changes so far are stored.
    pub fn when_kept(&mut self, then: Completion) {
        if self.then.len() < COMPLETIONS_MAX {
            self.then.push(then);
        } else {
            self.completions_lost += 1;
            then(Err(Lost));
        }
    }

    /// Passes the changes since the last call to the store, if there are any. It also records the tick: for a world in
    /// motion at each call, for a world at rest once a second.
    pub fn flush(&mut self, world: &World, store: &dyn Store, now_ms: u64) {
        if self.needs_snapshot {
            self.forget_batch();
            self.fail_if_gone(store);
            return;
        }
        if self.is_changed && world.tick() >= self.hash_tick + HASH_TICKS {
            self.note_hash(world);
        }
        let ticks = world.tick().saturating_sub(self.batch.from_tick);
        let is_moving = ticks > 0 && world.awake() > 0;
        let has_changes = !self.batch.is_empty() || !self.accounts.is_empty();
        self.is_unlike_snapshot |= is_moving || has_changes;
        if is_moving || ticks >= REST_TICKS || has_changes || !self.then.is_empty() {
            self.send(world.tick(), store, now_ms);
        }
    }

    /// Passes everything up to the last step, even without changes. Call it before the world ends, so that the world later
    /// continues from this step.
    pub fn flush_all(&mut self, world: &World, store: &dyn Store, now_ms: u64) {
        if self.needs_snapshot {
            self.forget_batch();
        } else {
            self.send(world.tick(), store, now_ms);
        }
    }

    /// Takes a snapshot of the world and passes it to the store with the state of the host. It does not wait for a
    /// disk. Making the bytes takes about as long as one or two steps.
    ///
    /// If the store has no room the snapshot is lost, and [`Recorder::needs_snapshot`] says whether another one is
    /// needed.
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
        // The snapshot has the changes that changed the data of accounts, so both are stored in one transaction.
        let accounts = self.take_accounts(&Batch::default());
        let again = accounts.clone();
        // If more data waits, the next batch has it, and the completions wait for that batch.
        let then = if self.accounts.is_empty() { std::mem::take(&mut self.then) } else { Vec::new() };
        match store.snapshot_with_accounts(&self.name, snapshot, continuity, accounts, then) {
            Ok(()) => {
                pass(FailPoint::SnapshotGiven);
                self.needs_snapshot = false;
                self.batch.from_tick = world.tick();
                (self.is_unlike_snapshot, self.snapshot_tick) = (false, world.tick());
                self.journal_bytes = 0;
                if !self.accounts.is_empty() {
                    self.send(world.tick(), store, now_ms);
                }
            }
            Err(refused) => {
                self.then.extend(refused.then);
                self.put_back(again);
                self.retry_tick = world.tick() + RETRY_TICKS;
            }
        }
    }

    /// Whether the store accepts nothing more before a snapshot. True at the beginning, and after the store had no room.
    pub fn needs_snapshot(&self) -> bool {
        self.needs_snapshot
    }

    /// Whether a snapshot is due, because of [`Recorder::needs_snapshot`] or to keep the replay of a restart short. False
    /// while the store has no room, because even a refused snapshot costs time on the world's thread.
    pub fn is_snapshot_due(&self, world: &World, store: &dyn Store) -> bool {
        let max = if self.is_unlike_snapshot { SNAPSHOT_TICKS } else { SNAPSHOT_REST_TICKS };
        let is_long = self.journal_bytes >= self.journal_bytes_max;
        let is_due = self.needs_snapshot || is_long || world.tick().saturating_sub(self.snapshot_tick) >= max;
        is_due && world.tick() >= self.retry_tick && store.has_room()
    }

    /// Sets the bytes of journal after which a snapshot is due, at most [`SNAPSHOT_JOURNAL_BYTES`]. Pruning removes no
    /// batch that is newer than the newest snapshot. Worlds that share one store with many others need a smaller number.
    pub fn set_journal_bytes_max(&mut self, bytes: usize) {
        self.journal_bytes_max = bytes.min(SNAPSHOT_JOURNAL_BYTES);
    }

    /// Sets the new origin for the next snapshot, after the definition or the rules of the world have changed.
    pub fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
        self.needs_snapshot = true;
    }

    /// The durable actions that were done.
    pub fn once(&self) -> &Once {
        &self.once
    }

    /// Number of completions that were dropped over the limit.
    pub fn completions_lost(&self) -> u64 {
        self.completions_lost
    }

    fn note_command(&mut self, tick: u64, command: Command) {
        // As in the world, only the newest of several consecutive inputs of a player has an effect.
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
        batch.accounts = self.take_accounts(&batch);
        let accounts = batch.accounts.clone();
        self.journal_bytes = self.journal_bytes.saturating_add(batch.memory_bytes());
        pass(FailPoint::BeforeAppend);
        match store.append(&self.name, batch, std::mem::take(&mut self.then)) {
            Ok(()) => pass(FailPoint::AfterAppend),
            Err(refused) => {
                // The next snapshot will contain the effects of these commands, so they need no journal. Callers that wait
                // for these commands wait for the snapshot.
                self.then = refused.then;
                self.put_back(accounts);
                self.needs_snapshot = !matches!(refused.why, RefusedWhy::Closed | RefusedWhy::Fenced);
                if refused.why == RefusedWhy::Fenced {
                    // No later record of this owner is stored, so nothing can confirm these changes.
                    self.then.drain(..).for_each(|then| then(Err(Lost)));
                }
                self.fail_if_gone(store);
            }
        }
    }

    /// Removes as much waiting data of accounts as fits into a batch, and returns it.
    fn take_accounts(&mut self, batch: &Batch) -> Vec<AccountRecord> {
        let mut bytes = batch.memory_bytes();
        let mut taken = Vec::new();
        while let Some(((world, account), saved)) = self.accounts.pop_first() {
            let record = AccountRecord { world, account, saved };
            bytes += record.memory_bytes();
            if !taken.is_empty() && bytes > BATCH_BYTES_MAX {
                self.accounts.insert((record.world, record.account), record.saved);
                break;
            }
            taken.push(record);
        }
        taken
    }

    /// Keeps data that the store refused, except for accounts with newer data.
    fn put_back(&mut self, refused: Vec<AccountRecord>) {
        for AccountRecord { world, account, saved } in refused {
            self.accounts.entry((world, account)).or_insert(saved);
        }
    }

    /// Fails the completions that wait for a snapshot if the store's files are gone, because the files may never come back.
    fn fail_if_gone(&mut self, store: &dyn Store) {
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
