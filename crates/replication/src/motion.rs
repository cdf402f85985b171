//! Motion rows (`spec/MOTION.md`): the state of a body that moves by itself, from which both ends compute its pose at each
//! later step, to the same bits.

use crate::transform::Transform;

/// Numbers in a motion row.
pub(crate) const MOTION_WIDTH: usize = 19;

/// Position x, y and z; the largest component of the quaternion and the three others; velocity, spin and acceleration;
/// two ratios of the inertia; the decay of the acceleration.
pub(crate) type MotionRow = [i32; MOTION_WIDTH];

/// Maximum number of steps for which a motion row is integrated. The body rests afterwards.
pub(crate) const MOTION_STEPS_MAX: u32 = 600;

/// First columns of the fields.
pub(crate) const ROTATION: usize = 3;
pub(crate) const VELOCITY: usize = 7;
pub(crate) const SPIN: usize = 10;
pub(crate) const ACCELERATION: usize = 13;
pub(crate) const INERTIA: usize = 16;
pub(crate) const DECAY: usize = 18;

/// The duration of a step, in seconds.
pub(crate) const STEP_S: f64 = 1.0 / 60.0;
/// The rotation is integrated in this many parts of a step, as the physics of a world does.
const SUBSTEPS: u32 = 4;
const SUBSTEP_S: f64 = STEP_S / 4.0;
/// The units of inertia ratios and of the decay per second.
pub(crate) const INERTIA_SCALE: f64 = 65_536.0;
/// The largest ratio of moments of inertia.
pub(crate) const INERTIA_MAX: i32 = 1 << 28;
pub(crate) const DECAY_SCALE: f64 = 128.0;
/// The largest decay: all of the acceleration in one step.
pub(crate) const DECAY_MAX: i32 = 60 * 128;
/// A greater square of the angular momentum, relative to the moment of inertia about x, stays as it is.
const SQUARE_MAX: f64 = 1e30;

/// How a body that moves by itself moves after a step, as input of [`crate::History::publish`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flight {
    /// The velocity of the body's origin, in metres a second.
    pub velocity: [f32; 3],
    /// The angular velocity in the directions of the world, in radians a second.
    pub spin: [f32; 3],
    /// The moments of inertia about the body's own axes y and z, divided by that about x. Both are 1 for bodies whose
    /// principal axes are others.
    pub inertia: [f32; 2],
}

/// The motion of a body at a step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct MotionState {
    pub(crate) position: [f64; 3],
    pub(crate) rotation: [f64; 4],
    pub(crate) velocity: [f64; 3],
    /// In the directions of the body.
    pub(crate) spin: [f64; 3],
    pub(crate) acceleration: [f64; 3],
    /// The moments of inertia about y and z, divided by that about x.
    pub(crate) inertia: [f64; 2],
    /// The share of the acceleration that is lost in a step.
    pub(crate) decay: f64,
}

impl MotionState {
    /// Returns the state in which a row begins.
    pub(crate) fn of(row: &MotionRow, units: MotionUnits) -> Self {
        let vector = |first: usize, scale: f64| [0, 1, 2].map(|axis| f64::from(row[first + axis]) / scale);
        Self {
            position: vector(0, units.position),
            rotation: normalised(unpack(row, units.component_max)),
            velocity: vector(VELOCITY, units.velocity),
            spin: vector(SPIN, units.spin),
            acceleration: vector(ACCELERATION, units.position),
            inertia: [0, 1].map(|at| f64::from(row[INERTIA + at]) / INERTIA_SCALE),
            decay: f64::from(row[DECAY]) / DECAY_SCALE * STEP_S,
        }
    }

    /// Returns the row that is nearest to the state.
    pub(crate) fn row(&self, units: MotionUnits) -> MotionRow {
        let mut row = [0; MOTION_WIDTH];
        let mut put = |first: usize, values: &[f64], scale: f64| {
            for (at, value) in values.iter().enumerate() {
                row[first + at] = rounded(value * scale);
            }
        };
        put(0, &self.position, units.position);
        put(VELOCITY, &self.velocity, units.velocity);
        put(SPIN, &self.spin, units.spin);
        put(ACCELERATION, &self.acceleration, units.position);
        put(INERTIA, &self.inertia, INERTIA_SCALE);
        put(DECAY, &[self.decay / STEP_S], DECAY_SCALE);
        let largest = largest(&self.rotation);
        let components = components(&self.rotation, largest, units.component_max);
        row[ROTATION] = largest as i32;
        row[ROTATION + 1..VELOCITY].copy_from_slice(&components);
        row
    }

    /// Advances the state by one step.
    pub(crate) fn step(&mut self) {
        for axis in 0..3 {
            self.velocity[axis] += self.acceleration[axis] * STEP_S;
            self.position[axis] += self.velocity[axis] * STEP_S;
            self.acceleration[axis] -= self.acceleration[axis] * self.decay;
        }
        for _ in 0..SUBSTEPS {
            self.turn();
        }
    }

    /// Integrates the rotation for a substep: Euler's equations without a torque, which keep the angular momentum.
    fn turn(&mut self) {
        let ([x, y, z], [iy, iz]) = (self.spin, self.inertia);
        let [lx, ly, lz] = [x, iy * y, iz * z];
        let kx = lx - (y * lz - z * ly) * SUBSTEP_S;
        let ky = ly - (z * lx - x * lz) * SUBSTEP_S;
        let kz = lz - (x * ly - y * lx) * SUBSTEP_S;
        let square = kx * kx + ky * ky + kz * kz;
        if square > 0.0 && square < SQUARE_MAX {
            let scale = ((lx * lx + ly * ly + lz * lz) / square).sqrt();
            self.spin = [kx * scale, ky * scale / iy, kz * scale / iz];
        }
        let [x, y, z] = self.spin.map(|spin| spin * (SUBSTEP_S / 2.0));
        self.rotation = normalised(product(&self.rotation, &[x, y, z, 1.0]));
    }

    /// Advances the state by a number of steps, up to [`MOTION_STEPS_MAX`].
    pub(crate) fn advance(&mut self, steps: u32) {
        for _ in 0..steps.min(MOTION_STEPS_MAX) {
            self.step();
        }
    }

    pub(crate) fn transform(&self) -> Transform {
        Transform {
            position: self.position.map(|metres| metres as f32),
            rotation: self.rotation.map(|v| v as f32),
        }
    }
}

/// The numbers of steps in a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MotionUnits {
    /// For each metre, and for each metre a second squared.
    pub(crate) position: f64,
    /// For each metre a second.
    pub(crate) velocity: f64,
    /// For each radian a second.
    pub(crate) spin: f64,
    /// The largest number of a component.
    pub(crate) component_max: f64,
}

/// Rounds to the nearest integer of 32 bits, halves up.
pub(crate) fn rounded(value: f64) -> i32 {
    libm::floor(value + 0.5) as i32
}

pub(crate) fn largest(rotation: &[f64; 4]) -> usize {
    (1..4).fold(0, |best, at| if rotation[at].abs() > rotation[best].abs() { at } else { best })
}

/// The components other than the largest, as numbers.
pub(crate) fn components(rotation: &[f64; 4], largest: usize, component_max: f64) -> [i32; 3] {
    let sign = if rotation[largest] < 0.0 { -1.0 } else { 1.0 };
    let mut components = [0; 3];
    let others = (0..4).filter(|at| *at != largest);
    for (component, at) in components.iter_mut().zip(others) {
        let stored = (sign * rotation[at] * std::f64::consts::SQRT_2 + 1.0) / 2.0 * component_max;
        *component = rounded(stored).clamp(0, component_max as i32);
    }
    components
}

fn unpack(row: &MotionRow, component_max: f64) -> [f64; 4] {
    let largest = row[ROTATION] as usize & 3;
    let mut rotation = [0.0; 4];
    let mut squares = 0.0;
    for (at, column) in (0..4).filter(|at| *at != largest).zip(ROTATION + 1..) {
        let component = 2.0 * f64::from(row[column]) - component_max;
        rotation[at] = component;
        squares += component * component;
    }
    let rest = 2.0 * component_max * component_max - squares;
    rotation[largest] = if rest > 0.0 { rest.sqrt() } else { 0.0 };
    rotation
}

fn normalised([x, y, z, w]: [f64; 4]) -> [f64; 4] {
    let length = (x * x + y * y + z * z + w * w).sqrt();
    [x / length, y / length, z / length, w / length]
}

pub(crate) fn product(a: &[f64; 4], b: &[f64; 4]) -> [f64; 4] {
    [
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    ]
}
