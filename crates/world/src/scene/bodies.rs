//! Poses, velocities and forces.

use rapier3d::prelude::Vector;

use super::{Scene, SceneError};
use crate::body::Motion;
use crate::id::EntityId;
use crate::input::{Input, quantise_yaw};
use crate::limits::VELOCITY_MAX;
use crate::physics::Handles;
use crate::pose::{FreeMotion, Pose, Velocity, rapier_pose};

impl Scene {
    /// Returns the pose of an entity, if it exists.
    pub fn pose(&self, id: EntityId) -> Option<Pose> {
        Some(self.entities.poses[self.entities.row(id)?])
    }

    /// Teleports an entity. It keeps its velocity; clients show a jump instead of a path. Attached entities keep their
    /// offset to the new place.
    ///
    /// # Errors
    /// Fails if the entity is unknown, if a number of the pose is not finite or beyond the bounds of worlds, or if too many
    /// bodies overlap there.
    pub fn set_pose(&mut self, id: EntityId, pose: Pose) -> Result<(), SceneError> {
        let row = self.row(id)?;
        let pose = pose.checked().ok_or(SceneError::BadNumber("pose"))?;
        self.check_teleport(row, &pose)?;
        self.end_move(id);
        self.jumps.put(id, self.tick, self.entities.poses[row].position, pose.position);
        self.put(row, pose);
        self.attach_at_current_pose(row);
        Ok(())
    }

    /// Returns the velocity of an entity, if it exists.
    pub fn velocity(&self, id: EntityId) -> Option<Velocity> {
        Some(self.entities.velocities[self.entities.row(id)?])
    }

    /// Sets the velocity of a dynamic or kinematic body.
    ///
    /// # Errors
    /// Fails if the entity is unknown, if its body does not move, or if a number is not finite or too large.
    pub fn set_velocity(&mut self, id: EntityId, velocity: Velocity) -> Result<(), SceneError> {
        self.steer(id, velocity)?;
        self.end_move(id);
        Ok(())
    }

    /// Throws a walker: it has this velocity and leaves the ground, as in a jump. [`Scene::set_velocity`] leaves a walker
    /// that stands on the ground there.
    ///
    /// # Errors
    /// Fails if the entity is unknown or no walker, or if a number is not finite or too large.
    pub fn launch(&mut self, id: EntityId, velocity: [f32; 3]) -> Result<(), SceneError> {
        self.row(id)?;
        let walker = self.walkers.get_mut(&id).ok_or(SceneError::NoBody(id))?;
        let spin = [0.0; 3];
        checked(Velocity { linear: velocity, angular: spin })?;
        walker.leave_ground();
        self.set_velocity(id, Velocity { linear: velocity, angular: spin })
    }

    /// Sets a velocity without ending a planned move.
    pub(super) fn steer(&mut self, id: EntityId, velocity: Velocity) -> Result<(), SceneError> {
        let handles = self.moving(id)?;
        let velocity = checked(velocity)?;
        let body = self.physics.get_mut(handles);
        body.set_linvel(Vector::from_array(velocity.linear), true);
        body.set_angvel(Vector::from_array(velocity.angular), true);
        let row = self.row(id)?;
        self.entities.velocities[row] = velocity;
        Ok(())
    }

    /// Sets the velocity of a kinematic body so that it is at `pose` after the next step.
    ///
    /// # Errors
    /// Fails if the entity is unknown, if its body does not move, or if the pose or the velocity has a number that is not finite
    /// or too large.
    pub fn move_to(&mut self, id: EntityId, pose: Pose) -> Result<(), SceneError> {
        self.steer_to(id, pose)?;
        self.end_move(id);
        Ok(())
    }

    /// Sets the velocity that brings a body to `pose`, without ending a planned move.
    pub(super) fn steer_to(&mut self, id: EntityId, pose: Pose) -> Result<(), SceneError> {
        let from = self.pose(id).ok_or(SceneError::UnknownEntity(id))?;
        let pose = pose.checked().ok_or(SceneError::BadNumber("pose"))?;
        let per_second = crate::STEP_HZ as f32;
        let linear = [0, 1, 2].map(|axis| (pose.position[axis] - from.position[axis]) * per_second);
        let turn = rapier_pose(&pose).rotation * rapier_pose(&from).rotation.inverse();
        let angular = (turn.to_scaled_axis() * per_second).to_array();
        self.steer(id, Velocity { linear, angular })
    }

    /// Applies a force (newtons) and a torque (newton metres) to a dynamic body for one step.
    ///
    /// # Errors
    /// Fails if the entity is unknown, if its body is not dynamic, or if a number is not finite or too large.
    pub fn push(&mut self, id: EntityId, force: [f32; 3], torque: [f32; 3]) -> Result<(), SceneError> {
        let handles = self.pushable(id)?;
        let are_finite = force.iter().chain(&torque).all(|v| v.is_finite() && v.abs() <= 1e9);
        if !are_finite {
            return Err(SceneError::BadNumber("force"));
        }
        self.physics.add_force(handles, Vector::from_array(force), Vector::from_array(torque));
        Ok(())
    }

    /// Applies an impulse to a dynamic body, in newton seconds, at a place in the world (`None` for its centre of
    /// mass).
    ///
    /// # Errors
    /// Fails if the entity is unknown, if its body is not dynamic, or if a number is not finite or too large.
    pub fn apply_impulse(
        &mut self,
        id: EntityId,
        impulse: [f32; 3],
        at: Option<[f32; 3]>,
    ) -> Result<(), SceneError> {
        let handles = self.pushable(id)?;
        let are_finite = impulse.iter().chain(at.iter().flatten()).all(|v| v.is_finite() && v.abs() <= 1e9);
        if !are_finite {
            return Err(SceneError::BadNumber("impulse"));
        }
        let impulse = Vector::from_array(impulse);
        let body = self.physics.get_mut(handles);
        match at {
            Some(at) => body.apply_impulse_at_point(impulse, Vector::from_array(at), true),
            None => body.apply_impulse(impulse, true),
        }
        self.note_velocity(id, handles)
    }

    /// Applies an angular impulse to a dynamic body, in newton metre seconds.
    ///
    /// # Errors
    /// Fails if the entity is unknown, if its body is not dynamic, or if a number is not finite or too large.
    pub fn apply_torque_impulse(&mut self, id: EntityId, impulse: [f32; 3]) -> Result<(), SceneError> {
        let handles = self.pushable(id)?;
        if !impulse.iter().all(|v| v.is_finite() && v.abs() <= 1e9) {
            return Err(SceneError::BadNumber("impulse"));
        }
        self.physics.get_mut(handles).apply_torque_impulse(Vector::from_array(impulse), true);
        self.note_velocity(id, handles)
    }

    /// Sets the factor of the world's gravity on a body; 0 lets it float.
    ///
    /// # Errors
    /// Fails if the entity is unknown, if its body does not move, or if the number is not finite or too large.
    pub fn set_gravity_scale(&mut self, id: EntityId, scale: f32) -> Result<(), SceneError> {
        let handles = self.moving(id)?;
        if !scale.is_finite() || scale.abs() > 100.0 {
            return Err(SceneError::BadNumber("gravity scale"));
        }
        let row = self.row(id)?;
        if self.entities.gravity_scales[row] != scale {
            self.entities.gravity_scales[row] = scale;
            self.physics.get_mut(handles).set_gravity_scale(scale, true);
        }
        Ok(())
    }

    /// Returns the mass of a body in kilograms; `None` without a dynamic body. The mass is 0 before the first step of the
    /// body.
    pub fn mass(&self, id: EntityId) -> Option<f32> {
        let handles = self.entities.handles[self.entities.row(id)?]?;
        Some(self.physics.get(handles).mass()).filter(|_| self.physics.get(handles).is_dynamic())
    }

    /// Returns the free motion of a dynamic body that is awake; `None` for walkers and for everything else.
    pub(crate) fn free_motion(&self, row: usize) -> Option<FreeMotion> {
        let Velocity { linear, angular } = self.entities.velocities[row];
        if linear == [0.0; 3] && angular == [0.0; 3] {
            return None;
        }
        let body = self.physics.get(self.entities.handles[row]?);
        let is_free = body.is_dynamic() && !body.is_sleeping() && self.entities.parents[row].is_none();
        if !is_free || self.walkers.contains_key(&self.entities.ids[row]) {
            return None;
        }
        let mass = &body.mass_properties().local_mprops;
        // Bodies whose principal axes are not their own axes x, y and z are sent as if all moments were equal.
        let has_own_axes = mass.principal_inertia_local_frame.is_near_identity();
        let inertia = mass.principal_inertia().to_array();
        let is_sound = has_own_axes && inertia.iter().all(|moment| moment.is_finite() && *moment > 0.0);
        let [x, y, z] = if is_sound { inertia } else { [1.0; 3] };
        Some(FreeMotion { velocity: linear, spin: angular, inertia: [y / x, z / x] })
    }

    /// Whether a body rests and costs nothing; also true for entities without a body.
    pub fn is_asleep(&self, id: EntityId) -> Option<bool> {
        let handles = self.entities.handles[self.entities.row(id)?];
        Some(handles.is_none_or(|handles| self.physics.get(handles).is_sleeping()))
    }

    /// Sets the input of a walker from now on. A player's input automatically sets the input of its avatar.
    ///
    /// # Errors
    /// Fails if the entity is unknown, if it is not a walker, or if the input is outside its bounds.
    pub fn set_input(&mut self, id: EntityId, input: Input) -> Result<(), SceneError> {
        self.row(id)?;
        let input = input.validate().map_err(|_| SceneError::BadNumber("input"))?;
        let walker = self.walkers.get_mut(&id).ok_or(SceneError::NoBody(id))?;
        walker.input = input;
        Ok(())
    }

    /// Returns the input of a walker; `None` for every other entity.
    pub fn input(&self, id: EntityId) -> Option<Input> {
        self.walkers.get(&id).map(|walker| walker.input)
    }

    /// Whether a walker stood on ground in its last step; `None` for every other entity.
    pub fn is_on_ground(&self, id: EntityId) -> Option<bool> {
        self.walkers.get(&id).map(|walker| walker.steps_since_ground == 0)
    }

    /// Sets the pose of a row's entity, in the pose column and in physics.
    pub(super) fn put(&mut self, row: usize, pose: Pose) {
        let id = self.entities.ids[row];
        let Some(handles) = self.entities.handles[row] else {
            self.entities.poses[row] = pose;
            return;
        };
        let mut placed = rapier_pose(&pose);
        if let Some(walker) = self.walkers.get_mut(&id) {
            // A walker never tips over: it keeps only the yaw of a rotation.
            let ahead = placed.rotation * -Vector::Z;
            walker.input.yaw = quantise_yaw(libm::atan2f(-ahead.x, -ahead.z));
            walker.grounds.clear();
            walker.ground_velocities.clear();
            placed.rotation = rapier3d::prelude::Rotation::IDENTITY;
        }
        self.physics.get_mut(handles).set_position(placed, true);
        self.physics.note_placed(handles);
        self.entities.poses[row] = pose;
    }

    fn note_velocity(&mut self, id: EntityId, handles: Handles) -> Result<(), SceneError> {
        let row = self.row(id)?;
        let body = self.physics.get(handles);
        self.entities.velocities[row] =
            Velocity { linear: body.linvel().to_array(), angular: body.angvel().to_array() };
        Ok(())
    }

    fn moving(&self, id: EntityId) -> Result<Handles, SceneError> {
        let handles = self.entities.handles[self.row(id)?].ok_or(SceneError::NoBody(id))?;
        let is_moving = self.physics.get(handles).is_dynamic_or_kinematic();
        is_moving.then_some(handles).ok_or(SceneError::NoBody(id))
    }

    fn pushable(&self, id: EntityId) -> Result<Handles, SceneError> {
        let row = self.row(id)?;
        let motion = self.kind_of(self.entities.kinds[row]).body.as_ref().map(|body| body.motion);
        let handles = self.entities.handles[row].filter(|_| motion == Some(Motion::Dynamic));
        handles.ok_or(SceneError::NoBody(id))
    }
}

pub(super) fn checked(velocity: Velocity) -> Result<Velocity, SceneError> {
    let is_velocity = |v: &f32| v.is_finite() && v.abs() <= VELOCITY_MAX;
    let is_good = velocity.linear.iter().chain(&velocity.angular).all(is_velocity);
    is_good.then_some(velocity).ok_or(SceneError::BadNumber("velocity"))
}
