//! The trait that world stores implement.

use std::fmt;
use std::time::Duration;

use nowcast_world::SavedData;

use crate::account::AccountRecord;
use crate::batch::Batch;
use crate::error::StoreError;
use crate::name::WorldName;
use crate::saved::{Moment, SavedWorld, Stretch};
use crate::snapshot::{Origin, Snapshot};

/// Stores worlds.
///
/// # Blocking
/// [`append`](Self::append), [`snapshot`](Self::snapshot), [`mark`](Self::mark), [`unmark`](Self::unmark),
/// [`has_room`](Self::has_room), [`health`](Self::health) and [`stats`](Self::stats) never wait for a disk, so a thread
/// that steps a world may call them. Such a thread must not call the other methods.
///
/// # Order
/// Data is stored in the order of the calls: when a completion reports that something is stored, all earlier data is
/// stored, too.
pub trait Store: Send + Sync {
    /// Stores a batch. It must begin at the tick at which the last one ended. After a refusal, the next record must be a
    /// snapshot. The store's own thread encodes it.
    ///
    /// # Errors
    /// Returns why the batch is refused, and the completions that were passed with it.
    fn append(&self, world: &WorldName, batch: Batch, then: Vec<Completion>) -> Result<(), Refused>;

    /// Stores a snapshot. The first snapshot with a name creates the world. A refused snapshot can be passed again later.
    ///
    /// # Errors
    /// Returns why the snapshot is refused, and the completions that were passed with it.
    fn snapshot(
        &self,
        world: &WorldName,
        snapshot: Snapshot,
        continuity: Continuity,
        then: Vec<Completion>,
    ) -> Result<(), Refused> {
        self.snapshot_with_accounts(world, snapshot, continuity, Vec::new(), then)
    }

    /// Stores a snapshot, and the data of accounts that belongs to its state. After a crash, the store has both or neither.
    ///
    /// # Errors
    /// Returns why the snapshot or the data is refused, and the completions that were passed with it.
    fn snapshot_with_accounts(
        &self,
        world: &WorldName,
        snapshot: Snapshot,
        continuity: Continuity,
        accounts: Vec<AccountRecord>,
        then: Vec<Completion>,
    ) -> Result<(), Refused>;

    /// Waits until everything that was passed before is stored.
    ///
    /// # Errors
    /// Fails if the store cannot write everything in time.
    fn commit(&self, within: Duration) -> Result<(), StoreError>;

    /// Returns a stored world; `None` if there is no such world, or if that moment is not stored.
    ///
    /// # Errors
    /// Fails if the store cannot be read, or if a record of the world is damaged.
    fn load(&self, world: &WorldName, moment: Moment) -> Result<Option<SavedWorld>, StoreError>;

    /// Returns all worlds, by name.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    fn list(&self) -> Result<Vec<Summary>, StoreError>;

    /// Deletes history that exceeds the retention, but never the newest state of a world. Expired marks are deleted, too.
    ///
    /// # Errors
    /// Fails if the store cannot be read or written.
    fn prune(&self, retention: &Retention, now_ms: u64) -> Result<Pruned, StoreError>;

    /// Stores a mark with an expiry, such as a used token. The completion receives whether the mark was new. If the mark is
    /// refused, the completion is dropped.
    ///
    /// # Errors
    /// Returns why the mark is refused.
    fn mark(&self, mark: Mark, now_ms: u64, then: MarkCompletion) -> Result<(), Refused>;

    /// Removes a mark.
    ///
    /// # Errors
    /// Returns why the mark is not removed.
    fn unmark(&self, kind: MarkKind, key: &[u8], then: Vec<Completion>) -> Result<(), Refused>;

    /// Returns the valid marks of a kind.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    fn marks(&self, kind: MarkKind, now_ms: u64) -> Result<Vec<Mark>, StoreError>;

    /// Returns the stored data of an account in a world, which is named by its folder; `None` if nothing is stored. Call
    /// [`commit`](Self::commit) first, if a room of this process may have changed the data.
    ///
    /// # Errors
    /// Fails if the store cannot be read, or if the data is damaged.
    fn account(&self, world: &str, account: &str) -> Result<Option<SavedData>, StoreError>;

    /// Whether a snapshot is useful now: the disk works, and less than half of the queue is used.
    fn has_room(&self) -> bool;

    /// The health of the store.
    fn health(&self) -> Health;

    /// Returns the counters of written and failed records since the store was opened.
    fn stats(&self) -> Stats;
}

/// The store of a server. Besides the records of [`Store`], it shows the past and adds whole worlds. All methods wait for the
/// disk, or for the servers that keep the worlds.
pub trait WorldStore: Store {
    /// Returns the first and the last time of a world's history, in milliseconds since 1970; `None` if there is no such world.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    fn span(&self, world: &WorldName) -> Result<Option<(u64, u64)>, StoreError>;

    /// Returns a world at a moment with the later changes, for the given time or until the journal restarts. Returns `None`
    /// in the cases of [`Store::load`].
    ///
    /// # Errors
    /// Fails if the store cannot be read, or if a record of the world is damaged.
    fn load_stretch(
        &self,
        world: &WorldName,
        moment: Moment,
        next: Duration,
    ) -> Result<Option<Stretch>, StoreError>;

    /// Returns the time of the next snapshot after a time, in milliseconds since 1970.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    fn next_snapshot(&self, world: &WorldName, after_ms: u64) -> Result<Option<u64>, StoreError>;

    /// Adds a world from a save file ([`SavedWorld::to_file`]) under an unused name.
    ///
    /// # Errors
    /// Fails if the bytes are not a save file of a world, if a world has the name already, or if the store cannot be written.
    fn import(&self, world: &WorldName, file: &[u8]) -> Result<(), StoreError>;

    /// Writes the waiting records. It waits for at most the given time. From then on the store accepts nothing.
    ///
    /// # Errors
    /// Returns the reason why not everything was written.
    fn close(&self, within: Duration) -> Result<(), StoreError>;
}

/// The relation of a snapshot to the journal before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Continuity {
    /// The earlier batches lead to the snapshot.
    Follows,
    /// The earlier batches do not lead to the snapshot: the world has another past or another definition, or a part of its
    /// journal is missing.
    BeginsAnew,
}

/// A callback that the store's own thread calls once, with `Ok` when the record is stored. The callback must not wait.
pub type Completion = Box<dyn FnOnce(Result<(), Lost>) + Send>;

/// The callback for a mark, which receives whether the mark was new.
pub type MarkCompletion = Box<dyn FnOnce(Result<bool, Lost>) + Send>;

/// The record was not stored. The store accepted the record but could not write it, or was closed before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the record was not stored")]
pub struct Lost;

/// A refused record. The completions are returned without being called.
pub struct Refused {
    /// The reason.
    pub why: RefusedWhy,
    /// The callback.
    pub then: Vec<Completion>,
}

/// The reason why a store refuses a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RefusedWhy {
    /// The queue is full. The refusal is counted.
    #[error("the disk is behind, and its queue is full")]
    Full,
    /// An earlier record of this world is missing, so the next record must be a snapshot.
    #[error("a part of the world's journal is missing, and a snapshot has to come first")]
    SnapshotNeeded,
    /// The files of the store were removed or replaced.
    #[error("the files of the store were removed or replaced")]
    Gone,
    /// The record is larger than the store can read back, or its ticks are not in order.
    #[error("it is too large, or its ticks are not in order")]
    Invalid,
    /// Another server owns the world, or no server has claimed it. Nothing of this world can be written any more.
    #[error("another server owns the world")]
    Fenced,
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}

impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused").field("why", &self.why).finish_non_exhaustive()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl std::error::Error for Refused {}

/// Health of a store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Health {
    /// Records are stored within the commit interval.
    Healthy,
    /// The disk is slower than the incoming records.
    Behind {
        /// Waiting bytes.
        queued_bytes: usize,
        /// Age of the oldest waiting bytes.
        oldest: Duration,
        /// Worlds whose journal has a hole until their next snapshot.
        worlds: usize,
    },
    /// Nothing can be written. The store retries.
    Failing {
        /// The faults, and their places.
        cause: String,
        /// How to correct the problem.
        cure: &'static str,
    },
    /// The files of the store were removed or replaced. New records are lost until the files are back.
    Gone {
        /// The file.
        cause: String,
        /// How to correct the problem.
        cure: &'static str,
    },
}

/// Counters since a store was opened. In normal operation nothing is dropped and nothing fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Transactions that were committed.
    pub commits: u64,
    /// Failed transactions, which are retried.
    pub commits_failed: u64,
    /// Duration of the longest transaction.
    pub commit_max: Duration,
    /// Stored batches.
    pub batches: u64,
    /// Bytes of these records.
    pub batch_bytes: u64,
    /// Stored snapshots.
    pub snapshots: u64,
    /// Bytes of these records.
    pub snapshot_bytes: u64,
    /// Refused batches. Each begins a hole that ends with a snapshot, or lies in one.
    pub batches_dropped: u64,
    /// Bytes of these records.
    pub batch_bytes_dropped: u64,
    /// Refused snapshots.
    pub snapshots_dropped: u64,
    /// Refused marks.
    pub marks_dropped: u64,
    /// Completions that panicked.
    pub completions_panicked: u64,
    /// Waiting bytes.
    pub queued_bytes: usize,
}

/// An entry in the list of worlds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// The name of the world.
    pub name: WorldName,
    /// The last stored tick.
    pub tick: u64,
    /// The time at which the world was first stored, in milliseconds since 1970.
    pub created_ms: u64,
    /// The time at which the world was last stored, in milliseconds since 1970.
    pub changed_ms: u64,
    /// The origin in the newest snapshot of the world.
    pub origin: Origin,
    /// Number of stored snapshots.
    pub snapshots: u64,
    /// Number of stored batches.
    pub batches: u64,
    /// Bytes of all snapshots and batches.
    pub bytes: u64,
    /// The time of the oldest snapshot, where the history begins.
    pub since_ms: u64,
}

/// The length of the stored history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retention {
    /// Older records are removed. The newest snapshot before the period stays, so that the whole period can be viewed.
    pub keep: Duration,
    /// Maximum bytes of all worlds' snapshots and batches together. If there are more, the oldest records of the largest
    /// world are removed. The newest snapshot of each world and its later batches stay.
    pub bytes_max: u64,
}

impl Default for Retention {
    fn default() -> Retention {
        Retention { keep: Duration::from_secs(24 * 3_600), bytes_max: 256 << 20 }
    }
}

/// The removed records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pruned {
    /// Snapshots.
    pub snapshots: u64,
    /// Batches.
    pub batches: u64,
    /// Marks that had expired.
    pub marks: u64,
}

/// The purpose of a mark.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MarkKind {
    /// A single-use token was used.
    TokenUsed,
    /// A client is banned.
    Ban,
}

/// The longest key of a mark, in bytes.
pub const MARK_KEY_BYTES_MAX: usize = 256;

/// The longest note of a mark, in bytes.
pub const MARK_NOTE_BYTES_MAX: usize = 1_024;

/// Maximum number of stored marks. Further marks are lost, and their completions report it.
pub const MARKS_MAX: u64 = 1 << 20;

/// A fact that holds for a limited time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    /// The purpose.
    pub kind: MarkKind,
    /// The mark's identity: a token's id, or a ban's key.
    pub key: Vec<u8>,
    /// The reason, for people.
    pub note: String,
    /// The end of the mark, in milliseconds since 1970.
    pub expires_ms: u64,
}
