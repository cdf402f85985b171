//! The store of worlds.

mod claims;

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use nowcast_cluster::{Name, ServerId};
use nowcast_store::{
    AccountRecord, BATCH_BYTES_MAX, Batch, Completion, Continuity, HOST_BYTES_MAX, Health, Lost,
    MARK_KEY_BYTES_MAX, MARK_NOTE_BYTES_MAX, Mark, MarkCompletion, MarkKind, Moment, Problem, Pruned,
    Refused, RefusedWhy, Retention, SavedWorld, Snapshot, Stats, Store, StoreError, Stretch, Summary,
    WORLD_BYTES_MAX, WorldName, WorldStore, read_file,
};
use nowcast_world::SavedData;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::buckets::Buckets;
use crate::journal::Journal;
use crate::lanes::{Lanes, Work};
use crate::link::at_start;
use crate::prefetched::Prefetched;
use crate::reader::{History, choose, load_through, summary};
use crate::writer::WorldWriter;
use crate::{ClusterError, Link};

/// Approximate memory of a remembered client, in bytes.
const CLIENT_BYTES: usize = 128;

/// Time for the last records when a store is dropped.
const CLOSE_WITHIN: Duration = Duration::from_secs(10);

/// Time for the last attempt to write records that NATS did not accept before.
const LAST_ATTEMPT_WITHIN: Duration = Duration::from_secs(4);

/// Time for which a request is repeated while NATS does not answer it.
const REQUEST_WITHIN: Duration = Duration::from_secs(10);

/// Pause before a request is repeated.
const REQUEST_PAUSE: Duration = Duration::from_millis(250);

/// Pause before a mark is tried again.
const MARK_PAUSE: Duration = Duration::from_millis(250);

/// The options of a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoreOptions {
    /// Bytes that may wait for NATS. Records beyond the limit are refused, and their worlds continue with a snapshot later.
    pub queue_bytes_max: usize,
    /// The shortest time between two messages of a world that no completion waits for. A record with a completion is sent at
    /// once.
    pub commit_interval: Duration,
    /// The server in the heads of journals. Each start of a server must have a different ID.
    pub server: ServerId,
    /// Whether [`Store::load`] and [`Store::snapshot`] claim a world that was not claimed. Servers of a cluster claim worlds by
    /// the directory, and leave this off.
    pub claims_on_demand: bool,
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        StoreOptions {
            queue_bytes_max: 64 << 20,
            commit_interval: Duration::from_millis(30),
            server: ServerId { name: Name::new("server").expect("the name is valid"), incarnation: 1 },
            claims_on_demand: false,
        }
    }
}

/// Stores worlds in JetStream. A completion is called when the replicas have the record.
///
/// A world must be claimed before it can be written ([`claim`](Self::claim)). Records of one world are stored in their order.
/// Records of different worlds, and marks, are stored at the same time.
///
/// When another server claims a world, everything that waits is lost, and each later record is refused with
/// [`RefusedWhy::Fenced`].
pub struct JetStreamStore {
    parts: Parts,
    marks: UnboundedSender<MarkJob>,
    /// `None` after the drop has begun.
    runtime: Option<Runtime>,
}

/// The parts of a store that a request uses.
#[derive(Clone)]
struct Parts {
    link: Link,
    buckets: Buckets,
    lanes: Arc<Lanes>,
    options: StoreOptions,
    prefetched: Arc<Prefetched>,
}

enum MarkJob {
    Mark { mark: Mark, now_ms: u64, then: MarkCompletion, bytes: usize },
    Unmark { kind: MarkKind, key: Vec<u8>, then: Vec<Completion>, bytes: usize },
}

impl JetStreamStore {
    /// Opens the store of a cluster, or makes its buckets. Buckets of other programs are not touched.
    ///
    /// # Errors
    /// Fails if a bucket is not of this program or cannot be made.
    pub async fn open(link: Link, options: StoreOptions) -> Result<JetStreamStore, ClusterError> {
        let buckets = at_start(|| Buckets::open(&link)).await?;
        let lanes = Arc::new(Lanes::new(options.queue_bytes_max));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("nowcast-store")
            .enable_all()
            .build()
            .map_err(|error| ClusterError::request("cannot start a thread", error))?;
        let (marks, jobs) = unbounded_channel();
        runtime.spawn(write_marks(buckets.clone(), Arc::clone(&lanes), jobs));
        let parts = Parts { link, buckets, lanes, options, prefetched: Arc::default() };
        Ok(JetStreamStore { parts, marks, runtime: Some(runtime) })
    }

    /// The connection to NATS.
    pub fn link(&self) -> &Link {
        &self.parts.link
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("the runtime exists until the drop")
    }

    /// Runs a request on the store's thread, and waits for it. Any thread may call it, also one of another runtime. While the
    /// leader of a stream is elected, the request is repeated.
    fn wait_for<T: Send + 'static, F: Future<Output = Result<T, Problem>> + Send + 'static>(
        &self,
        request: impl Fn(Parts) -> F + Send + 'static,
    ) -> Result<T, Problem> {
        let (answer, answered) = sync_channel(1);
        let parts = self.parts.clone();
        self.runtime().spawn(async move {
            let until = Instant::now() + REQUEST_WITHIN;
            let outcome = loop {
                match request(parts.clone()).await {
                    Err(Problem::Unreachable(_)) if Instant::now() < until && !parts.lanes.is_closing() => {
                        tokio::time::sleep(REQUEST_PAUSE).await;
                    }
                    outcome => break outcome,
                }
            };
            // The caller waits for the answer, unless it panicked.
            let _ = answer.send(outcome);
        });
        answered.recv().unwrap_or(Err(Problem::Closed))
    }

    fn failed(&self, problem: Problem, world: Option<&WorldName>) -> StoreError {
        StoreError { file: PathBuf::from(self.parts.link.addresses()), world: world.cloned(), problem }
    }

    /// Reads the journal of a world; `None` if the world has none.
    fn read_journal<T: Send + 'static, F: Future<Output = Result<T, Problem>> + Send + 'static>(
        &self,
        world: &WorldName,
        read: impl Fn(Journal, Buckets, WorldName) -> F + Copy + Send + Sync + 'static,
    ) -> Result<Option<T>, StoreError> {
        let name = world.clone();
        let found = self.wait_for(move |Parts { link, buckets, .. }| {
            let name = name.clone();
            async move {
                match Journal::find(&link, &name).await? {
                    Some(journal) => read(journal, buckets, name).await.map(Some),
                    None => Ok(None),
                }
            }
        });
        found.map_err(|problem| self.failed(problem, Some(world)))
    }

    fn claim_on_demand(&self, world: &WorldName) -> Result<(), StoreError> {
        if self.parts.options.claims_on_demand && !self.parts.lanes.is_owned(world) {
            self.claim(world, None)?;
        }
        Ok(())
    }

    /// Loads a world with the changes until a later moment at least.
    fn load_through(
        &self,
        world: &WorldName,
        moment: Moment,
        through: Moment,
    ) -> Result<Option<SavedWorld>, StoreError> {
        let name = world.clone();
        let loaded = self.wait_for(move |Parts { link, buckets, prefetched, .. }| {
            let name = name.clone();
            async move {
                let journal = match prefetched.journal(&name) {
                    Some(journal) => Some(journal),
                    None => Journal::find(&link, &name).await?,
                };
                let Some(journal) = journal else { return Ok(None) };
                let known = prefetched.snapshot(&name);
                let loaded = load_through(&journal, &buckets, &name, (moment, through), known).await;
                prefetched.loaded(&name);
                loaded
            }
        });
        loaded.map_err(|problem| self.failed(problem, Some(world)))
    }
}

impl Store for JetStreamStore {
    fn append(&self, world: &WorldName, batch: Batch, then: Vec<Completion>) -> Result<(), Refused> {
        let bytes = batch.memory_bytes();
        if bytes > BATCH_BYTES_MAX || batch.check().is_err() {
            return Err(Refused { why: RefusedWhy::Invalid, then });
        }
        self.parts.lanes.give(world, Work::Batch(batch), then, bytes)
    }

    /// The note of the snapshot names the data of the accounts, so the journal has both or neither.
    fn snapshot_with_accounts(
        &self,
        world: &WorldName,
        snapshot: Snapshot,
        continuity: Continuity,
        accounts: Vec<AccountRecord>,
        then: Vec<Completion>,
    ) -> Result<(), Refused> {
        let is_large = snapshot.world.len() > WORLD_BYTES_MAX || snapshot.host.len() > HOST_BYTES_MAX;
        let ticks_max = i64::MAX as u64;
        if is_large || snapshot.tick > ticks_max || snapshot.time_ms > ticks_max {
            return Err(Refused { why: RefusedWhy::Invalid, then });
        }
        if self.claim_on_demand(world).is_err() {
            return Err(Refused { why: RefusedWhy::Fenced, then });
        }
        let bytes = snapshot.world.len() + snapshot.host.len() + CLIENT_BYTES * snapshot.once.clients();
        let bytes = bytes + accounts.iter().map(AccountRecord::memory_bytes).sum::<usize>();
        let work = Work::Snapshot(Box::new(snapshot), continuity, accounts);
        self.parts.lanes.give(world, work, then, bytes)
    }

    fn commit(&self, within: Duration) -> Result<(), StoreError> {
        self.parts.lanes.wait(within).map_err(|problem| self.failed(problem, None))
    }

    fn load(&self, world: &WorldName, moment: Moment) -> Result<Option<SavedWorld>, StoreError> {
        if moment == Moment::Last {
            self.claim_on_demand(world)?;
        }
        let saved = self.load_through(world, moment, moment)?;
        Ok(saved.map(|saved| saved.until(moment)))
    }

    fn list(&self) -> Result<Vec<Summary>, StoreError> {
        let listed = self.wait_for(|Parts { link, buckets, .. }| async move {
            let mut summaries = Vec::new();
            for world in Journal::worlds(&link).await? {
                let Some(journal) = Journal::find(&link, &world).await? else { continue };
                summaries.extend(summary(&journal, &buckets, world).await?);
            }
            Ok(summaries)
        });
        listed.map_err(|problem| self.failed(problem, None))
    }

    /// Prunes the worlds that this server owns. Their snapshots are read back before anything is purged.
    fn prune(&self, retention: &Retention, now_ms: u64) -> Result<Pruned, StoreError> {
        let retention = *retention;
        let pruned = self.wait_for(move |Parts { link, buckets, lanes, .. }| async move {
            let mut histories = Vec::new();
            for world in lanes.owned() {
                if let Some(journal) = Journal::find(&link, &world).await? {
                    histories.push(History::read(journal, &world).await?);
                }
            }
            choose(&mut histories, &retention, now_ms);
            let mut pruned = Pruned::default();
            for history in &histories {
                let (snapshots, messages) = history.purge(&buckets).await?;
                pruned.snapshots += snapshots;
                pruned.batches += messages;
            }
            pruned.marks = buckets.prune_marks(now_ms).await?;
            Ok(pruned)
        });
        pruned.map_err(|problem| self.failed(problem, None))
    }

    fn mark(&self, mark: Mark, now_ms: u64, then: MarkCompletion) -> Result<(), Refused> {
        let is_large = mark.key.len() > MARK_KEY_BYTES_MAX || mark.note.len() > MARK_NOTE_BYTES_MAX;
        let refused = |why| Refused { why, then: Vec::new() };
        if is_large {
            return Err(refused(RefusedWhy::Invalid));
        }
        let bytes = self.parts.lanes.begin(mark.key.len() + mark.note.len()).map_err(refused)?;
        // The receiver ends with the runtime, which is dropped after everything else.
        let _ = self.marks.send(MarkJob::Mark { mark, now_ms, then, bytes });
        Ok(())
    }

    fn unmark(&self, kind: MarkKind, key: &[u8], then: Vec<Completion>) -> Result<(), Refused> {
        match self.parts.lanes.begin(key.len()) {
            Ok(bytes) => {
                let _ = self.marks.send(MarkJob::Unmark { kind, key: key.to_vec(), then, bytes });
                Ok(())
            }
            Err(why) => Err(Refused { why, then }),
        }
    }

    fn marks(&self, kind: MarkKind, now_ms: u64) -> Result<Vec<Mark>, StoreError> {
        let marks =
            self.wait_for(move |Parts { buckets, .. }| async move { Ok(buckets.marks(kind, now_ms).await?) });
        marks.map_err(|problem| self.failed(problem, None))
    }

    fn account(&self, world: &str, account: &str) -> Result<Option<SavedData>, StoreError> {
        let (world, account) = (world.to_owned(), account.to_owned());
        let saved = self.wait_for(move |Parts { buckets, .. }| {
            let (world, account) = (world.clone(), account.clone());
            async move { buckets.account(&world, &account).await }
        });
        saved.map_err(|problem| self.failed(problem, None))
    }

    fn has_room(&self) -> bool {
        self.parts.link.is_connected() && self.parts.lanes.has_room()
    }

    fn health(&self) -> Health {
        self.parts.lanes.health(self.parts.link.is_connected())
    }

    fn stats(&self) -> Stats {
        self.parts.lanes.stats()
    }
}

impl WorldStore for JetStreamStore {
    fn span(&self, world: &WorldName) -> Result<Option<(u64, u64)>, StoreError> {
        let read = |journal: Journal, buckets, name| async move { summary(&journal, &buckets, name).await };
        let summary = self.read_journal(world, read)?.flatten();
        Ok(summary.map(|summary| (summary.since_ms, summary.changed_ms)))
    }

    fn load_stretch(
        &self,
        world: &WorldName,
        moment: Moment,
        next: Duration,
    ) -> Result<Option<Stretch>, StoreError> {
        let through = moment.plus(next);
        let saved = self.load_through(world, moment, through)?;
        Ok(saved.map(|saved| Stretch::new(saved, moment, through)))
    }

    fn next_snapshot(&self, world: &WorldName, after_ms: u64) -> Result<Option<u64>, StoreError> {
        let read = |journal: Journal, _, _| async move { journal.snapshots().await };
        let notes = self.read_journal(world, read)?.unwrap_or_default();
        Ok(notes.iter().map(|note| note.time_ms).find(|time_ms| *time_ms > after_ms))
    }

    fn import(&self, world: &WorldName, file: &[u8]) -> Result<(), StoreError> {
        let read = read_file(file)
            .map_err(|error| Problem::Damaged { place: "the save file".to_owned(), what: error.to_string() });
        let (_, snapshot, batches) = read.map_err(|problem| self.failed(problem, Some(world)))?;
        let (name, parts) = (world.clone(), Arc::new((snapshot, batches)));
        let imported = self.wait_for(move |Parts { link, buckets, lanes, options, .. }| {
            let (name, parts) = (name.clone(), Arc::clone(&parts));
            async move {
                let journal = Journal::open(&link, &name).await?;
                // A claim would take the world from its owner.
                if journal.last_snapshot().await?.is_some() {
                    return Err(Problem::Exists);
                }
                let (claim, ..) = journal.claim(options.server, None, None).await?;
                let writer = WorldWriter {
                    world: name,
                    lanes,
                    wake: Arc::default(),
                    journal,
                    claim,
                    buckets,
                    commit_interval: options.commit_interval,
                    since_snapshot: (0, 0),
                    accounts: BTreeMap::new(),
                };
                writer.import(&parts.0, &parts.1).await
            }
        });
        imported.map_err(|problem| self.failed(problem, Some(world)))
    }

    fn close(&self, within: Duration) -> Result<(), StoreError> {
        let written = self.parts.lanes.wait(within);
        self.parts.lanes.close();
        written.map_err(|problem| self.failed(problem, None))
    }
}

impl Drop for JetStreamStore {
    fn drop(&mut self) {
        if !self.parts.lanes.is_closing() {
            // Everything that is not stored by then is lost, and its completions say so.
            let _ = self.parts.lanes.wait(CLOSE_WITHIN);
            self.parts.lanes.close();
        }
        // Writers that wait for NATS make one more attempt.
        let _ = self.parts.lanes.wait(LAST_ATTEMPT_WITHIN);
        if let Some(runtime) = self.runtime.take() {
            // The store may be dropped on a thread of another runtime, which must not wait.
            runtime.shutdown_background();
        }
    }
}

/// Writes marks in their order.
async fn write_marks(buckets: Buckets, lanes: Arc<Lanes>, mut jobs: UnboundedReceiver<MarkJob>) {
    while let Some(job) = jobs.recv().await {
        match job {
            MarkJob::Mark { mark, now_ms, then, bytes } => {
                let outcome = retry(&lanes, || buckets.mark(&mark, now_ms)).await;
                lanes.end(bytes, move || then(outcome));
            }
            MarkJob::Unmark { kind, key, then, bytes } => {
                let outcome = retry(&lanes, || buckets.unmark(kind, &key)).await;
                lanes.end(bytes, move || then.into_iter().for_each(|then| then(outcome)));
            }
        }
    }
}

/// Repeats a request until NATS answers, or the store closes.
async fn retry<T, F: Future<Output = Result<T, ClusterError>>>(
    lanes: &Lanes,
    request: impl Fn() -> F,
) -> Result<T, Lost> {
    loop {
        match request().await {
            Ok(value) => return Ok(value),
            Err(error) => {
                lanes.fail(error.to_string());
                if lanes.is_closing() {
                    return Err(Lost);
                }
                tokio::time::sleep(MARK_PAUSE).await;
            }
        }
    }
}
