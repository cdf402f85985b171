//! Which entities the rules put elsewhere a short time ago, so that clients show no path between the two places.
//!
//! Clients need this only for a moment, so it belongs to no snapshot.

use std::collections::BTreeMap;

use super::Scene;
use crate::entity::Parent;
use crate::id::EntityId;

/// Steps for which [`Scene::jump`] reports a jump. A client receives at least one row of this time.
const JUMP_STEPS: u64 = 60;

/// Steps for which the number of a jump is known, so that the next jump has another one. A client that received no row between
/// two jumps tells them apart only by their numbers.
const NUMBER_STEPS: u64 = 600;

/// A change of position is a jump if it differs by more than this from that of the step before, in metres. So an entity whose
/// rules set its position in every step moves, whatever its speed.
const JUMP_M: f32 = 0.25;

/// The number of a jump has three bits.
const NUMBER_MAX: u8 = 7;

/// The positions that the rules have set in the last steps.
#[derive(Debug, Default)]
pub(crate) struct Jumps {
    recent: BTreeMap<EntityId, Put>,
}

/// The newest step in which the rules set the position of an entity.
#[derive(Clone, Copy, Debug)]
struct Put {
    tick: u64,
    /// The position at the beginning of that step.
    from: [f32; 3],
    /// The change in the step before, if the rules had set the position then, too.
    before: [f32; 3],
    change: [f32; 3],
    jumped_tick: Option<u64>,
    number: u8,
}

impl Jumps {
    pub(super) fn put(&mut self, id: EntityId, tick: u64, from: [f32; 3], to: [f32; 3]) {
        let known = self.recent.get(&id).copied();
        let mut put = match known {
            Some(known) if known.tick == tick => known,
            Some(known) => {
                let before = if known.tick + 1 == tick { known.change } else { [0.0; 3] };
                Put { tick, from, before, ..known }
            }
            None => Put { tick, from, before: [0.0; 3], change: [0.0; 3], jumped_tick: None, number: 0 },
        };
        put.change = [0, 1, 2].map(|axis| to[axis] - put.from[axis]);
        let other = [0, 1, 2].map(|axis| put.change[axis] - put.before[axis]);
        let is_jump = other.iter().map(|part| part * part).sum::<f32>() > JUMP_M * JUMP_M;
        if is_jump && put.jumped_tick != Some(tick) {
            (put.jumped_tick, put.number) = (Some(tick), put.number % NUMBER_MAX + 1);
        }
        self.recent.insert(id, put);
    }

    /// Forgets what is too long ago.
    pub(crate) fn sweep(&mut self, tick: u64) {
        self.recent.retain(|_, put| tick < put.jumped_tick.unwrap_or(0).max(put.tick) + NUMBER_STEPS);
    }

    fn number(&self, id: EntityId, tick: u64) -> u8 {
        let jumped = |put: &&Put| put.jumped_tick.is_some_and(|jumped| tick < jumped + JUMP_STEPS);
        self.recent.get(&id).filter(jumped).map_or(0, |put| put.number)
    }
}

impl Scene {
    /// The number of an entity's newest jump, 1 to 7; 0 if neither the entity nor its parents jumped recently.
    pub fn jump(&self, id: EntityId) -> u8 {
        if self.jumps.recent.is_empty() {
            return 0;
        }
        let mut above = Some(id);
        while let Some(id) = above {
            let number = self.jumps.number(id, self.tick);
            if number > 0 {
                return number;
            }
            above =
                self.entities.row(id).and_then(|row| self.entities.parents[row]).map(|Parent { id, .. }| id);
        }
        0
    }
}
