//! The store that is built in: one SQLite database in one folder.
//!
//! Other threads put jobs into a queue (`queue.rs`), and one thread (`writer.rs`) writes them. It writes the jobs of all worlds
//! in one transaction: at most every 30 ms by default, and at once if a completion waits. The write-ahead log is synced at each
//! commit. Readers have separate connections (`reader.rs`). `pack.rs` encodes rows. `schema.rs` has the tables and the checks
//! before a file is touched.

mod accounts;
mod pack;
mod prune;
mod queue;
mod reader;
mod row;
mod schema;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nowcast_world::SavedData;

pub use accounts::AccountSummary;
pub use reader::{Report, SqliteReader};

use crate::account::AccountRecord;
use crate::batch::{BATCH_BYTES_MAX, Batch, TICK_MAX};
use crate::error::{Problem, StoreError};
use crate::name::WorldName;
use crate::saved::{Moment, SavedWorld, Stretch};
use crate::snapshot::{HOST_BYTES_MAX, Snapshot, WORLD_BYTES_MAX, read_file};
use crate::store::{
    Completion, Continuity, Health, MARK_KEY_BYTES_MAX, MARK_NOTE_BYTES_MAX, Mark, MarkCompletion, MarkKind,
    Pruned, Refused, RefusedWhy, Retention, Stats, Store, Summary, WorldStore,
};
use queue::{Content, Queue, Work};
use writer::Writer;

/// Maximum time that a request, such as [`Store::prune`], waits for the writer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Approximate memory of a remembered client, in bytes.
const CLIENT_BYTES: usize = 128;

/// Stores worlds in an SQLite database. Dropping the store writes the waiting jobs, if the disk accepts them. The drop waits
/// for this, unless [`close`](Self::close) gave up before.
pub struct SqliteStore {
    queue: Arc<Queue>,
    folder: PathBuf,
    places: schema::Places,
    writer: Option<JoinHandle<()>>,
    /// Whether the writer did not end in time. If so, no call waits for it any more.
    is_abandoned: AtomicBool,
}

/// The options of a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Bytes that may wait for the disk. Jobs beyond the limit are refused, and their worlds continue with a snapshot later.
    pub queue_bytes_max: usize,
    /// The shortest time between the beginnings of two transactions that no completion waits for. A killed process loses the
    /// changes of this interval, of one step, and of one commit's duration: together 50 ms (`docs/concepts/durability.md`). Each
    /// transaction costs a sync of the disk.
    pub commit_interval: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options { queue_bytes_max: 64 << 20, commit_interval: Duration::from_millis(30) }
    }
}

impl SqliteStore {
    /// Opens the store in a folder, or makes one there.
    ///
    /// # Errors
    /// Fails if another process uses the store, if the folder cannot be written, or if the database is damaged or of a newer
    /// version.
    pub fn open(folder: &Path, options: Options) -> Result<SqliteStore, StoreError> {
        #[cfg(feature = "fail-points")]
        crate::fail_point::check_environment();
        let mut lock = schema::lock(folder)?;
        let database = schema::open_writer(folder)?;
        lock.watch_database(folder)?;
        let places = lock.places().clone();
        let queue = Arc::new(Queue::new(options.queue_bytes_max));
        let writer = Writer {
            database,
            queue: Arc::clone(&queue),
            lock,
            commit_interval: options.commit_interval,
            has_unused_pages: true,
        };
        let thread = std::thread::Builder::new().name("nowcast-store".to_owned());
        let writer = thread
            .spawn(move || writer.run())
            .map_err(|error| StoreError::new(folder, Problem::Disk(error.to_string())))?;
        let is_abandoned = AtomicBool::new(false);
        Ok(SqliteStore { queue, folder: folder.to_owned(), places, writer: Some(writer), is_abandoned })
    }

    /// Writes the waiting jobs and ends the writer. It waits for at most the given time. From then on the store accepts
    /// nothing. The folder stays locked while the writer runs.
    ///
    /// # Errors
    /// Returns the reason why the writer did not end in time or lost jobs.
    pub fn close(&self, within: Duration) -> Result<(), StoreError> {
        let until = Instant::now() + within;
        let written = self.queue.wait(within);
        self.queue.close();
        let left = until.saturating_duration_since(Instant::now());
        let has_ended = self.queue.wait_for_end(left);
        self.is_abandoned.store(!has_ended, Ordering::Release);
        let outcome = if has_ended { written } else { written.and(Err(Problem::Late)) };
        outcome.map_err(|problem| self.failed(problem))
    }

    /// Adds a world from a save file ([`SqliteReader::export`]) under an unused name. Waits for the disk.
    ///
    /// # Errors
    /// Fails if the bytes are not a save file of a world, if a world has the name already, or if the database cannot be
    /// written.
    pub fn import(&self, world: &WorldName, file: &[u8]) -> Result<(), StoreError> {
        self.take_file(world, None, file)
    }

    /// Adds a world from a save file. A world that has the name already is renamed to `aside`, with its whole history and
    /// its damage, in the same transaction. Waits for the disk.
    ///
    /// # Errors
    /// Returns [`Problem::Exists`] if a world has the name `aside` already.
    pub fn replace(&self, world: &WorldName, aside: &WorldName, file: &[u8]) -> Result<(), StoreError> {
        self.take_file(world, Some(aside), file)
    }

    fn take_file(&self, world: &WorldName, aside: Option<&WorldName>, file: &[u8]) -> Result<(), StoreError> {
        let read = read_file(file).map_err(|error| Problem::damaged("the save file", error));
        let (_, snapshot, batches) = read.map_err(|problem| self.failed(problem).of(world))?;
        let (answer, answered) = sync_channel(1);
        let snapshot = Box::new(snapshot);
        let aside = aside.cloned();
        let work = Work::Import { world: world.clone(), aside, snapshot, batches, answer };
        self.request(work, file.len(), &answered).map_err(|problem| self.failed(problem).of(world))
    }

    /// Removes a world and its whole history. Waits for the disk.
    ///
    /// # Errors
    /// Fails if no world has the name, or if the database cannot be written.
    pub fn remove(&self, world: &WorldName) -> Result<(), StoreError> {
        let (answer, answered) = sync_channel(1);
        let work = Work::Remove { world: world.clone(), answer };
        self.request(work, 0, &answered).map_err(|problem| self.failed(problem).of(world))
    }

    /// Removes the data of an account in one world, or in all worlds. Returns the number of removed records. Waits for the
    /// disk.
    ///
    /// # Errors
    /// Fails if the database cannot be written.
    pub fn remove_account(&self, world: Option<&str>, account: &str) -> Result<u64, StoreError> {
        let (answer, answered) = sync_channel(1);
        let (world, account) = (world.map(str::to_owned), account.to_owned());
        let work = Work::RemoveAccount { world, account, answer };
        self.request(work, 0, &answered).map_err(|problem| self.failed(problem))
    }

    /// Opens a reader of this store.
    ///
    /// # Errors
    /// Fails if the database cannot be opened.
    pub fn reader(&self) -> Result<SqliteReader, StoreError> {
        // If other files have replaced those of the store, they are another store.
        self.places.check().map_err(|problem| self.failed(problem))?;
        SqliteReader::open(&self.folder)
    }

    fn failed(&self, problem: Problem) -> StoreError {
        StoreError::new(&schema::database(&self.folder), problem)
    }

    /// Puts a job into the queue of the writer, and waits for the answer.
    fn request<T>(
        &self,
        work: Work,
        bytes: usize,
        answered: &Receiver<Result<T, Problem>>,
    ) -> Result<T, Problem> {
        self.queue.give(work, Vec::new(), bytes).map_err(|_| self.queue.trouble())?;
        self.queue.wait(REQUEST_TIMEOUT)?;
        answered.try_recv().unwrap_or_else(|_| Err(self.queue.trouble()))
    }
}

impl Store for SqliteStore {
    fn append(&self, world: &WorldName, batch: Batch, then: Vec<Completion>) -> Result<(), Refused> {
        let (span, bytes) = (batch.span(), batch.memory_bytes());
        if bytes > BATCH_BYTES_MAX || span.check().is_err() {
            return Err(Refused { why: RefusedWhy::Invalid, then });
        }
        let (world, content) = (world.clone(), Content::Given(batch));
        self.queue.give(Work::Batch { world, span, content, accounts: Vec::new() }, then, bytes)
    }

    fn snapshot_with_accounts(
        &self,
        world: &WorldName,
        snapshot: Snapshot,
        continuity: Continuity,
        accounts: Vec<AccountRecord>,
        then: Vec<Completion>,
    ) -> Result<(), Refused> {
        let is_large = snapshot.world.len() > WORLD_BYTES_MAX || snapshot.host.len() > HOST_BYTES_MAX;
        if is_large || snapshot.tick > TICK_MAX || snapshot.time_ms > TICK_MAX {
            return Err(Refused { why: RefusedWhy::Invalid, then });
        }
        let once_bytes = CLIENT_BYTES * snapshot.once.clients();
        let account_bytes: usize = accounts.iter().map(AccountRecord::memory_bytes).sum();
        let bytes = snapshot.world.len() + snapshot.host.len() + once_bytes + account_bytes;
        let snapshot = Box::new(snapshot);
        let work = Work::Snapshot { world: world.clone(), snapshot, file: None, continuity, accounts };
        self.queue.give(work, then, bytes)
    }

    fn commit(&self, within: Duration) -> Result<(), StoreError> {
        self.queue.wait(within).map_err(|problem| self.failed(problem))
    }

    fn load(&self, world: &WorldName, moment: Moment) -> Result<Option<SavedWorld>, StoreError> {
        self.reader()?.load(world, moment)
    }

    fn list(&self) -> Result<Vec<Summary>, StoreError> {
        self.reader()?.list()
    }

    fn prune(&self, retention: &Retention, now_ms: u64) -> Result<Pruned, StoreError> {
        let mut all = Pruned::default();
        loop {
            let (answer, answered) = sync_channel(1);
            let retention = *retention;
            let work = Work::Prune { retention, now_ms, pruned: Pruned::default(), is_more: false, answer };
            let (pruned, is_more) =
                self.request(work, 0, &answered).map_err(|problem| self.failed(problem))?;
            all.snapshots += pruned.snapshots;
            all.batches += pruned.batches;
            all.marks += pruned.marks;
            if !is_more {
                return Ok(all);
            }
        }
    }

    fn mark(&self, mark: Mark, now_ms: u64, then: MarkCompletion) -> Result<(), Refused> {
        let is_large = mark.key.len() > MARK_KEY_BYTES_MAX || mark.note.len() > MARK_NOTE_BYTES_MAX;
        if is_large || mark.expires_ms > TICK_MAX || now_ms > TICK_MAX {
            return Err(Refused { why: RefusedWhy::Invalid, then: Vec::new() });
        }
        let bytes = mark.key.len() + mark.note.len();
        self.queue.give(Work::Mark { mark, now_ms, is_new: false, then: Some(then) }, Vec::new(), bytes)
    }

    fn unmark(&self, kind: MarkKind, key: &[u8], then: Vec<Completion>) -> Result<(), Refused> {
        let key = key.to_vec();
        let bytes = key.len();
        self.queue.give(Work::Unmark { kind, key }, then, bytes)
    }

    fn marks(&self, kind: MarkKind, now_ms: u64) -> Result<Vec<Mark>, StoreError> {
        self.reader()?.marks(kind, now_ms)
    }

    fn account(&self, world: &str, account: &str) -> Result<Option<SavedData>, StoreError> {
        self.reader()?.account(world, account)
    }

    fn has_room(&self) -> bool {
        self.queue.has_room()
    }

    fn health(&self) -> Health {
        self.queue.health()
    }

    fn stats(&self) -> Stats {
        self.queue.stats()
    }
}

impl WorldStore for SqliteStore {
    fn span(&self, world: &WorldName) -> Result<Option<(u64, u64)>, StoreError> {
        self.reader()?.span(world)
    }

    fn load_stretch(
        &self,
        world: &WorldName,
        moment: Moment,
        next: Duration,
    ) -> Result<Option<Stretch>, StoreError> {
        self.reader()?.load_stretch(world, moment, next)
    }

    fn next_snapshot(&self, world: &WorldName, after_ms: u64) -> Result<Option<u64>, StoreError> {
        self.reader()?.next_snapshot(world, after_ms)
    }

    fn import(&self, world: &WorldName, file: &[u8]) -> Result<(), StoreError> {
        SqliteStore::import(self, world, file)
    }

    fn close(&self, within: Duration) -> Result<(), StoreError> {
        SqliteStore::close(self, within)
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(writer) = self.writer.take()
            && !self.is_abandoned.load(Ordering::Acquire)
        {
            // A writer that panicked has been reported by the panic handler.
            let _ = writer.join();
        }
    }
}
