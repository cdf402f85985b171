//! What waits for the disk, bounded in bytes.

use std::collections::BTreeSet;
use std::sync::mpsc::SyncSender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::batch::{Batch, Span};
use crate::error::Problem;
use crate::name::WorldName;
use crate::snapshot::Snapshot;
use crate::store::{
    Completion, Continuity, Health, Lost, Mark, MarkCompletion, MarkKind, Pruned, Retention, Stats,
};

/// From when on the oldest bytes that wait are told in the health.
const BEHIND_AFTER: Duration = Duration::from_secs(1);

/// What one job costs beside its bytes.
const JOB_BYTES: usize = 256;

/// One thing to write.
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) then: Vec<Completion>,
    /// How many were given that it stands for.
    pub(super) count: u64,
    /// What it counts for in the queue.
    pub(super) bytes: usize,
    /// When it came.
    pub(super) at: Instant,
}

pub(super) enum Work {
    /// A stretch of a world's life.
    Batch {
        world: WorldName,
        span: Span,
        content: Content,
    },
    /// A world's state, which is put into a file off the thread that took it.
    Snapshot {
        world: WorldName,
        snapshot: Box<Snapshot>,
        file: Option<Vec<u8>>,
        continuity: Continuity,
    },
    /// A mark, and whether it was new.
    Mark {
        mark: Mark,
        now_ms: u64,
        is_new: bool,
        then: Option<MarkCompletion>,
    },
    Unmark {
        kind: MarkKind,
        key: Vec<u8>,
    },
    /// Forgets some; the answer says whether there is more.
    Prune {
        retention: Retention,
        now_ms: u64,
        pruned: Pruned,
        is_more: bool,
        answer: SyncSender<(Pruned, bool)>,
    },
    /// A world as a whole.
    Import {
        world: WorldName,
        snapshot: Box<Snapshot>,
        batches: Vec<Batch>,
        answer: SyncSender<Result<(), Problem>>,
    },
    /// Forgets a world.
    Remove {
        world: WorldName,
        answer: SyncSender<Result<(), Problem>>,
    },
}

/// What is in a batch.
pub(super) enum Content {
    /// As it was given: the writer makes bytes of it.
    Given(Batch),
    /// The body of its row; none where nothing happened but time.
    Row(Option<Vec<u8>>),
}

impl Work {
    fn world(&self) -> Option<&WorldName> {
        match self {
            Work::Batch { world, .. } | Work::Snapshot { world, .. } => Some(world),
            _ => None,
        }
    }
}

/// Shared by those who give and by the writer's thread.
pub(super) struct Queue {
    state: Mutex<State>,
    /// Something for the writer to do.
    work: Condvar,
    /// Something was kept, or failed.
    kept: Condvar,
    bytes_max: usize,
}

#[derive(Default)]
struct State {
    jobs: Vec<Job>,
    /// Of those that wait and of those that are being written.
    bytes: usize,
    /// When the oldest came that is being written.
    in_flight_since: Option<Instant>,
    /// Jobs that were taken in, and that are done with.
    given: u64,
    done: u64,
    /// Somebody waits: the next transaction begins at once.
    is_hurried: bool,
    is_closing: bool,
    is_closed: bool,
    /// Worlds whose journal has a hole until their next snapshot.
    holes: BTreeSet<WorldName>,
    failure: Option<(String, &'static str)>,
    stats: Stats,
}

/// Why a job was not taken in.
pub(super) enum NotTaken {
    Full,
    Hole,
    Closed,
}

impl Queue {
    pub(super) fn new(bytes_max: usize) -> Queue {
        Queue { state: Mutex::default(), work: Condvar::new(), kept: Condvar::new(), bytes_max }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock, and counts are right after each statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a job in, or gives its completions back. `bytes` is what it holds beside itself.
    pub(super) fn give(
        &self,
        mut work: Work,
        then: Vec<Completion>,
        bytes: usize,
    ) -> Result<(), (NotTaken, Vec<Completion>)> {
        let at = Instant::now();
        let bytes = bytes + JOB_BYTES;
        let mut state = self.lock();
        if state.is_closing || state.is_closed {
            return Err((NotTaken::Closed, then));
        }
        // One job alone may be larger than the queue: it is bounded by its own maximum.
        let is_full = state.bytes > 0 && state.bytes + bytes > self.bytes_max;
        let is_in_hole = work.world().is_some_and(|world| state.holes.contains(world));
        match &mut work {
            Work::Batch { world, .. } if is_full || is_in_hole => {
                state.stats.batches_dropped += 1;
                state.stats.batch_bytes_dropped += bytes as u64;
                state.holes.insert(world.clone());
                let why = if is_in_hole { NotTaken::Hole } else { NotTaken::Full };
                return Err((why, then));
            }
            Work::Snapshot { .. } if is_full => {
                state.stats.snapshots_dropped += 1;
                return Err((NotTaken::Full, then));
            }
            Work::Mark { .. } | Work::Unmark { .. } if is_full => {
                state.stats.marks_dropped += 1;
                return Err((NotTaken::Full, then));
            }
            // The snapshot ends the hole.
            Work::Snapshot { world, continuity, .. } if state.holes.remove(world) => {
                *continuity = Continuity::BeginsAnew;
            }
            _ => {}
        }
        state.bytes += bytes;
        state.given += 1;
        state.jobs.push(Job { work, then, count: 1, bytes, at });
        drop(state);
        self.work.notify_one();
        Ok(())
    }

    /// Adds what waits to `group`, not before `not_before` unless somebody waits for it. False when the queue is closing: this
    /// is the last time.
    pub(super) fn take(&self, group: &mut Vec<Job>, not_before: Instant) -> bool {
        let mut state = self.lock();
        loop {
            if state.is_closing || (state.is_hurried && !state.jobs.is_empty()) {
                break;
            }
            let left = not_before.saturating_duration_since(Instant::now());
            let has_work = !state.jobs.is_empty() || !group.is_empty();
            if has_work && left.is_zero() {
                break;
            }
            state = if has_work {
                self.work.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
            } else {
                self.work.wait(state).unwrap_or_else(PoisonError::into_inner)
            };
        }
        state.is_hurried = false;
        group.append(&mut state.jobs);
        state.in_flight_since = group.first().map(|job| job.at);
        !state.is_closing
    }

    /// Notes that a group is kept, and tells everybody who waits for a part of it.
    pub(super) fn keep(&self, group: Vec<Job>, took: Duration) {
        {
            let mut state = self.lock();
            state.failure = None;
            state.stats.commits += 1;
            state.stats.commit_max = state.stats.commit_max.max(took);
            for job in &group {
                match &job.work {
                    Work::Batch { content: Content::Row(Some(body)), .. } => {
                        state.stats.batches += 1;
                        state.stats.batch_bytes += body.len() as u64;
                    }
                    Work::Snapshot { file: Some(file), .. } => {
                        state.stats.snapshots += 1;
                        state.stats.snapshot_bytes += file.len() as u64;
                    }
                    _ => {}
                }
            }
        }
        self.finish(group, true);
    }

    /// Gives up jobs that can never be kept. Their worlds go on with a snapshot.
    pub(super) fn lose(&self, jobs: Vec<Job>) {
        {
            let mut state = self.lock();
            for job in &jobs {
                match &job.work {
                    Work::Batch { world, .. } => {
                        state.stats.batches_dropped += job.count;
                        state.stats.batch_bytes_dropped += job.bytes as u64;
                        state.holes.insert(world.clone());
                    }
                    Work::Snapshot { world, .. } => {
                        state.stats.snapshots_dropped += 1;
                        state.holes.insert(world.clone());
                    }
                    Work::Mark { .. } | Work::Unmark { .. } => state.stats.marks_dropped += 1,
                    _ => {}
                }
            }
        }
        self.finish(jobs, false);
    }

    fn finish(&self, jobs: Vec<Job>, is_kept: bool) {
        let count = jobs.iter().map(|job| job.count).sum::<u64>();
        let bytes = jobs.iter().map(|job| job.bytes).sum::<usize>();
        let mut panicked = 0;
        for job in jobs {
            panicked += tell(job, is_kept);
        }
        let mut state = self.lock();
        state.bytes -= bytes;
        state.done += count;
        state.in_flight_since = None;
        state.stats.completions_panicked += panicked;
        drop(state);
        self.kept.notify_all();
    }

    /// Notes that nothing could be written.
    pub(super) fn fail(&self, cause: String, cure: &'static str) {
        let mut state = self.lock();
        state.failure = Some((cause, cure));
        state.stats.commits_failed += 1;
        drop(state);
        self.kept.notify_all();
    }

    /// Waits as long as a writer does that failed; returns at once when the queue closes.
    pub(super) fn pause(&self, pause: Duration) {
        let until = Instant::now() + pause;
        let mut state = self.lock();
        while !state.is_closing {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.work.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until all that was given before is done with. What is wrong, if it was not in time.
    pub(super) fn wait(&self, within: Duration) -> Result<(), Problem> {
        let until = Instant::now() + within;
        let mut state = self.lock();
        let ticket = state.given;
        while state.done < ticket {
            if state.is_closed {
                return Err(Problem::Closed);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(match &state.failure {
                    Some((cause, _)) => Problem::Disk(cause.clone()),
                    None => Problem::Late,
                });
            }
            state.is_hurried = true;
            self.work.notify_one();
            state = self.kept.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// From now on nothing is taken in; the writer ends after it has tried to write what waits.
    pub(super) fn close(&self) {
        self.lock().is_closing = true;
        self.work.notify_one();
    }

    /// The writer has ended.
    pub(super) fn ended(&self) {
        let jobs = {
            let mut state = self.lock();
            state.is_closed = true;
            std::mem::take(&mut state.jobs)
        };
        self.lose(jobs);
    }

    pub(super) fn has_room(&self) -> bool {
        let state = self.lock();
        state.failure.is_none() && !state.is_closing && state.bytes <= self.bytes_max / 2
    }

    pub(super) fn health(&self) -> Health {
        let state = self.lock();
        if let Some((cause, cure)) = &state.failure {
            return Health::Failing { cause: cause.clone(), cure };
        }
        if state.is_closed {
            return Health::Failing { cause: "the store is closed".to_owned(), cure: Problem::Closed.cure() };
        }
        let oldest = state.in_flight_since.or(state.jobs.first().map(|job| job.at));
        let oldest = oldest.map_or(Duration::ZERO, |at| at.elapsed());
        if oldest < BEHIND_AFTER && state.holes.is_empty() {
            return Health::Healthy;
        }
        Health::Behind { queued_bytes: state.bytes, oldest, worlds: state.holes.len() }
    }

    pub(super) fn stats(&self) -> Stats {
        let state = self.lock();
        Stats { queued_bytes: state.bytes, ..state.stats }
    }
}

/// Calls whatever waits for a job, and returns how many of these panicked.
fn tell(job: Job, is_kept: bool) -> u64 {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let outcome = || if is_kept { Ok(()) } else { Err(Lost) };
    let mut panicked = 0;
    for then in job.then {
        panicked += u64::from(catch_unwind(AssertUnwindSafe(|| then(outcome()))).is_err());
    }
    match job.work {
        Work::Mark { is_new, then: Some(then), .. } => {
            let outcome = outcome().map(|()| is_new);
            panicked += u64::from(catch_unwind(AssertUnwindSafe(|| then(outcome))).is_err());
        }
        // Nobody waits any more where an answer cannot be given.
        Work::Prune { pruned, is_more, answer, .. } if is_kept => {
            let _ = answer.try_send((pruned, is_more));
        }
        Work::Import { answer, .. } | Work::Remove { answer, .. } if is_kept => {
            let _ = answer.try_send(Ok(()));
        }
        _ => {}
    }
    panicked
}
