//! Poses of the last half second, for rules that judge by a player's view.

use std::collections::{BTreeMap, VecDeque};

use nowcast_wire::Wire;

use crate::STEP_HZ;
use crate::entity::Entities;
use crate::id::EntityId;
use crate::limits::{PLACES_REMEMBERED_MAX, REWIND_MS_MAX};
use crate::physics::SPEED_MAX;
use crate::pose::Pose;

/// Number of recorded steps.
pub(crate) const STEPS_REMEMBERED_MAX: u64 = REWIND_MS_MAX as u64 * STEP_HZ as u64 / 1_000 + 1;

/// An entity that moves farther than this in one step, in metres, was teleported.
const JUMP_DISTANCE: f32 = 2.0 * SPEED_MAX / STEP_HZ as f32;

/// The entities that moved in one step, and their poses before this step.
#[derive(Clone, PartialEq, Debug, Wire)]
pub(crate) struct PastStep {
    /// Number of steps taken before this step.
    pub(crate) tick: u64,
    /// Ordered by id.
    pub(crate) before: Vec<(EntityId, Pose)>,
}

/// The recent past. For each step it has only the entities that moved in that step.
#[derive(Default)]
pub(crate) struct Past {
    steps: VecDeque<PastStep>,
    /// Number of recorded poses of all steps.
    places: usize,
    /// The poses of all entities after the last step, as columns.
    ids: Vec<EntityId>,
    poses: Vec<Pose>,
}

impl Past {
    /// Rebuilds the past from saved steps and the present entities.
    pub(crate) fn resume(steps: Vec<PastStep>, entities: &Entities) -> Past {
        Past {
            places: steps.iter().map(|step| step.before.len()).sum(),
            steps: steps.into(),
            ids: entities.ids.clone(),
            poses: entities.poses.clone(),
        }
    }

    /// Oldest first.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &PastStep> {
        self.steps.iter()
    }

    /// Records the entities that moved in the step with this tick. Returns whether a step was dropped early.
    pub(crate) fn remember(&mut self, tick: u64, entities: &Entities) -> bool {
        let before = if self.ids == entities.ids { self.compare(entities) } else { self.match_up(entities) };
        self.places += before.len();
        self.steps.push_back(PastStep { tick, before });
        let mut is_short = false;
        while let Some(oldest) = self.steps.front() {
            let is_old = oldest.tick + STEPS_REMEMBERED_MAX <= tick;
            if !is_old && self.places <= PLACES_REMEMBERED_MAX {
                break;
            }
            is_short |= !is_old;
            self.places -= oldest.before.len();
            self.steps.pop_front();
        }
        is_short
    }

    /// In nearly all steps the entities are the same as after the previous step.
    fn compare(&mut self, entities: &Entities) -> Vec<(EntityId, Pose)> {
        let mut before = Vec::new();
        for ((known, pose), id) in self.poses.iter_mut().zip(&entities.poses).zip(&entities.ids) {
            if *known != *pose {
                before.push((*id, *known));
                *known = *pose;
            }
        }
        before
    }

    fn match_up(&mut self, entities: &Entities) -> Vec<(EntityId, Pose)> {
        let mut before = Vec::new();
        let mut known = self.ids.iter().zip(&self.poses).peekable();
        for (id, pose) in entities.ids.iter().zip(&entities.poses) {
            while known.next_if(|(other, _)| *other < id).is_some() {}
            if let Some((_, was)) = known.next_if(|(other, _)| *other == id)
                && was != pose
            {
                before.push((*id, *was));
            }
        }
        self.ids.clone_from(&entities.ids);
        self.poses.clone_from(&entities.poses);
        before
    }

    /// Returns the entities whose pose `behind_ms` milliseconds before the given step differed from the present pose, with
    /// their poses at that time.
    pub(crate) fn places(&self, tick: u64, behind_ms: u16, now: &Entities) -> BTreeMap<EntityId, Pose> {
        let behind = f32::from(behind_ms.min(REWIND_MS_MAX)) * STEP_HZ as f32 / 1_000.0;
        // The moment lies at `share` between the beginning and the end of this step.
        let whole = libm::ceilf(behind);
        let share = whole - behind;
        let since = tick.saturating_sub(whole as u64);
        let mut places = BTreeMap::new();
        for step in self.steps.iter().rev().take_while(|step| step.tick >= since) {
            for (id, was) in &step.before {
                let Some(row) = now.row(*id) else { continue };
                let after = places.get(id).copied().unwrap_or(now.poses[row]);
                places.insert(*id, if step.tick == since { between(was, &after, share) } else { *was });
            }
        }
        places
    }
}

/// Interpolates between two poses. A teleported entity stays at its earlier pose.
fn between(from: &Pose, to: &Pose, share: f32) -> Pose {
    let way = [0, 1, 2].map(|axis| to.position[axis] - from.position[axis]);
    let squared: f32 = way.iter().map(|part| part * part).sum();
    if share == 0.0 || squared > JUMP_DISTANCE * JUMP_DISTANCE {
        return *from;
    }
    let cosine: f32 = (0..4).map(|part| from.rotation[part] * to.rotation[part]).sum();
    let sign = if cosine < 0.0 { -1.0 } else { 1.0 };
    let rotation =
        [0, 1, 2, 3].map(|part| from.rotation[part] * (1.0 - share) + sign * to.rotation[part] * share);
    let pose = Pose { position: [0, 1, 2].map(|axis| from.position[axis] + way[axis] * share), rotation };
    let length = libm::sqrtf(rotation.iter().map(|part| part * part).sum());
    Pose { rotation: rotation.map(|part| part / length), ..pose }
}
