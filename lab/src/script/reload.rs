//! Measures the time from a saved text to the first step with it.

use std::time::Instant;

use nowcast_script::{Limits, Live, MAIN, Report, Sources};
use nowcast_world::{Command, PlayerId};

use super::{Plan, Result, ScriptError, football, milliseconds};
use crate::report::Samples;

const PLAYERS: u32 = 22;
/// Number of steps between two edits.
const STEPS_BETWEEN: usize = 3;

/// Milliseconds from a saved text to the end of its first step.
pub(super) struct Reloads {
    pub(super) live: Samples,
    /// Number of entities. Every edit saves and restores all of them.
    pub(super) entities: usize,
}

/// Edits football while twenty-two players play.
pub(super) fn run(plan: &Plan) -> Result<Reloads> {
    let rules = |fault| ScriptError::Rules { of: "football", fault };
    let wrong = |reason: String| ScriptError::Wrong { of: "football", reason };
    let mut live = Live::new(football(), plan.seed, Limits::DEFAULT).map_err(rules)?;
    for player in 1..=PLAYERS {
        let joined = live.apply(Command::join(PlayerId(player), format!("player {player}")));
        joined.map_err(|error| wrong(error.to_string()))?;
    }
    let mut reloads = Reloads { live: Samples::new(), entities: 0 };
    for edit in 0..plan.edits {
        for _ in 0..STEPS_BETWEEN {
            live.step();
        }
        let begun = Instant::now();
        let sources = edited(edit);
        live.reload(sources).map_err(rules)?;
        live.step();
        reloads.live.push(milliseconds(begun.elapsed()));
        while live.poll_event().is_some() {}
        while let Some(report) = live.poll_report() {
            if !matches!(report, Report::Runs { .. }) {
                return Err(wrong(format!("edit {edit}: {report:?}")));
            }
        }
    }
    reloads.entities = live.world().entities().len();
    Ok(reloads)
}

/// Returns football with another length of a match, as a typical edit.
fn edited(edit: usize) -> Sources {
    let mut sources = football();
    let text = sources.text(MAIN).unwrap_or_default();
    let changed = text.replace("MATCH_SECONDS = 180", &format!("MATCH_SECONDS = {}", 181 + edit));
    sources.insert(MAIN, changed);
    sources
}
