//! The one place that knows the physics engine's parts: bodies in, poses out.
//!
//! Avatars are dynamic capsules that cannot tip over. They are steered by their velocity ([`crate::avatar`]), so pushing,
//! being pushed, standing on a stack and knocking it over are ordinary contacts and need no rules of their own.

use rapier3d::prelude::*;

use crate::entity::EntityId;
use crate::pose::Pose as PublicPose;

/// Nothing moves faster, so nothing tunnels through the ground: one step at this speed is less than its thickness.
const SPEED_MAX: f32 = 40.0;

/// A block of half a metre weighs 7.5 kg: light enough to throw, heavy enough to knock over its neighbours.
const BLOCK_DENSITY: f32 = 60.0;

/// The handles of one entity's body.
#[derive(Clone, Copy)]
pub(crate) struct Body {
    pub(crate) body: RigidBodyHandle,
    pub(crate) collider: ColliderHandle,
}

/// The physical world, without any meaning.
pub(crate) struct Physics {
    world: PhysicsWorld,
}

impl Physics {
    pub(crate) fn new() -> Physics {
        let mut world = PhysicsWorld::new();
        world.integration_parameters.dt = crate::STEP_SECONDS;
        world.integration_parameters.normalized_max_linear_velocity = SPEED_MAX;
        Physics { world }
    }

    pub(crate) fn step(&mut self) {
        self.world.step_with_events(&Passing, &());
    }

    pub(crate) fn gravity(&self) -> Vector {
        self.world.gravity
    }

    pub(crate) fn add_static(&mut self, id: EntityId, pose: Pose, size: Vector) {
        let body = RigidBodyBuilder::fixed().pose(pose);
        let half = size / 2.0;
        let collider = ColliderBuilder::cuboid(half.x, half.y, half.z).friction(1.0).user_data(tag(id, None));
        self.world.insert(body, collider);
    }

    pub(crate) fn add_block(&mut self, id: EntityId, pose: Pose, size: Vector) -> Body {
        let body = RigidBodyBuilder::dynamic().pose(pose).angular_damping(0.2);
        let half = size / 2.0;
        let collider = ColliderBuilder::cuboid(half.x, half.y, half.z)
            .density(BLOCK_DENSITY)
            .friction(0.8)
            .active_hooks(ActiveHooks::FILTER_CONTACT_PAIRS)
            .user_data(tag(id, None));
        let (body, collider) = self.world.insert(body, collider);
        Body { body, collider }
    }

    pub(crate) fn add_avatar(
        &mut self,
        id: EntityId,
        position: Vector,
        half_height: f32,
        radius: f32,
        mass: f32,
    ) -> Body {
        let body = RigidBodyBuilder::dynamic().translation(position).lock_rotations();
        let collider = ColliderBuilder::capsule_y(half_height, radius)
            .mass(mass)
            .friction(0.0)
            .friction_combine_rule(CoefficientCombineRule::Min)
            .user_data(tag(id, None));
        let (body, collider) = self.world.insert(body, collider);
        Body { body, collider }
    }

    pub(crate) fn remove(&mut self, body: Body) {
        self.world.remove_body(body.body);
    }

    pub(crate) fn get(&self, body: Body) -> &RigidBody {
        &self.world.bodies[body.body]
    }

    pub(crate) fn get_mut(&mut self, body: Body) -> &mut RigidBody {
        &mut self.world.bodies[body.body]
    }

    pub(crate) fn pose(&self, body: Body) -> PublicPose {
        public_pose(self.get(body).position())
    }

    pub(crate) fn wake_all(&mut self) {
        self.world.wake_up_all(true);
    }

    /// Puts a body somewhere else, at rest and able to move, whatever state it was in.
    pub(crate) fn place(&mut self, body: Body, pose: Pose) {
        let body = &mut self.world.bodies[body.body];
        body.set_enabled(true);
        body.set_position(pose, true);
        body.set_linvel(Vector::ZERO, true);
        body.set_angvel(Vector::ZERO, true);
    }

    /// The surfaces that a body touches: the normal toward the body, and how far it still is (negative inside).
    pub(crate) fn contacts(&self, body: Body) -> impl Iterator<Item = (Vector, f32)> {
        self.world.narrow_phase.contact_pairs_with(body.collider).flat_map(move |pair| {
            let sign = if pair.collider1 == body.collider { -1.0 } else { 1.0 };
            pair.manifolds().iter().filter(|manifold| !manifold.data.solver_contacts.is_empty()).filter_map(
                move |manifold| {
                    let nearest = manifold.points.iter().map(|point| point.dist).min_by(f32::total_cmp)?;
                    Some((manifold.data.normal * sign, nearest))
                },
            )
        })
    }

    /// The point of a body's surface that is nearest to `from` (`from` itself when it is inside).
    pub(crate) fn nearest_point(&self, body: Body, from: Vector) -> Vector {
        let collider = &self.world.colliders[body.collider];
        collider.shape().project_point(collider.position(), from, true).point
    }

    /// Whether a static stands between two points.
    pub(crate) fn is_walled_off(&self, from: Vector, to: Vector) -> bool {
        let queries = self.world.broad_phase.as_query_pipeline(
            self.world.narrow_phase.query_dispatcher(),
            &self.world.bodies,
            &self.world.colliders,
            QueryFilter::only_fixed(),
        );
        queries.cast_ray(&Ray::new(from, to - from), 0.99, true).is_some()
    }

    /// Whether two bodies overlap or nearly touch.
    pub(crate) fn are_close(&self, a: Body, b: Body) -> bool {
        const MARGIN: f32 = 0.02;
        let (a, b) = (&self.world.colliders[a.collider], &self.world.colliders[b.collider]);
        rapier3d::parry::query::distance(a.position(), a.shape(), b.position(), b.shape())
            .is_ok_and(|apart| apart.distance < MARGIN)
    }

    /// From now on a block and one avatar do not touch each other, or (`None`) everything touches again.
    pub(crate) fn set_passing(&mut self, block: Body, id: EntityId, avatar: Option<EntityId>) {
        self.world.colliders[block.collider].user_data = tag(id, avatar);
    }
}

/// Lets a carried block and its carrier pass through each other, so that a block in the hands is no lever: nobody can
/// stand on what he carries, nor be thrown by it.
struct Passing;

impl PhysicsHooks for Passing {
    fn filter_contact_pair(&self, context: &PairFilterContext) -> Option<SolverFlags> {
        let a = context.colliders[context.collider1].user_data;
        let b = context.colliders[context.collider2].user_data;
        let passes = passes_of(a) == Some(id_of(b)) || passes_of(b) == Some(id_of(a));
        (!passes).then_some(SolverFlags::COMPUTE_RIGID_IMPULSES)
    }
}

/// What a collider remembers: its entity, and the avatar it does not touch.
fn tag(id: EntityId, passes: Option<EntityId>) -> u128 {
    u128::from(id.0) | passes.map_or(0, |avatar| u128::from(avatar.0) << 32 | 1 << 64)
}

fn id_of(tag: u128) -> EntityId {
    EntityId(tag as u32)
}

fn passes_of(tag: u128) -> Option<EntityId> {
    (tag >> 64 != 0).then_some(EntityId((tag >> 32) as u32))
}

/// A turn about the vertical. Sine and cosine come from a portable library: the standard one differs between platforms.
pub(crate) fn yaw_rotation(yaw: f32) -> Rotation {
    let (sin, cos) = libm::sincosf(yaw / 2.0);
    Rotation::from_xyzw(0.0, sin, 0.0, cos)
}

/// The horizontal direction that `yaw` faces: 0 is −Z, growing counter-clockwise seen from above.
pub(crate) fn facing(yaw: f32) -> Vector {
    let (sin, cos) = libm::sincosf(yaw);
    Vector::new(-sin, 0.0, -cos)
}

pub(crate) fn public_pose(pose: &Pose) -> PublicPose {
    PublicPose { position: pose.translation.to_array(), rotation: pose.rotation.to_array() }
}
