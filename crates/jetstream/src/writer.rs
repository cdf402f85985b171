//! Writes the records of one world, in their order.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nowcast_cluster::{AppendStep, Batch as FrameBatch, Frame, Sequence, SnapshotRef};
use nowcast_store::{AccountRecord, Batch, Continuity, Problem, Snapshot, WorldName, read_file, write_file};
use tokio::sync::Notify;

use crate::buckets::{Buckets, accounts_name, object_name};
use crate::envelope::{Envelope, SavedAccount};
use crate::journal::{Claim, Journal, Note};
use crate::lanes::{Job, Lanes, Next, Work};

/// Time after which a batch without changes is written. It only says that time has passed.
const TICK_INTERVAL: Duration = Duration::from_millis(250);

/// Minimum and maximum pause before a retry.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Batches are joined up to this many bytes in memory.
const JOINED_BYTES_MAX: usize = 256 << 10;

/// The writer of one claimed world.
pub(crate) struct WorldWriter {
    pub(crate) world: WorldName,
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) wake: Arc<Notify>,
    pub(crate) journal: Journal,
    pub(crate) claim: Claim,
    pub(crate) buckets: Buckets,
    /// The shortest time between two messages without a completion.
    pub(crate) commit_interval: Duration,
    /// Bytes and number of the batches since the last snapshot that this writer stored.
    pub(crate) since_snapshot: (u64, u64),
    /// The data of accounts that the journal or the bucket does not have, by world and account. The next snapshot has it.
    pub(crate) accounts: BTreeMap<(String, String), SavedAccount>,
}

/// A message for the journal.
#[derive(Clone, Copy)]
enum Message<'a> {
    Frame(&'a Frame),
    Note(&'a Note),
}

/// The reason why a record was not stored.
enum Fate {
    /// The record does not follow the journal, or is too large.
    Lost,
    /// Another server owns the world.
    Fenced,
}

impl WorldWriter {
    /// Runs until the store closes or another server owns the world.
    pub(crate) async fn run(mut self) {
        let mut written = Instant::now();
        let (interval, wake) = (self.commit_interval, Arc::clone(&self.wake));
        loop {
            let not_before = |jobs: &VecDeque<Job>| {
                let is_urgent = |job: &Job| !job.then.is_empty() || matches!(job.work, Work::Snapshot(..));
                let has_changes = |job: &Job| matches!(&job.work, Work::Batch(batch) if !batch.is_empty());
                if jobs.iter().any(is_urgent) {
                    written
                } else {
                    written + if jobs.iter().any(has_changes) { interval } else { TICK_INTERVAL }
                }
            };
            match self.lanes.take(&self.world, &wake, not_before) {
                Next::End => return,
                Next::Wait(None) => wake.notified().await,
                Next::Wait(Some(until)) => {
                    // A notification may make the next look earlier, and never later.
                    let _ = tokio::time::timeout_at(until.into(), wake.notified()).await;
                }
                Next::Jobs(jobs) => {
                    written = Instant::now();
                    let mut jobs = join(jobs);
                    while let Some(job) = jobs.pop_front() {
                        match self.write(&job.work).await {
                            Ok(bytes) => {
                                let stored = (bytes, self.claim.last);
                                self.lanes.keep(&self.world, job, stored, written.elapsed());
                            }
                            Err(Fate::Lost) => self.lanes.lose(&self.world, job),
                            Err(Fate::Fenced) => {
                                jobs.push_front(job);
                                self.lanes.fence(&self.world, &wake);
                                self.lanes.lose_all(jobs);
                                return;
                            }
                        }
                    }
                }
            }
        }
    }

    /// Writes a whole world into its empty journal.
    pub(crate) async fn import(mut self, snapshot: &Snapshot, batches: &[Batch]) -> Result<(), Problem> {
        let problem = |fate| match fate {
            Fate::Lost => Problem::Unreachable("the world cannot be written".to_owned()),
            Fate::Fenced => Problem::Fenced,
        };
        self.write_snapshot(snapshot, Continuity::BeginsAnew, &[]).await.map_err(problem)?;
        for batch in batches {
            self.write_batch(batch).await.map_err(problem)?;
        }
        Ok(())
    }

    /// Writes one record. Returns the bytes that were stored.
    async fn write(&mut self, work: &Work) -> Result<usize, Fate> {
        match work {
            Work::Batch(batch) => self.write_batch(batch).await,
            Work::Snapshot(snapshot, continuity, accounts) => {
                self.write_snapshot(snapshot, *continuity, accounts).await
            }
        }
    }

    /// Appends a batch, and stores its data of accounts. If the batch cannot be written, the journal has a hole until the next
    /// snapshot. The state of that snapshot has the changes of the batch, so it takes the data, too.
    async fn write_batch(&mut self, batch: &Batch) -> Result<usize, Fate> {
        let written = self.append_batch(batch).await;
        if written.is_err() {
            self.carry(&batch.accounts);
        }
        written
    }

    async fn append_batch(&mut self, batch: &Batch) -> Result<usize, Fate> {
        if !self.claim.has_snapshot || batch.from_tick != self.claim.tick {
            return Err(Fate::Lost);
        }
        let is_time_alone = batch.is_empty();
        let bytes = if is_time_alone { Vec::new() } else { batch.to_bytes() };
        let accounts: Vec<SavedAccount> = batch.accounts.iter().map(SavedAccount::of).collect();
        let envelope = Envelope { time_ms: batch.time_ms, bytes, accounts: accounts.clone() };
        let number = self.claim.batch_number + 1;
        let frame = Frame::Batch(FrameBatch {
            epoch: self.claim.epoch,
            number,
            from_step: batch.from_tick,
            through_step: batch.through_tick,
            bytes: envelope.to_bytes().into(),
        });
        let stored = envelope.bytes.len();
        self.append(Message::Frame(&frame)).await?;
        (self.claim.batch_number, self.claim.tick) = (number, batch.through_tick);
        if !is_time_alone {
            self.since_snapshot.0 += stored as u64;
            self.since_snapshot.1 += 1;
        }
        self.put_accounts(&accounts).await?;
        Ok(stored)
    }

    /// Stores data of accounts in its bucket. The journal has the data, too: the next owner stores it if this writer ends here.
    async fn put_accounts(&self, accounts: &[SavedAccount]) -> Result<(), Fate> {
        for account in accounts {
            let mut pause = PAUSE_MIN;
            while let Err(error) = self.buckets.put_account(account).await {
                self.pause(&mut pause, error.to_string()).await?;
            }
        }
        Ok(())
    }

    /// Keeps data of accounts for the next snapshot.
    fn carry(&mut self, accounts: &[AccountRecord]) {
        for record in accounts {
            let saved = SavedAccount::of(record);
            self.accounts.insert((saved.world.clone(), saved.account.clone()), saved);
        }
    }

    /// Stores a snapshot's file and account data, reads both back, and then notes them in one journal message. This message
    /// decides: without it, neither the snapshot nor the data counts. After it, every later owner stores the data in its bucket.
    async fn write_snapshot(
        &mut self,
        snapshot: &Snapshot,
        continuity: Continuity,
        accounts: &[AccountRecord],
    ) -> Result<usize, Fate> {
        self.carry(accounts);
        let Ok(file) = write_file(self.world.as_str(), snapshot, &[]) else { return Err(Fate::Lost) };
        if read_file(&file).is_err() {
            return Err(Fate::Lost);
        }
        // A skipped number marks a hole: the batches before do not lead to this snapshot.
        let is_hole = continuity == Continuity::BeginsAnew || snapshot.tick != self.claim.tick;
        let batch_number = self.claim.batch_number + u64::from(is_hole);
        let mut digest = [0; 32];
        digest.copy_from_slice(ring::digest::digest(&ring::digest::SHA256, &file).as_ref());
        let note = Note {
            sequence: 0,
            snapshot: SnapshotRef {
                epoch: self.claim.epoch,
                sequence: Sequence(self.claim.last),
                batch_number,
                step: snapshot.tick,
                hash: snapshot.hash,
                digest,
                bytes: file.len() as u64,
            },
            time_ms: snapshot.time_ms,
            since: self.since_snapshot,
            accounts: self.accounts.len() as u64,
        };
        let accounts: Vec<SavedAccount> = self.accounts.values().cloned().collect();
        let mut objects = vec![(object_name(&self.world, &note.snapshot), file)];
        if !accounts.is_empty() {
            let envelope = Envelope { time_ms: note.time_ms, bytes: Vec::new(), accounts: accounts.clone() };
            objects.push((accounts_name(&self.world, &note.snapshot), envelope.to_bytes()));
        }
        for (object, bytes) in &objects {
            let mut pause = PAUSE_MIN;
            while let Err(problem) = self.buckets.put_verified(object, bytes).await {
                self.pause(&mut pause, problem.to_string()).await?;
            }
        }
        if let Err(fate) = self.append(Message::Note(&note)).await {
            // No message names the objects. If they stay, they only cost space.
            for (object, _) in &objects {
                let _ = self.buckets.remove(object).await;
            }
            return Err(fate);
        }
        (self.claim.batch_number, self.claim.tick) = (batch_number, snapshot.tick);
        self.claim.has_snapshot = true;
        self.since_snapshot = (0, 0);
        self.put_accounts(&accounts).await?;
        self.accounts.clear();
        Ok(objects.iter().map(|(_, bytes)| bytes.len()).sum())
    }

    /// Appends a message, and tries again until NATS has answered.
    async fn append(&mut self, message: Message<'_>) -> Result<(), Fate> {
        let mut pause = PAUSE_MIN;
        loop {
            let appended = match message {
                Message::Frame(frame) => self.journal.append(frame, self.claim.last).await,
                Message::Note(note) => self.journal.append_note(note, self.claim.last).await,
            };
            let cause = match appended {
                Some(AppendStep::Stored(last)) => {
                    self.claim.last = last.0;
                    return Ok(());
                }
                Some(AppendStep::Fenced) => return Err(Fate::Fenced),
                None => return Err(Fate::Lost),
                Some(AppendStep::Failed(cause)) => cause,
                Some(other) => format!("the journal of {} ends elsewhere: {other:?}", self.world),
            };
            self.pause(&mut pause, cause).await?;
        }
    }

    /// Reports a failure, and waits before the next attempt. A closing store makes no further attempt.
    async fn pause(&self, pause: &mut Duration, cause: String) -> Result<(), Fate> {
        self.lanes.fail(cause);
        if self.lanes.is_closing() {
            return Err(Fate::Lost);
        }
        let _ = tokio::time::timeout(*pause, self.wake.notified()).await;
        *pause = (*pause * 2).min(PAUSE_MAX);
        Ok(())
    }
}

/// Joins batches that follow each other, so that one message has them.
fn join(jobs: VecDeque<Job>) -> VecDeque<Job> {
    let mut joined: VecDeque<Job> = VecDeque::new();
    for job in jobs {
        let Some(last) = joined.back_mut() else {
            joined.push_back(job);
            continue;
        };
        match (&mut last.work, job.work) {
            (Work::Batch(before), Work::Batch(batch))
                if before.through_tick == batch.from_tick
                    && last.bytes + job.bytes <= JOINED_BYTES_MAX
                    && (before.is_empty() || !batch.is_empty() || before.time_ms == batch.time_ms) =>
            {
                before.extend(batch);
                last.bytes += job.bytes;
                last.count += job.count;
                last.then.extend(job.then);
            }
            (_, work) => joined.push_back(Job { work, ..job }),
        }
    }
    joined
}
