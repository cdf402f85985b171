//! The only module that uses the physics engine: bodies in, poses out.

use std::collections::BTreeMap;

use rapier3d::parry::bounding_volume::BoundingVolume;
use rapier3d::parry::partitioning::Bvh;
use rapier3d::prelude::*;

use crate::body::{Body, BodyRole, Mass, Motion};
use crate::grounds::{Hulls, push_solids};
use crate::id::EntityId;
use crate::layers::Layers;
use crate::pose::{Pose as PublicPose, Velocity, rapier_pose};
use crate::shape::ColliderShape;
use crate::solid::Solid;

/// Maximum speed of all bodies, in metres a second, so that nothing tunnels through ground of usual thickness.
pub const SPEED_MAX: f32 = 40.0;

/// A step so short that no body moves noticeably.
const TINY_SECONDS: f32 = 1e-7;

/// The handles of one entity's body.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Handles {
    pub(crate) body: RigidBodyHandle,
    pub(crate) collider: ColliderHandle,
}

/// A surface that a body touches.
pub(crate) struct SurfaceContact {
    /// The normal toward the body.
    pub(crate) normal: Vector,
    /// The distance in metres; negative if the bodies overlap.
    pub(crate) distance: f32,
    /// If the touched body is kinematic, its velocity at the place of the other body, in metres a second.
    pub(crate) velocity: Vector,
}

/// The initial state of a body.
pub(crate) struct BodyState {
    pub(crate) id: EntityId,
    pub(crate) pose: PublicPose,
    pub(crate) scale: [f32; 3],
    pub(crate) velocity: Velocity,
    pub(crate) gravity_scale: f32,
    pub(crate) passes: Option<EntityId>,
    pub(crate) layers: Layers,
    /// Whether its kind reports contacts.
    pub(crate) reports_contacts: bool,
}

/// The shape of a body, ready to be added.
pub(crate) struct Built {
    shape: SharedShape,
    hulls: Hulls,
}

/// The physics of a world: bodies and joints, without the meaning of the entities.
pub(crate) struct Physics {
    pub(crate) world: PhysicsWorld,
    /// Each kind's unscaled shape and its hulls' faces, which all bodies of the kind share. They are built on first
    /// use.
    shapes: Vec<Option<(SharedShape, Hulls)>>,
    /// The faces of bodies that have hulls.
    hulls: BTreeMap<EntityId, Hulls>,
    /// Bodies that were awake after the last step.
    awake: Vec<RigidBodyHandle>,
    /// The bounding boxes of bodies that were added or teleported since the last step.
    placed: Bvh,
    /// The largest distance in metres by which a body was corrected since the last step ([`Physics::place`]).
    corrected_by_max: f32,
    /// Bodies with a force for one step.
    pushed: Vec<RigidBodyHandle>,
    /// Bodies that had a force in the last step.
    pushed_in_step: Vec<RigidBodyHandle>,
    /// Number of ladders and waters.
    media: usize,
    /// The bounding boxes of fixed obstacles.
    fixed: Bvh,
}

impl Physics {
    pub(crate) fn new(gravity: [f32; 3]) -> Physics {
        let mut world = PhysicsWorld::new();
        world.gravity = Vector::from_array(gravity);
        world.integration_parameters.dt = crate::STEP_SECONDS;
        world.integration_parameters.normalized_max_linear_velocity = SPEED_MAX;
        // With this margin a walker leaves its box in every second step only, so the tree has half of the updates.
        world.broad_phase.adaptive_change_detection_margin = true;
        Physics {
            world,
            shapes: Vec::new(),
            hulls: BTreeMap::new(),
            awake: Vec::new(),
            placed: Bvh::new(),
            corrected_by_max: 0.0,
            pushed: Vec::new(),
            pushed_in_step: Vec::new(),
            media: 0,
            fixed: Bvh::new(),
        }
    }

    /// Advances by 1/60 s. Forces act in this step only.
    pub(crate) fn step(&mut self) {
        if !self.placed.is_empty() {
            self.placed = Bvh::new();
        }
        self.corrected_by_max = 0.0;
        self.world.step_with_events(&Hooks { fixed: &self.fixed }, &());
        self.pushed_in_step.clear();
        self.pushed_in_step.append(&mut self.pushed);
        for handle in &self.pushed_in_step {
            if let Some(body) = self.world.bodies.get_mut(*handle) {
                body.reset_forces(false);
                body.reset_torques(false);
            }
        }
        // Bodies with values that are not finite were reset and disabled. They are enabled again at their last valid pose,
        // at rest.
        let broken: Vec<_> = self.world.quarantine().bodies().to_vec();
        for handle in broken {
            if let Some(body) = self.world.bodies.get_mut(handle) {
                body.set_enabled(true);
            }
        }
    }

    /// Calls `moved` for every body that may have moved in the last step, in a fixed order.
    pub(crate) fn drain_moved(&mut self, mut moved: impl FnMut(EntityId, &RigidBody)) {
        let PhysicsWorld { islands, bodies, .. } = &self.world;
        let now: Vec<_> = islands.active_bodies().collect();
        // A body that fell asleep in this step may have moved in it, too.
        let asleep =
            self.awake.iter().filter_map(|handle| bodies.get(*handle)).filter(|body| body.is_sleeping());
        for body in asleep.chain(now.iter().filter_map(|handle| bodies.get(*handle))) {
            moved(EntityId(body.user_data as u32), body);
        }
        self.awake = now;
    }

    /// The kinematic bodies that moved in the last step without turning.
    pub(crate) fn kinematic_moved(&self) -> impl Iterator<Item = (EntityId, &RigidBody)> {
        let PhysicsWorld { islands, bodies, .. } = &self.world;
        let active = islands.active_bodies().filter_map(|handle| bodies.get(handle));
        let moving = |body: &&RigidBody| {
            body.is_kinematic() && body.linvel() != Vector::ZERO && body.angvel() == Vector::ZERO
        };
        active.filter(moving).map(|body| (EntityId(body.user_data as u32), body))
    }

    /// Prepares an empty world for many bodies at once ([`Physics::find_contacts`]). The first step of non-zero length
    /// searches for islands among all bodies and lets none of them sleep. So this first step is taken while there are no
    /// bodies.
    pub(crate) fn expect_bodies(&mut self) {
        self.step_still(TINY_SECONDS);
    }

    /// Finds the contacts of bodies that are all new, without moving any of them. Then puts the pinned bodies to sleep,
    /// unless they touch a body that stays awake.
    pub(crate) fn find_contacts(&mut self, pinned: &[Handles]) {
        // A step of zero length finds contacts and islands, and wakes all bodies that touch others.
        self.step_still(0.0);
        for handles in pinned {
            self.world.bodies[handles.body].sleep();
        }
        // Islands fall asleep only in a step of non-zero length. In this very short step even the fastest body moves at most
        // 4 µm.
        self.step_still(TINY_SECONDS);
    }

    fn step_still(&mut self, seconds: f32) {
        self.world.integration_parameters.dt = seconds;
        self.world.step_with_events(&Hooks { fixed: &self.fixed }, &());
        self.world.integration_parameters.dt = crate::STEP_SECONDS;
    }

    /// Restores the motion of a body.
    pub(crate) fn resume(
        &mut self,
        handles: Handles,
        velocity: Velocity,
        still_seconds: f32,
        force: [f32; 3],
        torque: [f32; 3],
    ) {
        let body = &mut self.world.bodies[handles.body];
        if body.is_fixed() {
            return;
        }
        body.set_linvel(Vector::from_array(velocity.linear), false);
        body.set_angvel(Vector::from_array(velocity.angular), false);
        body.activation_mut().time_since_can_sleep = still_seconds;
        if force != [0.0; 3] || torque != [0.0; 3] {
            self.add_force(handles, Vector::from_array(force), Vector::from_array(torque));
        }
    }

    pub(crate) fn gravity(&self) -> Vector {
        self.world.gravity
    }

    /// Builds the shape of a body of the kind with this index. The error states why the shape cannot be scaled like this.
    pub(crate) fn build(&mut self, kind: usize, body: &Body, scale: [f32; 3]) -> Result<Built, &'static str> {
        let (shape, hulls) = self.shape(kind, &body.shape, scale)?;
        Ok(Built { shape, hulls })
    }

    /// Adds a body with the shape that was built for it.
    pub(crate) fn add(&mut self, body: &Body, built: Built, state: &BodyState) -> Handles {
        let Built { shape, hulls } = built;
        let motion = match body.motion {
            Motion::Fixed | Motion::Sensor => RigidBodyType::Fixed,
            Motion::Dynamic => RigidBodyType::Dynamic,
            Motion::Kinematic => RigidBodyType::KinematicVelocityBased,
        };
        let mut builder = RigidBodyBuilder::new(motion)
            .pose(rapier_pose(&state.pose))
            .linvel(Vector::from_array(state.velocity.linear))
            .angvel(Vector::from_array(state.velocity.angular))
            .gravity_scale(state.gravity_scale)
            .linear_damping(body.linear_damping)
            .angular_damping(body.angular_damping)
            .ccd_enabled(body.is_bullet)
            .user_data(state.id.0.into());
        if body.locks_rotation {
            builder = builder.lock_rotations();
        }
        let reporter = if state.reports_contacts { REPORTER_TAG } else { 0 };
        let tag = tag(state.id, state.passes) | role_tag(body.role) | reporter;
        let collider = ColliderBuilder::new(shape)
            .friction(body.friction)
            .restitution(body.restitution)
            .sensor(body.motion == Motion::Sensor)
            .collision_groups(groups(state.layers))
            .active_hooks(hooks(tag))
            .user_data(tag);
        let mut collider = match body.mass {
            Mass::Density(density) => collider.density(density),
            Mass::Kilograms(mass) => collider.mass(mass),
        };
        // A body without friction slides on every surface.
        if body.friction == 0.0 {
            collider = collider.friction_combine_rule(CoefficientCombineRule::Min);
        }
        if body.motion == Motion::Sensor {
            collider = collider.active_collision_types(ActiveCollisionTypes::all());
        }
        self.media += usize::from(body.role != BodyRole::Obstacle);
        let (body, collider) = self.world.insert(builder, collider);
        if !hulls.is_empty() {
            self.hulls.insert(state.id, hulls);
        }
        let handles = Handles { body, collider };
        self.note_fixed(handles);
        handles
    }

    fn shape(
        &mut self,
        kind: usize,
        shape: &ColliderShape,
        scale: [f32; 3],
    ) -> Result<(SharedShape, Hulls), &'static str> {
        let build = || Ok((shape.build(scale)?, shape.hulls(scale)));
        if scale != [1.0; 3] {
            return build();
        }
        if self.shapes.len() <= kind {
            self.shapes.resize(kind + 1, None);
        }
        if let Some(known) = &self.shapes[kind] {
            return Ok(known.clone());
        }
        let built = build()?;
        self.shapes[kind] = Some(built.clone());
        Ok(built)
    }

    pub(crate) fn remove(&mut self, handles: Handles) {
        let tag = self.collider(handles).user_data;
        self.media -= usize::from(role_of(tag) != BodyRole::Obstacle);
        self.hulls.remove(&id_of(tag));
        self.forget_placed(handles);
        self.world.remove_body(handles.body);
    }

    pub(crate) fn get(&self, handles: Handles) -> &RigidBody {
        &self.world.bodies[handles.body]
    }

    pub(crate) fn get_mut(&mut self, handles: Handles) -> &mut RigidBody {
        &mut self.world.bodies[handles.body]
    }

    pub(crate) fn collider(&self, handles: Handles) -> &Collider {
        &self.world.colliders[handles.collider]
    }

    /// Number of dynamic bodies that were awake after the last step.
    pub(crate) fn awake(&self) -> usize {
        let PhysicsWorld { islands, bodies, .. } = &self.world;
        let active = islands.active_bodies().filter_map(|handle| bodies.get(handle));
        active.filter(|body| body.is_dynamic() && !body.is_sleeping()).count()
    }

    pub(crate) fn wake_all(&mut self) {
        self.world.wake_up_all(true);
    }

    pub(crate) fn add_force(&mut self, handles: Handles, force: Vector, torque: Vector) {
        let body = &mut self.world.bodies[handles.body];
        body.add_force(force, true);
        body.add_torque(torque, true);
        self.pushed.push(handles.body);
    }

    /// The surfaces that a body touches.
    pub(crate) fn contacts(&self, handles: Handles) -> impl Iterator<Item = SurfaceContact> {
        let collider = handles.collider;
        let position = self.get(handles).translation();
        self.world.narrow_phase.contact_pairs_with(collider).flat_map(move |pair| {
            let (sign, other) =
                if pair.collider1 == collider { (-1.0, pair.collider2) } else { (1.0, pair.collider1) };
            let other = self.world.colliders[other].parent().and_then(|body| self.world.bodies.get(body));
            let carrier = other.filter(|body| body.is_kinematic());
            let velocity = carrier.map_or(Vector::ZERO, |body| body.velocity_at_point(position));
            pair.manifolds().iter().filter(|manifold| !manifold.data.solver_contacts.is_empty()).filter_map(
                move |manifold| {
                    let nearest = manifold.points.iter().map(|point| point.dist).min_by(f32::total_cmp)?;
                    Some(SurfaceContact { normal: manifold.data.normal * sign, distance: nearest, velocity })
                },
            )
        })
    }

    /// Returns the ladders and waters within `reach` (two corners) of a body, ordered by id. A surface with too many
    /// triangles is left out.
    pub(crate) fn media_near(&self, handles: Handles, reach: [[f32; 3]; 2]) -> Vec<Solid> {
        if self.media == 0 {
            return Vec::new();
        }
        let groups = self.collider(handles).collision_groups();
        let [low, high] = reach.map(Vector::from_array);
        let reach = Aabb::new(low, high);
        let around = self.world.intersect_aabb_conservative(reach, QueryFilter::default());
        let mut found: Vec<_> = around
            .filter(|(_, collider)| role_of(collider.user_data) != BodyRole::Obstacle)
            .filter(|(_, collider)| groups.test(collider.collision_groups()))
            .filter(|(_, collider)| collider.compute_aabb().intersects(&reach))
            .map(|(_, collider)| (id_of(collider.user_data), collider))
            .collect();
        found.sort_unstable_by_key(|(id, _)| *id);
        let mut solids = Vec::new();
        for (id, collider) in found {
            let hulls = self.hulls.get(&id).map_or(&[][..], Vec::as_slice);
            let before = solids.len();
            let pose = collider.position();
            if push_solids(collider.shared_shape(), hulls, pose, Some(&reach), &mut solids).is_none() {
                solids.truncate(before);
            }
            solids[before..].iter_mut().for_each(|solid| solid.role = role_of(collider.user_data));
        }
        solids
    }

    /// Corrects the position and the velocity of an awake body after a step.
    pub(crate) fn place(&mut self, handles: Handles, position: [f32; 3], velocity: [f32; 3]) {
        let (position, velocity) = (Vector::from_array(position), Vector::from_array(velocity));
        let body = self.get(handles);
        // In the next step, a mutable borrow of a body costs as much as a change, and a new position wakes the body. So only
        // a difference is written.
        let (is_elsewhere, has_other_velocity) = (body.translation() != position, body.linvel() != velocity);
        if is_elsewhere {
            self.corrected_by_max = self.corrected_by_max.max((position - body.translation()).length());
            self.get_mut(handles).set_translation(position, false);
        }
        if has_other_velocity {
            self.get_mut(handles).set_linvel(velocity, false);
        }
    }

    /// Calls `each` with every body that a body touches and with the impulse. Sensors and overlaps without a force are
    /// included. Bodies that were removed since the last step are not.
    pub(crate) fn touched(&self, handles: Handles, mut each: impl FnMut(EntityId, f32)) {
        let collider = handles.collider;
        let other = |a: ColliderHandle, b: ColliderHandle| {
            let other = self.world.colliders.get(if a == collider { b } else { a })?;
            Some(id_of(other.user_data))
        };
        for pair in self.world.narrow_phase.contact_pairs_with(collider) {
            let touches = || pair.has_any_active_contact() || self.touches_unsolved(pair);
            if let Some(id) = other(pair.collider1, pair.collider2)
                && touches()
            {
                each(id, pair.total_impulse_magnitude());
            }
        }
        for (a, b, is_overlapping) in self.world.narrow_phase.intersection_pairs_with(collider) {
            if let Some(id) = other(a, b)
                && is_overlapping
            {
                each(id, 0.0);
            }
        }
    }

    /// Disables contacts between a body and one other body, or (`None`) enables its contacts again.
    pub(crate) fn set_passes(&mut self, handles: Handles, id: EntityId, other: Option<EntityId>) {
        let collider = &mut self.world.colliders[handles.collider];
        collider.user_data = tag(id, other) | collider.user_data & LASTING_TAGS;
        collider.set_active_hooks(hooks(collider.user_data));
    }
}

/// Disables contacts of a body with the body that it passes through, contacts of a planned body with bodies that are not dynamic,
/// and contacts with the inner edges between flush boxes.
struct Hooks<'a> {
    /// The bounding boxes of fixed obstacles.
    fixed: &'a Bvh,
}

impl PhysicsHooks for Hooks<'_> {
    fn filter_contact_pair(&self, context: &PairFilterContext) -> Option<SolverFlags> {
        let PairFilterContext { colliders, bodies, collider1, collider2, .. } = context;
        let pair = [&colliders[*collider1], &colliders[*collider2]];
        let is_solved = !passes_each_other(pair) && !around::is_unsolved(bodies, pair);
        is_solved.then_some(SolverFlags::COMPUTE_RIGID_IMPULSES)
    }

    fn modify_solver_contacts(&self, context: &mut ContactModificationContext<'_>) {
        inner_edges::remove(context, self.fixed);
    }
}

/// The collision groups of a body. Bodies collide if each is in a group that the other one admits.
fn groups(layers: Layers) -> InteractionGroups {
    let own = Group::from_bits_truncate(1 << layers.layer);
    let admitted = Group::from_bits_truncate(!u32::from(layers.ignores));
    InteractionGroups::new(own, admitted, InteractionTestMode::And)
}

/// Each hook is enabled only for the bodies that need it, because contacts are cheaper without it.
fn hooks(tag: u128) -> ActiveHooks {
    let mut hooks = ActiveHooks::empty();
    hooks.set(ActiveHooks::FILTER_CONTACT_PAIRS, tag & (PASSES_TAG | PLANNED_TAG) != 0);
    hooks.set(ActiveHooks::MODIFY_SOLVER_CONTACTS, tag & INNER_EDGES_TAG != 0);
    hooks
}

const PASSES_TAG: u128 = 1 << 64;
const LADDER_TAG: u128 = 1 << 65;
const WATER_TAG: u128 = 1 << 66;
const REPORTER_TAG: u128 = 1 << 67;
/// The step of this body is planned ([`Physics::plan`]).
const PLANNED_TAG: u128 = 1 << 68;
/// This body is fixed, and another fixed body covers one of its sides ([`inner_edges`]).
const INNER_EDGES_TAG: u128 = 1 << 69;
/// The parts of the user data that stay if a body passes through another one.
const LASTING_TAGS: u128 = LADDER_TAG | WATER_TAG | REPORTER_TAG | PLANNED_TAG | INNER_EDGES_TAG;

/// The user data of a collider without its other tags: its entity and the entity that it passes through.
fn tag(id: EntityId, passes: Option<EntityId>) -> u128 {
    u128::from(id.0) | passes.map_or(0, |other| u128::from(other.0) << 32 | PASSES_TAG)
}

fn role_tag(role: BodyRole) -> u128 {
    match role {
        BodyRole::Obstacle => 0,
        BodyRole::Ladder => LADDER_TAG,
        BodyRole::Water => WATER_TAG,
    }
}

fn role_of(tag: u128) -> BodyRole {
    match (tag & LADDER_TAG != 0, tag & WATER_TAG != 0) {
        (true, _) => BodyRole::Ladder,
        (_, true) => BodyRole::Water,
        _ => BodyRole::Obstacle,
    }
}

pub(crate) fn id_of(tag: u128) -> EntityId {
    EntityId(tag as u32)
}

fn passes_of(tag: u128) -> Option<EntityId> {
    (tag & PASSES_TAG != 0).then_some(EntityId((tag >> 32) as u32))
}

fn passes_each_other([a, b]: [&Collider; 2]) -> bool {
    let (a, b) = (a.user_data, b.user_data);
    passes_of(a) == Some(id_of(b)) || passes_of(b) == Some(id_of(a))
}

mod around;
mod crowd;
mod inner_edges;
mod jointed;
