//! Measures the speed of `nowcast test`.

use std::time::{Duration, Instant};

use nowcast_script::{Limits, Scenario};
use nowcast_world::STEP_HZ;

use super::{Plan, Result, ScriptError, football};

/// The result of all cases of football's tests, with every seed.
pub(super) struct Play {
    pub(super) cases: usize,
    pub(super) steps: u64,
    /// Wall-clock time, including the loading of the world for every case.
    pub(super) took: Duration,
}

impl Play {
    /// Returns the speed as a multiple of real time.
    pub(super) fn speed(&self) -> f64 {
        self.steps as f64 / f64::from(STEP_HZ) / self.took.as_secs_f64()
    }
}

pub(super) fn run(plan: &Plan) -> Result<Play> {
    let rules = |fault| ScriptError::Rules { of: "football", fault };
    let begun = Instant::now();
    let scenario = Scenario::new(football(), "tests/match.luau", Limits::DEFAULT).map_err(rules)?;
    let mut play = Play { cases: 0, steps: 0, took: Duration::ZERO };
    for case in 0..scenario.cases().len() {
        for seed in plan.seed..plan.seed.saturating_add(plan.seeds) {
            let outcome = scenario.run(case, seed);
            if let Some(fault) = outcome.failure {
                return Err(ScriptError::Rules { of: "football", fault });
            }
            play.cases += 1;
            play.steps += outcome.steps;
        }
    }
    play.took = begun.elapsed();
    Ok(play)
}
