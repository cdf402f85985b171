//! The solids around a walker, if the step of the specification (`spec/MOVEMENT.md`, section 6) is to replace physics.
//!
//! If such a step is known before the physics step, physics leaves out the walker's contacts with bodies that are not dynamic,
//! because it would solve them in vain.

use rapier3d::parry::bounding_volume::BoundingVolume;
use rapier3d::parry::query;
use rapier3d::prelude::*;

use super::{Handles, PLANNED_TAG, Physics, REPORTER_TAG, hooks, id_of, passes_each_other, role_of};
use crate::body::BodyRole;
use crate::grounds::push_solids;
use crate::id::EntityId;
use crate::solid::{Solid, SolidMotion};

/// A collider near a walker.
struct Met<'a> {
    id: EntityId,
    collider: &'a Collider,
    pose: &'a Pose,
    motion: Option<SolidMotion>,
}

impl Physics {
    /// Returns the solids within `reach` (two corners) of an upright body, ordered by id, and the acceleration of its
    /// fall, in metres a second squared. Returns `None` if only physics can move the body: if dynamic bodies or a surface
    /// with too many triangles are near, or if forces act that clients do not know.
    ///
    /// The result depends only on the present bodies, not on their history. The world's spatial index depends on the
    /// history, so it only selects candidates.
    pub(crate) fn predictable_solids(
        &self,
        handles: Handles,
        reach: [[f32; 3]; 2],
    ) -> Option<(f32, Vec<Solid>)> {
        let is_free = self.falls_freely(handles)
            && !self.pushed_in_step.contains(&handles.body)
            && !self.touches_dynamic(handles);
        if !is_free {
            return None;
        }
        let own = self.collider(handles);
        let reach = aabb(reach);
        let mut met = Vec::new();
        for (_, collider) in self.world.intersect_aabb_conservative(reach, QueryFilter::default()) {
            if !may_meet(own, collider) || !collider.compute_aabb().intersects(&reach) {
                continue;
            }
            let parent = collider.parent().and_then(|parent| self.world.bodies.get(parent));
            if parent.is_some_and(RigidBody::is_dynamic) {
                return None;
            }
            let moving = parent.filter(|body| body.is_kinematic());
            // The collider of a body that moved is updated only in the next step.
            let pose = moving.map_or(collider.position(), RigidBody::position);
            let motion = moving.and_then(motion_of);
            met.push(Met { id: id_of(collider.user_data), collider, pose, motion });
        }
        self.solids_of(met, handles, &reach)
    }

    /// Returns the solids of [`Physics::predictable_solids`] before the physics step, if the body's step needs no physics
    /// contacts. That is the case if all bodies within `reach` are fixed, and if no body involved reports contacts.
    pub(crate) fn fixed_solids(&self, handles: Handles, reach: [[f32; 3]; 2]) -> Option<(f32, Vec<Solid>)> {
        let own = self.collider(handles);
        let is_free = own.user_data & REPORTER_TAG == 0
            && self.falls_freely(handles)
            && !self.pushed.contains(&handles.body);
        if !is_free {
            return None;
        }
        let reach = aabb(reach);
        let mut met = Vec::new();
        for (collider, body) in self.present(&reach) {
            if !may_meet(own, collider) {
                continue;
            }
            if !body.is_fixed() || collider.user_data & REPORTER_TAG != 0 {
                return None;
            }
            met.push(Met { id: id_of(collider.user_data), collider, pose: body.position(), motion: None });
        }
        self.solids_of(met, handles, &reach)
    }

    /// Sets whether the next step of a body is known before physics. Physics then ignores its contacts with bodies that are
    /// not dynamic.
    pub(crate) fn plan(&mut self, handles: Handles, is_planned: bool) {
        let tag = self.collider(handles).user_data;
        if (tag & PLANNED_TAG != 0) == is_planned {
            return;
        }
        let collider = &mut self.world.colliders[handles.collider];
        collider.user_data = tag ^ PLANNED_TAG;
        collider.set_active_hooks(hooks(collider.user_data));
    }

    /// Whether two bodies touch whose contacts physics ignores, because the step of one of them was planned.
    pub(super) fn touches_unsolved(&self, pair: &ContactPair) -> bool {
        let [Some(a), Some(b)] =
            [pair.collider1, pair.collider2].map(|handle| self.world.colliders.get(handle))
        else {
            return false;
        };
        let colliders = [a, b];
        if !is_unsolved(&self.world.bodies, colliders)
            || passes_each_other(colliders)
            || !a.collision_groups().test(b.collision_groups())
        {
            return false;
        }
        let pose = |collider: &Collider| {
            let parent = collider.parent().and_then(|parent| self.world.bodies.get(parent));
            parent.map_or(*collider.position(), |body| *body.position())
        };
        let nearest = self.world.integration_parameters.prediction_distance();
        query::contact(&pose(a), a.shape(), &pose(b), b.shape(), nearest).is_ok_and(|met| met.is_some())
    }

    /// Whether only vertical gravity and the contacts with solids change the velocity of a body.
    fn falls_freely(&self, handles: Handles) -> bool {
        let gravity = self.world.gravity;
        gravity.x == 0.0
            && gravity.z == 0.0
            && self.get(handles).linear_damping() == 0.0
            && self.world.impulse_joints_with(handles.body).next().is_none()
    }

    /// Whether a body exchanged forces with a dynamic body in the last step, even if that body is now out of reach.
    fn touches_dynamic(&self, handles: Handles) -> bool {
        self.world.narrow_phase.contact_pairs_with(handles.collider).any(|pair| {
            let other = if pair.collider1 == handles.collider { pair.collider2 } else { pair.collider1 };
            let parent = self.world.colliders[other].parent();
            let other = parent.and_then(|parent| self.world.bodies.get(parent));
            other.is_some_and(RigidBody::is_dynamic) && pair.has_any_active_contact()
        })
    }

    fn solids_of(&self, mut met: Vec<Met<'_>>, handles: Handles, reach: &Aabb) -> Option<(f32, Vec<Solid>)> {
        met.sort_unstable_by_key(|met| met.id);
        let mut solids = Vec::with_capacity(met.len());
        for Met { id, collider, pose, motion } in met {
            let hulls = self.hulls.get(&id).map_or(&[][..], Vec::as_slice);
            let before = solids.len();
            push_solids(collider.shared_shape(), hulls, pose, Some(reach), &mut solids)?;
            let role = role_of(collider.user_data);
            for solid in &mut solids[before..] {
                (solid.motion, solid.role) = (motion, role);
            }
        }
        Some((-self.world.gravity.y * self.get(handles).gravity_scale(), solids))
    }
}

/// Whether physics ignores the contacts of a pair, because the step of one body was planned and the other one is not dynamic.
pub(super) fn is_unsolved(bodies: &RigidBodySet, [a, b]: [&Collider; 2]) -> bool {
    let is_dynamic = |collider: &Collider| {
        collider.parent().is_some_and(|body| bodies.get(body).is_some_and(RigidBody::is_dynamic))
    };
    let is_planned = |collider: &Collider| collider.user_data & PLANNED_TAG != 0;
    is_planned(a) && !is_dynamic(b) || is_planned(b) && !is_dynamic(a)
}

/// Whether a collider can stop or carry a walker.
fn may_meet(own: &Collider, other: &Collider) -> bool {
    id_of(other.user_data) != id_of(own.user_data)
        && stops_or_carries(other)
        && !passes_each_other([own, other])
        && own.collision_groups().test(other.collision_groups())
}

/// Whether the step of a walker depends on a body: every sensor except for water is without effect.
fn stops_or_carries(collider: &Collider) -> bool {
    !collider.is_sensor() || role_of(collider.user_data) == BodyRole::Water
}

fn aabb([low, high]: [[f32; 3]; 2]) -> Aabb {
    Aabb::new(Vector::from_array(low), Vector::from_array(high))
}

/// The motion of a kinematic body in the last step; `None` if the body stood still.
fn motion_of(body: &RigidBody) -> Option<SolidMotion> {
    let (linear, angular) = (body.linvel(), body.angvel());
    let pivot = body.translation();
    let moves = linear != Vector::ZERO || angular != Vector::ZERO;
    moves.then(|| SolidMotion {
        pivot: pivot.to_array(),
        linear: body.velocity_at_point(pivot).to_array(),
        angular: angular.to_array(),
    })
}
