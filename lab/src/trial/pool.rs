//! Runs several trials at once. Each trial has its own hosts and its own relay, and waits most of the time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::progress::locked;
use super::{Outcome, Progress, Task, TrialError, run};
use crate::link::LinkConfig;
use crate::peers::Peer;

/// A trial to run.
#[derive(Debug, Clone)]
pub struct Job {
    /// The link in each direction.
    pub link: LinkConfig,
    /// The link towards the near end, if it differs.
    pub back: Option<LinkConfig>,
    /// The seed for the loss and delay of packets.
    pub seed: u64,
    /// The measured peer.
    pub peer: Peer,
    /// The task.
    pub task: Task,
    /// The name shown while the job runs.
    pub name: String,
}

impl Job {
    /// Returns the approximate duration in seconds, including the opening and late messages.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.task.duration().as_secs_f64() + 1.5
    }
}

/// Returns the approximate duration of all jobs in seconds, if `at_once` of them run at a time.
#[must_use]
pub fn seconds_of(jobs: impl Iterator<Item = Job>, at_once: usize) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for job in jobs {
        sum += job.seconds();
        count += 1;
    }
    sum / at_once.clamp(1, count.max(1)) as f64
}

/// Runs all jobs, `at_once` of them at a time. The outcomes have the same order as the jobs.
///
/// A failed job has an error at its position. So if one peer fails, the figures of the others are not lost.
pub fn run_all(jobs: &[Job], at_once: usize, progress: &Mutex<Progress>) -> Vec<Result<Outcome, TrialError>> {
    let next = AtomicUsize::new(0);
    let at_once = at_once.clamp(1, jobs.len().max(1));
    let work = || {
        let mut outcomes = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else { return outcomes };
            let part = locked(progress).begin(&job.name, job.seconds(), job.seconds() / at_once as f64);
            let outcome = run(job);
            locked(progress).end(part);
            outcomes.push((index, outcome));
        }
    };
    let mut outcomes = thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no panic inside")).collect::<Vec<_>>()
    });
    outcomes.sort_by_key(|(index, _)| *index);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}
