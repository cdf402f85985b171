//! Solver effort and drag of bodies that joints hold.

use rapier3d::prelude::*;

use super::{Handles, Physics};
use crate::body::Body;

/// Additional solver sweeps for a body that is joined to another dynamic body. Otherwise a long chain stretches, because a
/// sweep passes a pull on by a few links only.
const SWEEPS: usize = 4;
/// Maximum number of additional solver steps. Steps and sweeps apply to all bodies that are connected by joints or contacts.
const STEPS_MAX: f32 = 36.0;
/// Damping of a jointed body whose kind has none, per second, so that a chain that was moved comes to rest.
const DRAG: f32 = 0.2;

impl Physics {
    /// Adapts solver and drag of a body to its joints; `body` is the declared body of its kind. The result depends only on the
    /// present joints, so a restored world continues like the original.
    pub(crate) fn adapt_to_joints(&mut self, handles: Handles, body: &Body) {
        if !self.get(handles).is_dynamic() {
            return;
        }
        let (mut is_joined, mut ratio_max) = (false, 0.0f32);
        for (a, b, _, _) in self.world.impulse_joints_with(handles.body) {
            is_joined = true;
            // The mass of a new body is known only after a step, that of its collider at once.
            let mass = |handle: RigidBodyHandle| {
                let body = self.world.bodies.get(handle).filter(|body| body.is_dynamic())?;
                body.colliders().first().map(|collider| self.world.colliders[*collider].mass())
            };
            if let (Some(a), Some(b)) = (mass(a), mass(b)) {
                ratio_max = ratio_max.max(a / b).max(b / a);
            }
        }
        // A heavy body stretches a chain of light ones, unless its pull is applied in many small steps.
        let steps = (ratio_max.max(1.0).sqrt() - 1.0).min(STEPS_MAX);
        let drag = |own: f32| if is_joined && own == 0.0 { DRAG } else { own };
        let sweeps = if ratio_max > 0.0 { SWEEPS } else { 0 };
        let found = self.get_mut(handles);
        found.set_additional_solver_iterations(steps as usize);
        found.set_additional_pgs_iterations(sweeps);
        found.set_linear_damping(drag(body.linear_damping));
        found.set_angular_damping(drag(body.angular_damping));
    }
}
