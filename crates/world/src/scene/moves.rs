//! Starts and advances planned moves of kinematic bodies.

use super::timers::{WAIT_SECONDS_MAX, steps_of};
use super::{Scene, SceneError};
use crate::body::Motion;
use crate::id::EntityId;
use crate::limits::VELOCITY_MAX;
use crate::planned_move::{Easing, PathOptions, PlannedMove, PlannedPath, length_of};
use crate::pose::{Pose, Velocity};

/// Maximum number of places in a path.
pub const PATH_PLACES_MAX: usize = 64;

/// Maximum number of entities that follow a path at the same time.
pub const PATHS_MAX: usize = 1024;

/// Minimum length of a path, in metres.
const PATH_LENGTH_MIN: f32 = 1e-3;

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
        self.end_move(id);
        self.moves.insert(id, PlannedMove { from, to, easing, steps, done: 0 });
        Ok(())
    }

    /// Moves a kinematic body from its position along a path of straight lines through these places. A path that loops leads
    /// back to that position and begins again. This move ends for the same reasons as a planned move.
    ///
    /// # Errors
    /// Fails if the entity has no kinematic body or has a parent, or if a place, the number of places, the path's length, the
    /// time or the speed is out of bounds.
    pub fn follow(
        &mut self,
        id: EntityId,
        places: &[[f32; 3]],
        options: PathOptions,
    ) -> Result<(), SceneError> {
        let PathOptions { seconds, easing, loops, faces } = options;
        let from = self.pose(id).ok_or(SceneError::UnknownEntity(id))?;
        if !self.can_move_by_plan(id) {
            return Err(SceneError::NoPlannedMove(id));
        }
        if places.is_empty() || places.len() > PATH_PLACES_MAX {
            return Err(SceneError::BadNumber("the number of places"));
        }
        let back = loops.then_some(from.position);
        let places: Vec<[f32; 3]> =
            [from.position].into_iter().chain(places.iter().copied()).chain(back).collect();
        if !places.iter().all(|position| Pose { position: *position, ..from }.checked().is_some()) {
            return Err(SceneError::BadNumber("place"));
        }
        if !(seconds > 0.0 && seconds <= WAIT_SECONDS_MAX) {
            return Err(SceneError::BadNumber("seconds"));
        }
        let steps = steps_of(seconds) as u32;
        let length = length_of(&places);
        if length < PATH_LENGTH_MIN {
            return Err(SceneError::BadNumber("the length of the path"));
        }
        if length / (steps as f32 / crate::STEP_HZ as f32) * easing.peak() > VELOCITY_MAX {
            return Err(SceneError::BadNumber("the speed of the move"));
        }
        if self.paths.len() >= PATHS_MAX && !self.paths.contains_key(&id) {
            return Err(SceneError::Full { of: "paths", max: PATHS_MAX });
        }
        self.end_move(id);
        self.paths.insert(id, PlannedPath { places, easing, loops, faces, steps, done: 0 });
        Ok(())
    }

    /// Forgets the planned move or path of an entity.
    pub(crate) fn end_move(&mut self, id: EntityId) {
        self.moves.remove(&id);
        self.paths.remove(&id);
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
        self.advance_paths();
    }

    fn advance_paths(&mut self) {
        let ids: Vec<EntityId> = self.paths.keys().copied().collect();
        for id in ids {
            let is_free = self.can_move_by_plan(id) && !self.holds.contains_key(&id);
            let rotation = self.pose(id).map(|pose| pose.rotation).filter(|_| is_free);
            let (Some(rotation), Some(path)) = (rotation, self.paths.get_mut(&id)) else {
                self.paths.remove(&id);
                continue;
            };
            let is_over = !path.loops && path.done >= path.steps;
            path.done = if path.loops && path.done >= path.steps { 1 } else { path.done + 1 };
            let pose = path.pose(rotation);
            let steered = match is_over {
                true => self.steer(id, Velocity::default()),
                false => self.steer_to(id, pose),
            };
            if is_over || steered.is_err() {
                self.paths.remove(&id);
            }
        }
    }
}
