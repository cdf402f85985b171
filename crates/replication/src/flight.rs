//! Decides, once for all viewers, when a body that moves by itself needs another motion row.

use crate::motion::{Flight, MotionRow, MotionState, STEP_S, product};
use crate::row::Quantization;
use crate::transform::Transform;

/// A row is replaced after this many steps, so that a new viewer never integrates it for long.
const ROW_STEPS_MAX: u32 = 480;

/// A change of the velocity within a step by more than this, in metres a second, is an impulse.
const IMPULSE: f64 = 0.5;

/// The smallest acceleration, in metres a second squared, from which its decay is estimated.
const DECAY_ACCELERATION_MIN: f64 = 0.2;

/// The greatest estimated decay in a second.
const DECAY_MAX: f64 = 20.0;

/// A body is in ordinary groups until one of its rows has stood for this many steps.
const STEADY_STEPS_MIN: u32 = 12;

/// A body whose rows stand for fewer steps than this on average returns to ordinary groups.
const MEAN_STEPS_MIN: f32 = 6.0;

/// The weight of the newest row in that average.
const MEAN_SHARE: f32 = 0.125;

/// The range of inertia ratios in rows.
const INERTIA_RATIO_MIN: f32 = 0.001;
const INERTIA_RATIO_MAX: f32 = 1_000.0;

/// A row is replaced if its error in a position or in a rotation component reaches this many quantization units.
const POSITION_ERROR: f64 = 0.65;
const ROTATION_ERROR: f64 = 0.36;

/// The newest motion row of a body, and its integration up to the newest step.
#[derive(Clone, Debug)]
pub(crate) struct Tracker {
    tick: u32,
    row: MotionRow,
    row_tick: u32,
    state: MotionState,
    /// The body's position, velocity and acceleration at the newest step.
    position: [f64; 3],
    velocity: [f64; 3],
    acceleration: [f64; 3],
    /// The velocity with which a row begins.
    shown: [f64; 3],
    /// The share of its acceleration that the body loses in a step.
    decay: f64,
    mean_steps: f32,
    is_steady: bool,
}

impl Tracker {
    pub(crate) fn new(tick: u32, transform: &Transform, flight: &Flight, quantization: Quantization) -> Self {
        let velocity = flight.velocity.map(f64::from);
        let state = state_of(transform, flight, velocity, [0.0; 3], 0.0);
        let row = state.row(quantization.motion_units());
        Self {
            tick,
            row,
            row_tick: tick,
            state: MotionState::of(&row, quantization.motion_units()),
            position: state.position,
            velocity,
            acceleration: [0.0; 3],
            shown: velocity,
            decay: 0.0,
            mean_steps: STEADY_STEPS_MIN as f32,
            is_steady: false,
        }
    }

    /// Takes the body's motion after the step `tick`. Returns whether there is a new row.
    pub(crate) fn follow(
        &mut self,
        tick: u32,
        transform: &Transform,
        flight: &Flight,
        quantization: Quantization,
    ) -> bool {
        let steps = tick.wrapping_sub(std::mem::replace(&mut self.tick, tick));
        if steps != 1 {
            let is_steady = self.is_steady;
            *self = Self { is_steady, ..Self::new(tick, transform, flight, quantization) };
            return true;
        }
        self.state.step();
        let position = transform.position.map(f64::from);
        let velocity = flight.velocity.map(f64::from);
        let [before, velocity_before] = [self.position, self.velocity];
        let gained = [0, 1, 2].map(|axis| (velocity[axis] - velocity_before[axis]) / STEP_S);
        let is_impulse = length(&gained) * STEP_S > IMPULSE;
        if !is_impulse {
            self.estimate_decay(&gained);
        }
        // An impulse keeps the acceleration and adds the share that leads back to a wanted speed.
        let acceleration = if is_impulse {
            [0, 1, 2].map(|axis| self.acceleration[axis] - self.decay * gained[axis])
        } else {
            gained.map(|gained| gained - gained * self.decay)
        };
        (self.position, self.velocity, self.acceleration) = (position, velocity, acceleration);
        // Positions show the motion of a step better than the solver's velocity at its end, except after an impulse.
        self.shown = if is_impulse {
            velocity
        } else {
            [0, 1, 2].map(|axis| (position[axis] - before[axis]) / STEP_S)
        };
        let age = tick.wrapping_sub(self.row_tick);
        if self.is_near(&position, &transform.rotation, quantization) && age < ROW_STEPS_MAX {
            self.is_steady |= age >= STEADY_STEPS_MIN;
            return false;
        }
        self.mean_steps += (age as f32 - self.mean_steps) * MEAN_SHARE;
        if self.mean_steps < MEAN_STEPS_MIN {
            (self.is_steady, self.mean_steps) = (false, STEADY_STEPS_MIN as f32);
        }
        self.renew(transform, flight, quantization);
        true
    }

    /// Begins another row at the newest step.
    pub(crate) fn renew(&mut self, transform: &Transform, flight: &Flight, quantization: Quantization) {
        let state = state_of(transform, flight, self.shown, self.acceleration, self.decay);
        self.row = state.row(quantization.motion_units());
        self.row_tick = self.tick;
        self.state = MotionState::of(&self.row, quantization.motion_units());
    }

    /// Whether the body is sent as motion rows.
    pub(crate) fn is_steady(&self) -> bool {
        self.is_steady
    }

    pub(crate) fn row(&self) -> &MotionRow {
        &self.row
    }

    /// The transform that viewers compute.
    pub(crate) fn transform(&self) -> Transform {
        self.state.transform()
    }

    fn estimate_decay(&mut self, gained: &[f64; 3]) {
        // `acceleration` is what the step would have gained with this decay.
        let kept = 1.0 - self.decay;
        let before = self.acceleration.map(|acceleration| acceleration / kept);
        let square = dot(&before, &before);
        if square < DECAY_ACCELERATION_MIN * DECAY_ACCELERATION_MIN {
            return;
        }
        let decay = 1.0 - dot(gained, &before) / square;
        let across = [0, 1, 2].map(|axis| gained[axis] - before[axis] * (1.0 - decay));
        let is_parallel = dot(&across, &across) < 0.0025 * square;
        if is_parallel && (0.0..=DECAY_MAX * STEP_S).contains(&decay) {
            self.decay = decay;
        }
    }

    fn is_near(&self, position: &[f64; 3], rotation: &[f32; 4], quantization: Quantization) -> bool {
        let off = [0, 1, 2].map(|axis| position[axis] - self.state.position[axis]);
        let rotation = rotation.map(f64::from);
        let cosine: f64 = (0..4).map(|at| rotation[at] * self.state.rotation[at]).sum();
        let sign = if cosine < 0.0 { -1.0 } else { 1.0 };
        let turned =
            (0..4).map(|at| (rotation[at] * sign - self.state.rotation[at]).abs()).fold(0.0, f64::max);
        let (metres, component) = quantization.steps();
        length(&off) <= POSITION_ERROR * metres && turned <= ROTATION_ERROR * component
    }
}

fn state_of(
    transform: &Transform,
    flight: &Flight,
    velocity: [f64; 3],
    acceleration: [f64; 3],
    decay: f64,
) -> MotionState {
    let rotation = transform.rotation.map(f64::from);
    let [x, y, z, w] = rotation;
    // Ratios beyond the range of rows are those of very thin rods, which are sent as if they were balls.
    let is_sound = |ratio: &f32| (INERTIA_RATIO_MIN..=INERTIA_RATIO_MAX).contains(ratio);
    let inertia = if flight.inertia.iter().all(is_sound) { flight.inertia.map(f64::from) } else { [1.0; 2] };
    // The spin in the directions of the body.
    let spin = [f64::from(flight.spin[0]), f64::from(flight.spin[1]), f64::from(flight.spin[2]), 0.0];
    let [a, b, c, _] = product(&product(&[-x, -y, -z, w], &spin), &rotation);
    MotionState {
        position: transform.position.map(f64::from),
        rotation,
        velocity,
        spin: [a, b, c],
        acceleration,
        inertia,
        decay,
    }
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn length(a: &[f64; 3]) -> f64 {
    dot(a, a).sqrt()
}
