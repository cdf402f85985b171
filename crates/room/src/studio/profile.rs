//! The times of a room's steps.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::RECORDED_AFTER_READ;
use super::hooks::{HookSums, STEPS_MAX};

/// Number of the slowest steps that are kept.
const SLOWEST_MAX: usize = 16;

/// Time for which a slow step is kept.
const SLOWEST_KEPT: Duration = Duration::from_secs(3_600);

/// The phases of a room's step, in order.
pub(crate) const PHASES: [&str; 5] = ["world", "changes", "store", "replication", "other"];

/// The times of one step, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StepTimes {
    /// The step of the world.
    pub(crate) tick: u64,
    /// The time of each of the [`PHASES`].
    pub(crate) phases: [u32; PHASES.len()],
    /// The time of the rules within the first phase, while the rules are measured.
    pub(crate) rules: Option<u32>,
}

impl StepTimes {
    fn total(&self) -> u32 {
        self.phases.iter().sum()
    }

    fn to_json(self) -> Json {
        let phases: serde_json::Map<_, _> =
            PHASES.iter().zip(self.phases).map(|(name, us)| ((*name).to_owned(), us.into())).collect();
        json!({ "tick": self.tick, "totalUs": self.total(), "phases": phases, "rulesUs": self.rules })
    }
}

/// The newest and the slowest steps of a room.
#[derive(Default)]
pub(crate) struct Profile {
    newest: VecDeque<StepTimes>,
    slowest: Vec<(Instant, StepTimes)>,
    /// The functions of the rules in the newest steps.
    pub(crate) hooks: HookSums,
    read_at: Option<Instant>,
}

impl Profile {
    /// Records that a reader asked for the profile.
    pub(crate) fn note_read(&mut self) {
        self.read_at = Some(Instant::now());
    }

    /// Whether the newest steps are recorded.
    pub(crate) fn is_read(&self) -> bool {
        self.read_at.is_some_and(|at| at.elapsed() < RECORDED_AFTER_READ)
    }

    /// Records a step that ended at `now`.
    pub(crate) fn record(&mut self, now: Instant, step: StepTimes) {
        if self.is_read() {
            if self.newest.len() >= STEPS_MAX {
                self.newest.pop_front();
            }
            self.newest.push_back(step);
        } else if !self.newest.is_empty() {
            self.newest = VecDeque::new();
            self.hooks = HookSums::default();
        }
        self.slowest.retain(|(at, _)| now.duration_since(*at) < SLOWEST_KEPT);
        let is_slow = self.slowest.len() < SLOWEST_MAX
            || self.slowest.last().is_some_and(|(_, slow)| slow.total() < step.total());
        if is_slow {
            let at = self.slowest.partition_point(|(_, slow)| slow.total() >= step.total());
            self.slowest.insert(at, (now, step));
            self.slowest.truncate(SLOWEST_MAX);
        }
    }

    /// Returns the newest steps, and the slowest steps with the slowest first.
    pub(crate) fn to_json(&self, steps: usize) -> (Vec<Json>, Vec<Json>) {
        let skipped = self.newest.len().saturating_sub(steps);
        let newest = self.newest.iter().skip(skipped).map(|step| step.to_json()).collect();
        (newest, self.slowest.iter().map(|(_, step)| step.to_json()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(tick: u64, us: u32) -> StepTimes {
        StepTimes { tick, phases: [us, 0, 0, 0, 0], rules: None }
    }

    #[test]
    fn the_slowest_steps_are_kept_in_order_for_an_hour() {
        let mut profile = Profile::default();
        let began = Instant::now();
        for tick in 0..100 {
            profile.record(began, step(tick, (tick as u32 * 37) % 101));
        }
        let (newest, slowest) = profile.to_json(10);
        assert!(newest.is_empty(), "nobody reads");
        let totals: Vec<_> = slowest.iter().map(|step| step["totalUs"].as_u64().unwrap()).collect();
        assert_eq!(totals.len(), SLOWEST_MAX);
        assert!(totals.is_sorted_by(|a, b| a >= b), "{totals:?}");
        profile.record(began + SLOWEST_KEPT, step(100, 1));
        assert_eq!(profile.to_json(10).1.len(), 1, "older steps are forgotten");
    }

    #[test]
    fn the_newest_steps_are_recorded_while_they_are_read() {
        let mut profile = Profile::default();
        profile.note_read();
        for tick in 0..STEPS_MAX as u64 + 3 {
            profile.record(Instant::now(), step(tick, 5));
        }
        let (newest, _) = profile.to_json(2);
        assert_eq!(newest.iter().map(|step| step["tick"].as_u64().unwrap()).collect::<Vec<_>>(), [601, 602]);
        assert_eq!(profile.newest.len(), STEPS_MAX);
    }
}
