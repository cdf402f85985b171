//! Replays the recorded commands after a moment with the recorded or the current rules.

use std::time::{Duration, Instant};

use nowcast_script::Report;
use nowcast_store::{Moment, Stretch};
use nowcast_world::STEP_HZ;
use nowcast_world::journal::{Entry, Record};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::travelling::{Travel, load_at};
use crate::recorded_world::RecordedWorld;
use crate::studio::describe::{Capture, compare};
use crate::studio::{StudioAnswer, StudioError};
use crate::worlds::CurrentRules;

/// Maximum steps of a replay: five minutes.
const STEPS_MAX: u64 = 18_000;

/// Maximum time of a replay.
const TIME_MAX: Duration = Duration::from_secs(20);

/// Maximum errors and printed lines in an answer.
const ERRORS_MAX: usize = 100;
const LINES_MAX: usize = 200;

/// The rules of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplayRules {
    /// The newest rules of the folder that load.
    Current,
    /// The rules of that time.
    Recorded,
}

/// A requested replay.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayRequest {
    rules: ReplayRules,
    /// The last step.
    until: u64,
}

/// The results of the steps so far.
#[derive(Default)]
struct Outcome {
    errors: Vec<Json>,
    printed: Vec<String>,
}

impl Outcome {
    fn fail(&mut self, tick: u64, file: Option<&str>, line: Option<u32>, message: &str) {
        if self.errors.len() < ERRORS_MAX {
            self.errors.push(json!({ "tick": tick, "file": file, "line": line, "message": message }));
        }
    }

    fn take(&mut self, tick: u64, report: Report) {
        let fault = match report {
            Report::Runs { .. } => return,
            Report::Refused { fault, .. }
            | Report::RolledBack { fault, .. }
            | Report::Failed { fault, .. } => fault,
        };
        self.fail(tick, fault.file.as_deref(), fault.line, &fault.message);
    }
}

impl Travel {
    /// Replays the commands from this moment. Compares the recorded world at the last step with the replayed one.
    ///
    /// Other rules take over by a snapshot, which changes the course of bodies a little. Therefore the recorded rules are then
    /// replayed from a snapshot of the same moment, too. So the differences have only the rules as their cause.
    pub(super) fn replay(&mut self, request: ReplayRequest) -> StudioAnswer {
        let ReplayRequest { rules, until } = request;
        let from = self.world().tick();
        let steps = until.checked_sub(from).filter(|steps| (1..=STEPS_MAX).contains(steps));
        let steps = steps.ok_or_else(|| {
            StudioError::Invalid(format!("'until' must be 1 to {STEPS_MAX} steps after step {from}"))
        })?;
        let history = Duration::from_secs(steps / u64::from(STEP_HZ) + 2);
        let begun = Instant::now();
        let load =
            |tick, history| load_at(&self.rooms, &self.offered, &self.name, Moment::Tick(tick), history);
        let (mut world, is_exact, Stretch { next, through_tick, .. }) = load(from, history)?;
        let mut outcome = Outcome::default();
        let other = match (rules, self.offered.rules()) {
            (ReplayRules::Current, (CurrentRules::Script(sources), _)) => {
                Some(sources).filter(|sources| world.sources() != Some(sources))
            }
            _ => None,
        };
        let has_other_rules = other.is_some();
        if let Some(sources) = other {
            world.reload(sources);
        }
        run(&mut world, next, until.min(through_tick), begun, &mut outcome);
        let reached = world.world().tick();
        let recorded = if has_other_rules {
            let (mut recorded, _, Stretch { next, .. }) = load(from, history)?;
            recorded.snapshot();
            run(&mut recorded, next, reached, Instant::now(), &mut Outcome::default());
            recorded
        } else {
            load(reached, Duration::ZERO)?.0
        };
        let differences = compare(&Capture::of(recorded.world()), &Capture::of(world.world()));
        Ok(json!({
            "from": from,
            "until": request.until,
            "reached": reached,
            "exact": is_exact && differences["total"] == 0,
            "errors": outcome.errors,
            "printed": outcome.printed,
            "differences": differences,
        }))
    }
}

/// Steps a world with the recorded commands up to a step. Collects what the rules report and print.
fn run(world: &mut RecordedWorld, entries: Vec<Entry>, until: u64, begun: Instant, outcome: &mut Outcome) {
    let mut entries = entries.into_iter().peekable();
    while let Some(report) = world.poll_report() {
        outcome.take(world.world().tick(), report);
    }
    while world.world().tick() < until && begun.elapsed() < TIME_MAX {
        let tick = world.world().tick();
        while let Some(entry) = entries.next_if(|entry| entry.tick <= tick) {
            // Other rules lead to other hashes.
            if !matches!(entry.record, Record::Hash(_))
                && let Err(error) = world.take_entries([entry])
            {
                outcome.fail(tick, None, None, &error.to_string());
            }
        }
        world.step();
        while let Some(report) = world.poll_report() {
            outcome.take(tick, report);
        }
        while let Some(line) = world.poll_line() {
            if outcome.printed.len() < LINES_MAX {
                outcome.printed.push(line);
            }
        }
        while world.poll_event().is_some() {}
    }
}
