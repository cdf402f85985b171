//! One step of a walker among fixed and kinematic bodies, to the last bit: `spec/MOVEMENT.md`.
//!
//! Clients predict their own avatar with the same arithmetic, in another language. This code therefore consists of
//! single operations on 32-bit floats (`+ − × ÷ √`, comparisons) in a stated order, and depends only on its arguments.

use super::{
    GROUND_MEMORY_STEPS, GROUNDS_MAX, JUMP_PAUSE_STEPS, JUMP_RISE_STEPS, WALKABLE_COSINE, Walker, direction,
};
use crate::STEP_SECONDS;
use crate::exact::{add, dot, scale, sub};
use crate::input::Input;
use crate::physics::SPEED_MAX;
use crate::solid::{Contact, Solid};

/// A surface nearer than this carries the walker, in metres.
const TOUCH_DISTANCE: f32 = 0.002;
/// Maximum distance, as a share of the radius, that the walker moves before it is pushed out of solids.
const STRIDE_SHARE: f32 = 0.5;
/// Margin around the path of a step, in metres.
const REACH_MARGIN: f32 = 0.1;
/// Maximum number of strides of a step: enough for the narrowest walker at the greatest speed.
const STRIDES_MAX: u32 = 32;
/// Maximum number of push-outs after each stride.
const PUSHES_MAX: u32 = 6;
/// Controls below this length count as zero.
const DEAD_ZONE: f32 = 0.01;

/// A walker at one step: the whole state that the next step depends on, besides the input.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mover {
    /// Position of the walker's centre, in metres.
    pub position: [f32; 3],
    /// In metres a second.
    pub velocity: [f32; 3],
    /// Steps since there was ground under the feet.
    pub steps_since_ground: u32,
    /// Steps since the walker jumped.
    pub steps_since_jump: u32,
    /// Upward normals of the surfaces that carry the walker; the first `ground_count` are valid.
    pub grounds: [[f32; 3]; GROUNDS_MAX],
    /// The velocities of the surfaces in `grounds` under the walker, in metres a second.
    pub ground_velocities: [[f32; 3]; GROUNDS_MAX],
    /// Number of surfaces that carry the walker.
    pub ground_count: usize,
}

impl Mover {
    /// Makes a walker at rest in the air.
    pub fn new(position: [f32; 3]) -> Mover {
        Mover {
            position,
            velocity: [0.0; 3],
            steps_since_ground: GROUND_MEMORY_STEPS,
            steps_since_jump: JUMP_PAUSE_STEPS,
            grounds: [[0.0; 3]; GROUNDS_MAX],
            ground_velocities: [[0.0; 3]; GROUNDS_MAX],
            ground_count: 0,
        }
    }

    /// Returns the box that contains everything that can affect the next step: two corners, in metres.
    pub fn reach(&self, walker: &Walker) -> [[f32; 3]; 2] {
        // Input and a jump can add their whole speed within one step. Gravity and push-outs fit into the margin.
        let speed = dot(self.velocity, self.velocity).sqrt() + walker.run_speed + walker.jump_speed;
        let margin = speed * STEP_SECONDS + REACH_MARGIN;
        let extent = [walker.radius + margin, walker.height * 0.5 + margin, walker.radius + margin];
        [sub(self.position, extent), add(self.position, extent)]
    }

    /// Advances by 1/60 s. `gravity` is the downward acceleration, in metres a second squared. Solids outside of
    /// [`Mover::reach`] do not change a bit of the result.
    pub fn step(&mut self, walker: &Walker, input: &Input, gravity: f32, solids: &[Solid]) {
        let fall = gravity * STEP_SECONDS;
        match self.steer(walker, input, solids) {
            Support::Medium => {}
            // The feet hold against the pull along a slope; the remaining force presses the feet onto the slope.
            Support::Ground(normal) => self.velocity = sub(self.velocity, scale(normal, fall * normal[1])),
            Support::None => self.velocity[1] -= fall,
        }
        self.velocity = shortened(self.velocity, SPEED_MAX);
        self.travel(walker, solids);
        self.update_ground(walker, solids);
    }

    /// Changes the velocity and the counts by the input, without gravity and without moving. Returns the support that holds the
    /// walker in this step. Of the solids, only ladders and water count.
    pub(super) fn steer(&mut self, walker: &Walker, input: &Input, solids: &[Solid]) -> Support {
        let wish = wish(walker, input);
        let ground = self.ground(wish);
        self.steps_since_ground =
            if ground.is_some() { 0 } else { self.steps_since_ground.saturating_add(1) };
        self.steps_since_jump = self.steps_since_jump.saturating_add(1);
        if self.enter_medium(walker, input, wish, ground.is_some(), solids) {
            return Support::Medium;
        }
        self.velocity = match ground {
            Some(Ground { normal, velocity }) => walk(walker, self.velocity, wish, normal, velocity),
            None => drift(walker, self.velocity, wish),
        };
        // A walker that runs over the top of a ramp or stair stays on the ground; only a jump lifts it.
        if ground.is_none()
            && self.steps_since_ground < self.steps_since_jump.min(GROUND_MEMORY_STEPS)
            && self.velocity[1] > 0.0
        {
            self.velocity[1] = 0.0;
        }
        let jumps = input.jump
            && self.steps_since_ground < GROUND_MEMORY_STEPS
            && self.steps_since_jump >= JUMP_PAUSE_STEPS;
        if jumps {
            self.velocity[1] = walker.jump_speed;
            // A rising floor adds its speed.
            if let Some(Ground { velocity, .. }) = ground
                && velocity[1] > 0.0
            {
                self.velocity[1] += velocity[1];
            }
            self.steps_since_jump = 0;
            // Forgets the ground, so that the walker cannot jump from the same ground again in the air.
            self.steps_since_ground = GROUND_MEMORY_STEPS;
        }
        match ground {
            Some(Ground { normal, .. }) if !jumps => Support::Ground(normal),
            _ => Support::None,
        }
    }

    /// Takes the step of a frozen walker: it keeps its position, its counts and its grounds, and loses its velocity.
    pub fn freeze(&mut self) {
        self.velocity = [0.0; 3];
    }

    /// Lets a walker that waits move with its ground for 1/60 s. The walker's velocity and counts stay the same.
    pub fn ride(&mut self, walker: &Walker, gravity: f32, solids: &[Solid]) {
        let velocity = self.velocity;
        if let Some(Ground { normal, velocity: carried }) = self.ground([0.0; 3]) {
            // The weight of the walker keeps its feet on a rising floor that slows down.
            let press = scale(normal, gravity * STEP_SECONDS * normal[1]);
            self.position = add(self.position, scale(sub(carried, press), STEP_SECONDS));
        }
        self.push_out(walker, solids);
        self.velocity = velocity;
        self.update_ground(walker, solids);
    }

    /// Finds the surfaces under the feet at the current position.
    pub fn update_ground(&mut self, walker: &Walker, solids: &[Solid]) {
        self.ground_count = 0;
        for solid in solids {
            let Contact { normal, gap } = solid.contact(self.position, walker.radius, walker.height);
            if self.ground_count < GROUNDS_MAX && gap < TOUCH_DISTANCE && normal[1] >= WALKABLE_COSINE {
                self.grounds[self.ground_count] = normal;
                self.ground_velocities[self.ground_count] = solid.velocity_at(self.position);
                self.ground_count += 1;
            }
        }
    }

    /// Moves along the velocity, and pushes the walker out of solids.
    fn travel(&mut self, walker: &Walker, solids: &[Solid]) {
        // A stride of at most half the radius cannot carry the walker's centre through a wall before a push-out sees the wall.
        let mut way = scale(self.velocity, STEP_SECONDS);
        let length = dot(way, way).sqrt();
        let stride = walker.radius * STRIDE_SHARE;
        let mut strides = 1;
        while strides < STRIDES_MAX && length > stride * strides as f32 {
            strides += 1;
        }
        let share = STEP_SECONDS / strides as f32;
        for _ in 0..strides {
            // A push-out may have changed the velocity, so each stride is as long in time, not in space.
            way = scale(self.velocity, share);
            self.position = add(self.position, way);
            self.push_out(walker, solids);
        }
    }

    /// Pushes the walker out of the deepest solid, repeatedly, until it is in none.
    fn push_out(&mut self, walker: &Walker, solids: &[Solid]) {
        for _ in 0..PUSHES_MAX {
            // The deepest overlap goes first: leaving it often resolves the shallower ones, such as at the seam of two floors.
            // Among equal overlaps, the first solid in the list wins. Server and clients have the same order of solids.
            let mut deepest = Contact { normal: [0.0, 1.0, 0.0], gap: 0.0 };
            let mut met = None;
            for solid in solids {
                let contact = solid.contact(self.position, walker.radius, walker.height);
                if contact.gap < deepest.gap {
                    deepest = contact;
                    met = Some(solid);
                }
            }
            let Some(solid) = met else { return };
            self.position = sub(self.position, scale(deepest.normal, deepest.gap));
            let inward = dot(sub(self.velocity, solid.velocity_at(self.position)), deepest.normal);
            // Only the part toward the solid is lost, relative to the solid: the walker slides along walls, and a solid that
            // moves away does not drag it along.
            if inward < 0.0 {
                self.velocity = sub(self.velocity, scale(deepest.normal, inward));
            }
        }
    }

    /// The ground under the feet. If there are several surfaces, the ground is the one that climbs most in the desired
    /// direction, so that a foot at the first step of a stair uses that step.
    fn ground(&self, wish: [f32; 3]) -> Option<Ground> {
        // The feet are still near the ground in the first steps of a jump. This ground must not hold them.
        if self.steps_since_jump < JUMP_RISE_STEPS {
            return None;
        }
        let mut best: Option<(Ground, f32)> = None;
        let grounds = self.grounds.iter().zip(&self.ground_velocities).take(self.ground_count);
        for (normal, velocity) in grounds {
            let height = dot(*normal, wish) - normal[1];
            if best.is_none_or(|(_, least)| height < least) {
                best = Some((Ground { normal: *normal, velocity: *velocity }, height));
            }
        }
        best.map(|(ground, _)| ground)
    }
}

/// The support that holds a walker in a step, with the upward normal of a ground.
pub(super) enum Support {
    /// A ladder or water, which also holds against gravity.
    Medium,
    Ground([f32; 3]),
    None,
}

/// A surface that carries a walker.
#[derive(Clone, Copy)]
struct Ground {
    normal: [f32; 3],
    velocity: [f32; 3],
}

/// The horizontal velocity that the input demands.
pub(super) fn wish(walker: &Walker, input: &Input) -> [f32; 3] {
    let [sine, cosine] = direction::sine_cosine(input.yaw);
    let (mut x, mut z) =
        (-sine * input.forward + cosine * input.right, -cosine * input.forward - sine * input.right);
    let length = (x * x + z * z).sqrt();
    if length < DEAD_ZONE {
        return [0.0; 3];
    }
    if length > 1.0 {
        (x, z) = (x / length, z / length);
    }
    let speed = if input.run { walker.run_speed } else { walker.walk_speed };
    [x * speed, 0.0, z * speed]
}

/// Returns the velocity of a walker on ground: along the surface and together with the surface, at full speed on any
/// slope.
fn walk(
    walker: &Walker,
    velocity: [f32; 3],
    wish: [f32; 3],
    normal: [f32; 3],
    carried: [f32; 3],
) -> [f32; 3] {
    let mut target = tangent(wish, normal);
    let speed = dot(wish, wish).sqrt();
    if speed > 0.0 {
        let length = dot(target, target).sqrt();
        // The floor of the divisor keeps the result finite if the surface is perpendicular to the wish.
        target = scale(target, speed / if length > 1e-3 { length } else { 1e-3 });
    }
    let change = tangent(sub(target, sub(velocity, carried)), normal);
    add(velocity, shortened(change, walker.ground_acceleration * STEP_SECONDS))
}

/// Returns the velocity of a walker in the air, which input changes only slowly.
fn drift(walker: &Walker, velocity: [f32; 3], wish: [f32; 3]) -> [f32; 3] {
    let change = [wish[0] - velocity[0], 0.0, wish[2] - velocity[2]];
    add(velocity, shortened(change, walker.air_acceleration * STEP_SECONDS))
}

pub(super) fn tangent(vector: [f32; 3], normal: [f32; 3]) -> [f32; 3] {
    sub(vector, scale(normal, dot(vector, normal)))
}

pub(super) fn shortened(vector: [f32; 3], length_max: f32) -> [f32; 3] {
    let length = dot(vector, vector).sqrt();
    if length > length_max { scale(vector, length_max / length) } else { vector }
}
