//! Walkers: from input to velocity.
//!
//! A walker is a dynamic body that cannot tip over. The engine steers it by setting its velocity. So pushing, being pushed,
//! standing on a stack and knocking a stack over are ordinary contacts and need no special rules.
//!
//! If only fixed and kinematic bodies are near, as is the case most of the time, [`movement`] computes its step instead.
//! Clients predict that step to the last bit (`spec/MOVEMENT.md`). If all bodies near a moving walker are fixed, this step is
//! planned before physics, which then computes no contacts of the walker with them.

mod adjustment;
mod direction;
mod medium;
pub mod movement;

use nowcast_wire::Wire;
use rapier3d::prelude::*;

use crate::STEP_SECONDS;
use crate::body::{Body, Mass, Motion};
use crate::input::Input;
use crate::physics::{Handles, Physics, SPEED_MAX};
use crate::problem::{DefinitionError, Path};
use crate::shape::ColliderShape;

pub use self::adjustment::Adjustment;
use self::movement::{Mover, Support, shortened, tangent};

/// Minimum number of steps between two jumps while the jump button stays pressed.
const JUMP_PAUSE_STEPS: u32 = 20;
/// Number of steps after a jump in which the ground below is ignored.
const JUMP_RISE_STEPS: u32 = 4;
/// Number of steps after leaving an edge in which a walker may still jump, because players often press the button too late.
const GROUND_MEMORY_STEPS: u32 = 6;
/// The steepest walkable ground, as the cosine of its slope (56°). The round foot touches the edge of a step of 15 cm
/// at this angle, so the same rule climbs stairs.
const WALKABLE_COSINE: f32 = 0.555;
/// A surface nearer than this counts as touched.
const TOUCH_DISTANCE: f32 = 0.03;
/// Maximum number of surfaces under the feet of a walker.
const GROUNDS_MAX: usize = 4;

/// Parameters for a kind's walkers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Walker {
    /// Height from soles to crown, in metres.
    pub height: f32,
    /// Half the width, in metres.
    pub radius: f32,
    /// In kilograms.
    pub mass: f32,
    /// In metres a second.
    pub walk_speed: f32,
    /// In metres a second.
    pub run_speed: f32,
    /// Acceleration on ground, in metres a second squared. It also limits the pushing force, in units of the walker's
    /// own weight.
    pub ground_acceleration: f32,
    /// Acceleration in the air, in metres a second squared. With a large value, walkers could change direction in the air
    /// and fly around corners.
    pub air_acceleration: f32,
    /// Initial speed v of a jump, in metres a second. The jump is v²/2g high.
    pub jump_speed: f32,
    /// Whether the attributes of [`Adjustment::fields`] change each walker's speeds.
    pub is_adjustable: bool,
    /// Whether each walker has the attribute `pitch`, which the page of its player sets. The engine does not read it.
    pub shows_pitch: bool,
}

impl Default for Walker {
    /// A person who jumps 1.25 m high, enough to clear a block of one metre.
    fn default() -> Walker {
        Walker {
            height: 1.8,
            radius: 0.35,
            mass: 70.0,
            walk_speed: 3.2,
            run_speed: 6.4,
            ground_acceleration: 42.0,
            air_acceleration: 10.0,
            jump_speed: 4.95,
            is_adjustable: false,
            shows_pitch: false,
        }
    }
}

impl Walker {
    /// Returns the body of the walker: an upright capsule that never turns and slides along walls.
    pub fn body(&self) -> Body {
        Body {
            mass: Mass::Kilograms(self.mass),
            friction: 0.0,
            locks_rotation: true,
            ..Body::new(Motion::Dynamic, ColliderShape::Capsule { radius: self.radius, height: self.height })
        }
    }

    pub(crate) fn check(&self, path: &Path<'_>) -> Result<(), DefinitionError> {
        path.field("radius").within(self.radius, 0.05, 5.0)?;
        path.field("height").within(self.height, 2.0 * self.radius, 20.0)?;
        path.field("mass").within(self.mass, 0.1, 10_000.0)?;
        path.field("walk_speed").within(self.walk_speed, 0.0, 40.0)?;
        path.field("run_speed").within(self.run_speed, 0.0, 40.0)?;
        path.field("ground_acceleration").within(self.ground_acceleration, 0.0, 1_000.0)?;
        path.field("air_acceleration").within(self.air_acceleration, 0.0, 1_000.0)?;
        path.field("jump_speed").within(self.jump_speed, 0.0, 40.0)
    }
}

/// The way in which a walker takes the next step.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) enum Pace {
    /// Once, by its input.
    #[default]
    Walks,
    /// Takes no step: pose and velocity stay the same.
    Stalls,
    /// Twice, first with this input.
    CatchesUp(Input),
}

/// Minimum speed of a stalled walker that counts as pushed, in metres a second.
const PUSHED_SPEED: f32 = 0.05;
/// Minimum distance that counts as pushed, in metres.
const PUSHED_DISTANCE: f32 = 0.01;
/// A walker without controls below this speed can fall asleep, in metres a second.
const RESTING_SPEED: f32 = 1e-3;
/// Maximum distance in metres by which physics may move a walker at rest in a step. A correction would wake it.
const RESTING_DISTANCE: f32 = 1e-6;

/// The state of one walker. A snapshot has the fields that outlive a step.
#[derive(Clone, PartialEq, Debug, Wire)]
pub(crate) struct WalkerState {
    pub(crate) input: Input,
    pub(crate) steps_since_ground: u32,
    pub(crate) steps_since_jump: u32,
    /// Upward normals of the surfaces under the feet after the last step; at most [`GROUNDS_MAX`].
    pub(crate) grounds: Vec<[f32; 3]>,
    /// The velocities of the surfaces in `grounds` under the walker, in metres a second; empty if all of them stand still.
    pub(crate) ground_velocities: Vec<[f32; 3]>,
    /// The state before the current step; `None` if the walker is not steered in this step.
    #[wire(skip)]
    before: Option<Mover>,
    /// The state after the current step, if it is known before physics.
    #[wire(skip)]
    planned: Option<Mover>,
    /// The way in which the walker takes the next step. A snapshot between the command and its step resets this field, both
    /// in the running world and in the restored one.
    #[wire(skip)]
    pub(crate) pace: Pace,
    /// Whether the last step was computed by [`movement`], so that clients can predict it.
    #[wire(skip)]
    pub(crate) is_exact: bool,
}

impl WalkerState {
    pub(crate) fn new() -> WalkerState {
        WalkerState {
            input: Input::default(),
            steps_since_ground: GROUND_MEMORY_STEPS,
            steps_since_jump: JUMP_PAUSE_STEPS,
            grounds: Vec::new(),
            ground_velocities: Vec::new(),
            before: None,
            planned: None,
            pace: Pace::Walks,
            is_exact: false,
        }
    }

    /// Lifts the walker off the ground, as a jump does.
    pub(crate) fn leave_ground(&mut self) {
        self.steps_since_ground = GROUND_MEMORY_STEPS;
        self.steps_since_jump = 0;
        self.set_grounds(&[], &[]);
    }

    /// Returns a restored state, or `None` if it is invalid.
    pub(crate) fn checked(self) -> Option<WalkerState> {
        let are_numbers = self.grounds.iter().chain(&self.ground_velocities).flatten().all(|v| v.is_finite());
        let is_one_each = [0, self.grounds.len()].contains(&self.ground_velocities.len());
        let input = self.input.validate().ok()?;
        (are_numbers && is_one_each && self.grounds.len() <= GROUNDS_MAX)
            .then_some(WalkerState { input, ..self })
    }

    /// Computes the velocity from the input. The solver computes gravity, the reaction of slopes and all pushing.
    pub(crate) fn steer(
        &mut self,
        walker: &Walker,
        is_frozen: bool,
        handles: Handles,
        physics: &mut Physics,
    ) {
        let is_idle = demands_nothing(walker, &self.input);
        let keeps_place = is_frozen || self.pace == Pace::Stalls;
        self.before = None;
        self.planned = None;
        if physics.get(handles).is_sleeping() {
            // The first of two steps can have an input that the second one does not have.
            let is_first_idle = match self.pace {
                Pace::CatchesUp(first) => demands_nothing(walker, &first),
                Pace::Walks | Pace::Stalls => true,
            };
            if keeps_place || (is_idle && is_first_idle) {
                physics.plan(handles, false);
                return;
            }
            if !is_first_idle {
                physics.get_mut(handles).wake_up(true);
            }
        }
        self.before = Some(self.mover(physics.get(handles)));
        let plans = !keeps_place && self.plan_step(walker, is_idle, handles, physics);
        physics.plan(handles, plans);
        if plans {
            return;
        }
        if keeps_place {
            // Compensates the gravity of one step, so that only pushes move the walker.
            let body = physics.get(handles);
            let fall = physics.gravity() * (body.gravity_scale() * STEP_SECONDS);
            // A frozen walker in the air stays awake, so that it falls when it is released.
            let is_in_air = is_frozen && self.grounds.is_empty();
            physics.get_mut(handles).set_linvel(-fall, is_in_air);
            return;
        }
        let Some(mut mover) = self.before else { return };
        let media = physics.media_near(handles, mover.reach(walker));
        let before = mover.velocity;
        let support = mover.steer(walker, &self.input, &media);
        (self.steps_since_ground, self.steps_since_jump) = (mover.steps_since_ground, mover.steps_since_jump);
        let next = Vector::from_array(shortened(mover.velocity, SPEED_MAX));
        // Physics adds the gravity of the step afterwards.
        let fall = physics.gravity() * (physics.get(handles).gravity_scale() * STEP_SECONDS);
        let next = match support {
            // A walker on a ladder or in water never sleeps, because it would hang in the air without them.
            Support::Medium => return physics.get_mut(handles).set_linvel(next - fall, true),
            Support::Ground(normal) => next - Vector::from_array(tangent(fall.to_array(), normal)),
            Support::None => next,
        };
        // A velocity that is almost equal to the current velocity is not set. Otherwise a standing walker, and the stack below
        // it, could never sleep.
        if (next - Vector::from_array(before)).length_squared() > 1e-8 {
            physics.get_mut(handles).set_linvel(next, !is_idle);
        }
    }

    /// Takes the step of a moving walker if all bodies near it are fixed. Returns false and changes nothing for every other
    /// walker.
    ///
    /// A walker at rest has contacts of physics, so that it falls asleep.
    fn plan_step(&mut self, walker: &Walker, is_idle: bool, handles: Handles, physics: &mut Physics) -> bool {
        let Some(mut mover) = self.before.filter(|_| self.pace == Pace::Walks) else { return false };
        if is_idle && Vector::from_array(mover.velocity).length() < RESTING_SPEED {
            return false;
        }
        let Some((gravity, solids)) = physics.fixed_solids(handles, mover.reach(walker)) else {
            return false;
        };
        mover.step(walker, &self.input, gravity, &solids);
        let fall = physics.gravity() * (physics.get(handles).gravity_scale() * STEP_SECONDS);
        let body = physics.get_mut(handles);
        if !is_idle {
            body.wake_up(true);
        }
        // Physics adds the gravity of the step again.
        body.set_linvel(Vector::from_array(mover.velocity) - fall, false);
        self.planned = Some(mover);
        true
    }

    /// Called after physics. If only fixed and kinematic bodies are near, replaces the result of physics by the step that
    /// clients can predict. Then finds the surfaces under the feet.
    pub(crate) fn settle(
        &mut self,
        walker: &Walker,
        is_frozen: bool,
        handles: Handles,
        physics: &mut Physics,
    ) {
        let pace = std::mem::take(&mut self.pace);
        if let Some(mover) = self.planned.take() {
            physics.place(handles, mover.position, mover.velocity);
            self.store_step(&mover);
            self.is_exact = true;
            return;
        }
        if is_frozen {
            if let Some(mut mover) = self.before.take() {
                mover.freeze();
                physics.place(handles, mover.position, mover.velocity);
            }
            self.is_exact = true;
            return;
        }
        if pace == Pace::Stalls {
            return self.restore_stalled(walker, handles, physics);
        }
        self.is_exact = false;
        if physics.get(handles).is_sleeping() {
            return;
        }
        if let Some(mut mover) = self.before.take()
            && let Some((gravity, solids)) = physics.predictable_solids(handles, mover.reach(walker))
        {
            // If the ground moves, two steps of a walker in one step of the world cannot be the steps of its client, because
            // the ground moved only once.
            self.is_exact = solids.iter().all(|solid| solid.motion.is_none());
            if let Pace::CatchesUp(first) = pace {
                mover.step(walker, &first, gravity, &solids);
                if let Some((_, further)) = physics.predictable_solids(handles, mover.reach(walker)) {
                    mover.step(walker, &self.input, gravity, &further);
                }
            } else {
                mover.step(walker, &self.input, gravity, &solids);
            }
            if self.is_at_rest(walker, &mover, physics.get(handles)) {
                self.is_exact = false;
            } else {
                physics.place(handles, mover.position, mover.velocity);
            }
            self.store_step(&mover);
            return;
        }
        let walkable = physics
            .contacts(handles)
            .filter(|contact| contact.normal.y >= WALKABLE_COSINE && contact.distance < TOUCH_DISTANCE);
        let found = walkable.map(|contact| (contact.normal.to_array(), contact.velocity.to_array()));
        let (normals, velocities): (Vec<_>, Vec<_>) = found.take(GROUNDS_MAX).unzip();
        self.set_grounds(&normals, &velocities);
    }

    /// Whether a walker without controls stands still after a step, and physics left it there.
    fn is_at_rest(&self, walker: &Walker, mover: &Mover, body: &RigidBody) -> bool {
        let (position, velocity) = (Vector::from_array(mover.position), Vector::from_array(mover.velocity));
        demands_nothing(walker, &self.input)
            && velocity.length() < RESTING_SPEED
            && body.linvel().length() < RESTING_SPEED
            && (body.translation() - position).length() < RESTING_DISTANCE
    }

    /// Takes over the counts and the grounds of a step.
    fn store_step(&mut self, mover: &Mover) {
        self.set_grounds(
            &mover.grounds[..mover.ground_count],
            &mover.ground_velocities[..mover.ground_count],
        );
        (self.steps_since_ground, self.steps_since_jump) = (mover.steps_since_ground, mover.steps_since_jump);
    }

    fn set_grounds(&mut self, normals: &[[f32; 3]], velocities: &[[f32; 3]]) {
        self.grounds.clear();
        self.grounds.extend_from_slice(normals);
        self.ground_velocities.clear();
        if velocities.iter().any(|velocity| *velocity != [0.0; 3]) {
            self.ground_velocities.extend_from_slice(velocities);
        }
    }

    /// Called after physics for a stalled walker: restores its pose and velocity, unless something pushed it. A ground
    /// that moves carries it along.
    fn restore_stalled(&mut self, walker: &Walker, handles: Handles, physics: &mut Physics) {
        let Some(mut mover) = self.before.take() else { return };
        if !self.ground_velocities.is_empty()
            && let Some((gravity, solids)) = physics.predictable_solids(handles, mover.reach(walker))
        {
            mover.ride(walker, gravity, &solids);
            physics.place(handles, mover.position, mover.velocity);
            return self.store_step(&mover);
        }
        let Mover { position, velocity, .. } = mover;
        let body = physics.get(handles);
        let (place, push) = (body.translation(), body.linvel());
        let is_pushed =
            push.length() > PUSHED_SPEED || (place - Vector::from_array(position)).length() > PUSHED_DISTANCE;
        if is_pushed {
            let velocity = Vector::from_array(velocity) + push;
            physics.place(handles, place.to_array(), velocity.to_array());
        } else {
            physics.place(handles, position, velocity);
        }
    }

    fn mover(&self, body: &RigidBody) -> Mover {
        let mut mover = Mover::new(body.translation().to_array());
        mover.velocity = body.linvel().to_array();
        mover.steps_since_ground = self.steps_since_ground;
        mover.steps_since_jump = self.steps_since_jump;
        mover.ground_count = self.grounds.len().min(GROUNDS_MAX);
        mover.grounds[..mover.ground_count].copy_from_slice(&self.grounds[..mover.ground_count]);
        for (to, velocity) in mover.ground_velocities.iter_mut().zip(&self.ground_velocities) {
            *to = *velocity;
        }
        mover
    }
}

/// Whether an input demands nothing of a walker.
fn demands_nothing(walker: &Walker, input: &Input) -> bool {
    movement::wish(walker, input) == [0.0; 3] && !input.jump
}
