//! `lab script` measures the cost of rules in Luau compared with the same rules in Rust. It also measures the cost of a runaway
//! script for other rooms.
//!
//! Processor time is measured for the thread that steps the world, so other programs on the machine hardly affect it. The effect
//! on other rooms is measured in wall-clock time.

mod findings;
mod play;
mod reload;
mod runaway;
mod thousand;

use std::time::Duration;

use nowcast_script::{Fault, Sources};
use nowcast_world::DefinitionError;
use thiserror::Error;

use crate::report::Report;

/// The reason why a measurement failed.
#[derive(Debug, Error)]
pub enum ScriptError {
    /// The rules of the instrument do not load.
    #[error("the rules of {of} do not load: {fault}")]
    Rules {
        /// The world.
        of: &'static str,
        /// The cause.
        fault: Fault,
    },
    /// The declarations of the rules are not valid.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// A world had another result than required. Its figures would not be valid.
    #[error("{of}: {reason}")]
    Wrong {
        /// The name of the world.
        of: &'static str,
        /// The error of the script.
        reason: String,
    },
    /// The thread of a room ended early.
    #[error("a room ended before its time: {0}")]
    Room(String),
}

type Result<T> = std::result::Result<T, ScriptError>;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of steps of each world with a thousand entities.
    pub steps: usize,
    /// Seconds for which rooms step while a runaway script runs. Afterwards the rooms step for the same time without a runaway
    /// script.
    pub room_seconds: u64,
    /// Number of repetitions of each measurement.
    pub rounds: usize,
    /// Number of edits of the running world.
    pub edits: usize,
    /// The first seed of the worlds.
    pub seed: u64,
    /// Number of seeds with which each case of football is played.
    pub seeds: u64,
}

impl Plan {
    /// The full run, which takes about three minutes.
    pub const FULL: Plan = Plan { steps: 3_000, room_seconds: 5, rounds: 3, edits: 200, seed: 1, seeds: 5 };

    /// The quick run, which takes about twenty seconds.
    pub const QUICK: Plan = Plan { steps: 600, room_seconds: 1, rounds: 1, edits: 40, seed: 1, seeds: 1 };
}

/// Runs all measurements.
///
/// # Errors
/// If a world does not load, or has another result than required. The report then has no figure of this world.
pub fn run(plan: &Plan, command: String, progress: &mut dyn FnMut(&str)) -> Result<Report> {
    progress("a thousand entities with ten lines each");
    let thousand = thousand::run(plan)?;
    let runaways = runaway::run(plan, progress)?;
    progress("edits of a running world");
    let reloads = reload::run(plan)?;
    progress("football in virtual time");
    let play = play::run(plan)?;
    Ok(findings::report(plan, command, thousand, runaways, reloads, &play))
}

/// Returns the modules of the football world in the repository.
fn football() -> Sources {
    Sources::from_iter([
        ("world.luau", include_str!("../../../worlds/football/world.luau")),
        ("idle.luau", include_str!("../../../worlds/football/idle.luau")),
        ("moments.luau", include_str!("../../../worlds/football/moments.luau")),
        ("pitch.luau", include_str!("../../../worlds/football/pitch.luau")),
        ("pointer.luau", include_str!("../../../worlds/football/pointer.luau")),
        ("robot.luau", include_str!("../../../worlds/football/robot.luau")),
        ("stadium.luau", include_str!("../../../worlds/football/stadium.luau")),
        ("tests/match.luau", include_str!("../../../worlds/football/tests/match.luau")),
    ])
}

/// Returns the processor time of this thread so far.
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_returns_plausible_figures() {
        let plan = Plan { steps: 20, room_seconds: 1, rounds: 1, edits: 3, seed: 7, seeds: 1 };
        let report = run(&plan, "cargo xtask lab script".into(), &mut |_| {})
            .expect("every world has the required result");
        assert_eq!(report.seed, Some(7));
        assert_eq!(report.sections.len(), 4);
        let rows: Vec<usize> = report
            .sections
            .iter()
            .flat_map(|section| &section.tables)
            .map(|table| table.rows.len())
            .collect();
        assert_eq!(rows, [3, runaway::KINDS.len(), 1, 1]);
    }
}
