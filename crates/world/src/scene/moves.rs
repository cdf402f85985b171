//! Starts and advances planned moves of kinematic bodies.

use super::telling::{WAIT_SECONDS_MAX, steps_of};
use super::{Scene, SceneError};
use crate::body::Motion;
use crate::id::EntityId;
use crate::limits::VELOCITY_MAX;
use crate::planned_move::{Easing, PlannedMove};
use crate::pose::{Pose, Velocity};

impl Scene {
    /// Moves a kinematic body from its pose to another within this many seconds, and stops it there. Setting its pose or its
    /// velocity, [`move_to`](Self::move_to), a parent, an owner, or another planned move ends the move.
    ///
    /// # Errors
    /// Fails if the entity has no kinematic body or has a parent, or if the pose, the time, or the speed is out of bounds.
    pub fn start_move(
        &mut self,
        id: EntityId,
        to: Pose,
        seconds: f64,
        easing: Easing,
    ) -> Result<(), SceneError> {
        let from = self.pose(id).ok_or(SceneError::UnknownEntity(id))?;
        if !self.can_move_by_plan(id) {
            return Err(SceneError::NoPlannedMove(id));
        }
        let to = to.checked().ok_or(SceneError::BadNumber("pose"))?;
        if !(seconds > 0.0 && seconds <= WAIT_SECONDS_MAX) {
            return Err(SceneError::BadNumber("seconds"));
        }
        let steps = steps_of(seconds) as u32;
        let squared: f32 =
            [0, 1, 2].map(|axis| to.position[axis] - from.position[axis]).map(|way| way * way).iter().sum();
        let seconds = steps as f32 / crate::STEP_HZ as f32;
        if libm::sqrtf(squared) / seconds * easing.peak() > VELOCITY_MAX {
            return Err(SceneError::BadNumber("the speed of the move"));
        }
        self.moves.insert(id, PlannedMove { from, to, easing, steps, done: 0 });
        Ok(())
    }

    /// Whether an entity has a kinematic body and no parent.
    pub(crate) fn can_move_by_plan(&self, id: EntityId) -> bool {
        let Some(row) = self.entities.row(id) else { return false };
        let body = self.kind_of(self.entities.kinds[row]).body.as_ref();
        body.is_some_and(|body| body.motion == Motion::Kinematic) && self.entities.parents[row].is_none()
    }

    /// In each step, sets the velocities that bring bodies along their planned moves.
    pub(crate) fn advance_moves(&mut self) {
        let ids: Vec<EntityId> = self.moves.keys().copied().collect();
        for id in ids {
            let is_free = self.can_move_by_plan(id) && !self.holds.contains_key(&id);
            let Some(plan) = self.moves.get_mut(&id).filter(|_| is_free) else {
                self.moves.remove(&id);
                continue;
            };
            let is_over = plan.done >= plan.steps;
            plan.done += 1;
            let pose = plan.pose();
            let steered = match is_over {
                true => self.steer(id, Velocity::default()),
                false => self.steer_to(id, pose),
            };
            if is_over || steered.is_err() {
                self.moves.remove(&id);
            }
        }
    }
}
