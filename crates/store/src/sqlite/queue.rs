//! The jobs that wait for the disk, limited in bytes.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::account::AccountRecord;
use crate::batch::{Batch, Span};
use crate::error::Problem;
use crate::fail_point::{FailPoint, pass};
use crate::name::WorldName;
use crate::snapshot::Snapshot;
use crate::store::{
    Completion, Continuity, Health, Lost, Mark, MarkCompletion, MarkKind, Pruned, Refused, RefusedWhy,
    Retention, Stats,
};

/// If the oldest waiting bytes are older than this, the health of the store reports a backlog.
const BEHIND_AFTER: Duration = Duration::from_secs(1);

/// The size of a job without its payload.
const JOB_BYTES: usize = 256;

/// A job for the writer.
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) then: Vec<Completion>,
    /// The number of submitted jobs that were joined into this job.
    pub(super) count: u64,
    /// The bytes that the job counts toward the limit of the queue.
    pub(super) bytes: usize,
    /// The time at which the job was put into the queue.
    pub(super) at: Instant,
}

pub(super) enum Work {
    /// A part of a world's journal.
    Batch {
        world: WorldName,
        span: Span,
        content: Content,
        /// The data of the accounts that changed, taken when the batch was encoded.
        accounts: Vec<AccountRecord>,
    },
    /// A world's state. The writer's thread encodes it.
    Snapshot {
        world: WorldName,
        snapshot: Box<Snapshot>,
        file: Option<Vec<u8>>,
        continuity: Continuity,
        /// The data of accounts that belongs to the state.
        accounts: Vec<AccountRecord>,
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
    /// Removes some old rows. The answer says whether more rows must be removed.
    Prune {
        retention: Retention,
        now_ms: u64,
        pruned: Pruned,
        is_more: bool,
        answer: SyncSender<Result<(Pruned, bool), Problem>>,
    },
    /// Adds a whole world under an unused name, or under the name of a world that is renamed to `aside`.
    Import {
        world: WorldName,
        aside: Option<WorldName>,
        snapshot: Box<Snapshot>,
        batches: Vec<Batch>,
        answer: SyncSender<Result<(), Problem>>,
    },
    /// Removes a world with its history.
    Remove {
        world: WorldName,
        answer: SyncSender<Result<(), Problem>>,
    },
    /// Removes the data of an account, in one world or in all.
    RemoveAccount {
        world: Option<String>,
        account: String,
        answer: SyncSender<Result<u64, Problem>>,
    },
}

/// The content of a batch.
pub(super) enum Content {
    /// The batch, which is not encoded yet.
    Given(Batch),
    /// The body of the batch's row; `None` if the batch has no entries.
    Row(Option<Vec<u8>>),
}

impl Work {
    fn world(&self) -> Option<&WorldName> {
        match self {
            Work::Batch { world, .. } | Work::Snapshot { world, .. } => Some(world),
            _ => None,
        }
    }

    /// Sends the reason why the work cannot be done to the thread that requested it.
    pub(super) fn refuse(&self, problem: Problem) {
        // The requesting thread may have stopped waiting.
        match self {
            Work::Prune { answer, .. } => _ = answer.try_send(Err(problem)),
            Work::RemoveAccount { answer, .. } => _ = answer.try_send(Err(problem)),
            Work::Import { answer, .. } | Work::Remove { answer, .. } => _ = answer.try_send(Err(problem)),
            _ => {}
        }
    }
}

/// The queue between the threads that submit jobs and the writer's thread.
pub(super) struct Queue {
    state: Mutex<State>,
    /// Notified when there is work for the writer.
    work: Condvar,
    /// Notified when jobs were written, failed, or the writer has ended.
    kept: Condvar,
    bytes_max: usize,
}

#[derive(Default)]
struct State {
    jobs: Vec<Job>,
    /// Bytes of the waiting jobs and of those that are being written.
    bytes: usize,
    /// The time at which the oldest of the jobs that are being written was put into the queue.
    in_flight_since: Option<Instant>,
    /// Jobs that were accepted.
    given: u64,
    /// Jobs that were written or lost.
    done: u64,
    /// Whether a thread or a completion waits for the writer. If so, the next transaction begins at once.
    is_hurried: bool,
    is_closing: bool,
    is_closed: bool,
    /// Worlds whose journal has a hole until their next snapshot.
    holes: BTreeSet<WorldName>,
    failure: Option<(String, &'static str)>,
    /// The file that was removed or replaced. Until the file is back, no job is accepted.
    gone: Option<PathBuf>,
    stats: Stats,
}

impl Queue {
    pub(super) fn new(bytes_max: usize) -> Queue {
        Queue { state: Mutex::default(), work: Condvar::new(), kept: Condvar::new(), bytes_max }
    }

    /// Accepts a job, or returns its completions. `bytes` is the size of its payload.
    pub(super) fn give(&self, mut work: Work, then: Vec<Completion>, bytes: usize) -> Result<(), Refused> {
        let at = Instant::now();
        let bytes = bytes + JOB_BYTES;
        let mut state = self.state.lock();
        if state.is_closing || state.is_closed {
            return Err(Refused { why: RefusedWhy::Closed, then });
        }
        let is_gone = state.gone.is_some();
        // A job may be larger than the limit of the queue if the queue is empty, because each job has its own maximum size.
        let is_full = is_gone || state.bytes > 0 && state.bytes + bytes > self.bytes_max;
        let full = if is_gone { RefusedWhy::Gone } else { RefusedWhy::Full };
        let is_in_hole = work.world().is_some_and(|world| state.holes.contains(world));
        match &mut work {
            Work::Batch { world, .. } if is_full || is_in_hole => {
                state.stats.batches_dropped += 1;
                state.stats.batch_bytes_dropped += bytes as u64;
                state.holes.insert(world.clone());
                let why = if is_in_hole && !is_gone { RefusedWhy::SnapshotNeeded } else { full };
                return Err(Refused { why, then });
            }
            Work::Snapshot { .. } if is_full => {
                state.stats.snapshots_dropped += 1;
                return Err(Refused { why: full, then });
            }
            Work::Mark { .. } | Work::Unmark { .. } if is_full => {
                state.stats.marks_dropped += 1;
                return Err(Refused { why: full, then });
            }
            _ if is_gone => return Err(Refused { why: full, then }),
            // The snapshot ends the hole.
            Work::Snapshot { world, continuity, .. } if state.holes.remove(world) => {
                *continuity = Continuity::BeginsAnew;
            }
            _ => {}
        }
        state.bytes += bytes;
        state.given += 1;
        // A client waits for the completion.
        state.is_hurried |= !then.is_empty();
        state.jobs.push(Job { work, then, count: 1, bytes, at });
        drop(state);
        self.work.notify_one();
        Ok(())
    }

    /// Moves the waiting jobs to `group`, not before `not_before` unless a thread waits for them. Returns false if the queue
    /// is closing and no further jobs follow.
    pub(super) fn take(&self, group: &mut Vec<Job>, not_before: Instant) -> bool {
        let mut state = self.state.lock();
        loop {
            if state.is_closing || (state.is_hurried && !state.jobs.is_empty()) {
                break;
            }
            let left = not_before.saturating_duration_since(Instant::now());
            let has_work = !state.jobs.is_empty() || !group.is_empty();
            if has_work && left.is_zero() {
                break;
            }
            if has_work {
                _ = self.work.wait_for(&mut state, left);
            } else {
                self.work.wait(&mut state);
            }
        }
        state.is_hurried = false;
        group.append(&mut state.jobs);
        state.in_flight_since = group.first().map(|job| job.at);
        !state.is_closing
    }

    /// Records that a group is committed, and calls its completions.
    pub(super) fn keep(&self, group: Vec<Job>, took: Duration) {
        {
            let mut state = self.state.lock();
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

    /// Drops jobs that can never be written. Their worlds continue with a snapshot.
    pub(super) fn lose(&self, jobs: Vec<Job>) {
        {
            let mut state = self.state.lock();
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
        for (index, job) in jobs.into_iter().enumerate() {
            if is_kept && index > 0 {
                pass(FailPoint::BetweenConfirmations);
            }
            panicked += complete(job, is_kept);
        }
        let mut state = self.state.lock();
        state.bytes -= bytes;
        state.done += count;
        state.in_flight_since = None;
        state.stats.completions_panicked += panicked;
        drop(state);
        self.kept.notify_all();
    }

    /// Whether jobs wait.
    pub(super) fn has_work(&self) -> bool {
        !self.state.lock().jobs.is_empty()
    }

    /// Records that a file of the store was removed or replaced, and drops the waiting jobs.
    pub(super) fn detach(&self, path: PathBuf) {
        let jobs = {
            let mut state = self.state.lock();
            state.gone = Some(path);
            std::mem::take(&mut state.jobs)
        };
        self.lose(jobs);
    }

    /// Records that the files are back.
    pub(super) fn attach(&self) {
        let mut state = self.state.lock();
        state.gone = None;
        state.failure = None;
    }

    /// Records that nothing could be written.
    pub(super) fn fail(&self, cause: String, cure: &'static str) {
        let mut state = self.state.lock();
        state.failure = Some((cause, cure));
        state.stats.commits_failed += 1;
        drop(state);
        self.kept.notify_all();
    }

    /// Waits before the writer tries again. Returns false at once when the queue closes.
    pub(super) fn pause(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        let mut state = self.state.lock();
        while !state.is_closing {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            _ = self.work.wait_for(&mut state, left);
        }
        false
    }

    /// Waits until every earlier job is written or lost. The error states the cause of a delay.
    pub(super) fn wait(&self, within: Duration) -> Result<(), Problem> {
        let until = Instant::now() + within;
        let mut state = self.state.lock();
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
            _ = self.kept.wait_for(&mut state, left);
        }
        state.gone.clone().map_or(Ok(()), |path| Err(Problem::Gone(path)))
    }

    /// The reason why a request was not answered.
    pub(super) fn trouble(&self) -> Problem {
        let state = self.state.lock();
        match (&state.gone, &state.failure) {
            (Some(path), _) => Problem::Gone(path.clone()),
            (None, Some((cause, _))) if !state.is_closed => Problem::Disk(cause.clone()),
            _ => Problem::Closed,
        }
    }

    /// Closes the queue, which accepts nothing from now on. The writer tries once to write the waiting jobs, and then ends.
    pub(super) fn close(&self) {
        self.state.lock().is_closing = true;
        self.work.notify_one();
    }

    /// Records that the writer has ended.
    pub(super) fn ended(&self) {
        let jobs = {
            let mut state = self.state.lock();
            state.is_closed = true;
            std::mem::take(&mut state.jobs)
        };
        self.lose(jobs);
    }

    /// Waits until the writer has ended. Returns whether it has.
    pub(super) fn wait_for_end(&self, within: Duration) -> bool {
        let until = Instant::now() + within;
        let mut state = self.state.lock();
        while !state.is_closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            _ = self.kept.wait_for(&mut state, left);
        }
        true
    }

    pub(super) fn has_room(&self) -> bool {
        let state = self.state.lock();
        state.failure.is_none()
            && state.gone.is_none()
            && !state.is_closing
            && state.bytes <= self.bytes_max / 2
    }

    pub(super) fn health(&self) -> Health {
        let state = self.state.lock();
        if let Some(path) = &state.gone {
            let problem = Problem::Gone(path.clone());
            return Health::Gone { cause: problem.to_string(), cure: problem.cure() };
        }
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
        let state = self.state.lock();
        Stats { queued_bytes: state.bytes, ..state.stats }
    }
}

/// Calls the completions of a job, and returns how many of them panicked.
fn complete(job: Job, is_kept: bool) -> u64 {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let outcome = || if is_kept { Ok(()) } else { Err(Lost) };
    let mut panicked = 0;
    for (index, then) in job.then.into_iter().enumerate() {
        if is_kept && index > 0 {
            pass(FailPoint::BetweenConfirmations);
        }
        panicked += u64::from(catch_unwind(AssertUnwindSafe(|| then(outcome()))).is_err());
    }
    match job.work {
        Work::Mark { is_new, then: Some(then), .. } => {
            let outcome = outcome().map(|()| is_new);
            panicked += u64::from(catch_unwind(AssertUnwindSafe(|| then(outcome))).is_err());
        }
        // The requesting thread may have stopped waiting.
        Work::Prune { pruned, is_more, answer, .. } if is_kept => {
            let _ = answer.try_send(Ok((pruned, is_more)));
        }
        Work::Import { answer, .. } | Work::Remove { answer, .. } if is_kept => {
            let _ = answer.try_send(Ok(()));
        }
        _ => {}
    }
    panicked
}
