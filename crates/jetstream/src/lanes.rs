//! The records that wait for JetStream: a lane for each claimed world, limited in bytes together.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nowcast_store::{
    AccountRecord, Batch, Completion, Continuity, Health, Lost, Problem, Refused, RefusedWhy, Snapshot,
    Stats, WorldName,
};
use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

/// If the oldest waiting record is older than this, the health of the store reports a backlog.
const BEHIND_AFTER: Duration = Duration::from_secs(1);

/// The size of a record without its payload.
const JOB_BYTES: usize = 256;

/// How to correct a failure of NATS.
const CURE: &str =
    "Check the nats-servers and the network. Waiting data is written as soon as a majority of them answers";

/// A record that waits.
pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) then: Vec<Completion>,
    /// The bytes that the record counts toward the limit.
    pub(crate) bytes: usize,
    /// Number of records that were joined into this one.
    pub(crate) count: u64,
    pub(crate) at: Instant,
}

pub(crate) enum Work {
    Batch(Batch),
    /// A snapshot, and the data of accounts that belongs to its state.
    Snapshot(Box<Snapshot>, Continuity, Vec<AccountRecord>),
}

/// The records of one world.
pub(crate) struct Lane {
    jobs: VecDeque<Job>,
    /// Notified when the world's writer has something to do.
    wake: Arc<Notify>,
    /// Whether the journal has a hole until the next snapshot.
    is_hole: bool,
    is_fenced: bool,
    /// The sequence number of the newest message in the journal.
    last: u64,
    /// The time at which the oldest of the records that are being written was given.
    in_flight_since: Option<Instant>,
}

/// All lanes of a store.
pub(crate) struct Lanes {
    state: Mutex<State>,
    /// Notified when records were written or lost.
    done: Condvar,
    bytes_max: usize,
}

#[derive(Default)]
struct State {
    worlds: BTreeMap<WorldName, Lane>,
    bytes: usize,
    given: u64,
    done: u64,
    is_hurried: bool,
    is_closing: bool,
    failure: Option<String>,
    stats: Stats,
}

/// The next work of a world's writer.
pub(crate) enum Next {
    Jobs(VecDeque<Job>),
    /// Wait for a notification, or until this time.
    Wait(Option<Instant>),
    /// The store closes, and nothing waits.
    End,
}

impl Lanes {
    pub(crate) fn new(bytes_max: usize) -> Lanes {
        Lanes { state: Mutex::default(), done: Condvar::new(), bytes_max }
    }

    /// Opens the lane of a claimed world, whose journal ends with the message `last`. Returns the notification of its writer.
    pub(crate) fn open(&self, world: &WorldName, last: u64) -> Arc<Notify> {
        let wake = Arc::new(Notify::new());
        let lane = Lane {
            jobs: VecDeque::new(),
            wake: Arc::clone(&wake),
            is_hole: false,
            is_fenced: false,
            last,
            in_flight_since: None,
        };
        let before = self.state.lock().worlds.insert(world.clone(), lane);
        if let Some(before) = before {
            self.lose_all(before.jobs);
            before.wake.notify_one();
        }
        wake
    }

    /// Whether a world was claimed, and no other server has claimed it since.
    pub(crate) fn is_owned(&self, world: &WorldName) -> bool {
        self.state.lock().worlds.get(world).is_some_and(|lane| !lane.is_fenced)
    }

    /// The sequence number of the newest message in the journal of a claimed world.
    pub(crate) fn last(&self, world: &WorldName) -> Option<u64> {
        self.state.lock().worlds.get(world).filter(|lane| !lane.is_fenced).map(|lane| lane.last)
    }

    /// The claimed worlds.
    pub(crate) fn owned(&self) -> Vec<WorldName> {
        let state = self.state.lock();
        state.worlds.iter().filter(|(_, lane)| !lane.is_fenced).map(|(world, _)| world.clone()).collect()
    }

    /// Accepts a record, or returns its completions.
    pub(crate) fn give(
        &self,
        world: &WorldName,
        mut work: Work,
        then: Vec<Completion>,
        bytes: usize,
    ) -> Result<(), Refused> {
        let (at, bytes) = (Instant::now(), bytes + JOB_BYTES);
        let mut guard = self.state.lock();
        let state = &mut *guard;
        if state.is_closing {
            return Err(Refused { why: RefusedWhy::Closed, then });
        }
        let Some(lane) = state.worlds.get_mut(world).filter(|lane| !lane.is_fenced) else {
            return Err(Refused { why: RefusedWhy::Fenced, then });
        };
        // A record may be larger than the limit if nothing else waits.
        let is_full = state.bytes > 0 && state.bytes + bytes > self.bytes_max;
        match &mut work {
            Work::Batch(_) if is_full || lane.is_hole => {
                state.stats.batches_dropped += 1;
                state.stats.batch_bytes_dropped += bytes as u64;
                let why = if lane.is_hole { RefusedWhy::SnapshotNeeded } else { RefusedWhy::Full };
                lane.is_hole = true;
                return Err(Refused { why, then });
            }
            Work::Snapshot(..) if is_full => {
                state.stats.snapshots_dropped += 1;
                return Err(Refused { why: RefusedWhy::Full, then });
            }
            // The snapshot ends the hole.
            Work::Snapshot(_, continuity, _) if std::mem::take(&mut lane.is_hole) => {
                *continuity = Continuity::BeginsAnew;
            }
            _ => {}
        }
        lane.jobs.push_back(Job { work, then, bytes, count: 1, at });
        let wake = Arc::clone(&lane.wake);
        state.bytes += bytes;
        state.given += 1;
        drop(guard);
        wake.notify_one();
        Ok(())
    }

    /// Counts a record that has no lane, such as a mark.
    pub(crate) fn begin(&self, bytes: usize) -> Result<usize, RefusedWhy> {
        let bytes = bytes + JOB_BYTES;
        let mut state = self.state.lock();
        if state.is_closing {
            return Err(RefusedWhy::Closed);
        }
        if state.bytes > 0 && state.bytes + bytes > self.bytes_max {
            state.stats.marks_dropped += 1;
            return Err(RefusedWhy::Full);
        }
        state.bytes += bytes;
        state.given += 1;
        Ok(bytes)
    }

    /// Calls the completion of a record that has no lane, and counts its end.
    pub(crate) fn end(&self, bytes: usize, then: impl FnOnce()) {
        let has_panicked = catch_unwind(AssertUnwindSafe(then)).is_err();
        self.count_done(1, bytes, has_panicked.into());
    }

    /// Returns the waiting records of a world, when one is urgent or `not_before` has passed. `wake` tells the
    /// writer of this lane from that of an earlier claim.
    pub(crate) fn take(
        &self,
        world: &WorldName,
        wake: &Arc<Notify>,
        not_before: impl Fn(&VecDeque<Job>) -> Instant,
    ) -> Next {
        let mut state = self.state.lock();
        let (is_closing, is_hurried) = (state.is_closing, state.is_hurried);
        let lane =
            state.worlds.get_mut(world).filter(|lane| Arc::ptr_eq(&lane.wake, wake) && !lane.is_fenced);
        let Some(lane) = lane else { return Next::End };
        if lane.jobs.is_empty() {
            return if is_closing { Next::End } else { Next::Wait(None) };
        }
        let not_before = not_before(&lane.jobs);
        if !is_closing && !is_hurried && Instant::now() < not_before {
            return Next::Wait(Some(not_before));
        }
        lane.in_flight_since = lane.jobs.front().map(|job| job.at);
        Next::Jobs(std::mem::take(&mut lane.jobs))
    }

    /// Records that a record is stored, as the message `last`, and calls its completions.
    pub(crate) fn keep(
        &self,
        world: &WorldName,
        job: Job,
        (stored_bytes, last): (usize, u64),
        took: Duration,
    ) {
        {
            let mut state = self.state.lock();
            state.failure = None;
            state.stats.commits += 1;
            state.stats.commit_max = state.stats.commit_max.max(took);
            match &job.work {
                Work::Batch(batch) if !batch.is_empty() => {
                    state.stats.batches += 1;
                    state.stats.batch_bytes += stored_bytes as u64;
                }
                Work::Batch(_) => {}
                Work::Snapshot(..) => {
                    state.stats.snapshots += 1;
                    state.stats.snapshot_bytes += stored_bytes as u64;
                }
            }
            if let Some(lane) = state.worlds.get_mut(world) {
                lane.in_flight_since = None;
                lane.last = last;
            }
        }
        self.finish(job, Ok(()));
    }

    /// Drops a record that can never be written. The world continues with a snapshot.
    pub(crate) fn lose(&self, world: &WorldName, job: Job) {
        {
            let mut state = self.state.lock();
            if let Some(lane) = state.worlds.get_mut(world) {
                lane.is_hole = true;
                lane.in_flight_since = None;
            }
        }
        self.lose_all([job].into());
    }

    /// Ends a lane, because another server owns the world now.
    pub(crate) fn fence(&self, world: &WorldName, wake: &Arc<Notify>) {
        let jobs = {
            let mut state = self.state.lock();
            let Some(lane) = state.worlds.get_mut(world).filter(|lane| Arc::ptr_eq(&lane.wake, wake)) else {
                return;
            };
            lane.is_fenced = true;
            lane.in_flight_since = None;
            std::mem::take(&mut lane.jobs)
        };
        self.lose_all(jobs);
    }

    pub(crate) fn lose_all(&self, jobs: VecDeque<Job>) {
        {
            let mut state = self.state.lock();
            for job in &jobs {
                match &job.work {
                    Work::Batch(_) => {
                        state.stats.batches_dropped += job.count;
                        state.stats.batch_bytes_dropped += job.bytes as u64;
                    }
                    Work::Snapshot(..) => state.stats.snapshots_dropped += 1,
                }
            }
        }
        for job in jobs {
            self.finish(job, Err(Lost));
        }
    }

    /// Calls the completions of a record.
    fn finish(&self, job: Job, outcome: Result<(), Lost>) {
        let mut panicked = 0;
        for then in job.then {
            panicked += u64::from(catch_unwind(AssertUnwindSafe(|| then(outcome))).is_err());
        }
        self.count_done(job.count, job.bytes, panicked);
    }

    fn count_done(&self, count: u64, bytes: usize, panicked: u64) {
        let mut state = self.state.lock();
        state.bytes -= bytes;
        state.done += count;
        state.stats.completions_panicked += panicked;
        if state.done == state.given {
            state.is_hurried = false;
        }
        drop(state);
        self.done.notify_all();
    }

    /// Records that NATS did not accept something.
    pub(crate) fn fail(&self, cause: String) {
        let mut state = self.state.lock();
        state.failure = Some(cause);
        state.stats.commits_failed += 1;
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.state.lock().is_closing
    }

    /// Waits until every earlier record is written or lost.
    pub(crate) fn wait(&self, within: Duration) -> Result<(), Problem> {
        let until = Instant::now() + within;
        let mut state = self.state.lock();
        let ticket = state.given;
        while state.done < ticket {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(state.failure.clone().map_or(Problem::Late, Problem::Unreachable));
            }
            if !state.is_hurried {
                state.is_hurried = true;
                state.worlds.values().for_each(|lane| lane.wake.notify_one());
            }
            _ = self.done.wait_for(&mut state, left);
        }
        Ok(())
    }

    /// Accepts nothing from now on. The writers try once to write the waiting records.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closing = true;
        state.worlds.values().for_each(|lane| lane.wake.notify_one());
    }

    pub(crate) fn has_room(&self) -> bool {
        let state = self.state.lock();
        state.failure.is_none() && !state.is_closing && state.bytes <= self.bytes_max / 2
    }

    pub(crate) fn health(&self, is_connected: bool) -> Health {
        let state = self.state.lock();
        if !is_connected {
            return Health::Failing { cause: "NATS cannot be reached".to_owned(), cure: CURE };
        }
        if let Some(cause) = &state.failure {
            return Health::Failing { cause: cause.clone(), cure: CURE };
        }
        if state.is_closing {
            return Health::Failing { cause: "the store is closed".to_owned(), cure: Problem::Closed.cure() };
        }
        let lanes = state.worlds.values();
        let oldest = |lane: &Lane| lane.in_flight_since.or(lane.jobs.front().map(|job| job.at));
        let oldest = lanes.clone().filter_map(oldest).min().map_or(Duration::ZERO, |at| at.elapsed());
        let worlds = lanes.filter(|lane| lane.is_hole && !lane.is_fenced).count();
        if oldest < BEHIND_AFTER && worlds == 0 {
            return Health::Healthy;
        }
        Health::Behind { queued_bytes: state.bytes, oldest, worlds }
    }

    pub(crate) fn stats(&self) -> Stats {
        let state = self.state.lock();
        Stats { queued_bytes: state.bytes, ..state.stats }
    }
}
