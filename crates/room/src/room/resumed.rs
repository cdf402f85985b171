//! A stored world that is resumed: with the rules that are stored with it, with newer rules, or by a program.

use nowcast_script::{Limits, Live, ResumeError, Sources};
use nowcast_store::{ReturnError, SavedWorld};
use nowcast_world::journal::ReplayError;
use nowcast_world::{RestoreError, World};
use tracing::warn;

use crate::persistence::{HostState, origin};
use crate::recorded_world::Engine;
use crate::rooms::Rooms;
use crate::worlds::{CurrentRules, MakeWorld, Offered};

/// A world that is resumed.
pub(super) struct Resumed {
    pub(super) engine: Engine,
    pub(super) seen: u64,
    /// Whether the resumed world equals the stored world to the last bit.
    pub(super) is_exact: bool,
    /// Rules that are newer than those of the stored world.
    pub(super) newer: Option<Sources>,
}

impl Resumed {
    fn map_seen(self, seen: u64) -> Self {
        Self { seen, ..self }
    }
}

/// Resumes a stored world; `None` if it belongs to other rules.
pub(super) fn resume(
    saved: &SavedWorld,
    state: &HostState,
    offered: &Offered,
    rooms: &Rooms,
) -> Result<Option<Resumed>, String> {
    let is_same = state.offered == offered.name;
    Ok(match (offered.rules(), &state.sources) {
        ((CurrentRules::Script(newest), seen), Some(sources)) if is_same => {
            Some(resume_script(saved, sources, newest)?.map_seen(seen))
        }
        ((CurrentRules::Program(make), seen), None) if is_same => {
            resume_program(saved, &make, rooms).map(|resumed| resumed.map_seen(seen))
        }
        _ => None,
    })
}

/// Resumes a world of scripts with the rules that are stored with it. Reports faults.
pub(super) fn resume_script(
    saved: &SavedWorld,
    sources: &Sources,
    newest: Sources,
) -> Result<Resumed, String> {
    let replay = |sources: &Sources, is_checked: bool| {
        Live::resume(sources.clone(), Limits::DEFAULT, |definition, rules| {
            let restore =
                |snapshot: &nowcast_store::Snapshot| World::restore(definition, rules, &snapshot.world);
            if is_checked { saved.replay(restore) } else { saved.replay_unchecked(restore) }
        })
    };
    let resumed = |live: Live, is_exact, newer| Resumed {
        engine: Engine::Script(Box::new(live)),
        seen: 0,
        is_exact,
        newer,
    };
    let newer = (newest != *sources).then(|| newest.clone());
    match replay(sources, true) {
        Ok(live) => Ok(resumed(live, true, newer)),
        Err(ResumeError::World(error)) if is_divergence(&error) => {
            warn!(
                room = %saved.name,
                %error,
                "the stored world continues with differences: its rules keep state in variables, which a new process loses \
                 (`nowcast check` names them), or another release recorded it"
            );
            let live = replay(sources, false).map_err(|error| error.to_string())?;
            Ok(resumed(live, false, newer))
        }
        Err(ResumeError::World(error)) => Err(error.to_string()),
        // This release refuses rules that an older release accepted.
        Err(ResumeError::Rules(fault)) => {
            warn!(room = %saved.name, %fault, "the former rules of the world no longer load: it continues with the present rules");
            let mut live =
                replay(&newest, false).map_err(|error| format!("{fault}; with the rules of now: {error}"))?;
            live.upgrade_from_unknown();
            Ok(resumed(live, false, None))
        }
    }
}

/// Resumes a program's world, if the program still creates the same world.
pub(super) fn resume_program(saved: &SavedWorld, make: &MakeWorld, rooms: &Rooms) -> Option<Resumed> {
    let config = &rooms.config;
    let made = make(config.seed, config.players_max);
    let of_now = origin(&made, None, config.seed);
    if saved.snapshot.origin != of_now {
        return None;
    }
    match saved.replay(|snapshot| made.resume_from(&snapshot.world)) {
        Ok(world) => {
            let engine = Engine::Program(Box::new(world));
            Some(Resumed { engine, seen: 0, is_exact: true, newer: None })
        }
        Err(error) => {
            warn!(room = %saved.name, %error, "the program does not continue the stored world");
            None
        }
    }
}

fn is_divergence(error: &ReturnError<RestoreError>) -> bool {
    matches!(error, ReturnError::Replay(ReplayError::Diverged { .. } | ReplayError::Refused { .. }))
}
