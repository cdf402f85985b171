//! People: how what the controls say becomes velocity.

use std::collections::VecDeque;

use rapier3d::prelude::*;

use crate::STEP_SECONDS;
use crate::entity::EntityId;
use crate::hold::Hold;
use crate::input::{Action, Input};
use crate::physics::{Body, Physics, facing};

/// From the soles to the crown, in metres.
pub const AVATAR_HEIGHT: f32 = 1.8;
/// Half the width, in metres.
pub const AVATAR_RADIUS: f32 = 0.35;

const MASS: f32 = 70.0;
const WALK_SPEED: f32 = 3.2;
const RUN_SPEED: f32 = 6.4;
/// Legs on ground; also the limit of how hard an avatar pushes (in units of its own weight).
const GROUND_ACCELERATION: f32 = 42.0;
/// A little control in the air feels right; more would let people fly around corners.
const AIR_ACCELERATION: f32 = 10.0;
/// Clears a block of one metre: v²/2g = 1.25 m.
const JUMP_SPEED: f32 = 4.95;
/// Steps between two jumps while the button is held.
const JUMP_PAUSE_STEPS: u32 = 20;
/// An avatar may still jump this long after its feet left the edge: people press late.
const GROUND_MEMORY_STEPS: u32 = 6;
/// The steepest ground that can be walked, as the cosine of its slope (56°). The round foot meets the edge of a step of
/// 15 cm at this angle, so the same rule climbs stairs.
const WALKABLE_COSINE: f32 = 0.555;
/// A surface this near counts as touched.
const TOUCH_DISTANCE: f32 = 0.03;

/// One person in the world.
pub(crate) struct Avatar {
    pub(crate) id: EntityId,
    pub(crate) name: String,
    pub(crate) color: u32,
    pub(crate) body: Body,
    pub(crate) input: Input,
    /// Waiting for the next step; bounded by [`Avatar::ACTIONS_MAX`].
    pub(crate) actions: VecDeque<Action>,
    pub(crate) hold: Option<Hold>,
    steps_since_ground: u32,
    steps_since_jump: u32,
}

impl Avatar {
    /// What may wait for one step; a client is limited to 20 actions a second long before it reaches this.
    pub(crate) const ACTIONS_MAX: usize = 64;

    pub(crate) fn new(id: EntityId, name: String, position: Vector, physics: &mut Physics) -> Avatar {
        let half_height = AVATAR_HEIGHT / 2.0 - AVATAR_RADIUS;
        Avatar {
            id,
            name,
            color: COLORS[id.0 as usize % COLORS.len()],
            body: physics.add_avatar(id, position, half_height, AVATAR_RADIUS, MASS),
            input: Input::default(),
            actions: VecDeque::new(),
            hold: None,
            steps_since_ground: GROUND_MEMORY_STEPS,
            steps_since_jump: JUMP_PAUSE_STEPS,
        }
    }

    /// Turns the controls into velocity. Gravity, slopes' reaction and everything that is pushed are the solver's work.
    pub(crate) fn steer(&mut self, physics: &mut Physics) {
        let wish = self.wish(physics);
        let is_idle = wish == Vector::ZERO && !self.input.jump;
        if is_idle && physics.get(self.body).is_sleeping() {
            return;
        }
        let ground = self.ground(physics, wish);
        self.steps_since_ground =
            if ground.is_some() { 0 } else { self.steps_since_ground.saturating_add(1) };
        self.steps_since_jump = self.steps_since_jump.saturating_add(1);

        let gravity = physics.gravity();
        let velocity = physics.get(self.body).linvel();
        let mut next = match ground {
            Some(normal) => walk(velocity, wish, normal, gravity),
            None => drift(velocity, wish),
        };
        // Whoever runs over the top of a ramp or stair keeps to the ground; only a jump takes people into the air.
        if self.steps_since_ground < self.steps_since_jump.min(GROUND_MEMORY_STEPS) && ground.is_none() {
            next.y = next.y.min(0.0);
        }
        if self.input.jump
            && self.steps_since_ground < GROUND_MEMORY_STEPS
            && self.steps_since_jump >= JUMP_PAUSE_STEPS
        {
            next.y = JUMP_SPEED;
            self.steps_since_jump = 0;
            self.steps_since_ground = GROUND_MEMORY_STEPS;
        }
        // A velocity that is as good as the old one is left alone, or an avatar that stands still could never sleep,
        // nor could the stack it stands on.
        if (next - velocity).length_squared() > 1e-8 {
            physics.get_mut(self.body).set_linvel(next, !is_idle);
        }
    }

    /// The horizontal velocity that the controls ask for.
    fn wish(&self, physics: &Physics) -> Vector {
        let ahead = facing(self.input.yaw);
        let aside = Vector::new(-ahead.z, 0.0, ahead.x);
        let mut controls = ahead * self.input.forward + aside * self.input.right;
        let length = controls.length();
        if length > 1.0 {
            controls /= length;
        } else if length < 0.01 {
            return Vector::ZERO;
        }
        if let Some(hold) = &self.hold {
            let onward = controls.dot(ahead);
            if onward > 0.0 {
                controls -= ahead * onward * (1.0 - hold.room_ahead(self, physics));
            }
        }
        controls * if self.input.run { RUN_SPEED } else { WALK_SPEED }
    }

    /// The normal of the ground under the feet: of several walkable surfaces the one that climbs most in the wished
    /// direction, so that a foot at the first step of a stair takes it.
    fn ground(&self, physics: &Physics, wish: Vector) -> Option<Vector> {
        if self.steps_since_jump < 4 {
            return None;
        }
        physics
            .contacts(self.body)
            .filter(|(normal, distance)| normal.y >= WALKABLE_COSINE && *distance < TOUCH_DISTANCE)
            .map(|(normal, _)| (normal.dot(wish) - normal.y, normal))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, normal)| normal)
    }
}

/// On ground: along its surface, at full speed whatever its slope, and without sliding down while standing.
fn walk(velocity: Vector, wish: Vector, normal: Vector, gravity: Vector) -> Vector {
    let speed = wish.length();
    let along = tangent(wish, normal);
    let along = if speed > 0.0 { along * (speed / along.length().max(1e-3)) } else { along };
    // The solver adds gravity after this; its part along the slope is taken away beforehand.
    let target = along - tangent(gravity, normal) * STEP_SECONDS;
    let change = tangent(target - velocity, normal);
    velocity + shortened(change, GROUND_ACCELERATION * STEP_SECONDS)
}

/// In the air: a little control.
fn drift(velocity: Vector, wish: Vector) -> Vector {
    let horizontal = Vector::new(velocity.x, 0.0, velocity.z);
    velocity + shortened(wish - horizontal, AIR_ACCELERATION * STEP_SECONDS)
}

fn tangent(vector: Vector, normal: Vector) -> Vector {
    vector - normal * vector.dot(normal)
}

/// `vector`, made no longer than `length_max`.
pub(crate) fn shortened(vector: Vector, length_max: f32) -> Vector {
    let length = vector.length();
    if length > length_max { vector * (length_max / length) } else { vector }
}

/// Clothes that stand out against the ground and from each other.
const COLORS: [u32; 12] = [
    0xe4572e, 0x2e86ab, 0xf2b134, 0x43a047, 0x8e5aa8, 0xef6f94, 0x17a398, 0xc0573b, 0x5c6bc0, 0xa3b536,
    0xd4508a, 0x3f7cac,
];
